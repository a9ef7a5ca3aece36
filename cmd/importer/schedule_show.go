package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

func (a *app) scheduleListCommand() *cobra.Command {
	return a.listCommand("schedule list", "List the schedules with their next and last runs", "No schedules yet",
		"schedule", a.listSchedules)
}

func (a *app) listSchedules(ctx context.Context, l *ledger.Ledger, asJSON bool) error {
	all, err := l.Schedules().List(ctx)
	if err != nil {
		return err
	}
	files := make(map[string]string)
	var items []schedule.Summary
	for _, s := range all {
		summary, err := schedule.New(schedule.Config{Ledger: l}).Summary(ctx, s)
		if err != nil {
			return err
		}
		files[s.Name], items = s.File, append(items, summary)
	}
	err = list[schedule.Summary]{
		empty:   "No schedules yet. To add one: importer schedule add NAME --roster FILE",
		columns: "SCHEDULE\tCOMPANY LIST\tRUNS\tNEXT\tLAST\tBATCH",
		cells: func(s schedule.Summary) []any {
			return []any{s.Name, files[s.Name], s.Schedule, s.When(), cmp.Or(s.LastText(), "-"), cmp.Or(s.Batch, "-")}
		},
	}.print(a, items, asJSON)
	if err != nil || asJSON {
		return err
	}
	problems, err := schedule.New(schedule.Config{Ledger: l}).Problems(ctx)
	for _, p := range problems {
		a.say("%s: %s", p.Schedule, a.paint.red(p.Text))
	}
	return err
}

func (a *app) scheduleShowCommand() *cobra.Command {
	var asCSV bool
	c := a.oneScheduleCommand("show NAME", "Show a schedule: its next runs, past runs, plan, and due dates",
		"  importer schedule show florida\n  importer schedule show florida --csv > due.csv",
		func(ctx context.Context, l *ledger.Ledger, s ledger.Schedule) error {
			return a.withScheduler(ctx, l, func(scheduler *schedule.Scheduler, _ *filingapi.Client) error {
				if asCSV {
					due, rest, err := dueDates(ctx, scheduler, s)
					if err != nil {
						return err
					}
					return season.WriteCSV(a.out, append(due, rest...))
				}
				if err := a.showSchedule(ctx, l, scheduler, s); err != nil {
					return err
				}
				return a.showDueDates(ctx, scheduler, s)
			})
		})
	c.Long = `show prints a schedule with the due dates of its companies in the next 12 months. A
date that is not verified or that lacks a fact is an estimate, shown as "about".

--csv prints every due date with the rule, its source, and how certain it is, then the
companies without a due date in that time, with the reason.`
	c.Flags().BoolVar(&asCSV, "csv", false, "print the due dates as a CSV with all details")
	return c
}

// dueDates lists the due dates in the company list of a schedule in the next 12 months, and the
// companies without a due date in that time.
func dueDates(ctx context.Context, scheduler *schedule.Scheduler, s ledger.Schedule) (due, rest []season.Entry,
	err error) {
	list, err := scheduler.LoadCompanyList(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	today := season.DateOf(time.Now())
	due, rest = list.Calendar(today, today.AddMonths(12).AddDays(-1))
	return due, rest, nil
}

// shownDueDates is the number of due dates that are printed. --csv has all.
const shownDueDates = 20

func (a *app) showDueDates(ctx context.Context, scheduler *schedule.Scheduler, s ledger.Schedule) error {
	due, rest, err := dueDates(ctx, scheduler, s)
	// The error is shown instead of the next run.
	if errors.Is(err, schedule.ErrCompanyList) {
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "\nDue in the next 12 months: %s\n", count(len(due), "report"))
	table := newTable(a.out)
	for _, e := range due[:min(len(due), shownDueDates)] {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\n", e.Due.When(), e.Row.Facts.State,
			cmp.Or(e.Row.LegalName, e.Row.CompanyID), e.Row.CompanyID, e.Due.What, e.Due.Price())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if more := len(due) - shownDueDates; more > 0 {
		fmt.Fprintf(a.out, "  … and %d more\n", more)
	}
	if len(rest) > 0 {
		fmt.Fprintf(a.out, "Nothing due in that time: %s. The reasons: importer schedule show %s --csv\n",
			countOf(len(rest), "company", "companies"), s.Name)
	}
	return nil
}

// shownRuns is the number of runs that are printed.
const shownRuns = 20

func (a *app) showSchedule(ctx context.Context, l *ledger.Ledger, scheduler *schedule.Scheduler,
	s ledger.Schedule) error {
	o, err := schedule.DecodeOptions(s)
	if err != nil {
		return err
	}
	table := newTable(a.out)
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
	next, err := schedule.New(schedule.Config{Ledger: l}).Upcoming(ctx, s, 3)
	switch {
	case s.Paused:
		fmt.Fprintf(table, "next\t%s\n", a.paint.yellow("paused; to resume it: importer schedule resume "+s.Name))
	case errors.Is(err, schedule.ErrCompanyList):
		fmt.Fprintf(table, "next\t%s\n", a.paint.red(err.Error()))
	case err != nil:
		return err
	case len(next) == 0:
		fmt.Fprintf(table, "next\tnever: no filing is due\n")
	}
	for i, f := range next {
		if s.Paused {
			break
		}
		fmt.Fprintf(table, "%s\t%s\n", []string{"next", "", ""}[i], f.At.Format("Mon 2006-01-02 15:04 MST"))
	}
	runs, err := l.Schedules().ListRuns(ctx, s.Name)
	if err != nil {
		return err
	}
	fmt.Fprintf(table, "list\t%s, since %s\n", s.File, localTime(s.Changed))
	if err := table.Flush(); err != nil {
		return err
	}
	if err := a.showRuns(ctx, l, runs); err != nil {
		return err
	}
	if len(next) == 0 || s.Paused {
		return nil
	}
	plan, err := scheduler.NextPlan(ctx, s)
	if err != nil || plan == nil {
		return err
	}
	if problem := plan.Problem(); problem != "" {
		fmt.Fprintf(a.out, "\n%s\n", a.paint.red(problem))
	}
	fmt.Fprintf(a.out, "\nPlan of the next run as of today:\n%s", indent(plan.Text()))
	return nil
}

func (a *app) showRuns(ctx context.Context, l *ledger.Ledger, runs []ledger.Run) error {
	if len(runs) == 0 {
		return nil
	}
	fmt.Fprintln(a.out, "\nPast runs:")
	for i, f := range runs {
		if i == shownRuns {
			fmt.Fprintf(a.out, "  … and %d earlier runs\n", len(runs)-i)
			break
		}
		fmt.Fprintf(a.out, "%s  due %s  %s", f.ID, localTime(f.Due), f.State)
		if f.Batch != "" {
			b, err := l.Batch(ctx, f.Batch)
			if err != nil {
				return err
			}
			counts, err := l.Counts(ctx, f.Batch)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.out, "  batch %s: %s", f.Batch, report.BatchState(b, counts))
		}
		fmt.Fprintln(a.out)
		if f.Note != "" {
			fmt.Fprintf(a.out, "  %s\n", f.Note)
		}
		plan, err := schedule.DecodePlan(f)
		if err != nil {
			return err
		}
		if plan != nil {
			fmt.Fprint(a.out, indent(plan.Text()))
		}
	}
	return nil
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}
