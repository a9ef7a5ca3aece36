package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/gofrs/flock"
)

// writeLock lets the processes that write to one SQLite file take turns. SQLite alone makes a
// writer that finds the file locked sleep and try again, in the end ten times a second. A process
// that commits one group after another would then keep the others out for seconds, and a halt that
// the whole fleet must obey would be late.
//
// A process that waits for held keeps queue locked, and a process that has just written must lock
// queue to write again.
type writeLock struct {
	// mu serializes the writers within the process.
	mu          sync.Mutex
	queue, held *flock.Flock
}

func newWriteLock(dir string) *writeLock {
	return &writeLock{
		queue: flock.New(filepath.Join(dir, "locks", "next")),
		held:  flock.New(filepath.Join(dir, "locks", "now")),
	}
}

// lock waits for this process's turn. A nil writeLock never waits.
func (t *writeLock) lock() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	if err := t.queue.Lock(); err != nil {
		t.mu.Unlock()
		return fmt.Errorf("wait for the write lock: %w", err)
	}
	err := errors.Join(t.held.Lock(), t.queue.Unlock())
	if err != nil {
		t.unlock()
		return fmt.Errorf("wait for the write lock: %w", err)
	}
	return nil
}

// unlock lets the next writer proceed.
func (t *writeLock) unlock() {
	if t == nil {
		return
	}
	// If this fails, SQLite's lock makes the others wait.
	_ = t.held.Unlock()
	t.mu.Unlock()
}
