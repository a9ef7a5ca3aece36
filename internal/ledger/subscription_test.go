package ledger_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// What ends the coverage of later years, and what does not. What FindPriorPurchases says
// before anything is sent is what Begin does.
func TestWhatASubscriptionCovers(t *testing.T) {
	for _, c := range []struct {
		name   string
		happen func(s *suite, l *ledger.Ledger, r ledger.Row)
		covers bool
		why    string
	}{
		{"nothing", func(*suite, *ledger.Ledger, ledger.Row) {}, true, ""},
		{"filed", func(s *suite, l *ledger.Ledger, r ledger.Row) {
			s.tell(l, "evt", orderOf(r), "annual_report", "filed", s.clock())
		}, true, ""},
		{"past due", func(s *suite, l *ledger.Ledger, r ledger.Row) {
			s.tell(l, "evt", orderOf(r), "annual_report", "submitted", s.clock(), "subscriptionStatus", "past_due")
		}, false, "it is past due"},
		{"canceled after it was filed", func(s *suite, l *ledger.Ledger, r ledger.Row) {
			s.tell(l, "evt", orderOf(r), "annual_report", "filed", s.clock())
			s.tell(l, "evt2", orderOf(r), "annual_report", "pending", s.clock().Add(time.Second), "subscriptionStatus",
				"canceled")
		}, false, "it is canceled"},
		{"past due and paid since", func(s *suite, l *ledger.Ledger, r ledger.Row) {
			s.tell(l, "evt2", orderOf(r), "annual_report", "submitted", s.clock().Add(time.Minute),
				"subscriptionStatus", "active")
			s.tell(l, "evt1", orderOf(r), "annual_report", "submitted", s.clock(), "subscriptionStatus", "past_due")
		}, true, ""},
		{"an event of another type", func(s *suite, l *ledger.Ledger, r ledger.Row) {
			s.event(l, "evt", "subscription.updated", s.clock(),
				map[string]any{"orderId": orderOf(r), "subscriptionStatus": "CANCELED"})
		}, false, "it is canceled"},
		{"a word that nobody knows", func(s *suite, l *ledger.Ledger, r ledger.Row) {
			s.tell(l, "evt", orderOf(r), "annual_report", "submitted", s.clock(), "subscriptionStatus", "suspended")
		}, false, `its status is "suspended"`},
		{"its filing canceled", func(s *suite, l *ledger.Ledger, r ledger.Row) {
			s.tell(l, "evt", orderOf(r), "annual_report", "Cancelled", s.clock())
		}, false, "its first report was canceled"},
		{"a person's word", func(s *suite, l *ledger.Ledger, r ledger.Row) {
			s.must(l.Subscriptions().SetStatus(s.Context(), orderOf(r), "past_due"))
		}, false, "it is past due"},
		{"silence for over a year", func(s *suite, _ *ledger.Ledger, _ ledger.Row) { s.pass(401 * 24 * time.Hour) },
			false, "nothing was heard of it since"},
		{"silence for over a year, and a word", func(s *suite, l *ledger.Ledger, r ledger.Row) {
			s.pass(401 * 24 * time.Hour)
			s.tell(l, "evt", orderOf(r), "annual_report", "submitted", s.clock(), "subscriptionStatus", "active")
		}, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
				bought := s.add(l, "a", report("comp_1", "2026"))[0]
				bought = s.place(l, bought)
				c.happen(s, l, bought)
				s.apply(l)
				next := s.add(l, "b", report("comp_1", "2027"))[0]
				in := intent(next)
				held, err := l.FindPriorPurchases(s.Context(), in.Claims)
				s.must(err)
				if got := held[in.Claims[0].Key]; got.Covers != c.covers || c.covers && got.Order != orderOf(bought) {
					s.Errorf("before it is sent: %+v", got)
				}
				lapsed, err := l.Subscriptions().Lapsed(s.Context(), in.Claims)
				s.must(err)
				if got := lapsed[in.Claims[0].Key]; got.Lapsed != c.why &&
					(c.why == "" || len(got.Lapsed) < len(c.why) || got.Lapsed[:len(c.why)] != c.why) {
					s.Errorf("why not: %q, want %q", got.Lapsed, c.why)
				}
				l = s.open() // the lease of before is over where time has passed
				begun := s.begin(l, in)
				if covered := len(begun.Taken) == 1 && begun.Taken[0].Covers; covered != c.covers ||
					!covered && begun.Attempt != 1 {
					s.Errorf("when it is sent: %+v", begun)
				}
			})
		})
	}
}

// A covered row gets the order of the renewal that names its company, state and
// year; from then on its report exists, whatever becomes of the subscription.
func TestRenewals(t *testing.T) {
	for _, c := range []renewalCase{
		{"all named", []string{"companyId", "comp_1", "filingState", "DE", "filingYear", "2027"}, filing.Exists},
		{"no year", []string{"companyId", "comp_1", "filingState", "DE"}, filing.Exists},
		{"another year", []string{"companyId", "comp_1", "filingState", "DE", "filingYear", "2028"}, filing.Skipped},
		{"another state", []string{"companyId", "comp_1", "filingState", "NV", "filingYear", "2027"}, filing.Skipped},
		{"another company", []string{"companyId", "comp_2", "filingState", "DE", "filingYear", "2027"}, filing.Skipped},
		{"no company", []string{"filingState", "DE", "filingYear", "2027"}, filing.Skipped},
		{"no state", []string{"companyId", "comp_1", "filingYear", "2027"}, filing.Skipped},
	} {
		t.Run(c.name, func(t *testing.T) { onBothDatabases(t, c.test) })
	}
}

