package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/goldentest"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// cells is a row by its columns.
type cells map[columnID]string

// with is the row with some cells changed.
func (c cells) with(changed cells) cells {
	c = maps.Clone(c)
	maps.Copy(c, changed)
	return c
}

// csvOf writes rows under the headers of all their columns, in the order of the
// table. It returns the columns in that order.
func csvOf(rows ...cells) (text string, order []columnID) {
	for _, r := range rows {
		for id := range r {
			if !slices.Contains(order, id) {
				order = append(order, id)
			}
		}
	}
	slices.Sort(order)
	var b strings.Builder
	line := func(get func(columnID) string) {
		for i, id := range order {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`"` + strings.ReplaceAll(get(id), `"`, `""`) + `"`)
		}
		b.WriteByte('\n')
	}
	line(func(id columnID) string { return columns[id].header })
	for _, r := range rows {
		line(func(id columnID) string { return r[id] })
	}
	return b.String(), order
}

// anOfficer is officer n, from 0.
func anOfficer(n int, title, primary string) cells {
	at := func(part columnID) columnID { return officerColumn(n, part) }
	return cells{
		at(officerType): "", at(officerFirstName): "Ana", at(officerLastName): "Silva", at(officerCompanyName): "",
		at(officerTitle): title, at(officerPrimary): primary,
		at(officerLine1): "12 Market Street", at(officerCity): "Wilmington", at(officerState): "Delaware",
		at(officerPostalCode): "19801", at(officerCountry): "",
	}
}

// aFormation is an LLC with two officers and an agent ordered.
var aFormation = cells{
	legalName:           "Harbor Light Bakery LLC",
	alternativeNames:    "",
	entityType:          "LLC",
	structureType:       "MEMBER",
	taxElection:         "",
	fiscalEndMonth:      "12",
	userEmail:           "ana@example.com",
	userName:            "Ana Silva",
	userPhone:           "3025550142",
	filingState:         "DE",
	expedited:           "",
	orderAgent:          "yes",
	changeOfAgent:       "",
	orderQualification:  "",
	principalLine1:      "12 Market Street",
	principalCity:       "Wilmington",
	principalState:      "DE",
	principalPostalCode: "19801",
	principalCountry:    "",
	mailingLine1:        "",
	mailingCity:         "",
	mailingState:        "",
	mailingPostalCode:   "",
	mailingCountry:      "",
	agentType:           "",
	agentCompanyName:    "",
	agentStreet:         "",
	agentCity:           "",
	agentState:          "",
	agentZIP:            "",
	orderEIN:            "",
}.with(anOfficer(0, "Managing Member", "yes")).with(anOfficer(1, "member", "no"))

var aSupplier = cells{
	orderAgent:       "no",
	agentCompanyName: "Acme Agents",
	agentStreet:      "1 Main St",
	agentCity:        "Dover",
	agentState:       "DE",
	agentZIP:         "19901",
}

// anEIN is an application of one who expects no employees.
var anEIN = cells{
	businessCategory:       "consulting",
	businessPurpose:        "Bookkeeping",
	applicationReason:      "Banking Purposes",
	vehicle55kPounds:       "no",
	gamblingWagering:       "n",
	fileForm720:            "no",
	alcoholTobaccoFirearms: "no",
	fileForm944:            "no",
	w2Expected:             "no",
	agricultureEmployees:   "",
	otherEmployees:         "",
	firstWagesDate:         "",
	partyFirstName:         "Ana",
	partyLastName:          "Silva",
	partyTitle:             "Member",
	partySSN:               "078-05-1120",
	partyPhone:             "302-555-0142",
	partyIsForeign:         "",
}

var anEINOrder = anEIN.with(cells{
	companyID:   "comp_1",
	legalName:   "Acme LLC",
	userID:      "user_1",
	filingState: "DE",
})

var aQualification = cells{
	companyID:          "comp_1",
	legalName:          "Acme LLC",
	userID:             "user_1",
	filingState:        "NY",
	orderQualification: "yes",
	formationState:     "DE",
	orderAgent:         "",
	changeOfAgent:      "",
	agentType:          "",
	agentCompanyName:   "",
	agentStreet:        "",
	agentCity:          "",
	agentState:         "",
	agentZIP:           "",
}

