package jobs_test

import (
	"slices"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// An idle worker looks at the ledger's control row and asks nothing else, until the
// ledger commits; a row that is due later keeps it awake.
func TestIdlePumpAsksNothing(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{})
	q := f.openQueue()
	w := f.start(sharing(q))
	w.Stop() // from here on the test pumps
	var commands []string
	q.OnCommand(func(name string) { commands = append(commands, name) })
	pump := func(committed <-chan struct{}) bool {
		t.Helper()
		commands = nil
		idle, err := w.Pump(t.Context(), committed)
		f.must(err)
		commands = slices.DeleteFunc(commands, func(name string) bool { return name == "sadd" }) // whether it writes
		return idle
	}
	pump(nil) // sees the commits before it
	committed := f.Fleet().NextCommit()
	if !pump(nil) {
		t.Fatal("a worker without rows is not idle")
	}
	for range 3 {
		if !pump(committed) || len(commands) != 0 {
			t.Errorf("an idle worker asked the queue %q", commands)
		}
	}
	f.add("a", report(1))
	select {
	case <-committed:
	default:
		t.Fatal("a commit wakes nobody")
	}
	if pump(committed) || !slices.ContainsFunc(commands, isScript) {
		t.Errorf("a row was not put on the queue: %q", commands)
	}
	if pump(nil) {
		t.Error("a worker with a row on the queue is idle")
	}
	f.must(f.PauseBatch(t.Context(), "a"))
	f.must(q.Flush(t.Context()))
	if !pump(nil) {
		t.Error("a worker whose only batch is paused is not idle")
	}
}

// isScript reports whether a command enqueues a task, which asynq does with a script.
func isScript(name string) bool { return name == "evalsha" || name == "eval" }
