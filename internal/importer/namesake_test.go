package importer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

const described = "Company ID,Legal Name,Entity Type,Formation State,Formation Date,Principal Line 1,Principal " +
	"City,Principal State,Filing State,Filing Year,User Email\n"

func describedRow(id, name, home, year string) string {
	return fmt.Sprintf("%s,%q,LLC,%s,2019-04-30,12 Market Street,Dover,DE,DE,%s,ana@harborlight.example\n", id, name,
		home, year)
}

// namesakeCase is a case of TestACompanyWithAndWithoutItsID.
type namesakeCase struct {
	why, rows string
	want      []filing.Result
	refs      []string
	warned    []string // part of the warning at A of each row
}

// One company with its id in one row and without it in another is one company,
// in whatever order the rows stand.
func TestACompanyWithAndWithoutItsID(t *testing.T) {
	for _, c := range []namesakeCase{
		{"with the id first", describedRow("comp_1", "Harbor Light Bakery LLC", "DE", "2026") + describedRow("",
			"HARBOR LIGHT BAKERY, L.L.C.", "DE", "2026"),
			[]filing.Result{filing.Ready, filing.Skipped}, []string{"comp_1", ""},
			[]string{"", "row 2 lists this company as comp_1"}},
		{"with the id later", describedRow("", "Harbor Light – Bakery LLC", "DE", "2026") + describedRow("comp_1",
			"Harbor Light Bakery LLC", "DE", "2026"),
			[]filing.Result{filing.Ready, filing.Skipped}, []string{"comp_1", ""},
			[]string{"row 3 lists this company as comp_1", ""}},
		{"another year", describedRow("comp_1", "Harbor Light Bakery LLC", "DE", "2026") + describedRow("",
			"Harbor Light Bakery LLC", "DE", "2027"),
			[]filing.Result{filing.Ready, filing.Ready}, []string{"comp_1", "comp_1"},
			[]string{"", "row 2 lists this company as comp_1"}},
		{"another home", describedRow("comp_1", "Harbor Light Bakery LLC", "NV", "2026") + describedRow("",
			"Harbor Light Bakery LLC", "DE", "2026"),
			[]filing.Result{filing.Ready, filing.Ready}, []string{"comp_1", ""}, []string{"", ""}},
		{"two companies of the name", describedRow("comp_1", "Harbor Light Bakery LLC", "DE", "2026") +
			describedRow("comp_2", "Harbor Light Bakery LLC", "DE", "2026") + describedRow("",
			"Harbor Light Bakery LLC", "DE", "2026"),
			[]filing.Result{filing.Ready, filing.Ready, filing.Invalid}, []string{"comp_1", "comp_2", ""},
			[]string{"", "", "two companies, comp_1 and comp_2"}},
		{"another number", describedRow("comp_1", "Harbor Light 1 LLC", "DE", "2026") + describedRow("",
			"Harbor Light 2 LLC", "DE", "2026"),
			[]filing.Result{filing.Ready, filing.Ready}, []string{"comp_1", ""}, []string{"", ""}},
	} {
		t.Run(c.why, c.run)
	}
}

func (c namesakeCase) run(t *testing.T) {
	im := opened(t, saved(t, "in.csv", described+c.rows), Options{Product: filing.AnnualReport})
	i := 0
	err := im.Each(t.Context(), func(r *Row) error {
		warned := ""
		for _, p := range r.Problems {
			if p.Rule == "company.namesake" {
				if warned = p.Message; p.Cell != fmt.Sprintf("A%d", r.Number) {
					t.Errorf("it is said at %q", p.Cell)
				}
			}
		}
		ref := ""
		if r.Request != nil {
			ref = r.Request.Company.Ref
		}
		if r.Result != c.want[i] || ref != c.refs[i] || (warned == "") != (c.warned[i] == "") ||
			!strings.Contains(warned, c.warned[i]) {
			t.Errorf("row %d is %s for %q: %s %+v", r.Number, r.Result, ref, r.Message, r.Problems)
		}
		i++
		return nil
	})
	if err != nil || i != len(c.want) {
		t.Fatal(i, err)
	}
}

// The order of an agent appoints the service's own: a row that names another is
// wrong at its cell, however the column is headed.
func TestAnotherAgentCannotBeAppointed(t *testing.T) {
	for _, c := range []struct {
		product filing.Product
		header  string
		wrong   bool
	}{
		{filing.AgentChange, "New Agent Name", true},
		{filing.AgentChange, "New Registered Agent", true},
		{filing.AgentChange, "Agent Company Name", true},
		{filing.AgentChange, "Registered Agent Name", true},
		{filing.AgentChange, "Agent", true},
		{filing.AgentChange, "Registered Agent Street", true},
		{filing.RegisteredAgent, "Agent Company Name", true},
		{filing.AgentChange, "Current Agent Name", false},
		{filing.AgentChange, "Notes", false},
	} {
		t.Run(string(c.product)+" "+c.header, func(t *testing.T) {
			text := "Company ID,Legal Name,Filing State,User Email,Change Of Agent," + c.header +
				"\ncomp_1,A LLC,DE,a@b.example,yes,CT Corporation\n"
			if c.product == filing.RegisteredAgent {
				text = strings.ReplaceAll(text, "Change Of Agent", "Order Registered Agent")
			}
			r := rowsOf(t, opened(t, saved(t, "in.csv", text), Options{Product: c.product}))[0]
			wrong := len(r.problems) == 1 && r.problems[0].Cell == "F2" &&
				r.problems[0].Rule == "registered-agent.other" &&
				strings.Contains(r.problems[0].Message, "CT Corporation")
			if wrong != c.wrong || (r.result == filing.Invalid) != c.wrong {
				t.Errorf("%s: %+v", r.result, r.problems)
			}
		})
	}
}
