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

// progress shows the progress of a batch: on a terminal one line that is updated,
// elsewhere a new line from time to time.
type progress struct {
	app    *app
	ledger *ledger.Ledger
	batch  string
	live   bool
	meter  *report.Meter

	trouble func() string // why the filing service does not respond; nil if this process sends nothing
}

// Times between two updates.
const (
	liveEvery  = 200 * time.Millisecond
	plainEvery = 10 * time.Second
)

// watch shows progress until stop is called, which clears the line.
func (a *app) watch(ctx context.Context, l *ledger.Ledger, batch string,
	trouble func() string) (stop func(), err error) {
	p := &progress{
		app:     a,
		ledger:  l,
		batch:   batch,
		live:    a.terminal(a.err),
		trouble: trouble,
	}
	start, err := l.Progress(ctx, batch)
	if err != nil {
		return nil, err
	}
	p.meter = report.NewMeter(start, time.Now())
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() { p.loop(ctx) })
	return func() {
		cancel()
		done.Wait()
		if p.live {
			fmt.Fprint(a.err, "\r\x1b[K")
		}
	}, nil
}

func (p *progress) loop(ctx context.Context) {
	every := plainEvery
	if p.live {
		every = liveEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, err := p.ledger.Progress(ctx, p.batch)
		if err != nil {
			continue // the run itself reports problems of the ledger
		}
		halted, err := p.ledger.Fleet().Halt(ctx)
		if err != nil {
			continue
		}
		line := p.line(p.meter.Read(now, halted, time.Now()))
		if p.live {
			fmt.Fprintf(p.app.err, "\r\x1b[K%s", line)
		} else {
			fmt.Fprintln(p.app.err, line)
		}
	}
}

// line is the progress of a batch and its halt.
func (p *progress) line(now report.Progress) string {
	halted := jobs.FleetHold(now.Halted).Words()
	switch {
	case halted == "" && p.trouble != nil && p.trouble() != "":
		halted = p.app.paint.yellow("the filing service is not responding: " + p.trouble())
	case halted == "":
		return now.String()
	case now.Halted.Reason == filing.HaltKey:
		halted = p.app.paint.red(halted)
	default:
		halted = p.app.paint.yellow(halted)
	}
	return now.String() + "  " + halted
}
