package main

import (
	"context"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

// watch shows the progress of a batch until stop is called. trouble returns the reason why the
// filing service does not respond. It is nil if this process sends nothing.
func (a *app) watch(ctx context.Context, l *ledger.Ledger, batch string,
	trouble func() string) (stop func(), err error) {
	start, err := l.ResultFigures(ctx, batch)
	if err != nil {
		return nil, err
	}
	meter := report.NewMeter(start, time.Now())
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	end := a.repeatLine(a.terminal(a.err), func() string {
		s, err := report.Summarize(ctx, l, batch)
		if err != nil {
			// The run itself reports problems of the ledger.
			return ""
		}
		halted, err := l.Fleet().Halt(ctx)
		if err != nil {
			return ""
		}
		now := meter.Read(s.Figures, halted, time.Now())
		now.Filed = s.Filings.Statuses[filing.FiledStatus]
		return a.progressLine(now, trouble)
	})
	return func() { cancel(); end() }, nil
}

// progressLine returns the progress of a batch and its halt.
func (a *app) progressLine(now report.Progress, trouble func() string) string {
	halted := jobs.FleetHold(now.Halted).Words()
	switch {
	case halted == "" && trouble != nil && trouble() != "":
		halted = a.paint.yellow("the filing service is not responding: " + trouble())
	case halted == "":
		return now.String()
	case now.Halted.Reason == filing.HaltKey:
		halted = a.paint.red(halted)
	default:
		halted = a.paint.yellow(halted)
	}
	return now.String() + "  " + halted
}
