package ledger_test

import (
	"context"
	"slices"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// Officers of a sheet of their own come back in its order, once for each row that
// they belong to, and go with the batch.
func TestOfficers(t *testing.T) {
	onLedger(t, func(s *store, ctx context.Context, l *ledger.Ledger) {
		headers := []string{"Legal Name", "First Name"}
		_, err := l.CreateBatch(ctx, ledger.Batch{
			ID:       "b",
			File:     "b.xlsx",
			Product:  filing.Formation,
			Officers: headers,
		})
		s.must(err)
		one := func(row, number int) ledger.Officer {
			return ledger.Officer{Row: row, Number: number, Cells: []byte(`["Acme","Ana"]`)}
		}
		s.must(l.AddRows(ctx, "b", []ledger.Row{
			{Number: 2, Result: filing.Invalid, Message: "x", Officers: []ledger.Officer{one(2, 7), one(2, 3)}},
			{Number: 3, Result: filing.Invalid, Message: "x", Officers: []ledger.Officer{one(3, 3)}},
			{Number: 4, Result: filing.Invalid, Message: "x"},
		}))
		s.must(l.PrepareBatch(ctx, "b"))
		got, err := l.Officers(ctx, "b")
		s.must(err)
		if want := []ledger.Officer{one(2, 3), one(3, 3), one(2, 7)}; !slices.EqualFunc(got, want,
			func(a, b ledger.Officer) bool {
				return a.Row == b.Row && a.Number == b.Number && string(a.Cells) == string(b.Cells)
			}) {
			s.Errorf("%+v", got)
		}
		if b, err := l.Batch(ctx, "b"); err != nil || !slices.Equal(b.Officers, headers) {
			s.Errorf("%q %v", b.Officers, err)
		}
		s.must(l.Uploads().DropPrepared(ctx, "b"))
		if got, err := l.Officers(ctx, "b"); err != nil || len(got) > 0 {
			s.Errorf("%+v %v", got, err)
		}
	})
}
