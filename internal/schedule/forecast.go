package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/balance"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// ForecastDays is the default number of days of a forecast.
const ForecastDays = 90

// MaxForecastDays is the maximum number of days of a forecast, a year.
const MaxForecastDays = 366

// ErrForecastDays is returned for a number of days outside these limits.
var ErrForecastDays = fmt.Errorf("a forecast looks 1 to %d days ahead", MaxForecastDays)

// Forecast is the money that the schedules and the renewals of subscriptions will need from the
// balance, with its dates.
type Forecast struct {
	// From and To are in the firm's time zone.
	From, To season.Date
	// Available is nil if no deposit was recorded.
	Available *money.Cents
	// Queued counts the submitted rows that are not sent.
	Queued int
	// QueuedFor is the cost of the queued rows, which is needed now.
	QueuedFor money.Cost
	// Runs are sorted from the earliest to the latest. They include the renewals.
	Runs []RunCost
	// Broken are the problems of schedules whose runs cannot be planned. Their runs are not
	// included.
	Broken []Problem
}

// RunCost is the expected cost of a schedule's run, or of the renewals of a month.
type RunCost struct {
	// Date is the day of the run, or of the first renewal.
	Date season.Date
	// Schedule is empty for renewals.
	Schedule string
	// Renews is the product that renews. Empty for a run of a schedule.
	Renews filing.Product
	Orders int
	// LeftOut counts the rows that need attention before they are ordered.
	LeftOut int
	Cost    money.Cost
	// Needed is the money for this run, the queued rows and the runs before it.
	Needed money.Cents
	// Short is the amount by which the available money falls short of Needed. Zero if it is enough.
	Short money.Cents
}

// Title returns the name of the schedule, or describes the renewals.
func (r RunCost) Title() string {
	if r.Renews == "" {
		return r.Schedule
	}
	return fmt.Sprintf("%s renewals in %s %d (estimate)", text.Capital(r.Renews.Title()), r.Date.Month.String()[:3],
		r.Date.Year)
}

