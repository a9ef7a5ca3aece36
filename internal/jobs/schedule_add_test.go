package jobs_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// A schedule that would file nothing is refused with the reason; one that files a
// part of its rows says how many it does not file, and why. The filing years of a company
// list do not count where the schedule has a year of its own. The same schedule again is
// the same one, and another of its name is refused.
func TestAScheduleThatFilesNothingIsRefused(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{})
	sheet := func(names ...string) []byte {
		text := "Company ID,Legal Name,Filing State,Filing Year,User ID\n"
		for i, name := range names {
			text += fmt.Sprintf("comp_%d,%s,DE,2019,user_1\n", i, name)
			f.must(f.Companies().Remember(f.Context(), fmt.Sprintf("comp_%d", i), filing.Company{
				ID: fmt.Sprintf("comp_%d", i), LegalName: "Ada LLC", EntityType: filing.LLC, FormationState: "DE"}))
		}
		return []byte(text)
	}
	next := fmt.Sprint(time.Now().UTC().Year() + 1)
	ask := schedule.NewSchedule{
		Name:    "new-year",
		File:    "roster.csv",
		By:      "Ana",
		Content: sheet("Bea LLC", "Cal LLC"),
		Options: schedule.Options{At: "01-01", FilingYear: "this", Zone: "UTC"},
	}
	_, err := schedule.Add(f.Context(), f.Ledger, ask)
	if !errors.Is(err, schedule.ErrSchedule) || !strings.HasPrefix(err.Error(),
		"the schedule would file nothing: 2 of the 2 rows on "+next+"-01-01 cannot be filed; 1 row: ") ||
		!strings.Contains(err.Error(), "Bea LLC, comp_0, DE (row 2)") {
		t.Errorf("%v", err)
	}
	agents := "Company ID,Filing State,User ID,Change Of Agent\ncomp_1,DE,user_1,yes\n"
	for text, c := range map[string]schedule.NewSchedule{
		"give one of them": {Content: sheet("Ada LLC")},
		"due dates of annual reports": {Content: []byte(agents), Options: schedule.Options{
			Product: filing.AgentChange, Due: "30 days before", FilingYear: "this", Zone: "UTC"}},
	} {
		c.Name, c.File, c.By = "x", "roster.csv", "Ana"
		if _, err := schedule.Add(f.Context(), f.Ledger, c); !errors.Is(err, schedule.ErrSchedule) ||
			!strings.Contains(err.Error(), text) {
			t.Errorf("%v; want %q", err, text)
		}
	}
	if all, err := schedule.NewRecords(f.Ledger).List(f.Context()); err != nil || len(all) != 0 {
		t.Errorf("kept %+v, %v", all, err)
	}
	ask.Content = sheet("Bea LLC", "Ada LLC")
	done, err := schedule.Add(f.Context(), f.Ledger, ask)
	f.must(err)
	if p := done.Next; p == nil || p.Filings != 1 || p.Invalid.Count != 1 || len(p.Why) != 1 || p.Why[0].Rows != 1 ||
		!strings.Contains(p.Text(), "1 row cannot be filed: ") ||
		!strings.Contains(p.Problem(), " would file 1 row; 1 row cannot be filed (1: ") {
		t.Errorf("%+v", p)
	}
	if _, err := schedule.Update(f.Context(), f.Ledger, done.Schedule, "roster.csv", sheet("Bea LLC", "Cal LLC"),
		"Ana"); !errors.Is(err, schedule.ErrSchedule) {
		t.Errorf("the new roster: %v", err)
	}
	again, err := schedule.Add(f.Context(), f.Ledger, ask)
	if f.must(err); !again.Same || again.Schedule.CompanyList != done.Schedule.CompanyList {
		t.Errorf("%+v, then %+v", done, again)
	}
	ask.Approval = true
	if _, err := schedule.Add(f.Context(), f.Ledger, ask); !errors.Is(err, schedule.ErrNameTaken) {
		t.Errorf("another schedule of the name: %v", err)
	}
}

// endOfDay is after the run of its day, at whatever hour the test runs.
func endOfDay(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 23, 59, 0, 0, time.UTC)
}

