package ledger_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// notPlaced leaves a row ready whose order was sent, and which a person marked as
// not placed. It returns the answer that may still come.
func (s *suite) notPlaced(l *ledger.Ledger, r ledger.Row) (late ledger.Outcome) {
	s.Helper()
	attempt := s.send(l, r)
	late = outcome(s.row(l, r.ID), attempt, filing.Accepted)
	s.answer(l, r, filing.NoAnswer)
	s.must(l.Resolutions().MarkNotPlaced(s.Context(), r.ID, 0, "not on the dashboard"))
	return late
}

// sendable checks which rows may be sent, in their order.
func (s *suite) sendable(l *ledger.Ledger, want ...ledger.Row) {
	s.Helper()
	ids, err := l.Backlog().ListSendable(s.Context(), "", 10)
	s.must(err)
	var expected []int64
	for _, r := range want {
		expected = append(expected, r.ID)
	}
	if !slices.Equal(ids, expected) {
		s.Fatalf("rows %v may be sent, want %v", ids, expected)
	}
}

// due is a row that is due at a moment, as priorities tell it.
func due(r ledger.Row, priority int64) ledger.Row {
	r.Priority = priority
	return r
}

// In one commit an answer is recorded before a rival asks for the same purchase,
// whichever came first.
func TestLateAnswerAndRivalInOneGroup(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		row := s.add(l, "a", report("comp_1", "2026"))[0]
		late := s.notPlaced(l, row)
		rival := s.add(l, "b", report("comp_1", "2026"))[0]
		results := l.CommitTogether(intent(rival), late)
		for _, r := range results {
			s.must(r.Err)
		}
		if begun := results[0].Begun; len(begun.Taken) != 1 || !begun.Taken[0].Bought {
			s.Errorf("the rival is told %+v", begun)
		}
		s.want(l, row, filing.Placed, 0)
	})
}

// A transition that is not valid, or that the database refuses, fails alone: the answers
// beside it are recorded, and the orders beside it go out.
func TestOneBadTransitionOfAGroup(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", report("comp_1", "2026"), report("comp_1", "2027"), report("comp_2", "2026"),
			report("comp_3", "2026"))
		s.send(l, rows[0])
		s.send(l, rows[2])
		kindless := outcome(s.row(l, rows[0].ID), 1, filing.Accepted)
		kindless.Answer.Kind = ""
		nowhere := kindless
		nowhere.Row = 1 << 40
		s.exec(`CREATE UNIQUE INDEX refusing ON purchases (cover)`) // the second year of comp_1 breaks it
		results := l.CommitTogether(intent(rows[1]), outcome(s.row(l, rows[2].ID), 1, filing.Accepted), intent(rows[3]),
			kindless, nowhere, ledger.Intent{Row: 1 << 41}, ledger.Deferral{Row: rows[0].ID, Next: filing.Exists})
		s.exec(`DROP INDEX refusing`)
		if results[0].Err == nil {
			s.Errorf("what the database refuses succeeds: %+v", results[0].Begun)
		}
		for i, want := range []error{nil, nil, ledger.ErrTransition, ledger.ErrNotFound, ledger.ErrNotFound,
			ledger.ErrTransition} {
			s.wantErr(results[i+1].Err, want)
		}
		s.want(l, rows[0], filing.Placing, cost)
		s.want(l, rows[1], filing.Ready, 0)
		s.want(l, rows[2], filing.Placed, 0)
		s.want(l, rows[3], filing.Placing, cost)
	})
}

// Should another writer ever slip in with the same key, no order leaves: the
// database refuses the intent.
func TestTheKeyIsTheLastGuard(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", report("comp_1", "2026"), report("comp_1", "2026"))
		const slipIn = `INSERT INTO purchases (key, row, product, at) SELECT NEW.key, MIN(id), NEW.product, 0 FROM rows`
		if s.config.DatabaseURL == "" {
			s.exec(`CREATE TRIGGER slip_in BEFORE INSERT ON purchases WHEN NEW.at > 0 BEGIN ` + slipIn + `; END`)
		} else {
			s.exec(`CREATE FUNCTION slip_in() RETURNS trigger AS 'BEGIN ` + slipIn +
				`; RETURN NEW; END' LANGUAGE plpgsql`)
			s.exec(`CREATE TRIGGER slip_in BEFORE INSERT ON purchases FOR EACH ROW
					WHEN (NEW.at > 0) EXECUTE FUNCTION slip_in()`)
		}
		begun, err := l.Begin(s.Context(), intent(rows[1]))
		if s.config.DatabaseURL == "" {
			s.exec(`DROP TRIGGER slip_in`)
		} else {
			s.exec(`DROP TRIGGER slip_in ON purchases`)
		}
		if err == nil {
			s.Errorf("the order goes out: %+v", begun)
		}
		s.want(l, rows[1], filing.Ready, 0)
	})
}

// A row that may have been bought, and that cannot be sent again, is a person's:
// it does not end as rejected or skipped.
func TestDeferOfAnUncertainAttempt(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		for _, next := range []filing.Result{filing.Rejected, filing.Skipped, filing.Exists} {
			company := "comp_" + string(next)
			row := s.add(l, "of "+string(next), agentOrder(company))[0]
			s.send(l, row)
			s.answer(l, row, filing.NoAnswer)
			s.must(l.Defer(s.Context(), ledger.Deferral{Row: row.ID, Next: next, Message: "there is no such company"}))
			if got := s.want(l, row, filing.Uncertain, cost); !strings.Contains(got.Message,
				"there is no such company") {
				s.Error(got.Message)
			}
			rival := s.add(l, "rival of "+string(next), agentOrder(company))[0]
			if begun := s.begin(l, intent(rival)); len(begun.Taken) != 1 || begun.Taken[0].Bought {
				s.Errorf("%+v", begun)
			}
		}
	})
}

