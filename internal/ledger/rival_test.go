package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
)

// lost sends a row and loses its answer; late is the acceptance that comes in the
// end, with the claims of the attempt.
func (s *suite) lost(l *ledger.Ledger, r ledger.Row) (late ledger.Outcome) {
	s.Helper()
	attempt := s.send(l, r)
	late = outcome(s.row(l, r.ID), attempt, filing.Accepted)
	s.answer(l, r, filing.NoAnswer)
	return late
}

// An acceptance that comes after the batch was canceled is not lost: the row is
// placed, its money is posted, and nobody buys the same again.
func TestAcceptedAfterItWasCanceled(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		row := s.add(l, "a", report("comp_1", "2026"))[0]
		late := s.lost(l, row)
		s.must(l.Resolutions().MarkNotPlaced(s.Context(), row.ID, 0, "not there"))
		_, err := l.CancelBatch(s.Context(), "a")
		s.must(err)
		s.want(l, row, filing.Canceled, 0)
		s.must(l.RecordOutcome(s.Context(), late))
		if r := s.want(l, row, filing.Placed, 0); r.Spent.Amount != cost ||
			!strings.Contains(r.Message, "answered late") {
			s.Errorf("%+v", r)
		}
		again := s.add(l, "b", report("comp_1", "2026"))[0]
		if begun := s.begin(l, intent(again)); len(begun.Taken) != 1 || !begun.Taken[0].Bought {
			s.Errorf("the next sheet buys it again: %+v", begun)
		}
	})
}

// An acceptance that comes while a rival holds the key takes it over: what the
// rival gives back does not free what is bought.
func TestAcceptedBesideARival(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", report("comp_1", "2026"), report("comp_1", "2026"), report("comp_1", "2026"))
		late := s.lost(l, rows[0])
		s.must(l.Resolutions().MarkNotPlaced(s.Context(), rows[0].ID, 0, "not there"))
		s.send(l, rows[1])
		s.must(l.RecordOutcome(s.Context(), late))
		s.want(l, rows[0], filing.Placed, 0)
		s.must(l.Audit(s.Context()))
		s.answer(l, rows[1], filing.Busy)
		s.want(l, rows[1], filing.Ready, 0)
		s.pass(2e9)
		for _, r := range rows[1:] {
			if begun := s.begin(l, intent(s.row(l, r.ID))); len(begun.Taken) != 1 || !begun.Taken[0].Bought {
				s.Errorf("row %d buys it again: %+v", r.Number, begun)
			}
		}
	})
}

// A creation that is answered after somebody said that it was never made: the
// company is remembered, and not created again.
func TestCreatedAfterNotPlaced(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		row := s.add(l, "a", report("comp_1", "2026"))[0]
		claim := ledger.Claim{Product: filing.CompanyRecord, Key: "company|user_1|acme|DE"}
		in := ledger.Intent{Row: row.ID, LastAttempt: row.LastAttempt, Creating: true, Claims: []ledger.Claim{claim}}
		begun := s.begin(l, in)
		lost := ledger.Outcome{
			Row:     row.ID,
			Attempt: begun.Attempt,
			Creates: true,
			Claims:  []ledger.Claim{claim},
			Answer:  filing.Answer{Kind: filing.NoAnswer},
		}
		s.must(l.RecordOutcome(s.Context(), lost))
		if r := s.want(l, row, filing.Uncertain, 0); !r.Creating {
			s.Errorf("%+v", r)
		}
		s.must(l.Resolutions().MarkNotPlaced(s.Context(), row.ID, 0, "not there"))
		late := lost
		late.Answer, late.Company = filing.Answer{Kind: filing.Accepted, CompanyID: "comp_9"}, "comp_9"
		late.Made = &ledger.MadeCompany{Ref: string(claim.Key), Record: filing.Company{ID: "comp_9"}}
		s.must(l.RecordOutcome(s.Context(), late))
		if r := s.want(l, row, filing.Ready, 0); r.Company != "comp_9" || r.Creating {
			s.Errorf("%+v", r)
		}
		if known, err := l.Companies().Find(s.Context(), []string{string(claim.Key)}); err != nil ||
			known[string(claim.Key)].ID != "comp_9" {
			s.Errorf("%v, %v", known, err)
		}
		other := s.add(l, "b", report("comp_2", "2026"))[0]
		if begun := s.begin(l, ledger.Intent{
			Row:      other.ID,
			Creating: true,
			Claims:   []ledger.Claim{claim},
		}); len(begun.Taken) != 1 || !begun.Taken[0].Bought {
			s.Errorf("it is created again: %+v", begun)
		}
	})
}

