package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

func openLedger(t *testing.T) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(context.Background(), ledger.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// Every row is in the ledger with its cells, faults and order, nothing may be
// sent yet, and the same command again finds the batch once it is open.
func TestRecord(t *testing.T) {
	ctx := context.Background()
	l := openLedger(t)
	file := filepath.Join(root, "samples/annual-reports-de-2026.xlsx")
	im := opened(t, file, Options{})
	id, created, err := im.Record(ctx, l, "ana@host")
	if err != nil || !created {
		t.Fatal(created, err)
	}
	if kept, err := l.Batch(ctx, id); err != nil || kept.Open {
		t.Errorf("%+v, %v", kept, err)
	}
	if err := l.OpenBatch(ctx, id); err != nil {
		t.Fatal(err)
	}
	kept, err := l.Batch(ctx, id)
	if err != nil || kept.Rows != 60 || kept.Sheet != "Annual Reports 2026" || kept.CreatedBy != "ana@host" ||
		kept.Options != "--product annual-report --sheet 'Annual Reports 2026'" {
		t.Errorf("%+v, %v", kept, err)
	}
	n := 0
	for r, err := range l.Rows(ctx, id) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		cells, err := sheet.DecodeCells(r.Cells)
		if err != nil || len(cells) == 0 {
			t.Errorf("row %d: %v", r.Number, err)
		}
		if r.Result == filing.Skipped && !strings.HasSuffix(r.Message, " of annual-reports-de-2026.xlsx") {
			t.Errorf("row %d is skipped: %s", r.Number, r.Message)
		}
		switch ready := r.Result == filing.Ready; {
		case ready != (r.Request != nil), ready != (r.Message == ""), r.Result == filing.Invalid && len(r.Faults) == 0:
			t.Errorf("row %d: %+v", r.Number, r)
		}
	}
	if n != 60 {
		t.Errorf("%d rows", n)
	}
	again, created, err := opened(t, file, Options{}).Record(ctx, l, "ana@host")
	if err != nil || created || again != id {
		t.Errorf("%v %s %v", created, again, err)
	}
}

// Rows that are added in several parts are all there, in their order.
func TestRecordManyRows(t *testing.T) {
	const rows = 2*rowsAtOnce + 1
	text := "Company ID,User ID,Filing State,Filing Year\n"
	for i := range rows {
		text += fmt.Sprintf("comp_%d,user_1,DE,2026\n", i)
	}
	var k keeper
	if _, _, err := opened(t, saved(t, "in.csv", text), Options{}).Record(t.Context(), &k, "ana"); err != nil {
		t.Fatal(err)
	}
	if len(k.rows) != rows {
		t.Fatalf("%d rows", len(k.rows))
	}
	for i, r := range k.rows {
		if r.Number != i+2 || r.Request.Company.Ref != fmt.Sprintf("comp_%d", i) {
			t.Errorf("row %d: %d, %s", i+2, r.Number, r.Request.Company.Ref)
		}
	}
}

// A batch is known by the content of its file and by its options.
func TestBatchID(t *testing.T) {
	text := "Company ID,User ID,Filing State,Filing Year\ncomp_1,user_1,DE,2026\n"
	id := func(name, text string, o Options) string {
		t.Helper()
		id, err := opened(t, saved(t, name, text), o).BatchID()
		if err != nil || len(id) != 16 {
			t.Fatal(id, err)
		}
		return id
	}
	first := id("a.csv", text, Options{})
	for _, c := range []struct {
		why  string
		same bool
		text string
		o    Options
	}{
		{"another name of the file", true, text, Options{}},
		{"the product named that was told", true, text, Options{Product: filing.AnnualReport}},
		{"another day", true, text, Options{Now: july.AddDate(0, 1, 0)}},
		{"another row", false, text + "comp_2,user_1,DE,2026\n", Options{}},
		{"a state", false, text, Options{State: "DE"}},
		{"a year", false, text, Options{FilingYear: "2026"}},
		{"a user", false, text, Options{User: "user_1"}},
		{"a mapping", false, text, Options{Map: map[string]string{"User ID": "User ID"}}},
		{"once more, deliberately", false, text, Options{Again: "the state lost it"}},
	} {
		if got := id("b.csv", c.text, c.o); (got == first) != c.same {
			t.Errorf("%s: %s and %s", c.why, first, got)
		}
	}
	state, code := id("a.csv", text, Options{State: "Delaware"}), id("a.csv", text, Options{State: "de"})
	if state != code {
		t.Error("a state by name and by code are two batches")
	}
}

type brokenRecorder struct{ *ledger.Ledger }

func (brokenRecorder) AddRows(context.Context, string, []ledger.Row) error {
	return errors.New("disk full")
}

