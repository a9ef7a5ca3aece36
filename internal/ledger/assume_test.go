package ledger_test

import (
	"context"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// suppose makes rows uncertain and returns what the ledger said of each.
func (s *suite) suppose(l *ledger.Ledger, since time.Time, rows ...ledger.Row) []ledger.Begun {
	s.Helper()
	intents := make([]ledger.Intent, len(rows))
	for i, r := range rows {
		intents[i] = intent(r)
	}
	said, err := l.Resolutions().AssumeSent(s.Context(), intents, since, "it may have been sent, says Ana")
	s.must(err)
	return said
}

// A row that is assumed to have been sent is uncertain: it reserves its money,
// even beyond the balance, its purchase is reserved too, and no one sends it. It is
// resolved like any other.
func TestAssumeSent(t *testing.T) { onBothDatabases(t, testAssumeSent) }

func testAssumeSent(s *suite) {
	l, ctx := s.open(), s.Context()
	s.must(l.Entries().RecordDeposit(ctx, cost, ""))
	rows := s.add(l, "a", reports("a", 4)...)
	if begun := s.begin(l, intent(rows[0])); begun.Attempt == 0 {
		s.Fatalf("%+v", begun)
	}
	if begun := s.begin(l, intent(rows[1])); !begun.Short {
		s.Fatalf("%+v", begun)
	}
	stale := s.rows(l, "a")
	since := s.clock()
	s.pass(time.Hour)

	said := s.suppose(l, since, stale...)
	if !said[0].Lost || said[1].Attempt != 1 || said[2].Attempt != 1 || said[3].Attempt != 1 {
		s.Errorf("%+v", said)
	}
	s.want(l, rows[0], filing.Placing, cost)
	for _, r := range rows[1:] {
		s.wantAssumedSent(l, r, since)
	}
	if b := s.book(l); b.Reserved != 4*cost || b.Available() != -3*cost {
		s.Errorf("%+v", b)
	}
	for _, again := range s.suppose(l, since, s.rows(l, "a")...) {
		if !again.Lost {
			s.Errorf("a second time: %+v", again)
		}
	}
	rival := s.add(l, "b", report("comp_a1", "2026"))[0]
	if begun := s.begin(l, intent(rival)); len(begun.Taken) != 1 || begun.Taken[0].Bought {
		s.Errorf("%+v", begun)
	}

	s.must(l.Resolutions().MarkNotPlaced(ctx, rows[1].ID, 0, "not there"))
	s.want(l, rows[1], filing.Ready, 0)
	s.must(l.Resolutions().MarkPlaced(ctx, rows[2].ID, 0, []string{"order_2"}, "there"))
	if got := s.want(l, rows[2], filing.Placed, 0); got.Cost.Amount != cost ||
		got.Items[0].Product != filing.AnnualReport {
		s.Errorf("%+v", got)
	}
	if b := s.book(l); b.Reserved != 2*cost || b.Posted != cost {
		s.Errorf("%+v", b)
	}
	s.answer(l, rows[0], filing.Accepted)
}

// wantAssumedSent checks that a row is uncertain, as if it had been sent since, and
// may not be sent.
func (s *suite) wantAssumedSent(l *ledger.Ledger, r ledger.Row, since time.Time) {
	s.Helper()
	got := s.want(l, r, filing.Uncertain, cost)
	if got.BlockedOn != "" || got.LastAttempt != 1 || got.Message != "it may have been sent, says Ana" {
		s.Errorf("%+v", got)
	}
	attempts, err := l.Attempts(s.Context(), r.ID)
	if s.must(err); len(attempts) != 1 || !attempts[0].Supposed || !attempts[0].StartedAt.Equal(since) ||
		attempts[0].Outcome != filing.NoAnswer {
		s.Errorf("%+v", attempts)
	}
	for _, in := range []ledger.Intent{intent(r), intent(got)} {
		if begun := s.begin(l, in); !begun.Lost {
			s.Errorf("it may be sent: %+v", begun)
		}
	}
}

// Where another row has the purchase, or is about to make it, there is nothing
// to suppose: nothing of the row can have been sent, or that row's answer is its
// own, too.
func TestAssumeSentYieldsToPurchases(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", report("comp_1", "2026"), report("comp_2", "2026"), report("comp_3", "2026"))
		s.place(l, rows[0])
		s.send(l, rows[1])
		s.answer(l, rows[1], filing.NoAnswer)
		same := s.add(l, "b", report("comp_1", "2026"), report("comp_2", "2026"), report("comp_1", "2027"),
			report("comp_4", "2026"), report("comp_4", "2026"))
		said := s.suppose(l, s.clock(), same...)
		if t := said[0].Taken; len(t) != 1 || !t[0].Bought || t[0].Row != rows[0].ID {
			s.Errorf("%+v", said[0])
		}
		if t := said[1].Taken; len(t) != 1 || t[0].Bought || t[0].Row != rows[1].ID {
			s.Errorf("%+v", said[1])
		}
		if t := said[2].Taken; len(t) != 1 || !t[0].Covers {
			s.Errorf("%+v", said[2])
		}
		if t := said[4].Taken; said[3].Attempt != 1 || len(t) != 1 || t[0].Row != same[3].ID {
			s.Errorf("%+v", said[3:])
		}
		for _, i := range []int{0, 1, 2, 4} {
			s.want(l, same[i], filing.Ready, 0)
		}
	})
}

