package ledger_test

import (
	"context"
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
