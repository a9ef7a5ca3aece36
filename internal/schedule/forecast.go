package schedule

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/balance"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// ForecastDays is how many days a forecast looks ahead, unless another number is asked
// for.
const ForecastDays = 90

// MaxForecastDays is the most: a year.
const MaxForecastDays = 366

// ErrForecastDays is returned for a number of days that a forecast does not look ahead.
var ErrForecastDays = fmt.Errorf("a forecast looks 1 to %d days ahead", MaxForecastDays)

// Forecast is what the schedules will need from the balance, and when.
type Forecast struct {
	From, To  season.Date  // in the firm's time zone
	Available *money.Cents // nil where no deposit was recorded
	Queued    int          // rows that are submitted and not sent
	QueuedFor money.Cost   // what they cost: it is needed now
	Runs      []RunCost    // the earliest first
	Broken    []Problem    // of schedules whose runs cannot be planned: they are not included
}

// RunCost is what a run of a schedule will cost.
type RunCost struct {
	Date     season.Date
	Schedule string
	Orders   int
	LeftOut  int // rows that need attention before they are ordered
	Cost     money.Cost
	Needed   money.Cents // for it, and for what is queued or comes before it
	Short    money.Cents // how much more that is than what is available; 0 for enough
}

// Forecast plans the runs of the next days of all schedules, as far as is known today. It
// writes nothing. Each order is counted once for a schedule, in the first run that places
// it. It returns ErrForecastDays.
func (s *Scheduler) Forecast(ctx context.Context, days int) (*Forecast, error) {
	if days < 1 || days > MaxForecastDays {
		return nil, ErrForecastDays
	}
	zone, err := FirmZone(ctx, s.c.Ledger)
	if err != nil {
		return nil, err
	}
	today := season.DateOf(s.c.Now().In(zone))
	f := &Forecast{From: today, To: today.AddDays(days)}
	planned, err := s.loadPlannedRuns(ctx, today, f.To)
	if err != nil {
		return nil, err
	}
	f.Runs, f.Broken = slices.Clone(planned.runs), planned.broken
	if f.Queued, f.QueuedFor, err = s.c.Ledger.Backlog(ctx); err != nil {
		return nil, err
	}
	funds, err := s.c.Ledger.Balance(ctx)
	if err != nil {
		return nil, err
	}
	if funds.HasDeposit {
		available := funds.Available()
		f.Available = &available
	}
	needed := f.QueuedFor.Amount
	for i := range f.Runs {
		r := &f.Runs[i]
		if needed, err = money.Add(needed, r.Cost.Amount); err != nil {
			return nil, fmt.Errorf("sum up the forecast: %w", err)
		}
		if r.Needed = needed; funds.HasDeposit {
			r.Short = funds.Missing(needed)
		}
	}
	return f, nil
}

// plannedRuns is what of a forecast takes time: it is kept for listTTL.
type plannedRuns struct {
	runs   []RunCost
	broken []Problem
}

// loadPlannedRuns plans the runs of all schedules up to a day, or returns what was planned
// at most listTTL ago, unless a schedule changed or ran since.
func (s *Scheduler) loadPlannedRuns(ctx context.Context, today, to season.Date) (plannedRuns, error) {
	schedules, err := s.c.Ledger.Schedules().List(ctx)
	if err != nil {
		return plannedRuns{}, err
	}
	runs, err := s.c.Ledger.Schedules().ListRunsInBrief(ctx)
	if err != nil {
		return plannedRuns{}, err
	}
	key := fmt.Sprint(today, to)
	for _, one := range schedules {
		key += fmt.Sprintf(" %s %s %s %t", one.Name, one.CompanyList, one.Options, one.Paused)
	}
	for _, run := range runs {
		key += fmt.Sprintf(" %s %s", run.ID, run.State)
	}
	return s.forecasts.Get(ctx, key, func(ctx context.Context) (plannedRuns, error) {
		return s.planRuns(ctx, schedules, to)
	})
}

// planRuns plans the runs of schedules up to a day.
func (s *Scheduler) planRuns(ctx context.Context, schedules []ledger.Schedule, to season.Date) (all plannedRuns,
	err error) {
	for _, one := range schedules {
		if one.Paused {
			continue
		}
		runs, err := s.planRunsOf(ctx, one, to)
		if errors.Is(err, ErrCompanyList) {
			all.broken = append(all.broken, Problem{Schedule: one.Name, Text: err.Error()})
			continue
		}
		if err != nil {
			return all, fmt.Errorf("plan the schedule %s: %w", one.Name, err)
		}
		all.runs = append(all.runs, runs...)
	}
	slices.SortStableFunc(all.runs, func(a, b RunCost) int { return a.Date.Compare(b.Date) })
	return all, nil
}

// plannedTimes is how many runs are planned of a schedule that runs at a time: each
// files the whole list, so that a later one has only what became due since.
const plannedTimes = 3

// planRunsOf plans the runs of a schedule up to a day.
func (s *Scheduler) planRunsOf(ctx context.Context, one ledger.Schedule, to season.Date) ([]RunCost, error) {
	times, err := s.loadTimes(ctx, one)
	if err != nil {
		return nil, err
	}
	var dates []season.Run
	for at, ok := times.Next(s.c.Now()); ok && !at.Date.After(to); at, ok = times.Next(at.At) {
		dates = append(dates, at)
	}
	if len(dates) == 0 {
		return nil, nil
	}
	o, err := DecodeOptions(one)
	if err != nil {
		return nil, err
	}
	if o.Due != "" {
		return s.planByCalendar(ctx, one, dates)
	}
	costs := newRunCosts(one.Name)
	for _, at := range dates[:min(len(dates), plannedTimes)] {
		plan, _, err := s.planRun(ctx, one, at)
		if err != nil {
			return nil, err
		}
		if err := costs.add(plan, func(balance.Order) season.Date { return at.Date }); err != nil {
			return nil, err
		}
	}
	return costs.list(), nil
}