// A batch whose rows could not all be recorded is not opened.
func TestRecordFails(t *testing.T) {
	ctx := context.Background()
	l := openLedger(t)
	im := opened(t, saved(t, "in.csv", "Company ID,User ID,Filing State,Filing Year\ncomp_1,user_1,DE,2026\n"),
		Options{})
	id, created, err := im.Record(ctx, brokenRecorder{l}, "")
	if err == nil || created {
		t.Fatal("no error")
	}
	if kept, err := l.Batch(ctx, id); err != nil || kept.Open {
		t.Errorf("%+v %v", kept, err)
	}
	if _, created, err = im.Record(ctx, l, ""); err != nil || !created {
		t.Errorf("the next attempt: %v %v", created, err)
	}
}

// The marked workbook has every cell at its address.
func TestWriteChecked(t *testing.T) {
	ctx := context.Background()
	file := filepath.Join(root, "samples/annual-reports-de-2026.xlsx")
	im := opened(t, file, Options{})
	path := filepath.Join(t.TempDir(), "x.checked.xlsx")
	if err := im.WriteChecked(ctx, path); err != nil {
		t.Fatal(err)
	}
	before, after := cellsOf(t, file), cellsOf(t, path)
	if len(before) != len(after) {
		t.Fatalf("%d rows of %d", len(after), len(before))
	}
	messages := 0
	for i := 1; i < len(before); i++ {
		number, cells, _ := strings.Cut(after[i], " ")
		row, err := sheet.DecodeCells([]byte(cells))
		if err != nil {
			t.Fatal(err)
		}
		if len(row) == 17 && i > 2 {
			messages += oneIf(row[15].Text != "")
			if row[16].Text != number {
				t.Errorf("beside row %s stands %q", number, row[16].Text)
			}
		}
		row = row[:min(len(row), 15)] // behind it Message and Row
		for len(row) > 0 && row[len(row)-1].Kind == sheet.Blank {
			row = row[:len(row)-1]
		}
		if got := number + " " + string(sheet.EncodeCells(row)); got != before[i] {
			t.Errorf("%s\nwas %s", got, before[i])
		}
	}
	if messages != 7 {
		t.Errorf("%d messages", messages)
	}
	// Fed back it says the same.
	again := opened(t, path, Options{})
	tally, err := again.Check(ctx, func(Problem) error { return nil })
	if err != nil || tally != (Tally{60, 53, 6, 1}) {
		t.Errorf("%+v %v %q", tally, err, again.Notes())
	}
	if err := again.WriteChecked(ctx, path); err != nil {
		t.Fatal(err)
	}
	if twice := cellsOf(t, path); strings.Join(twice, "\n") != strings.Join(after, "\n") {
		t.Error("checked twice, the workbook is another")
	}
}

// Where nothing is wrong, nothing is written.
func TestWriteCheckedNothing(t *testing.T) {
	im := opened(t, saved(t, "in.csv", "Company ID,Legal Name,User ID,Filing State,Filing Year\n"+
		"comp_1,Acme LLC,user_1,DE,2026\n"), Options{})
	path := filepath.Join(t.TempDir(), "in.checked.xlsx")
	if err := im.WriteChecked(context.Background(), path); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
}

// A season's rows are recorded in the order in which they are sent, and told in
// that of the sheet; each is itself, however long it waited for its place.
func TestRecordASeason(t *testing.T) {
	const n = 8000 // more chunks than are in memory at once
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "companies.csv")
	content := "Company ID,Entity Type,Formation State,Filing State,Filing Year,User ID\n"
	for i := range n {
		content += fmt.Sprintf("comp_%d,LLC,DE,DE,2026,user_%d\n", i, i)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	l := openLedger(t)
	im := opened(t, path, Options{Run: &ScheduleRun{ID: "de@2026-01-15", RowOf: func(row int) (RunRow, bool) {
		return RunRow{Priority: int64(1 + (n-row+n)%7)}, true
	}}})
	id, _, err := im.Record(ctx, l, "")
	if err != nil {
		t.Fatal(err)
	}
	var rows []ledger.Row
	for r, err := range l.Rows(ctx, id) {
		if err != nil {
			t.Fatal(err)
		}
		company := fmt.Sprintf("comp_%d", len(rows))
		if r.Number != len(rows)+2 || r.Request.Company.Ref != company ||
			!strings.Contains(string(r.Cells), `"`+company+`"`) ||
			r.Request.User.ID != fmt.Sprintf("user_%d", len(rows)) {
			t.Fatalf("%d in the sheet: row %d, %s for %s", len(rows)+2, r.Number, r.Cells, r.Request.Company.Ref)
		}
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b ledger.Row) int { return cmp.Compare(a.ID, b.ID) })
	if len(rows) != n || !slices.IsSortedFunc(rows,
		func(a, b ledger.Row) int { return cmp.Compare(a.Priority, b.Priority) }) {
		t.Errorf("%d rows, not in the order of their turn", len(rows))
	}
}
