package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

func newScheduleShowCommand(g *global) *cobra.Command {
	var asCSV bool
	c := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a schedule: its next runs, past runs, plan, and due dates",
		Long: `show prints a schedule with the due dates of its companies in the next 12 months. A
date that is not verified or that lacks a fact is an estimate, shown as "about".

--csv prints every due date with the rule, its source, and how certain it is, then the
companies without a due date in that time, with the reason.`,
		Example: "  importer schedule show florida\n  importer schedule show florida --csv > due.csv",
		Args:    oneSchedule,
		RunE: onSchedule(g, func(ctx context.Context, l openLedger, s ledger.Schedule) error {
			return runScheduleShow(ctx, g.terminal, l, s, asCSV)
		}),
	}
	c.Flags().BoolVar(&asCSV, "csv", false, "print the due dates as a CSV with all details")
	return c
}

func runScheduleShow(ctx context.Context, t *terminal, l openLedger, s ledger.Schedule, asCSV bool) error {
	scheduler, _ := newScheduler(l)
	var due, rest []season.Entry
	companies, unread := scheduler.LoadCompanyList(ctx, s)
	if unread == nil {
		today := season.DateOf(time.Now())
		due, rest = companies.Calendar(today, today.AddMonths(12).AddDays(-1))
	}
	if asCSV {
		if unread != nil {
			return unread
		}
		return season.WriteCSV(t.out, append(due, rest...))
	}
	if err := printSchedule(ctx, t, l.Ledger, scheduler, s); err != nil {
		return err
	}
	switch {
	// The error is shown instead of the next run.
	case errors.Is(unread, schedule.ErrCompanyList):
		return nil
	case unread != nil:
		return unread
	}
	return printDueDates(t, s, due, rest)
}

// shownRuns and shownDueDates are the numbers of past runs and due dates that are printed. --csv has
// all due dates.
const (
	shownRuns     = 20
	shownDueDates = 20
)

// printDueDates prints the due dates of the next 12 months, and counts the companies without one.
func printDueDates(t *terminal, s ledger.Schedule, due, rest []season.Entry) error {
	t.print("\nDue in the next 12 months: %s", count(len(due), "report"))
	table := newTable(t.out)
	for _, e := range due[:min(len(due), shownDueDates)] {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\n", e.Due.When(), e.Row.Facts.State,
			cmp.Or(e.Row.LegalName, e.Row.CompanyID), e.Row.CompanyID, e.Due.What, e.Due.Price())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if more := len(due) - shownDueDates; more > 0 {
		t.print("  … and %d more", more)
	}
	if len(rest) > 0 {
		t.print("Nothing due in that time: %s. The reasons: importer schedule show %s --csv",
			countOf(len(rest), "company", "companies"), s.Name)
	}
	return nil
}

func printSchedule(ctx context.Context, t *terminal, l *ledger.Ledger, scheduler *schedule.Scheduler,
	s ledger.Schedule) error {
	o, err := schedule.DecodeOptions(s)
	if err != nil {
		return err
	}
	table := newTable(t.out)
	fmt.Fprintf(table, "schedule\t%s\n", s.Name)
	fmt.Fprintf(table, "runs\t%s\n", o.Words())
	var reads []string
	for _, option := range []struct{ name, value string }{{"--product", string(o.Product)},
		{"--state", string(o.State)}, {"--filing-year", o.FilingYear}, {"--user", o.User}, {"--sheet", o.Sheet}} {
		if option.value != "" {
			reads = append(reads, option.name+" "+option.value)
		}
	}
	if len(reads) > 0 {
		fmt.Fprintf(table, "reads\t%s\n", strings.Join(reads, " "))
	}
	if s.Approval {
		fmt.Fprintf(table, "approval\teach run waits for: importer approve BATCH\n")
	}
	next, err := scheduler.Upcoming(ctx, s, 3)
	switch {
	case s.Paused:
		fmt.Fprintf(table, "next\t%s\n", t.yellow("paused; to resume it: importer schedule resume "+s.Name))
		next = nil
	case errors.Is(err, schedule.ErrCompanyList):
		fmt.Fprintf(table, "next\t%s\n", t.red(err.Error()))
	case err != nil:
		return err
	case len(next) == 0:
		fmt.Fprintf(table, "next\tnever: no filing is due\n")
	}
	for i, f := range next {
		fmt.Fprintf(table, "%s\t%s\n", []string{"next", "", ""}[i], f.At.Format("Mon 2006-01-02 15:04 MST"))
	}
	fmt.Fprintf(table, "list\t%s, since %s\n", s.File, localTime(s.Changed))
	if err := table.Flush(); err != nil {
		return err
	}
	if err := printRuns(ctx, t, l, s.Name); err != nil || len(next) == 0 {
		return err
	}
	plan, err := scheduler.NextPlan(ctx, s)
	if err != nil || plan == nil {
		return err
	}
	if problem := plan.Problem(); problem != "" {
		t.print("\n%s", t.red(problem))
	}
	t.print("\nPlan of the next run as of today:")
	for line := range strings.Lines(plan.Text()) {
		fmt.Fprint(t.out, "  ", line)
	}
	return nil
}

// printRuns prints the past runs of a schedule.
func printRuns(ctx context.Context, t *terminal, l *ledger.Ledger, name string) error {
	runs, err := l.Schedules().ListRuns(ctx, name)
	if err != nil || len(runs) == 0 {
		return err
	}
	t.print("\nPast runs:")
	for i, f := range runs {
		if i == shownRuns {
			t.print("  … and %d earlier runs", len(runs)-i)
			break
		}
		batch := ""
		if f.Batch != "" {
			b, err := l.Batch(ctx, f.Batch)
			if err != nil {
				return err
			}
			counts, err := l.Counts(ctx, f.Batch)
			if err != nil {
				return err
			}
			batch = fmt.Sprintf("  batch %s: %s", f.Batch, report.BatchState(b, counts))
		}
		t.print("%s  due %s  %s%s", f.ID, localTime(f.Due), f.State, batch)
		if f.Note != "" {
			t.print("  %s", f.Note)
		}
	}
	return nil
}