// What fell due while nobody was there is filed though the company list is updated
// meanwhile; not what was due of a company that joins with an update. A schedule of that
// name that was removed has no say.
func TestUpdateOfAScheduleKeepsOverdueReports(t *testing.T) {
	today := endOfDay(time.Now().UTC())
	f := newScheduledFirm(t, servers{}, today.AddDate(0, 0, -140).Format(clockLayout))
	due := func(months int) string { // of a company of Wyoming: the first of a month
		return time.Date(2019, today.Month()+time.Month(months), 20, 0, 0, 0, 0, time.UTC).Format("2006-01-02")
	}
	overdue, near := due(-1), due(1)
	before := company(7, "WY", due(-2)) + company(1, "WY", overdue) + company(2, "WY", overdue) + company(3, "WY", near)
	options := schedule.Options{Due: "40 days before", FilingYear: "this"}
	f.plant("wy", company(7, "WY", due(-2)), options, false)
	ran := time.Date(today.Year(), today.Month()-2, 1, 12, 0, 0, 0, time.UTC).AddDate(0, 0, -40)
	f.runDue(ran.Format(clockLayout))
	f.must(schedule.NewRecords(f.Ledger).Remove(f.Context(), "wy"))
	f.set(today.AddDate(0, 0, -100).Format(clockLayout))
	se := f.plant("wy", before, options, false)
	se, err := schedule.Find(f.Context(), f.Ledger, se.Name)
	f.must(err)
	update := func(lines string) {
		f.Helper()
		done, err := schedule.Update(f.Context(), f.Ledger, se, "roster.csv", []byte(rosterHead+lines), "Leo")
		f.must(err)
		if se, err = schedule.Find(f.Context(), f.Ledger, se.Name); err != nil || !se.Since.Equal(done.Schedule.Since) {
			f.Fatalf("%+v, %v", se, err)
		}
	}
	joined := before + company(4, "WY", overdue) + company(5, "WY", near)
	update(joined)
	update(joined + company(6, "WY", overdue)) // what joined once stays so
	f.runDue(today.Format(clockLayout))
	if early := f.last("wy", 1); fmt.Sprint(f.due(early.Batch)) != "[comp_7]" {
		t.Fatalf("ran on the day of the update: %+v", early)
	}
	f.runDue(today.AddDate(0, 0, 1).Format(clockLayout))
	if got := fmt.Sprint(f.due(f.last("wy", 2).Batch)); got != "[comp_1 comp_2 comp_3 comp_5]" {
		t.Fatal(got)
	}
}

// What somebody took back and is overdue is not filed by an update months later.
func TestUpdateOfAScheduleLeavesCanceledRows(t *testing.T) {
	today := endOfDay(time.Now().UTC())
	f := newScheduledFirm(t, servers{}, today.AddDate(0, 0, -100).Format(clockLayout))
	month := time.Date(2019, today.Month()-1, 20, 0, 0, 0, 0, time.UTC).Format("2006-01-02")
	lines := company(1, "WY", month) + company(2, "WY", month)
	f.plant("wy", lines, schedule.Options{Due: "30 days before", FilingYear: "this"}, false)
	fire := func(day int) schedule.Run {
		f.Helper()
		f.runDue(today.AddDate(0, 0, day).Format(clockLayout))
		all := f.runs("wy")
		return all[len(all)-1]
	}
	first := fire(-1)
	if got := fmt.Sprint(f.due(first.Batch)); got != "[comp_1 comp_2]" {
		t.Fatal(got)
	}
	_, err := f.CancelBatch(f.Context(), first.Batch)
	f.must(err)
	se, err := schedule.Find(f.Context(), f.Ledger, "wy")
	f.must(err)
	_, err = schedule.Update(f.Context(), f.Ledger, se, "roster.csv",
		[]byte(rosterHead+lines+company(3, "WY", month)), "Leo")
	f.must(err)
	if again := fire(1); again.ID == first.ID || again.Batch != "" {
		t.Errorf("%+v: %v", again, f.due(again.Batch))
	}
}
