package ledger_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// Dismissed rows are skipped with their reason, and need no action; a correction
// that is made already still takes the place of one, and each row finds the other.
func TestDismissedRows(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l, ctx := s.open(), s.Context()
		s.add(l, "whole", filed(2, "comp_2"), fix(3, 0, "comp_x", filing.Invalid), fix(4, 0, "comp_y", filing.Invalid))
		s.place(l, s.rows(l, "whole")[0])
		if err := l.DismissRows(ctx, "whole", "Paula", 1); !errors.Is(err, ledger.ErrStale) {
			t.Errorf("dismissed other rows than were seen: %v", err)
		}
		_, err := l.CreateBatch(ctx, ledger.Batch{
			ID:       "fixes",
			Product:  filing.AnnualReport,
			Columns:  []string{"Company ID", "Note"},
			Corrects: "whole",
		})
		s.must(err)
		s.must(l.AddRows(ctx, "fixes", []ledger.Row{fix(2, 3, "comp_3", filing.Ready)}))
		pendingCorrections := func(want int) {
			s.Helper()
			if n, err := l.CountPendingCorrections(ctx, "whole"); err != nil || n != want {
				s.Errorf("%d dismissed rows have corrections, %v; want %d", n, err, want)
			}
		}
		pendingCorrections(0) // none is dismissed
		s.must(l.DismissRows(ctx, "whole", "Paula", 2))
		pendingCorrections(1)
		s.wantRows(l, "whole", map[int]filing.Result{2: filing.Placed, 3: filing.Skipped, 4: filing.Skipped})
		dismissed, err := l.RowNumbered(ctx, "whole", 3)
		if s.must(err); !strings.HasPrefix(dismissed.Message, ledger.Dismissed+"Paula: wrong") {
			t.Errorf("%q", dismissed.Message)
		}
		if at, err := l.ListAttention(ctx); err != nil || at["whole"].Correct != 0 {
			t.Errorf("they need action: %+v, %v", at, err)
		}
		whole, err := l.Batch(ctx, "whole")
		s.must(err)
		at, pending, ok, err := l.FindCorrection(ctx, whole, dismissed)
		if err != nil || !ok || !pending || at != (ledger.RowPlace{Batch: "fixes", Number: 2}) {
			t.Errorf("%+v, pending %t, %t, %v", at, pending, ok, err)
		}
		s.must(l.OpenBatch(ctx, "fixes"))
		pendingCorrections(0)
		s.wantRows(l, "whole", map[int]filing.Result{2: filing.Placed, 3: filing.Ready, 4: filing.Skipped})
		at, ok, err = l.FindCorrected(ctx, "whole", 3)
		if err != nil || !ok || at != (ledger.RowPlace{Batch: "fixes", Number: 2}) {
			t.Errorf("%+v, %t, %v", at, ok, err)
		}
		if _, ok, err = l.FindCorrected(ctx, "whole", 4); ok || err != nil {
			t.Errorf("row 4 was not corrected: %t, %v", ok, err)
		}
		fixes, err := l.Batch(ctx, "fixes")
		s.must(err)
		first, err := l.RowNumbered(ctx, "fixes", 2)
		s.must(err)
		at, pending, ok, err = l.FindCorrection(ctx, fixes, first)
		if err != nil || !ok || pending || at != (ledger.RowPlace{Batch: "whole", Number: 3}) {
			t.Errorf("%+v, pending %t, %t, %v", at, pending, ok, err)
		}
	})
}
