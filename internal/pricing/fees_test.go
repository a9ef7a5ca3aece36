package pricing_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

func load(t *testing.T, text string) (*pricing.Fees, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fees.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return pricing.LoadFees(path)
}

// reportCost is the state's part of an annual report, in words.
func reportCost(fees *pricing.Fees, state filing.State, company pricing.Facts) string {
	book, _ := pricing.NewPriceBook(nil, "")
	o := &filing.Order{FilingState: state, AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}}
	return pricing.NewRates(book, fees).Quote(o, company).Lines[0].StateFee.String()
}

func TestTheMostSpecificFeeWins(t *testing.T) {
	const file = "product,state,entityType,amount\n" +
		"annual-report,,,1\n" +
		"annual-report,,CORP,2\n" +
		"annual-report,TX,,3\n" +
		"annual-report,TX,CORP,4\n" +
		"annual-report,NV,LLC,5\n"
	fees, err := load(t, file)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		state   filing.State
		company pricing.Facts
		want    string
	}{
		{"WY", pricing.Facts{EntityType: "LLC"}, "$1.00"},
		{"WY", pricing.Facts{EntityType: "CORP"}, "$2.00"},
		{"TX", pricing.Facts{EntityType: "LLC"}, "$3.00"},
		{"TX", pricing.Facts{EntityType: "CORP"}, "$4.00"},
		{"NV", pricing.Facts{EntityType: "LLC"}, "$5.00"},
		{"NV", pricing.Facts{EntityType: "CORP"}, "$2.00"},
		{"TX", pricing.Facts{}, "about $4.00"},
		{"NV", pricing.Facts{}, "about $5.00"},
		{"FL", pricing.Facts{EntityType: "LLC"}, "$1.00"}, // the file goes before the built-in table
	} {
		if got := reportCost(fees, tc.state, tc.company); got != tc.want {
			t.Errorf("%s %+v: got %s, want %s", tc.state, tc.company, got, tc.want)
		}
	}
}

func TestWhatIsNotInTheFileIsAnEstimate(t *testing.T) {
	fees, err := load(t, "product,state,entityType,amount\nannual-report,DE,LLC,300\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		state   filing.State
		company pricing.Facts
		want    string
	}{
		{"DE", pricing.Facts{EntityType: "LLC"}, "$300.00"},
		{"DE", pricing.Facts{EntityType: "CORP", FormationState: "DE"}, "about $225.00"},
		{"DE", pricing.Facts{EntityType: "CORP", FormationState: "NV"}, "about $125.00"},
		{"DE", pricing.Facts{}, "about $300.00"}, // the largest that it may be
		{"FL", pricing.Facts{EntityType: "LLC"}, "about $138.75"},
		{"FL", pricing.Facts{EntityType: "CORP"}, "about $150.00"},
		{"FL", pricing.Facts{}, "about $150.00"},
		{"NY", pricing.Facts{}, "about $9.00"}, // the same whatever it is
		{"VT", pricing.Facts{EntityType: "LLC", FormationState: "VT"}, "about $45.00"},
		{"VT", pricing.Facts{EntityType: "LLC", FormationState: "DE"}, "about $170.00"},
		{"VT", pricing.Facts{EntityType: "LLC"}, "about $170.00"},
		{"VT", pricing.Facts{FormationState: "DE"}, "about $250.00"},
		{"MN", pricing.Facts{EntityType: "CORP", FormationState: "MN"}, "about $0.00"},
		{"AL", pricing.Facts{EntityType: "LLC", FormationState: "AL"}, "about $0.00"}, // no report is due
		{"PR", pricing.Facts{EntityType: "LLC"}, "at least $0.00"},
	} {
		if got := reportCost(fees, tc.state, tc.company); got != tc.want {
			t.Errorf("%s %+v: got %s, want %s", tc.state, tc.company, got, tc.want)
		}
	}
}

