package report_test

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"
	"pgregory.net/rapid"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

var noon = time.Date(2026, 3, 1, 12, 30, 15, 0, time.UTC)

func text(s string) sheet.Cell   { return sheet.Cell{Kind: sheet.Text, Text: s} }
func number(s string) sheet.Cell { return sheet.Cell{Kind: sheet.Number, Text: s} }
func date(s string) sheet.Cell   { return sheet.Cell{Kind: sheet.Date, Text: s} }

func cells(c ...sheet.Cell) []byte { return sheet.EncodeCells(c) }

func dollars(n money.Cents) money.Cost { return money.Cost{Amount: n * 100} }

// write writes a batch and returns the path and the summary.
func write(t testing.TB, b book, name string) (string, report.Summary) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	s, err := report.Write(t.Context(), b, b.batch.ID, path)
	must(t, err)
	if s.Output != path || s.Batch != b.batch.ID {
		t.Errorf("summary of %s is of batch %q, file %q", path, s.Batch, s.Output)
	}
	return path, s
}

// read reads a sheet back as the importer would, every row padded to the width
// of the first.
func read(t testing.TB, path, name string) [][]sheet.Cell {
	t.Helper()
	f, err := sheet.Open(path, sheet.Limits{})
	must(t, err)
	defer f.Close()
	var all [][]sheet.Cell
	err = f.EachRow(name, func(row *sheet.Row) error {
		line := slices.Clone(row.Cells)
		for len(all) > 0 && len(line) < len(all[0]) {
			line = append(line, sheet.Cell{})
		}
		all = append(all, line)
		return nil
	})
	must(t, err)
	return all
}

func words(line []sheet.Cell) []string {
	var w []string
	for _, c := range line {
		w = append(w, c.Text)
	}
	return w
}

