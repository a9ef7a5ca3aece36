package sheet_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

func TestAWorkbookTellsWhetherItWasChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book.xlsx")
	book, err := sheet.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := book.Sheet("Results", sheet.SheetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Row(sheet.Str("Company ID"), sheet.Str("Result")); err != nil {
		t.Fatal(err)
	}
	if err := book.Save(); err != nil {
		t.Fatal(err)
	}
	wants := func(what string, want bool) {
		t.Helper()
		if got, err := sheet.IsUnedited(path); err != nil || got != want {
			t.Errorf("%s: unchanged %t, %v", what, got, err)
		}
	}
	wants("as it was written", true)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	again, err := excelize.OpenFile(path) // an archive with a comment is an archive
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Save(); err != nil {
		t.Fatal(err)
	}
	wants("saved by another program", false)

	for at := 0; at < len(whole); at += len(whole)/7 + 1 {
		changed := append([]byte(nil), whole...)
		changed[at] ^= 1
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		wants("with one bit turned", false)
	}
	for what, content := range map[string]string{"empty": "", "short": "precious"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		wants(what, false)
	}
}
