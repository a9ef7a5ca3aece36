package season

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/goldentest"
)

// need returns what was parsed or read from the data of a test.
func need[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func day(text string) Date { return need(ParseDate(text)) }

// home are the facts of a company at home in a state.
func home(state filing.State, t filing.EntityType, formed string) Facts {
	return Facts{State: state, EntityType: t, FormationState: state, Formed: day(formed)}
}

// away are those of a company formed elsewhere in 2015 and registered in a state.
func away(state filing.State, t filing.EntityType, registered string) Facts {
	f := Facts{State: state, EntityType: t, FormationState: "PR", Formed: day("2015-08-08")}
	if registered != "" {
		f.Registered = day(registered)
	}
	return f
}

// TestDueByHand holds the machine form of a state's rule to its words: each date
// was worked out from the words of the line.
func TestDueByHand(t *testing.T) {
	states := make(map[filing.State]bool)
	shapes := make(map[string]bool)
	goldentest.Lines(t, "testdata/due.txt", func(t *testing.T, fields []string) string {
		// A - is for what is not known.
		w := strings.Fields(fields[1])
		for i, word := range w {
			w[i] = strings.TrimSuffix(word, "-")
		}
		f := Facts{State: filing.State(w[0]), EntityType: filing.EntityType(w[1]), FormationState: filing.State(w[2])}
		f.Formed, _ = ParseDate(w[3])
		f.Registered, _ = ParseDate(w[4])
		month, _ := strconv.Atoi(w[5])
		f.FiscalEnd = time.Month(month)
		due, ok := Builtin().Due(f, need(strconv.Atoi(fields[2])))
		if due.Why == "" || ok != (due.Verdict == Dated) {
			t.Errorf("%s: the reason is %q, dated: %t", fields[0], due.Why, ok)
		}
		states[f.State] = true
		if l, ok := Builtin().lines[lineKey{f.State, f.EntityType, residences(f)[0]}]; ok {
			shapes[shape(*l)] = true
		}
		if opens := due.Opens.String(); opens != "" {
			return due.When() + ", opens " + opens
		}
		return due.When()
	})
	if len(states) < 25 {
		t.Errorf("%d states are worked out by hand", len(states))
	}
	for _, l := range Builtin().Lines() {
		if !shapes[shape(l)] {
			t.Errorf("%s %s: no date of the shape %q is worked out by hand", l.State, l.EntityType, shape(l))
		}
	}
}

// shape is a line's rule without the day of a fixed date.
func shape(l Line) string {
	if l.rule.base == fixed {
		return l.Frequency + " fixed"
	}
	return l.Frequency + " " + l.Due
}

func TestDueSaysWhatIsMissing(t *testing.T) {
	tests := []struct {
		facts  Facts
		want   string
		either bool
	}{
		{away("NV", filing.LLC, ""), "the date of registration in Nevada is not known", false},
		{Facts{State: "CA", EntityType: filing.LLC, FormationState: "CA"}, "the date of formation is not known", true},
		{Facts{State: "CA", EntityType: filing.LLC, FormationState: "CA", Formed: Date{Year: 2025}},
			"the date of formation is not known", false},
		{home("NC", filing.Corp, "2019-02-03"), "the fiscal year is taken to end in December", false},
		{Facts{State: "DE", Formed: day("2019-02-03")}, "not known: entity type and formation state", false},
		{home("NM", filing.Corp, "2020-02-03"), "whether 2027 is one of its years is not known", true},
		{home("ID", filing.Corp, "2020-02-03"), "not verified", false},
	}
	for _, test := range tests {
		due, ok := Builtin().Due(test.facts, 2027)
		if !ok || !due.Estimate || !strings.Contains(due.Why, test.want) || due.EitherYear != test.either {
			t.Errorf("%s: %s, either year %t, because %q; want an estimate because %q, either year %t",
				test.facts.State, due.When(), due.EitherYear, due.Why, test.want, test.either)
		}
	}
}

func TestABuiltinFeeIsAnEstimate(t *testing.T) {
	tests := []struct {
		facts Facts
		year  int
		want  string
	}{
		{home("FL", filing.LLC, "2019-02-03"), 2027, "about $138.75"},
		{away("VT", filing.Corp, ""), 2027, "about $250.00"},
		{home("MA", filing.LLC, "2019-02-03"), 2027, "about $520.00"},
		{home("DE", filing.LLC, "2019-02-03"), 2026, "about $300.00"}, // due in June, for the year before
		{home("DE", filing.LLC, "2019-02-03"), 2027, "about $400.00"},
		{home("MI", filing.LLC, "2019-02-03"), 2027, "about $25.00"},
		{home("MI", filing.LLC, "2019-02-03"), 2028, "about $15.00"}, // the day counts
		{home("MT", filing.LLC, "2019-02-03"), 2027, "about $0.00"},
		{home("MT", filing.LLC, "2019-02-03"), 2028, "about $20.00"},
		{away("OK", filing.Corp, ""), 2027, "about $10.00"},
		{home("OH", filing.LLC, "2019-02-03"), 2027, "not known"}, // nothing is due
		{home("PR", filing.LLC, "2019-02-03"), 2027, "not known"},
		{Facts{State: "CT", EntityType: filing.Corp}, 2027, "about $150.00"}, // 435 for a foreign one
		{Facts{State: "PA"}, 2027, "about $7.00"},
	}
	for _, test := range tests {
		if due, _ := Builtin().Due(test.facts, test.year); due.Price() != test.want {
			t.Errorf("%s %s in %d: the fee is %s, want %s", test.facts.State, test.facts.EntityType, test.year,
				due.Price(), test.want)
		}
	}
}

func TestAFeeHoldsForItsPeriods(t *testing.T) {
	for _, test := range []struct {
		fee  string
		year int
		on   string
		want string
	}{
		{"138.75", 2026, "2026-11-22", "138.75"},
		{"300 until 2025; 400", 2025, "2026-11-22", "300.00"},
		{"300 until 2025; 400", 2026, "2026-11-22", "400.00"},
		{"300 until 2025; 400", 0, "2026-11-22", "400.00"},
		{"30 until 2026-09-30; 35", 2024, "2026-09-30", "30.00"},
		{"30 until 2026-09-30; 35", 2024, "2026-10-01", "35.00"},
		{"0 from 2026 until 2027; 20", 2025, "2026-11-22", "20.00"},
		{"0 from 2026 until 2027; 20", 2027, "2026-11-22", "0.00"},
		{"15 from 2026-01-01 until 2026-12-31", 2026, "2027-01-01", "not known"},
		{"15 from 2026-01-01", 2026, "2025-12-31", "not known"},
		{"", 2026, "2026-11-22", "not known"},
	} {
		fee, ok := ParseFee(test.fee)
		if !ok {
			t.Fatal(test.fee)
		}
		got := "not known"
		if amount, ok := fee.At(test.year, day(test.on)); ok {
			got = amount.String()
		}
		if got != test.want {
			t.Errorf("%q for %d on %s: got %s, want %s", test.fee, test.year, test.on, got, test.want)
		}
	}
}

func TestASourceInAFewWords(t *testing.T) {
	for _, test := range []struct{ source, basis, want string }{
		{"https://www.upcounsel.com/x ; https://sos.ga.gov/how-to", "copy of statute, state page or state form read",
			"sos.ga.gov"},
		{"https://www.commerce.alaska.gov/web/x.pdf (as copied 2026-10-10)",
			"3 transcriptions of state pages", "a copy of commerce.alaska.gov"},
		{"https://www.upcounsel.com/x", "third-party page read + transcription", "upcounsel.com"},
		{"a public table of state fees", "2 transcriptions of state pages", "copies of state pages"},
	} {
		if got := SourceText(test.source, test.basis); got != test.want {
			t.Errorf("%q: got %q, want %q", test.source, got, test.want)
		}
	}
}

func TestFactsOfACompany(t *testing.T) {
	got := FactsOf("NC", filing.Company{
		EntityType:     filing.Corp,
		FormationState: "DE",
		FormationDate:  "2019-02-03",
		FiscalEndMonth: "June",
	})
	want := Facts{
		State:          "NC",
		EntityType:     filing.Corp,
		FormationState: "DE",
		Formed:         day("2019-02-03"),
		FiscalEnd:      time.June,
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := FactsOf("NC", filing.Company{
		FormationDate:  "last summer",
		FiscalEndMonth: "13",
	}); got != (Facts{State: "NC"}) {
		t.Errorf("what is not readable became %+v", got)
	}
}

func TestNextSkipsOffYearsAndPastDates(t *testing.T) {
	tests := []struct {
		facts      Facts
		from, want string
	}{
		{home("FL", filing.LLC, "2019-02-03"), "2027-05-01", "2027-05-01"},
		{home("FL", filing.LLC, "2019-02-03"), "2027-05-02", "2028-05-01"},
		{home("DC", filing.LLC, "2024-02-03"), "2025-04-02", "2027-04-01"},
		{home("CA", filing.LLC, "2024-02-29"), "2024-02-01", "2026-02-28"},
		{home("OH", filing.LLC, "2024-02-29"), "2024-02-01", "not required"},
		{home("OK", filing.Corp, "2024-02-29"), "2024-02-01", "not required"},
		{home("IA", "", "2024-02-29"), "2027-06-01", "about 2028-04-01"},
	}
	for _, test := range tests {
		due, ok := Builtin().Next(test.facts, day(test.from))
		if due.When() != test.want || ok != (due.Verdict == Dated) {
			t.Errorf("%s from %s: next is %s, want %s", test.facts.State, test.from, due.When(), test.want)
		}
	}
}

// anyDate draws a day; sometimes none, a year alone or nonsense.
func anyDate(t *rapid.T, name string) Date {
	switch rapid.IntRange(0, 9).Draw(t, name+" kind") {
	case 0:
		return Date{}
	case 1:
		return Date{rapid.Int().Draw(t, name), time.Month(rapid.Int().Draw(t, name)), rapid.Int().Draw(t, name)}
	case 2:
		return Date{Year: rapid.IntRange(1990, 2040).Draw(t, name)}
	}
	return day("1990-01-01").AddDays(rapid.IntRange(0, 18000).Draw(t, name))
}

func anyFacts(t *rapid.T) Facts {
	states := append([]filing.State{"", "PR"}, filing.States()...)
	f := Facts{
		State:          rapid.SampledFrom(states).Draw(t, "state"),
		EntityType:     rapid.SampledFrom([]filing.EntityType{filing.LLC, filing.Corp, "", "LP"}).Draw(t, "type"),
		FormationState: rapid.SampledFrom(states).Draw(t, "home"),
		Formed:         anyDate(t, "formed"),
		Registered:     anyDate(t, "registered"),
		FiscalEnd:      time.Month(rapid.IntRange(-1, 14).Draw(t, "fiscal end")),
	}
	if rapid.Bool().Draw(t, "at home") {
		f.FormationState = f.State
	}
	return f
}

// wantConsistent checks that the parts of an answer for one year agree.
func wantConsistent(t *rapid.T, year int, due Due, ok bool) {
	switch {
	case ok != (due.Verdict == Dated), ok == due.Date.IsZero(), !slices.Contains(verdicts, due.Verdict), due.Why == "":
		t.Fatalf("%d: %t and %+v", year, ok, due)
	case !ok && (!due.Opens.IsZero() || due.EitherYear):
		t.Fatalf("%d: nothing is due, and yet %+v", year, due)
	case ok && due.Date.Year != year:
		t.Fatalf("asked of %d, due on %s", year, due.Date)
	case ok && due.Opens.After(due.Date):
		t.Fatalf("opens on %s, after it is due on %s", due.Opens, due.Date)
	case due.EitherYear && !due.Estimate:
		t.Fatalf("%s is sure, though it may be the other year", due.Date)
	}
}

func TestDueOfAnyCompany(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFacts(t)
		Builtin().Due(f, rapid.Int().Draw(t, "any year")) // it does not panic
		year := rapid.IntRange(1980, 2060).Draw(t, "year")
		var last Date
		gap := 0
		for y := year; y < year+12; y++ {
			due, ok := Builtin().Due(f, y)
			wantConsistent(t, y, due, ok)
			if !ok {
				gap++
				continue
			}
			if !due.Date.After(last) {
				t.Fatalf("%s comes after %s", due.Date, last)
			}
			if !last.IsZero() && gap > 1 {
				t.Fatalf("%d years without one before %s", gap, due.Date)
			}
			last, gap = due.Date, 0
		}
		from := day("2020-01-01").AddDays(rapid.IntRange(0, 5000).Draw(t, "from"))
		next, ok := Builtin().Next(f, from)
		if (ok && next.Date.Before(from)) || (!ok && next.Verdict == Dated) {
			t.Fatalf("next from %s is %+v, %t", from, next, ok)
		}
	})
}

// An estimate for want of a fact is never later than the date with the fact.
func TestEstimateIsTheEarliestItCanBe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFacts(t)
		f.FiscalEnd = time.December // what is taken where it is not known
		f.Formed, f.Registered = day("2001-05-05"), day("2002-01-01").AddDays(rapid.IntRange(0, 800).Draw(t,
			"registered"))
		less := f
		switch rapid.IntRange(0, 3).Draw(t, "forgotten") {
		case 0:
			less.Registered = Date{}
		case 1:
			less.EntityType = ""
		case 2:
			less.FormationState = ""
		case 3:
			less.EntityType, less.FormationState, less.Registered, less.Formed = "", "", Date{}, Date{}
		}
		for year := 2024; year < 2028; year++ {
			full, ok := Builtin().Due(f, year)
			if !ok {
				continue
			}
			guess, ok := Builtin().Due(less, year)
			if !ok || guess.Date.After(full.Date) {
				t.Fatalf("%d: %s with all facts, %s without some", year, full.When(), guess.When())
			}
			if guess.Date != full.Date && !guess.Estimate {
				t.Fatalf("%d: %s is sure, and %s would be right", year, guess.Date, full.Date)
			}
		}
	})
}
