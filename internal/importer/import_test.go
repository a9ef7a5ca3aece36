package importer

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

var july = time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC)

// saved writes a file with the text.
func saved(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := writeFile(path, text); err != nil {
		t.Fatal(err)
	}
	return path
}

func writeFile(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }

// tab is a sheet of a workbook in a test.
type tab struct {
	name   string
	hidden bool
	rows   [][]sheet.OutCell
	// origin makes the workbook one of our own.
	origin *ledger.Origin
}

// workbook writes an XLSX.
func workbook(t testing.TB, tabs ...tab) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "book.xlsx")
	book, err := sheet.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer book.Abort()
	for _, tab := range tabs {
		s, err := book.Sheet(tab.name, sheet.SheetOptions{Hidden: tab.hidden})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range tab.rows {
			if err := s.Row(row...); err != nil {
				t.Fatal(err)
			}
		}
		if tab.origin != nil {
			if err := book.Properties(tab.origin.Properties()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := book.Save(); err != nil {
		t.Fatal(err)
	}
	return path
}

// excelBook saves a workbook of excelize with rows from A1 on, changed by some calls.
func excelBook(t *testing.T, rows [][]any, changes ...func(*excelize.File) error) string {
	t.Helper()
	f := excelize.NewFile()
	defer f.Close()
	for i, row := range rows {
		changes = append([]func(*excelize.File) error{func(f *excelize.File) error {
			return f.SetSheetRow("Sheet1", fmt.Sprintf("A%d", i+1), &row)
		}}, changes...)
	}
	path := filepath.Join(t.TempDir(), "in.xlsx")
	for _, change := range append(changes, func(f *excelize.File) error { return f.SaveAs(path) }) {
		if err := change(f); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// styled gives cells a style.
func styled(from, to string, style excelize.Style) func(*excelize.File) error {
	return func(f *excelize.File) error {
		id, err := f.NewStyle(&style)
		if err != nil {
			return err
		}
		return f.SetCellStyle("Sheet1", from, to, id)
	}
}

// texts is a row of text cells.
func texts(values ...string) []sheet.OutCell {
	row := make([]sheet.OutCell, len(values))
	for i, v := range values {
		row[i] = sheet.Str(v)
	}
	return row
}

// result is a row as a test keeps it.
type result struct {
	number   int
	result   filing.Result
	message  string
	request  filing.Request
	problems []Problem
}

func opened(t testing.TB, path string, o Options) *Import {
	t.Helper()
	if o.Now.IsZero() {
		o.Now = july
	}
	im, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { im.Close() })
	return im
}

func rowsOf(t testing.TB, im *Import) []result {
	t.Helper()
	var all []result
	err := im.Each(context.Background(), func(r *Row) error {
		one := result{
			number:   r.Number,
			result:   r.Result,
			message:  r.Message,
			problems: append([]Problem(nil), r.Problems...),
		}
		all = append(all, one)
		if r.Request == nil {
			return nil
		}
		whole, err := json.Marshal(r.Request) // later rows overwrite its parts
		if err != nil {
			return err
		}
		return json.Unmarshal(whole, &all[len(all)-1].request)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestCheckAllocatesLittle bounds what a row of a large file costs. The texts of all columns but two
// repeat.
func TestCheckAllocatesLittle(t *testing.T) {
	const rows = 2000
	var b strings.Builder
	b.WriteString("Company ID,Legal Name,User Email,User Name,User Phone,Filing State,Entity Type,Filing Year\n")
	for i := range rows {
		fmt.Fprintf(&b, "comp_%08d,Company %d LLC,user%d@firm.example,User %d,302-555-0170,DE,LLC,2026\n", i, i, i%50,
			i%50)
	}
	path := filepath.Join(t.TempDir(), "clean.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	im := opened(t, path, Options{})
	var tally Tally
	allocations := testing.AllocsPerRun(1, func() {
		im.repeats = nil
		var err error
		if tally, err = im.Check(t.Context(), func(Problem) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}) / rows
	if tally.Ready != rows || allocations > 50 {
		t.Errorf("%+v, %.1f allocations a row", tally, allocations)
	}
}