// aNewCompany is the qualification of a company that is new to the service.
var aNewCompany = aQualification.with(cells{
	companyID:           "",
	legalName:           "Harbor Light Bakery LLC",
	entityType:          "LLC",
	formationDate:       "4/30/2019",
	structureType:       "",
	fiscalEndMonth:      "",
	principalLine1:      "12 Market Street",
	principalCity:       "Wilmington",
	principalState:      "DE",
	principalPostalCode: "19801",
})

// A broken rule is reported at its cell: a row that breaks none, with one cell
// changed. The rules themselves are tested in package filing.
func TestRulesAtTheirCells(t *testing.T) {
	first := func(part columnID) columnID { return officerColumn(0, part) }
	second := func(part columnID) columnID { return officerColumn(1, part) }
	for product, cases := range map[filing.Product][]struct {
		row  cells
		at   columnID
		rule string // with ~ for a warning
	}{
		filing.Formation: {
			{aFormation.with(cells{structureType: "board"}), structureType, "company.structureType"},
			{aFormation.with(cells{filingState: ""}), filingState, "filing-state.required"},
			{aFormation.with(cells{principalState: "Delawere"}), principalState, "company.principalAddress.state"},
			{aFormation.with(cells{principalState: ""}), principalCountry, "company.principalAddress.country"},
			{aFormation.with(cells{principalCountry: "Atlantis"}),
				principalCountry, "company.principalAddress.country"},
			{aFormation.with(cells{mailingLine1: "PO Box 4", mailingState: "DE"}),
				mailingCity, "company.mailingAddress.city"},
			{aFormation.with(cells{companyID: "comp_1"}), companyID, "formation.company-id"},
			{aFormation.with(cells{orderAgent: "no"}), orderAgent, "formation.agent"},
			{aFormation.with(aSupplier).with(cells{orderAgent: "yes"}), orderAgent, "formation.one-agent"},
			{aFormation.with(aSupplier).with(cells{agentState: "NJ"}), agentState, "agent.state-is-filing-state"},
			{aFormation.with(cells{alternativeNames: "a;b;c;d;e;f;g;h;i;j;k"}),
				alternativeNames, "formation.alternativeNames"},
			{aFormation.with(cells{orderQualification: "yes"}),
				orderQualification, "foreign-qualification.with-formation"},
			{aFormation.with(cells{formationState: "NY"}), formationState, "formation.state"},
			{aFormation.with(cells{businessPurpose: "Bread"}), businessPurpose, "~ein.order"},
			{aFormation.with(cells{second(officerCompanyName): "Tern Inc."}), second(officerType), "officer.type"},
			{aFormation.with(cells{second(officerType): "person", second(officerCompanyName): "Tern Inc."}),
				second(officerCompanyName), "officer.company-name"},
			{aFormation.with(cells{second(officerTitle): "CEO"}), second(officerTitle), "officer.title"},
			{aFormation.with(cells{first(officerPrimary): ""}), first(officerPrimary), "officer.primary"},
			{aFormation.with(cells{second(officerLine1): "", second(officerCity): "", second(officerState): "",
				second(officerPostalCode): ""}), second(officerLine1), "officer.address"},
		},
		filing.EIN: {
			{anEINOrder.with(cells{businessCategory: "Farming"}), businessCategory, "~ein.business-category-unknown"},
			{anEINOrder.with(cells{applicationReason: "because"}), applicationReason, "ein.applicationReason"},
			{anEINOrder.with(cells{vehicle55kPounds: ""}), vehicle55kPounds, "ein.vehicle55kPounds"},
			{anEINOrder.with(cells{w2Expected: "yes", firstWagesDate: "9/1/2026"}), otherEmployees, "ein.employees"},
			{anEINOrder.with(cells{otherEmployees: "1.5"}), otherEmployees, "ein.otherEmployeesCount"},
			{anEINOrder.with(cells{agricultureEmployees: "2"}), w2Expected, "~ein.employees-unexpected"},
			{anEINOrder.with(cells{w2Expected: "yes", otherEmployees: "2.0"}), firstWagesDate, "ein.firstWagesDate"},
			{anEINOrder.with(cells{partySSN: ""}), partySSN, "ein.responsiblePartySsn"},
			{anEINOrder.with(cells{partySSN: "***-**-1120"}), partySSN, "ein.responsiblePartySsn"},
			{anEINOrder.with(cells{partyIsForeign: "yes"}), partySSN, "ein.responsiblePartySsn"},
			{anEINOrder.with(cells{partySSN: "912-70-1234"}), partySSN, "~ein.ssn-is-itin"},
			{anEINOrder.with(cells{partyPhone: "+44 20 7946 0958"}), partyPhone, "ein.responsiblePartyPhoneNumber"},
			{anEINOrder.with(cells{companyID: ""}), companyID, "company.required"},
		},
		filing.ForeignQualification: {
			{aQualification.with(aSupplier).with(cells{orderAgent: "yes", agentState: "NY"}),
				orderAgent, "foreign-qualification.one-agent"},
			{aQualification.with(aSupplier), agentState, "agent.state-is-filing-state"},
			{aQualification.with(cells{filingState: "DE"}), filingState, "foreign-qualification.home-state"},
			{aQualification.with(cells{changeOfAgent: "yes"}), changeOfAgent, "registered-agent.change"},
			{aNewCompany.with(cells{formationDate: ""}), companyID, "company.required"},
			{aNewCompany.with(cells{formationDate: "2030-01-01"}), formationDate, "company.formationDate"},
			{aNewCompany.with(anOfficer(0, "Member", "no")), first(officerPrimary), "officer.primary"},
		},
	} {
		for _, c := range cases {
			text, order := csvOf(c.row)
			r := rowsOf(t, opened(t, saved(t, "in.csv", text), Options{Product: product}))[0]
			rule, warning := strings.CutPrefix(c.rule, "~")
			var found []Problem
			for _, p := range r.problems {
				if warning || p.Severity == Error {
					found = append(found, p)
				}
			}
			cell := sheet.CellName(slices.Index(order, c.at), 2)
			if len(found) != 1 || found[0].Cell != cell || found[0].Rule != rule ||
				(found[0].Severity == Warning) != warning || (r.result == filing.Ready) != warning ||
				strings.Contains(r.message, "078") {
				t.Errorf("want %s at %s (%s): %s, %s, %+v", rule, cell, columns[c.at].header, r.result, r.message,
					r.problems)
			}
		}
	}
}