// What a file may look like, sheet.Open decides; here are the words of its cells.
func TestFilesOfFeesAsPeopleMakeThem(t *testing.T) {
	for name, text := range map[string]string{
		"as documented":       "product,state,entityType,amount\nannual-report,TX,LLC,138.75\n",
		"header in any case":  "PRODUCT,State,Entity Type,AMOUNT\nAnnual Report,texas,llc,$138.75\n",
		"another order":       "amount;note;entitytype;product;state\n138.75;by mail;L.L.C.;annual_report;Texas\n",
		"a column of company": "product,state,entityType,amount,company\nannual-report,TX,LLC,138.75,Foreign\n",
	} {
		fees, err := load(t, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := reportCost(fees, "TX", pricing.Facts{EntityType: "LLC", FormationState: "DE"}); got != "$138.75" {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

func TestFeesInAWorkbook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fees.xlsx")
	w, err := sheet.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := w.Sheet("Fees", sheet.SheetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range [][]sheet.OutCell{
		{sheet.Str("Product"), sheet.Str("State"), sheet.Str("Entity Type"), sheet.Str("Amount")},
		{sheet.Str("annual-report"), sheet.Str("TX"), sheet.Str("LLC"), sheet.Money(138_75)},
	} {
		if err := rows.Row(r...); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Save(); err != nil {
		t.Fatal(err)
	}
	fees, err := pricing.LoadFees(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := reportCost(fees, "TX", pricing.Facts{EntityType: "LLC"}); got != "$138.75" {
		t.Error(got)
	}
}

func TestErrorsOfAFileOfFeesNameThePlace(t *testing.T) {
	const header = "product,state,entityType,amount\n"
	for _, tc := range []struct {
		name, text string
		says       []string
	}{
		{"product", header + "annual,TX,LLC,1\n", []string{"line 2, column product", `"annual"`}},
		{"state", header + "\n\nannual-report,Texass,LLC,1\n", []string{"line 4, column state", `"Texass"`}},
		{"entity type", header + "annual-report,TX,LP,1\n", []string{"line 2, column entityType", `"LP"`}},
		{"no amount", header + "annual-report,TX,LLC,\n", []string{"line 2, column amount"}},
		{"decimal comma", header + "annual-report,TX,LLC,\"138,75\"\n", []string{"line 2, column amount", "138,75"}},
		{"negative", header + "annual-report,TX,LLC,-1\n", []string{"line 2, column amount"}},
		{"beyond belief", header + "annual-report,TX,LLC,99999999999\n", []string{"line 2, column amount"}},
		{"company", "product,state,entityType,amount,company\nannual-report,TX,LLC,1,alien\n",
			[]string{"line 2, column company"}},
		{"said twice", header + "annual-report,TX,LLC,1\nannual-report,Texas,llc,2\n",
			[]string{"line 3 repeats line 2"}},
		{"all at once", header + "x,TX,LLC,1\nannual-report,TX,y,z\n",
			[]string{"line 2, column product", "line 3, column entityType", "line 3, column amount"}},
	} {
		_, err := load(t, tc.text)
		if err == nil {
			t.Errorf("%s: no error", tc.name)
			continue
		}
		for _, part := range append(tc.says, "fees.csv") {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v does not name %q", tc.name, err, part)
			}
		}
	}
	if _, err := pricing.LoadFees(filepath.Join(t.TempDir(), "none.csv")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// Every state has a fee for every filing of every kind of company, and says where
// it was read.
func TestTheBuiltInTableIsWhole(t *testing.T) {
	lines := pricing.BuiltinFees().Lines()
	count := make(map[string]int)
	for _, l := range lines {
		count[string(l.Product)]++
		if !l.Builtin || l.Read() == "" || len(l.Fee) == 0 || l.State == "" || l.EntityType == "" {
			t.Errorf("%+v", l)
		}
	}
	states := len(filing.States())
	if count["annual-report"] != states*4 || count["formation"] != states*2 ||
		count["foreign-qualification"] != states*2 {
		t.Errorf("got %v for %d states", count, states)
	}
}

// The fee of Delaware's LLCs depends on the year of the report.
func TestAFeeOfAFilingYear(t *testing.T) {
	book, _ := pricing.NewPriceBook(nil, "")
	own, err := load(t, "product,state,entityType,amount\nannual-report,TX,LLC,\"1 until 2025; 2\"\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		fees  *pricing.Fees
		state filing.State
		year  string
		want  string
	}{
		{pricing.BuiltinFees(), "DE", "2025", "about $300.00"},
		{pricing.BuiltinFees(), "DE", "2026", "about $400.00"},
		{pricing.BuiltinFees(), "DE", "2027", "about $400.00"},
		{own, "TX", "2025", "$1.00"},
		{own, "TX", "2026", "$2.00"},
	} {
		o := &filing.Order{FilingState: tc.state, AnnualReport: &filing.AnnualReportItem{FilingYear: tc.year}}
		line := pricing.NewRates(book, tc.fees).Quote(o,
			pricing.Facts{EntityType: filing.LLC, FormationState: tc.state}).Lines[0]
		if got := line.StateFee.String(); got != tc.want {
			t.Errorf("%s for %s: got %s, want %s", tc.state, tc.year, got, tc.want)
		}
	}
}

// A quote says of each fee whose it is and what it rests on.
func TestAFeeSaysWhatItIs(t *testing.T) {
	book, _ := pricing.NewPriceBook(nil, "")
	for _, tc := range []struct {
		state   filing.State
		company pricing.Facts
		want    pricing.StateFee
	}{
		{"DE", pricing.Facts{EntityType: filing.Corp, FormationState: "DE"},
			pricing.StateFee{State: "DE", EntityType: filing.Corp, Company: "domestic", Minimum: true}},
		{"DE", pricing.Facts{EntityType: filing.LLC, FormationState: "NV"},
			pricing.StateFee{State: "DE", EntityType: filing.LLC, Company: "foreign"}},
		{"VT", pricing.Facts{EntityType: filing.LLC},
			pricing.StateFee{State: "VT", EntityType: filing.LLC, Largest: true}},
		{"PA", pricing.Facts{}, pricing.StateFee{State: "PA"}},
		{"PR", pricing.Facts{EntityType: filing.LLC}, pricing.StateFee{State: "PR", EntityType: filing.LLC}},
	} {
		o := &filing.Order{FilingState: tc.state, AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}}
		got := *pricing.NewRates(book, pricing.BuiltinFees()).Quote(o, tc.company).Lines[0].Of
		if (got.Read == "") != (tc.state == "PR") {
			t.Errorf("%s: read at %q", tc.state, got.Read)
		}
		if got.Read, got.Note = "", ""; got != tc.want {
			t.Errorf("%s %+v: got %+v, want %+v", tc.state, tc.company, got, tc.want)
		}
	}
}
