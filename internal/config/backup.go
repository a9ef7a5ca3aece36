package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/secret"
)

// Backups are the settings of backups.
type Backups struct {
	Dir        string        // of scheduled backups; empty for none
	Every      time.Duration // between scheduled backups
	Keep       int           // how many scheduled ones stay
	Passphrase secret.Value  // empty for backups that are not encrypted
}

// String names the folder, and no secret.
func (b Backups) String() string { return "backups in " + b.Dir }

// GoString keeps the passphrase out of %#v.
func (b Backups) GoString() string { return b.String() }

// Limits of scheduled backups.
const (
	leastBackupEvery = time.Minute
	mostBackupsKept  = 10000
)

// readBackups reads the settings of backups.
func readBackups(value func(string) string) (b Backups, err error) {
	if b.Passphrase, err = readSecret("FILING_BACKUP_PASSPHRASE", value); err != nil {
		return b, err
	}
	if b.Dir = value("FILING_BACKUP_DIR"); b.Dir != "" && !filepath.IsAbs(b.Dir) {
		return b, fmt.Errorf("FILING_BACKUP_DIR: %q is not a full path", b.Dir)
	}
	b.Every, b.Keep = 24*time.Hour, 14
	if text := value("FILING_BACKUP_EVERY"); text != "" {
		if days, ok := strings.CutSuffix(text, "d"); ok {
			n, err := strconv.Atoi(days)
			if err != nil || n < 1 || n > 366 {
				return b, fmt.Errorf("FILING_BACKUP_EVERY: %q is not a time such as 6h or 1d", text)
			}
			text = strconv.Itoa(24*n) + "h"
		}
		if b.Every, err = time.ParseDuration(text); err != nil || b.Every < leastBackupEvery {
			return b, fmt.Errorf("FILING_BACKUP_EVERY: %q is not a time such as 6h or 1d, of a minute or longer", text)
		}
	}
	if text := value("FILING_BACKUP_KEEP"); text != "" {
		if b.Keep, err = strconv.Atoi(text); err != nil || b.Keep < 1 || b.Keep > mostBackupsKept {
			return b, fmt.Errorf("FILING_BACKUP_KEEP: %q is not a number from 1 to %d", text, mostBackupsKept)
		}
	}
	return b, nil
}

// Location is where the chosen ledger is, or is to be.
func (e Environment) Location() (ledger.Location, error) {
	at := ledger.Location{Dir: e.DataDir, DatabaseURL: e.DatabaseURL, SealKey: e.sealKey.Reveal()}
	switch {
	case e.DatabaseURL != "":
	case e.chosen == nil:
		return at, errors.New("no ledger was chosen")
	default:
		at.Dir = e.chosen.dir
	}
	return at, nil
}

// Owner is whose ledger was chosen, as far as it is known without opening it: its
// mode, and the organizations.
func (e Environment) Owner() (mode string, known []ledger.Organization) {
	if e.chosen != nil {
		mode, known = e.chosen.Mode, e.chosen.Organizations
	}
	if e.organization != nil && e.organization.Known() {
		mode, known = e.Mode(), append([]ledger.Organization{*e.organization}, known...)
	}
	return mode, known
}