// A row that was in doubt already, to be sent again, keeps what it holds.
func TestAssumeSentOfAnUncertainRow(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		row := s.add(l, "a", agentOrder("comp_1"))[0]
		s.send(l, row)
		if row = s.answer(l, row, filing.NoAnswer); !row.Uncertain {
			s.Fatalf("%+v", row)
		}
		s.suppose(l, s.clock(), row)
		if got := s.want(l, row, filing.Uncertain, cost); got.Uncertain || got.LastAttempt != 2 {
			s.Errorf("%+v", got)
		}
	})
}

// A row that creates its company may have done both: it is settled with the
// company and the order, with the company alone, or as never made.
func TestAssumeSentOfACreation(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		creation := func(name string) ledger.Row {
			r := report("", "2026")
			r.Request.Company.Sheet.LegalName = name
			return r
		}
		rows := s.add(l, "a", creation("One"), creation("Two"), creation("Three"), creation("Four"))
		in := func(r ledger.Row) ledger.Intent {
			return ledger.Intent{
				Row:         r.ID,
				LastAttempt: r.LastAttempt,
				Creating:    true,
				Cost:        money.Cost{Amount: cost},
				Claims: []ledger.Claim{
					{Product: filing.CompanyRecord, Key: filing.Key("company|" + r.Request.Company.Sheet.LegalName)},
				},
			}
		}
		said, err := l.Resolutions().AssumeSent(ctx, []ledger.Intent{in(rows[0]), in(rows[1]), in(rows[2])},
			s.clock(), "")
		if s.must(err); said[2].Attempt != 1 {
			s.Fatalf("%+v", said)
		}
		known := func(company string) []ledger.Claim { return intent(report(company, "2026")).Claims }
		s.must(l.Resolutions().MarkAssumedPlaced(ctx, rows[0].ID, 0, []string{"order_1"}, filing.Company{ID: "comp_1"},
			known("comp_1"),
			"both are there"))
		got := s.want(l, rows[0], filing.Placed, 0)
		if got.Company != "comp_1" || got.Creating || len(got.Items) != 1 ||
			got.Items[0].Product != filing.AnnualReport || got.Cost.Amount != cost {
			s.Errorf("%+v", got)
		}
		if companies, err := l.Companies().Find(ctx, []string{"company|One"}); err != nil ||
			companies["company|One"].ID != "comp_1" {
			s.Error(companies, err)
		}
		rival := s.add(l, "b", report("comp_1", "2026"))[0]
		if begun := s.begin(l, intent(rival)); len(begun.Taken) != 1 || !begun.Taken[0].Bought {
			s.Errorf("%+v", begun)
		}
		s.must(l.Resolutions().MarkCreated(ctx, rows[1].ID, 0, filing.Company{ID: "comp_2"}, "the company alone"))
		if got := s.want(l, rows[1], filing.Ready, 0); got.Company != "comp_2" || got.Creating {
			s.Errorf("%+v", got)
		}
		s.must(l.Resolutions().MarkNotPlaced(ctx, rows[2].ID, 0, "neither"))
		if got := s.want(l, rows[2], filing.Ready, 0); got.Creating {
			s.Errorf("%+v", got)
		}
		// A creation that was really sent, and nothing else, is no such row.
		if begun := s.begin(l, in(rows[3])); begun.Attempt == 0 {
			s.Fatalf("%+v", begun)
		}
		s.answer(l, rows[3], filing.NoAnswer)
		s.wantErr(l.Resolutions().MarkAssumedPlaced(ctx, rows[3].ID, 0, []string{"order_4"},
			filing.Company{ID: "comp_4"},
			known("comp_4"),
			""), ledger.ErrCreating)
	})
}
