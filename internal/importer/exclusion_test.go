package importer

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// Exclusions are of a row of one sheet. Those that were kept before they had a sheet
// are of the sheet that is read.
//
//nolint:gocognit // one table over two sheets
func TestExclusionsAreOfOneSheet(t *testing.T) {
	rows := [][]sheet.OutCell{
		{sheet.Str("Company ID"), sheet.Str("User Email"), sheet.Str("Filing State"), sheet.Str("Filing Year")},
		{sheet.Str("comp_1"), sheet.Str("ana@example.com"), sheet.Str("DE"), sheet.Str("2026")},
		{sheet.Str("comp_2"), sheet.Str("ana@example.com"), sheet.Str("DE"), sheet.Str("2026")},
	}
	content, err := os.ReadFile(workbook(t, tab{name: "June", rows: rows}, tab{name: "July!", rows: rows}))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		excluded Exclusions
		want     map[string]filing.Result // of row 3, by sheet
	}{
		"none": {nil, map[string]filing.Result{"June": filing.Ready, "July!": filing.Ready}},
		"on the first": {
			Exclusions{{"June", 3}: "Ana"},
			map[string]filing.Result{"June": filing.Skipped, "July!": filing.Ready},
		},
		"on the other": {
			Exclusions{{"July!", 3}: "Ana"},
			map[string]filing.Result{"June": filing.Ready, "July!": filing.Skipped},
		},
		"on any": {
			Exclusions{{Row: 3}: "Ana"},
			map[string]filing.Result{"June": filing.Skipped, "July!": filing.Skipped},
		},
	} {
		for tabName, want := range c.want {
			o := Options{Now: july, Product: filing.AnnualReport, Sheet: tabName}
			id := func(o Options) string {
				im, err := openBytes(content, o)
				if err != nil {
					t.Fatal(err)
				}
				defer im.Close()
				id, err := im.BatchID()
				if err != nil {
					t.Fatal(err)
				}
				return id
			}
			plain := id(o)
			o.Excluded = c.excluded
			all, err := imported("book.xlsx", content, o)
			if err != nil || len(all) != 2 || all[1].Result != want {
				t.Errorf("%s, %s: %+v, %v", name, tabName, all, err)
			}
			if same := id(o) == plain; same != (want == filing.Ready) {
				t.Errorf("%s, %s: the same batch: %v", name, tabName, same)
			}
			d, err := OpenDraft("book.xlsx", content, Options{Now: july, Product: filing.AnnualReport, Sheet: tabName})
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Set(nil, c.excluded); err != nil || d.Find(3).Result != want {
				t.Errorf("%s, %s: %+v, %v", name, tabName, d.Find(3), err)
			}
			d.Close()
		}
	}
}

func openBytes(content []byte, o Options) (*Import, error) {
	return OpenReader("book.xlsx", bytes.NewReader(content), int64(len(content)), o)
}

// Exclusions are kept as they are, also those of sheets with any name.
func TestExclusionsAreKept(t *testing.T) {
	all := Exclusions{{Row: 2}: "Ana", {"June", 3}: "Ben", {"a!b", 4}: "Cat"}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	var back Exclusions
	if err := json.Unmarshal(text, &back); err != nil || !maps.Equal(back, all) {
		t.Errorf("%s: %v, %v", text, back, err)
	}
	if err := json.Unmarshal([]byte(`{"2":"Ana"}`), &back); err != nil || back.By("June", 2) != "Ana" {
		t.Errorf("as it was kept before: %v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"x!":"Ana"}`), &back); err == nil {
		t.Error("a row without a number is read")
	}
}
