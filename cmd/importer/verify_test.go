package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// A filing that was bought twice is named by audit verify, and the ledger is right.
func TestVerifyNamesASecondPurchase(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"FILING_DATA_DIR": dir}
	command := func(args ...string) string {
		t.Helper()
		var out, told strings.Builder
		a := newApp(strings.NewReader(""), &out, &told, func(name string) string { return env[name] })
		c := a.command()
		c.SetArgs(args)
		if err := c.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%s: %v\n%s%s", args, err, out.String(), told.String())
		}
		return out.String()
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	command("deposit", "500")
	found, err := filepath.Glob(filepath.Join(dir, "accounts", "*", "ledger.db"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	ctx := t.Context()
	l, err := ledger.Open(ctx, ledger.Config{Dir: filepath.Dir(found[0])})
	must(err)
	_, err = l.CreateBatch(ctx, ledger.Batch{ID: "a", Product: filing.AnnualReport})
	must(err)
	request := &filing.Request{
		Product: filing.AnnualReport,
		Order: filing.Order{
			CompanyID:    "comp_1",
			FilingState:  "DE",
			AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"},
		},
	}
	cost := money.Cost{Amount: 75_00}
	must(l.AddRows(ctx, "a", []ledger.Row{
		{Number: 2, Result: filing.Ready, Request: request, Cost: cost},
		{Number: 3, Result: filing.Ready, Request: request, Cost: cost},
	}))
	must(l.OpenBatch(ctx, "a"))
	var rows []ledger.Row
	for r, err := range l.Rows(ctx, "a") {
		must(err)
		rows = append(rows, r)
	}
	claims := ledger.ClaimsOf(&request.Order, "")
	sends := func(r ledger.Row) ledger.Outcome {
		t.Helper()
		begun, err := l.Begin(ctx, ledger.Intent{Row: r.ID, Claims: claims, Cost: cost})
		if err != nil || begun.Try == 0 {
			t.Fatalf("%+v, %v", begun, err)
		}
		lost := ledger.Outcome{Row: r.ID, Try: 1, Claims: claims, Answer: filing.Answer{Kind: filing.NoAnswer}}
		must(l.RecordOutcome(ctx, lost))
		return lost
	}
	// The first row is marked as not placed by mistake, so that the second one is sent,
	// too; its acceptance comes late.
	late := sends(rows[0])
	must(l.Resolutions().MarkNotPlaced(ctx, rows[0].ID, 0, "not seen"))
	sends(rows[1])
	late.Answer.Kind = filing.Accepted
	late.Items = []ledger.Item{{Product: filing.AnnualReport, OrderID: "order_1", Cost: cost}}
	must(l.RecordOutcome(ctx, late))
	must(l.Resolutions().MarkPlaced(ctx, rows[1].ID, 0, []string{"order_2"}, "seen"))
	must(l.Close())

	const twice = "batch a, row 3: bought twice: row 2 bought the same annual report"
	if out := command("audit", "verify"); !strings.Contains(out, "refund: "+twice+"\n") ||
		!strings.Contains(out, ": 0 wrong.") {
		t.Error(out)
	}
	if out := command("audit", "verify", "--json"); !strings.Contains(out, `{"boughtTwice":"`+twice+`"}`) ||
		!strings.Contains(out, `"wrong":0,"boughtTwice":1}`) {
		t.Error(out)
	}
}
