package season

import (
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Each late fee is an amount with a source, of a company that files a report.
func TestLateFees_HaveASource(t *testing.T) {
	lines, err := lateFees()
	if err != nil || len(lines) == 0 {
		t.Fatal(lines, err)
	}
	for key, l := range lines {
		if l.Source == "" || l.Basis == "" {
			t.Errorf("%v: %q, %q", key, l.Source, l.Basis)
		}
		if rule := Builtin().lines[key]; rule == nil || rule.rule.base == never {
			t.Errorf("%v: a late fee of a company that files no report", key)
		}
		if amount, ok := l.Fee.At(2027, day("2027-05-01")); !ok || amount == 0 {
			t.Errorf("%v: no late fee for 2027", key)
		}
	}
}

func TestLateFeeOf(t *testing.T) {
	for _, c := range []struct {
		name   string
		state  filing.State
		kind   filing.EntityType
		formed filing.State
		due    string
		amount money.Cents
		from   string
		source string
	}{
		{"plain", "FL", filing.LLC, "DE", "2027-05-01", 400_00, "2027-05-02", "a copy of dos.fl.gov"},
		{"domestic and foreign pay the same", "FL", filing.LLC, "", "2027-05-01", 400_00, "2027-05-02",
			"a copy of dos.fl.gov"},
		{"domestic", "DE", filing.Corp, "DE", "2027-03-01", 200_00, "2027-03-02", "advantage-de.com"},
		{"foreign", "DE", filing.Corp, "FL", "2027-06-30", 125_00, "2027-07-01", "a copy of corpfiles.delaware.gov"},
		{"domestic and foreign differ", "DE", filing.Corp, "", "2027-03-01", 0, "", ""},
		{"the type is unknown", "FL", "", "FL", "2027-05-01", 0, "", ""},
		{"60 days of grace", "CA", filing.LLC, "CA", "2027-01-31", 250_00, "2027-04-02", "californianonprofitlaw.com"},
		{"a year of its period", "MT", filing.LLC, "MT", "2027-04-15", 35_00, "2027-04-16", "a copy of sosmt.gov"},
		{"no amount for the year", "MT", filing.LLC, "MT", "2028-04-15", 0, "2028-04-16", "a copy of sosmt.gov"},
		{"no source", "NC", filing.LLC, "NC", "2027-04-15", 0, "", ""},
	} {
		due := day(c.due)
		facts := Facts{State: c.state, EntityType: c.kind, FormationState: c.formed}
		amount, from, source := LateFeeOf(facts, due, due.Year)
		if amount != c.amount || from.String() != c.from || source != c.source {
			t.Errorf("%s: %d, %q, %q", c.name, amount, from, source)
		}
	}
}
