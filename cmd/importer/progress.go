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

// repeatLine prints a line repeatedly until stop is called. At a terminal it is updated in place, and
// stop clears it. Elsewhere the lines are printed below each other. Empty lines are not printed.
func (t *terminal) repeatLine(line func() string) (stop func()) {
	every, form, wipe := plainEvery, "%s\n", ""
	if t.live {
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
				if t.live {
					wipe = "\r\x1b[K"
				}
			}
		}
	})
	return sync.OnceFunc(func() { close(stopped); ended.Wait() })
}

// phaseAfter is the time after which the progress of a step is shown.
const phaseAfter = 2 * time.Second

// phase is a slow step of a command.
type phase struct {
	what  string
	began time.Time
	// end ends the phase.
	end func()

	mu          sync.Mutex
	known       bool
	done, total int
	waitsUntil  time.Time
}

// startPhase shows a slow step until its end, because a person who sees nothing begins to type. A log
// gets a line every ten seconds.
func (t *terminal) startPhase(what string) *phase {
	p := &phase{what: what, began: time.Now()}
	p.end = t.repeatLine(func() string {
		if time.Since(p.began) < phaseAfter {
			return ""
		}
		return p.what + p.progress()
	})
	return p
}

func (p *phase) progress() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	since := time.Since(p.began)
	switch wait := time.Until(p.waitsUntil); {
	case wait > 0:
		return ": the filing service allows no more requests for " + report.Spell(wait)
	case !p.known:
		return fmt.Sprintf("… %s", since.Round(time.Second))
	case p.total == 0:
		return ": " + count(p.done, "row")
	}
	return fmt.Sprintf(": %d of %d", p.done, p.total) + timeLeft(since, p.done, p.total)
}

// at sets the progress in rows. The total is 0 if it is unknown.
func (p *phase) at(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known, p.done, p.total = true, done, total
}

// showWait shows that the filing service allows no request before a time.
func (p *phase) showWait(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waitsUntil = until
}

// timeLeft returns the remaining time of a step in words. It returns an empty text during the first
// 5 %, whose rate is uncertain, and near the end.
func timeLeft(since time.Duration, done, total int) string {
	if done*20 < total || done >= total {
		return ""
	}
	left := time.Duration(float64(since) / float64(done) * float64(total-done))
	if left < phaseAfter {
		return ""
	}
	return ", about " + report.Spell(left) + " left"
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
	end := t.repeatLine(func() string {
		// The run itself reports problems of the ledger.
		s, err := report.Summarize(ctx, l, batch)
		halted, failed := l.Fleet().Halt(ctx)
		if err != nil || failed != nil {
			return ""
		}
		now := meter.Read(s.Figures, halted, time.Now())
		now.Filed = s.Filings.Statuses[filing.FiledStatus]
		text := jobs.FleetHold(halted).Words()
		switch {
		case halted.Reason == filing.HaltKey:
			return now.String() + "  " + t.red(text)
		case text == "" && trouble != nil && trouble() != "":
			text = "the filing service is not responding: " + trouble()
		case text == "":
			return now.String()
		}
		return now.String() + "  " + t.yellow(text)
	})
	return func() { cancel(); end() }, nil
}
