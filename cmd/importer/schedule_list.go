package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

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