type renewalCase struct {
	name string
	data []string // of the event
	want filing.Result
}

func (c renewalCase) test(s *suite) {
	l, ctx := s.open(), s.Context()
	s.place(l, s.add(l, "a", report("comp_1", "2026"))[0])
	r := s.cover(l, "b", "comp_1", "2027")
	s.tell(l, "evt", "order_renewal", "annual_report", "pending", s.clock(), c.data...)
	s.apply(l)
	if got := s.row(l, r.ID); got.Result != c.want {
		s.Fatalf("%s: %s", got.Result, got.Message)
	}
	if c.want == filing.Skipped {
		// A person may know better.
		s.must(l.Subscriptions().Renew(ctx, r.ID, "order_renewal"))
	}
	s.apply(l)
	if got := s.row(l, r.ID); got.Result != filing.Exists || orderOf(got) != "order_renewal" ||
		got.Items[0].FilingStatus != "pending" {
		s.Errorf("%s %+v", got.Result, got.Items)
	}
	if waiting, err := l.Subscriptions().Covered(ctx, ""); err != nil || len(waiting) != 0 {
		s.Errorf("%+v %v", waiting, err)
	}
	s.exec(`UPDATE items SET subscription_status = 'canceled'`)
	again := s.add(l, "c", report("comp_1", "2027"))[0]
	if begun := s.begin(l, intent(again)); len(begun.Taken) != 1 || begun.Taken[0].Covers ||
		!begun.Taken[0].Bought {
		s.Errorf("the renewed year again: %+v", begun)
	}
	s.wantErr(l.Subscriptions().Renew(ctx, r.ID, "order_other"), ledger.ErrNotCovered)
}

// A report that may be the answer to an order in doubt renews nothing.
func TestNoRenewalBesideAnUncertainRow(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		s.place(l, s.add(l, "a", report("comp_1", "2026"))[0])
		r := s.cover(l, "b", "comp_1", "2028")
		doubt := s.add(l, "c", report("comp_1", "2025"))[0]
		s.send(l, doubt)
		s.tell(l, "evt", "order_renewal", "annual_report", "pending", s.clock(), "companyId", "comp_1",
			"filingState", "DE")
		s.apply(l)
		if got := s.row(l, r.ID); got.Result != filing.Skipped {
			s.Errorf("%s: %s", got.Result, got.Message)
		}
	})
}

// cover adds a row that a subscription covers, as the placer does.
func (s *suite) cover(l *ledger.Ledger, batch, company, year string) ledger.Row {
	s.Helper()
	r := s.add(l, batch, report(company, year))[0]
	in := intent(r)
	begun := s.begin(l, in)
	if len(begun.Taken) != 1 || !begun.Taken[0].Covers {
		s.Fatalf("not covered: %+v", begun)
	}
	claim := begun.Taken[0].Claim
	s.must(l.Subscriptions().RecordCoverage(s.Context(), ledger.Coverage{
		Batch:  batch,
		Number: r.Number,
		Cover:  claim.Cover,
		Year:   claim.Year,
		Opened: begun.Taken[0].Row,
	}))
	s.must(l.Defer(s.Context(), ledger.Deferral{Row: r.ID, Next: filing.Skipped, Message: "covered"}))
	return r
}

// A subscription counts once, from its newest order, while it is active.
func TestRenewalDays(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l := s.open()
		first := s.clock().Unix() / 86400
		for _, r := range s.add(l, "a", report("comp_1", "2026"), report("comp_2", "2026"), report("comp_3", "2026"),
			agentOrder("comp_1")) {
			s.place(l, r)
		}
		s.pass(30 * 24 * time.Hour)
		l = s.open()
		for _, r := range s.add(l, "b", report("comp_4", "2026"), report("comp_4", "2027")) {
			s.place(l, r)
		}
		r := s.cover(l, "c", "comp_2", "2027")
		s.must(l.Subscriptions().Renew(s.Context(), r.ID, "order_renewal"))
		canceled := s.rows(l, "a")[2]
		s.must(l.Subscriptions().SetStatus(s.Context(), orderOf(canceled), "canceled"))
		got, err := l.Subscriptions().ListRenewalDays(s.Context(), time.UTC)
		s.must(err)
		want := []ledger.RenewalDay{
			{Product: filing.AnnualReport, Day: first, Subscriptions: 1, Cost: cost},
			{Product: filing.RegisteredAgent, Day: first, Subscriptions: 1, Cost: cost},
			{Product: filing.AnnualReport, Day: first + 30, Subscriptions: 2, Cost: 2 * cost},
		}
		if !slices.Equal(got, want) {
			s.Errorf("%+v\nwant %+v", got, want)
		}
	})
}
