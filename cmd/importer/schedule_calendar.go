package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// calendarFlags are the options of a calendar.
type calendarFlags struct {
	scheduleFlags
	from, to               string
	asCSV, asJSON, verbose bool
}

func (a *app) scheduleCalendarCommand() *cobra.Command {
	var f calendarFlags
	c := &cobra.Command{
		Use:   "calendar [NAME]",
		Short: "Show the due dates of a schedule or of any company list",
		Long: `calendar shows the due dates of a company list for a year from today. A date that is
not verified or that lacks a fact is an estimate, shown as "about". -v adds the
rule, its source, and how certain it is. Companies without a due date in that time
are listed last, with the reason.

--rules FILE overrides the built-in rules. The command needs neither the network nor
an API key.`,
		Example: `  importer season calendar florida
  importer season calendar --roster companies.xlsx --from 2027-01-01 --to 2027-06-30 -v
  importer season calendar --roster companies.xlsx --csv > due.csv`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && f.list != "" {
				return usage("%s takes one schedule or --roster FILE", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.applyFlags(); err != nil {
				return err
			}
			err := a.withLedger(c.Context(),
				func(l *ledger.Ledger) error { return a.calendar(c.Context(), l, first(args), f) })
			if f.list != "" && errors.Is(err, config.ErrNoLedger) {
				return a.calendar(c.Context(), nil, "", f) // without a ledger, no company has records
			}
			return err
		},
	}
	f.register(c)
	c.Flags().StringVar(&f.from, "from", "", "the first day, such as 2027-01-01 (default: today)")
	c.Flags().StringVar(&f.to, "to", "", "the last day (default: one year later)")
	c.Flags().BoolVar(&f.asCSV, "csv", false, "print a CSV with all details")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON line for each company and due date")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false,
		"show the rule of each date, its source, and how certain it is")
	return c
}

func (a *app) calendar(ctx context.Context, l *ledger.Ledger, name string, f calendarFlags) error {
	today := season.DateOf(time.Now())
	from, to, err := season.ParseSpan(f.from, f.to, today)
	if errors.Is(err, season.ErrSpan) {
		return usage("--to %s is before --from %s", to, from)
	}
	if err != nil {
		return err
	}
	list, err := a.loadCalendarList(ctx, l, name, f, today)
	if err != nil {
		return err
	}
	due, rest := list.Calendar(from, to)
	switch {
	case f.asCSV:
		return season.WriteCSV(a.out, append(due, rest...))
	case f.asJSON:
		lines := json.NewEncoder(a.out)
		for _, e := range append(due, rest...) {
			if err := lines.Encode(e.Line()); err != nil {
				return err
			}
		}
		return nil
	}
	return a.showCalendar(due, rest, from, to, f.verbose)
}

// loadCalendarList loads the company list of --roster or of a schedule; without
// both, that of the only schedule.
func (a *app) loadCalendarList(ctx context.Context, l *ledger.Ledger, name string, f calendarFlags,
	today season.Date) (*schedule.CompanyList, error) {
	if f.list != "" {
		content, err := readFile(f.list)
		if err != nil {
			return nil, err
		}
		r, err := schedule.ReadForCalendar(ctx, l, f.list, content, f.options, today)
		if err == nil && r.Tally.Invalid > 0 {
			a.say("%s. Their due dates may be missing. To see the errors: importer check %s",
				count(r.Tally.Invalid, "row")+" to fix", f.list)
		}
		return r, err
	}
	if name == "" {
		schedules, err := l.Schedules().List(ctx)
		if err != nil {
			return nil, err
		}
		if len(schedules) != 1 {
			return nil, usage("name a schedule, or a company list with --roster FILE")
		}
		name = schedules[0].Name
	}
	s, err := findSchedule(ctx, l, name)
	if err != nil {
		return nil, err
	}
	return schedule.LoadCompanyList(ctx, l, s, f.options.Rules, today)
}

func (a *app) showCalendar(due, rest []season.Entry, from, to season.Date, verbose bool) error {
	fmt.Fprintf(a.out, "%s from %s to %s\n", count(len(due), "report"), from, to)
	for month, entries := range season.ByMonth(due) {
		fmt.Fprintf(a.out, "\n%s %d\n", month.Month, month.Year)
		if err := a.calendarTable(entries, verbose); err != nil {
			return err
		}
	}
	if len(rest) == 0 {
		return nil
	}
	fmt.Fprintf(a.out, "\nNothing due in that time:\n")
	return a.calendarTable(rest, verbose)
}

func (a *app) calendarTable(entries []season.Entry, verbose bool) error {
	table := newTable(a.out)
	for _, e := range entries {
		what := ""
		if e.Due.Verdict == season.Dated {
			what = "\t" + e.Due.What + "\t" + e.Due.Price()
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s%s\n", e.Due.When(), e.Row.Facts.State,
			cmp.Or(e.Row.LegalName, e.Row.CompanyID), e.Row.CompanyID, what)
		if verbose {
			fmt.Fprintf(table, "    %s\n", e.Due.Why)
			if e.Due.FeeNote != "" {
				fmt.Fprintf(table, "    fee: %s\n", e.Due.FeeNote)
			}
			fmt.Fprintf(table, "    %s (%s)\n", cmp.Or(e.Due.Source, "general knowledge"), e.Due.Confidence)
		}
	}
	return table.Flush()
}
