package ledger_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/store"
	"github.com/bulkfiling/bulkfiling/internal/webhook"
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
		if begun.Attempt != 0 || begun.Halted.Reason != filing.HaltVersion ||
			!strings.Contains(begun.Halted.Note, "version 7.1") {
			s.Errorf("%+v", begun)
		}
		if h, err := l.Fleet().Halt(ctx); err != nil || h.Reason != filing.HaltVersion {
			s.Errorf("%+v, %v", h, err)
		}
		s.answer(l, rows[0], filing.Accepted)
		s.want(l, rows[0], filing.Placed, 0)
		s.wantErr(l.Entries().RecordDeposit(ctx, 100, ""), store.ErrNewer)
		s.exec(`UPDATE control SET schema_version = schema_version - 1`)
		s.send(l, rows[1])
	})
}

// Changes by people that are one statement refuse a newer schema, whoever owns the table.
func TestExecChange_NewerSchema(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		accounts, endpoints, schedules := l.Accounts(), webhook.NewEndpoints(l.DB), schedule.NewRecords(l)
		changes := map[string]func() error{
			"set an endpoint":    func() error { return endpoints.Set(ctx, webhook.Endpoint{ID: "e"}, "secret") },
			"delete an endpoint": func() error { return endpoints.Delete(ctx, "e") },
			"end a session":      func() error { return accounts.EndSession(ctx, "secret") },
			"end other sessions": func() error { return accounts.EndOtherSessions(ctx, "ana", "secret") },
			"revoke a link":      func() error { return accounts.RevokeSignInLink(ctx, "id") },
			"pause a schedule":   func() error { return schedules.SetPaused(ctx, "fall", true) },
			"remove a schedule":  func() error { return schedules.Remove(ctx, "fall") },
		}
		attempt := func(newer bool) {
			for name, change := range changes {
				if err := change(); errors.Is(err, store.ErrNewer) != newer {
					s.Errorf("%s: %v, and the schema is newer: %t", name, err, newer)
				}
			}
		}
		s.exec(`UPDATE control SET schema_version = schema_version + 1`)
		attempt(true)
		s.exec(`UPDATE control SET schema_version = schema_version - 1`)
		attempt(false)
	})
}