// A creation that is answered after the company was created once more, by its row or by another
// one, changes nothing: what was ordered since is for the company that is known.
func TestCreatedTwice(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		for _, again := range []int{0, 1} {
			s.createsTwice(l, fmt.Sprint("by row ", again), again)
		}
	})
}

func (s *suite) createsTwice(l *ledger.Ledger, batch string, again int) {
	ctx := s.Context()
	rows := s.add(l, batch, report("comp_1", "2026"), report("comp_1", "2026"))
	claim := ledger.Claim{Product: filing.CompanyRecord, Key: filing.Key("company|user_1|" + batch)}
	creation := func(row ledger.Row, company string) ledger.Outcome {
		begun := s.begin(l, ledger.Intent{Row: row.ID, LastAttempt: s.row(l, row.ID).LastAttempt, Creating: true,
			Claims: []ledger.Claim{claim}})
		return ledger.Outcome{
			Row:     row.ID,
			Attempt: begun.Attempt,
			Creates: true,
			Claims:  []ledger.Claim{claim},
			Company: company,
			Answer:  filing.Answer{Kind: filing.Accepted, CompanyID: company},
			Made:    &ledger.MadeCompany{Ref: string(claim.Key), Record: filing.Company{ID: company}},
		}
	}
	late := creation(rows[0], "comp_late")
	lost := late
	lost.Answer, lost.Company, lost.Made = filing.Answer{Kind: filing.NoAnswer}, "", nil
	s.must(l.RecordOutcome(ctx, lost))
	s.must(l.Resolutions().MarkNotPlaced(ctx, rows[0].ID, 0, "not there"))
	s.must(l.RecordOutcome(ctx, creation(rows[again], "comp_2")))
	s.must(l.RecordOutcome(ctx, late))
	if r := s.row(l, rows[again].ID); r.Company != "comp_2" || !strings.Contains(r.Message, "twice") {
		s.Errorf("%s: %s", r.Company, r.Message)
	}
	known, err := l.Companies().Find(ctx, []string{string(claim.Key)})
	if s.must(err); known[string(claim.Key)].ID != "comp_2" {
		s.Errorf("%+v", known)
	}
	s.must(l.Audit(ctx))
}

// A refusal that comes after somebody said placed opens the row again, and tells
// of it anew; a second decision, made over that answer, stands.
func TestRefusedAfterPlaced(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		row := s.add(l, "a", report("comp_1", "2026"))[0]
		late := s.lost(l, row)
		late.Answer.Kind, late.Items = filing.Refused, nil
		untold := func() int {
			news, err := l.Attention().FindReportable(ctx)
			s.must(err)
			if len(news.Pending) > 0 {
				_, err = l.Notifications().Add(ctx, outbox.Notification{
					Kind:    outbox.KindUncertain,
					Batch:   "a",
					Subject: "x",
					Pending: news.Pending,
				})
				s.must(err)
			}
			return len(news.Pending)
		}
		if n := untold(); n != 1 {
			s.Errorf("%d rows are to be told of", n)
		}
		s.must(l.Resolutions().MarkPlaced(ctx, row.ID, 0, []string{"order_seen"}, "seen"))
		s.want(l, row, filing.Placed, 0)
		s.must(l.RecordOutcome(ctx, late))
		if r := s.want(l, row, filing.Uncertain, cost); r.Spent.Amount != 0 ||
			!strings.Contains(r.Message, "marked as placed") {
			s.Errorf("%+v", r)
		}
		if b := s.book(l); b.Posted != 0 || b.Reserved != cost {
			s.Errorf("%+v", b)
		}
		if n := untold(); n != 1 {
			s.Errorf("%d rows are told of after the refusal", n)
		}
		s.must(l.Resolutions().MarkPlaced(ctx, row.ID, 0, []string{"order_seen"}, "seen once more"))
		s.want(l, row, filing.Placed, 0)
		s.must(l.Audit(ctx))
	})
}

