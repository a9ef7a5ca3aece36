package ledger_test

import (
	"context"
	"slices"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/balance"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// When money is short the earliest due is filed first, whatever the order of
// the sheet, and money that comes later goes on in that order.
func TestEarliestDueFirst(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		rows := reports("a", 5)
		for i, priority := range []int64{50, 20, 40, 10, 30} {
			rows[i].Priority = priority
		}
		rows = s.add(l, "a", rows...)
		s.sendable(l, rows[3], rows[1], rows[4], rows[2], rows[0])
		s.must(l.Entries().RecordDeposit(ctx, 2*cost, ""))
		s.sendable(l, rows[3], rows[1])
		s.place(l, rows[3])
		s.send(l, rows[1])
		s.sendable(l)
		s.answer(l, rows[1], filing.Refused) // its money is free again
		s.sendable(l, rows[4])
		s.must(l.Entries().RecordDeposit(ctx, cost, ""))
		s.sendable(l, rows[4], rows[2])
		s.must(l.Entries().Adjust(ctx, 10*cost, "found"))
		s.sendable(l, rows[4], rows[2], rows[0])
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
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.must(l.Entries().RecordDeposit(ctx, 2*cost, ""))
		rows := reports("a", 3)
		rows[0].Priority, rows[1].Priority = 10, 20
		rows[0].Cost = money.Cost{Amount: 3 * cost}
		rows = s.add(l, "a", rows...) // to open it is to ration
		s.sendable(l, rows[2])
	})
}

// A person may choose another sequence than the due dates. It lasts until the money comes.
func TestSetPriorities(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		rows := reports("a", 3)
		rows[0].Priority, rows[1].Priority, rows[2].Priority = 10, 20, 30
		rows = s.add(l, "a", rows...)
		s.must(l.SetPriorities(ctx, "a", []balance.Order{{Row: rows[2].Number, Priority: 5}}))
		s.must(l.Entries().RecordDeposit(ctx, cost, ""))
		s.sendable(l, rows[2])
		s.must(l.Entries().RecordDeposit(ctx, cost, ""))
		s.sendable(l, rows[2], rows[0])
	})
}

func TestApproval(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", reports("a", 1)...)
		s.must(approval.New(l).Request(ctx, "a", "plan 1"))
		s.sendable(l)
		if begun := s.begin(l, intent(rows[0])); !begun.Lost {
			s.Errorf("%+v", begun)
		}
		for _, c := range []struct {
			batch, plan string
			want        error
		}{{"a", "plan 2", approval.ErrChanged}, {"b", "plan 1", ledger.ErrNotFound}, {"a", "plan 1", nil},
			{"a", "plan 1", approval.ErrNoApprovalNeeded}} {
			s.wantErr(approve(ctx, l, c.batch, c.plan, "Ana"), c.want)
		}
		s.sendable(l, rows...)
		b, err := l.Batch(ctx, "a")
		if s.must(err); b.Approval.By != "Ana" || b.Approval.State != ledger.ApprovalGiven ||
			!b.Approval.At.Equal(s.clock()) {
			s.Errorf("%+v", b.Approval)
		}
		s.must(approval.New(l).Request(ctx, "a", "plan 1")) // the same plan was approved
		s.sendable(l, rows...)
		s.must(approval.New(l).Request(ctx, "a", "plan 3"))
		s.sendable(l)
	})
}

// Money wakes those that wait for it only where others do not need it any more:
// not what a row that goes again gave back, but what was meant for one that is
// refused, or that need not be sent.
func TestOnlySpareMoneyWakes(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.must(l.Entries().RecordDeposit(ctx, 2*cost, ""))
		rows := reports("a", 5)
		for i := range rows {
			rows[i].Priority = int64(10 + i)
		}
		rows = s.add(l, "a", rows...)
		s.sendable(l, rows[0], rows[1])
		s.send(l, rows[0])
		s.answer(l, rows[0], filing.NotSent)
		s.sendable(l, rows[0], rows[1])
		s.must(l.Defer(ctx, ledger.Deferral{Row: rows[0].ID, Next: filing.Rejected, Message: "no such company"}))
		s.sendable(l, rows[1], rows[2])
		s.must(l.Defer(ctx, ledger.Deferral{Row: rows[1].ID, Next: filing.Exists, Message: "bought before"}))
		s.sendable(l, rows[2], rows[3])
		s.send(l, rows[2])
		s.answer(l, rows[2], filing.Refused)
		s.sendable(l, rows[3], rows[4])
	})
}