// orderCases are rows of formations and of other products.
var orderCases = []struct {
	why     string
	row     cells
	product filing.Product // of the sheet, detected if empty
}{
	{"a formation", aFormation, ""},
	{"an agent of its own", aFormation.with(aSupplier), ""},
	{"expedited, with other names", aFormation.with(cells{expedited: "yes", alternativeNames: "B LLC;; C LLC ;"}), ""},
	{"with an EIN", aFormation.with(anEIN).with(cells{orderEIN: "yes"}), ""},
	{"with an annual report that has the same agent",
		aFormation.with(aSupplier).with(cells{orderAnnualReport: "yes", filingYear: "2026"}), filing.Formation},
	{"a form's empty officers",
		aFormation.with(cells{officerColumn(2, officerPrimary): "no", officerColumn(2, officerCountry): "US"}), ""},
	{"a gap among the officers", aFormation.with(anOfficer(3, "Manager", "")), ""},
	{"the formation state alone", aFormation.with(cells{filingState: "", formationState: "Nevada"}), ""},
	{"an address abroad", aFormation.with(cells{
		mailingLine1:      "1 Bay St",
		mailingCity:       "Toronto",
		mailingState:      "ON",
		mailingPostalCode: "M5J 2N8",
		mailingCountry:    "Canada",
	}), ""},
	{"an EIN", anEINOrder, ""},
	{"of a foreign party",
		anEINOrder.with(cells{partyIsForeign: "yes", partySSN: "", partyPhone: "+44 20 7946 0958"}), ""},
	{"an EIN with employees",
		anEINOrder.with(cells{w2Expected: "yes", otherEmployees: "2", firstWagesDate: "9/1/2026"}), ""},
	{"an EIN whose state is that of the formation",
		anEINOrder.with(cells{filingState: "", formationState: "WY"}), ""},
	{"a qualification", aQualification, ""},
	{"with an agent ordered", aQualification.with(cells{orderAgent: "yes"}), ""},
	{"with an agent supplied", aQualification.with(aSupplier).with(cells{agentState: "NY"}), ""},
	{"an EIN alone in a sheet of qualifications",
		aQualification.with(anEIN).with(cells{orderQualification: "no", orderEIN: "yes"}), filing.ForeignQualification},
	{"a new company", aNewCompany, ""},
	{"with its officers and structure", aNewCompany.with(anOfficer(0, "Member", "yes")).with(cells{
		structureType:  "member managed",
		fiscalEndMonth: "June",
	}), ""},
	{"what describes a company that exists is of no account", aNewCompany.with(anOfficer(0, "x", "y")).with(cells{
		companyID:           "comp_1",
		principalPostalCode: "x",
		structureType:       "x y",
	}), ""},
	{"an EIN of a new company", anEIN.with(aDescription).with(cells{entityType: "Inc"}), ""},
	{"an agent of a new company",
		aDescription.with(cells{entityType: "CORP", filingState: "NY", orderAgent: "yes"}), ""},
}