// One order id is that of one row: a second row whose answer names it has bought
// nothing that anybody could show.
func TestOneOrderIsOfOneRow(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", report("comp_1", "2026"), report("comp_2", "2026"))
		for _, r := range rows {
			s.send(l, r)
			o := outcome(s.row(l, r.ID), 1, filing.Accepted)
			o.Items[0].OrderID = "order_same"
			s.must(l.RecordOutcome(s.Context(), o))
		}
		s.want(l, rows[0], filing.Placed, 0)
		if got := s.want(l, rows[1], filing.Uncertain, cost); len(got.Items) != 0 ||
			!strings.Contains(got.Message, "order_same, which is the order of row 2") {
			s.Errorf("%s %+v", got.Message, got.Items)
		}
	})
}

// One order is of one item: an answer that names an order for two items shows one purchase.
func TestOneOrderIsOfOneItem(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		both := report("comp_1", "2026")
		both.Request.Order.RegisteredAgent = &filing.RegisteredAgentItem{}
		row := s.add(l, "a", both)[0]
		s.send(l, row)
		o := outcome(s.row(l, row.ID), 1, filing.Accepted)
		for i := range o.Items {
			o.Items[i].OrderID = "order_same"
		}
		s.must(l.RecordOutcome(s.Context(), o))
		got := s.row(l, row.ID)
		if got.Result != filing.Uncertain || len(got.Items) != 1 ||
			!strings.Contains(got.Message, "order_same, which is the order of row 2") {
			s.Errorf("%s: %s %+v", got.Result, got.Message, got.Items)
		}
	})
}

// That a company was created says nothing about funds: everybody else waits on.
func TestCreationIsNoProofOfFunds(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", reports("a", 3)...)
		s.send(l, rows[0])
		s.answer(l, rows[0], filing.NoFunds)
		s.pass(time.Minute)
		creation := intent(rows[1])
		creation.Creating, creation.Cost = true, money.Cost{}
		creation.Claims = []ledger.Claim{{Product: filing.CompanyRecord, Key: "company|user_1|larkspur|DE"}}
		begun := s.begin(l, creation)
		made := outcome(s.row(l, rows[1].ID), begun.Attempt, filing.Accepted)
		made.Creates, made.Claims, made.Items, made.Company = true, creation.Claims, nil, "comp_9"
		s.must(l.RecordOutcome(s.Context(), made))
		if h, err := l.Fleet().Halt(s.Context()); err != nil || h.Reason != filing.HaltFunds {
			s.Errorf("%+v, %v", h, err)
		}
	})
}

// An intent whose commit was lost on its way back to its process is given back:
// the process lives, and sent nothing.
func TestIntentWithoutConfirmation(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, other := s.open(), s.open()
		rows := s.add(l, "a", reports("a", 2)...)
		s.send(l, rows[0])
		s.send(other, rows[1])
		s.exec(`UPDATE rows SET owner = (SELECT r.owner FROM rows r WHERE r.number = 2) WHERE number = 3`)
		if orphans, err := l.Fleet().CollectOrphans(s.Context()); err != nil || len(orphans) != 0 {
			s.Errorf("%+v, %v", orphans, err)
		}
		s.want(l, rows[0], filing.Placing, cost)
		got := s.want(l, rows[1], filing.Ready, 0)
		if got.Attempts != 0 {
			s.Errorf("an order that was never sent counts: %+v", got)
		}
		s.answer(l, rows[0], filing.Accepted)
		s.place(l, rows[1])
	})
}

// Where money is short an approval lets the rows go that are due first, and not
// those that were approved first.
func TestApprovalKeepsTheOrderOfDueDates(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		early := s.add(l, "early", due(report("comp_early", "2026"), 10))[0]
		s.must(approval.New(l).Request(ctx, "early", "plan"))
		later := s.add(l, "later", due(report("comp_later", "2026"), 50))[0]
		s.must(l.Entries().RecordDeposit(ctx, cost, ""))
		s.sendable(l, later)
		s.must(approve(ctx, l, "early", "plan", "Ana"))
		s.sendable(l, early)
		if begun := s.begin(l, intent(s.row(l, later.ID))); begun.Attempt != 0 {
			s.Errorf("the money goes to the row that is due later: %+v", begun)
		}
	})
}

// Money that a decision sets free goes to the row that is due first, and not to
// the one that had it.
func TestResolveKeepsTheOrderOfDueDates(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.must(l.Entries().RecordDeposit(ctx, cost, ""))
		later := s.add(l, "later", due(report("comp_later", "2026"), 50))[0]
		s.send(l, later)
		s.answer(l, later, filing.NoAnswer)
		early := s.add(l, "early", due(report("comp_early", "2026"), 10))[0]
		s.sendable(l)
		s.must(l.Resolutions().MarkNotPlaced(ctx, later.ID, 0, "not on the dashboard"))
		s.sendable(l, early)
	})
}

// The money of a canceled batch is there for the rows that wait for it.
func TestCancelSetsItsMoneyFree(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.must(l.Entries().RecordDeposit(ctx, cost, ""))
		early := s.add(l, "early", due(report("comp_early", "2026"), 10))[0]
		later := s.add(l, "later", due(report("comp_later", "2026"), 50))[0]
		s.sendable(l, early)
		if n, err := l.CancelBatch(ctx, "early"); err != nil || n != 1 {
			s.Fatal(n, err)
		}
		s.sendable(l, later)
	})
}
