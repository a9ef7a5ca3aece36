package ledger_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// Dismissed rows are skipped with their reason, and need no action; a correction
// that is made already still takes the place of one, and each row finds the other.
func TestDismissedRows(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.add(l, "whole", filed(2, "comp_2"), fix(3, 0, "comp_x", filing.Invalid), fix(4, 0, "comp_y", filing.Invalid))
		s.place(l, s.rows(l, "whole")[0])
		if err := l.Corrections().DismissRows(ctx, "whole", "Paula", 1); !errors.Is(err, ledger.ErrStale) {
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
		s.must(l.Corrections().DismissRows(ctx, "whole", "Paula", 2))
		s.wantRows(l, "whole", map[int]filing.Result{2: filing.Placed, 3: filing.Skipped, 4: filing.Skipped})
		dismissed, err := l.RowNumbered(ctx, "whole", 3)
		if s.must(err); !strings.HasPrefix(dismissed.Message, ledger.Dismissed+"Paula: wrong") {
			t.Errorf("%q", dismissed.Message)
		}
		if at, err := l.Attention().CountByBatch(ctx); err != nil || at["whole"].Correct != 0 {
			t.Errorf("they need action: %+v, %v", at, err)
		}
		if pending, err := l.Corrections().FindPending(ctx, dismissed.InBatch()); err != nil || pending != "fixes" {
			t.Errorf("the correction of row 3 is in %q, %v", pending, err)
		}
		pending, err := l.Corrections().FindPending(ctx, ledger.BatchRow{Batch: "whole", Number: 4})
		if pending != "" || err != nil {
			t.Errorf("a correction of row 4 is in %q, %v", pending, err)
		}
		s.must(l.OpenBatch(ctx, "fixes"))
		s.wantResults(l, "whole", map[int]filing.Result{2: filing.Placed, 3: filing.Ready, 4: filing.Skipped})
		pending, err = l.Corrections().FindPending(ctx, ledger.BatchRow{Batch: "whole"})
		if err != nil || pending != "" {
			t.Errorf("a correction is still pending in %q, %v", pending, err)
		}
		if first, err := l.UploadedRow(ctx, "whole", 3); err != nil || string(first.Cells) != `["comp_x"]` {
			t.Errorf("row 3 was uploaded as %s, %v", first.Cells, err)
		}
	})
}