// aDescription describes a company that is new to the service.
var aDescription = cells{
	legalName:      "Acme Inc.",
	formationState: "DE",
	formationDate:  "2020-01-02",
	principalLine1: "1 Main St",
	principalCity:  "Dover",
	principalState: "DE",
	userID:         "user_1",
}

// TestOrders compares what rows of formations and of other products become.
func TestOrders(t *testing.T) {
	compared := 0
	goldentest.Lines(t, "testdata/orders.txt", func(t *testing.T, fields []string) string {
		for _, c := range orderCases {
			if c.why != fields[0] {
				continue
			}
			compared++
			text, _ := csvOf(c.row)
			r := rowsOf(t, opened(t, saved(t, "in.csv", text), Options{Product: c.product}))[0]
			if r.result != filing.Ready || len(r.problems) > 0 {
				t.Errorf("%s is %s: %+v", c.why, r.result, r.problems)
			}
			order, err := json.Marshal(r.request)
			if err != nil {
				t.Fatal(err)
			}
			return string(order)
		}
		return "no such case"
	})
	if compared != len(orderCases) {
		t.Errorf("%d of %d cases are in testdata", compared, len(orderCases))
	}
}

// A row without a yes orders nothing, and says so.
func TestNothingOrdered(t *testing.T) {
	for _, c := range []struct {
		product filing.Product
		row     cells
	}{
		{filing.EIN, anEINOrder.with(cells{orderEIN: ""})},
		{filing.ForeignQualification, aQualification.with(cells{orderQualification: "no"})},
		{filing.AnnualReport, cells{
			companyID:         "comp_1",
			userID:            "user_1",
			filingState:       "DE",
			filingYear:        "2026",
			orderAnnualReport: "",
		}},
	} {
		text, _ := csvOf(c.row)
		if r := rowsOf(t, opened(t, saved(t, "in.csv", text),
			Options{Product: c.product}))[0]; r.result != filing.Skipped || !strings.Contains(r.message, "is not yes") {
			t.Errorf("%s: %s %s", c.product, r.result, r.message)
		}
	}
}

// resultsOf returns the results of the rows on one line.
func resultsOf(t *testing.T, im *Import) string {
	var results []string
	for _, r := range rowsOf(t, im) {
		results = append(results, string(r.result))
	}
	return strings.Join(results, " ")
}

// Nothing is filed without its officers: a workbook that lists them on another sheet is refused,
// unless its companies exist.
func TestOfficersSheet(t *testing.T) {
	officers := tab{name: "OFFICERS", rows: [][]sheet.OutCell{
		texts("Legal Name", "Type", "First Name", "Last Name", "Title", "Primary", "Street", "City", "State", "ZIP"),
		texts("Acme LLC", "PERSON", "Ana", "Silva", "Member", "yes", "12 Market Street", "Wilmington", "DE", "19801"),
	}}
	formation := texts("Legal Name", "Entity Type", "Structure Type", "User ID", "Filing State", "Principal Line 1",
		"Principal City", "Principal State", "Order Registered Agent")
	creates := texts("Company ID", "Legal Name", "Entity Type", "Formation State", "Formation Date", "User ID",
		"Filing State", "Filing Year", "Principal Line 1", "Principal City", "Principal State")
	for _, c := range []struct {
		why     string
		header  []sheet.OutCell
		row     []string
		refused bool
	}{
		{"a formation", formation, []string{"Acme LLC", "LLC", "MEMBER", "user_1", "DE", "12 Market Street",
			"Wilmington", "DE", "yes"}, true},
		{"a company to create beside Company IDs", creates, []string{"", "Acme LLC", "LLC", "DE", "2020-01-02",
			"user_1", "DE", "2026", "12 Market Street", "Wilmington", "DE"}, true},
		{"a company that exists", creates[:8], []string{"comp_1", "Acme LLC", "LLC", "DE", "2020-01-02", "user_1", "DE",
			"2026"}, false},
	} {
		t.Run(c.why, func(t *testing.T) {
			errs := officersErrors(t, workbook(t, tab{name: "June", rows: [][]sheet.OutCell{c.header, texts(c.row...)}},
				officers))
			for _, err := range errs {
				switch refused := err != nil && strings.Contains(err.Error(), `sheet "OFFICERS"`) &&
					strings.Contains(err.Error(), `"Officer 1 First Name"`); {
				case refused != c.refused, !c.refused && err != nil:
					t.Error(err)
				}
			}
		})
	}
}