func open(t testing.TB, path string) *excelize.File {
	t.Helper()
	f, err := excelize.OpenFile(path)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// season is a batch with a row of every result.
func season() book {
	items := func(ids ...string) []ledger.Item {
		var all []ledger.Item
		for i, id := range ids {
			p := []filing.Product{filing.AnnualReport, filing.RegisteredAgent}[i]
			all = append(all, ledger.Item{Product: p, OrderID: id, FilingStatus: "submitted"})
		}
		return all
	}
	row := func(n int, r filing.Result, cost money.Cost, more ...ledger.Item) ledger.Row {
		return ledger.Row{
			Number:    n,
			Result:    r,
			Cost:      cost,
			Items:     more,
			Attempts:  1,
			UpdatedAt: noon,
			Cells: cells(text(fmt.Sprintf("comp_%d", n)), text("+1 Fitness LLC"), text("02134"), number("2026"),
				date("2019-04-01")),
		}
	}
	invalid := row(4, filing.Invalid, dollars(0))
	invalid.Cells = cells(text("comp_4"), text("Bay LLC"), sheet.Cell{}, number("26"), date("2019-04-01"))
	invalid.Message = "The postal code is missing. Write the year with four digits."
	invalid.Faults = []ledger.Fault{
		{Column: 2, Rule: "postal-code", Message: "The postal code is missing."},
		{Column: 3, Rule: "filing-year", Message: "Write the year with four digits."},
		{Column: 1, Rule: "name", Message: "Is this the legal name?", Warning: true},
		{Column: -1, Rule: "agent", Message: "There is no agent."},
	}
	filed := row(2, filing.Placed, dollars(225), items("order_1", "order_2")...)
	filed.Items[0].FilingStatus, filed.Items[0].FilingDate = "filed", "2026-03-15"
	filed.Items[0].SubscriptionStatus, filed.Items[1].SubscriptionStatus = "active", "active"
	least := row(3, filing.Placed, money.Cost{Amount: 5000, Certainty: money.Unknown}, items("order_3")...)
	return book{
		batch: ledger.Batch{
			ID:        "b7k2",
			File:      "roster.xlsx",
			Sheet:     "Companies",
			Product:   filing.AnnualReport,
			Open:      true,
			CreatedAt: noon,
			Columns:   []string{"Company ID", "Legal Name", "ZIP", "Filing Year", "Formation Date"},
		},
		funds: ledger.Balance{HasDeposit: true, Deposits: 100000, Posted: 27500, Reserved: 60000},
		rows: rows(filed, least, invalid,
			row(5, filing.Rejected, dollars(225)), row(6, filing.Uncertain, dollars(300)),
			row(7, filing.Ready, dollars(200)),
			row(8, filing.Placing, dollars(300)), row(9, filing.Skipped, dollars(0)),
			row(10, filing.Canceled, dollars(225)),
			row(11, filing.Exists, dollars(225), items("order_9")...),
		),
	}
}

// An estimate is a number, which the workbook calls one and the CSV's message too;
// what is not known in part is a text in both.
func TestCostSaysHowCertainItIs(t *testing.T) {
	row := func(amount money.Cents, certainty money.Certainty, order filing.Order) *ledger.Row {
		r := &ledger.Row{
			Result:  filing.Placed,
			Spent:   money.Cost{Amount: amount, Certainty: certainty},
			Request: &filing.Request{Order: order},
		}
		r.Request.Company.Sheet.EntityType = filing.LLC
		return r
	}
	annual := filing.Order{FilingState: "TX", AnnualReport: &filing.AnnualReportItem{}}
	for _, tc := range []struct {
		row        *ledger.Row
		cell, text string
		format     string
		number     bool
	}{
		{row(325_00, money.Known, annual), "325.00", "$325.00", "", true},
		{row(325_00, money.Estimated, annual), "325.00", "about $325.00 (the state fee is an estimate)",
			`"about $"#,##0.00`, true},
		{row(25_00, money.Unknown, annual), "25.00 + state fee", "$25.00 + state fee (not known for TX LLC)", "",
			false},
		{row(0, money.Unknown, filing.Order{EIN: &filing.EINItem{}}), "0.00 + service fee", "at least $0.00", "",
			false},
	} {
		cell := report.CostCell(tc.row)
		want := sheet.Str(tc.cell)
		if tc.number {
			want = sheet.Money(int64(tc.row.Spent.Amount))
			want.Format = cell.Format
		}
		if cell != want || tc.format != "" && cell.Format != tc.format || report.CostText(tc.row) != tc.text {
			t.Errorf("%v: got %+v and %q", tc.row.Spent, cell, report.CostText(tc.row))
		}
	}
}

// fedBack are the columns of the results of a file.
func fedBack(input ...string) []string { return append(input, report.ResultColumns...) }

func TestAFileOfOursFedBackGetsItsAnswersAnew(t *testing.T) {
	for _, c := range []struct {
		name    string
		columns []string
		want    []string // of the input's columns
		sheet   string
	}{
		{"results", fedBack("Company ID"), []string{"Company ID"}, "Results"},
		{"results as CSV", fedBack("Company ID"), []string{"Company ID"}, ""},
		{"results with a column at the end", []string{"Company ID", "Result", "Message", "Order IDs", "Cost", "Notes"},
			[]string{"Company ID", "Notes"}, ""},
		{"results with a column among them", []string{"Company ID", "Result", "Notes", "Message", "Order IDs", "Cost"},
			[]string{"Company ID", "Notes"}, ""},
		{"results in another case", []string{"company_id", "RESULT", "message", "orderIds"},
			[]string{"company_id"}, ""},
		{"results of a roster with words of its own", fedBack("RESULT", "Company ID", "COST", "MESSAGE"),
			[]string{"RESULT", "Company ID", "COST", "MESSAGE"}, "Results"},
		{"results with a word of their own behind", append(fedBack("Company ID"), "COST"),
			[]string{"Company ID", "COST"}, "Results"},
		{"needs attention", []string{"Company ID", "ZIP", "Message"}, []string{"Company ID", "ZIP"}, "Needs Attention"},
		{"needs attention of a roster with a message", []string{"Company ID", "MESSAGE", "Message"},
			[]string{"Company ID", "MESSAGE"}, "Needs Attention"},
		{"needs attention of such a roster as CSV", []string{"Company ID", "MESSAGE", "Message"},
			[]string{"Company ID", "MESSAGE"}, ""},
		{"a roster with a message", []string{"Company ID", "ZIP", "MESSAGE"},
			[]string{"Company ID", "ZIP", "MESSAGE"}, ""},
		{"a workbook with a message", []string{"Company ID", "ZIP", "MESSAGE"},
			[]string{"Company ID", "ZIP", "MESSAGE"}, "Companies"},
		{"a roster with words of its own", []string{"Company ID", "COST", "MESSAGE", "RESULT", "ZIP"},
			[]string{"Company ID", "COST", "MESSAGE", "RESULT", "ZIP"}, ""},
		{"a roster with words of its own in another order", []string{"ORDER IDS", "RESULT", "COST", "MESSAGE"},
			[]string{"ORDER IDS", "RESULT", "COST", "MESSAGE"}, ""},
		{"no columns at all", nil, nil, ""},
	} {
		b := season()
		b.batch.Columns, b.batch.Sheet = c.columns, c.sheet
		var given []sheet.Cell
		for _, name := range c.columns {
			given = append(given, text("in "+name))
		}
		fault := ledger.Fault{Column: len(c.columns) - 1, Message: "Look here."}
		b.rows = rows(ledger.Row{
			Number: 2,
			Result: filing.Invalid,
			Cells:  cells(given...),
			Faults: []ledger.Fault{fault},
		})
		path, _ := write(t, b, "out.xlsx")
		got := read(t, path, "Results")
		if header := words(got[0]); !slices.Equal(header, slices.Concat(c.want, report.ResultColumns)) {
			t.Errorf("%s: columns %q", c.name, header)
		}
		for i, name := range c.want {
			if got[1][i] != text("in "+name) {
				t.Errorf("%s: under %s stands %q", c.name, name, got[1][i].Text)
			}
		}
		attention := read(t, path, "Needs Attention")
		if header := words(attention[0]); !slices.Equal(header, append(slices.Clone(c.want), "Message", "Row")) {
			t.Errorf("%s: columns to correct %q", c.name, header)
		}
		if last := len(c.want) - 1; last >= 0 && c.want[last] == c.columns[len(c.columns)-1] {
			comments, err := open(t, path).GetComments("Needs Attention")
			if err != nil || len(comments) != 1 || comments[0].Cell != sheet.CellName(last, 2) {
				t.Errorf("%s: comments %v (%v)", c.name, comments, err)
			}
		}
	}
}

// What a person called a column is theirs, though we call one of ours so, too.
func TestAColumnThatWasGivenAFieldIsKept(t *testing.T) {
	b := season()
	b.batch.Columns, b.batch.Sheet = []string{"Company ID", "Message"}, "Needs Attention"
	b.batch.Fields = []string{"companyId", "filingState"}
	b.rows = rows(ledger.Row{Number: 2, Result: filing.Ready, Cells: cells(text("comp_1"), text("DE"))})
	path, _ := write(t, b, "out.xlsx")
	if got := read(t, path, "Results"); !slices.Equal(words(got[0]), fedBack("Company ID", "Message")) ||
		got[1][1] != text("DE") {
		t.Errorf("%v", got)
	}
}

func TestCellsBeyondTheHeaderAreKept(t *testing.T) {
	b := season()
	b.rows = rows(
		ledger.Row{Number: 2, Result: filing.Ready, Cells: cells(text("comp_1"))},
		ledger.Row{
			Number: 3,
			Result: filing.Ready,
			Cells:  cells(text("a"), text("b"), text("c"), text("d"), text("e"), text("beyond")),
		},
		ledger.Row{Number: 4, Result: filing.Ready},
	)
	path, _ := write(t, b, "out.xlsx")
	got := read(t, path, "Results")
	if got[0][5].Text != "" || got[0][6].Text != "Result" || got[2][5].Text != "beyond" || got[2][6].Text != "ready" ||
		got[3][6].Text != "ready" {
		t.Errorf("rows %v", got)
	}
}

var traps = []string{
	"=cmd|'/c calc'!A1", "+1 Fitness LLC", "@Home Health Corp", "-", "-5", "=1+1", "\tTab Corp", "'Quoted LLC", "''",
	"02134",
	"1e5", "TRUE", "2026-03-01", "#N/A", "Café Rosalía, \"Ltd\"",
}

func TestTextThatLooksLikeAFormulaStaysText(t *testing.T) {
	b := season()
	b.batch.Columns = []string{"=Header()", "Legal Name"}
	var all []ledger.Row
	for i, trap := range traps {
		all = append(all, ledger.Row{
			Number:  i + 2,
			Result:  filing.Rejected,
			Message: "=HYPERLINK(\"" + trap + "\")",
			Cells:   cells(text("comp"), text(trap)),
			Items:   []ledger.Item{{OrderID: "=order", FilingStatus: "+filed", FilingDate: "@soon"}},
		})
	}
	b.rows = rows(all...)
	for _, name := range []string{"out.xlsx", "out.csv"} {
		path, _ := write(t, b, name)
		table := ""
		if name == "out.xlsx" {
			table = "Results"
			wantNoFormulasInWorkbook(t, path)
		} else {
			wantNoFormulasInCSV(t, path)
		}
		got := read(t, path, table)
		if len(got) != len(traps)+1 {
			t.Fatalf("%s: %d rows, want %d", name, len(got), len(traps)+1)
		}
		for i, trap := range traps {
			if c := got[i+1][1]; c.Kind != sheet.Text || c.Text != strings.TrimSpace(trap) {
				t.Errorf("%s: %q came back as %v", name, trap, c)
			}
			if !strings.HasPrefix(got[i+1][3].Text, "=HYPERLINK") || got[i+1][4].Text != "=order" {
				t.Errorf("%s: the answers came back as %v", name, words(got[i+1]))
			}
		}
	}
}

func wantNoFormulasInWorkbook(t *testing.T, path string) {
	t.Helper()
	for part, content := range allParts(t, path) {
		if strings.HasPrefix(part, "xl/worksheets/") &&
			(strings.Contains(content, "<f>") || strings.Contains(content, "<f ")) {
			t.Errorf("%s holds a formula", part)
		}
	}
}

func wantNoFormulasInCSV(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	for line := range strings.SplitSeq(string(content), "\n") {
		for field := range strings.SplitSeq(strings.TrimPrefix(line, "\ufeff"), ",") {
			if f := strings.TrimLeft(field, `"`); f != "" && strings.ContainsRune("=+@\t", rune(f[0])) {
				t.Errorf("a field of the CSV begins as a formula: %q", field)
			}
		}
	}
}

func TestNoSocialSecurityNumberLeaves(t *testing.T) {
	b := season()
	b.batch.Columns = []string{"Company ID", "Responsible Party SSN", "Social Security No.", "File No."}
	b.rows = rows(
		ledger.Row{
			Number:  2,
			Result:  filing.Invalid,
			Message: "The SSN 123-45-6789 is wrong.",
			Cells:   cells(text("comp_1"), text("123-45-6789"), number("123456789"), text("302-555-0100")),
			Faults:  []ledger.Fault{{Column: 1, Message: "123-45-6789 is not nine digits."}},
		},
		ledger.Row{
			Number: 3,
			Result: filing.Placed,
			Cells:  cells(text("comp_2"), text("123 45 6789"), text("see 123-45-6789"), text("123456789")),
		},
	)
	for _, name := range []string{"out.xlsx", "out.csv"} {
		path, _ := write(t, b, name)
		content, err := os.ReadFile(path)
		must(t, err)
		parts := map[string]string{name: string(content)}
		if name == "out.xlsx" {
			parts = allParts(t, path)
			wantNumberAskedForAgain(t, path)
		}
		all := strings.Join(slices.Collect(maps.Values(parts)), "")
		for _, secret := range []string{"123-45-6789", "123 45 6789"} {
			if strings.Contains(all, secret) {
				t.Errorf("%s holds %s", name, secret)
			}
		}
		if n := strings.Count(all, "123456789"); n != 1 {
			t.Errorf("%s holds the digits %d times, want once, in the column that is no secret", name, n)
		}
		if !strings.Contains(all, "302-555-0100") {
			t.Errorf("%s lost a phone number", name)
		}
	}
}

// wantNumberAskedForAgain checks that the comment at a number has its error and
// asks for the number again.
func wantNumberAskedForAgain(t *testing.T, path string) {
	t.Helper()
	comments, err := open(t, path).GetComments("Needs Attention")
	if err != nil || len(comments) != 2 {
		t.Fatalf("comments %v (%v), want one at each number", comments, err)
	}
	var said strings.Builder
	for _, run := range comments[0].Paragraph {
		said.WriteString(run.Text)
	}
	if got := said.String() + comments[0].Text; !strings.Contains(got, "is not nine digits") ||
		!strings.Contains(got, "again") {
		t.Errorf("the comment says %q, want the error and to enter the number again", got)
	}
}

func TestAnErrorLeavesTheOldFile(t *testing.T) {
	broken := errors.New("connection lost")
	for _, name := range []string{"out.xlsx", "out.csv"} {
		for _, pass := range []int{1, 2} {
			folder := t.TempDir()
			path := filepath.Join(folder, name)
			must(t, os.WriteFile(path, []byte("the old one"), 0o600))
			b := season()
			b.rows = brokenAt(7, pass, b.rows, broken)
			if _, err := report.Write(t.Context(), b, "b7k2", path); !errors.Is(err, broken) ||
				!strings.Contains(err.Error(), "b7k2") {
				t.Errorf("%s, reading %d: error %v", name, pass, err)
			}
			content, err := os.ReadFile(path)
			files, _ := os.ReadDir(folder)
			if err != nil || string(content) != "the old one" || len(files) != 1 {
				t.Errorf("%s, reading %d: left %q and %d files (%v)", name, pass, content, len(files), err)
			}
		}
	}
}

// brokenAt are rows that fail at a row, at one of the readings.
func brokenAt(number, reading int, all iter.Seq2[ledger.Row, error], err error) iter.Seq2[ledger.Row, error] {
	reads := 0
	return func(yield func(ledger.Row, error) bool) {
		reads++
		for row := range all {
			if row.Number == number && reads == reading {
				yield(ledger.Row{}, err)
				return
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

func TestACellThatCannotBeReadNamesItsRow(t *testing.T) {
	b := season()
	b.rows = rows(ledger.Row{Number: 17, Cells: []byte(`[{"nonsense":1}]`)})
	if _, err := report.Write(t.Context(), b, "b7k2", filepath.Join(t.TempDir(), "out.xlsx")); err == nil ||
		!strings.Contains(err.Error(), "row 17") {
		t.Errorf("error %v, want one of row 17", err)
	}
}

// Rows out = rows in, in their order, each with its result and what was given.
func TestEveryRowComesOut(t *testing.T) {
	folder := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		given := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) sheet.Cell {
			switch rapid.IntRange(0, 3).Draw(rt, "kind") {
			case 0:
				return text(rapid.StringMatching(`[-=+@' A-Za-z0-9,"é]{0,8}[A-Za-z0-9]`).Draw(rt, "text"))
			case 1:
				return number(fmt.Sprint(rapid.IntRange(-9999, 99999).Draw(rt, "number")))
			case 2:
				return date(noon.AddDate(0, 0, rapid.IntRange(-9999, 9999).Draw(rt, "day")).Format(time.DateOnly))
			}
			return sheet.Cell{}
		}), 3, 3)
		results := rapid.SliceOfN(rapid.SampledFrom(filing.Results), 0, 12).Draw(rt, "results")
		b := season()
		b.batch.Columns = []string{"A", "B", "C"}
		var in []ledger.Row
		var want [][]sheet.Cell
		for i, r := range results {
			line := given.Draw(rt, "row")
			in = append(in, ledger.Row{Number: i + 2, Result: r, Cells: cells(line...)})
			for j := range line {
				line[j].Text = strings.TrimSpace(line[j].Text)
			}
			want = append(want, append(line, text(string(r))))
		}
		b.rows = rows(in...)
		path := filepath.Join(folder, "out.xlsx")
		s, err := report.Write(t.Context(), b, "b7k2", path)
		if err != nil {
			rt.Fatal(err)
		}
		got := read(t, path, "Results")[1:]
		if len(got) != len(in) || s.Counts.Total() != len(in) {
			rt.Fatalf("%d rows came out and %d are counted of %d", len(got), s.Counts.Total(), len(in))
		}
		corrections := 0
		for i := range want {
			if !slices.Equal(got[i][:4], want[i]) {
				rt.Fatalf("row %d: %v, want %v", i, got[i][:4], want[i])
			}
			if r := results[i]; r == filing.Invalid || r == filing.Rejected {
				corrections++
			}
		}
		if n := len(read(t, path, "Needs Attention")) - 1; n != corrections {
			rt.Fatalf("%d rows to correct, want %d", n, corrections)
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	const total = 40_000
	b := season()
	b.batch.Columns = make([]string, 14)
	line := make([]sheet.Cell, 14)
	for i := range line {
		b.batch.Columns[i] = fmt.Sprintf("Column %d", i)
		line[i] = text(fmt.Sprintf("some text of cell %d", i))
	}
	encoded := cells(line...)
	var base, peak uint64
	reads := 0
	live := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	b.rows = func(yield func(ledger.Row, error) bool) {
		reads++
		for i := range total {
			row := ledger.Row{
				Number:    i + 2,
				Result:    filing.Results[i%len(filing.Results)],
				Cells:     encoded,
				UpdatedAt: noon,
				Faults:    []ledger.Fault{{Column: i % 14, Message: fmt.Sprintf("fault of row %d", i)}},
			}
			if !yield(row, nil) {
				return
			}
			if i%5000 == 0 {
				peak = max(peak, live())
			}
		}
	}
	base = live()
	began := time.Now()
	path, s := write(t, b, "out.xlsx")
	took := time.Since(began)
	if s.Counts.Total() != total || reads != 4 { // two of them by the sums of the test's own ledger
		t.Errorf("%d rows in %d readings", s.Counts.Total(), reads)
	}
	used := int64(peak-base) >> 20
	t.Logf("%d rows in %v, %d MB live at most", total, took.Round(time.Millisecond), used)
	if used > 40 {
		t.Errorf("%d MB live while writing, want a bound that does not grow with the rows", used)
	}
	if stat, err := os.Stat(path); err != nil || stat.Size() == 0 {
		t.Errorf("no file: %v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
