package importer

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
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

// Rows with a text are left out, or filed in spite of it; a filter without a row is
// noted, and one of a column that the sheet lacks is refused.
func TestFilters(t *testing.T) {
	path := saved(t, "in.csv", "Company ID,User Email,Filing State,Filing Year,Status,Notes\n"+
		"comp_1,a@example.com,DE,2026,VOID,\ncomp_2,a@example.com,DE,2026,Void,do not file\n"+
		"comp_3,a@example.com,DE,2026,Suspended,\n")
	const ready, held, out = filing.Ready, filing.Invalid, filing.Skipped
	for _, c := range []struct {
		exclude, include []string
		want             []filing.Result
		says             string
	}{
		{nil, nil, []filing.Result{held, held, ready}, ""},
		{[]string{"status=void"}, nil, []filing.Result{out, out, ready}, ""},
		{nil, []string{"Status=Void"}, []filing.Result{ready, held, ready}, ""},
		{nil, []string{"Status=Void", "Notes=Do*"}, []filing.Result{ready, ready, ready}, ""},
		{[]string{"Notes=do*"}, []string{"Status=Viod"}, []filing.Result{held, out, ready},
			`ATTENTION: no row has "Status=Viod".`},
	} {
		im := opened(t, path, Options{Exclude: c.exclude, Include: c.include})
		for i, r := range rowsOf(t, im) {
			if r.result != c.want[i] {
				t.Errorf("%+v: row %d is %s", c, r.number, r.result)
			}
		}
		if notes := strings.Join(im.Notes(), "\n"); strings.Contains(notes, "no row has") != (c.says != "") ||
			!strings.Contains(notes, c.says) {
			t.Errorf("%+v: %s", c, notes)
		}
		b, err := im.batch()
		if again := OptionsOf(b); err != nil || !slices.Equal(again.Include, c.include) ||
			!slices.Equal(again.Exclude, c.exclude) {
			t.Errorf("%+v of %s, %v", again, b.Options, err)
		}
	}
	if _, err := Open(path, Options{Include: []string{"Stand=Void"}}); err == nil ||
		!strings.Contains(err.Error(), `must be a column that is not sent and a text of it, such as "Status=Void"`) {
		t.Error(err)
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
