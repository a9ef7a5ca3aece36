package ledger

import (
	"iter"
	"slices"
)

// pageRows is the number of rows of a page.
const pageRows = 1000

// Pages collects the wanted rows of a sequence in pages.
func Pages(rows iter.Seq2[Row, error], wanted func(*Row) bool) iter.Seq2[[]Row, error] {
	return func(yield func([]Row, error) bool) {
		var page []Row
		for row, err := range rows {
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
