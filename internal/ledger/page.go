package ledger

import (
	"context"
	"iter"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// pageRows is the number of rows of a page.
const pageRows = 1000

// RowPages streams the wanted rows of a batch in pages.
func (l *Ledger) RowPages(ctx context.Context, batch string, wanted func(*Row) bool) iter.Seq2[[]Row, error] {
	return func(yield func([]Row, error) bool) {
		var page []Row
		for row, err := range l.Rows(ctx, batch) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !wanted(&row) {
				continue
			}
			if page = append(page, row); len(page) == pageRows {
				if !yield(slices.Clip(page), nil) {
					return
				}
				page = nil
			}
		}
		if len(page) > 0 {
			yield(page, nil)
		}
	}
}

// ReadyPages streams the ready rows of a batch in pages.
func (l *Ledger) ReadyPages(ctx context.Context, batch string) iter.Seq2[[]Row, error] {
	return l.RowPages(ctx, batch, func(r *Row) bool { return r.Result == filing.Ready })
}
