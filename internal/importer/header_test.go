package importer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

func TestHeaderWordings(t *testing.T) {
	for header, want := range map[string]columnID{
		"Company ID": companyID, "companyId": companyID, "COMPANY_ID": companyID, " company  id ": companyID,
		"Company Slug": companyID,
		"Entity Name":  legalName, "Company": legalName, "legalName": legalName,
		"Jurisdiction": filingState, "filingState": filingState,
		"Report Year": filingYear, "annualReport.filingYear": filingYear, "Year": filingYear,
		"RA": orderAgent, "Order Our Registered Agent": orderAgent, "registeredAgent": orderAgent,
		"isChangeOfAgent": changeOfAgent, "registeredAgent.isChangeOfAgent": changeOfAgent,
		"Change of Agent?": changeOfAgent,
		"RA Zip":           agentZIP, "Agent Postal Code": agentZIP,
		"annualReport.registeredAgent.addressZip": agentZIP, "Registered Agent Street Address": agentStreet,
		"Agent Name": agentCompanyName, "RA First Name": agentFirstName,
		"E-mail": userEmail, "Email": userEmail, "email": userEmail, "fullName": userName, "userId": userID,
		"State of Incorporation": formationState, "formationState": formationState, "Date Formed": formationDate,
		"Zip": principalPostalCode, "Street": principalLine1, "Mailing Zip": mailingPostalCode,
		"principalAddress.line1": principalLine1,
		"SSN":                    partySSN, "Officer 2 ZIP": firstOfficer + 12 + 10,
		"Entity #": none, "Entity No.": none, "Entity Number": none, "Entity ID": none, "Company #": none,
		"Company No.": none, "Company Nr": none, "Client #": chargeClient,
		"User #": none, "User Num": none, "Year #": none, "State #": none, "State ID": none, "Filing State No": none,
		"Client No.":   chargeClient,
		"Company ID #": companyID, "User ID No.": userID, "Phone #": userPhone, "Phone No.": userPhone,
		"SSN #": partySSN, "Suite #": principalLine2, "Officer #1 Title": firstOfficer + officerTitle,
		"Client Name": legalName, "Customer": legalName, "Customer Name": legalName, "Type": entityType,
		"Yr":     filingYear,
		"Client": chargeClient, "Matter": chargeMatter, "Bill To": billTo, "Reference": chargeReference,
		"Expedited (yes/no)": none,
		"EIN":                none, "Notes": none, "Filing Status": none, "Компания": none, "": none,
	} {
		m, err := newMatcher(&Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.means(header).column; got != want {
			t.Errorf("%q means column %d, want %d", header, got, want)
		}
	}
}

// Every header of the table means its own column, and no wording means two.
func TestColumnTable(t *testing.T) {
	for id := range columnID(len(columns)) {
		c := &columns[id]
		if w := wordings[filing.FoldName(c.header)]; w.column != id || w.strength != exact {
			t.Errorf("%s: %+v", c.header, w)
		}
		if c.about == "" || c.rule == "" || c.field == "" {
			t.Errorf("%s is not explained", c.header)
		}
		if !strings.Contains(c.header, "Officer") && !strings.Contains(ColumnTable(), "| `"+c.header+"` |") {
			t.Errorf("%s is not in the table of the README", c.header)
		}
		if got := columnOfField(c.field); got != id {
			t.Errorf("%s: field %s is column %d", c.header, c.field, got)
		}
		for _, a := range c.aliases {
			if w := wordings[filing.FoldName(a)]; w.column != id && w.strength == alias {
				t.Errorf("%q is a wording of %s and of %s", a, c.header, columns[w.column].header)
			}
		}
	}
}

// openCase is a case of TestOpen.
type openCase struct {
	why     string
	text    string
	options Options
	columns []string
	product filing.Product
	note    string // a part of one of the notes
	not     string // what no note has in it
	err     string // a part of the error
}

// A sheet's header is found, or refused with an error that says what to do.
func TestOpen(t *testing.T) {
	const rest = ",User Email,Filing State,Filing Year\n"
	const row = ",a@example.com,DE,2026\n"
	for _, c := range []openCase{
		{
			why:     "plain",
			text:    "Company ID" + rest + "comp_1" + row,
			columns: []string{"Company ID", "User Email", "Filing State", "Filing Year"},
			product: filing.AnnualReport,
			note:    "Detected: annual report",
		},
		{
			why: "groups above",
			text: "Company,,,,Registered Agent,,,\nID,Legal Name,Filing State,Filing " +
				"Year,Name,Street,City,ZIP\ncomp_1,Acme,DE,2026\n",
			columns: []string{"Company ID", "Legal Name", "Filing State", "Filing Year", "Registered Agent Name",
				"Registered Agent Street", "Registered Agent City", "Registered Agent ZIP"},
			product: filing.AnnualReport,
		},
		{
			why:     "merged with the row above",
			text:    "Company ID,Filing State,Filing Year,Agent,\n,,,Street,City\ncomp_1,DE,2026,a,b\n",
			columns: []string{"Company ID", "Filing State", "Filing Year", "Agent Street", "Agent City"},
			product: filing.AnnualReport,
		},
		{
			why:     "only a list of companies",
			text:    "Company ID\ncomp_1\n",
			options: Options{State: "de", FilingYear: "2026", User: "user_1"},
			columns: []string{"Company ID"},
			product: filing.AnnualReport,
		},
		{
			why:     "agent change by its column",
			text:    "Company ID,User Email,State,Change Of Agent\ncomp_1,a@example.com,DE,yes\n",
			product: filing.AgentChange,
		},
		{
			why:     "new agents by their column",
			text:    "Company ID,User Email,State,Order Registered Agent\ncomp_1,a@example.com,DE,yes\n",
			product: filing.RegisteredAgent,
		},
		{
			why:  "annual report or agent change",
			text: "Company ID,State,Year,Change Of Agent\ncomp_1,DE,2026,yes\n",
			err:  "agent-change, annual-report",
		},
		{why: "nothing tells the product", text: "Company ID,Legal Name,State\ncomp_1,Acme,DE\n", err: "--product"},
		{
			why:     "unknown product",
			text:    "Company ID\ncomp_1\n",
			options: Options{Product: "annual"},
			err:     `no product "annual"`,
		},
		{why: "unknown state option", text: "Company ID\n", options: Options{State: "Delawere"}, err: "not a US state"},
		{why: "user option", text: "Company ID\n", options: Options{User: "ana"}, err: "neither a user id"},
		{
			why:  "several columns of one name",
			text: "Company ID,Filing State,Filing Year,Filing State\ncomp_1,DE,2026,NY\n",
			err:  `"Filing State" (B1), "Filing State" (D1)`,
		},
		{
			why:  "four columns headed State",
			text: "Company ID,Filing Year,State,State,State,State\ncomp_1,2026,DE,DE,DE,DE\n",
			err:  "(C1)",
		},
		{
			why:     "our header wins over another wording",
			text:    "Company ID,Filing Year,Jurisdiction,Filing State\ncomp_1,2026,NY,DE\n",
			product: filing.AnnualReport,
			note:    `"Jurisdiction" (C1)`,
		},
		{
			why:     "State beside an address is not the filing state",
			text:    "Company ID,Filing Year,Street,City,State,Zip\ncomp_1,2026,a,b,NY,10001\n",
			product: filing.AnnualReport,
			note:    "No column gives the Filing State",
		},
		{
			why:     "State beside an address, and companies of one state",
			text:    "Company ID,Filing Year,Street,City,State,Zip\ncomp_1,2026,a,b,NY,10001\n",
			options: Options{State: "DE"},
			err:     `--map "State=Filing State"`,
		},
		{
			why: "a state before the addresses is the filing state",
			text: "Company ID,State,Filing Year,Agent Street,City,State,Zip,Mailing " +
				"Address,City,State,Zip\ncomp_1,DE,2026\n",
			options: Options{State: "DE"},
			product: filing.AnnualReport,
			note:    `"State" (F1) as Agent State`,
		},
		{
			why: "bare words behind the second address alone",
			text: "Company ID,Filing State,Filing Year,Principal Address,Principal City,Principal " +
				"State,Principal Zip,Mailing Address,City,State,Zip\ncomp_1,DE,2026\n",
			product: filing.AnnualReport,
			note:    `"City" (I1) as Mailing City, "State" (J1) as Mailing State`,
		},
		{
			why:     "bare words that lose are named",
			text:    "Company ID,Filing State,Filing Year,Address,City,Zip,Email,City,Zip\ncomp_1,DE,2026\n",
			product: filing.AnnualReport,
			note:    `Not used: "City" (H1), "Zip" (I1)`,
		},
		{
			why:     "results of a list without headers, as CSV",
			text:    "Company ID,Filing State,Result,Message,Order IDs\ncomp_1,DE,invalid,x,\n",
			options: Options{HeaderRow: NoHeader, FilingYear: "2026", Map: map[string]string{"A:A": "Company ID"}},
			columns: []string{"Company ID", "Filing State", "Result", "Message", "Order IDs"},
			product: filing.AnnualReport,
		},
		{
			why:     "a near miss is suggested",
			text:    "Company ID,Filing Year,Filing State,Legl Nam\ncomp_1,2026,DE\n",
			product: filing.AnnualReport,
			note:    `--map "Legl Nam=Legal Name"`,
		},
		{
			why:  "a near miss of what every row needs",
			text: "Compnay ID,Filing Year,Filing State\ncomp_1,2026,DE\n",
			err:  `--map "Compnay ID=Company ID"`,
		},
		{
			why:     "mapped from another alphabet",
			text:    "Компания,Filing Year,Filing State\ncomp_1,2026,DE\n",
			options: Options{Map: map[string]string{"Компания": "companyId"}},
			product: filing.AnnualReport,
		},
		{
			why:     "mapped to nothing",
			text:    "Company ID,Filing Year,Filing State,Filing State\ncomp_1,2026,DE\n",
			options: Options{Map: map[string]string{"Filing State": ""}, State: "DE"},
			product: filing.AnnualReport,
		},
		{
			why:     "mapped by its letter",
			text:    "Nr,Filing Year,Filing State,Filing State\ncomp_1,2026,DE,NY\n",
			options: Options{Map: map[string]string{"a:A": "Company ID", "D:D": ""}},
			columns: []string{"Nr", "Filing Year", "Filing State", "Filing State"},
			product: filing.AnnualReport,
		},
		{
			why:     "behind the last header, mapped by its letter",
			text:    "Filing Year,Filing State\n2026,DE,comp_1\n",
			options: Options{Map: map[string]string{"C:C": "Company ID"}},
			columns: []string{"Filing Year", "Filing State", ""},
			product: filing.AnnualReport,
		},
		{
			why:     "a letter says nothing of where the header is",
			text:    "Nr,Staat\ncomp_1,DE\n",
			options: Options{Map: map[string]string{"A:A": "Company ID", "B:B": "Filing State"}},
			err:     "Choose the header row with --header-row",
		},
		{
			why:     "a letter that the sheet does not have",
			text:    "Company ID,Filing Year,Filing State\ncomp_1,2026,DE\n",
			options: Options{Map: map[string]string{"H:H": "User ID"}},
			err:     "names column H, but the last column of the sheet is C",
		},
		{
			why:  "two of one name, and the letter of one is told",
			text: "Company ID,Filing State,Filing Year,Filing State\ncomp_1,DE,2026,NY\n",
			err:  `--map "D:D="`,
		},
		{
			why:  "a header row that was said",
			text: "Company ID,Filing State,Filing Year\nNr,Staat,Jahr\ncomp_1,DE,2026\n",
			options: Options{
				HeaderRow: 2,
				Product:   filing.AnnualReport,
				Map:       map[string]string{"Nr": "Company ID", "B:B": "Filing State"},
			},
			columns: []string{"Nr", "Staat", "Jahr"},
			product: filing.AnnualReport,
			note:    "ATTENTION: row 1 looks like the header row. It and everything above row 2 are not read",
		},
		{
			why:     "a header row that has nothing we know",
			text:    "Company ID,Filing State,Filing Year\ncomp_1,DE,2026\ncomp_2,DE,2026\n",
			options: Options{HeaderRow: 2},
			err:     "row 2 has no recognized headers",
		},
		{
			why:  "no header",
			text: "comp_1,DE,x\ncomp_2,DE,x\n",
			options: Options{
				HeaderRow:  NoHeader,
				FilingYear: "2026",
				Map:        map[string]string{"A:A": "Company ID", "B:B": "Filing State"},
			},
			columns: []string{"Company ID", "Filing State", "Column C"},
			product: filing.AnnualReport,
			note:    "Not used: column C.",
		},
		{
			why:     "no header, and nothing said of the columns",
			text:    "comp_1,DE\n",
			options: Options{HeaderRow: NoHeader, FilingYear: "2026"},
			err:     `--map "A:A=Company ID"`,
		},
		{
			why:     "no header, and a header named",
			text:    "comp_1,DE\n",
			options: Options{HeaderRow: NoHeader, Map: map[string]string{"Nr": "Company ID"}},
			err:     "name the column instead, such as A:A",
		},
		{
			why:  "no header, and two for one column",
			text: "comp_1,DE\n",
			options: Options{
				HeaderRow:  NoHeader,
				FilingYear: "2026",
				Map:        map[string]string{"A:A": "Company ID", "B:B": "Company ID"},
			},
			err: "B:B=",
		},
		{why: "a row too far down", text: "Company ID\n", options: Options{HeaderRow: 31}, err: "1 to 30"},
		{
			why: "an agent's address beside the company's",
			text: "Company ID,Filing Year,Filing State,Street,City,State,Zip,Agent Name,Agent " +
				"Street,City,State,Zip\ncomp_1,2026,DE\n",
			product: filing.AnnualReport,
			note:    `"City" (J1) as Agent City, "State" (K1) as Agent State, "Zip" (L1) as Agent ZIP`,
		},
		{
			why:  "two addresses headed alike",
			text: "Legal Name,Entity Type,State,Address,City,Zip,Address,City,Zip,Officer 1 Title\nAcme,LLC,DE\n",
			err:  `match Principal Line 1: "Address" (D1), "Address" (G1)`,
		},
		{
			why:     "mapped to no column of ours",
			text:    "Company ID\n",
			options: Options{Map: map[string]string{"a": "Compny ID"}},
			err:     `did you mean "Company ID"`,
		},
		{why: "another language", text: "Firma,Staat,Jahr\nAcme,DE,2026\n", err: `row 1 with "Firma", "Staat", "Jahr"`},
		{
			why: "a number of the client's own beside its name",
			text: "Client Name,Entity #,Entity Type,State,Email,Officer 1 Title\nHarbor Light Bakery " +
				"LLC,1001,LLC,DE,a@example.com,Member\n",
			product: filing.Formation,
			note:    `Not used: "Entity #" (B1).`,
		},
		{
			why:     "a number of one's own is not the Company ID",
			text:    "Company No.,State,Year,User ID\n1,DE,2026,user_1\n2,DE,2026,user_1\n",
			product: filing.AnnualReport,
			note:    "No column gives the Company ID",
		},
		{
			why:  "company ids under a header of one's own",
			text: "Company No.,State,Year,User ID\ncomp_1,DE,2026,user_1\n",
			err:  `"Company No." (A1) contains only such values`,
		},
		{
			why:     "the values speak against a near miss",
			text:    "Compnay ID,Filing Year,Filing State\n1,2026,DE\n",
			product: filing.AnnualReport,
			note:    `Not used: "Compnay ID" (A1)`,
		},
		{
			why: "an address of another kind is not suggested",
			text: "Company ID,Billing Street,Billing City,Billing State,Shipping " +
				"State,Year\ncomp_1,a,b,NY,NY,2026\n",
			product: filing.AnnualReport,
			note:    "No column gives the Filing State: add it",
		},
		{
			why:     "a name is no hint at an SSN",
			text:    "Company ID,Responsible Party,State,Year\ncomp_1,Ana Silva,DE,2026\n",
			product: filing.AnnualReport,
			note:    `Not used: "Responsible Party" (B1).`,
		},
		{
			why:     "the type beside a name",
			text:    "Company Name,Type,State,Email,Officer 1 Title\nAcme LLC,LLC,DE,a@example.com,Member\n",
			product: filing.Formation,
			not:     "Type",
		},
		{
			why:     "a name said better",
			text:    "Company ID,Client Name,Legal Name,State,Year\ncomp_1,Ana,Acme LLC,DE,2026\n",
			product: filing.AnnualReport,
			note:    `Not used: "Client Name" (B1).`,
		},
		{
			why:     "the columns of the charges are not sent, and nothing is said of them",
			text:    "Company ID,Client,Matter,Bill To,Reference,State,Year\ncomp_1,a,b,c,d,DE,2026\n",
			product: filing.AnnualReport,
			not:     "Not used",
		},
		{
			why:     "names under Client",
			text:    "Client,Entity Type,State,Email,Officer 1 Title\nAcme LLC,LLC,DE,a@example.com,Member\n",
			product: filing.Formation,
			note:    `--map "Client=Legal Name"`,
		},
		{why: "no rows", text: "Company ID" + rest, err: "no rows below the header in row 1"},
		{
			why:     "no such column",
			text:    "Company ID,Filing Year,Filing State\ncomp_1,2026,DE\n",
			product: filing.AnnualReport,
			note:    "No column gives the User ID or the User Email",
		},
		{
			why: "our answers are passed over",
			text: "Company ID,Filing Year,Filing State,Result,Message,Order IDs,Filing Status,Filing " +
				"Date,Cost,Attempts,Updated At,Subscription\ncomp_1,2026,DE\n",
			product: filing.AnnualReport,
			not:     "Not used",
		},
		{why: "a CSV has no sheets", text: "Company ID" + rest, options: Options{Sheet: "June"}, err: "--sheet"},
		{
			why:     "agents in a sheet of agent changes",
			text:    "Company ID,State,Change Of Agent,Agent Company Name\ncomp_1,DE,yes,Acme Agents\n",
			product: filing.AgentChange,
			note:    "service's own agent",
		},
	} {
		t.Run(c.why, c.run)
	}
}

func (c openCase) run(t *testing.T) {
	o := c.options
	o.Now = july
	im, err := Open(saved(t, "in.csv", c.text), o)
	if c.err != "" {
		if err == nil {
			im.Close()
			t.Fatalf("no error; %q", im.Notes())
		}
		if !strings.Contains(err.Error(), c.err) {
			t.Fatalf("%v\nwant %s", err, c.err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer im.Close()
	if c.columns != nil && !slices.Equal(im.Columns(), c.columns) {
		t.Errorf("columns %q", im.Columns())
	}
	if im.Product() != c.product {
		t.Errorf("product %s", im.Product())
	}
	if c.note != "" && !slices.ContainsFunc(im.Notes(),
		func(n string) bool { return strings.Contains(n, c.note) }) {
		t.Errorf("notes %q", im.Notes())
	}
	if c.not != "" && slices.ContainsFunc(im.Notes(),
		func(n string) bool { return strings.Contains(n, c.not) }) {
		t.Errorf("notes %q", im.Notes())
	}
}

// Of several sheets, none is read silently in place of the others.
func TestSheets(t *testing.T) {
	header := texts("Company ID", "User Email", "Filing State", "Filing Year", "Legal Name")
	row := texts("comp_1", "a@example.com", "DE", "2026", "Acme LLC")
	filings := [][]sheet.OutCell{header, row}
	empty := [][]sheet.OutCell{header}
	prose := [][]sheet.OutCell{texts("Read me"), texts("This workbook was made in June.")}
	for _, c := range []struct {
		why    string
		tabs   []tab
		named  string
		header HeaderRow
		sheet  string
		note   string
		err    string
	}{
		{why: "one", tabs: []tab{{name: "June", rows: filings}}, sheet: "June"},
		{
			why:   "with a sheet of prose",
			tabs:  []tab{{name: "Read me", rows: prose}, {name: "June", rows: filings}},
			sheet: "June",
		},
		{
			why:   "with an empty copy",
			tabs:  []tab{{name: "Blank", rows: empty}, {name: "June", rows: filings}},
			sheet: "June",
		},
		{why: "two", tabs: []tab{{name: "June", rows: filings}, {name: "July", rows: filings}}, err: `"June", "July"`},
		{
			why:   "two, one named",
			tabs:  []tab{{name: "June", rows: filings}, {name: "July", rows: filings}},
			named: "july",
			sheet: "July",
		},
		{why: "none of that name", tabs: []tab{{name: "June", rows: filings}}, named: "May", err: `It has "June"`},
		{
			why:   "hidden beside visible",
			tabs:  []tab{{name: "June", rows: filings}, {name: "Old", rows: filings, hidden: true}},
			sheet: "June",
			note:  `"Old"`,
		},
		{
			why:   "hidden, named",
			tabs:  []tab{{name: "June", rows: filings}, {name: "Old", rows: filings, hidden: true}},
			named: "Old",
			sheet: "Old",
		},
		{
			why:  "hidden alone",
			tabs: []tab{{name: "Read me", rows: prose}, {name: "Old", rows: filings, hidden: true}},
			err:  `--sheet "Old"`,
		},
		{
			why: "a legend that has two of our words",
			tabs: []tab{
				{name: "June", rows: filings},
				{name: "Legend", rows: [][]sheet.OutCell{texts("State", "Email"), texts("DE", "Delaware")}},
			},
			sheet: "June",
			note:  `"Legend"`,
		},
		{
			why:   "results fed back",
			tabs:  []tab{{name: "Results", rows: filings}, {name: "Needs Attention", rows: filings}},
			sheet: "Needs Attention",
			note:  "results workbook",
		},
		{
			why: "results without rows that need attention",
			tabs: []tab{
				{name: "Results", rows: filings},
				{name: "Needs Attention", rows: [][]sheet.OutCell{texts("No rows need attention.")}},
			},
			err: "in which no rows need attention",
		},
		{
			why:    "results of a file whose header row was said",
			header: 3,
			tabs:   []tab{{name: "Results", rows: filings}, {name: "Needs Attention", rows: filings}},
			sheet:  "Needs Attention",
		},
		{
			why:    "results of a list without headers",
			header: NoHeader,
			tabs:   []tab{{name: "Needs Attention", rows: filings}},
			sheet:  "Needs Attention",
		},
		{
			why:   "results by name",
			tabs:  []tab{{name: "Results", rows: filings}, {name: "Needs Attention", rows: filings}},
			named: "Results",
			sheet: "Results",
		},
		{
			why:  "prose alone",
			tabs: []tab{{name: "Read me", rows: prose}},
			err:  `row 1 with "Read me" in sheet "Read me"`,
		},
	} {
		t.Run(c.why, func(t *testing.T) {
			im, err := Open(workbook(t, c.tabs...), Options{Sheet: c.named, HeaderRow: c.header, Now: july})
			if c.err != "" {
				var format *sheet.FormatError
				if !errors.As(err, &format) || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("%v\nwant %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer im.Close()
			if im.Sheet() != c.sheet {
				t.Errorf("sheet %q", im.Sheet())
			}
			if c.note != "" && !slices.ContainsFunc(im.Notes(),
				func(n string) bool { return strings.Contains(n, c.note) }) {
				t.Errorf("notes %q", im.Notes())
			}
		})
	}
}

// The header may stand as deep as the rows that are looked at, and no deeper.
func TestHeaderDepth(t *testing.T) {
	text := func(above int) string {
		var b strings.Builder
		for i := range above {
			fmt.Fprintf(&b, "line %d of a long preface\n", i+1)
		}
		return b.String() + "Company ID,Filing State,Filing Year\ncomp_1,DE,2026\n"
	}
	if im := opened(t, saved(t, "in.csv", text(headRows-1)), Options{}); im.layout.row != headRows {
		t.Errorf("row %d", im.layout.row)
	}
	if _, err := Open(saved(t, "in.csv", text(headRows)), Options{}); err == nil {
		t.Error("found below the rows that are looked at")
	}
}

// A repeat is told where it stands, as a warning: the row is left out.
func TestRepeatIsTold(t *testing.T) {
	im := opened(t, saved(t, "in.csv",
		"Company ID,User ID,Filing State,Filing Year\ncomp_1,user_1,DE,2026\ncomp_1,user_2,de,2026\n"), Options{})
	var problems []Problem
	tally, err := im.Check(t.Context(), func(p Problem) error { problems = append(problems, p); return nil })
	if err != nil || tally.Skipped != 1 || len(problems) != 1 || problems[0].Rule != "row.repeat" ||
		problems[0].Row != 3 || problems[0].Severity != Warning {
		t.Errorf("%+v, %+v, %v", tally, problems, err)
	}
}
