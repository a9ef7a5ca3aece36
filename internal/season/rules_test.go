package season

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// A built-in fee is never sure, for nobody has read it on the day; what is said
// of it has a source and a basis, and a guess of a date is an estimate.
func TestWhatTheTableSaysHasASource(t *testing.T) {
	if n, want := len(Builtin().Lines()), len(filing.States())*4; n != want {
		t.Errorf("%d lines, want one for each state and kind of company: %d", n, want)
	}
	for _, l := range Builtin().Lines() {
		name := fmt.Sprintf("%s %s %s", l.State, l.EntityType, l.Company())
		if l.rule.base != never && (!l.FeeEstimate || len(l.Fee) == 0) {
			t.Errorf("%s: the fee is no estimate: %+v", name, l.Fee)
		}
		if !slices.Contains([]string{"sure", "likely", "guess"}, l.Confidence) || l.Source == "" || l.Basis == "" {
			t.Errorf("%s: %q, %q, %q", name, l.Source, l.Confidence, l.Basis)
		}
		if (l.Confidence == "guess" || l.rule.base == seeState) && !l.DateEstimate {
			t.Errorf("%s: sure of a date that nobody read", name)
		}
		if _, ok := l.Fee.At(2026, day("2026-11-22")); !ok {
			t.Errorf("%s: no fee for 2026", name)
		}
	}
}

// wordings are how the words of a rule say it: each line must have the machine
// form of the first that its words match, and no other.
var wordings = []struct{ words, due string }{
	{`^No annual report|^LLCs file no|file no annual report`, `none`},
	{`due date not found`, `see-state`},
	{`(?i)within 3 months after fiscal year end`, `fiscal-year-end +3 last`},
	{`2\.5 months after fiscal year end`, `fiscal-year-end +3 15`},
	{`15th day of the 4th month after (fiscal|the tax|the) year end`, `fiscal-year-end +4 15`},
	{`First day of the 4th month after fiscal year end`, `fiscal-year-end +4 first`},
	{`^First day of the anniversary month \(may be filed 2 months before`, `anniversary-month first opens -2 first`},
	{`from 2 months before to 2 months after the periodic report month`, `anniversary-month +2 last opens -2 first`},
	{`by the end of the anniversary month \(window: that month and the 5 before`,
		`anniversary-month last opens -5 first`},
	{`During the calendar month of original filing.* not before that month`, `anniversary-month last opens first`},
	{`^Anniversary date|assigned to each corporation, in its anniversary month`, `anniversary-date`},
	{`^(Last day|End) of the (anniversary month|month of)`, `anniversary-month last`},
	{`^Anniversary of formation or registration \(online`, `anniversary-month last`},
	{`^Before the first day of the anniversary month`, `anniversary-month -1 last`},
	{`^First day of the (anniversary month|month of organi[sz]ation)`, `anniversary-month first`},
	{`quarter that holds the registration anniversary`, `anniversary-quarter last`},
}

var dayWords = regexp.MustCompile(
	`(January|February|March|April|May|June|July|August|September|October|November|December) (\d{1,2})\b`)

func TestMachineFormSaysWhatTheWordsSay(t *testing.T) {
	for _, l := range Builtin().Lines() {
		name := fmt.Sprintf("%s %s %s", l.State, l.EntityType, l.Company())
		if l.rule.base == fixed {
			checkFixed(t, name, l)
		} else {
			checkWording(t, name, l)
		}
		checkFrequency(t, name, l)
	}
}

var daysBefore = regexp.MustCompile(`(\d+) days (before|early)`)

// opensBefore is the end of the machine form of words such as "may be filed 180 days early".
func opensBefore(words string) string {
	if m := daysBefore.FindStringSubmatch(words); m != nil {
		return " opens " + m[1] + " days before"
	}
	return ""
}

func checkWording(t *testing.T, name string, l Line) {
	t.Helper()
	for _, w := range wordings {
		if regexp.MustCompile(w.words).MatchString(l.Words) {
			if want := w.due + opensBefore(l.Words); l.Due != want {
				t.Errorf("%s: %q is %q, want %q", name, l.Words, l.Due, want)
			}
			return
		}
	}
	t.Errorf("%s: no wording matches %q", name, l.Words)
}

// checkFixed reads the day, or the first and the last day, out of the words.
func checkFixed(t *testing.T, name string, l Line) {
	t.Helper()
	var days []string
	for _, m := range dayWords.FindAllString(l.Words, 2) {
		days = append(days, need(time.Parse("January 2", m)).Format("01-02"))
	}
	want := ""
	switch {
	case len(days) == 0:
		t.Errorf("%s: no day in %q", name, l.Words)
		return
	case len(days) == 2 && regexp.MustCompile(`^\w+ \d+ to \w+ \d+`).MatchString(l.Words):
		want = "fixed " + days[1] + " opens " + days[0]
	default:
		want = "fixed " + days[0] + opensBefore(l.Words)
	}
	if l.Due != want {
		t.Errorf("%s: %q is %q, want %q", name, l.Words, l.Due, want)
	}
}

func checkFrequency(t *testing.T, name string, l Line) {
	t.Helper()
	want := "annual"
	switch w := l.Words; {
	case l.rule.base == never:
		want = "none"
	case strings.Contains(w, "odd-numbered"):
		want = "biennial odd"
	case strings.Contains(w, "even-numbered"):
		want = "biennial even"
	case strings.Contains(w, "year after registration, then every 2nd"):
		want = "biennial formation+1"
	case strings.Contains(w, "parity"), strings.Contains(w, "month") && strings.Contains(w, "every 2nd year") &&
		l.rule.base != fiscalYearEnd:
		want = "biennial formation"
	case strings.Contains(w, "every 2nd year"):
		want = "biennial"
	}
	if l.Frequency != want {
		t.Errorf("%s: %q is %q, want %q", name, l.Words, l.Frequency, want)
	}
}

// Every second year is counted from anniversary to anniversary, also where the
// due date is in the year behind.
func TestSecondYearOfADateBehindTheAnniversary(t *testing.T) {
	const header = "state,entityType,company,frequency,due,words,what,fee,feeVaries,estimate,source,confidence\n"
	lines := need(readRules("rules.csv",
		[]byte(header+"SD,LLC,domestic,biennial formation,anniversary-month +2 first,x,,,no,none,,\n"), columns))
	rules := &Rules{lines}
	due, _ := rules.Next(home("SD", filing.LLC, "2024-11-05"), day("2024-11-05"))
	if due.When() != "2027-01-01" {
		t.Errorf("the first after 2024-11-05 is %s, want that of 2026-11: 2027-01-01", due.When())
	}
}
