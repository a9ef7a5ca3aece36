package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/money"
)

// progress shows how a batch goes: one line that renews itself on a terminal,
// and a plain line now and then elsewhere.
type progress struct {
	app    *app
	ledger *ledger.Ledger
	batch  string
	live   bool
	began  time.Time
	atOnce int // rows that were answered before this run
}

// Times between two looks.
const (
	liveEvery  = 200 * time.Millisecond
	plainEvery = 10 * time.Second
)

// watch shows progress until stop is called, which leaves the line clean.
func (a *app) watch(ctx context.Context, l *ledger.Ledger, batch string) (stop func(), err error) {
	p := &progress{app: a, ledger: l, batch: batch, live: a.terminal(a.err), began: time.Now()}
	start, err := l.Progress(ctx, batch)
	if err != nil {
		return nil, err
	}
	p.atOnce = answered(start.Counts)
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
			continue // the run itself will say what is wrong with the ledger
		}
		halted, err := p.ledger.Standstill(ctx)
		if err != nil {
			continue
		}
		line := p.line(now, halted, time.Since(p.began))
		if p.live {
			fmt.Fprintf(p.app.err, "\r\x1b[K%s", line)
		} else {
			fmt.Fprintln(p.app.err, line)
		}
	}
}

// answered counts the rows that are done with.
func answered(c ledger.Counts) int { return c.Total() - c[filing.Ready] - c[filing.Placing] }

// line is the state of a batch in at most some eighty columns.
func (p *progress) line(now ledger.Progress, halted ledger.Halted, elapsed time.Duration) string {
	total, done := now.Counts.Total(), answered(now.Counts)
	parts := []string{fmt.Sprintf("%d/%d", done, total), fmt.Sprintf("%d placed", now.Counts[filing.Placed])}
	for _, r := range []filing.Result{filing.Exists, filing.Rejected, filing.Uncertain} {
		if n := now.Counts[r]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, r))
		}
	}
	if now.Filed > 0 {
		parts = append(parts, fmt.Sprintf("%d filed", now.Filed))
	}
	if now.Waiting > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting", now.Waiting))
	}
	parts = append(parts, money.Cents(now.Spent).Dollars()+" spent")
	if rate := float64(done-p.atOnce) / elapsed.Seconds(); rate > 0 && halted.Reason == filing.Nothing {
		parts = append(parts, fmt.Sprintf("%.0f/s", rate))
		if left := total - done; left > 0 {
			parts = append(parts, "about "+(time.Duration(float64(left)/rate)*time.Second).Round(time.Second).String()+" left")
		}
	}
	text := strings.Join(parts, "  ")
	switch halted.Reason {
	case filing.ForFunds:
		text += "  " + p.app.paint.yellow("waits for funds")
	case filing.ForKey:
		text += "  " + p.app.paint.red("key refused")
	case filing.ForRate:
		text += "  " + p.app.paint.yellow("asked to wait until "+halted.Until.Local().Format("15:04:05"))
	}
	return text
}