// An answer that names some of the items places those; the money and the key of
// the rest stay as they are until somebody knows.
func TestAPartOfTheOrderIsAnswered(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		r := report("comp_1", "2026")
		r.Request.Order.RegisteredAgent = &filing.RegisteredAgentItem{}
		row := s.add(l, "a", r)[0]
		attempt := s.send(l, row)
		out := outcome(s.row(l, row.ID), attempt, filing.Accepted)
		out.Items = []ledger.Item{
			{Product: filing.RegisteredAgent, OrderID: "order_agent", Cost: money.Cost{Amount: 5000}},
		}
		s.must(l.RecordOutcome(ctx, out))
		got := s.want(l, row, filing.Uncertain, cost-5000)
		if got.Spent.Amount != 5000 || !slices.Equal(got.Dropped, []filing.Product{filing.RegisteredAgent}) {
			s.Errorf("%+v", got)
		}
		agent := s.add(l, "b", agentOrder("comp_1"))[0]
		if begun := s.begin(l, intent(agent)); len(begun.Taken) != 1 || !begun.Taken[0].Bought {
			s.Errorf("the agent is bought again: %+v", begun)
		}
		other := s.add(l, "c", report("comp_1", "2026"))[0]
		if begun := s.begin(l, intent(other)); len(begun.Taken) != 1 || begun.Taken[0].Bought {
			s.Errorf("nobody knows whether the report is bought: %+v", begun)
		}
		s.must(l.Resolutions().MarkNotPlaced(ctx, row.ID, 0, "the report is not there"))
		got = s.want(l, row, filing.Ready, 0)
		if in := intent(got); len(in.Claims) != 1 || in.Claims[0].Product != filing.AnnualReport {
			s.Errorf("%+v is sent again", in.Claims)
		}
		s.place(l, got)
		if got = s.row(l, row.ID); len(got.Items) != 2 {
			s.Errorf("%+v", got.Items)
		}
	})
}

// What a row has bought it does not buy again, whatever reading of it the order
// was made from.
func TestARowDoesNotBuyTwiceFromAnOldReading(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		row := s.add(l, "a", report("comp_1", "2026"))[0]
		claim := ledger.Claim{Product: filing.CompanyRecord, Key: "company|user_1|acme|DE"}
		in := ledger.Intent{Row: row.ID, Creating: true, Claims: []ledger.Claim{claim}}
		begun := s.begin(l, in)
		s.must(l.RecordOutcome(s.Context(), ledger.Outcome{
			Row:     row.ID,
			Attempt: begun.Attempt,
			Creates: true,
			Claims:  in.Claims,
			Company: "comp_9",
			Answer:  filing.Answer{Kind: filing.Accepted},
		}))
		in.LastAttempt = 1
		if begun := s.begin(l, in); !begun.Lost {
			s.Errorf("the company is created again: %+v", begun)
		}
	})
}

// losesItsKey has two rows buy the same: the first one's acceptance comes late and
// takes the key while the second one's order is out.
func (s *suite) losesItsKey(l *ledger.Ledger) (first, second ledger.Row) {
	s.Helper()
	rows := s.add(l, "a", report("comp_1", "2026"), report("comp_1", "2026"))
	late := s.lost(l, rows[0])
	s.must(l.Resolutions().MarkNotPlaced(s.Context(), rows[0].ID, 0, "not there"))
	s.send(l, rows[1])
	s.must(l.RecordOutcome(s.Context(), late))
	s.want(l, rows[0], filing.Placed, 0)
	return rows[0], rows[1]
}

// boughtTwice expects that both rows, the notifications and the audit name the second
// purchase, and that the key is still the first row's.
func (s *suite) boughtTwice(l *ledger.Ledger, first, second ledger.Row) {
	s.Helper()
	for _, r := range []ledger.Row{first, second} {
		if got := s.want(l, r, filing.Placed, 0); !strings.Contains(got.Message, "bought twice") {
			s.Errorf("row %d says %q", r.Number, got.Message)
		}
	}
	if b := s.book(l); b.Posted != 2*cost || b.Reserved != 0 {
		s.Errorf("%+v", b)
	}
	verified, err := l.Verify(s.Context())
	s.must(err)
	if want := []string{"batch a, row 3: bought twice: row 2 bought the same annual report"}; len(verified.Wrong) > 0 ||
		!slices.Equal(verified.Twice, want) {
		s.Errorf("wrong %q, twice %q", verified.Wrong, verified.Twice)
	}
	news, err := l.Attention().FindReportable(s.Context())
	s.must(err)
	if !slices.ContainsFunc(news.Pending, func(p outbox.Pending) bool {
		return p.Kind == outbox.KindTwice && p.Row == second.ID && p.Mark == first.ID
	}) {
		s.Errorf("nobody is told: %+v", news.Pending)
	}
	again := intent(s.add(l, "again", report("comp_1", "2026"))[0])
	held, err := l.FindPriorPurchases(s.Context(), again.Claims)
	s.must(err)
	if begun := s.begin(l, again); len(begun.Taken) != 1 || begun.Taken[0].Row != first.ID ||
		!begun.Taken[0].Bought || held[again.Claims[0].Key].Row != first.ID {
		s.Errorf("%+v; before: %+v", begun, held)
	}
}

