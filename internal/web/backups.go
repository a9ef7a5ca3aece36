package web

import (
	"time"

	"github.com/bulkfiling/bulkfiling/internal/backup"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// backupFacts describes the daily backups of the ledger.
type backupFacts struct {
	// Dir is the folder, empty if there are no daily backups.
	Dir string
	// Last is the time of the newest backup, zero if there is none.
	Last time.Time
	// Late reports whether Last is more than two days ago.
	Late bool
}

func (s *Site) loadBackups() (f backupFacts, err error) {
	if f.Dir = s.Settings.BackupDir; f.Dir == "" {
		return f, nil
	}
	f.Last, err = backup.Newest(f.Dir, s.Settings.BackupName, s.Ledger.Now())
	f.Late = !f.Last.IsZero() && s.Ledger.Now().Sub(f.Last) > 48*time.Hour
	return f, err
}

// backupActions asks an operator to look after a missing backup.
func (f *actionFacts) backupActions(v *request) []action {
	if !f.backups.Late || !v.may(ledger.Operator) {
		return nil
	}
	return []action{{
		Class:  "warn",
		Text:   "The last backup of the ledger is of " + f.backups.Last.UTC().Format("Jan 2, 15:04 UTC"),
		Button: "See backups",
		Path:   "/settings#backups",
	}}
}
