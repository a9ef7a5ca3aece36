package ledger_test

import (
	"context"
	"slices"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// A yes that was given stands, whatever somebody finds changed who looked before
// it: placing changes what is left.
func TestChangePlanKeepsAnApproval(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.add(l, "a", reports("a", 2)...)
		plan := func(want string, state ledger.ApprovalState) {
			s.Helper()
			if b, err := l.Batch(ctx, "a"); err != nil || b.Approval.Hash != want || b.Approval.State != state {
				s.Errorf("%+v %v, want plan %q %s", b.Approval, err, want, state)
			}
		}
		s.wantErr(l.Approvals().ChangePlan(ctx, "a", "", "new"), ledger.ErrNoApprovalNeeded) // none was asked for
		s.wantErr(l.Approvals().ChangePlan(ctx, "nowhere", "", "new"), ledger.ErrNotFound)
		s.must(l.Approvals().Request(ctx, "a", "one"))
		s.must(l.Approvals().ChangePlan(ctx, "a", "one", "two"))
		plan("two", ledger.ApprovalNeeded)
		s.must(l.Approvals().ChangePlan(ctx, "a", "one", "three")) // of two who look at once the first's stands
		plan("two", ledger.ApprovalNeeded)
		s.must(l.Approvals().Approve(ctx, "a", "two", "vera"))
		s.wantErr(l.Approvals().ChangePlan(ctx, "a", "two", "four"), ledger.ErrNoApprovalNeeded)
		plan("two", ledger.ApprovalGiven)
	})
}

// A row is uncertain while its batch is approved, because the ledger was restored. The approver has
// not reviewed it, so it waits for an approval if it was not placed.
func TestGiveApproval_UncertainRows(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", reports("a", 2)...)
		s.must(l.Approvals().Request(ctx, "a", "plan"))
		s.must(l.Restores().Begin(ctx, s.clock()))
		s.suppose(l, s.clock(), rows[0])
		s.must(l.Approvals().Approve(ctx, "a", "plan", "vera"))
		s.must(l.Resolutions().MarkNotPlaced(ctx, rows[0].ID, 0, "Ana looked"))
		s.must(l.Restores().EndUnsent(ctx))
		sendable := func(want ...int64) {
			s.Helper()
			if ids, err := l.Backlog().ListSendable(ctx, "a", 10); err != nil || !slices.Equal(ids, want) {
				s.Errorf("rows %v are sent, want %v: %v", ids, want, err)
			}
		}
		sendable(rows[1].ID)
		looked, err := l.Approvals().CostIncrease(ctx, "a")
		if s.must(err); looked.Rows != 1 {
			s.Errorf("%+v wait for approval", looked)
		}
		s.must(l.Approvals().ApproveCosts(ctx, "a", looked))
		sendable(rows[0].ID, rows[1].ID)
	})
}
