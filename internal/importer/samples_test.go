package importer

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// newCompany is a company that a sample forms.
type newCompany struct {
	name, kind, structure, tax, state string
	officers                          []string // title of each; the first is primary
	agent                             int      // 0: ordered; else one of suppliers
	ein, expedited                    bool
	others                            string // alternative names
}

var formations = []newCompany{
	{"Larkspur Lane Books LLC", "LLC", "MEMBER", "", "DE", []string{"Managing Member"}, 0, true, false,
		"Larkspur Books LLC; Larkspur & Lane LLC"},
	{"Tern & Tide Outfitters LLC", "LLC", "MEMBER", "", "FL", []string{"Member", "Member"}, 0, false, true, ""},
	{"Copperline Electric Inc.", "CORP", "", "S Corporation", "NY", []string{"President", "Secretary", "Treasurer"}, 0,
		true, false, ""},
	{"Año Nuevo Coffee LLC", "LLC", "MANAGER", "", "CA", []string{"Manager", "Member"}, 1, false, false, ""},
	{"O’Hara Marine Survey Corp", "CORP", "", "C Corporation", "DE", []string{"CEO", "CFO", "COO", "Vice President"},
		2, false, false, "O’Hara Survey Corp"},
	{"Wind River Fence LLC", "LLC", "MEMBER", "", "WY", []string{"Managing Member"}, 0, true, true, ""},
	{"Sagebrush Mobile Vet LLC", "LLC", "MEMBER", "", "NV", []string{"Member"}, 0, false, true, ""},
	{"Second Act Staging Inc.", "CORP", "", "C Corporation", "TX", []string{"President"}, 3, false, false, ""},
	{"Saguaro Shade Structures LLC", "LLC", "MANAGER", "", "AZ", []string{"Manager", "Manager", "Member"}, 0, false,
		true, ""},
	{"Blue Door Ceramics LLC", "LLC", "MEMBER", "", "NY", []string{"Managing Member", "Member"}, 0, true, false, ""},
	{"3 Rivers Cartage LLC", "LLC", "MEMBER", "", "PA", []string{"Member"}, 0, false, false, ""},
	{"Total Lawn & Leaf LLC", "LLC", "MEMBER", "", "DE", []string{"Member"}, 2, false, false, ""},
	{"Kestrel Flight Academy Inc.", "CORP", "", "S Corporation", "FL", []string{"President", "Vice President"}, 0,
		true, false, ""},
	{"Juniper & Rye Bakehouse LLC", "LLC", "MEMBER", "", "OR", []string{"Managing Member"}, 0, false, false,
		"Juniper and Rye LLC; Rye & Juniper LLC; Bakehouse on Main LLC"},
	{"Quiet Harbor Therapy LLC", "LLC", "MEMBER", "", "MA", []string{"Member"}, 0, false, false, ""},
	{"Meridian Tool Rental Corp", "CORP", "", "C Corporation", "DE", []string{"President", "Secretary"}, 2, false,
		false, ""},
	{"Lantern Street Films LLC", "LLC", "MANAGER", "", "CA", []string{"Manager", "Member", "Member", "Member"}, 1,
		true, false, ""},
	{"Prairie Dog Software Inc.", "CORP", "", "C Corporation", "DE", []string{"CEO"}, 0, true, false, ""},
	{"Zeppelin Bagels LLC", "LLC", "MEMBER", "", "NY", []string{"Member"}, 0, false, true, ""},
	{"Four Corners Surveying LLC", "LLC", "MEMBER", "", "AZ", []string{"Managing Member", "Member"}, 0, false,
		false, ""},
	{"Cold Spring Cidery LLC", "LLC", "MEMBER", "", "NY", []string{"Member", "Member", "Manager"}, 0, false, false, ""},
	{"Ponderosa Pest Control Inc.", "CORP", "", "S Corporation", "WY", []string{"President"}, 0, false, false, ""},
	{"Gulf Breeze Pilates LLC", "LLC", "MEMBER", "", "FL", []string{"Managing Member"}, 0, true, true, ""},
	{"Night Heron Press LLC", "LLC", "MEMBER", "", "DE", []string{"Member"}, 0, false, true, ""},
}

// suppliers are agents that companies of the samples have of their own: name,
// street, city, state, ZIP. A name of two words without an ending is a person.
var suppliers = [][5]string{
	1: {"Golden Bear Agents LLC", "1301 I Street", "Sacramento", "CA", "95814"},
	2: {"First State Agents Inc.", "200 Continental Drive", "Newark", "DE", "19713"},
	3: {"Ruth Clay", "801 Brazos Street", "Austin", "TX", "78701"},
}

