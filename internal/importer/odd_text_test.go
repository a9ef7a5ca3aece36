package importer

import (
	"bytes"
	"context"
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// checkEachRow checks that every row has one result, in the order of the sheet.
func checkEachRow(t *testing.T, im *Import) (tally Tally) {
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
			if tally := checkEachRow(t, im); tally.Rows < len(header)*len(oddTexts)/2 {
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
