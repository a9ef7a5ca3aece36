package importer

import (
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// What the rules suggest, and that the cell has no such problem with it.
func TestSuggestions(t *testing.T) {
	report := cells{
		companyID: "comp_1", legalName: "Acme LLC", entityType: "LLC", userEmail: "a@example.com", userPhone: "",
		filingState: "NJ", filingYear: "2026", formationDate: "", orderAgent: "", agentCompanyName: "Agents Inc.",
		agentStreet: "1 Main St", agentCity: "Newark", agentState: "NJ", agentZIP: "07102",
	}
	for _, c := range []struct {
		column      columnID
		value, want string // no suggestion if empty
	}{
		{filingYear, "25", "2025"},
		{filingYear, "26", "2026"},
		{filingYear, "99", ""},
		{filingYear, "2O26", "2026"},
		{filingYear, "2206", ""},
		{filingYear, "2025 AR", "2025"},
		{filingYear, "3/15/2025", "2025"},
		{filingYear, "2025/2026", ""},
		{filingState, "Delawere", "DE"},
		{filingState, "Del.", "DE"},
		{filingState, "D.E.", "DE"},
		{filingState, "Carolina", ""},
		{filingState, "rkansas", ""},
		{filingState, "Texsa", "TX"},
		{filingState, "ZZ", ""},
		{agentZIP, "7102", "07102"},
		{agentZIP, "71021234", "07102-1234"},
		{agentZIP, "7102-1234", "07102-1234"},
		{agentZIP, "07102 1234", "07102-1234"},
		{agentZIP, "71", ""},
		{formationDate, "13/02/2019", "2019-02-13"},
		{formationDate, "20190430", "2019-04-30"},
		{formationDate, "43510", "2019-02-14"},
		{formationDate, "soon", ""},
		{entityType, "LCC", "LLC"},
		{entityType, "Corperation", "CORP"},
		{entityType, "LLP", ""},
		{orderAgent, "yess", "yes"},
		{orderAgent, "perhaps", ""},
		{userEmail, "Ana <ana@example.com>", "ana@example.com"},
		{userEmail, "ana@example,com", "ana@example.com"},
		{userEmail, "ana @example.com", "ana@example.com"},
		{userEmail, "a@example.com; b@example.com", ""},
		{userEmail, "ana", ""},
		{userPhone, "302-555-0142 ext. 5", "302-555-0142"},
		{companyID, "https://app.example.com/c/comp_12", "comp_12"},
		{structureType, "membr", "MEMBER"},
		{structureType, "x y", ""},
		{principalCountry, "Untied States", "US"},
		{principalCountry, "Atlantis", ""},
		{fiscalEndMonth, "Decembr", "December"},
		{expedited, "yess", "yes"},
		{orderEIN, "fasle", "no"},
		{principalState, "Delawere", "DE"},
	} {
		row, product := report, filing.AnnualReport
		if _, ok := report[c.column]; !ok {
			row, product = aFormation, filing.Formation
		} else if c.column == orderAgent {
			row = report.with(cells{agentCompanyName: "", agentStreet: "", agentCity: "", agentState: "", agentZIP: ""})
		}
		text, order := csvOf(row.with(cells{c.column: c.value}))
		d, err := OpenDraft("a.csv", []byte(text), Options{Product: product, Now: july})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.Index(order, c.column)
		problem := func() Problem {
			all := d.At(0).Problems
			if i := slices.IndexFunc(all, func(p Problem) bool { return p.ColumnIndex == at }); i >= 0 {
				return all[i]
			}
			return Problem{}
		}
		p := problem()
		if p.Rule == "" || strings.Join(p.Suggest, "|") != c.want {
			t.Errorf("%s %q (%s): %q, want %q", columns[c.column].header, c.value, p.Rule, p.Suggest, c.want)
		}
		if c.want == "" {
			continue
		}
		if err := d.Set([]Edit{{Row: 2, Column: at, Text: c.want}}, nil); err != nil {
			t.Fatal(err)
		}
		if left := problem(); left.Rule == p.Rule && c.column != filingState {
			t.Errorf("%s %q: %q has the problem too: %+v", columns[c.column].header, c.value, c.want, left)
		}
		d.Close()
	}
}
