package importer

import (
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// What registers write in place of a supplied agent, or of its address, is not sent.
func TestSuppliedAgents(t *testing.T) {
	const header = "Company ID,User ID,Filing State,Filing Year,Registered Agent Name,Agent Type,Registered Agent " +
		"Address 1,Registered Agent Address 2,Agent City,Agent State,Agent ZIP,Legal Name\n"
	for _, c := range []struct {
		name, kind, street, suite, zip string
		cell, fault                    string // of the first problem; "" for none
	}{
		{"Empire Agents Inc.", "", "99 Sample Avenue", "Suite 1008", "12260", "", ""},
		{"Northwest Registered Agent", "", "P O'Brien Street 9", "", "12260", "", ""},
		{"c/o Vacant Land LLC", "", "12 Main St, PO Box 4", "", "12260-0456", "", ""},
		{"GRACE L. OKAFOR", "COMPANY", "c/o Smith, 12 Main St", "400", "12260", "", ""},
		{"GRACE L. OKAFOR", "", "12 Main St", "", "12260", "E2", "looks like a person"},
		{"Okafor, Grace, Esq.", "", "12 Main St", "", "12260", "E2", "looks like a person"},
		{"REGISTERED AGENT RESIGNED", "", "", "", "", "E2", "says that there is no agent"},
		{"No agent on file", "", "12 Main St", "", "12260", "E2", "says that there is no agent"},
		{"Agent cannot be located", "", "12 Main St", "", "12260", "E2", "says that there is no agent"},
		{"Registered Agent Vacancy", "", "12 Main St", "", "12260", "E2", "says that there is no agent"},
		{"Empire Agents Inc.", "", "General Delivery", "", "12260", "G2", "a post office box"},
		{"Empire Agents Inc.", "", "PO BOX 456", "", "12260", "G2", "a post office box"},
		{"Empire Agents Inc.", "", "P. O. Box 456", "", "12260", "G2", "a post office box"},
		{"Empire Agents Inc.", "", "ATTN: LEGAL DEPT", "80 Sample Street", "12260", "G2", "an addressee"},
		{"Empire Agents Inc.", "", "11th Floor", "", "12260", "G2", "a part of a building"},
		{"Empire Agents Inc.", "", ".", "", "12260", "G2", "Agent Street is missing"},
		{"Empire Agents Inc.", "", "12 Main St", "", "00000", "K2", "enter five digits, or ZIP+4"},
		{"Empire Agents Inc.", "", "12 Main St", "", "00", "K2", "enter five digits, or ZIP+4"},
		{"Empire Agents Inc.", "", "12 Main St", "", "501", "K2", "enter 00501"},
	} {
		text := header + `comp_1,user_1,NY,2026,"` + strings.Join([]string{c.name, c.kind, c.street, c.suite,
			"Albany", "NY",
			c.zip, "Acme LLC"}, `","`) + "\"\n"
		row := rowsOf(t, opened(t, saved(t, "in.csv", text), Options{}))[0]
		switch {
		case c.fault == "" && row.result == filing.Ready:
			want := c.street
			if c.suite != "" {
				want += ", " + c.suite
			}
			if got := row.request.Order.AnnualReport.RegisteredAgent.Street; got != want {
				t.Errorf("sent to %q, want %q", got, want)
			}
		case c.fault == "" || len(row.problems) != 1 || row.problems[0].Cell != c.cell ||
			!strings.Contains(row.problems[0].Message, c.fault):
			t.Errorf("%+v: %s %+v", c, row.result, row.problems)
		}
	}
}