// Forecast plans the runs of all schedules and the renewals of subscriptions in the next days, as
// far as known today. It writes nothing. Each order counts once for a schedule, in the first run that
// places it. It returns ErrForecastDays.
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
	renewals, err := s.loadRenewals(ctx, zone, today, f.To)
	if err != nil {
		return nil, err
	}
	f.Runs, f.Broken = slices.Concat(planned.runs, renewals), planned.broken
	sortRuns(f.Runs)
	if f.Queued, f.QueuedFor, err = s.c.Ledger.Backlog().Total(ctx); err != nil {
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

// plannedRuns is the expensive part of a forecast. It is cached for listTTL.
type plannedRuns struct {
	runs   []RunCost
	broken []Problem
}

// loadPlannedRuns plans the runs of all schedules up to a day. It returns a plan that is at most
// listTTL old, unless a schedule has changed or run since.
func (s *Scheduler) loadPlannedRuns(ctx context.Context, today, to season.Date) (plannedRuns, error) {
	schedules, err := NewRecords(s.c.Ledger).List(ctx)
	if err != nil {
		return plannedRuns{}, err
	}
	runs, err := NewRecords(s.c.Ledger).ListRunsInBrief(ctx)
	if err != nil {
		return plannedRuns{}, err
	}
	key := fmt.Sprint(today, to)
	for _, one := range schedules {
		key += fmt.Sprintf(" %s %s %s %t", one.Name, one.CompanyList, one.Options.text(), one.Paused)
	}
	for _, run := range runs {
		key += fmt.Sprintf(" %s %s", run.ID, run.State)
	}
	return s.forecasts.Get(ctx, key, func(ctx context.Context) (plannedRuns, error) {
		return s.planRuns(ctx, schedules, to)
	})
}

// planRuns plans the runs of schedules up to a day.
func (s *Scheduler) planRuns(ctx context.Context, schedules []Schedule, to season.Date) (all plannedRuns,
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
	return all, nil
}

func sortRuns(runs []RunCost) {
	slices.SortFunc(runs, func(a, b RunCost) int {
		return cmp.Or(a.Date.Compare(b.Date), cmp.Compare(a.Schedule, b.Schedule), cmp.Compare(a.Renews, b.Renews))
	})
}

// loadRenewals returns the renewals of active subscriptions up to a day, by month and product.
// A subscription renews a year after its newest order, for the cost of that order. A schedule does
// not order what a subscription covers, so no report counts twice.
//
// Assumption: spec section 4, rule 9 names an annual subscription, but no day or amount.
func (s *Scheduler) loadRenewals(ctx context.Context, zone *time.Location, today, to season.Date) ([]RunCost, error) {
	days, err := s.c.Ledger.Subscriptions().ListRenewalDays(ctx, zone)
	if err != nil {
		return nil, err
	}
	// The key of a month is its first day.
	months := make(map[RunCost]*RunCost)
	for _, d := range days {
		ordered := balance.DueDate(d.Day)
		for on := ordered.AddMonths(12); !on.After(to); on = on.AddMonths(12) {
			if on.Before(today) {
				continue
			}
			month := RunCost{Date: season.Date{Year: on.Year, Month: on.Month, Day: 1}, Renews: d.Product}
			if months[month] == nil {
				months[month] = &RunCost{Date: on, Renews: d.Product}
			}
			run := months[month]
			if on.Before(run.Date) {
				run.Date = on
			}
			run.Orders += d.Subscriptions
			cost := money.Cost{Amount: d.Cost, Certainty: max(d.Certainty, money.Estimated)}
			if run.Cost, err = run.Cost.Plus(cost); err != nil {
				return nil, fmt.Errorf("sum up the renewals: %w", err)
			}
		}
	}
	var all []RunCost
	for _, run := range months {
		all = append(all, *run)
	}
	return all, nil
}

// planRunsOf plans the runs of a schedule up to a day. One plan has the orders of all runs. For a
// schedule that files its whole list at a time, it is the plan of the next run. For a schedule
// ahead of the due dates, it is the plan of the last run, and each order is placed on the day on
// which it comes into its window. If one cost is an estimate, all are.
func (s *Scheduler) planRunsOf(ctx context.Context, one Schedule, to season.Date) ([]RunCost, error) {
	times, err := s.loadTimes(ctx, one)
	if err != nil {
		return nil, err
	}
	first, ok := times.Next(s.c.Now())
	if !ok || first.Date.After(to) {
		return nil, nil
	}
	o := one.Options
	last := first
	for next, ok := first, o.Due != ""; ok && !next.Date.After(to); next, ok = times.Next(next.At) {
		last = next
	}
	rc, err := s.newRunContext(ctx, one, newRun(one, last), s.loadList)
	if err != nil {
		return nil, err
	}
	plan, err := s.planOf(ctx, rc, s.loadQuoter(ctx))
	if err != nil {
		return nil, err
	}
	var days map[season.Report]season.Date
	if o.Due != "" {
		lead, err := season.ParseLead(o.Due)
		if err != nil {
			return nil, err
		}
		days = lead.RunDays(rc.companyList.CompanyList, first.Date.Year-1, last.Date.Year+1)
	}
	certainty := plan.Total().Certainty
	if !plan.Priced {
		certainty = money.Unknown
	}
	runs := make(map[season.Date]*RunCost)
	leftOut := plan.Invalid.Count
	for _, order := range plan.orders {
		day := days[season.Report{Row: order.Row, Due: balance.DueDate(order.Priority)}]
		// The next run files the orders that came into their window before.
		if day.Before(first.Date) {
			day = first.Date
		}
		if runs[day] == nil {
			runs[day] = &RunCost{Date: day, Schedule: one.Name}
		}
		run := runs[day]
		if run.Cost, err = run.Cost.Plus(money.Cost{Amount: order.Cost, Certainty: certainty}); err != nil {
			return nil, fmt.Errorf("sum up the forecast: %w", err)
		}
		run.Orders++
		run.LeftOut, leftOut = run.LeftOut+leftOut, 0
	}
	var all []RunCost
	for _, run := range runs {
		all = append(all, *run)
	}
	return all, nil
}

// Needed returns the money needed until the end of the forecast.
func (f *Forecast) Needed() money.Cost {
	needed := f.QueuedFor
	for _, r := range f.Runs {
		needed.Amount, needed.Certainty = r.Needed, max(needed.Certainty, r.Cost.Certainty)
	}
	return needed
}

// FirstShort returns the first run for which the money is short. It returns nil if the money is
// enough.
func (f *Forecast) FirstShort() *RunCost {
	i := slices.IndexFunc(f.Runs, func(r RunCost) bool { return r.Short > 0 })
	if i < 0 {
		return nil
	}
	return &f.Runs[i]
}

// Text returns a sentence with the amount to have available, and its date.
func (f *Forecast) Text() string {
	needed := f.Needed()
	switch short := f.FirstShort(); {
	case f.Available == nil && needed.Amount > 0:
		return fmt.Sprintf("Have %s available by %s. The balance is unknown: no deposit is recorded.",
			needed, f.lastDay().American())
	case f.Available == nil || needed.IsZero():
		return fmt.Sprintf("No schedule places an order and no subscription renews until %s.", f.To.American())
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
