package importer

import (
	"bytes"
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// nasty are small files that have something wrong with them.
var nasty = []string{
	"",
	"Company ID",
	"Company ID,Filing State,Filing Year\n",
	"Company ID,Filing State,Filing Year\ncomp_1,DE,26\nTotal,,\n",
	"\ufeffCompany ID;Filing State;Filing Year\r\ncomp_1;DE;2026\r\n",
	"sep=|\nCompany ID|Filing State|Filing Year\ncomp_1|DE|2026\n",
	"Titel\n\nCompany ID\tState\tYear\ncomp_1\tDE\t'26\n",
	"Company,,,Agent,,\nID,Filing State,Filing Year,Street,City,Zip\ncomp_1,DE,2026,a,b,2134\n",
	"State,State,State,State\nDE,DE,DE,DE\n",
	"Company ID,Filing State,Filing Year\n\"comp_1,DE,2026\n",
	"Company ID,Filing State,Filing Year\ncomp_1,DE\ncomp_2,DE,2026,,,,extra\n#N/A,#REF!,#####\n",
	"Company ID,User Email,Phone,SSN,Filing Year\ncomp_1,mailto:a@b.co <a@b.co>,+1 (302) 555-0142 " +
		"x1,078-05-1120,2026.0\n",
	"\xff\xfeC\x00o\x00m\x00p\x00a\x00n\x00y\x00 \x00I\x00D\x00",
	"<html><table><tr><td>Company ID</td></tr></table>",
	"PK\x03\x04", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
}

// fuzzLimits keep a try short.
var fuzzLimits = sheet.Limits{
	FileBytes:   1 << 20,
	TotalBytes:  4 << 20,
	PartBytes:   4 << 20,
	StringBytes: 1 << 20,
	Rows:        1 << 14,
	Columns:     1 << 9,
	Cells:       1 << 18,
}

// fuzzOptions are the options of a try, by the bits of how.
func fuzzOptions(how uint8) Options {
	o := Options{Now: july}
	if how&1 != 0 {
		o.Product = "annual-report"
	}
	if how&2 != 0 {
		o.State, o.FilingYear, o.User = "DE", "2026", "user_1"
	}
	switch how & 24 {
	case 8:
		o.HeaderRow, o.Map = NoHeader, map[string]string{"A:A": "Company ID", "C:C": "Filing Year"}
	case 16:
		o.HeaderRow = HeaderRow(1 + how>>5)
	case 24:
		o.Map = map[string]string{"B:B": "Filing State", "Q:Q": ""}
	}
	return o
}

// Whatever the bytes, a file is refused or every row of it gets one answer, in
// bounded time.
func FuzzCheck(f *testing.F) {
	for _, text := range nasty {
		for how := uint8(0); how < 64; how += 8 {
			f.Add([]byte(text), how|2)
		}
		f.Add([]byte(text), uint8(0))
	}
	for i, t := range []tab{
		{
			name: "June",
			rows: [][]sheet.OutCell{texts("Company ID", "User ID", "Filing State", "Filing Year"),
				{sheet.Str("comp_1"), sheet.Str("user_1"), sheet.Str("DE"), number("26")}},
		},
		{
			name: "Needs Attention",
			rows: [][]sheet.OutCell{texts("Company ID", "Filing Year", "Message"),
				{sheet.Str("comp_1"), {Cell: sheet.Cell{Kind: sheet.Date, Text: "2026-01-01"}}}},
		},
		{
			name: "x",
			rows: [][]sheet.OutCell{{}, texts("Company", "", "Agent", ""), texts("ID", "Filing Year", "Street", "ZIP"),
				{sheet.Str("Total"), number("7")}},
		},
	} {
		data, err := os.ReadFile(workbook(f, t))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint8(i))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, how uint8) {
		path := filepath.Join(dir, "in")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		o := fuzzOptions(how)
		im, err := o.open(sheet.Open(path, fuzzLimits))
		if err != nil {
			return
		}
		defer im.Close()
		tally := checkFuzzed(t, im)
		im.Notes()
		if how&4 != 0 {
			if err := im.WriteChecked(context.Background(), path+".checked.xlsx"); err == nil && tally.Rows < 100 {
				reopen(path+".checked.xlsx", o)
			}
			os.Remove(path + ".checked.xlsx")
		}
	})
}

// checkFuzzed checks that every row has one result, in the order of the sheet.
func checkFuzzed(t *testing.T, im *Import) (tally Tally) {
	last := 0
	err := im.Each(context.Background(), func(r *Row) error {
		if r.Number <= last {
			t.Errorf("row %d after row %d", r.Number, last)
		}
		last = r.Number
		tally.add(r.Result)
		if (r.Request != nil) != (r.Result == "ready") || (r.Message != "") == (r.Result == "ready") {
			t.Errorf("row %d: %s %q", r.Number, r.Result, r.Message)
		}
		return nil
	})
	if err == nil && tally.Rows != tally.Ready+tally.Invalid+tally.Skipped {
		t.Errorf("%+v", tally)
	}
	return tally
}

// reopen opens a checked workbook, which may be refused.
func reopen(path string, o Options) {
	if again, err := Open(path, o); err == nil {
		again.Close()
	}
}

// oddTexts are texts that may stand in any cell.
var oddTexts = []string{": x", " - x", "(x", " (x)", ":", "-", "#", "?", "''", "\\N", "0", "00", "-1", "1e9", "TRUE",
	"x", "É", "\u200b", "\u00a0", "0x", "[]", "{}", "do.", "same", "#N/A", "$", "%", "1/1", "31/12/2026", "0000-00-00",
	"12-31",
	"comp_", "user_", "@", "a@", "NO", "void", ": void", "\xff", "LLC", ", LLC", "Inc. LLC", "*", "=", "=A1", "'", "\"",
	"078-05-1120", "12-3456789", "9", "99999999999999999999", "2026-02-30", "Texas", "U", "US", "Yes/No", "A;B", "A|B"}

// An odd text in any cell of any product's template leaves each row with one result, as a file
// and as a draft of the page.
func TestOddTextsInEveryCell(t *testing.T) {
	for _, p := range filing.Products {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			r := csv.NewReader(strings.NewReader(filledTemplate(t, p)))
			r.Comma, r.FieldsPerRecord = '\t', -1
			lines, err := r.ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			header, row := lines[0], append(lines[1], make([]string, len(lines[0])-len(lines[1]))...)
			var out bytes.Buffer
			w := csv.NewWriter(&out)
			w.Write(header)
			for column := range header {
				for _, text := range oddTexts {
					odd := slices.Clone(row)
					odd[column] = text
					w.Write(odd)
				}
			}
			w.Flush()
			im := opened(t, saved(t, "odd.csv", out.String()), Options{})
			if tally := checkFuzzed(t, im); tally.Rows < len(header)*len(oddTexts)/2 {
				t.Errorf("%+v", tally)
			}
			d, err := OpenDraft("odd.csv", out.Bytes(), Options{Now: july})
			if err != nil {
				t.Fatal(err)
			}
			d.Close()
		})
	}
}
