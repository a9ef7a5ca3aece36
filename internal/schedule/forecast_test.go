package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// forecastList falls due on two days of the year in Delaware, and in Florida.
const forecastList = `Company ID,Legal Name,Filing State,User ID,Entity Type,Formation State
comp_1,Ada LLC,DE,user_1,LLC,DE
comp_2,Bea Inc.,DE,user_1,CORP,DE
comp_3,Cal LLC,FL,user_1,LLC,FL
comp_4,Dot Inc.,DE,user_1,CORP,DE
comp_5,Eve LLC,DE,,LLC,DE
`

// forecasting is a scheduler with a clock and prices.
type forecasting struct {
	*testing.T
	*ledger.Ledger
	*schedule.Scheduler
	now    time.Time
	quoter pricing.Quoter
}

func newForecasting(t *testing.T, now time.Time) *forecasting {
	t.Helper()
	f := &forecasting{T: t, now: now}
	clock := func() time.Time { return f.now }
	l, err := ledger.Open(t.Context(), ledger.Config{Dir: ledgertest.Dir(t), SealKey: sealKey, Clock: clock,
		Lease: 1000 * 24 * time.Hour, Gate: approval.Gate{}})
	f.must(err)
	t.Cleanup(func() { l.Close() })
	prices, err := pricing.NewPriceBook([]filing.Price{{Type: "annual_report", WholesaleAmount: "25"}}, "")
	f.must(err)
	f.Ledger, f.quoter = l, pricing.NewRates(prices, pricing.BuiltinFees())
	f.Scheduler = schedule.New(schedule.Config{
		Ledger: l,
		Now:    clock,
		Quoter: func(context.Context) (pricing.Quoter, error) { return f.quoter, nil },
	})
	f.must(schedule.NewRecords(l).SetFirmZone(t.Context(), "America/New_York"))
	return f
}

func (f *forecasting) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *forecasting) add(name, list string, o schedule.Options) {
	f.Helper()
	o.Zone = "America/New_York"
	_, err := schedule.Add(f.Context(), f.Ledger, schedule.NewSchedule{
		Name:    name,
		File:    name + ".csv",
		Content: []byte(list),
		By:      "Ana",
		Options: o,
	})
	f.must(err)
}

func (f *forecasting) forecast(days int) *schedule.Forecast {
	f.Helper()
	all, err := f.Forecast(f.Context(), days)
	f.must(err)
	return all
}

// placeReport places an annual report of Delaware and returns its order ID.
func (f *forecasting) placeReport(company string) (order string) {
	f.Helper()
	ctx, order := f.Context(), "order_"+company
	_, err := f.CreateBatch(ctx, ledger.Batch{ID: company, File: company + ".csv", Product: filing.AnnualReport})
	f.must(err)
	o := filing.Order{CompanyID: company, FilingState: "DE", AnnualReport: &filing.AnnualReportItem{FilingYear: "2027"}}
	f.must(f.AddRows(ctx, company, []ledger.Row{{
		Number: 2,
		Cells:  []byte(`["x"]`),
		Result: filing.Ready,
		Request: &filing.Request{
			Product: filing.AnnualReport,
			Company: filing.CompanyRef{Ref: company},
			Order:   o,
		},
	}}))
	f.must(f.OpenBatch(ctx, company))
	r, err := f.RowNumbered(ctx, company, 2)
	f.must(err)
	claims := []ledger.Claim{{
		Product: filing.AnnualReport,
		Key:     o.Keys()[filing.AnnualReport],
		Cover:   "annual-report|" + company + "|DE",
		Year:    2027,
	}}
	begun, err := f.Begin(ctx, ledger.Intent{Row: r.ID, Cost: r.Cost, Claims: claims})
	f.must(err)
	f.must(f.RecordOutcome(ctx, ledger.Outcome{
		Row:     r.ID,
		Attempt: begun.Attempt,
		Owner:   r.Owner,
		Answer:  filing.Answer{Kind: filing.Accepted},
		Claims:  claims,
		Items:   []ledger.Item{{Product: filing.AnnualReport, OrderID: order, Cost: money.Cost{Amount: 100}}},
	}))
	return order
}

