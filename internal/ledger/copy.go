package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/bulkfiling/bulkfiling/internal/folder"
)

// Errors of copies.
var (
	// ErrServer means that the ledger is in PostgreSQL, which has its own tools for copies.
	ErrServer = errors.New("the ledger is in PostgreSQL: use pg_dump and pg_restore, and after a restore " +
		"importer resolve restored --since TIME")
	// ErrCopy means that a file is not a complete ledger.
	ErrCopy = errors.New("the file is not a complete ledger")
	// ErrInUse means that a living process has the ledger open.
	ErrInUse = errors.New("the ledger is in use: stop every worker, serve and run first")
)

// Copy describes a file that holds a copy of a ledger.
type Copy struct {
	AuditReport
	// At is the time of the last change.
	At            time.Time
	Mode          string
	Organizations []Organization
}

// openFile opens an SQLite file beside the processes that use it.
func openFile(path, options string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?_pragma=busy_timeout(30000)"+options)
}

// CopyTo writes a copy of the ledger to an empty or new file while others write to the
// ledger. It returns ErrServer.
func (l *Ledger) CopyTo(ctx context.Context, path string) error {
	if l.dialect.together {
		return ErrServer
	}
	db, err := openFile(l.path(), "&mode=ro")
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, `VACUUM INTO $1`, path)
	return wrap("copy the ledger", err)
}

// VerifyCopy checks that a file holds a complete ledger that adds up. It returns ErrCopy
// and ErrNewer.
func VerifyCopy(ctx context.Context, path string) (c Copy, err error) {
	if _, err := os.Stat(path); err != nil {
		return c, err
	}
	db, err := openFile(path, "&mode=ro")
	if err != nil {
		return c, err
	}
	defer db.Close()
	var broken string
	if err := db.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&broken); err != nil {
		return c, fmt.Errorf("%w: %w", ErrCopy, err)
	}
	if broken != "ok" {
		return c, fmt.Errorf("%w: %s", ErrCopy, broken)
	}
	l := &Ledger{&database{dialect: sqlite, write: db, read: db}}
	provider, err := sqlite.provider(db)
	if err == nil {
		err = l.refuseUnknown(ctx, provider)
	}
	if err != nil {
		return c, err
	}
	var at int64
	if err := db.QueryRowContext(ctx, `SELECT changed_at, mode FROM control WHERE id = 1`).
		Scan(&at, &c.Mode); err != nil {
		return c, fmt.Errorf("%w: %w", ErrCopy, err)
	}
	c.At = fromMillis(at)
	if c.Organizations, _, err = organizations(ctx, db); err != nil {
		return c, fmt.Errorf("%w: %w", ErrCopy, err)
	}
	if c.AuditReport, err = l.Verify(ctx); err != nil {
		return c, fmt.Errorf("%w: %w", ErrCopy, err)
	}
	return c, nil
}

// CheckOwner returns ErrMode or ErrOrganization if the copy may not take the place of a
// ledger of that mode and these organizations.
func (c *Copy) CheckOwner(mode string, known []Organization) error {
	if c.Mode != "" && mode != "" && c.Mode != mode {
		return fmt.Errorf("%w: the backup holds %s orders and the ledger %s ones", ErrMode, c.Mode, mode)
	}
	for _, o := range c.Organizations {
		if slices.ContainsFunc(known, o.Same) {
			return nil
		}
	}
	if len(c.Organizations) > 0 && len(known) > 0 {
		return fmt.Errorf("%w: the backup holds the orders of %s, and the ledger is that of %s", ErrOrganization,
			c.Organizations[0], known[0])
	}
	return nil
}

// Replace puts the copy at path, which it consumes, in the place of the ledger of a data folder.
// Nothing is sent from the copy until its check has ended. Its schedules are paused and all people
// are signed out. The former ledger is kept in a folder. Replace returns the path of that folder,
// or an empty path if there was no ledger. It returns ErrInUse.
func Replace(ctx context.Context, dir, path string) (kept string, err error) {
	if err := os.MkdirAll(filepath.Join(dir, "locks"), 0o700); err != nil {
		return "", fmt.Errorf("create the data folder: %w", err)
	}
	guard := flock.New(filepath.Join(dir, "locks", "migrate"))
	if _, err := guard.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return "", fmt.Errorf("wait for another process to prepare the ledger: %w", err)
	}
	defer guard.Unlock()
	if err := CheckUnused(dir); err != nil {
		return "", err
	}
	if err := haltCopy(ctx, path); err != nil {
		return "", fmt.Errorf("halt the restored ledger: %w", err)
	}
	current := filepath.Join(dir, "ledger.db")
	if _, err := os.Stat(current); err == nil {
		kept = filepath.Join(dir, "before_restore_"+time.Now().UTC().Format("20060102_150405"))
		if err := keep(ctx, current, kept); err != nil {
			return "", fmt.Errorf("keep the former ledger: %w", err)
		}
	}
	// SQLite would apply the log of the former file to the copy.
	for _, ending := range []string{"-wal", "-shm"} {
		if err := os.Remove(current + ending); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return kept, fmt.Errorf("remove the log of the former ledger: %w", err)
		}
	}
	if err := os.Rename(path, current); err != nil {
		return kept, fmt.Errorf("put the copy in the place of the ledger: %w", err)
	}
	return kept, folder.Sync(dir)
}

// keep copies an SQLite file and its log to a new folder.
func keep(ctx context.Context, file, to string) error {
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	if db, err := openFile(file, ""); err == nil {
		_, _ = db.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`) // a damaged file is kept as it is
		_ = db.Close()
	}
	for _, ending := range []string{"", "-wal", "-shm"} {
		err := copyFile(file+ending, filepath.Join(to, filepath.Base(file)+ending))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return folder.Sync(to)
}

// copyFile copies a file to a new one that only its owner can read, and syncs it.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// haltCopy halts the ledger in a file.
func haltCopy(ctx context.Context, path string) error {
	db, err := openFile(path, "&_pragma=journal_mode(DELETE)&_pragma=synchronous(FULL)")
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var c control
	if err := tx.QueryRowContext(ctx, `SELECT `+controlColumns+` FROM control WHERE id = 1`).
		Scan(c.fields().targets()...); err != nil {
		return err
	}
	c.now = max(time.Now().UnixMilli(), c.changedAt+1)
	note := "it was restored from a backup of " + fromMillis(c.changedAt).Format("2006-01-02 15:04 MST")
	if err := c.haltRestored(ctx, tx, note, c.changedAt); err != nil {
		return err
	}
	for _, statement := range []string{`DELETE FROM sessions`, `DELETE FROM sign_in_links`} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, setControl, c.fields().appendValues(nil)...); err != nil {
		return err
	}
	if err := auditOf(ctx).record(ctx, tx, fromMillis(c.now)); err != nil {
		return err
	}
	return errors.Join(tx.Commit(), db.Close())
}

// CheckUnused returns ErrInUse if a living process has the ledger of a data folder open.
func CheckUnused(dir string) error {
	entries, err := os.ReadDir(filepath.Join(dir, "locks"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read which processes have the ledger open: %w", err)
	}
	for _, e := range entries {
		if len(e.Name()) != len(rand.Text()[:12]) {
			continue // locks of short duration
		}
		probe := flock.New(filepath.Join(dir, "locks", e.Name()))
		if free, err := probe.TryLock(); err != nil || !free {
			return ErrInUse
		}
		_ = probe.Unlock()
	}
	return nil
}
