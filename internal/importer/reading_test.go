package importer

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// checkOf reads a sheet and gives its problems, by cell, and what is noted of it.
func checkOf(t testing.TB, im *Import) (problems map[string]Problem, tally Tally, notes string) {
	t.Helper()
	problems = map[string]Problem{}
	tally, err := im.Check(context.Background(), func(p Problem) error {
		problems[p.Cell] = p
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return problems, tally, strings.Join(im.Notes(), "\n")
}

// The date of a column that has the day first may be far below another date.
func TestDatesOfOneColumn(t *testing.T) {
	const rest = ",Acme LLC,LLC,user_1,DE,2026,"
	const header = "Company ID,Legal Name,Entity Type,User ID,Filing State,Filing Year,Formation Date\n"
	far := header + "comp_1" + rest + "03/04/2019\n" + strings.Repeat("comp_2"+rest+"2019-01-01\n", 2000) + "comp_3" +
		rest + "13/02/2019\n"
	problems, _, _ := checkOf(t, opened(t, saved(t, "far.csv", far), Options{}))
	if p := problems["G2"]; !strings.Contains(p.Message, `because "13/02/2019" in G2003 has the day first`) {
		t.Errorf("%+v", p)
	}
}

// Rows that a filter hides can be left out, and a row that is struck through is
// warned of.
func TestHiddenAndStruckRows(t *testing.T) {
	struck := excelize.Style{Font: &excelize.Font{Strike: true}}
	path := excelBook(t, [][]any{
		{"Company ID", "User ID", "Filing State", "Filing Year"}, {"comp_1", "user_1", "DE", 2026},
		{"comp_2", "user_1", "DE", 2026}, {"comp_3", "user_1", "DE", 2026},
	}, styled("A3", "C3", struck), styled("A4", "A4", struck),
		func(f *excelize.File) error { return f.SetRowVisible("Sheet1", 2, false) })
	problems, tally, notes := checkOf(t, opened(t, path, Options{}))
	if p := problems["A3"]; p.Rule != "row.struck" || p.Severity != Warning || problems["A4"].Rule != "cell.struck" {
		t.Errorf("%+v", problems)
	}
	if tally.Ready != 3 || !strings.Contains(notes,
		"ATTENTION: 1 of 3 rows are hidden (manually or by a filter) and will be filed too: use --visible-only to "+
			"leave them out.") {
		t.Errorf("%+v %s", tally, notes)
	}
	all := opened(t, path, Options{})
	visible := opened(t, path, Options{VisibleOnly: true})
	_, tally, notes = checkOf(t, visible)
	if want := (Tally{Rows: 3, Ready: 2, Skipped: 1}); tally != want ||
		!strings.Contains(notes, "1 row is hidden (manually or by a filter) and left out.") ||
		strings.Contains(notes, "ATTENTION: 1 of 3") {
		t.Errorf("%+v %s", tally, notes)
	}
	first, err := all.BatchID()
	if err != nil {
		t.Fatal(err)
	}
	if second, err := visible.BatchID(); err != nil || first == second {
		t.Errorf("the batches of all rows and of the visible ones are both %s (%v)", second, err)
	}
}

// A year is what its cell shows, or what was typed into it.
func TestYearsInCellsForDates(t *testing.T) {
	year, date := "yyyy", "yyyy-mm-dd"
	path := excelBook(t, [][]any{
		{"Company ID", "User ID", "Filing State", "Filing Year"}, {"comp_1", "user_1", "DE", 46023},
		{"comp_2", "user_1", "DE", 2026}, {"comp_3", "user_1", "DE", 46023}, {"comp_4", "user_1", "DE", 2026},
	}, styled("D2", "D3", excelize.Style{CustomNumFmt: &year}), styled("D4", "D5", excelize.Style{CustomNumFmt: &date}))
	im := opened(t, path, Options{})
	var got []string
	for _, r := range rowsOf(t, im) {
		if r.result == filing.Ready {
			got = append(got, r.request.Order.AnnualReport.FilingYear)
		} else {
			got = append(got, r.message)
		}
	}
	if want := []string{
		"2026", "2026", "Filing Year: the cell holds the date 2026-01-01, not a year: enter the four digits of the " +
			"year, and format the cell as a number or as text", "2026",
	}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	// The marked cell takes a year as it is typed.
	marked := t.TempDir() + "/marked.xlsx"
	if err := im.WriteChecked(t.Context(), marked); err != nil {
		t.Fatal(err)
	}
	again, err := excelize.OpenFile(marked)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := again.SetCellValue("Sheet1", "D4", 2026); err != nil {
		t.Fatal(err)
	}
	if shown, err := again.GetCellValue("Sheet1", "D4"); err != nil || shown != "2026" {
		t.Errorf("%q %v", shown, err)
	}
}

// The only officer of a company is its primary one unless the sheet says no.
func TestSoleOfficer(t *testing.T) {
	for _, c := range []struct {
		primary string
		want    filing.Result
	}{{"", filing.Ready}, {"yes", filing.Ready}, {"no", filing.Invalid}} {
		row := aFormation.with(anOfficer(0, "Member", c.primary))
		for part := range officerColumnCount {
			row[officerColumn(1, part)] = ""
		}
		text, _ := csvOf(row)
		if got := rowsOf(t, opened(t, saved(t, "in.csv", text),
			Options{Product: filing.Formation})); got[0].result != c.want ||
			c.want == filing.Ready && !got[0].request.Order.Formation.Company.Officers[0].IsPrimary {
			t.Errorf("%q: %s %s", c.primary, got[0].result, got[0].message)
		}
	}
}