// runs describes the runs of a forecast.
func runs(all []schedule.RunCost) (lines []string) {
	for _, r := range all {
		lines = append(lines, fmt.Sprintf("%s %s %d %s needed %s short %s", r.Date, r.Schedule, r.Orders, r.Cost,
			r.Needed, r.Short))
	}
	return lines
}

// The forecast has the orders and the cost that the runs then have, on their days.
func TestForecastIsWhatTheRunsDo(t *testing.T) {
	start := time.Date(2027, 1, 10, 15, 0, 0, 0, time.UTC)
	f := newForecasting(t, start)
	f.add("due", forecastList, schedule.Options{Due: "30 days before", FilingYear: "this"})
	f.add("whole", strings.ReplaceAll(forecastList, "comp_", "comp_9"),
		schedule.Options{At: "03-15", FilingYear: "this", State: "FL"})
	all := f.forecast(200)
	if len(all.Runs) < 4 {
		t.Fatalf("%q", runs(all.Runs))
	}
	type total struct {
		orders int
		cost   money.Cents
	}
	want := make(map[string]total)
	for _, r := range all.Runs {
		want[r.Schedule+"@"+r.Date.String()] = total{r.Orders, r.Cost.Amount}
		if !r.Cost.IsKnown() == (r.Cost.Certainty == money.Known) {
			t.Errorf("%+v", r)
		}
	}
	got := make(map[string]total)
	for day := start; day.Before(start.AddDate(0, 0, 201)); day = day.AddDate(0, 0, 1) {
		f.now = day
		f.must(f.RunDue(t.Context()))
	}
	for _, name := range []string{"due", "whole"} {
		made, err := schedule.NewRecords(f.Ledger).ListRuns(t.Context(), name)
		f.must(err)
		for _, run := range made {
			if run.Plan.Filings > 0 {
				got[run.ID] = total{run.Plan.Filings, run.Plan.Cost}
			}
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the runs did\n%v\nand the forecast was\n%v", got, want)
	}
}

// The forecast says what to have available by when, with what is queued first.
func TestForecastText(t *testing.T) {
	f := newForecasting(t, time.Date(2027, 1, 10, 15, 0, 0, 0, time.UTC))
	says := func(want string) {
		t.Helper()
		if got := f.forecast(200).Text(); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	says("No schedule places an order and no subscription renews until Jul 29, 2027.")
	f.add("due", forecastList, schedule.Options{Due: "30 days before", FilingYear: "this"})
	says("The balance is unknown: no deposit is recorded.")
	all := f.forecast(200)
	first, last := all.Runs[0], all.Runs[len(all.Runs)-1]
	f.must(f.Entries().RecordDeposit(t.Context(), first.Needed-100, ""))
	says(fmt.Sprintf("available by %s: $1.00 more than now. Until %s you need", first.Date.American(),
		last.Date.American()))
	f.must(f.Entries().RecordDeposit(t.Context(), last.Needed, ""))
	says("The balance covers all orders until Jul 29, 2027: about " + money.Cents(last.Needed).Dollars() + " of ")
	if short := f.forecast(200).FirstShort(); short != nil {
		t.Errorf("%+v", short)
	}
	if last.LeftOut+first.LeftOut != 1 {
		t.Errorf("the row with an error is left out: %+v", all.Runs)
	}
}

// A forecast looks ahead for some days, and says which schedules it cannot plan.
func TestForecastOfBrokenSchedules(t *testing.T) {
	f := newForecasting(t, time.Date(2027, 1, 10, 15, 0, 0, 0, time.UTC))
	for _, days := range []int{0, -1, 367} {
		if _, err := f.Forecast(t.Context(), days); !errors.Is(err, schedule.ErrForecastDays) {
			t.Errorf("%d days: %v", days, err)
		}
	}
	f.add("due", forecastList, schedule.Options{Due: "30 days before", FilingYear: "this"})
	near := f.forecast(5)
	if len(near.Runs) != 0 || near.To != (season.Date{Year: 2027, Month: 1, Day: 15}) {
		t.Errorf("%+v", near)
	}
	f.quoter = nil
	if far := f.forecast(200); len(far.Runs) == 0 {
		t.Errorf("%+v", far)
	}
}

// People are told 60, 30 and 7 days before the money for the schedules is short, once
// each, and not once it suffices.
func TestFundsAreRemindedOf(t *testing.T) {
	f := newForecasting(t, time.Date(2027, 1, 10, 15, 0, 0, 0, time.UTC))
	f.add("due", strings.ReplaceAll(forecastList, "CORP", "LLC"),
		schedule.Options{Due: "30 days before", FilingYear: "this"})
	f.must(f.Entries().RecordDeposit(t.Context(), 100_00, ""))
	var told []string
	for range 150 {
		for range 2 {
			f.must(f.Remind(t.Context()))
		}
		f.now = f.now.AddDate(0, 0, 1)
		list, err := f.Notifications().List(t.Context(), 1000)
		f.must(err)
		told = nil
		for _, n := range list {
			if n.Kind == outbox.KindFundsNeeded {
				told = append(told, n.At.Format("01-02 ")+n.Subject)
			}
		}
		if len(told) == 3 {
			f.must(f.Entries().RecordDeposit(t.Context(), 5000_00, ""))
		}
	}
	want := []string{
		"03-25 Bulkfiling: $63.75 more needed by Apr 1, 2027",
		"03-02 Bulkfiling: $63.75 more needed by Apr 1, 2027",
		"01-31 Bulkfiling: $63.75 more needed by Apr 1, 2027",
	}
	if !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
}

// Renewals are estimates of a month, a year after the orders. Their shortage is reminded of by month.
func TestForecastOfRenewals(t *testing.T) {
	f := newForecasting(t, time.Date(2027, 1, 10, 15, 0, 0, 0, time.UTC))
	for day := range 3 {
		f.placeReport(fmt.Sprint("comp_", day))
		f.now = f.now.AddDate(0, 0, 1)
	}
	f.must(f.Entries().RecordDeposit(t.Context(), 4_00, ""))
	all := f.forecast(366).Runs
	if len(all) != 1 || all[0].Title() != "Annual report renewals in Jan 2028 (estimate)" ||
		runs(all)[0] != "2028-01-10  3 about $3.00 needed 3.00 short 2.00" {
		t.Errorf("%+v", all)
	}
	if all := f.forecast(365 - 3).Runs; len(all) != 1 || all[0].Orders != 1 {
		t.Errorf("%+v", all)
	}
	f.now = time.Date(2028, 1, 9, 15, 0, 0, 0, time.UTC)
	for range 3 {
		f.must(f.Remind(t.Context()))
		f.now = f.now.AddDate(0, 0, 1)
	}
	list, err := f.Notifications().List(t.Context(), 10)
	if f.must(err); len(list) != 1 || list[0].Kind != outbox.KindFundsNeeded ||
		!strings.Contains(list[0].Body, "Jan 10, 2028, Annual report renewals in Jan 2028 "+
			"(estimate): 3 orders, about $3.00") {
		t.Errorf("%+v", list)
	}
}

// A report in a company list that no schedule files is named within 60 days of its due date, until it is bought.
func TestFindUnscheduled(t *testing.T) {
	f := newForecasting(t, time.Date(2027, 3, 20, 12, 0, 0, 0, time.UTC))
	const list = "Company ID,Legal Name,Filing State,User ID,Entity Type,Filing Year\n" +
		"comp_1,Ada LLC,DE,user_1,LLC,2026\ncomp_2,Bea LLC,DE,user_1,LLC,2026\n"
	f.add("monthly", list, schedule.Options{At: "01"})
	find := func(want schedule.Unscheduled) {
		t.Helper()
		got, err := f.FindUnscheduled(t.Context())
		if f.must(err); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	find(schedule.Unscheduled{})
	f.now = time.Date(2027, 4, 20, 12, 0, 0, 0, time.UTC)
	june := season.Date{Year: 2027, Month: time.June, Day: 1}
	find(schedule.Unscheduled{Reports: 2, First: june})
	f.placeReport("comp_1")
	find(schedule.Unscheduled{Reports: 1, First: june})
	f.add("due", list, schedule.Options{Due: "30 days before", FilingYear: "this"})
	find(schedule.Unscheduled{})
}
