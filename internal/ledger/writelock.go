package ledger

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/gofrs/flock"
)

// writeLock lets the processes that write to one SQLite file take turns. SQLite
// itself lets a writer that finds it locked sleep and try again, ten times a
// second in the end, and a process that commits one group after another keeps
// the others out for seconds: a hold that the whole fleet must obey came late.
//
// A process that waits for now holds next, and one that has just written must
// pass next to write again.
type writeLock struct {
	mu          sync.Mutex // within the process
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

// unlock lets the next one write.
func (t *writeLock) unlock() {
	if t == nil {
		return
	}
	_ = t.held.Unlock() // at worst SQLite's own lock makes the others wait
	t.mu.Unlock()
}