// A row that lost its key to a rival's late acceptance is a second purchase once a
// person, a late answer, or both say that its order was made.
func TestASecondPurchaseIsNamed(t *testing.T) {
	for name, places := range map[string]func(*suite, *ledger.Ledger, ledger.Row, ledger.Outcome){
		"a person": func(s *suite, l *ledger.Ledger, r ledger.Row, _ ledger.Outcome) {
			s.answer(l, r, filing.NoAnswer)
			s.must(l.Resolutions().MarkPlaced(s.Context(), r.ID, 0, []string{"order_seen"}, "seen"))
		},
		"an answer": func(s *suite, l *ledger.Ledger, _ ledger.Row, accepted ledger.Outcome) {
			s.must(l.RecordOutcome(s.Context(), accepted))
		},
		"a late answer": func(s *suite, l *ledger.Ledger, r ledger.Row, accepted ledger.Outcome) {
			s.answer(l, r, filing.NoAnswer)
			s.must(l.RecordOutcome(s.Context(), accepted))
		},
		"a person, then an answer": func(s *suite, l *ledger.Ledger, r ledger.Row, accepted ledger.Outcome) {
			s.answer(l, r, filing.NoAnswer)
			s.must(l.Resolutions().MarkPlaced(s.Context(), r.ID, 0, []string{"order_seen"}, "seen"))
			s.must(l.RecordOutcome(s.Context(), accepted))
		},
		"a person whom an answer contradicts, and who looks again": func(s *suite, l *ledger.Ledger, r ledger.Row,
			accepted ledger.Outcome) {
			s.answer(l, r, filing.NoAnswer)
			s.must(l.Resolutions().MarkPlaced(s.Context(), r.ID, 0, []string{"order_seen"}, "seen"))
			accepted.Answer.Kind, accepted.Items = filing.Refused, nil
			s.must(l.RecordOutcome(s.Context(), accepted))
			s.want(l, r, filing.Uncertain, cost)
			s.must(l.Audit(s.Context()))
			s.must(l.Resolutions().MarkPlaced(s.Context(), r.ID, 0, []string{"order_seen"}, "seen once more"))
		},
		"a person, after its process is gone": func(s *suite, l *ledger.Ledger, r ledger.Row, gone ledger.Outcome) {
			gone.Answer, gone.Claims, gone.Items = filing.Answer{Kind: filing.NoAnswer}, nil, nil // as a sweep does
			s.must(l.RecordOutcome(s.Context(), gone))
			s.want(l, r, filing.Uncertain, cost)
			s.must(l.Resolutions().MarkPlaced(s.Context(), r.ID, 0, []string{"order_seen"}, "seen"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
				first, second := s.losesItsKey(l)
				places(s, l, second, outcome(s.row(l, second.ID), 1, filing.Accepted))
				s.boughtTwice(l, first, second)
			})
		})
	}
}

// A row that lost its key and was not placed has nothing left of it.
func TestALostKeyIsGoneWithItsOrder(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		first, second := s.losesItsKey(l)
		s.answer(l, second, filing.NoAnswer)
		s.must(l.Audit(s.Context()))
		s.must(l.Resolutions().MarkNotPlaced(s.Context(), second.ID, 0, "not there"))
		if begun := s.begin(l, intent(s.want(l, second, filing.Ready, 0))); len(begun.Taken) != 1 ||
			begun.Taken[0].Row != first.ID {
			s.Errorf("%+v", begun)
		}
		report, err := l.Verify(s.Context())
		if s.must(err); len(report.Wrong)+len(report.Twice) > 0 || report.Purchases != 1 {
			s.Errorf("%+v", report)
		}
	})
}

// A key that two rows had is guarded again as soon as one of them has released it.
func TestAKeyOfTwoRowsIsGuardedAgain(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		first, second := s.losesItsKey(l)
		_, err := s.sql().ExecContext(s.Context(), `UPDATE purchases SET beside = 0 WHERE beside = 1`)
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), "unique") {
			s.Fatalf("two rows may have one key: %v", err)
		}
		s.answer(l, second, filing.Busy)
		s.want(l, first, filing.Placed, 0)
		s.must(l.Audit(s.Context()))
	})
}
