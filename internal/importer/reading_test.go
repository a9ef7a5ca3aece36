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

// A date of which nothing tells whether the day or the month comes first is not
// read where another of its column has the day first.
func TestDatesOfOneColumn(t *testing.T) {
	const rest = ",Acme LLC,LLC,user_1,DE,2026,"
	const header = "Company ID,Legal Name,Entity Type,User ID,Filing State,Filing Year,Formation Date\n"
	problems, _, _ := checkOf(t, opened(t,
		saved(t, "in.csv", header+"comp_1"+rest+"03/04/2019\ncomp_2"+rest+"13/02/2019\ncomp_3"+rest+
			"05/05/2019\ncomp_4"+rest+"2019-04-03\n"), Options{}))
	for cell, want := range map[string]string{"G2": `because "13/02/2019" in G3 has the day first`,
		"G3": "enter it as 2019-02-13"} {
		if p := problems[cell]; !strings.Contains(p.Message, want) {
			t.Errorf("%s: %+v", cell, p)
		}
	}
	if problems["G4"].Message != "" && problems["G4"].Rule == "company.formationDate" ||
		problems["G5"].Rule == "company.formationDate" {
		t.Errorf("%+v", problems)
	}
	far := header + "comp_1" + rest + "03/04/2019\n" + strings.Repeat("comp_2"+rest+"2019-01-01\n", 2000) + "comp_3" +
		rest + "13/02/2019\n"
	problems, _, _ = checkOf(t, opened(t, saved(t, "far.csv", far), Options{}))
	if p := problems["G2"]; !strings.Contains(p.Message, `because "13/02/2019" in G2003 has the day first`) {
		t.Errorf("%+v", p)
	}
}

// Years of two digits are announced once.
func TestShortYearsAreAnnounced(t *testing.T) {
	const row = "comp_1,user_1,DE,2026,"
	_, tally, notes := checkOf(t, opened(t,
		saved(t, "in.csv", "Company ID,User ID,Filing State,Filing Year,Formation Date\n"+row+
			"4/30/19\ncomp_2,user_1,DE,2026,1-Mar-31\n"), Options{}))
	const want = `Two-digit years in dates are read as 1930 to 2029, as in Excel: "4/30/19" (E2) is 2019-04-30.`
	if strings.Count(notes, "Two-digit years") != 1 || !strings.Contains(notes, want) || tally.Invalid > 0 {
		t.Errorf("%+v %s", tally, notes)
	}
}

// What people write around the filings is quoted, and what speaks against a
// filing is an error at its cell.
func TestWhatStandsBesideFilings(t *testing.T) {
	const header = "Company ID,Email,Client Email,State,Year,Status,Notes\n"
	const row = "a@example.com,b@example.com,DE,2026,"
	text := header +
		"comp_1," + row + "DO NOT FILE - dissolved,\n" +
		"--- Florida clients below: ask Ana ---\n" +
		"comp_2," + row + "Active,\n" +
		"comp_3," + row + "Dissolved 2024,\n" +
		"comp_4," + row + "Active,please hold\n" +
		"https://app.example.com/companies/harbor-light?tab=1," + row + ",\n" +
		"Questions: ask ana@example.com\n"
	problems, tally, notes := checkOf(t, opened(t, saved(t, "in.csv", text), Options{}))
	for _, want := range []string{
		`2 rows are not filings and were skipped: 3 ("--- Florida clients below: ask Ana ---"), 8 ` +
			`("Questions: ` +
			`ask ana@example.com").`,
		`User Email is read from "Email" (B1), not from "Client Email" (C1). If that is wrong, use --map "Client ` +
			`Email=User Email".`,
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("%s\nwant %s", notes, want)
		}
	}
	for cell, want := range map[string]string{
		"F2": `says "DO NOT FILE - dissolved": the row is not filed until you file it anyway with --include "Status=DO`,
		"F5": `says "Dissolved 2024": the row is not filed until`,
		"G6": `says "please hold": the row is not filed until`,
		"A7": "is a web address: enter harbor-light",
	} {
		if p := problems[cell]; !strings.Contains(p.Message, want) || p.Severity != Error {
			t.Errorf("%s: %+v", cell, p)
		}
	}
	if want := (Tally{Rows: 7, Ready: 1, Invalid: 4, Skipped: 2}); tally != want || problems["F4"].Message != "" {
		t.Errorf("%+v", tally)
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
