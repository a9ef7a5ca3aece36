package pricing_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/goldentest"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
)

func load(t *testing.T, text string) (*pricing.Fees, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fees.csv")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return pricing.LoadFees(path)
}

// loadWorkbook loads a workbook whose amount is a number with a format.
func loadWorkbook(t *testing.T) (*pricing.Fees, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fees.xlsx")
	f := excelize.NewFile()
	style, err := f.NewStyle(&excelize.Style{NumFmt: 7}) // dollars with cents
	err = errors.Join(err,
		f.SetSheetRow("Sheet1", "A1", &[]any{"Product", "State", "Entity Type", "Amount"}),
		f.SetSheetRow("Sheet1", "A2", &[]any{"annual-report", "TX", "LLC", 138.75}),
		f.SetCellStyle("Sheet1", "D2", "D2", style), f.SaveAs(path), f.Close())
	must(t, err)
	return pricing.LoadFees(path)
}

// reportLine quotes an annual report.
func reportLine(fees *pricing.Fees, state filing.State, year string, company pricing.Facts) pricing.Line {
	book, _ := pricing.NewPriceBook(nil, "")
	o := &filing.Order{FilingState: state, AnnualReport: &filing.AnnualReportItem{FilingYear: year}}
	return pricing.NewRates(book, fees).Quote(o, company).Lines[0]
}

// The most specific line of the file wins. What is not in the file is an estimate. A fee may
// depend on the year of the report: "TX 2025".
func TestLoadFees_Lookup(t *testing.T) {
	const header = "product,state,entityType,amount\n"
	specific, err := load(t, header+"annual-report,,,1\nannual-report,,CORP,2\nannual-report,TX,,3\n"+
		"annual-report,TX,CORP,4\nannual-report,NV,LLC,5\n")
	yearly, errYearly := load(t, header+"annual-report,TX,LLC,\"1 until 2025; 2\"\n")
	one, errOne := load(t, header+"annual-report,DE,LLC,300\n")
	workbook, errWorkbook := loadWorkbook(t)
	if err = errors.Join(err, errYearly, errOne, errWorkbook); err != nil {
		t.Fatal(err)
	}
	files := map[string]*pricing.Fees{"specific": specific, "yearly": yearly, "one": one, "workbook": workbook,
		"builtin": pricing.BuiltinFees()}
	goldentest.Lines(t, "testdata/fees.txt", func(_ *testing.T, fields []string) string {
		state, year, _ := strings.Cut(fields[1], " ")
		kind, home, _ := strings.Cut(fields[2], " ")
		company := pricing.Facts{
			EntityType:     filing.EntityType(strings.Trim(kind, "-")),
			FormationState: filing.State(strings.Trim(home, "-")),
		}
		return reportLine(files[fields[0]], filing.State(state), cmp.Or(year, "2026"), company).StateFee.String()
	})
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
		line := reportLine(fees, "TX", "2026", pricing.Facts{EntityType: "LLC", FormationState: "DE"})
		if got := line.StateFee.String(); got != "$138.75" {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

func TestErrorsOfAFileOfFeesNameThePlace(t *testing.T) {
	goldentest.Lines(t, "testdata/fee_errors.txt", func(t *testing.T, fields []string) string {
		_, err := load(t, fields[1])
		return strings.ReplaceAll(fmt.Sprint(err), "\n", "; ")
	})
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
		if !l.Builtin || l.Read == "" || len(l.Fee) == 0 || l.State == "" || l.EntityType == "" {
			t.Errorf("%+v", l)
		}
	}
	states := len(filing.States())
	if count["annual-report"] != states*4 || count["formation"] != states*2 ||
		count["foreign-qualification"] != states*2 {
		t.Errorf("got %v for %d states", count, states)
	}
}

// A quote says of each fee whose it is and what it rests on.
func TestAFeeSaysWhatItIs(t *testing.T) {
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
		got := *reportLine(pricing.BuiltinFees(), tc.state, "2026", tc.company).Of
		if (got.Read == "") != (tc.state == "PR") {
			t.Errorf("%s: read at %q", tc.state, got.Read)
		}
		if got.Read, got.Note = "", ""; got != tc.want {
			t.Errorf("%s %+v: got %+v, want %+v", tc.state, tc.company, got, tc.want)
		}
	}
}
