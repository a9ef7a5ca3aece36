package resolve

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

var _ Store = (*ledger.Ledger)(nil)

// memory is a Store in memory. Rows 2 and 3 are of annual reports, row
// 4 creates its company, row 5 forms one.
type memory struct {
	rows     []ledger.Row
	attempts map[int64][]ledger.Attempt
	evidence map[int64][]ledger.Event
}

func (m memory) UncertainRows(_ context.Context, batch string) ([]ledger.Row, error) {
	return slices.DeleteFunc(slices.Clone(m.rows), func(r ledger.Row) bool { return batch != "" && r.Batch != batch }),
		nil
}

func (m memory) UncertainPage(ctx context.Context, batch string, after int64, limit int) ([]ledger.Row, int, error) {
	all, err := m.UncertainRows(ctx, batch)
	page := slices.DeleteFunc(slices.Clone(all), func(r ledger.Row) bool { return r.ID <= after })
	return page[:min(limit, len(page))], len(all), err
}

func (m memory) AttemptsOf(context.Context, []int64) (map[int64][]ledger.Attempt, error) {
	return m.attempts, nil
}

func (m memory) Evidence(_ context.Context, rows []int64) (map[int64][]*ledger.Evidence, map[int64]int, error) {
	told, of := make(map[string]*ledger.Evidence), make(map[int64][]*ledger.Evidence)
	for _, r := range m.rows {
		for _, e := range m.evidence[r.ID] {
			order := told[e.OrderID]
			if order == nil {
				order = new(ledger.Evidence)
				told[e.OrderID] = order
			}
			if !slices.Contains(order.Fits, r.ID) {
				order.Fits, order.Rows = append(order.Fits, r.ID), order.Rows+1
			}
			if !slices.ContainsFunc(order.Events, func(known ledger.Event) bool { return known.ID == e.ID }) {
				order.Events = append(order.Events, e)
			}
			if slices.Contains(rows, r.ID) && !slices.Contains(of[r.ID], order) {
				of[r.ID] = append(of[r.ID], order)
			}
		}
	}
	return of, map[int64]int{3: 7}, nil
}

func (m memory) RowsByID(_ context.Context, ids []int64) (map[int64]ledger.Row, error) {
	rows := make(map[int64]ledger.Row)
	for _, r := range m.rows {
		if slices.Contains(ids, r.ID) {
			rows[r.ID] = r
		}
	}
	return rows, nil
}

func (m memory) UnknownEvents(_ context.Context, orders []string) ([]ledger.Event, error) {
	var all []ledger.Event
	for _, events := range m.evidence {
		for _, e := range events {
			if slices.Contains(orders, e.OrderID) {
				all = append(all, e)
			}
		}
	}
	return all, nil
}

// A page of uncertain rows says of an order that it fits rows of other pages.
func TestUncertainPage(t *testing.T) {
	m := uncertainRows()
	var numbers []int
	for after := int64(0); ; {
		page, total, err := ListUncertainPage(t.Context(), m, "b7k2", after, 3)
		if err != nil || total != 4 {
			t.Fatal(total, err)
		}
		if len(page) == 0 {
			break
		}
		for _, doubt := range page {
			numbers, after = append(numbers, doubt.Row.Number), doubt.Row.ID
		}
	}
	if !slices.Equal(numbers, []int{2, 3, 4, 5}) {
		t.Error(numbers)
	}
	page, _, err := ListUncertainPage(t.Context(), m, "b7k2", 0, 1)
	if err != nil || len(page) != 1 || len(page[0].Candidates) == 0 || len(page[0].Candidates[0].Also) != 1 ||
		page[0].Candidates[0].Also[0].Number != 3 {
		t.Errorf("%+v, %v", page, err)
	}
}

func (m memory) CompanyNames(_ context.Context, rows []ledger.Row) (map[int64]string, error) {
	names := make(map[int64]string)
	for _, r := range rows {
		names[r.ID] = cmp.Or(r.Request.LegalName(), "Larkspur Books LLC")
	}
	return names, nil
}

