package main

import (
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
		newSchedulePauseCommand(g), newScheduleResumeCommand(g), newScheduleRemoveCommand(g))
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

// sayNextRun prints the time of the next run.
func sayNextRun(ctx context.Context, t *terminal, l *ledger.Ledger, s ledger.Schedule) error {
	next, err := schedule.New(schedule.Config{Ledger: l}).Upcoming(ctx, s, 1)
	if err != nil {
		return err
	}
	if len(next) == 0 {
		t.say("No filing is due, so the schedule will not run.")
		return nil
	}
	t.say("The next run is on %s.", next[0].At.Format("Monday, 2006-01-02 15:04 MST"))
	return nil
}

func newSchedulePauseCommand(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "pause NAME",
		Short:   "Pause a schedule",
		Example: "  importer schedule pause florida",
		Args:    oneSchedule,
		RunE: onSchedule(g, func(ctx context.Context, l openLedger, s ledger.Schedule) error {
			if err := setPaused(ctx, l, s, "season-pause", true); err != nil {
				return err
			}
			g.terminal.print("Schedule %s is paused. Its batches continue. To pause one: importer pause BATCH", s.Name)
			return nil
		}),
	}
}

func newScheduleResumeCommand(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "resume NAME",
		Short:   "Resume a paused schedule; runs missed while paused are skipped",
		Example: "  importer schedule resume florida",
		Args:    oneSchedule,
		RunE: onSchedule(g, func(ctx context.Context, l openLedger, s ledger.Schedule) error {
			if err := setPaused(ctx, l, s, "season-resume", false); err != nil {
				return err
			}
			g.terminal.print("Schedule %s is resumed.", s.Name)
			s, err := schedule.Find(ctx, l.Ledger, s.Name)
			if err != nil {
				return err
			}
			return sayNextRun(ctx, g.terminal, l.Ledger, s)
		}),
	}
}

// setPaused pauses or resumes a schedule. Resuming twice would skip more runs.
func setPaused(ctx context.Context, l openLedger, s ledger.Schedule, what string, paused bool) error {
	if s.Paused == paused {
		return nil
	}
	return l.Schedules().SetPaused(withAudit(ctx, what, s.Name, ""), s.Name, paused)
}

func newScheduleRemoveCommand(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Short:   "Remove a schedule; its batches and orders stay",
		Example: "  importer schedule remove florida",
		Args:    oneSchedule,
		RunE: onSchedule(g, func(ctx context.Context, l openLedger, s ledger.Schedule) error {
			if err := l.Schedules().Remove(withAudit(ctx, "season-remove", s.Name, ""), s.Name); err != nil {
				return err
			}
			g.terminal.print("Schedule %s was removed. Its batches continue.", s.Name)
			return nil
		}),
	}
}