// planByCalendar plans the last of some runs that file ahead of due dates. It would file
// all that the runs before it file, so that one plan has the orders of all; each is
// placed on the day on which it comes into its window.
func (s *Scheduler) planByCalendar(ctx context.Context, one ledger.Schedule, dates []season.Run) ([]RunCost, error) {
	first, last := dates[0], dates[len(dates)-1]
	plan, rc, err := s.planRun(ctx, one, last)
	if err != nil {
		return nil, err
	}
	lead, err := season.ParseLead(rc.options.Due)
	if err != nil {
		return nil, err
	}
	days := lead.RunDays(rc.companyList.CompanyList, first.Date.Year-1, last.Date.Year+1)
	costs := newRunCosts(one.Name)
	err = costs.add(plan, func(order balance.Order) season.Date {
		day := days[season.Report{Row: order.Row, Due: balance.DueDate(order.Priority)}]
		// The next run files what came into its window before.
		return slices.MaxFunc([]season.Date{day, first.Date}, season.Date.Compare)
	})
	return costs.list(), err
}

// planRun plans a run of a schedule.
func (s *Scheduler) planRun(ctx context.Context, one ledger.Schedule, at season.Run) (*Plan, *runContext, error) {
	rc, err := s.newRunContext(ctx, one, newRun(one, at), s.loadList)
	if err != nil {
		return nil, nil, err
	}
	plan, err := s.planOf(ctx, rc, s.loadQuoter(ctx))
	return plan, rc, err
}

// runCosts adds up what the runs of a schedule cost.
type runCosts struct {
	schedule string
	days     map[season.Date]*RunCost
	counted  map[balance.Order]bool // without their costs
}

func newRunCosts(schedule string) *runCosts {
	return &runCosts{schedule, make(map[season.Date]*RunCost), make(map[balance.Order]bool)}
}

// add adds the orders of a plan that were not counted before, each on the day of its run.
// One estimate makes estimates of them all.
func (c *runCosts) add(plan *Plan, dayOf func(balance.Order) season.Date) error {
	leftOut := plan.Invalid.Count
	for _, order := range plan.orders {
		same := balance.Order{Priority: order.Priority, Row: order.Row}
		if c.counted[same] {
			continue
		}
		c.counted[same] = true
		run := c.on(dayOf(order))
		cost := money.Cost{Amount: order.Cost, Certainty: plan.Total().Certainty}
		if !plan.Priced {
			cost.Certainty = money.Unknown
		}
		var err error
		if run.Cost, err = run.Cost.Plus(cost); err != nil {
			return fmt.Errorf("sum up the forecast: %w", err)
		}
		run.Orders++
		run.LeftOut, leftOut = run.LeftOut+leftOut, 0
	}
	return nil
}

// on returns the run of a day.
func (c *runCosts) on(day season.Date) *RunCost {
	if c.days[day] == nil {
		c.days[day] = &RunCost{Date: day, Schedule: c.schedule}
	}
	return c.days[day]
}

func (c *runCosts) list() []RunCost {
	var all []RunCost
	for _, day := range slices.SortedFunc(maps.Keys(c.days), season.Date.Compare) {
		all = append(all, *c.days[day])
	}
	return all
}

// Needed returns what is needed until the end of the forecast.
func (f *Forecast) Needed() money.Cost {
	needed := f.QueuedFor
	for _, r := range f.Runs {
		needed.Amount, needed.Certainty = r.Needed, max(needed.Certainty, r.Cost.Certainty)
	}
	return needed
}

// FirstShort returns the first run for which the money is short; nil for none.
func (f *Forecast) FirstShort() *RunCost {
	i := slices.IndexFunc(f.Runs, func(r RunCost) bool { return r.Short > 0 })
	if i < 0 {
		return nil
	}
	return &f.Runs[i]
}

// Text returns in a sentence what to have available, and when.
func (f *Forecast) Text() string {
	needed := f.Needed()
	switch short := f.FirstShort(); {
	case f.Available == nil && needed.Amount > 0:
		return fmt.Sprintf("Have %s available by %s. The balance is unknown: no deposit is recorded.",
			needed, f.lastDay().American())
	case f.Available == nil || needed.IsZero():
		return fmt.Sprintf("The schedules place no order until %s.", f.To.American())
	case short != nil:
		last := f.Runs[len(f.Runs)-1]
		text := fmt.Sprintf("Have %s available by %s: %s more than now.",
			money.Cost{Amount: short.Needed, Certainty: short.Cost.Certainty}, short.Date.American(),
			short.Short.Dollars())
		if last.Date != short.Date {
			text += fmt.Sprintf(" Until %s you need %s: %s more than now.", last.Date.American(), needed,
				last.Short.Dollars())
		}
		return text
	case *f.Available < f.QueuedFor.Amount:
		return fmt.Sprintf("The queued rows cost %s: %s more than what is available.", f.QueuedFor,
			(f.QueuedFor.Amount - *f.Available).Dollars())
	}
	return fmt.Sprintf("The balance covers all orders until %s: %s of %s.", f.To.American(), needed,
		f.Available.Dollars())
}

// lastDay returns the day of the last run.
func (f *Forecast) lastDay() season.Date {
	if len(f.Runs) == 0 {
		return f.From
	}
	return f.Runs[len(f.Runs)-1].Date
}
