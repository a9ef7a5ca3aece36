package pricing

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// quoteRows quotes annual reports of 2026 by the built-in table: a service fee of
// $25 and the state's.
func quoteRows(t *testing.T, companies ...Facts) BatchQuote {
	t.Helper()
	prices, err := NewPriceBook([]filing.Price{{Type: "annual_report", WholesaleAmount: "25"},
		{Type: "registered_agent", WholesaleAmount: "50"}}, "")
	must(t, err)
	quoter := NewRates(prices, BuiltinFees())
	var q BatchQuote
	for _, c := range companies {
		state := c.FormationState
		o := &filing.Order{FilingState: state, AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}}
		must(t, q.Add(quoter.Quote(o, c)))
	}
	return q
}

// Every figure of a quote says whose fee it is and what it rests on.
func TestAQuoteSaysWhatItRestsOn(t *testing.T) {
	llc := func(s filing.State) Facts { return Facts{EntityType: filing.LLC, FormationState: s} }
	q := quoteRows(t, llc("DE"), llc("DE"), Facts{EntityType: filing.Corp, FormationState: "DE"}, llc("OH"),
		llc("PR"), llc("PR"))
	var lines []string
	for _, k := range q.Kinds {
		lines = append(lines, strings.Join([]string{k.Who(), strconv.Itoa(k.Count), k.Service.String(), k.FeeText(),
			k.Total().Without(k.Who())}, "; "))
	}
	want := []string{
		"DE LLC; 2; $50.00; $800.00 estimated; about $850.00",
		"DE CORP; 1; $25.00; $225.00 estimated, minimum; about $250.00",
		"OH LLC; 1; $25.00; $0.00 estimated; about $25.00",
		"PR LLC; 2; $50.00; not known; $50.00 + state fee (not known for PR LLC)",
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if got, want := q.TotalText(), "$1,175.00 + state fee (not known for PR LLC)"; got != want {
		t.Errorf("the total is %q, want %q", got, want)
	}
	notes := fmt.Sprint(q.Summary().Footnotes)
	for _, want := range []string{
		"The state fee for PR LLC is not known.",
		"$225.00 each is the minimum",
		"The state asks for no such report",
		"checked Nov 2026",
		"$400.00 each; ",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note says %q:\n%s", want, notes)
		}
	}
	all := quoteRows(t, llc("DE"), Facts{FormationState: "VT"})
	if got := all.TotalText(); got != "about $510.00" { // 25 + 400, and 25 + the larger of Vermont's 45 and 60
		t.Errorf("the total is %q", got)
	}
	if notes := fmt.Sprint(all.Summary().Footnotes); !strings.Contains(notes, "the largest fee that can apply") {
		t.Errorf("got\n%s", notes)
	}
}

// Where many kinds have no known fee, the total names a few.
func TestAQuoteNamesSomeOfWhatIsMissing(t *testing.T) {
	q := BatchQuote{Total: money.Cost{Amount: 100, Certainty: money.Unknown}}
	for _, s := range []filing.State{"AA", "BB", "CC", "DD", "EE"} {
		q.Kinds = append(q.Kinds, KindQuote{
			Of:    StateFee{State: s, EntityType: filing.LLC},
			Each:  money.Cost{Certainty: money.Unknown},
			Count: 1,
		})
	}
	if got, want := q.TotalText(), "$1.00 + state fee (not known for AA LLC, BB LLC, CC LLC, 2 more)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The quote is stored with its batch.
func TestTheQuoteIsStoredWithItsBatch(t *testing.T) {
	ctx := context.Background()
	l := ledgertest.Open(t, ledger.Config{})
	b := ledger.Batch{
		ID:      "b1",
		File:    "a.xlsx",
		Sheet:   "Reports",
		Columns: []string{"Company ID", "State"},
		Product: filing.AnnualReport,
	}
	request := &filing.Request{
		Order: filing.Order{FilingState: "OH", AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}},
	}
	request.Company.Sheet = filing.Company{EntityType: filing.LLC, FormationState: "OH"}
	row := func(n int, result filing.Result) ledger.Row {
		return ledger.Row{Number: n, Cells: []byte(`["comp_1","OH"]`), Result: result, Request: request}
	}
	ledgertest.Submit(t, l, b, row(2, filing.Ready), row(3, filing.Ready), row(4, filing.Invalid), row(5, filing.Ready))
	prices, _ := NewPriceBook([]filing.Price{{Type: "annual_report", WholesaleAmount: "25"}}, "")
	made, err := QuoteBatch(ctx, l, NewRates(prices, BuiltinFees()), b.ID)
	must(t, err)
	kept, found, err := LoadBatchQuote(ctx, l, b.ID)
	if err != nil || !found || kept.TotalText() != made.TotalText() ||
		fmt.Sprint(kept.Summary()) != fmt.Sprint(made.Summary()) || kept.Rows != 3 {
		t.Errorf("kept %+v, made %+v, %v", kept, made, err)
	}
}

func must(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
