package ledger_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// A ledger that a newer version has prepared is refused, and so is one with a
// migration that this program does not have.
func TestNewerLedgerIsRefused(t *testing.T) {
	for _, version := range []int{999, 100} {
		t.Run(strconv.Itoa(version), func(t *testing.T) {
			onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
				s.exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, $2)`, version, true)
				s.exec(`UPDATE control SET written_by = 'version 7.1'`)
				refused, err := ledger.Open(s.Context(), s.config)
				if !errors.Is(err, store.ErrNewer) {
					s.Errorf("opened: %v", err)
				}
				if err == nil {
					refused.Close()
					return
				}
				if text := err.Error(); !strings.Contains(text, "version 7.1") ||
					!strings.Contains(text, "use that version or a newer one") {
					s.Errorf("it says %q", text)
				}
				s.exec(`DELETE FROM goose_db_version WHERE version_id = $1`, version)
				s.must(l.Close())
			})
		})
	}
}

// A process that runs while a newer version prepares its ledger sends nothing
// more, and changes nothing but for the answers that it has in hand.
func TestLedgerThatANewerVersionPreparesMeanwhile(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", reports("a", 2)...)
		s.send(l, rows[0])
		s.exec(`UPDATE control SET schema_version = schema_version + 1, written_by = 'version 7.1'`)
		begun := s.begin(l, intent(rows[1]))
		if begun.Try != 0 || begun.Halted.Reason != filing.HaltVersion ||
			!strings.Contains(begun.Halted.Note, "version 7.1") {
			s.Errorf("%+v", begun)
		}
		if h, err := l.Fleet().Halt(ctx); err != nil || h.Reason != filing.HaltVersion {
			s.Errorf("%+v, %v", h, err)
		}
		s.answer(l, rows[0], filing.Accepted)
		s.want(l, rows[0], filing.Placed, 0)
		s.wantErr(l.RecordDeposit(ctx, 100, ""), store.ErrNewer)
		s.exec(`UPDATE control SET schema_version = schema_version - 1`)
		s.send(l, rows[1])
	})
}
