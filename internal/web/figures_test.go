package web

import (
	"maps"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// The sums of a batch follow its rows and events.
func TestFiguresFollowTheRows(t *testing.T) {
	s := newSite(t)
	v := s.as(ledger.Preparer)
	path, body := v.sheet("clients.csv",
		someClients+"comp_5,Fifth,CA,2026,ana@example.com\ncomp_6,Sixth,FL,2026,ana@example.com\n")
	batch := v.submit(path, body)
	same := func(statuses map[string]int, exceptions int) {
		t.Helper()
		f, err := s.Ledger.Figures(t.Context(), batch)
		s.must(err)
		counts := make(ledger.Counts)
		var moved money.Cost
		for r, err := range s.Ledger.Rows(t.Context(), batch) {
			s.must(err)
			counts[r.Result]++
			moved, err = moved.Plus(r.Moved())
			s.must(err)
		}
		if sum, err := f.Spent.Plus(f.Reserved); err != nil || !maps.Equal(f.Counts, counts) || moved != sum {
			t.Errorf("%+v, %v\nwant %v and %v", f, err, counts, moved)
		}
		filings, err := s.Ledger.Filings(t.Context(), batch)
		if s.must(err); !maps.Equal(filings.Statuses, statuses) || filings.Exceptions != exceptions ||
			filings.Documents != statuses[filing.FiledStatus] {
			t.Errorf("%+v, want %v and %d", filings, statuses, exceptions)
		}
	}
	same(map[string]int{}, 0)
	s.service.Inject(sandbox.Fault{Kind: sandbox.FaultReset, After: true, Company: "comp_2"},
		sandbox.Fault{Kind: sandbox.FaultStatus, Status: 422, Company: "comp_5"})
	s.place()
	s.answered(batch)
	orders := s.orders(batch)
	same(map[string]int{"submitted": len(orders)}, 0)
	s.tell(s.service.Advance(t.Context(), orders[0], "filed"))
	s.tell(s.service.Raise(t.Context(), orders[len(orders)-1], 482))
	same(map[string]int{"filed": 1, "exception": 1, "submitted": len(orders) - 2}, 1)
}
