package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
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

// openCopy opens an SQLite file beside the processes that use it.
func openCopy(path, options string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?_pragma=busy_timeout(30000)"+options)
}

// CopyTo writes a copy of the ledger to an empty or new file while others write to the
// ledger. It returns ErrServer for a PostgreSQL database.
func (db *DB) CopyTo(ctx context.Context, path string) error {
	if db.Dialect.IsServer {
		return ErrServer
	}
	file, err := openCopy(db.path(), "&mode=ro")
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.ExecContext(ctx, `VACUUM INTO $1`, path)
	return Wrap("copy the ledger", err)
}

// OpenCopy opens a file that has a copy of a database, for reading. It returns ErrCopy if the file is
// no intact ledger, and ErrNewer if a newer program wrote it.
func OpenCopy(ctx context.Context, path string) (*DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	file, err := openCopy(path, "&mode=ro")
	if err != nil {
		return nil, err
	}
	db := &DB{Dialect: sqlite, write: file, Read: file}
	if err := db.checkCopy(ctx); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return db, nil
}

func (db *DB) checkCopy(ctx context.Context) error {
	var broken string
	if err := db.Read.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&broken); err != nil {
		return fmt.Errorf("%w: %w", ErrCopy, err)
	}
	if broken != "ok" {
		return fmt.Errorf("%w: %s", ErrCopy, broken)
	}
	provider, err := sqlite.provider(db.write)
	if err != nil {
		return err
	}
	return db.refuseUnknown(ctx, provider)
}

// ReplaceFile changes the copy at path by the function prepare and puts it in the place of the
// database of a data folder. The former database is kept in a folder. ReplaceFile returns the path of
// that folder, or an empty path if there was no database. It returns ErrInUse while a process has the
// database open.
func ReplaceFile(ctx context.Context, dir, path string, prepare func(*sql.Tx) error) (kept string, err error) {
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
	if err := changeCopy(ctx, path, prepare); err != nil {
		return "", err
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

// changeCopy runs f in a transaction over a file.
func changeCopy(ctx context.Context, path string, f func(*sql.Tx) error) error {
	db, err := openCopy(path, "&_pragma=journal_mode(DELETE)&_pragma=synchronous(FULL)")
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return err
	}
	return errors.Join(tx.Commit(), db.Close())
}

// keep copies an SQLite file and its log to a new folder.
func keep(ctx context.Context, file, to string) error {
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	if db, err := openCopy(file, ""); err == nil {
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