// officersErrors returns the errors of the command line and of the page for a workbook.
func officersErrors(t *testing.T, book string) []error {
	content, err := os.ReadFile(book)
	if err != nil {
		t.Fatal(err)
	}
	survey, err := SurveyReader("book.xlsx", bytes.NewReader(content), int64(len(content)), Options{Now: july})
	if err != nil {
		t.Fatal(err)
	}
	im, err := Open(book, Options{Now: july})
	if err == nil {
		defer im.Close()
		if got := resultsOf(t, im); got != "ready" {
			t.Error(got)
		}
	}
	return []error{err, survey.Err}
}

// Rows of a file are compared by what each of them buys, item by item (see
// filing.Order.Keys), and by what it sends for that.
func TestRepeatsOfProducts(t *testing.T) {
	appointment := cells{companyID: "comp_1", userID: "user_1", filingState: "DE", changeOfAgent: "no"}
	const repeat, contradict, apart = "ready skipped", "invalid invalid", "ready ready"
	anotherOfficer := cells{officerColumn(0, officerFirstName): "Bo"}
	for _, c := range []struct {
		rows []cells
		want string
	}{
		{[]cells{aFormation, aFormation.with(cells{legalName: "HARBOR LIGHT BAKERY, L.L.C."})}, repeat},
		{[]cells{aFormation, aFormation.with(anotherOfficer)}, contradict},
		{[]cells{aNewCompany, aNewCompany.with(cells{principalCity: "Dover", filingState: "CA"})}, contradict},
		{[]cells{aFormation, aFormation.with(cells{filingState: "NY"})}, apart},
		{[]cells{aFormation, aFormation.with(cells{userEmail: "bo@example.com"})}, contradict},
		{[]cells{anEINOrder, anEINOrder.with(cells{filingState: "NY"})}, contradict},
		{[]cells{anEINOrder, anEINOrder.with(cells{companyID: "comp_2"})}, apart},
		{[]cells{aQualification, aQualification.with(cells{orderAgent: "yes"})}, apart},
		{[]cells{aQualification.with(cells{orderAgent: "yes"}), aQualification}, apart},
		{[]cells{aNewCompany, aNewCompany.with(cells{legalName: "Harbor Light Bakery, LLC"})}, repeat},
		{[]cells{aNewCompany, aNewCompany.with(cells{formationState: "NV"})}, apart},
		{[]cells{appointment, appointment.with(cells{changeOfAgent: "yes"})}, contradict},
	} {
		text, _ := csvOf(c.rows...)
		im := opened(t, saved(t, "in.csv", text), Options{})
		if got := resultsOf(t, im); got != c.want {
			t.Errorf("%v: %s, want %s: %s", c.rows[1], got, c.want, rowsOf(t, im)[1].message)
		}
	}
}

// A company with an officer in each of several rows is not formed with one of them.
func TestAnOfficerARow(t *testing.T) {
	other := aFormation.with(cells{firstOfficer + officerFirstName: "Marcus", firstOfficer + officerPrimary: "no"})
	for _, all := range [][]cells{{aFormation, other}, {other, aFormation}} {
		text, _ := csvOf(all...)
		for _, r := range rowsOf(t, opened(t, saved(t, "in.csv", text), Options{})) {
			if r.result != filing.Invalid {
				t.Errorf("row %d is %s", r.number, r.result)
			}
		}
	}
}

