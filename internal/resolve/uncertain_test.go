package resolve

import (
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
)

// A page of uncertain rows continues behind the last row, over all batches.
func TestListUncertainPage(t *testing.T) {
	l := ledgertest.Open(t, ledger.Config{})
	want := []int64{uncertainFormation(t, l, "b1").Row.ID, uncertainFormation(t, l, "b2").Row.ID}
	after := int64(0)
	for _, id := range want {
		page, total, err := ListUncertainPage(t.Context(), l, "", after, 1)
		if err != nil || total != 2 || len(page) != 1 || page[0].Row.ID != id || len(page[0].Sent()) != 1 {
			t.Fatalf("%+v of %d, %v; want row %d", page, total, err, id)
		}
		after = id
	}
	if page, _, err := ListUncertainPage(t.Context(), l, "", after, 1); err != nil || len(page) != 0 {
		t.Errorf("behind the last: %+v, %v", page, err)
	}
	if none, err := ListUncertain(t.Context(), l, "other"); err != nil || len(none) != 0 {
		t.Errorf("of another batch: %v, %v", none, err)
	}
}

func TestUncertainOrderSaysWhatIsKnown(t *testing.T) {
	report := filing.Order{
		FilingState:     "FL",
		AnnualReport:    &filing.AnnualReportItem{FilingYear: "2026"},
		RegisteredAgent: &filing.RegisteredAgentItem{},
	}
	of := func(ref, name string, o filing.Order) *UncertainOrder {
		return &UncertainOrder{Company: name, Row: ledger.Row{Company: ref, Request: &filing.Request{Order: o}}}
	}
	without, creating := of("comp_3", "", report), of("", "Granite Bay LLC", report)
	without.Row.Dropped, creating.Row.Creating = []filing.Product{filing.RegisteredAgent}, true
	for _, c := range []struct {
		order            *UncertainOrder
		company, ordered string
	}{
		{of("comp_2", "=Harbor & Light LLC", report), "comp_2  =Harbor & Light LLC",
			"annual report and registered agent, FL 2026"},
		{without, "comp_3", "annual report, FL 2026"},
		{creating, "Granite Bay LLC (new)", "creation of Granite Bay LLC"},
		{of("", "Tern Tide LLC", filing.Order{FilingState: "DE", Formation: &filing.FormationItem{}}),
			"Tern Tide LLC (new)", "formation, DE"},
	} {
		if company, ordered := c.order.CompanyText(), c.order.Ordered(); company != c.company || ordered != c.ordered {
			t.Errorf("%q, %q; want %q, %q", company, ordered, c.company, c.ordered)
		}
	}
}
