package ledger_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// notPlaced leaves a row ready whose order was sent, and which a person marked as
// not placed. It returns the answer that may still come.
func (s *store) notPlaced(l *ledger.Ledger, r ledger.Row) (late ledger.Outcome) {
	s.Helper()
	try := s.send(l, r)
	late = outcome(s.row(l, r.ID), try, filing.Accepted)
	s.answer(l, r, filing.NoAnswer)
	s.must(l.Resolutions().MarkNotPlaced(s.Context(), r.ID, 0, "not on the dashboard"))
	return late
}

// sendable checks which rows may be sent, in their order.
func (s *store) sendable(l *ledger.Ledger, want ...ledger.Row) {
	s.Helper()
	ids, err := l.Sendable(s.Context(), "", 10)
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

// A late answer shows a purchase whose key a rival has taken meanwhile: the key
// stays with the purchase, whatever becomes of the rival.
func TestLateAnswerBesideARival(t *testing.T) {
	for _, class := range []filing.AnswerKind{filing.Refused, filing.NoAnswer, filing.Accepted} {
		t.Run(string(class), func(t *testing.T) {
			onBothDatabases(t, func(s *store) {
				l := s.open()
				row := s.add(l, "a", report("comp_1", "2026"))[0]
				late := s.notPlaced(l, row)
				rival := s.add(l, "b", report("comp_1", "2026"))[0]
				s.send(l, rival)
				s.must(l.RecordOutcome(s.Context(), late))
				s.want(l, row, filing.Placed, 0)
				rival = s.answer(l, rival, class)
				third := s.add(l, "c", report("comp_1", "2026"))[0]
				begun := s.begin(l, intent(third))
				if len(begun.Taken) != 1 || !begun.Taken[0].Bought || begun.Taken[0].Row != row.ID {
					s.Errorf("a third row is told %+v", begun)
				}
				if class != filing.Accepted {
					return
				}
				for _, r := range []ledger.Row{s.row(l, row.ID), rival} {
					if !strings.Contains(r.Message, "bought twice") {
						s.Errorf("row %d of batch %s says %q", r.Number, r.Batch, r.Message)
					}
				}
			})
		})
	}
}

// In one commit an answer is recorded before a rival asks for the same purchase,
// whichever came first.
func TestLateAnswerAndRivalInOneGroup(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l := s.open()
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

// A transition that the database refuses fails alone: the answers beside it are
// recorded, and the orders beside it go out.
func TestOneBadTransitionOfAGroup(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l := s.open()
		rows := s.add(l, "a", report("comp_1", "2026"), report("comp_1", "2027"), report("comp_2", "2026"),
			report("comp_3", "2026"))
		s.send(l, rows[0])
		s.send(l, rows[2])
		s.exec(`CREATE UNIQUE INDEX refusing ON purchases (cover)`) // the second year of comp_1 breaks it
		results := l.CommitTogether(intent(rows[1]), outcome(s.row(l, rows[2].ID), 1, filing.Accepted), intent(rows[3]))
		s.exec(`DROP INDEX refusing`)
		if results[0].Err == nil {
			s.Errorf("what the database refuses succeeds: %+v", results[0].Begun)
		}
		s.must(results[1].Err)
		s.must(results[2].Err)
		s.want(l, rows[1], filing.Ready, 0)
		s.want(l, rows[2], filing.Placed, 0)
		s.want(l, rows[3], filing.Placing, cost)
	})
}

// Should another writer ever slip in with the same key, no order leaves: the
// database refuses the intent.
func TestTheKeyIsTheLastGuard(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l := s.open()
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

// An attempt is named by its number and its process: where two processes begin
// the same one, because the ledger lost the first, both answers count.
func TestAnswerOfAnotherProcess(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		lost, l := s.open(), s.open()
		row := s.add(l, "a", report("comp_1", "2026"))[0]
		s.send(l, row)
		answer := outcome(row, 1, filing.Accepted) // of an attempt that the ledger does not know
		answer.Items[0].OrderID = "order_of_the_lost_attempt"
		s.must(lost.RecordOutcome(s.Context(), answer))
		s.want(l, row, filing.Placing, cost)
		s.must(l.RecordOutcome(s.Context(), outcome(s.row(l, row.ID), 1, filing.Accepted)))
		got := s.want(l, row, filing.Placed, 0)
		if len(got.Items) != 2 || !strings.Contains(got.Message, "bought twice by this row") {
			s.Errorf("%s: %+v", got.Message, got.Items)
		}
		if b := s.book(l); b.Posted != 2*cost {
			s.Errorf("%s is posted for two orders", b.Posted)
		}
	})
}

// A refusal outweighs the person who marked the row as placed: it is uncertain
// again, and its money is reserved.
func TestRefusalAfterPlaced(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l := s.open()
		s.must(l.RecordDeposit(s.Context(), 2*cost, ""))
		row := s.add(l, "a", report("comp_1", "2026"))[0]
		s.send(l, row)
		refusal := outcome(s.row(l, row.ID), 1, filing.Refused)
		s.answer(l, row, filing.NoAnswer)
		s.must(l.Resolutions().MarkPlaced(s.Context(), row.ID, 0, []string{"order_seen"}, "seen by Ana"))
		if b := s.book(l); b.Posted != cost {
			s.Errorf("%+v", b)
		}
		s.must(l.RecordOutcome(s.Context(), refusal))
		if got := s.want(l, row, filing.Uncertain, cost); !strings.Contains(got.Message, "marked as placed") {
			s.Error(got.Message)
		}
		if b := s.book(l); b.Posted != 0 || b.Available() != cost {
			s.Errorf("%+v", b)
		}
		rival := s.add(l, "b", report("comp_1", "2026"))[0]
		if begun := s.begin(l, intent(rival)); len(begun.Taken) != 1 || begun.Taken[0].Bought {
			s.Errorf("while nobody knows, a rival is told %+v", begun)
		}
		s.must(l.Resolutions().MarkNotPlaced(s.Context(), row.ID, 0, "refused indeed"))
		s.place(l, rival) // the filing can be ordered again
	})
}

