package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// Backups configures daily backups.
type Backups struct {
	// Dir is the folder, by default the folder backups beside the ledger.
	Dir string
	// Keep is the number of backups to keep. Zero turns backups off. The default is 14.
	Keep int
}

// readBackups reads the settings of daily backups.
func readBackups(value func(string) string) (b Backups, err error) {
	if b.Dir = value("FILING_BACKUP_DIR"); b.Dir != "" && !filepath.IsAbs(b.Dir) {
		return b, fmt.Errorf("FILING_BACKUP_DIR: %q is not a full path", b.Dir)
	}
	b.Keep = 14
	if text := value("FILING_BACKUP_KEEP"); text != "" {
		if b.Keep, err = strconv.Atoi(text); err != nil || b.Keep < 0 || b.Keep > 10000 {
			return b, fmt.Errorf("FILING_BACKUP_KEEP: %q is not a number from 0 to 10000", text)
		}
	}
	return b, nil
}

// BackupDir returns the folder of daily backups of the chosen ledger. It is empty if the ledger is
// in PostgreSQL or backups are turned off.
func (e Environment) BackupDir() string {
	if e.DatabaseURL != "" || e.Backups.Keep == 0 || e.chosen == nil {
		return ""
	}
	return cmp.Or(e.Backups.Dir, filepath.Join(e.LedgerDir(), "backups"))
}

// Owner returns the mode and the known organizations of the chosen ledger without opening it.
func (e Environment) Owner() (mode string, known []ledger.Organization) {
	if e.chosen != nil {
		mode, known = e.chosen.Mode, e.chosen.Organizations
	}
	if e.organization != nil && e.organization.Known() {
		mode, known = e.Mode(), append([]ledger.Organization{*e.organization}, known...)
	}
	return mode, known
}
