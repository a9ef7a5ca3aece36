package importer

import (
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// valueOf reads one cell as a column of an annual report.
func valueOf(id columnID, cell sheet.Cell) (string, []Problem) {
	im := &Import{mapping: &mapping{bindings: make([]*binding, len(columns))}, options: Options{Now: july}}
	c := im.newChecker()
	c.row = &Row{Number: 5, Cells: []sheet.Cell{cell}}
	value := c.readCell(&binding{column: &columns[id], id: id, header: columns[id].header,
		mapName: columns[id].header}, cell)
	return value, c.row.Problems
}

// Every way in which a cell is read, and every reason for which it is not.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		why    string
		column columnID
		kind   sheet.Kind
		text   string
		want   string
		fault  string // a part of the message; "" where there is none
		rule   string
	}{
		{"blank", filingState, sheet.Blank, "", "", "", ""},
		{"NA", filingState, sheet.Text, "NA", "", "", ""},
		{"n/a", userEmail, sheet.Text, "n/a", "", "", ""},
		{"dash", userPhone, sheet.Text, "-", "", "", ""},
		{"long dash", userPhone, sheet.Text, "—", "", "", ""},
		{"none", orderAgent, sheet.Text, "None", "", "", ""},
		{"null", companyID, sheet.Text, "null", "", "", ""},
		{"an export's null", legalName, sheet.Text, `\N`, "", "", ""},
		{"a zero for a suite", principalLine2, sheet.Number, "0", "", "", ""},
		{"a zero for a date", formationDate, sheet.Text, "0000-00-00", "", "", ""},
		{"a last name without a first name", agentLastName, sheet.Text, "None", "", "", ""},
		{"a name that is a placeholder", partyLastName, sheet.Text, "Same", "", "not a value that can be filed",
			"cell.placeholder"},
		{"to be determined", companyID, sheet.Text, "TBD", "", "not a value that can be filed", "cell.placeholder"},
		{"a record's name that is a placeholder", legalName, sheet.Text, "See attached", "", "not a value that can be",
			"cell.placeholder"},
		{"a placeholder that is not sent", chargeClient, sheet.Text, "?", "", "will be listed", "cell.placeholder"},
		{"the date that a suite became", principalLine2, sheet.Date, "2026-03-04", "", "texts such as 3-4",
			"cell.misread"},
		{"the same, saved as CSV", mailingLine2, sheet.Text, "4-Mar", "", "texts such as 3-4", "cell.misread"},
		{"a month and a number", agentStreet, sheet.Text, "Jan-12", "", "texts such as 1-12", "cell.misread"},
		{"a number that is no day", agentStreet, sheet.Text, "Jan-32", "", "texts such as 1-32", "cell.misread"},
		{"a date of a CSV", principalCity, sheet.Text, "3/4/2026", "", "texts such as 3-4", "cell.misread"},
		{"the time that a suite became", principalLine2, sheet.Date, "14:30:00", "", "texts such as 14:30",
			"cell.misread"},
		{"a number for a suite", principalLine2, sheet.Number, "400", "400", "", ""},
		{"a day without its format", principalLine2, sheet.Number, "46115", "", "the number 46115", "cell.misread"},
		{"a fraction", principalLine2, sheet.Number, "0.5", "", "the number 0.5", "cell.misread"},
		{"a fraction, saved as CSV", principalLine2, sheet.Text, "0.5", "", "the number 0.5", "cell.misread"},
		{"a number for a city", principalCity, sheet.Number, "400", "", "the number 400", "cell.misread"},
		{"a suite of digits", principalLine2, sheet.Text, "400", "400", "", ""},
		{"a number for a street", principalLine1, sheet.Text, "0.75", "", "the number 0.75", "cell.misread"},
		{"a percentage", principalCity, sheet.Text, "50%", "", "the number 50%", "cell.misread"},
		{"the truth for a name", agentLastName, sheet.Bool, "TRUE", "", "texts such as True", "cell.misread"},
		{"a date for a name that is compared", legalName, sheet.Date, "2026-03-04", "", "the date", "cell.misread"},
		{"a month in a name", legalName, sheet.Text, "March Lane LLC", "March Lane LLC", "", ""},
		{"a number that is not sent", chargeClient, sheet.Number, "1001", "1001", "", ""},
		{"an export's escapes", legalName, sheet.Text, `Quay \"Best\" LLC`, "", `enter Quay "Best" LLC`, "cell.escape"},
		{"error cell", filingYear, sheet.Error, "#N/A", "", "error #N/A", "cell.error"},
		{"error in a CSV", filingYear, sheet.Text, "#REF!", "", "error #REF!", "cell.error"},
		{"a column too narrow, saved as CSV", userPhone, sheet.Text, "########", "", "error ####", "cell.error"},
		{"hash in a name", legalName, sheet.Text, "#1 Cleaners LLC", "#1 Cleaners LLC", "", ""},
		{"formula without result", filingYear, sheet.Formula, "", "", "without a saved result", "cell.formula"},

		{"state code", filingState, sheet.Text, "DE", "DE", "", ""},
		{"state in small letters", filingState, sheet.Text, "ny", "NY", "", ""},
		{"state by name", filingState, sheet.Text, "new york", "NY", "", ""},
		{"unknown state", filingState, sheet.Text, "Delawere", "", "not a US state", "filing-state.known"},
		{"unknown agent state", agentState, sheet.Text, "ZZ", "", "not a US state", "agent.addressState"},

		{"year as number", filingYear, sheet.Number, "2026", "2026", "", ""},
		{"year as text", filingYear, sheet.Text, "2026", "2026", "", ""},
		{"year as float", filingYear, sheet.Text, "2026.0", "2026", "", ""},
		{"year of two digits", filingYear, sheet.Number, "26", "", "two digits", "annual-report.year"},
		{"year with an apostrophe", filingYear, sheet.Text, "'26", "", "two digits", "annual-report.year"},
		{"year as a date", filingYear, sheet.Date, "2026-01-01", "", "the date 2026-01-01, not a year",
			"annual-report.year"},
		{"year typed into a cell for dates", filingYear, sheet.Date, "1905-07-18", "2026", "", ""},
		{"the same in the system of 1904", filingYear, sheet.Date, "1909-07-19", "2026", "", ""},
		{"a day long ago that is no such year", filingYear, sheet.Date, "1905-12-31", "", "the date 1905-12-31",
			"annual-report.year"},
		{"fiscal year", filingYear, sheet.Text, "FY2026", "2026", "", ""},
		{"fiscal year, apart", filingYear, sheet.Text, "fy 2026", "2026", "", ""},
		{"fiscal year of two digits", filingYear, sheet.Text, "FY26", "",
			`"FY26" has two digits: enter the filing year with four digits, such as 2026`, "annual-report.year"},
		{"four digits with an apostrophe", filingYear, sheet.Text, "'2026", "2026", "", ""},
		{"wide digits", filingYear, sheet.Text, "２０２６", "2026", "", ""},
		{"letters for digits", filingYear, sheet.Text, "2O26", "", `"2O26" has letters in place of digits: enter 2026`,
			"annual-report.year"},
		{"half a year", filingYear, sheet.Number, "2026.5", "", `"2026.5" is not a year`, "annual-report.year"},
		{"serial number", filingYear, sheet.Number, "46023", "", `"46023" is not a year`, "annual-report.year"},
		{"a word for a year", filingYear, sheet.Text, "current", "", `"current" is not a year`, "annual-report.year"},
		{"state with blanks", filingState, sheet.Text, "New  York", "NY", "", ""},
		{"a number for a name", legalName, sheet.Text, "1001", "", "is a number, not a legal name",
			"company.legalName"},
		{"a number with dashes for a name", legalName, sheet.Number, "10-01", "", "is a number, not a legal name",
			"company.legalName"},
		{"digits in a name", legalName, sheet.Text, "1001 LLC", "1001 LLC", "", ""},
		{"a wrong encoding", legalName, sheet.Text, "CafÃ© MÃ¼nster", "CafÃ© MÃ¼nster",
			`looks like "Café Münster" in the wrong encoding`, "text.mangled"},
		{"twice", legalName, sheet.Text, "CafÃƒÂ©", "CafÃƒÂ©", `looks like "Café"`, "text.mangled"},
		{"by a Macintosh", legalName, sheet.Text, "Caf√©", "Caf√©", `looks like "Café"`, "text.mangled"},
		{"accents as they are", legalName, sheet.Text, "CAFÉ Münster Œuvre", "CAFÉ Münster Œuvre", "", ""},
		{"an accent before an apostrophe", legalName, sheet.Text, "CAFÉ’S L’École", "CAFÉ'S L'École", "", ""},

		{"yes", orderAgent, sheet.Text, "Yes", yes, "", ""},
		{"Y", orderAgent, sheet.Text, "Y", yes, "", ""},
		{"TRUE", orderAgent, sheet.Bool, "TRUE", yes, "", ""},
		{"1", orderAgent, sheet.Number, "1", yes, "", ""},
		{"x", orderAgent, sheet.Text, "x", yes, "", ""},
		{"no", orderAgent, sheet.Text, "NO", no, "", ""},
		{"FALSE", orderAgent, sheet.Bool, "FALSE", no, "", ""},
		{"0", orderAgent, sheet.Text, "0", no, "", ""},
		{"maybe", changeOfAgent, sheet.Text, "maybe", "", "not yes or no", "registered-agent.change"},
		{"an agent's name under Order Registered Agent", orderAgent, sheet.Text, "Acme Agents", "",
			`--map "Order Registered Agent=Agent Company Name"`, "registered-agent.order"},

		{"Excel date", formationDate, sheet.Date, "2019-04-30", "2019-04-30", "", ""},
		{"Excel date and time", formationDate, sheet.Date, "2019-04-30T10:00:00", "2019-04-30", "", ""},
		{"ISO", formationDate, sheet.Text, "2019-04-30", "2019-04-30", "", ""},
		{"US", formationDate, sheet.Text, "4/30/2019", "2019-04-30", "", ""},
		{"US with zeros", formationDate, sheet.Text, "04/03/2019", "2019-04-03", "", ""},
		{"month by name", formationDate, sheet.Text, "Mar 1, 2026", "2026-03-01", "", ""},
		{"day first, month by name", formationDate, sheet.Text, "1-Mar-2026", "2026-03-01", "", ""},
		{"two-digit year of this century", formationDate, sheet.Text, "4/30/29", "2029-04-30", "", ""},
		{"two-digit year of the last", formationDate, sheet.Text, "4/30/30", "1930-04-30", "", ""},
		{"two-digit year, month by name", formationDate, sheet.Text, "1-Mar-26", "2026-03-01", "", ""},
		{"a 29th of February that its century did not have", formationDate, sheet.Text, "2/29/00", "2000-02-29",
			"", ""},
		{"a 29th of February that was not", formationDate, sheet.Text, "2/29/30", "", "not a date",
			"company.formationDate"},
		{"day first in digits", formationDate, sheet.Text, "30/4/2019", "", "enter it as 2019-04-30",
			"company.formationDate"},
		{"bare integer in a CSV", formationDate, sheet.Text, "43585", "", "the number", "company.formationDate"},
		{"number cell", formationDate, sheet.Number, "43585", "", "the number", "company.formationDate"},
		{"no such day", formationDate, sheet.Text, "2019-02-30", "", "not a date", "company.formationDate"},
		{"the day that never was", formationDate, sheet.Date, "1900-02-29", "", "not a date", "company.formationDate"},

		{"LLC", entityType, sheet.Text, "L.L.C.", "LLC", "", ""},
		{"corporation", entityType, sheet.Text, "Corporation", "CORP", "", ""},
		{"Inc.", entityType, sheet.Text, "Inc.", "CORP", "", ""},
		{"LP", entityType, sheet.Text, "LP", "", "limited partnership", "company.entityType"},
		{"PLLC", entityType, sheet.Text, "PLLC", "", "professional LLC", "company.entityType"},
		{"nonprofit", entityType, sheet.Text, "Non-Profit", "", "nonprofit", "company.entityType"},
		{"nothing known", entityType, sheet.Text, "GmbH", "", "use LLC or CORP", "company.entityType"},

		{"agent type", agentType, sheet.Text, "person", "PERSON", "", ""},
		{"agent type in other words", agentType, sheet.Text, "Individual", "PERSON", "", ""},
		{"agent type unknown", agentType, sheet.Text, "robot", "", "PERSON, COMPANY", "agent.type"},
		{"month", fiscalEndMonth, sheet.Text, "sept.", "September", "", ""},
		{"month by number", fiscalEndMonth, sheet.Number, "3", "March", "", ""},
		{"month of a day", fiscalEndMonth, sheet.Text, "12/31", "December", "", ""},
		{"month of a date", fiscalEndMonth, sheet.Date, "2025-06-30", "June", "", ""},
		{"a quarter", fiscalEndMonth, sheet.Text, "Q4", "", "is not one of", "company.fiscalEndMonth"},

		{"e-mail", userEmail, sheet.Text, "ana@example.com", "ana@example.com", "", ""},
		{"mailto", userEmail, sheet.Text, "mailto:ana@example.com", "", "enter ana@example.com", "user.email"},
		{"display name", userEmail, sheet.Text, "Ana <ana@example.com>", "", "enter ana@example.com", "user.email"},
		{"several", userEmail, sheet.Text, "ana@example.com; bo@example.com", "", "several addresses", "user.email"},
		{"no e-mail", userEmail, sheet.Text, "Ana", "", "not an email", "user.email"},

		{"a number under Company ID", companyID, sheet.Number, "17", "", "format the column as text", "company.id"},
		{"a slug of digits", companyID, sheet.Text, "1234", "1234", "", ""},

		{"ten digits", userPhone, sheet.Text, "3025550142", "+13025550142", "", ""},
		{"number cell of ten digits", userPhone, sheet.Number, "3025550142", "+13025550142", "", ""},
		{"written out", userPhone, sheet.Text, "(302) 555-0142", "+13025550142", "", ""},
		{"eleven digits", userPhone, sheet.Text, "1-302-555-0142", "+13025550142", "", ""},
		{"E.164", userPhone, sheet.Text, "+13025550142", "+13025550142", "", ""},
		{"abroad", userPhone, sheet.Text, "+44 20 7946 0018", "+442079460018", "", ""},
		{"extension", userPhone, sheet.Text, "302-555-0142 x12", "", "extension", "user.phone"},
		{"too short", userPhone, sheet.Text, "555-0142", "", "not a phone number", "user.phone"},

		{"smart quotes", legalName, sheet.Text, "O’Neill & “Sons”", `O'Neill & "Sons"`, "", ""},
		{"accents stay", legalName, sheet.Text, "Zoë’s Café", "Zoë's Café", "", ""},
		{"lost letters", legalName, sheet.Text, "Caf\uFFFD LLC", "Caf\uFFFD LLC", "lost", "text.lost-letters"},
		{"looks like a formula", legalName, sheet.Text, "+1 Fitness LLC", "+1 Fitness LLC", "", ""},
		{"SSN as a number", partySSN, sheet.Number, "78051120", "", "lost its leading zero", "ein.responsiblePartySsn"},
		{"SSN is never shown", partySSN, sheet.Error, "#N/A", "", "error", "cell.error"},
	} {
		t.Run(c.why, func(t *testing.T) {
			value, problems := valueOf(c.column, sheet.Cell{Kind: c.kind, Text: c.text})
			if value != c.want {
				t.Errorf("%q, want %q", value, c.want)
			}
			switch {
			case c.fault == "" && len(problems) > 0:
				t.Errorf("%+v", problems)
			case c.fault != "" && (len(problems) != 1 || !strings.Contains(problems[0].Message, c.fault) ||
				problems[0].Rule != c.rule || problems[0].Cell != "A5"):
				t.Errorf("%+v, want %q", problems, c.fault)
			}
		})
	}
}