func uncertainRows() memory {
	row := func(n int64, r filing.Request) ledger.Row {
		return ledger.Row{
			ID:        n,
			Batch:     "b7k2",
			Number:    int(n),
			Request:   &r,
			Result:    filing.Uncertain,
			Reserved:  16375,
			Tries:     1,
			UpdatedAt: noon,
			Company:   r.Company.Ref,
			Message:   "sent, but no answer came",
		}
	}
	report := filing.Order{
		FilingState:     "FL",
		AnnualReport:    &filing.AnnualReportItem{FilingYear: "2026"},
		RegisteredAgent: &filing.RegisteredAgentItem{},
	}
	named := func(ref, name string, o filing.Order) filing.Request {
		return filing.Request{
			Product: o.Products()[0],
			Company: filing.CompanyRef{Ref: ref, Sheet: filing.Company{LegalName: name}},
			Order:   o,
		}
	}
	tern := filing.Order{
		FilingState: "DE",
		Formation:   &filing.FormationItem{Company: filing.Company{LegalName: "Tern Tide LLC"}},
	}
	m := memory{rows: []ledger.Row{
		row(2, named("comp_2", "=Harbor & Light LLC", report)), row(3, named("comp_3", "", report)),
		row(4, named("", "Granite Bay LLC", report)), row(5, named("", "", tern)),
	}}
	m.rows[2].Creating, m.rows[2].Reserved = true, 0
	m.rows[1].Dropped = []filing.Product{filing.RegisteredAgent}
	failed := ledger.Attempt{
		Try:       2,
		StartedAt: noon.Add(time.Minute),
		EndedAt:   noon.Add(2 * time.Minute),
		Class:     filing.ServerError,
		Status:    502,
		Message:   "bad gateway",
	}
	m.attempts = map[int64][]ledger.Attempt{
		2: {{Try: 1, StartedAt: noon, Class: filing.NotSent, Message: "refused"}, failed},
		3: {{
			Try:       1,
			StartedAt: noon,
			EndedAt:   noon,
			Class:     filing.NoAnswer,
			Message:   "sent, and no answer came: connection reset",
		}},
	}
	event := func(id, order, status string, at time.Time) ledger.Event {
		return ledger.Event{Event: filing.Event{
			ID:           id,
			OrderID:      order,
			OrderType:    "annual_report",
			FilingStatus: status,
			CreatedAt:    at,
		}}
	}
	both := []ledger.Event{
		event("evt_2", "order_81", "pending", noon.Add(time.Hour)),
		event("evt_1", "order_81", "submitted", noon.Add(time.Minute)),
	}
	m.evidence = map[int64][]ledger.Event{2: append(both, event("evt_3", "order_82", "submitted", noon)), 3: both}
	return m
}

func TestUncertainOrderSaysWhatIsKnown(t *testing.T) {
	m := uncertainRows()
	all, err := ListUncertain(t.Context(), m, "b7k2")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ company, ordered string }{
		{"comp_2  =Harbor & Light LLC", "annual report and registered agent, FL 2026"},
		{"comp_3  Larkspur Books LLC", "annual report, FL 2026"},
		{"Granite Bay LLC (new)", "creation of Granite Bay LLC"},
		{"Tern Tide LLC (new)", "formation, DE"},
	} {
		if got := all[i].CompanyText(); got != want.company {
			t.Errorf("company %q, want %q", got, want.company)
		}
		if got := all[i].Ordered(); got != want.ordered {
			t.Errorf("ordered %q, want %q", got, want.ordered)
		}
	}
	var told []string
	for _, e := range all[0].Candidates {
		told = append(told, e.Event+": "+e.String())
	}
	want := []string{
		"evt_2: order_81, annual report, pending, first reported 2026-03-01 12:01:00 UTC; also matches row 3 " +
			"of batch " +
			"b7k2",
		"evt_3: order_82, annual report, submitted, first reported 2026-03-01 12:00:00 UTC",
	}
	if !slices.Equal(told, want) {
		t.Errorf("evidence %q, want %q", told, want)
	}
	if sent := all[0].Sent(); len(sent) != 1 || sent[0].Status != 502 {
		t.Errorf("sent %+v", sent)
	}
	if none, err := ListUncertain(t.Context(), m, "other"); err != nil || len(none) != 0 {
		t.Errorf("of another batch: %v, %v", none, err)
	}
}
