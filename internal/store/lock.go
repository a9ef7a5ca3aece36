package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// ProcessLock is a file in the data folder that a process keeps locked while it has the database
// open. The file shows the other processes of the same machine that the process runs.
type ProcessLock struct {
	// ID identifies this process among all processes that ever opened the database. It is the name
	// of the file.
	ID   string
	Host string
	// Path is the absolute path of the file.
	Path string
	lock *flock.Flock
}

// takeLock gives the process its ID and locks the file with that name.
func takeLock(dir string) (*ProcessLock, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("find the name of this machine: %w", err)
	}
	id := rand.Text()[:12]
	path, err := filepath.Abs(filepath.Join(dir, "locks", id))
	if err != nil {
		return nil, fmt.Errorf("find the folder of the lock file: %w", err)
	}
	lock := flock.New(path)
	if held, err := lock.TryLock(); err != nil || !held {
		return nil, fmt.Errorf("lock %s: held %v: %w", path, held, err)
	}
	return &ProcessLock{ID: id, Host: host, Path: path, lock: lock}, nil
}

// unlock unlocks and removes the file. A nil lock does nothing.
func (l *ProcessLock) unlock() {
	if l == nil {
		return
	}
	_ = l.lock.Unlock()
	_ = os.Remove(l.Path)
}

// IsLocked reports whether the file of another process is locked, and whether it is visible here.
// The file is missing if another container has the same host name, or if the folder is gone.
func (l *ProcessLock) IsLocked(host, path string) (locked, visible bool) {
	if host != l.Host {
		return false, false
	}
	if _, err := os.Stat(path); err != nil {
		return false, false
	}
	probe := flock.New(path)
	if free, err := probe.TryLock(); err == nil && free {
		_ = probe.Unlock()
		return false, true
	}
	return true, true
}

// CheckUnused returns ErrInUse if a living process has the database of a data folder open.
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
