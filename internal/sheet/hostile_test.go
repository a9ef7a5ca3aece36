package sheet_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"bulkfiling/internal/sheet"
	"bulkfiling/internal/sheettest"
)

// readAll reads every sheet of a file to its end, and says why it could not.
func readAll(f *sheet.File) error {
	var block sheet.Block
	for _, info := range f.Sheets() {
		r, err := f.Rows(info.Name)
		if err != nil {
			return err
		}
		for err == nil {
			err = r.Read(&block)
		}
		r.Close()
		if err != io.EOF {
			return err
		}
	}
	return nil
}

// maxAllocated bounds what is allocated over the whole reading of a file of a megabyte, whether or not it was given back
// meanwhile: what is in use at once is less.
const maxAllocated = 400 << 20

// harmless are the files that cost a reader of rows little, though perhaps not whoever takes the rows.
var harmless = []string{
	"styles-fonts.xlsx", "content-types.xlsx", "comments.xlsx", "theme.xlsx", "merged-cells-60MB.xlsx", "headers-different.xlsx",
	"workbook-many-sheets.xlsx", "officers.xlsx", "officers-long.xlsx", "officers-shared.xlsx", "properties.xlsx",
	"columns-each-row.csv", "rows-different.csv", "lines-empty.csv",
}

// TestHostileFiles reads every hostile file. What is refused names the file, what is too large, and what to do.
func TestHostileFiles(t *testing.T) {
	for _, hostile := range sheettest.Files() {
		t.Run(hostile.Name, func(t *testing.T) {
			data := hostile.Bytes()
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
