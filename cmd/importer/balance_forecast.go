package main

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// printForecast prints what the schedules will need from the balance.
func (a *app) printForecast(ctx context.Context, l *ledger.Ledger, days int, asJSON bool) error {
	return a.withScheduler(ctx, l, func(scheduler *schedule.Scheduler, _ *filingapi.Client) error {
		f, err := scheduler.Forecast(ctx, days)
		if err != nil {
			return err
		}
		if asJSON {
			return a.printForecastJSON(f)
		}
		return a.printForecastText(f)
	})
}

func (a *app) printForecastJSON(f *schedule.Forecast) error {
	out := json.NewEncoder(a.out)
	for _, run := range f.Runs {
		if err := out.Encode(struct {
			Date      season.Date     `json:"date"`
			Schedule  string          `json:"season"`
			Orders    int             `json:"orders"`
			LeftOut   int             `json:"leftOut"`
			Cost      money.Cents     `json:"cost"`
			Certainty money.Certainty `json:"costCertainty"`
			Needed    money.Cents     `json:"needed"`
			Short     money.Cents     `json:"short"`
		}{run.Date, run.Schedule, run.Orders, run.LeftOut, run.Cost.Amount, run.Cost.Certainty, run.Needed,
			run.Short}); err != nil {
			return err
		}
	}
	needed := f.Needed()
	return out.Encode(struct {
		Runs      int             `json:"runs"`
		Until     season.Date     `json:"until"`
		Available *money.Cents    `json:"available"` // null where no deposit was recorded
		Queued    money.Cents     `json:"queued"`
		Needed    money.Cents     `json:"needed"`
		Certainty money.Certainty `json:"neededCertainty"`
	}{len(f.Runs), f.To, f.Available, f.QueuedFor.Amount, needed.Amount, needed.Certainty})
}

func (a *app) printForecastText(f *schedule.Forecast) error {
	fmt.Fprintln(a.out, f.Text())
	if f.Queued > 0 {
		fmt.Fprintf(a.out, "%s queued: %s.\n", countOf(f.Queued, "row is", "rows are"), f.QueuedFor)
	}
	if len(f.Runs) > 0 {
		fmt.Fprintln(a.out)
		table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
		fmt.Fprintf(table, "RUN\tSCHEDULE\tORDERS\tCOST\tNEEDED BY THEN\tSHORT\n")
		for _, run := range f.Runs {
			short := "-"
			if run.Short > 0 {
				short = run.Short.Dollars()
			}
			fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\n", run.Date, run.Schedule, run.Orders, run.Cost,
				run.Needed.Dollars(), short)
		}
		if err := table.Flush(); err != nil {
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
