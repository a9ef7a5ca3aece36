package importer

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// oddSSNs are numbers as they stand in notes and in cells that have slipped.
var oddSSNs = []string{
	"SSN#527317107", "528-317108", "529/31/7109", "530_31_7110", "531-31-7111x", "x532-31-7112", "533 - 31 - 7113",
	"534–31–7114",
	"535—31—7115", "536‑31‑7116", "５３７－３１－７１１７", "538.31.7118", "539 31 7119", "540 31 7120", "912-70-7121",
	"542317122",
}

// digitsOf are the digits of a number, however it is written.
func digitsOf(number string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9':
			return r
		case r >= '０' && r <= '９':
			return r - '０' + '0'
		}
		return -1
	}, number)
}

// inAnyForm finds a number in a text, whatever its digits are parted with.
func inAnyForm(number string) *regexp.Regexp {
	var b strings.Builder
	for i, d := range digitsOf(number) {
		if i > 0 {
			b.WriteString(`[^\pL\pN*]{0,4}`)
		}
		fmt.Fprintf(&b, "[%c%c]", d, d-'0'+'０')
	}
	return regexp.MustCompile(b.String())
}

// Wherever a number stands in a workbook that has no column for it, it is hidden
// from all that is said, written and kept: cells of every column, headers, titles,
// the names of the sheets and of the file.
func TestNoSSNOfAnyCellIsSaidOrKept(t *testing.T) {
	for _, number := range oddSSNs {
		testHidden(t, number)
	}
}

// testHidden checks that a workbook with the number in every column shows it
// nowhere.
func testHidden(t *testing.T, number string) {
	header := []string{"Company ID", "Filing State", "Filing Year", "User Email", "Legal Name", "Phone",
		"Principal Line 1", "Principal ZIP", "Client", "Matter", "Notes", "Notes " + number}
	rows := [][]sheet.OutCell{{sheet.Str("Companies of " + number)}, nil}
	for _, h := range header {
		rows[1] = append(rows[1], sheet.Str(h))
	}
	for i := range header {
		row := []sheet.OutCell{sheet.Str(fmt.Sprintf("comp_%d", i)), sheet.Str("DE"), sheet.Str("2026"),
			sheet.Str("a@example.com"), sheet.Str("Bay LLC")}
		for len(row) < len(header) {
			row = append(row, sheet.OutCell{})
		}
		if row[i] = sheet.Str(number); header[i] == "Principal ZIP" && number == digitsOf(number) {
			row[i] = sheet.OutCell{} // a ZIP+4, for all that its digits tell
		}
		rows = append(rows, row)
	}
	name := strings.NewReplacer("/", "_", " ", " ").Replace(number)
	made := workbook(t, tab{name: name, rows: rows})
	path := filepath.Join(t.TempDir(), "companies "+name+".xlsx")
	if err := os.Rename(made, path); err != nil {
		t.Fatal(err)
	}
	im := opened(t, path, Options{})
	said := saidOf(t, im)
	for _, r := range rowsOf(t, im) {
		said += fmt.Sprintf("%+v %+v %+v\n", r.request.Company, r.request.User, r.request.Order)
	}
	content := contentOf(t, path)
	s, err := SurveyReader(path, strings.NewReader(content), int64(len(content)),
		Options{Map: map[string]string{"Notes " + number: ""}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(path, Options{Sheet: "no such sheet"})
	said += fmt.Sprintf("%+v %v", s, err)
	for _, text := range []string{number, name} {
		if i := strings.Index(said, text); i >= 0 {
			t.Errorf("%s is shown: %s", text, said[max(0, i-200):i+40])
		}
	}
	if at := inAnyForm(number).FindString(said); at != "" {
		t.Errorf("the digits of %s are shown: %q", number, at)
	}
	if !strings.Contains(said, digitsOf(number)[5:]) {
		t.Errorf("the last four digits of %s are not shown", number)
	}
}

// Two sheets whose names differ in the hidden digits alone are both found.
func TestSheetsNamedBySSN(t *testing.T) {
	header := []sheet.OutCell{sheet.Str("Company ID"), sheet.Str("Filing State"), sheet.Str("Filing Year"),
		sheet.Str("User Email")}
	row := func(id string) []sheet.OutCell {
		return []sheet.OutCell{sheet.Str(id), sheet.Str("DE"), sheet.Str("2026"), sheet.Str("a@example.com")}
	}
	path := workbook(t, tab{name: "527-31-7107", rows: [][]sheet.OutCell{header, row("comp_1")}},
		tab{name: "528-31-7107", rows: [][]sheet.OutCell{header, row("comp_2")}})
	_, err := Open(path, Options{})
	if err == nil || !strings.Contains(err.Error(), `"xxx-xx-7107", "xxx-xx-7107 (2)"`) {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"xxx-xx-7107": "comp_1", "xxx-xx-7107 (2)": "comp_2",
		"527-31-7107": "comp_1"} {
		im := opened(t, path, Options{Sheet: name})
		if rows := rowsOf(t, im); len(rows) != 1 || rows[0].request.Company.Ref != want {
			t.Errorf("%s: %+v", name, rows)
		}
	}
}

// What the product needs stays: identifiers, phone numbers, ZIP codes, dates.
func TestOtherNumbersOfASheetStay(t *testing.T) {
	cells := map[string]string{
		"EIN": "527317107", "FEIN": "12-3456789", "File No.": "528317108", "Entity #": "529317109",
		"Principal ZIP": "787010001", "Phone": "302-555-0142",
		"Total Assets": "530317110", "Notes": "EIN 531317111, call (302) 555-0142", "Tax ID": "532317112",
	}
	var headers, values []string
	for _, h := range slices.Sorted(maps.Keys(cells)) {
		headers, values = append(headers, h), append(values, `"`+cells[h]+`"`)
	}
	im := opened(t, saved(t, "in.csv",
		"Company ID,Filing State,Filing Year,User Email,"+strings.Join(headers, ",")+"\ncomp_1,DE,2026,a@example.com,"+
			strings.Join(values, ",")+"\n"), Options{})
	kept := &keeper{}
	if _, _, err := im.Record(t.Context(), kept, ""); err != nil {
		t.Fatal(err)
	}
	for h, value := range cells {
		if !strings.Contains(string(kept.rows[0].Cells), value) {
			t.Errorf("%s %s is gone: %s", h, value, kept.rows[0].Cells)
		}
	}
}
