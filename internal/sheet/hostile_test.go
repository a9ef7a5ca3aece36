package sheet_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/sheettest"
)

// readAll reads every sheet of a file to its end, and says why it could not.
func readAll(f *sheet.File) error {
	for _, info := range f.Sheets() {
		if err := f.EachRow(info.Name, func(*sheet.Row) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// maxAllocated bounds what is allocated over the whole reading of a file of a
// megabyte, whether or not it was given back meanwhile: what is in use at once
// is less.
const maxAllocated = 400 << 20

// harmless are the files that cost a reader of rows little, though perhaps not
// the consumer of the rows.
var harmless = []string{
	"headers-different.xlsx", "workbook-many-sheets.xlsx", "properties.xlsx", "columns-each-row.csv",
	"lines-empty.csv",
}

// TestHostileFiles reads every hostile file. What is refused names the file,
// what is too large, and what to do.
func TestHostileFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a long test in short mode")
	}
	for _, hostile := range sheettest.Files() {
		t.Run(hostile.Name, func(t *testing.T) {
			data := hostile.Bytes()
			if len(data) == 0 || len(data) > sheettest.MaxBytes {
				t.Errorf("the file has %d bytes", len(data))
			}
			path := filepath.Join(t.TempDir(), hostile.Name)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			f, err := sheet.Open(path, sheet.Limits{})
			if err == nil {
				err = readAll(f)
				f.Close()
			}
			runtime.ReadMemStats(&after)
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > maxAllocated {
				t.Errorf("%d MB allocated", allocated>>20)
			}
			var refused *sheet.FormatError
			switch {
			case err != nil && !errors.As(err, &refused):
				t.Errorf("not refused but failed: %v", err)
			case err != nil && (refused.File != hostile.Name || refused.Reason == "" || refused.Remedy == ""):
				t.Errorf("refused without saying what to do: %+v", refused)
			case err == nil && !slices.Contains(harmless, hostile.Name) && !strings.HasPrefix(hostile.Name, "most-"):
				t.Error("read to its end")
			case err != nil && strings.HasPrefix(hostile.Name, "most-"):
				t.Errorf("it is just below the limits: %v", err)
			}
		})
	}
}

// FuzzCost repeats texts within the parts of a workbook, and holds what is
// allocated over the whole reading to a bound that does not depend on them.
func FuzzCost(f *testing.F) {
	parts := []string{sheettest.Types, sheettest.Root, sheettest.Book, sheettest.Rels, sheettest.Styles,
		sheettest.Strings, sheettest.Sheet}
	f.Add(4, "<styleSheet><cellXfs><xf", ` a=""`, 1<<16, "/></cellXfs></styleSheet>")
	f.Add(4, "<styleSheet><numFmts>", `<numFmt numFmtId="200" formatCode="0-0"/>`, 1<<12, "</numFmts></styleSheet>")
	f.Add(5, "<sst>", "<si><t>a&amp;b</t></si>", 1<<16, "</sst>")
	f.Add(6, "<worksheet><sheetData>", `<row><c t="inlineStr"><is><t>a</t></is></c></row>`, 1<<16,
		"</sheetData></worksheet>")
	f.Add(6, "<worksheet><sheetData><row>", `<c/>`, 1<<14, "</row></sheetData></worksheet>")
	f.Add(2, "<workbook><sheets>", `<sheet name="a" r:id="rId1"/>`, 1<<9, "</sheets></workbook>")
	f.Fuzz(func(t *testing.T, at int, head, body string, times int, tail string) {
		if at < 0 || at >= len(parts) || times < 0 || len(body)*times > 16<<20 {
			t.Skip()
		}
		data := sheettest.Flood(parts[at], head, body, times, tail)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		file, err := sheet.OpenReader("flood.xlsx", bytes.NewReader(data), int64(len(data)), sheet.Limits{})
		if err == nil {
			err = readAll(file)
		}
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > maxAllocated {
			t.Errorf("%d MB allocated (%v)", allocated>>20, err)
		}
	})
}
