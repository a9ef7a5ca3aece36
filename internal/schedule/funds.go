package schedule

import (
	"context"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/outbox"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// namedRuns is the number of runs that a reminder lists.
const namedRuns = 10

// remindOfFunds writes a reminder if the balance does not cover the orders of the schedules and the
// renewals in the next days. It does so 60, 30 and 7 days before the first of them without cover.
func (s *Scheduler) remindOfFunds(ctx context.Context, today season.Date) error {
	f, err := s.Forecast(ctx, remindBefore[len(remindBefore)-1])
	if err != nil {
		return err
	}
	short := f.FirstShort()
	if short == nil {
		return nil
	}
	lines := []string{f.Text(), "", "Orders of the schedules, and renewals:"}
	for i, r := range f.Runs {
		if i == namedRuns {
			lines = append(lines, fmt.Sprintf("  and %s more", text.Number(len(f.Runs)-i)))
			break
		}
		lines = append(lines, fmt.Sprintf("  %s, %s: %s, %s", r.Date.American(), r.Title(),
			text.Count(r.Orders, "order"), r.Cost))
	}
	lines = append(lines, "", "Top up at the filing service, then record the deposit: importer deposit AMOUNT, "+
		"or on the page, under Balance", "Orders that the balance does not cover wait; none is lost.")
	about := short.Date
	if short.Renews != "" {
		// The first renewal of a month changes from day to day.
		about.Day = 1
	}
	return s.addReminder(ctx, outbox.Notification{
		Kind:    outbox.KindFundsNeeded,
		Path:    "/balance/forecast",
		Pending: []outbox.Pending{reminderOf(outbox.KindFundsNeeded, about, short.Date.DaysSince(today))},
	}, fmt.Sprintf("%s more needed by %s", short.Short.Dollars(), short.Date.American()), lines)
}
