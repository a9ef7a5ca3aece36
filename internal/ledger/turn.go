package ledger

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/gofrs/flock"
)

// turns lets the processes that write to one SQLite file take turns. SQLite
// itself lets a writer that finds it locked sleep and try again, ten times a
// second in the end, and a process that commits one group after another keeps
// the others out for seconds: a hold that the whole fleet must obey came late.
//
// Whoever waits for now holds next, and whoever has just written must pass next
// to write again.
type turns struct {
	mu        sync.Mutex // within the process
	next, now *flock.Flock
}

func newTurns(dir string) *turns {
	return &turns{
		next: flock.New(filepath.Join(dir, "locks", "next")),
		now:  flock.New(filepath.Join(dir, "locks", "now")),
	}
}

// take waits for this process's turn. A nil turns never waits.
func (t *turns) take() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	if err := t.next.Lock(); err != nil {
		t.mu.Unlock()
		return fmt.Errorf("wait for a turn to write: %w", err)
	}
	err := errors.Join(t.now.Lock(), t.next.Unlock())
	if err != nil {
		t.end()
		return fmt.Errorf("wait for a turn to write: %w", err)
	}
	return nil
}

// end lets the next one write.
func (t *turns) end() {
	if t == nil {
		return
	}
	_ = t.now.Unlock() // at worst SQLite's own lock makes the others wait
	t.mu.Unlock()
}
