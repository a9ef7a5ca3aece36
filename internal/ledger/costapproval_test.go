package ledger_test

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// TestCostApprovalsInAnyOrder lets rows get dearer, people approve what they saw, and the
// policy changes, in any order: what is sent at a higher cost was approved at that cost, by
// a second person if it needs one.
func TestCostApprovalsInAnyOrder(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, n := s.open(), 0
		s.approvers(l, "ana", "ben", "cat")
		s.property(40, 4, 40, func(t *rapid.T) {
			n++
			w := &costWorld{suite: s, l: l, batch: fmt.Sprint("b", n), cost: make(map[int64]money.Cents)}
			s.must(approval.New(l).ChangePolicy(s.Context(), approval.Policy{}))
			for _, r := range s.quoted(l, w.batch, cost, cost, cost) {
				w.rows = append(w.rows, r.ID)
			}
			s.exec(`INSERT INTO contributors (object, person, part) VALUES ('` + w.batch + `', 'ana', 'upload')`)
			w.setPolicy(t)
			t.Repeat(map[string]func(*rapid.T){
				"dearer":    w.dearer,
				"dearer 2":  w.dearer,
				"look":      w.look,
				"approve":   w.approve,
				"approve 2": w.approve,
				"approve 3": w.approve,
				"policy":    w.setPolicy,
				"":          w.check,
			})
		})
	})
}

// costWorld is a batch whose rows get dearer, and what is true of it.
type costWorld struct {
	*suite
	l     *ledger.Ledger
	batch string
	rows  []int64
	seen  []approval.CostIncrease // as people have looked at it
	cost  map[int64]money.Cents   // of the rows that wait
}

func (w *costWorld) now(t *rapid.T) approval.CostIncrease {
	c, err := approval.New(w.l).CostIncrease(w.Context(), w.batch)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (w *costWorld) dearer(t *rapid.T) {
	id := rapid.SampledFrom(w.rows).Draw(t, "row")
	more := money.Cents(rapid.IntRange(1, 100).Draw(t, "more")) * 100
	r := w.row(w.l, id)
	if r.Result != filing.Ready || r.BlockedOn != "" {
		t.Skip("it waits")
	}
	in := intent(r)
	in.Cost.Amount = r.Approved.Amount + more
	if begun := w.begin(w.l, in); !begun.Dearer {
		t.Fatalf("%s more than was approved: %+v", more, begun)
	}
	w.cost[id] = in.Cost.Amount
}

func (w *costWorld) look(t *rapid.T) { w.seen = append(w.seen, w.now(t)) }

func (w *costWorld) looked(t *rapid.T) (c approval.CostIncrease, present bool) {
	now := w.now(t)
	if c = now; len(w.seen) > 0 && rapid.IntRange(0, 3).Draw(t, "stale") == 0 {
		c = rapid.SampledFrom(w.seen).Draw(t, "looked at")
	}
	return c, c == now && c.Rows > 0
}

func (w *costWorld) approve(t *rapid.T) {
	c, present := w.looked(t)
	by := rapid.SampledFrom([]string{"ben", "cat", "ana"}).Draw(t, "by")
	second, err := approval.New(w.l).NeedsSecond(w.Context(), w.batch)
	w.must(err)
	err = approval.New(w.l).ApproveCosts(w.by(by), w.batch, c)
	switch {
	case !present:
		if !errors.Is(err, approval.ErrChanged) && !errors.Is(err, approval.ErrNoApprovalNeeded) {
			t.Fatalf("other rows than now were approved: %v", err)
		}
	case second && by == "ana":
		if !errors.Is(err, approval.ErrSecondPerson) {
			t.Fatalf("%s may not approve: %v", by, err)
		}
	case err != nil:
		t.Fatal(err)
	default:
		for id, amount := range w.cost {
			if r := w.row(w.l, id); r.Approved.Amount != amount || r.BlockedOn != "" {
				t.Fatalf("row %d was approved at %s: %+v", id, amount, r)
			}
		}
		clear(w.cost)
	}
}

// setPolicy sets the policy: most often one under which a second person approves.
func (w *costWorld) setPolicy(t *rapid.T) {
	w.must(approval.New(w.l).ChangePolicy(w.Context(), rapid.SampledFrom([]approval.Policy{
		{Second: true}, {Second: true, From: 300_00}, {}}).Draw(t, "policy")))
}

// check checks that exactly the rows that wait do.
func (w *costWorld) check(t *rapid.T) {
	if c := w.now(t); c.Rows != len(w.cost) {
		t.Fatalf("%d rows wait, want %d", c.Rows, len(w.cost))
	}
	for _, id := range w.rows {
		r := w.row(w.l, id)
		amount, waits := w.cost[id]
		if waits != (r.BlockedOn == "approval") || waits && r.Cost.Amount != amount {
			t.Fatalf("row %d waits for %q at %s, want %s", id, r.BlockedOn, r.Cost, amount)
		}
	}
}
