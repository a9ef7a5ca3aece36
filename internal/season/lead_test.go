package season

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

func TestParseLead(t *testing.T) {
	for text, want := range map[string]Lead{"30 days before": 30, "30 days": 30, " 1  Day before": 1, "0 days": 0} {
		if got := need(ParseLead(text)); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
	for _, text := range []string{"", "30", "days before", "-3 days before", "30 days after", "1.5 days before",
		"365 days before", "6 weeks before", "30 days before the first", "1000 days before"} {
		if l, err := ParseLead(text); !errors.Is(err, ErrSchedule) {
			t.Errorf("%q is read as %+v", text, l)
		}
	}
}

// aRoster has companies named by their states.
func aRoster(since string, facts ...Facts) CompanyList {
	r := CompanyList{Rules: Builtin(), Since: day(since)}
	for i, f := range facts {
		r.Rows = append(r.Rows, Row{LegalName: string(f.State) + " " + string(f.EntityType), Facts: f, Number: i + 1})
	}
	return r
}

// told are entries in a line: "FL LLC 2027-05-01, …".
func told(entries []Entry) string {
	var all []string
	for _, e := range entries {
		all = append(all, e.Row.LegalName+" "+e.Due.When())
	}
	return strings.Join(all, ", ")
}

// runs lists the days of the runs, as a worker that is always there has
// them, with what each files.
func fires(l Lead, r CompanyList, until string) []string {
	s := l.Schedule(r, time.UTC)
	var all []string
	last := r.Since
	for f, ok := s.Next(r.Since.wall()); ok && !f.Date.After(day(until)); f, ok = s.Next(f.At) {
		all = append(all, fmt.Sprintf("%s: %s", f.Date, told(l.Ready(r, last, f.Date))))
		last = f.Date
	}
	return all
}

func TestLeadRunsAsReportsComeIntoTheWindow(t *testing.T) {
	roster := []Facts{
		home("TX", filing.LLC, "2019-02-03"),  // 05-15
		home("DE", filing.Corp, "2019-02-03"), // 03-01
		home("TX", filing.Corp, "2019-02-03"), // 05-15
		home("OH", filing.LLC, "2019-02-03"),  // nothing
	}
	tests := []struct {
		name, lead, since, until string
		roster                   []Facts
		want                     []string
	}{
		{"each company in its time", "30 days before", "2026-12-01", "2028-02-15", roster, []string{
			"2027-01-30: DE CORP 2027-03-01",
			"2027-04-15: TX LLC 2027-05-15, TX CORP 2027-05-15",
			"2028-01-31: DE CORP 2028-03-01",
		}},
		{"what is near already is filed the day after", "42 days before", "2027-02-10", "2027-12-31", roster, []string{
			"2027-02-11: DE CORP 2027-03-01",
			"2027-04-03: TX LLC 2027-05-15, TX CORP 2027-05-15",
		}},
		{"what is due on the day itself is filed the day after", "30 days before", "2027-03-01", "2027-03-31", roster,
			[]string{
				"2027-03-02: DE CORP 2027-03-01",
			}},
		{"what was due before is not the season's", "30 days before", "2027-03-02", "2027-03-31", roster, nil},
		{"a window that opens in the year before", "30 days before", "2026-06-01", "2027-03-01",
			[]Facts{home("AK", filing.Corp, "2023-06-06")}, []string{
				"2026-12-03: AK CORP 2027-01-02",
			}},
		{"not before the state takes it", "200 days before", "2026-06-01", "2027-06-30", []Facts{
			home("FL", filing.LLC, "2019-02-03"), home("NY", filing.LLC, "2023-05-05"),
			home("TX", filing.LLC, "2019-02-03"),
		}, []string{
			"2026-10-27: TX LLC 2027-05-15",
			"2027-01-01: FL LLC 2027-05-01",
			"2027-05-01: NY LLC 2027-05-31",
		}},
		{"the new year's before the old one's, which the state takes late", "60 days before", "2026-10-01",
			"2026-12-31", []Facts{
				home("NY", filing.LLC, "2024-12-05"), home("AK", filing.Corp, "2023-06-06"),
			}, []string{
				"2026-11-03: AK CORP 2027-01-02",
				"2026-12-01: NY LLC 2026-12-31",
			}},
		{"every other year", "31 days before", "2026-06-01", "2030-12-31",
			[]Facts{home("DC", filing.LLC, "2025-05-05")}, []string{
				"2028-03-01: DC LLC 2028-04-01", "2030-03-01: DC LLC 2030-04-01",
			}},
		{"on the day of the year's last", "0 days before", "2026-12-31", "2027-12-30",
			[]Facts{home("MN", filing.LLC, "2019-02-03")}, []string{
				"2027-01-01: MN LLC 2026-12-31",
			}},
		{"nothing is due of anybody", "30 days before", "2026-06-01", "2050-01-01",
			[]Facts{home("OH", filing.LLC, "2019-02-03")}, nil},
		{"nobody", "30 days before", "2026-06-01", "2050-01-01", nil, nil},
	}
	for _, test := range tests {
		got := fires(need(ParseLead(test.lead)), aRoster(test.since, test.roster...), test.until)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\n got %q\nwant %q", test.name, got, test.want)
		}
	}
}

