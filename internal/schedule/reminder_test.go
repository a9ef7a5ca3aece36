package schedule_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// sealKey is a key that every machine of a test has.
const sealKey = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

const dueList = `Company ID,Legal Name,Filing State,User ID,Entity Type,Formation State
comp_1,Ada LLC,DE,user_1,LLC,DE
comp_2,Bea LLC,DE,user_1,LLC,DE
`

// Reminders go out 60, 30 and 7 days before a due date without a placed filing, and a
// summary on Monday, each once however many processes there are, in the firm's zone.
func TestReminders(t *testing.T) { ledgertest.OnBoth(t, testReminders) }

//nolint:gocognit // a year of reminders, told in its order
func testReminders(t *testing.T, database string) {
	ctx := t.Context()
	open := func(dir string) *ledger.Ledger {
		return ledgertest.Open(t, ledger.Config{Dir: dir, DatabaseURL: database, SealKey: sealKey})
	}
	dir := t.TempDir()
	l := open(dir)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := schedule.Add(ctx, l, schedule.NewSchedule{
		Name:    "de",
		File:    "list.csv",
		Content: []byte(dueList),
		By:      "Ana",
		Options: schedule.Options{Due: "30 days before", Zone: "America/New_York", FilingYear: "this"},
	})
	must(err)
	must(l.Entries().RecordDeposit(ctx, 1000_00, ""))
	zone, err := time.LoadLocation("America/Los_Angeles")
	must(err)
	must(schedule.NewRecords(l).SetFirmZone(ctx, zone.String()))

	year := time.Now().Year() + 1
	due := time.Date(year, time.June, 1, 0, 0, 0, 0, zone) // of an LLC of Delaware
	now := due
	clock := func() time.Time { return now }
	var all []*schedule.Scheduler
	for range 3 { // processes
		all = append(all, schedule.New(schedule.Config{Ledger: open(dir), Now: clock}))
	}
	seen := 0
	remind := func(at time.Time, want ...string) []outbox.Notification {
		t.Helper()
		now = at
		var both sync.WaitGroup
		for _, s := range all {
			both.Go(func() {
				for range 2 {
					if err := s.Remind(ctx); err != nil {
						t.Error(err)
					}
				}
			})
		}
		both.Wait()
		notifications, err := l.Notifications().List(ctx, 100)
		must(err)
		added := notifications[:len(notifications)-seen]
		seen = len(notifications)
		var got []string
		for _, n := range added {
			got = append(got, string(n.Kind))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("at %s: %q, want %q", at, got, want)
		}
		return added
	}
	// A day that is no Monday, so that summaries do not mix in.
	day := func(before int) time.Time {
		at := due.AddDate(0, 0, -before)
		return time.Date(at.Year(), at.Month(), at.Day(), 9, 0, 0, 0, zone)
	}
	remind(day(64))
	night := day(60)
	remind(time.Date(night.Year(), night.Month(), night.Day(), 7, 59, 0, 0, zone))
	for _, n := range remind(night, "due-soon") {
		if !strings.Contains(n.Subject, "2 reports due on Jun 1, ") || !strings.Contains(n.Body, "Ada LLC, DE") ||
			!strings.Contains(n.Body, "schedule de") {
			t.Errorf("%+v", n)
		}
	}
	remind(night.Add(time.Hour))

	// What is placed needs no reminder.
	_, err = l.CreateBatch(ctx, ledger.Batch{
		ID:      "b",
		File:    "b.csv",
		Product: filing.AnnualReport,
		Columns: []string{"x"},
	})
	must(err)
	order := filing.Order{CompanyID: "comp_1", FilingState: "DE",
		AnnualReport: &filing.AnnualReportItem{FilingYear: time.Date(year, 1, 1, 0, 0, 0, 0, zone).Format("2006")}}
	must(l.AddRows(ctx, "b", []ledger.Row{{
		Number:  2,
		Cells:   []byte(`["x"]`),
		Result:  filing.Ready,
		Cost:    money.Cost{Amount: 75_00},
		Request: &filing.Request{Product: filing.AnnualReport, Company: filing.CompanyRef{Ref: "comp_1"}, Order: order},
	}}))
	must(l.OpenBatch(ctx, "b"))
	for row, err := range l.Rows(ctx, "b") {
		must(err)
		begun, err := l.Begin(ctx, ledger.Intent{Row: row.ID, LastAttempt: row.LastAttempt, Cost: row.Cost,
			Claims: ledger.ClaimsOf(&order, "")})
		if err != nil || begun.Attempt == 0 {
			t.Fatalf("%+v, %v", begun, err)
		}
	}
	for _, n := range remind(day(30), "due-soon") {
		if !strings.Contains(n.Subject, "1 report due on Jun 1, ") || strings.Contains(n.Body, "Ada LLC") ||
			!strings.Contains(n.Body, "Bea LLC") {
			t.Errorf("%+v", n)
		}
	}
	remind(day(7), "due-soon")
	remind(day(7).Add(time.Hour))
}
