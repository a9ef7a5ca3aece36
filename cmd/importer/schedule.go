package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

func newScheduleCommand(g *global) *cobra.Command {
	return newGroupCommand("schedule", "File a company list on a schedule or ahead of its due dates",
		`A schedule files a company list automatically. When it is due, one worker (or importer
serve) creates a batch of the list as it is then. If none was running at that time, the
next one to start creates the batch.

Each run has a plan: what it files, what a subscription already covers, and the cost.
With --approve, each run waits for: importer approve`,
		`  importer schedule add florida --roster list.xlsx --state FL --filing-year this --at 01-15
  importer schedule add all --roster companies.xlsx --filing-year this --due "30 days before" --approve
  importer schedule show all`,
		newScheduleAddCommand(g), newScheduleListCommand(g), newScheduleShowCommand(g), newScheduleRunNowCommand(g),
		newScheduleChangeCommand(g, "pause", "Pause a schedule", runSchedulePause),
		newScheduleChangeCommand(g, "resume", "Resume a paused schedule; runs missed while paused are skipped",
			runScheduleResume),
		newScheduleChangeCommand(g, "remove", "Remove a schedule; its batches and orders stay", runScheduleRemove))
}

// onSchedule turns a function of a schedule, the argument, into a command.
func onSchedule(g *global,
	do func(context.Context, openLedger, ledger.Schedule) error) func(*cobra.Command, []string) error {
	return onLedger(g, func(ctx context.Context, l openLedger, args []string) error {
		s, err := schedule.Find(ctx, l.Ledger, args[0])
		if errors.Is(err, ledger.ErrNotFound) {
			return fmt.Errorf("there is no schedule %s (importer schedule list shows them)", args[0])
		}
		if err != nil {
			return err
		}
		return do(ctx, l, s)
	})
}

var oneSchedule = one("schedule")

// newScheduler returns the scheduler of a ledger. why is the reason if no filing service is
// configured. Plans have no prices then, and no schedule can run.
func newScheduler(l openLedger) (s *schedule.Scheduler, why error) {
	client, err := l.env.Client()
	if err != nil {
		client = nil
	}
	return l.env.Scheduler(l.Ledger, client, slog.New(slog.DiscardHandler)), err
}

// nextRunText names the time of the next run.
func nextRunText(ctx context.Context, l *ledger.Ledger, s ledger.Schedule) (string, error) {
	next, err := schedule.New(schedule.Config{Ledger: l}).Upcoming(ctx, s, 1)
	if err != nil || len(next) == 0 {
		return "No filing is due, so the schedule will not run.", err
	}
	return "The next run is on " + next[0].At.Format("Monday, 2006-01-02 15:04 MST") + ".", nil
}

// newScheduleChangeCommand returns a command that changes a schedule. run returns the text to print.
func newScheduleChangeCommand(g *global, use, short string,
	run func(context.Context, *ledger.Ledger, ledger.Schedule) (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:     use + " NAME",
		Short:   short,
		Example: "  importer schedule " + use + " florida",
		Args:    oneSchedule,
		RunE: onSchedule(g, func(ctx context.Context, l openLedger, s ledger.Schedule) error {
			text, err := run(withAudit(ctx, "season-"+use, s.Name, ""), l.Ledger, s)
			if err == nil {
				g.terminal.print("Schedule %s %s", s.Name, text)
			}
			return err
		}),
	}
}

func runSchedulePause(ctx context.Context, l *ledger.Ledger, s ledger.Schedule) (string, error) {
	const text = "is paused. Its batches continue. To pause one: importer pause BATCH"
	if s.Paused {
		return text, nil
	}
	return text, l.Schedules().SetPaused(ctx, s.Name, true)
}

func runScheduleResume(ctx context.Context, l *ledger.Ledger, s ledger.Schedule) (string, error) {
	// Resuming twice would skip more runs.
	if s.Paused {
		if err := l.Schedules().SetPaused(ctx, s.Name, false); err != nil {
			return "", err
		}
	}
	s, err := schedule.Find(ctx, l, s.Name)
	if err != nil {
		return "", err
	}
	next, err := nextRunText(ctx, l, s)
	return "is resumed. " + next, err
}

func runScheduleRemove(ctx context.Context, l *ledger.Ledger, s ledger.Schedule) (string, error) {
	return "was removed. Its batches continue.", l.Schedules().Remove(ctx, s.Name)
}

func newScheduleListCommand(g *global) *cobra.Command {
	return newListCommand(g, "schedule list", "List the schedules with their next and last runs", "No schedules yet",
		"schedule", runScheduleList)
}

func runScheduleList(ctx context.Context, t *terminal, l *ledger.Ledger, asJSON bool) error {
	all, err := l.Schedules().List(ctx)
	if err != nil {
		return err
	}
	scheduler := schedule.New(schedule.Config{Ledger: l})
	files := make(map[string]string)
	var items []schedule.Summary
	for _, s := range all {
		summary, err := scheduler.Summary(ctx, s)
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
	}.print(t, items, asJSON)
	if err != nil || asJSON {
		return err
	}
	problems, err := scheduler.Problems(ctx)
	for _, p := range problems {
		t.say("%s: %s", p.Schedule, t.red(p.Text))
	}
	return err
}