// A late answer that names one of two items places that one; the money of the
// other is reserved until a person has looked.
func TestLateAnswerInPart(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l := s.open()
		s.must(l.RecordDeposit(s.Context(), 2*cost, ""))
		r := report("comp_1", "2026")
		r.Request.Order.RegisteredAgent = &filing.RegisteredAgentItem{}
		row := s.add(l, "a", r)[0]
		late := s.notPlaced(l, row)
		late.Items = late.Items[:1]
		late.Items[0].Cost = money.Cost{Amount: 5000}
		s.must(l.RecordOutcome(s.Context(), late))
		s.want(l, row, filing.Uncertain, cost-5000)
		if b := s.book(l); b.Posted != 5000 || b.Available() != cost {
			s.Errorf("%+v", b)
		}
		rival := s.add(l, "b", report("comp_1", "2026"))[0]
		if begun := s.begin(l, intent(rival)); len(begun.Taken) != 1 || !begun.Taken[0].Bought {
			s.Errorf("%+v", begun)
		}
	})
}

// A row that may have been bought, and that cannot be sent again, is a person's:
// it does not end as rejected or skipped.
func TestDeferOfAnUncertainAttempt(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l := s.open()
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
	onBothDatabases(t, func(s *store) {
		l := s.open()
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

// That a company was created says nothing about funds: everybody else waits on.
func TestCreationIsNoProofOfFunds(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l := s.open()
		rows := s.add(l, "a", reports("a", 3)...)
		s.send(l, rows[0])
		s.answer(l, rows[0], filing.NoFunds)
		s.pass(time.Minute)
		creation := intent(rows[1])
		creation.Creating, creation.Cost = true, money.Cost{}
		creation.Claims = []ledger.Claim{{Product: filing.CompanyRecord, Key: "company|user_1|larkspur|DE"}}
		begun := s.begin(l, creation)
		made := outcome(s.row(l, rows[1].ID), begun.Try, filing.Accepted)
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
	onBothDatabases(t, func(s *store) {
		l, other := s.open(), s.open()
		rows := s.add(l, "a", reports("a", 2)...)
		s.send(l, rows[0])
		s.send(other, rows[1])
		s.exec(`UPDATE rows SET owner = (SELECT r.owner FROM rows r WHERE r.number = 2) WHERE number = 3`)
		if orphans, err := l.Fleet().Orphans(s.Context()); err != nil || len(orphans) != 0 {
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
	onBothDatabases(t, func(s *store) {
		l, ctx := s.open(), s.Context()
		early := s.add(l, "early", due(report("comp_early", "2026"), 10))[0]
		s.must(l.Approvals().Request(ctx, "early", "plan"))
		later := s.add(l, "later", due(report("comp_later", "2026"), 50))[0]
		s.must(l.RecordDeposit(ctx, cost, ""))
		s.sendable(l, later)
		s.must(l.Approvals().Approve(ctx, "early", "plan", "Ana"))
		s.sendable(l, early)
		if begun := s.begin(l, intent(s.row(l, later.ID))); begun.Try != 0 {
			s.Errorf("the money goes to the row that is due later: %+v", begun)
		}
	})
}

// Money that a decision sets free goes to the row that is due first, and not to
// the one that had it.
func TestResolveKeepsTheOrderOfDueDates(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l, ctx := s.open(), s.Context()
		s.must(l.RecordDeposit(ctx, cost, ""))
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
	onBothDatabases(t, func(s *store) {
		l, ctx := s.open(), s.Context()
		s.must(l.RecordDeposit(ctx, cost, ""))
		early := s.add(l, "early", due(report("comp_early", "2026"), 10))[0]
		later := s.add(l, "later", due(report("comp_later", "2026"), 50))[0]
		s.sendable(l, early)
		if n, err := l.CancelBatch(ctx, "early"); err != nil || n != 1 {
			s.Fatal(n, err)
		}
		s.sendable(l, later)
	})
}

// A row that may be sent again has its money already: others need not wait for it
// once more.
func TestAnUncertainAttemptNeedsNoMoreMoney(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l := s.open()
		s.must(l.RecordDeposit(s.Context(), 2*cost, ""))
		again := s.add(l, "a", agentOrder("comp_1"))[0]
		s.send(l, again)
		s.answer(l, again, filing.NoAnswer)
		s.want(l, again, filing.Ready, cost)
		other := s.add(l, "b", due(report("comp_2", "2026"), 10))[0]
		if got := s.row(l, other.ID); got.BlockedOn != "" {
			s.Errorf("it waits for %q although %s is available", got.BlockedOn, s.book(l).Available())
		}
		s.place(l, other)
	})
}
