package web

import (
	"maps"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// The page sums a batch up as the commands do.
func TestFiguresAreThoseOfTheSummary(t *testing.T) {
	s := newSite(t)
	v := s.as(ledger.Preparer)
	path, body := v.sheet("clients.csv",
		someClients+"comp_5,Fifth,CA,2026,ana@example.com\ncomp_6,Sixth,FL,2026,ana@example.com\n")
	batch := v.submit(path, body)
	same := func() {
		t.Helper()
		want, err := report.Summarize(t.Context(), s.Ledger, batch)
		s.must(err)
		f, err := s.Ledger.Figures(t.Context(), batch)
		s.must(err)
		if !maps.Equal(f.Counts, want.Counts) || f.Spent != want.Spent || f.Reserved != want.Reserved ||
			f.Needed != want.Needed {
			t.Errorf("%+v\nwant %+v", f, want)
		}
		orders, err := s.Ledger.Filings(t.Context(), batch)
		s.must(err)
		if n := orders.Statuses[""]; n > 0 {
			delete(orders.Statuses, "")
			orders.Statuses[report.NotReported] = n
		}
		if !maps.Equal(orders.Statuses, want.Filings) || orders.Exceptions != want.Exceptions {
			t.Errorf("%+v\nwant %+v", orders, want)
		}
	}
	same()
	s.service.Inject(sandbox.Fault{Kind: sandbox.FaultReset, After: true, Company: "comp_2"},
		sandbox.Fault{Kind: sandbox.FaultStatus, Status: 422, Company: "comp_5"})
	s.place()
	s.answered(batch)
	same()
	orders := s.orders(batch)
	s.tell(s.service.Advance(t.Context(), orders[0], "filed"))
	s.tell(s.service.Raise(t.Context(), orders[len(orders)-1], 482))
	same()
	if filings, err := s.Ledger.Filings(t.Context(), batch); err != nil || filings.Documents != 1 ||
		filings.Exceptions != 1 {
		t.Errorf("%+v, %v", filings, err)
	}
}
