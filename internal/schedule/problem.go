package schedule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// Problem is the reason why a schedule does not file all its rows. A person has to act.
type Problem struct {
	Schedule string
	// Text is in sentences.
	Text string
	// Nothing reports whether the next run files nothing.
	Nothing bool
	// Run is the day of the next run. It is the zero Date if no run is planned.
	Run season.Date
	// Invalid counts the rows that cannot be filed.
	Invalid int
}

const (
	problemsTTL = 5 * time.Minute
	// problemWait is the time that a page waits for the problem of a schedule. A longer check
	// continues in the background, and a later page shows its result.
	problemWait = time.Second
)

// Problems lists the problems of all schedules by name. They are at most problemsTTL old. A
// schedule with a long check is left out until the check is complete.
func (s *Scheduler) Problems(ctx context.Context) ([]Problem, error) {
	schedules, err := NewRecords(s.c.Ledger).List(ctx)
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, problemWait)
	defer cancel()
	var all []Problem
	for _, schedule := range schedules {
		p, err := s.Problem(wait, schedule)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, context.DeadlineExceeded) && wait.Err() != nil:
			continue
		case err != nil:
			return nil, err
		case p != nil:
			all = append(all, *p)
		}
	}
	return all, nil
}

// Problem returns the problem of a schedule, which is at most problemsTTL old. It returns nil if
// there is no problem. A paused schedule has none.
func (s *Scheduler) Problem(ctx context.Context, schedule Schedule) (*Problem, error) {
	if schedule.Paused {
		return nil, nil
	}
	key := fmt.Sprint(schedule.Name, schedule.CompanyList, schedule.Options.text(), schedule.Version,
		schedule.Since.UnixMilli(), season.DateOf(s.c.Now()))
	return s.problems.Get(ctx, key, func(ctx context.Context) (*Problem, error) {
		return s.loadProblem(ctx, schedule)
	})
}

func (s *Scheduler) loadProblem(ctx context.Context, schedule Schedule) (*Problem, error) {
	run, ok, err := s.Next(ctx, schedule)
	var plan *Plan
	if err == nil && ok {
		plan, err = s.plan(ctx, schedule, run, nil)
	}
	switch {
	case errors.Is(err, ErrCompanyList):
		return &Problem{
			Schedule: schedule.Name,
			Text:     text.Capital(strings.TrimSuffix(err.Error(), ".")) + ".",
			Nothing:  true,
		}, nil
	case err != nil:
		return nil, err
	case !ok:
		return s.findNeverDue(ctx, schedule)
	case plan.Problem() == "":
		return nil, nil
	}
	return &Problem{
		Schedule: schedule.Name,
		Text:     plan.Problem(),
		Nothing:  plan.Filings == 0,
		Run:      plan.Date,
		Invalid:  plan.Invalid.Count,
	}, nil
}

// findNeverDue returns the problem of a schedule that never runs. It returns nil if the schedule
// runs at a time, because the time alone decides that.
func (s *Scheduler) findNeverDue(ctx context.Context, schedule Schedule) (*Problem, error) {
	if schedule.Options.Due == "" {
		return nil, nil
	}
	list, err := s.LoadCompanyList(ctx, schedule)
	if err != nil {
		return nil, err
	}
	if len(list.Rows) == 0 {
		return nil, nil
	}
	due, _ := list.Rules.Next(list.Rows[0].Facts, season.DateOf(s.c.Now()))
	return &Problem{
		Schedule: schedule.Name,
		Text: fmt.Sprintf("No run is planned: no due date is known for any of %s. For %s: %s.",
			text.Count(len(list.Rows), "row"), company(list.Rows[0]), strings.TrimSuffix(due.Why, ".")),
		Nothing: true,
	}, nil
}
