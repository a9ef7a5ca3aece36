package documents

import (
	"context"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// Items lists the documents of a batch with their companies. It lists the documents of a filing
// that several rows share once.
func Items(ctx context.Context, l *ledger.Ledger, batch string) ([]Item, error) {
	var items []Item
	seen := make(map[string]bool)
	// of maps the ID of a row to the indexes of its items.
	of := make(map[int64][]int)
	for d, err := range l.Documents().OfBatch(ctx, batch) {
		if err != nil {
			return nil, err
		}
		if key := d.ID + "|" + d.Event; !seen[key] {
			seen[key] = true
			of[d.Row] = append(of[d.Row], len(items))
			items = append(items, Item{Document: d})
		}
	}
	if len(items) == 0 {
		return nil, nil
	}
	var rows []ledger.Row
	for row, err := range l.Results(ctx, batch) {
		if err != nil {
			return nil, err
		}
		if of[row.ID] == nil {
			continue
		}
		for _, i := range of[row.ID] {
			items[i].Company = row.CompanyRef()
		}
		rows = append(rows, ledger.Row{ID: row.ID, Company: row.Company, Request: row.Request})
	}
	names, err := l.Companies().NamesOf(ctx, rows)
	if err != nil {
		return nil, err
	}
	for i := range items {
		items[i].Name = names[items[i].Row]
	}
	return items, nil
}