// offices are addresses by state: street, city, ZIP.
var offices = map[string][3]string{
	"AZ": {"40 N Central Avenue", "Phoenix", "85004"}, "CA": {"500 Mission Street", "San Francisco", "94105"},
	"DE": {"12 Market Street", "Wilmington", "19801"},
	"FL": {"88 Duval Street", "Key West", "33040"}, "MA": {"7 Water Street", "Boston", "02109"},
	"NV": {"310 Las Vegas Boulevard", "Las Vegas", "89101"},
	"NY": {"9 Mercer Street", "New York", "10013"}, "OR": {"24 NW 23rd Avenue", "Portland", "97210"},
	"PA": {"600 Grant Street", "Pittsburgh", "15219"},
	"TX": {"1100 Congress Avenue", "Austin", "78701"}, "WY": {"30 N Gould Street", "Sheridan", "82801"},
	"NJ": {"1 Riverfront Plaza", "Newark", "07102"},
}

// people are those who own, run and answer for the companies of the samples.
var people = [][2]string{
	{"Ana", "Silva"}, {"Marcus", "Bell"}, {"Priya", "Raman"}, {"Declan", "O’Neill"}, {"Grace", "Okafor"},
	{"Zoë", "Marchand"}, {"Tom", "Whitfield"}, {"Wei", "Zhang"},
}

// specimens are Social Security numbers that were printed in advertisements and
// belong to no one.
var specimens = [2]string{"078-05-1120", "219-09-9999"}

// einAnswers are the cells of an EIN application, in the order of einDetails.
func einAnswers(i int) []string {
	person := people[i%len(people)]
	answers := []string{
		[]string{"Consulting", "Retail", "Real Estate", "Finance"}[i%4],
		[]string{"Bookkeeping for small firms", "Sells garden tools", "Lets and manages houses",
			"Advises on loans"}[i%4],
		[]string{"Started a new business", "Banking purposes", "Hired employee(s)", "Changed type of organization",
			"Purchased active business"}[i%5],
		"no", "no", "no", "no", "no", "no", "0", "0", "", person[0], person[1], "Managing Member", specimens[i%2],
		"(302) 555-0142", "no",
	}
	switch {
	case i%4 == 2: // employees
		answers[8], answers[10], answers[11] = "yes", "3", "2026-09-01"
	case i%7 == 5: // a foreign party
		answers[15], answers[16], answers[17] = "", "+44 20 7946 0958", "yes"
	}
	return answers
}

func headersOf(ids []columnID) (all []string) {
	for _, id := range ids {
		all = append(all, columns[id].header)
	}
	return all
}

// writeSheet makes a workbook of one sheet of texts. Dates stay dates.
func writeSheet(t *testing.T, path, name, title string, header []string, rows [][]string) {
	book, err := sheet.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer book.Abort()
	widths := make([]float64, len(header))
	text := make([]int, len(header))
	for i, h := range header {
		widths[i], text[i] = float64(min(max(len(h)+3, 12), 30)), i
	}
	s, err := book.Sheet(name, sheet.SheetOptions{Widths: widths, HeaderRows: 3, TextColumns: text})
	if err != nil {
		t.Fatal(err)
	}
	write := func(cells ...sheet.OutCell) {
		t.Helper()
		if err := s.Row(cells...); err != nil {
			t.Fatal(err)
		}
	}
	write(sheet.Str(title).WithStyle(sheet.StyleTitle))
	write()
	heading := texts(header...)
	for i := range heading {
		heading[i].Style = sheet.StyleHeader
	}
	write(heading...)
	for _, row := range rows {
		cells := make([]sheet.OutCell, len(row))
		for i, value := range row {
			if value == "" {
				continue
			}
			cells[i] = sheet.Str(value)
			if day, err := time.Parse(time.DateOnly, value); err == nil {
				cells[i] = sheet.Time(day)
			}
		}
		write(cells...)
	}
	if err := book.Save(); err != nil {
		t.Fatal(err)
	}
}

