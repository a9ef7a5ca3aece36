package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// phaseAfter is how long a step takes before its progress is shown.
const phaseAfter = 2 * time.Second

// phase shows the progress of a slow step at a terminal: a person who sees nothing
// begins to type. Elsewhere it shows nothing.
type phase struct {
	app  *app
	what string

	mu          sync.Mutex
	done, total int
	stop        context.CancelFunc
	ended       sync.WaitGroup
}

// phase begins a step. Its end method must be called.
func (a *app) phase(what string) *phase {
	p := &phase{app: a, what: what, stop: func() {}}
	if !a.terminal(a.err) {
		return p
	}
	var ctx context.Context
	ctx, p.stop = context.WithCancel(context.Background())
	p.ended.Go(func() { p.show(ctx) })
	return p
}

// at sets the progress of the step; total is 0 if it is not known.
func (p *phase) at(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.total = done, total
}

// end ends the step and clears the line.
func (p *phase) end() {
	p.stop()
	p.ended.Wait()
}

func (p *phase) show(ctx context.Context) {
	began := time.Now()
	wait := time.NewTimer(phaseAfter)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return
	case <-wait.C:
	}
	defer fmt.Fprint(p.app.err, "\r\x1b[K")
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	for {
		fmt.Fprintf(p.app.err, "\r\x1b[K%s", p.line(time.Since(began)))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// line is the progress: "Looking up companies: 120 of 400".
func (p *phase) line(since time.Duration) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.total > 0:
		return fmt.Sprintf("%s: %d of %d", p.what, p.done, p.total)
	case p.done > 0:
		return fmt.Sprintf("%s: %s", p.what, count(p.done, "row"))
	}
	return fmt.Sprintf("%s… %s", p.what, since.Round(time.Second))
}

// countingRecorder reports the number of recorded rows to a step.
type countingRecorder struct {
	*ledger.Ledger
	phase *phase
	rows  int
}

func (c *countingRecorder) AddRows(ctx context.Context, batch string, rows []ledger.Row) error {
	err := c.Ledger.AddRows(ctx, batch, rows)
	c.rows += len(rows)
	c.phase.at(c.rows, 0)
	return err
}
