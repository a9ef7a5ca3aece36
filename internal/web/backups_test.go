package web

import (
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// The settings say which backup is the last, why an attempt failed, and that one is
// missing, which is an action of operators. Others see no folder.
func TestBackupsAreShown(t *testing.T) {
	s := newSite(t, func(c *Config) {
		c.Settings.BackupDir, c.Settings.BackupEvery, c.Settings.BackupKeep = "/backups/here", 6*time.Hour, 3
	})
	o, p := s.as(ledger.Operator), s.as(ledger.Preparer)
	_, body := o.get("/settings")
	o.wants(body, "There is no backup yet", "every 6h,", "/backups/here", "There is no backup of the ledger",
		`href="/settings#backups"`)
	_, body = p.get("/settings")
	if strings.Contains(body, "/backups/here") || strings.Contains(body, "There is no backup of the ledger") {
		t.Error("a preparer sees what an operator does")
	}

	ctx := t.Context()
	b, err := s.Ledger.Backups().Begin(ctx, ledger.Backup{File: "/backups/here/one.backup", Encrypted: true})
	s.must(err)
	s.must(s.Ledger.Backups().End(ctx, b))
	b, err = s.Ledger.Backups().Begin(ctx, ledger.Backup{File: "/backups/here/two.backup"})
	s.must(err)
	b.Failure = "the disk is full"
	s.must(s.Ledger.Backups().End(ctx, b))
	_, body = o.get("/settings")
	o.wants(body, "/backups/here/one.backup", "encrypted", "the disk is full")
	if strings.Contains(body, "There is no backup yet") || strings.Contains(body, "The last backup is too old") {
		t.Error("a backup of a moment ago is too old")
	}
	if late := isLate(&b, b.StartedAt.Add(13*time.Hour), 6*time.Hour); !late {
		t.Error("a backup of 13 hours ago is in time")
	}
	if late := isLate(&b, b.StartedAt.Add(11*time.Hour), 6*time.Hour); late {
		t.Error("a backup of 11 hours ago is late")
	}
}
