package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

// The times between two updates of a line, at a terminal and elsewhere.
const (
	liveEvery  = 200 * time.Millisecond
	plainEvery = 10 * time.Second
)

// repeatLine prints a line repeatedly until stop is called. A live line is updated in place, and
// stop clears it. Other lines are printed below each other. Empty lines are not printed.
func (t *terminal) repeatLine(live bool, line func() string) (stop func()) {
	every, form, wipe := plainEvery, "%s\n", ""
	if live {
		every, form = liveEvery, "\r\x1b[K%s"
	}
	stopped := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-stopped:
				fmt.Fprint(t.err, wipe)
				return
			case <-tick.C:
			}
			if text := line(); text != "" {
				fmt.Fprintf(t.err, form, text)
				if live {
					wipe = "\r\x1b[K"
				}
			}
		}
	})
	return sync.OnceFunc(func() { close(stopped); ended.Wait() })
}

// phaseAfter is the time after which the progress of a step is shown.
const phaseAfter = 2 * time.Second

// phase shows the progress of a slow step at a terminal, because a person who sees nothing begins
// to type. Elsewhere it shows nothing.
type phase struct {
	began time.Time
	// end ends the step and clears the line.
	end func()

	mu          sync.Mutex
	what        string
	done, total int
}

// phase begins a step. The caller must call its end method.
func (t *terminal) phase(what string) *phase {
	p := &phase{what: what, began: time.Now(), end: func() {}}
	if isTerminal(t.err) {
		p.end = t.repeatLine(true, p.line)
	}
	return p
}

// at sets the progress of the step. total is 0 if it is unknown.
func (p *phase) at(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.total = done, total
}

// next begins another step.
func (p *phase) next(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what, p.done, p.total = what, 0, 0
}

// line returns the progress: "Looking up companies: 120 of 400". It returns "" for a short step.
func (p *phase) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	since := time.Since(p.began)
	switch {
	case since < phaseAfter:
		return ""
	case p.total > 0:
		return fmt.Sprintf("%s: %d of %d", p.what, p.done, p.total)
	case p.done > 0:
		return fmt.Sprintf("%s: %s", p.what, count(p.done, "row"))
	}
	return fmt.Sprintf("%s… %s", p.what, since.Round(time.Second))
}

// watch shows the progress of a batch until stop is called. trouble returns the reason why the
// filing service does not respond. It is nil if this process sends nothing.
func watch(ctx context.Context, t *terminal, l *ledger.Ledger, batch string,
	trouble func() string) (stop func(), err error) {
	start, err := l.ResultFigures(ctx, batch)
	if err != nil {
		return nil, err
	}
	meter := report.NewMeter(start, time.Now())
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	end := t.repeatLine(isTerminal(t.err), func() string {
		// The run itself reports problems of the ledger.
		s, err := report.Summarize(ctx, l, batch)
		if err != nil {
			return ""
		}
		halted, err := l.Fleet().Halt(ctx)
		if err != nil {
			return ""
		}
		now := meter.Read(s.Figures, halted, time.Now())
		now.Filed = s.Filings.Statuses[filing.FiledStatus]
		return progressLine(t, now, trouble)
	})
	return func() { cancel(); end() }, nil
}

// progressLine returns the progress of a batch and its halt.
func progressLine(t *terminal, now report.Progress, trouble func() string) string {
	halted := jobs.FleetHold(now.Halted).Words()
	switch {
	case halted == "" && trouble != nil && trouble() != "":
		halted = t.yellow("the filing service is not responding: " + trouble())
	case halted == "":
		return now.String()
	case now.Halted.Reason == filing.HaltKey:
		halted = t.red(halted)
	default:
		halted = t.yellow(halted)
	}
	return now.String() + "  " + halted
}
