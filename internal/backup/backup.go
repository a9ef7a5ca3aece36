// Package backup copies an SQLite ledger to a file, verifies the copy and restores it. A server
// such as PostgreSQL has its own tools.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/bulkfiling/bulkfiling/internal/folder"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// The errors of backups.
var (
	// ErrExists means that a file of that name exists.
	ErrExists = errors.New("the file exists")
	// ErrWrong means that the ledger in a copy is inconsistent.
	ErrWrong = errors.New("the ledger in the backup does not add up")
)

// Write copies the ledger to a new file, while others may write to the ledger, and verifies the
// copy. It returns ErrExists if the file exists, ErrWrong if the copy is inconsistent, and the
// errors of ledger.VerifyCopy.
func Write(ctx context.Context, l *ledger.Ledger, file string) (ledger.Copy, error) {
	if _, err := os.Lstat(file); err == nil {
		return ledger.Copy{}, fmt.Errorf("%s: %w", file, ErrExists)
	}
	unfinished, err := newFile(filepath.Dir(file))
	if err != nil {
		return ledger.Copy{}, err
	}
	defer os.Remove(unfinished)
	if err := l.CopyTo(ctx, unfinished); err != nil {
		return ledger.Copy{}, err
	}
	c, err := verify(ctx, unfinished)
	if err != nil {
		return c, err
	}
	if err := os.Rename(unfinished, file); err != nil {
		return c, err
	}
	return c, folder.Sync(filepath.Dir(file))
}

const unfinishedFiles = ".ledger-*.unfinished"

// newFile creates an empty file that only its owner can read.
func newFile(dir string) (string, error) {
	f, err := os.CreateTemp(dir, unfinishedFiles)
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// verify checks that a file has a consistent ledger, and syncs it.
func verify(ctx context.Context, file string) (ledger.Copy, error) {
	c, err := ledger.VerifyCopy(ctx, file)
	if err != nil {
		return c, err
	}
	if len(c.Wrong) > 0 {
		return c, fmt.Errorf("%w: %s", ErrWrong, strings.Join(c.Wrong, "; "))
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return c, err
	}
	return c, errors.Join(f.Sync(), f.Close())
}

// Restore replaces the ledger in dir with a copy of the backup in file. It calls confirm with the
// verified backup and changes nothing if confirm returns an error. Restore returns the path of the
// former ledger, or "" if dir had none. It returns store.ErrInUse, ErrWrong and the errors of
// ledger.VerifyCopy.
func Restore(ctx context.Context, file, dir string, confirm func(ledger.Copy) error) (kept string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := store.CheckUnused(dir); err != nil {
		return "", err
	}
	fresh, err := newFile(dir)
	if err != nil {
		return "", err
	}
	defer func() {
		for _, ending := range []string{"", "-wal", "-shm", "-journal"} {
			_ = os.Remove(fresh + ending)
		}
	}()
	if err := copyTo(fresh, file); err != nil {
		return "", err
	}
	c, err := verify(ctx, fresh)
	if err != nil {
		return "", err
	}
	if err := confirm(c); err != nil {
		return "", err
	}
	return ledger.Replace(ctx, dir, fresh)
}

func copyTo(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Daily writes a backup every day and keeps the newest ones.
type Daily struct {
	Ledger *ledger.Ledger
	// Name is the prefix of the file names.
	Name string
	Dir  string
	// Keep is the number of backups to keep.
	Keep int
	Log  *slog.Logger
}

const (
	interval     = 24 * time.Hour
	pollInterval = 10 * time.Minute
	layout       = "20060102T150405Z"
)

// Run writes backups until ctx ends.
func (d *Daily) Run(ctx context.Context) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if err := d.WriteDue(ctx); err != nil && ctx.Err() == nil {
			d.Log.Error("backup failed", "folder", d.Dir, "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// WriteDue writes a backup if the newest one is a day old, and deletes the oldest. Processes that
// share the folder write only one. People are notified once of a failure, until a backup succeeds.
func (d *Daily) WriteDue(ctx context.Context) error {
	if err := os.MkdirAll(d.Dir, 0o700); err != nil {
		return errors.Join(err, d.notify(ctx, err))
	}
	lock := flock.New(filepath.Join(d.Dir, ".lock"))
	if locked, err := lock.TryLock(); err != nil || !locked {
		return err
	}
	defer lock.Unlock()
	// These are files of processes that were killed.
	unfinished, _ := filepath.Glob(filepath.Join(d.Dir, unfinishedFiles))
	for _, file := range unfinished {
		_ = os.Remove(file)
	}
	if last, err := Newest(d.Dir, d.Name, d.Ledger.Now()); err != nil || d.Ledger.Now().Sub(last) < interval {
		return err
	}
	file := filepath.Join(d.Dir, d.Name+"-"+d.Ledger.Now().UTC().Format(layout)+".db")
	if _, err := Write(ctx, d.Ledger, file); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return errors.Join(err, d.notify(ctx, err))
	}
	d.Log.Info("backup written", "file", file)
	return errors.Join(d.notify(ctx, nil), d.deleteOld())
}

// Newest returns the time of the newest backup in a folder, or the zero time. It ignores backups
// with a time after now, which come from a wrong clock.
func Newest(dir, name string, now time.Time) (newest time.Time, err error) {
	files, err := list(dir, name)
	for _, file := range files {
		if at, err := timeOf(filepath.Base(file), name); err == nil && !at.After(now) {
			newest = at
		}
	}
	return newest, err
}

// list returns the backups in a folder, the oldest first.
func list(dir, name string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var files []string
	for _, e := range entries {
		if _, err := timeOf(e.Name(), name); err == nil {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	// ReadDir sorts by name, and the times sort as text.
	return files, err
}

// timeOf returns the time in a file name.
func timeOf(file, name string) (time.Time, error) {
	text, ours := strings.CutPrefix(file, name+"-")
	text, backup := strings.CutSuffix(text, ".db")
	if !ours || !backup {
		return time.Time{}, errors.New("no backup of " + name)
	}
	return time.Parse(layout, text)
}

func (d *Daily) deleteOld() error {
	files, err := list(d.Dir, d.Name)
	for _, file := range files[:max(len(files)-d.Keep, 0)] {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

// notify sends a notification that backups fail, or, if err is nil, that they succeed again.
func (d *Daily) notify(ctx context.Context, err error) error {
	n := outbox.Notification{
		Kind:    outbox.KindBackup,
		Ends:    true,
		Subject: "the backup of ledger " + d.Name + " works again",
		Body:    "A backup was written to " + d.Dir + " and verified.",
		Path:    "/settings",
	}
	if err != nil {
		n.Ends, n.Lasts = false, true
		n.Subject = "the backup of ledger " + d.Name + " failed"
		n.Body = fmt.Sprintf("The daily backup to %s failed: %v.\n\nIt is tried again. Until one succeeds there is no "+
			"newer backup.", d.Dir, err)
	}
	_, failed := d.Ledger.Notifications().Add(ctx, n)
	return failed
}
