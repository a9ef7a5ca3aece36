package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
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

// phase shows the progress of a slow step until end is called, because a person who sees nothing
// begins to type. at sets the progress. The total is 0 if it is unknown.
func (t *terminal) phase(what string) (at func(done, total int), end func()) {
	began := time.Now()
	var shown atomic.Pointer[string]
	at = func(done, total int) {
		text := what + ": " + count(done, "row")
		if total > 0 {
			text = fmt.Sprintf("%s: %d of %d", what, done, total) + timeLeft(time.Since(began), done, total)
		}
		shown.Store(&text)
	}
	return at, t.repeatLine(func() string {
		since := time.Since(began)
		switch text := shown.Load(); {
		case since < phaseAfter:
			return ""
		case text != nil:
			return *text
		}
		return fmt.Sprintf("%s… %s", what, since.Round(time.Second))
	})
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
