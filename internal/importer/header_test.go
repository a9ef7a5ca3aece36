package importer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

func TestHeaderWordings(t *testing.T) {
	for header, want := range map[string]columnID{
		"Company ID": companyID, "companyId": companyID, "COMPANY_ID": companyID, " company  id ": companyID,
		"Company Slug": companyID,
		"Entity Name":  legalName, "Company": legalName, "legalName": legalName,
		"Jurisdiction": none, "filingState": filingState,
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
func TestColumnsComplete(t *testing.T) {
	for id := range columnID(len(columns)) {
		c := &columns[id]
		if w := wordings[filing.FoldName(c.header)]; w.column != id || w.strength != exact {
			t.Errorf("%s: %+v", c.header, w)
		}
		if c.about == "" || c.rule == "" || c.field == "" {
			t.Errorf("%s is not explained", c.header)
		}
		if !strings.Contains(c.header, "Officer") && !strings.Contains(columnTable(), "| `"+c.header+"` |") {
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
	why, text string
	options   Options
	product   filing.Product // "" if the sheet is refused
	// says is part of the error or of a note. Behind "not: " it is in no note.
	says    string
	columns []string // nil if they do not matter
}

// A sheet's header is found, or refused with an error that says what to do.
func TestOpen(t *testing.T) {
	const rest = ",User Email,Filing State,Filing Year\n"
	const row = ",a@example.com,DE,2026\n"
	for _, c := range []openCase{
		{"plain", "Company ID" + rest + "comp_1" + row, Options{}, filing.AnnualReport, "Detected: annual report",
			[]string{"Company ID", "User Email", "Filing State", "Filing Year"}},
		{"groups above",
			"Company,,,,Registered Agent,,,\nID,Legal Name,Filing State,Filing Year,Name,Street,City," +
				"ZIP\ncomp_1,Acme,DE,2026\n", Options{}, filing.AnnualReport, "",
			[]string{"Company ID", "Legal Name", "Filing State", "Filing Year", "Registered Agent " +
				"Name", "Registered Agent Street", "Registered Agent City", "Registered Agent ZIP"}},
		{"merged with the row above",
			"Company ID,Filing State,Filing Year,Agent,\n,,,Street,City\ncomp_1,DE,2026,a,b\n", Options{},
			filing.AnnualReport, "",
			[]string{"Company ID", "Filing State", "Filing Year", "Agent Street", "Agent City"}},
		{"only a list of companies", "Company ID\ncomp_1\n",
			Options{State: "de", FilingYear: "2026", User: "user_1"}, filing.AnnualReport, "",
			[]string{"Company ID"}},
		{"agent change by its column", "Company ID,User Email,State,Change Of Agent\ncomp_1,a@example.com,DE,yes\n",
			Options{}, filing.AgentChange, "", nil},
		{"new agents by their column",
			"Company ID,User Email,State,Order Registered Agent\ncomp_1,a@example.com,DE,yes\n", Options{},
			filing.RegisteredAgent, "", nil},
		{"annual report or agent change", "Company ID,State,Year,Change Of Agent\ncomp_1,DE,2026,yes\n", Options{},
			"", "agent-change, annual-report", nil},
		{"nothing tells the product", "Company ID,Legal Name,State\ncomp_1,Acme,DE\n", Options{}, "", "--product",
			nil},
		{"unknown product", "Company ID\ncomp_1\n", Options{Product: "annual"}, "", `no product "annual"`, nil},
		{"unknown state option", "Company ID\n", Options{State: "Delawere"}, "", "not a US state", nil},
		{"user option", "Company ID\n", Options{User: "ana"}, "", "neither a user id", nil},
		{"several columns of one name", "Company ID,Filing State,Filing Year,Filing State\ncomp_1,DE,2026,NY\n",
			Options{}, "", `"Filing State" (B1), "Filing State" (D1)`, nil},
		{"four columns headed State", "Company ID,Filing Year,State,State,State,State\ncomp_1,2026,DE,DE,DE,DE\n",
			Options{}, "", "(C1)", nil},
		{"our header wins over another wording",
			"Company ID,Filing Year,Jurisdiction,Filing State\ncomp_1,2026,NY,DE\n", Options{}, filing.AnnualReport,
			`"Jurisdiction" (C1)`, nil},
		{"a jurisdiction may be where the company was formed",
			"Company ID,Entity Name,Filing Year,Jurisdiction\ncomp_1,Acme LLC,2026,NY\n", Options{}, "",
			`Use --map "Jurisdiction=Filing State" if it is the first.`, nil},
		{"a jurisdiction that is mapped", "Company ID,Filing Year,Jurisdiction\ncomp_1,2026,NY\n",
			Options{Map: map[string]string{"Jurisdiction": "Filing State"}}, filing.AnnualReport,
			"names are not compared", nil},
		{"a jurisdiction beside one state for all", "Company ID,Filing Year,Jurisdiction\ncomp_1,2026,NY\n",
			Options{State: "DE"}, filing.AnnualReport, `Not used: "Jurisdiction" (C1).`, nil},
		{"the jurisdiction of a formation", "Legal Name,Entity Type,Expedited,Jurisdiction\nAcme LLC,LLC,no,NY\n",
			Options{},
			filing.Formation, "not: No column gives the Filing State", nil},
		{"State beside an address is not the filing state",
			"Company ID,Filing Year,Street,City,State,Zip\ncomp_1,2026,a,b,NY,10001\n", Options{},
			filing.AnnualReport, "No column gives the Filing State", nil},
		{"State beside an address, and companies of one state",
			"Company ID,Filing Year,Street,City,State,Zip\ncomp_1,2026,a,b,NY,10001\n", Options{State: "DE"}, "",
			`--map "State=Filing State"`, nil},
		{"a state before the addresses is the filing state",
			"Company ID,State,Filing Year,Agent Street,City,State,Zip,Mailing Address,City,State,Zip\ncomp_1,DE," +
				"2026\n", Options{State: "DE"}, filing.AnnualReport, `"State" (F1) as Agent State`, nil},
		{"bare words behind the second address alone",
			"Company ID,Filing State,Filing Year,Principal Address,Principal City,Principal State,Principal Zip," +
				"Mailing Address,City,State,Zip\ncomp_1,DE,2026\n", Options{}, filing.AnnualReport,
			`"City" (I1) as Mailing City, "State" (J1) as Mailing State`, nil},
		{"bare words that lose are named",
			"Company ID,Filing State,Filing Year,Address,City,Zip,Email,City,Zip\ncomp_1,DE,2026\n", Options{},
			filing.AnnualReport, `Not used: "City" (H1), "Zip" (I1)`, nil},
		{"results of a list without headers, as CSV",
			"Company ID,Filing State,Result,Message,Order IDs\ncomp_1,DE,invalid,x,\n",
			Options{HeaderRow: NoHeader, FilingYear: "2026", Map: map[string]string{"A:A": "Company ID"}},
			filing.AnnualReport, "", []string{"Company ID", "Filing State", "Result", "Message", "Order IDs"}},
		{"a near miss is suggested", "Company ID,Filing Year,Filing State,Legl Nam\ncomp_1,2026,DE\n", Options{},
			filing.AnnualReport, `--map "Legl Nam=Legal Name"`, nil},
		{"a near miss of what every row needs", "Compnay ID,Filing Year,Filing State\ncomp_1,2026,DE\n", Options{},
			"", `--map "Compnay ID=Company ID"`, nil},
		{"mapped from another alphabet", "Компания,Filing Year,Filing State\ncomp_1,2026,DE\n",
			Options{Map: map[string]string{"Компания": "companyId"}}, filing.AnnualReport, "", nil},
		{"mapped to nothing", "Company ID,Filing Year,Filing State,Filing State\ncomp_1,2026,DE\n",
			Options{Map: map[string]string{"Filing State": ""}, State: "DE"}, filing.AnnualReport, "", nil},
		{"mapped by its letter", "Nr,Filing Year,Filing State,Filing State\ncomp_1,2026,DE,NY\n",
			Options{Map: map[string]string{"a:A": "Company ID", "D:D": ""}}, filing.AnnualReport, "",
			[]string{"Nr", "Filing Year", "Filing State", "Filing State"}},
		{"behind the last header, mapped by its letter", "Filing Year,Filing State\n2026,DE,comp_1\n",
			Options{Map: map[string]string{"C:C": "Company ID"}}, filing.AnnualReport, "",
			[]string{"Filing Year", "Filing State", ""}},
		{"a letter says nothing of where the header is", "Nr,Staat\ncomp_1,DE\n",
			Options{Map: map[string]string{"A:A": "Company ID", "B:B": "Filing State"}}, "",
			"Choose the header row with --header-row", nil},
		{"a letter that the sheet does not have", "Company ID,Filing Year,Filing State\ncomp_1,2026,DE\n",
			Options{Map: map[string]string{"H:H": "User ID"}}, "",
			"names column H, but the last column of the sheet is C", nil},
		{"two of one name, and the letter of one is told",
			"Company ID,Filing State,Filing Year,Filing State\ncomp_1,DE,2026,NY\n", Options{}, "", `--map "D:D="`,
			nil},
		{"a header row that was said", "Company ID,Filing State,Filing Year\nNr,Staat,Jahr\ncomp_1,DE,2026\n",
			Options{HeaderRow: 2, Product: filing.AnnualReport, Map: map[string]string{"Nr": "Company " +
				"ID", "B:B": "Filing State"}}, filing.AnnualReport,
			"ATTENTION: row 1 looks like the header row. It and everything above row 2 are not read",
			[]string{"Nr", "Staat", "Jahr"}},
		{"a header row that has nothing we know",
			"Company ID,Filing State,Filing Year\ncomp_1,DE,2026\ncomp_2,DE,2026\n", Options{HeaderRow: 2}, "",
			"row 2 has no recognized headers", nil},
		{"no header", "comp_1,DE,x\ncomp_2,DE,x\n",
			Options{HeaderRow: NoHeader, FilingYear: "2026", Map: map[string]string{"A:A": "Company " +
				"ID", "B:B": "Filing State"}}, filing.AnnualReport, "Not used: column C.",
			[]string{"Company ID", "Filing State", "Column C"}},
		{"no header, and nothing said of the columns", "comp_1,DE\n",
			Options{HeaderRow: NoHeader, FilingYear: "2026"}, "", `--map "A:A=Company ID"`, nil},
		{"no header, and a header named", "comp_1,DE\n",
			Options{HeaderRow: NoHeader, Map: map[string]string{"Nr": "Company ID"}}, "",
			"name the column instead, such as A:A", nil},
		{"no header, and two for one column", "comp_1,DE\n",
			Options{HeaderRow: NoHeader, FilingYear: "2026", Map: map[string]string{"A:A": "Company " +
				"ID", "B:B": "Company ID"}}, "", "B:B=", nil},
		{"a row too far down", "Company ID\n", Options{HeaderRow: 31}, "", "1 to 30", nil},
		{"an agent's address beside the company's",
			"Company ID,Filing Year,Filing State,Street,City,State,Zip,Agent Name,Agent Street,City,State," +
				"Zip\ncomp_1,2026,DE\n", Options{}, filing.AnnualReport,
			`"City" (J1) as Agent City, "State" (K1) as Agent State, "Zip" (L1) as Agent ZIP`, nil},
		{"two addresses headed alike",
			"Legal Name,Entity Type,State,Address,City,Zip,Address,City,Zip,Officer 1 Title\nAcme,LLC,DE\n",
			Options{}, "", `match Principal Line 1: "Address" (D1), "Address" (G1)`, nil},
		{"mapped to no column of ours", "Company ID\n", Options{Map: map[string]string{"a": "Compny ID"}}, "",
			`did you mean "Company ID"`, nil},
		{"another language", "Firma,Staat,Jahr\nAcme,DE,2026\n", Options{}, "",
			`row 1 with "Firma", "Staat", "Jahr"`, nil},
		{"a number of the client's own beside its name",
			"Client Name,Entity #,Entity Type,State,Email,Officer 1 Title\nHarbor Light Bakery LLC,1001,LLC,DE," +
				"a@example.com,Member\n", Options{}, filing.Formation, `Not used: "Entity #" (B1).`, nil},
		{"a number of one's own is not the Company ID",
			"Company No.,State,Year,User ID\n1,DE,2026,user_1\n2,DE,2026,user_1\n", Options{}, filing.AnnualReport,
			"No column gives the Company ID", nil},
		{"company ids under a header of one's own", "Company No.,State,Year,User ID\ncomp_1,DE,2026,user_1\n",
			Options{}, "", `"Company No." (A1) contains only such values`, nil},
		{"the values speak against a near miss", "Compnay ID,Filing Year,Filing State\n1,2026,DE\n", Options{},
			filing.AnnualReport, `Not used: "Compnay ID" (A1)`, nil},
		{"an address of another kind is not suggested",
			"Company ID,Billing Street,Billing City,Billing State,Shipping State,Year\ncomp_1,a,b,NY,NY,2026\n",
			Options{}, filing.AnnualReport, "No column gives the Filing State: add it", nil},
		{"a name is no hint at an SSN", "Company ID,Responsible Party,State,Year\ncomp_1,Ana Silva,DE,2026\n",
			Options{}, filing.AnnualReport, `Not used: "Responsible Party" (B1).`, nil},
		{"the type beside a name",
			"Company Name,Type,State,Email,Officer 1 Title\nAcme LLC,LLC,DE,a@example.com,Member\n", Options{},
			filing.Formation, "not: Type", nil},
		{"a name said better", "Company ID,Client Name,Legal Name,State,Year\ncomp_1,Ana,Acme LLC,DE,2026\n",
			Options{}, filing.AnnualReport, `Not used: "Client Name" (B1).`, nil},
		{"the columns of the charges are not sent, and nothing is said of them",
			"Company ID,Client,Matter,Bill To,Reference,State,Year\ncomp_1,a,b,c,d,DE,2026\n", Options{},
			filing.AnnualReport, "not: Not used", nil},
		{"names under Client",
			"Client,Entity Type,State,Email,Officer 1 Title\nAcme LLC,LLC,DE,a@example.com,Member\n", Options{},
			filing.Formation, `--map "Client=Legal Name"`, nil},
		{"no rows", "Company ID" + rest, Options{}, "", "no rows below the header in row 1", nil},
		{"no such column", "Company ID,Filing Year,Filing State\ncomp_1,2026,DE\n", Options{}, filing.AnnualReport,
			"No column gives the User ID or the User Email", nil},
		{"our answers are passed over",
			"Company ID,Filing Year,Filing State,Result,Message,Order IDs,Filing Status,Filing Date,Cost," +
				"Attempts,Updated At,Subscription\ncomp_1,2026,DE\n", Options{}, filing.AnnualReport,
			"not: Not used", nil},
		{"a CSV has no sheets", "Company ID" + rest, Options{Sheet: "June"}, "", "--sheet", nil},
		{"agents in a sheet of agent changes",
			"Company ID,State,Change Of Agent,Agent Company Name\ncomp_1,DE,yes,Acme Agents\n", Options{},
			filing.AgentChange, "service's own agent", nil},
	} {
		t.Run(c.why, c.run)
	}
}

func (c openCase) run(t *testing.T) {
	o := c.options
	o.Now = july
	im, err := Open(saved(t, "in.csv", c.text), o)
	if c.product == "" {
		if err == nil {
			im.Close()
			t.Fatalf("no error; %q", im.Notes())
		}
		if !strings.Contains(err.Error(), c.says) {
			t.Fatalf("%v\nwant %s", err, c.says)
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
	says, not := strings.CutPrefix(c.says, "not: ")
	if noted := slices.ContainsFunc(im.Notes(),
		func(n string) bool { return strings.Contains(n, says) }); says != "" && noted == not {
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
	results := &ledger.Origin{Batch: "b", Sheet: "Needs Attention", Rows: 1, Results: "Results"}
	for _, c := range []struct {
		why   string
		tabs  []tab
		o     Options
		sheet string // "" if the workbook is refused
		says  string // part of the error, or of a note
	}{
		{"one", []tab{{name: "June", rows: filings}}, Options{}, "June", ""},
		{"with a sheet of prose", []tab{{name: "Read me", rows: prose}, {name: "June", rows: filings}}, Options{},
			"June", ""},
		{"with an empty copy", []tab{{name: "Blank", rows: empty}, {name: "June", rows: filings}}, Options{},
			"June", ""},
		{"two", []tab{{name: "June", rows: filings}, {name: "July", rows: filings}}, Options{}, "",
			`"June", "July"`},
		{"two, one named", []tab{{name: "June", rows: filings}, {name: "July", rows: filings}},
			Options{Sheet: "july"}, "July", ""},
		{"none of that name", []tab{{name: "June", rows: filings}}, Options{Sheet: "May"}, "", `It has "June"`},
		{"hidden beside visible", []tab{{name: "June", rows: filings}, {name: "Old", rows: filings, hidden: true}},
			Options{}, "June", `"Old"`},
		{"hidden, named", []tab{{name: "June", rows: filings}, {name: "Old", rows: filings, hidden: true}},
			Options{Sheet: "Old"}, "Old", ""},
		{"hidden alone", []tab{{name: "Read me", rows: prose}, {name: "Old", rows: filings, hidden: true}},
			Options{}, "", `--sheet "Old"`},
		{"a legend that has two of our words",
			[]tab{{name: "June", rows: filings}, {name: "Legend", rows: [][]sheet.OutCell{texts("State",
				"Email"), texts("DE", "Delaware")}}}, Options{}, "June", `"Legend"`},
		{"results fed back", []tab{{name: "Results", rows: filings},
			{name: "Needs Attention", rows: filings, origin: results}},
			Options{}, "Needs Attention", "results workbook"},
		{"results without rows that need attention",
			[]tab{{name: "Results", rows: filings}, {name: "Needs Attention", origin: results,
				rows: [][]sheet.OutCell{texts("No rows need attention.")}}},
			Options{}, "", "in which no rows need attention"},
		{"results of a file whose header row was said",
			[]tab{{name: "Results", rows: filings},
				{name: "Needs Attention", rows: filings, origin: results}},
			Options{HeaderRow: 3}, "Needs Attention", ""},
		{"results of a list without headers", []tab{{name: "Needs Attention", rows: filings, origin: results}},
			Options{HeaderRow: NoHeader}, "Needs Attention", ""},
		{"results by name", []tab{{name: "Results", rows: filings},
			{name: "Needs Attention", rows: filings, origin: results}},
			Options{Sheet: "Results"}, "Results", ""},
		{"prose alone", []tab{{name: "Read me", rows: prose}}, Options{}, "",
			`row 1 with "Read me" in sheet "Read me"`},
	} {
		t.Run(c.why, func(t *testing.T) {
			c.o.Now = july
			im, err := Open(workbook(t, c.tabs...), c.o)
			if c.sheet == "" {
				var format *sheet.FormatError
				if !errors.As(err, &format) || !strings.Contains(err.Error(), c.says) {
					t.Fatalf("%v\nwant %s", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer im.Close()
			if im.Sheet() != c.sheet || !strings.Contains(strings.Join(im.Notes(), "\n"), c.says) {
				t.Errorf("sheet %q, notes %q", im.Sheet(), im.Notes())
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

// The rows that are read to understand a sheet are few if their texts are long.
func TestHeadOfLongTexts(t *testing.T) {
	const rows = 100
	long := strings.Repeat("x", 100_000)
	im := opened(t, saved(t, "in.csv", "Company ID,Filing State,Filing Year,Notes\n"+
		strings.Repeat("comp_1,DE,2026,"+long+"\n", rows)), Options{})
	head, err := im.file.head(im.sheet)
	if err != nil || len(head) <= headRows || len(head) >= rows {
		t.Errorf("%d rows, %v", len(head), err)
	}
}