// Social Security numbers travel in the order alone: not in problems, notes,
// messages, the marked workbook or the ledger's cells, even where a cell has
// slipped out of its column.
func TestSecretsOfOrders(t *testing.T) {
	rows := []cells{
		anEINOrder,
		anEINOrder.with(cells{companyID: "comp_2", partySSN: "078051120", partyPhone: "5"}),
		anEINOrder.with(cells{companyID: "comp_3", partySSN: "78051120"}),
		anEINOrder.with(cells{companyID: "comp_4", partySSN: "0780511201"}),
		anEINOrder.with(cells{companyID: "comp_5", partyPhone: "078-05-1120", partySSN: ""}),
		anEINOrder.with(cells{companyID: "comp_6", partyPhone: "078051120", partySSN: "Member"}),
		anEINOrder.with(cells{companyID: "comp_7", w2Expected: "078051120"}),
		anEINOrder.with(cells{companyID: "comp_8", partyIsForeign: "yes"}),
		anEINOrder.with(cells{
			companyID:       "comp_9",
			businessPurpose: "Bakery of 078-05-1120",
			partyPhone:      "078\u201305\u20131120",
		}),
		anEINOrder.with(cells{companyID: "comp_10", applicationReason: "for 078 05 1120, her number"}),
	}
	text, order := csvOf(rows...)
	text += strings.Repeat("x,", len(order)) + "078051120\n"
	im := opened(t, saved(t, "in.csv", text), Options{})
	for _, r := range rowsOf(t, im) {
		if r.result == filing.Ready && r.request.Order.EIN.ResponsiblePartySSN != "078051120" {
			t.Errorf("row %d: the order lost its number", r.number)
		}
	}
	said := saidOf(t, im)
	for _, secret := range []string{"078-05-1120", "078\u201305\u20131120", "078 05 1120", "078051120", "78051120",
		"0780511201"} {
		if i := strings.Index(said, secret); i >= 0 {
			t.Errorf("%s is shown: %s", secret, said[max(0, i-200):i+40])
		}
	}
	if !strings.Contains(said, "***-**-1120") {
		t.Error("the last four digits are not shown")
	}
}

// saidOf returns all that is said, written and kept of a sheet, but for its orders.
func saidOf(t *testing.T, im *Import) string {
	var said strings.Builder
	for _, r := range rowsOf(t, im) {
		fmt.Fprintln(&said, r.message, r.problems)
	}
	marked := filepath.Join(t.TempDir(), "marked.xlsx")
	if err := im.WriteChecked(t.Context(), marked); err != nil {
		t.Fatal(err)
	}
	kept := &keeper{}
	if _, _, err := im.Record(t.Context(), kept, ""); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&said, "%s %+v\n", cellsOf(t, marked), kept.batch)
	for _, r := range kept.rows {
		fmt.Fprintln(&said, string(r.Cells), r.Message, r.Faults)
	}
	fmt.Fprintln(&said, im.Notes(), im.ColumnSummary(), im.Columns(), im.Sheet(), im.file.Name())
	return said.String()
}

// keeper keeps what is recorded.
type keeper struct {
	batch ledger.Batch
	rows  []ledger.Row
}

func (k *keeper) CreateBatch(_ context.Context, b ledger.Batch) (bool, error) {
	k.batch = b
	return true, nil
}

func (k *keeper) AddRows(_ context.Context, _ string, rows []ledger.Row) error {
	k.rows = append(k.rows, rows...)
	return nil
}

// A row is skipped only for one that orders all of it, for the same company by the same words: an
// earlier row that is held or refused would take it along.
func TestNoRepeatOfWhatMayNotBeBought(t *testing.T) {
	report := cells{companyID: "comp_1", legalName: "Acme LLC", entityType: "LLC", formationState: "DE",
		userID: "user_1", filingState: "DE", filingYear: "2026"}
	for name, rows := range map[string][]cells{
		"a part":           {aQualification.with(cells{orderAgent: "yes"}), aQualification},
		"a name":           {report.with(cells{legalName: ""}), report},
		"a confirmed name": {report, report.with(cells{confirmedName: "Acme Inc."})},
		"an entity type":   {report.with(cells{entityType: ""}), report},
	} {
		text, _ := csvOf(rows...)
		if got := resultsOf(t, opened(t, saved(t, "in.csv", text), Options{})); got != "ready ready" {
			t.Errorf("%s: %s", name, got)
		}
	}
}
