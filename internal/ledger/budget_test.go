package ledger_test

import (
	"context"
	"slices"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// When money is short the earliest due is filed first, whatever the order of
// the sheet, and money that comes later goes on in that order.
func TestEarliestDueFirst(t *testing.T) {
	onLedger(t, func(s *store, ctx context.Context, l *ledger.Ledger) {
		rows := reports("a", 5)
		for i, priority := range []int64{50, 20, 40, 10, 30} {
			rows[i].Priority = priority
		}
		rows = s.add(l, "a", rows...)
		sendable := func(want ...int) {
			s.Helper()
			ids, err := l.Sendable(ctx, "", 10)
			s.must(err)
			if len(ids) != len(want) {
				s.Fatalf("%d rows may go, want %v", len(ids), want)
			}
			for i, id := range ids {
				if id != rows[want[i]].ID {
					s.Fatalf("the row in place %d is %d, want %d", i, id, rows[want[i]].ID)
				}
			}
		}
		sendable(3, 1, 4, 2, 0)
		s.must(l.RecordDeposit(ctx, 2*cost, ""))
		sendable(3, 1)
		s.place(l, rows[3])
		s.send(l, rows[1])
		sendable()
		s.answer(l, rows[1], filing.Refused) // its money is free again
		sendable(4)
		s.must(l.RecordDeposit(ctx, cost, ""))
		sendable(4, 2)
		s.must(l.Adjust(ctx, 10*cost, "found"))
		sendable(4, 2, 0)
		for _, i := range []int{4, 2, 0} {
			s.place(l, rows[i])
		}
		if b := s.book(l); b.Posted != 4*cost {
			s.Errorf("%+v", b)
		}
	})
}

// One that does not fit is not jumped over by a cheaper one that is due later;
// rows that nothing is known of go as they come.
func TestTheOrderIsKeptWhereOneDoesNotFit(t *testing.T) {
	onLedger(t, func(s *store, ctx context.Context, l *ledger.Ledger) {
		s.must(l.RecordDeposit(ctx, 2*cost, ""))
		rows := reports("a", 3)
		rows[0].Priority, rows[1].Priority = 10, 20
		rows[0].Cost = money.Cost{Amount: 3 * cost}
		rows = s.add(l, "a", rows...) // to open it is to ration
		ids, err := l.Sendable(ctx, "a", 10)
		if s.must(err); len(ids) != 1 || ids[0] != rows[2].ID {
			s.Errorf("%v may go", ids)
		}
	})
}

func TestApproval(t *testing.T) {
	onLedger(t, func(s *store, ctx context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", reports("a", 1)...)
		s.must(l.Approvals().Request(ctx, "a", "plan 1"))
		sendable := func(want int) {
			s.Helper()
			if ids, err := l.Sendable(ctx, "", 10); err != nil || len(ids) != want {
				s.Fatalf("%v (%v), want %d", ids, err, want)
			}
		}
		sendable(0)
		if begun := s.begin(l, intent(rows[0])); !begun.Lost {
			s.Errorf("%+v", begun)
		}
		for _, c := range []struct {
			batch, plan string
			want        error
		}{{"a", "plan 2", ledger.ErrChanged}, {"b", "plan 1", ledger.ErrNotFound}, {"a", "plan 1", nil},
			{"a", "plan 1", ledger.ErrNoApprovalNeeded}} {
			s.wantErr(l.Approvals().Approve(ctx, c.batch, c.plan, "Ana"), c.want)
		}
		sendable(1)
		b, err := l.Batch(ctx, "a")
		if s.must(err); b.Approval.By != "Ana" || b.Approval.State != ledger.ApprovalGiven ||
			!b.Approval.At.Equal(s.clock()) {
			s.Errorf("%+v", b.Approval)
		}
		s.must(l.Approvals().Request(ctx, "a", "plan 1")) // the same plan was approved
		sendable(1)
		s.must(l.Approvals().Request(ctx, "a", "plan 3"))
		sendable(0)
	})
}

// Money wakes those that wait for it only where others do not need it any more:
// not what a row that goes again gave back, but what was meant for one that is
// refused, or that need not be sent.
func TestOnlySpareMoneyWakes(t *testing.T) {
	onLedger(t, func(s *store, ctx context.Context, l *ledger.Ledger) {
		s.must(l.RecordDeposit(ctx, 2*cost, ""))
		rows := reports("a", 5)
		for i := range rows {
			rows[i].Priority = int64(10 + i)
		}
		rows = s.add(l, "a", rows...)
		sendable := func(want ...int) {
			s.Helper()
			ids, err := l.Sendable(ctx, "", 10)
			s.must(err)
			var at []int
			for _, id := range ids {
				at = append(at, slices.IndexFunc(rows, func(r ledger.Row) bool { return r.ID == id }))
			}
			if !slices.Equal(at, want) {
				s.Fatalf("%v may go, want %v", at, want)
			}
		}
		sendable(0, 1)
		s.send(l, rows[0])
		s.answer(l, rows[0], filing.NotSent)
		sendable(0, 1)
		s.must(l.Defer(ctx, ledger.Deferral{Row: rows[0].ID, Next: filing.Rejected, Message: "no such company"}))
		sendable(1, 2)
		s.must(l.Defer(ctx, ledger.Deferral{Row: rows[1].ID, Next: filing.Exists, Message: "bought before"}))
		sendable(2, 3)
		s.send(l, rows[2])
		s.answer(l, rows[2], filing.Refused)
		sendable(3, 4)
	})
}

// While a batch is paused the money that was meant for it is there for others.
func TestAPausedBatchKeepsNoMoney(t *testing.T) {
	onLedger(t, func(s *store, ctx context.Context, l *ledger.Ledger) {
		var rows []ledger.Row
		for i, batch := range []string{"a", "b"} {
			row := reports(batch, 1)
			row[0].Priority = int64(10 + i)
			rows = append(rows, s.add(l, batch, row...)...)
		}
		sendable := func(want ...ledger.Row) {
			s.Helper()
			ids, err := l.Sendable(ctx, "", 10)
			s.must(err)
			if len(ids) != len(want) || len(want) == 1 && ids[0] != want[0].ID {
				s.Fatalf("%v may go, want %v", ids, want)
			}
		}
		s.must(l.RecordDeposit(ctx, cost, ""))
		sendable(rows[0])
		s.must(l.PauseBatch(ctx, "a"))
		sendable(rows[1])
		s.must(l.ResumeBatch(ctx, "a"))
		sendable(rows[0])
		s.must(l.PauseBatch(ctx, "a"))
		s.place(l, rows[1])
		s.must(l.ResumeBatch(ctx, "a"))
		if begun := s.begin(l, intent(s.row(l, rows[0].ID))); begun.Try != 0 {
			s.Errorf("there is no money left: %+v", begun)
		}
		for _, change := range []func() error{func() error { return l.PauseBatch(ctx, "c") },
			func() error { return l.ResumeBatch(ctx, "c") }} {
			s.wantErr(change(), ledger.ErrNotFound)
		}
	})
}

// A row in doubt that became dearer than what it holds is sent as soon as there
// is money for the difference, before all others: nobody knows whether it is
// bought.
func TestFundsGoToUncertainRowsFirst(t *testing.T) {
	const dearer = cost + 1000
	onLedger(t, func(s *store, ctx context.Context, l *ledger.Ledger) {
		s.must(l.RecordDeposit(ctx, 2*cost, ""))
		agent := agentOrder("comp_1")
		agent.Priority = 99
		row := s.add(l, "a", agent)[0]
		others := reports("b", 3)
		for i := range others {
			others[i].Priority = int64(10 + i)
		}
		short := func() {
			s.Helper()
			s.send(l, row)
			s.answer(l, row, filing.NoAnswer)
			in := intent(s.row(l, row.ID))
			in.Cost.Amount = s.row(l, row.ID).Reserved + dearer - cost
			if begun := s.begin(l, in); !begun.Short {
				s.Fatalf("%+v", begun)
			}
		}
		sendable := func(want bool) {
			s.Helper()
			ids, err := l.Sendable(ctx, "", 10)
			if s.must(err); slices.Contains(ids, row.ID) != want {
				s.Fatalf("%v may go (%+v)", ids, s.row(l, row.ID))
			}
		}
		s.send(l, row)
		s.answer(l, row, filing.NoAnswer)
		others = s.add(l, "b", others...)
		s.send(l, others[0]) // all that was there is held now
		short()
		s.must(l.Adjust(ctx, dearer-cost-1, "a cent is missing"))
		sendable(false)
		s.must(l.RecordDeposit(ctx, 1, ""))
		sendable(true)
		s.must(l.RecordDeposit(ctx, cost-1, "what one of the others needs, but for a cent"))
		ids, err := l.Sendable(ctx, "b", 10)
		if s.must(err); len(ids) > 0 {
			s.Errorf("%v take what the row in doubt needs", ids)
		}
		s.send(l, row)
		s.want(l, row, filing.Placing, dearer)
		s.must(l.Audit(ctx))
		s.answer(l, row, filing.NoAnswer)

		// Money that is set free wakes it, too.
		s.must(l.Adjust(ctx, 1-cost, "nothing is left"))
		short()
		s.answer(l, others[0], filing.Refused)
		sendable(true)
		s.send(l, row)
		s.want(l, row, filing.Placing, dearer+1000)
	})
}

// Nothing of a batch that is paused, canceled or not approved is sent, a row in
// doubt neither: sending it again may buy it.
func TestNoUncertainRowIsSentAgainstAPersonsDecision(t *testing.T) {
	for name, c := range map[string]struct {
		word   func(*store, *ledger.Ledger) error
		result filing.Result
	}{
		"paused": {func(s *store, l *ledger.Ledger) error { return l.PauseBatch(s.Context(), "a") },
			filing.Ready},
		"canceled": {func(s *store, l *ledger.Ledger) error {
			_, err := l.CancelBatch(s.Context(), "a")
			return err
		}, filing.Uncertain},
		"an approval is wanted": {func(s *store, l *ledger.Ledger) error {
			return l.Approvals().Request(s.Context(), "a", "plan")
		}, filing.Ready},
	} {
		t.Run(name, func(t *testing.T) {
			onLedger(t, func(s *store, _ context.Context, l *ledger.Ledger) {
				rows := s.add(l, "a", agentOrder("comp_1"), agentOrder("comp_2"))
				s.send(l, rows[0])
				s.answer(l, rows[0], filing.NoAnswer)
				s.send(l, rows[1])
				s.must(c.word(s, l))
				s.answer(l, rows[1], filing.NoAnswer) // it was out while the word was given
				for _, r := range rows {
					r = s.want(l, r, c.result, cost)
					if begun := s.begin(l, intent(r)); begun.Try != 0 {
						s.Errorf("row %d was sent again: %+v", r.Number, begun)
					}
				}
				if ids, err := l.Sendable(s.Context(), "", 10); err != nil || len(ids) > 0 {
					s.Errorf("%v may be sent, %v", ids, err)
				}
			})
		})
	}
}

// A row in doubt holds its money: it is never kept back for others.
func TestAnUncertainRowIsNotRationed(t *testing.T) {
	onLedger(t, func(s *store, ctx context.Context, l *ledger.Ledger) {
		s.must(l.RecordDeposit(ctx, 2*cost, ""))
		agent := agentOrder("comp_1")
		agent.Priority = 99
		row := s.add(l, "a", agent)[0]
		s.send(l, row)
		s.answer(l, row, filing.NoAnswer)
		others := reports("b", 3)
		for i := range others {
			others[i].Priority = int64(10 + i)
		}
		others = s.add(l, "b", others...)
		ids, err := l.Sendable(ctx, "", 10)
		if s.must(err); !slices.Equal(ids, []int64{row.ID, others[0].ID}) {
			s.Errorf("%v may go", ids)
		}
		s.must(l.Adjust(ctx, -cost, "a fee"))
		if ids, err = l.Sendable(ctx, "", 10); err != nil || !slices.Equal(ids, []int64{row.ID}) {
			s.Errorf("%v may go, %v", ids, err)
		}
		s.place(l, row)
	})
}
