package web

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// backupFacts are what the page shows of the backups of the ledger.
type backupFacts struct {
	Dir    string // of scheduled backups; "" for none
	Every  string
	Keep   int
	Last   *ledger.Backup // the newest that there is; nil for none
	Failed *ledger.Backup // the newest attempt, where it failed
	Late   bool           // the newest is older than two scheduled ones

	Restored bool // the ledger comes from a backup
}

// recentBackups is how many attempts are looked at.
const recentBackups = 20

// loadBackups reads the last backup and the last failure.
func (s *Site) loadBackups(ctx context.Context) (f backupFacts, err error) {
	f = backupFacts{Dir: s.Settings.BackupDir, Every: intervalText(s.Settings.BackupEvery), Keep: s.Settings.BackupKeep}
	last, err := s.Ledger.Backups().Last(ctx)
	switch {
	case err == nil:
		f.Last = &last
	case !errors.Is(err, ledger.ErrNotFound):
		return f, err
	}
	_, err = s.Ledger.Restores().Last(ctx)
	if f.Restored = err == nil; !f.Restored && !errors.Is(err, ledger.ErrNotFound) {
		return f, err
	}
	all, err := s.Ledger.Backups().List(ctx, recentBackups)
	if err != nil {
		return f, err
	}
	for i := range all {
		if all[i].EndedAt.IsZero() {
			continue // it is being made
		}
		if all[i].Failure != "" {
			f.Failed = &all[i]
		}
		break
	}
	f.Late = f.Dir != "" && isLate(f.Last, s.Ledger.Now(), s.Settings.BackupEvery)
	return f, nil
}

// isLate reports whether a scheduled backup is missing: the newest is older than two
// of them.
func isLate(last *ledger.Backup, now time.Time, every time.Duration) bool {
	return last == nil || now.Sub(last.StartedAt) > 2*every
}

// backupActions are for backups that are missing: an operator can see why.
func (f *actionFacts) backupActions(v *request) []action {
	if !f.backups.Late || !v.may(ledger.Operator) {
		return nil
	}
	a := action{
		Class:  "warn",
		Text:   "There is no backup of the ledger",
		Button: "See backups",
		Path:   "/settings#backups",
	}
	if last := f.backups.Last; last != nil {
		a.Text = "The last backup of the ledger is of " + last.StartedAt.UTC().Format("Jan 2, 15:04 UTC")
	}
	if failed := f.backups.Failed; failed != nil {
		a.Note = "The last attempt failed."
	}
	return []action{a}
}

// intervalText shows how far apart backups are: 6h, 90m.
func intervalText(every time.Duration) string {
	text := strings.TrimSuffix(every.String(), "0s")
	if every%time.Hour == 0 {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
