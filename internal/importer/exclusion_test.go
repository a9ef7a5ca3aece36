package importer

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// Exclusions are of a row of one sheet.
func TestExclusionsAreOfOneSheet(t *testing.T) {
	rows := [][]sheet.OutCell{texts("Company ID", "User Email", "Filing State", "Filing Year"),
		texts("comp_1", "ana@example.com", "DE", "2026"), texts("comp_2", "ana@example.com", "DE", "2026")}
	path := workbook(t, tab{name: "June", rows: rows}, tab{name: "July!", rows: rows})
	for name, want := range map[string]filing.Result{"June": filing.Ready, "July!": filing.Skipped} {
		plain := opened(t, path, Options{Product: filing.AnnualReport, Sheet: name})
		im := opened(t, path, Options{Product: filing.AnnualReport, Sheet: name,
			Excluded: Exclusions{{Sheet: "July!", Row: 3}: "Ana"}})
		if all := rowsOf(t, im); len(all) != 2 || all[0].result != filing.Ready || all[1].result != want {
			t.Errorf("%s: %+v", name, all)
		}
		first, err := plain.BatchID()
		if err != nil {
			t.Fatal(err)
		}
		if id, err := im.BatchID(); err != nil || (id == first) != (want == filing.Ready) {
			t.Errorf("%s: batches %s and %s, %v", name, first, id, err)
		}
	}
}

// Exclusions are kept as they are, also those of sheets with any name.
func TestExclusionsAreKept(t *testing.T) {
	all := Exclusions{{Row: 2}: "Ana", {Sheet: "June", Row: 3}: "Ben", {"a!b", 4, "Status=Void!5"}: "Cat"}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	var back Exclusions
	if err := json.Unmarshal(text, &back); err != nil || !maps.Equal(back, all) {
		t.Errorf("%s: %v, %v", text, back, err)
	}
	if err := json.Unmarshal([]byte(`{"x!":"Ana"}`), &back); err == nil {
		t.Error("a row without a number is read")
	}
}