func TestReadyAfterADowntimeHasWhatFellDueMeanwhile(t *testing.T) {
	r := aRoster("2026-12-01", home("TX", filing.LLC, "2019-02-03"), home("DE", filing.Corp, "2019-02-03"),
		home("DE", filing.LLC, "2019-02-03"))
	l := need(ParseLead("30 days before"))
	f, ok := l.Schedule(r, time.UTC).Between(day("2026-12-01").wall(), day("2027-04-20").wall())
	if !ok || f.Date != day("2027-04-15") || f.Missed != 1 {
		t.Fatalf("after months: %+v, %t", f, ok)
	}
	if got, want := told(l.Ready(r, r.Since, f.Date)), "DE CORP 2027-03-01, TX LLC 2027-05-15"; got != want {
		t.Errorf("ready are %s, want %s", got, want)
	}
	if got, want := told(l.Ready(r, Date{}, f.Date)), "TX LLC 2027-05-15"; got != want {
		t.Errorf("by hand %s, want %s", got, want)
	}
	r.Since = day("2027-05-01")
	if got, want := told(l.Ready(r, Date{}, r.Since)), "DE LLC 2027-06-01"; strings.Contains(got, want) {
		t.Errorf("by hand %s, whose window opens on the 2nd", got)
	}
	if got, want := told(l.Ready(r, Date{}, r.Since)), "TX LLC 2027-05-15"; got != want {
		t.Errorf("by hand on the day of the season %s, want %s", got, want)
	}
}

// A change of the company list puts what is near or overdue off to the day after, and
// makes nothing of it vanish.
func TestAChangeOfTheCompanyListKeepsOverdueReports(t *testing.T) {
	r := aRoster("2026-12-01", home("FL", filing.LLC, "2019-02-03"), home("TX", filing.LLC, "2019-02-03"),
		home("DE", filing.LLC, "2019-02-03"))
	r.Changed = day("2027-05-05") // nobody was there in April
	for _, test := range []struct{ lead, on, next, want string }{
		{"30 days before", "2027-05-06", "2027-05-06", "FL LLC 2027-05-01, TX LLC 2027-05-15, DE LLC 2027-06-01"},
		{"7 days before", "2027-05-06", "2027-05-06", "FL LLC 2027-05-01"},
		{"7 days before", "2027-05-08", "2027-05-08", "FL LLC 2027-05-01, TX LLC 2027-05-15"},
	} {
		l := need(ParseLead(test.lead))
		if got := told(l.Ready(r, r.Since, day(test.on))); got != test.want {
			t.Errorf("%s, %s: ready are %q, want %q", test.lead, test.on, got, test.want)
		}
		if got := l.Ready(r, r.Since, r.Changed); len(got) > 0 {
			t.Errorf("%s: on the day of the change ready are %s", test.lead, told(got))
		}
		f, ok := l.Schedule(r, time.UTC).Next(day(test.on).AddDays(-1).wall())
		if !ok || f.Date != day(test.next) {
			t.Errorf("%s runs on %s, want %s", test.lead, f.Date, test.next)
		}
	}
	// By hand a person looks now.
	l := need(ParseLead("14 days before"))
	if got, want := told(l.Ready(r, Date{}, r.Changed)), "TX LLC 2027-05-15"; got != want {
		t.Errorf("by hand %q, want %q", got, want)
	}
}

// Whatever is due from the day of the season on is filed exactly once, by a
// worker that is there every day or only now and then.
func TestEveryReportIsReadyOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := CompanyList{Rules: Builtin(), Since: day("2026-01-01").AddDays(rapid.IntRange(0, 800).Draw(t, "since"))}
		for i := range rapid.IntRange(0, 6).Draw(t, "rows") {
			r.Rows = append(r.Rows, Row{Number: i, Facts: anyFacts(t)})
		}
		l := Lead(rapid.IntRange(0, maxLead).Draw(t, "lead"))
		end := r.Since.AddDays(1200)
		s := l.Schedule(r, time.UTC)
		type report struct {
			row int
			due Date
		}
		filed := make(map[report]int)
		last, ran, looked := r.Since, r.Since.wall(), r.Since.wall()
		for looked.Before(end.AddDays(1).wall()) {
			looked = looked.AddDate(0, 0, rapid.IntRange(1, 300).Draw(t, "away"))
			f, ok := s.Between(ran, looked)
			if !ok {
				continue
			}
			entries := l.Ready(r, last, f.Date)
			if len(entries) == 0 || !slices.IsSortedFunc(entries, EarliestFirst) {
				t.Fatalf("%s runs for %d", f.Date, len(entries))
			}
			for _, e := range entries {
				filed[report{e.Row.Number, e.Due.Date}]++
				if f.Date.Before(e.Due.Opens) {
					t.Fatalf("%s is filed on %s, the state takes it from %s", e.Due.Date, f.Date, e.Due.Opens)
				}
			}
			last, ran = f.Date, f.At
		}
		due, _ := r.Calendar(r.Since, end)
		for _, e := range due {
			if n := filed[report{e.Row.Number, e.Due.Date}]; n != 1 {
				t.Fatalf("%s of row %d is filed %d times", e.Due.Date, e.Row.Number, n)
			}
		}
	})
}
