package importer

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/xuri/excelize/v2"

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

// A comment at a cell is a note, also when the checked workbook without it is read again.
func TestComments(t *testing.T) {
	comment := func(cell, text string) func(*excelize.File) error {
		return func(f *excelize.File) error {
			return f.AddComment("Sheet1", excelize.Comment{Cell: cell, Author: "Ana", Text: text})
		}
	}
	path := excelBook(t, [][]any{
		{"Company ID", "User ID", "Filing State", "Filing Year", "Legal Name"},
		{"comp_1", "user_1", "DE", 2026, "Acme LLC"}, {"comp_2", "user_1", "DE", 2026, "Bay LLC"},
	}, comment("A2", "Please call."), comment("B3", "Ana: Sold in May, do not file"))
	problems, tally, _ := checkOf(t, opened(t, path, Options{}))
	if tally.Ready != 1 || problems["B3"].Remark != "Comment=Ana: Sold in May, do not file" {
		t.Errorf("%+v %+v", tally, problems)
	}
	im := opened(t, path, Options{Exclude: []string{"comment=ana: sold*"}})
	if _, tally, _ = checkOf(t, im); tally.Ready != 1 || tally.Skipped != 1 {
		t.Errorf("%+v", tally)
	}
	checked := t.TempDir() + "/checked.xlsx"
	if err := opened(t, path, Options{}).WriteChecked(t.Context(), checked); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{}, {Include: []string{"Comment=Ana: Sold in May, do not file"}}} {
		problems, tally, _ = checkOf(t, opened(t, checked, o))
		if want := 1 + len(o.Include); tally.Ready != want || len(problems) != 2-want {
			t.Errorf("%+v %+v", tally, problems)
		}
	}
}
