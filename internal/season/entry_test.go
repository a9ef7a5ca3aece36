package season

import (
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

func TestSpanIsAYearFromTodayWhereNothingElseIsSaid(t *testing.T) {
	today := Date{Year: 2027, Month: 3, Day: 1}
	for _, c := range []struct {
		from, to, want string
		refused        bool
	}{
		{"", "", "2027-03-01 2028-03-01", false},
		{"2027-01-15", "", "2027-01-15 2028-01-15", false},
		{"", "2027-03-01", "2027-03-01 2027-03-01", false},
		{"2027-12-31", "2027-01-01", "2027-12-31 2027-01-01", true},
	} {
		first, last, err := ParseSpan(c.from, c.to, today)
		if got := first.String() + " " + last.String(); got != c.want || (err != nil) != c.refused {
			t.Errorf("%q to %q: %s, %v; want %s", c.from, c.to, got, err, c.want)
		}
	}
	if _, _, err := ParseSpan("soon", "", today); err == nil {
		t.Error(err)
	}
}

func TestCalendarAsCSVHasNoFormulas(t *testing.T) {
	var b strings.Builder
	row := Row{CompanyID: "\t=cmd", LegalName: "=1+1 LLC", Number: 3, Facts: Facts{State: filing.State("FL")}}
	if err := WriteCSV(&b, []Entry{{Row: row, Due: Due{Verdict: NotRequired}}}); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(b.String(), "\n"); len(lines) != 3 ||
		!strings.HasPrefix(lines[1], ",false,not required,FL,'\t=cmd,'=1+1 LLC,3,") {
		t.Errorf("%q", b.String())
	}
}
