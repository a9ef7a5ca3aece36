package ledger_test

import (
	"context"
	"slices"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// A yes that was given stands, whatever somebody finds changed who looked before
// it: placing changes what is left.
func TestChangePlanKeepsAnApproval(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.add(l, "a", reports("a", 2)...)
		plan := func(want string, state ledger.ApprovalState) {
			s.Helper()
			if b, err := l.Batch(ctx, "a"); err != nil || b.Approval.Plan != want || b.Approval.State != state {
				s.Errorf("%+v %v, want plan %q %s", b.Approval, err, want, state)
			}
		}
		s.wantErr(approval.New(l).ChangePlan(ctx, "a", "", "new"), approval.ErrNoApprovalNeeded) // none was asked for
		s.wantErr(approval.New(l).ChangePlan(ctx, "nowhere", "", "new"), ledger.ErrNotFound)
		s.must(approval.New(l).Request(ctx, "a", "one"))
		s.must(approval.New(l).ChangePlan(ctx, "a", "one", "two"))
		plan("two", ledger.ApprovalNeeded)
		s.must(approval.New(l).ChangePlan(ctx, "a", "one", "three")) // of two who look at once the first's stands
		plan("two", ledger.ApprovalNeeded)
		s.must(approve(ctx, l, "a", "two", "vera"))
		s.wantErr(approval.New(l).ChangePlan(ctx, "a", "two", "four"), approval.ErrNoApprovalNeeded)
		plan("two", ledger.ApprovalGiven)
	})
}

// A row is uncertain while its batch is approved, because the ledger was restored. The approver has
// not reviewed it, so it waits for an approval if it was not placed.
func TestGiveApproval_UncertainRows(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", reports("a", 2)...)
		s.must(approval.New(l).Request(ctx, "a", "plan"))
		s.must(l.Restores().Begin(ctx, s.clock()))
		s.suppose(l, s.clock(), rows[0])
		s.must(approve(ctx, l, "a", "plan", "vera"))
		s.must(l.Resolutions().MarkNotPlaced(ctx, rows[0].ID, 0, "Ana looked"))
		s.must(l.Restores().EndUnsent(ctx))
		sendable := func(want ...int64) {
			s.Helper()
			if ids, err := l.Backlog().ListSendable(ctx, "a", 10); err != nil || !slices.Equal(ids, want) {
				s.Errorf("rows %v are sent, want %v: %v", ids, want, err)
			}
		}
		sendable(rows[1].ID)
		looked, err := approval.New(l).CostIncrease(ctx, "a")
		if s.must(err); looked.Rows != 1 {
			s.Errorf("%+v wait for approval", looked)
		}
		s.must(approval.New(l).ApproveCosts(ctx, "a", looked))
		sendable(rows[0].ID, rows[1].ID)
	})
}
