package main

import (
	"context"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// printForecast prints the money that the schedules will need from the balance.
func (a *app) printForecast(ctx context.Context, l *ledger.Ledger, days int) error {
	return a.withScheduler(ctx, l, func(scheduler *schedule.Scheduler, _ *filingapi.Client) error {
		f, err := scheduler.Forecast(ctx, days)
		if err != nil {
			return err
		}
		return a.showForecast(f)
	})
}

func (a *app) showForecast(f *schedule.Forecast) error {
	fmt.Fprintln(a.out, f.Text())
	if f.Queued > 0 {
		fmt.Fprintf(a.out, "%s queued: %s.\n", countOf(f.Queued, "row is", "rows are"), f.QueuedFor)
	}
	if len(f.Runs) > 0 {
		fmt.Fprintln(a.out)
		if err := (list[schedule.RunCost]{
			columns: "RUN\tSCHEDULE\tORDERS\tCOST\tNEEDED BY THEN\tSHORT",
			cells: func(run schedule.RunCost) []any {
				short := "-"
				if run.Short > 0 {
					short = run.Short.Dollars()
				}
				return []any{run.Date, run.Schedule, run.Orders, run.Cost, run.Needed.Dollars(), short}
			},
		}).print(a, f.Runs, false); err != nil {
			return err
		}
	}
	left := 0
	for _, run := range f.Runs {
		left += run.LeftOut
	}
	if left > 0 {
		fmt.Fprintf(a.out, "\n%s not included. To list them: importer schedule show NAME\n",
			countOf(left, "row needs attention and is", "rows need attention and are"))
	}
	for _, p := range f.Broken {
		a.say("Schedule %s is not included: %s", p.Schedule, p.Text)
	}
	return nil
}
