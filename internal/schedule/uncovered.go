package schedule

import (
	"context"
	"errors"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/season"
)

// uncoveredDays is how far ahead Uncovered looks: as far as the first reminder.
const uncoveredDays = 60

// Uncovered are reports that fall due soon, are not placed, and that no running
// schedule files.
type Uncovered struct {
	Count int
	First season.Entry // the one that falls due first
	Until season.Date  // the last day of the span
}

// Uncovered finds the reports of the company lists that are due within 60 days
// and that no running schedule files: it is paused, or files another year. Lists
// that take long to read are left out until they were read.
func (s *Scheduler) Uncovered(ctx context.Context) (u Uncovered, err error) {
	schedules, err := s.c.Ledger.Schedules().List(ctx)
	if err != nil || len(schedules) == 0 {
		return u, err
	}
	runs := make(map[string]bool, len(schedules))
	for _, one := range schedules {
		runs[one.Name] = !one.Paused
	}
	today := season.DateOf(s.c.Now())
	u.Until = today.AddDays(uncoveredDays)
	wait, cancel := context.WithTimeout(ctx, problemWait)
	defer cancel()
	c, err := s.Calendar(wait, schedules, today, u.Until)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return u, nil
	}
	if err != nil {
		return u, err
	}
	var open []CalendarEntry
	for _, e := range c.Due {
		if e.Due.Verdict == season.Dated &&
			!slices.ContainsFunc(e.Seasons, func(name string) bool { return runs[name] }) {
			open = append(open, e)
		}
	}
	bought, err := FindBought(ctx, s.c.Ledger, open)
	if err != nil {
		return u, err
	}
	for i, e := range open {
		if _, held := bought[i]; held {
			continue
		}
		if u.Count == 0 {
			u.First = e.Entry
		}
		u.Count++
	}
	return u, nil
}