// While a batch is paused the money that was meant for it is there for others.
func TestAPausedBatchKeepsNoMoney(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		var rows []ledger.Row
		for i, batch := range []string{"a", "b"} {
			row := reports(batch, 1)
			row[0].Priority = int64(10 + i)
			rows = append(rows, s.add(l, batch, row...)...)
		}
		s.must(l.Entries().RecordDeposit(ctx, cost, ""))
		s.sendable(l, rows[0])
		s.must(l.PauseBatch(ctx, "a"))
		s.sendable(l, rows[1])
		s.must(l.ResumeBatch(ctx, "a"))
		s.sendable(l, rows[0])
		s.must(l.PauseBatch(ctx, "a"))
		s.place(l, rows[1])
		s.must(l.ResumeBatch(ctx, "a"))
		if begun := s.begin(l, intent(s.row(l, rows[0].ID))); begun.Attempt != 0 {
			s.Errorf("there is no money left: %+v", begun)
		}
	})
}

// A row in doubt that became dearer than what it holds is sent as soon as there
// is money for the difference, before all others: nobody knows whether it is
// bought.
func TestFundsGoToUncertainRowsFirst(t *testing.T) {
	const dearer = cost + 1000
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.must(l.Entries().RecordDeposit(ctx, 2*cost, ""))
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
			ids, err := l.Backlog().ListSendable(ctx, "", 10)
			if s.must(err); slices.Contains(ids, row.ID) != want {
				s.Fatalf("%v may go (%+v)", ids, s.row(l, row.ID))
			}
		}
		s.send(l, row)
		s.answer(l, row, filing.NoAnswer)
		others = s.add(l, "b", others...)
		s.send(l, others[0]) // all that was there is held now
		short()
		s.must(l.Entries().Adjust(ctx, dearer-cost-1, "a cent is missing"))
		sendable(false)
		s.must(l.Entries().RecordDeposit(ctx, 1, ""))
		sendable(true)
		s.must(l.Entries().RecordDeposit(ctx, cost-1, "what one of the others needs, but for a cent"))
		ids, err := l.Backlog().ListSendable(ctx, "b", 10)
		if s.must(err); len(ids) > 0 {
			s.Errorf("%v take what the row in doubt needs", ids)
		}
		s.send(l, row)
		s.want(l, row, filing.Placing, dearer)
		s.must(l.Audit(ctx))
		s.answer(l, row, filing.NoAnswer)

		// Money that is set free wakes it, too.
		s.must(l.Entries().Adjust(ctx, 1-cost, "nothing is left"))
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
		word   func(*suite, *ledger.Ledger) error
		result filing.Result
	}{
		"paused": {func(s *suite, l *ledger.Ledger) error { return l.PauseBatch(s.Context(), "a") },
			filing.Ready},
		"canceled": {func(s *suite, l *ledger.Ledger) error {
			_, err := l.CancelBatch(s.Context(), "a")
			return err
		}, filing.Uncertain},
		"an approval is wanted": {func(s *suite, l *ledger.Ledger) error {
			return approval.New(l).Request(s.Context(), "a", "plan")
		}, filing.Ready},
	} {
		t.Run(name, func(t *testing.T) {
			onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
				rows := s.add(l, "a", agentOrder("comp_1"), agentOrder("comp_2"))
				s.send(l, rows[0])
				s.answer(l, rows[0], filing.NoAnswer)
				s.send(l, rows[1])
				s.must(c.word(s, l))
				s.answer(l, rows[1], filing.NoAnswer) // it was out while the word was given
				for _, r := range rows {
					r = s.want(l, r, c.result, cost)
					if begun := s.begin(l, intent(r)); begun.Attempt != 0 {
						s.Errorf("row %d was sent again: %+v", r.Number, begun)
					}
				}
				s.sendable(l)
			})
		})
	}
}

// A row in doubt holds its money: it is never kept back for others.
func TestAnUncertainRowIsNotRationed(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.must(l.Entries().RecordDeposit(ctx, 2*cost, ""))
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
		s.sendable(l, row, others[0])
		s.must(l.Entries().Adjust(ctx, -cost, "a fee"))
		s.sendable(l, row)
		s.place(l, row)
	})
}