// makeFormations makes companies of one to four officers, with agents ordered
// and supplied, some with an EIN and some expedited.
func makeFormations(t *testing.T, path string) {
	header := slices.Concat(
		headersOf([]columnID{legalName, alternativeNames, entityType, structureType, taxElection, fiscalEndMonth,
			filingState, expedited, userEmail, userName, userPhone}),
		headersOf([]columnID{principalLine1, principalLine2, principalCity, principalState, principalPostalCode,
			orderAgent}),
		headersOf([]columnID{agentType, agentCompanyName, agentFirstName, agentLastName, agentStreet, agentCity,
			agentState, agentZIP}),
		headersOf(officersOf(4)), []string{"Order EIN"}, headersOf(einDetails))
	var rows [][]string
	for i, f := range formations {
		office, owner := offices[f.state], people[i%len(people)]
		row := []string{
			f.name, f.others, f.kind, f.structure, f.tax, []string{"December", "June", "Sep", ""}[i%4], f.state,
			yesNo(f.expedited),
			fmt.Sprintf("%s@%s.example", strings.ToLower(strings.Map(plainLetter, owner[0])),
				strings.Map(plainLetter, strings.ToLower(f.name))), owner[0] + " " + owner[1],
			fmt.Sprintf("(302) 555-01%02d", 40+i),
			office[0], []string{"", "Suite 4"}[i%2], office[1], f.state, office[2], yesNo(f.agent == 0),
		}
		row = append(row, agentCells(f.agent)...)
		for n := range 4 {
			cells := make([]string, officerColumnCount)
			if n < len(f.officers) {
				person := people[(i+n)%len(people)]
				cells = []string{"PERSON", person[0], person[1], "", f.officers[n], yesNo(n == 0), office[0], "",
					office[1], f.state, office[2], "US"}
				if n == 2 && f.kind == "LLC" {
					cells[0], cells[1], cells[2], cells[3] = "COMPANY", "", "", "Tern Holdings Inc."
				}
				if n == 3 {
					copy(cells[6:], []string{"100 Queen Street West", "", "Toronto", "ON", "M5H 2N2", "CA"})
				}
			}
			row = append(row, cells...)
		}
		if row = append(row, yesNo(f.ein)); f.ein {
			row = append(row, einAnswers(i)...)
		}
		rows = append(rows, row)
	}
	writeSheet(t, path, "Formations 2026", "New companies, autumn 2026", header, rows)
}

// agentCells are the Agent columns of a supplier; blank for none.
func agentCells(which int) []string {
	cells := make([]string, 8)
	if which == 0 {
		return cells
	}
	s := suppliers[which]
	cells[0], cells[1] = "COMPANY", s[0]
	if first, last, found := strings.Cut(s[0], " "); found && !endsAsCompany(s[0]) {
		cells[0], cells[1], cells[2], cells[3] = "PERSON", "", first, last
	}
	copy(cells[4:], s[1:])
	return cells
}

// makeQualifications makes a list of companies that go into other states: with
// an agent on record, ordered and supplied.
func makeQualifications(t *testing.T, path string) {
	header := headersOf(templates["foreign-qualification"].columns)
	states := []string{"NY", "CA", "TX", "NJ", "FL", "PA"}
	var rows [][]string
	for i := range 18 {
		c := sampleCompanies[i]
		state := states[i%len(states)]
		agent := 0
		switch state {
		case "CA":
			agent = 1
		case "TX":
			agent = 3
		}
		row := []string{
			companyIDOf(c.name), c.name, c.kind, "DE", c.contact, c.owner, fmt.Sprintf("(302) 555-01%02d", 10+i),
			state, "yes", yesNo(agent == 0 && i%3 != 2),
		}
		rows = append(rows, append(row, agentCells(agent)...))
	}
	writeSheet(t, path, "Foreign Qualifications", "Into other states", header, rows)
}

func makeEINs(t *testing.T, path string) {
	header := slices.Concat(headersOf([]columnID{companyID, legalName, userEmail, userName, userPhone, filingState}),
		headersOf(einDetails))
	var rows [][]string
	for i := range 20 {
		c := sampleCompanies[20+i]
		rows = append(rows, append([]string{companyIDOf(c.name), c.name, c.contact, c.owner,
			fmt.Sprintf("(302) 555-01%02d", 50+i), "DE"}, einAnswers(i)...))
	}
	writeCSV(t, path, header, rows)
}

func makeRegisteredAgents(t *testing.T, path string) {
	header := headersOf(templates["registered-agent"].columns)
	states := []string{"DE", "NJ", "Texas", "ca"}
	var rows [][]string
	for i := range 16 {
		c := sampleCompanies[40+i]
		rows = append(rows, []string{companyIDOf(c.name), c.name, c.contact, c.owner,
			fmt.Sprintf("302-555-01%02d", 70+i), states[i%len(states)], "yes"})
	}
	writeCSV(t, path, header, rows)
}

func writeCSV(t *testing.T, path string, header []string, rows [][]string) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if err := errors.Join(w.Write(header), w.WriteAll(rows), os.WriteFile(path, b.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func yesNo(is bool) string {
	if is {
		return yes
	}
	return no
}

func plainLetter(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z':
		return r
	case r == 'ë':
		return 'e'
	case r == 'ñ':
		return 'n'
	}
	return -1
}
