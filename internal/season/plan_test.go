package season

import (
	"slices"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

func company(id, name string, state filing.State) Row {
	return Row{CompanyID: id, LegalName: name, Facts: Facts{State: state}}
}

func TestAdded(t *testing.T) {
	acme := company("comp_1", "Acme LLC", "DE")
	for _, test := range []struct {
		name        string
		this, other []Row
		want        int
	}{
		{"a first list", []Row{acme}, nil, 1},
		{"the same again", []Row{acme, acme}, []Row{acme}, 0},
		{"another name of one id", []Row{company("comp_1", "Apex LLC", "DE")}, []Row{acme}, 0},
		{"another state", []Row{company("comp_1", "Acme LLC", "FL")}, []Row{acme}, 1},
		{"by the name folded", []Row{company("", "ACME, L.L.C.", "DE")},
			[]Row{company("", "Acme Limited Liability Company", "DE")}, 0},
		{"an id since", []Row{acme}, []Row{company("", "Acme LLC", "DE")}, 0},
		{"no id any more", []Row{company("", "Acme LLC", "DE")}, []Row{acme}, 0},
		{"two ids of one name are two", []Row{company("comp_2", "Acme LLC", "DE")}, []Row{acme}, 1},
		{"neither id nor name", []Row{company("", "", "DE")}, []Row{company("", "", "DE")}, 1},
	} {
		if got := Added(test.this, test.other); len(got) != test.want {
			t.Errorf("%s: %v, want %d", test.name, got, test.want)
		}
	}
}

func TestEarliestDueIsFiledFirst(t *testing.T) {
	r := aRoster("2026-12-01",
		home("OH", filing.LLC, "2019-02-03"), // nothing is due
		home("TX", filing.LLC, "2019-02-03"),
		home("WV", filing.LLC, "2019-02-03"),
		home("MS", filing.Corp, "2019-02-03"), // about 04-15
		home("MD", filing.LLC, "2019-02-03"),  // 04-15
		away("OK", filing.Corp, ""),           // see the state
		home("MD", filing.Corp, "2019-02-03"),
	)
	var entries []Entry
	for _, row := range r.Rows {
		due, _ := r.Rules.Due(row.Facts, 2027)
		entries = append(entries, Entry{row, due})
	}
	slices.SortStableFunc(entries, EarliestFirst)
	want := "MD LLC 2027-04-15, MD CORP 2027-04-15, MS CORP about 2027-04-15, TX LLC 2027-05-15, WV LLC 2027-06-30, " +
		"OK CORP see the state, OH LLC not required"
	if got := told(entries); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestCalendarHasEveryRow(t *testing.T) {
	r := aRoster("2026-12-01",
		home("OH", filing.LLC, "2019-02-03"),
		home("TX", filing.LLC, "2019-02-03"),
		home("DE", filing.Corp, "2019-02-03"),
		home("CA", filing.LLC, "2024-02-03"),
		home("DE", filing.LLC, "2019-02-03"),
	)
	due, rest := r.Calendar(day("2027-03-01"), day("2028-03-31"))
	if got, want := told(due), "DE CORP 2027-03-01, TX LLC 2027-05-15, DE LLC 2027-06-01, CA LLC 2028-02-29, DE "+
		"CORP 2028-03-01"; got != want {
		t.Errorf("due\n got %s\nwant %s", got, want)
	}
	if got, want := told(rest), "OH LLC not required"; got != want {
		t.Errorf("rest\n got %s\nwant %s", got, want)
	}
	if _, rest := r.Calendar(day("2027-03-02"),
		day("2027-05-14")); told(rest) != "TX LLC 2027-05-15, DE LLC 2027-06-01, CA LLC 2028-02-29, DE CORP "+
		"2028-03-01, OH LLC not required" {
		t.Errorf("with nothing within: %s", told(rest))
	}
}

func TestFilingYearAsSeenOnADay(t *testing.T) {
	for text, want := range map[string]int{"this": 2027, "NEXT ": 2028, "last": 2026, "2031": 2031} {
		if got, err := FilingYear(text, day("2027-01-02")); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "27", "this year", "02027", "+2027", "20270", "-202", "0999"} {
		if got, err := FilingYear(text, day("2027-01-02")); err == nil {
			t.Errorf("%q is read as %d", text, got)
		}
	}
}

func TestDateIsReadAndWritten(t *testing.T) {
	for _, text := range []string{"", "2027-04-15"} {
		var d Date
		if err := d.UnmarshalText([]byte(text)); err != nil || d.String() != text {
			t.Errorf("%q becomes %q, %v", text, d, err)
		}
		if b, err := d.MarshalText(); err != nil || string(b) != text {
			t.Errorf("%q is written %q, %v", text, b, err)
		}
	}
	for _, text := range []string{"2027-02-29", "27-01-01", "2027-4-15", "x"} {
		if d, err := ParseDate(text); err == nil {
			t.Errorf("%q is read as %s", text, d)
		}
	}
	if got := day("2028-01-31").AddMonths(1); got != day("2028-02-29") {
		t.Errorf("a month after the 31st of January is %s", got)
	}
	if got := day("2027-01-31").AddMonths(-2); got != day("2026-11-30") {
		t.Errorf("two months before the 31st of January is %s", got)
	}
	if got := DateOf(time.Date(2027, 1, 1, 2, 0, 0, 0, time.FixedZone("", 3*3600))); got != day("2027-01-01") {
		t.Errorf("the day in its own zone is %s", got)
	}
}
