package ledger

import (
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// A ledger that went back in time gives the id of a lost row to another row, whose
// attempt has the same number.
func TestRestoreDetector_ReusedRowID(t *testing.T) {
	h := &restoreDetector{}
	begun := []*transition{{intent: &Intent{Row: 1}, begun: Begun{Attempt: 1}}}
	h.remember(begun, 0)
	h.remember(begun, 1)
	if n := len(h.list()); n != 1 {
		t.Errorf("%d attempts are remembered, want 1", n)
	}
	h.remember([]*transition{{outcome: &Outcome{Row: 1, Attempt: 1, Answer: filing.Answer{Kind: filing.Accepted}}}}, 2)
	h.remember(nil, 2+rememberFor)
	if n := len(h.list()); n != 0 {
		t.Errorf("%d attempts are remembered, want none", n)
	}
}

// A commit from before a halt may be recorded after the commit that halted the fleet.
func TestRestoreDetector_RecordedInAnotherOrder(t *testing.T) {
	h := &restoreDetector{}
	first, halted := &control{lineage: "first", commits: 7}, &control{lineage: "halted", commits: 9}
	h.committed(first, nil)
	h.committed(halted, h.highest())
	h.committed(&control{lineage: "first", commits: 8}, h.highest())
	if !h.isPast(first) || h.isPast(halted) || h.isSuspect(halted) {
		t.Errorf("last commit %+v, past lineages %v", h.last, h.past)
	}
}
