package sheet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// corpusVariable names the folder of real files that this test reads. They are
// not part of the project.
const corpusVariable = "BULKFILING_CORPUS"

// corpusExceptions are the files on which the index and this package do not agree, and why.
var corpusExceptions = map[string]string{
	"calamine/encoded_entities.xlsx":         "the second text is a line break alone, which is a blank",
	"calamine/minimal_package.xlsx":          "the index counts a row of blank texts",
	"readxl/los-angeles-arrests-xlsx.xlsx":   "the index counts a row of blank texts",
	"frictionless/bom.csv":                   "the index does not count the header",
	"frictionless/latin1.csv":                "the index does not count the header",
	"frictionless/table-with-accents.csv":    "the index does not count the header",
	"poi/bug67784.xlsx":                      "cells with errors are not blank",
	"readxl/empty-sheets.xlsx":               "empty, which is not for this package to judge",
	"readxl/unnamed-duplicated-columns.xlsx": "what a header is, is not for this package to judge",
	"calamine/too_small.xls":                 "a text of one line",
	"frictionless/wide.csv":                  "9,074 columns are possible",
}

// meaningErrors are errors of the corpus's index that this package does not find:
// they are those of an importer, which knows what cells mean.
var meaningErrors = []string{"no rows", "no data rows", "required columns", "naming the duplicates", "as above"}

// expectation is what the index of the corpus says of a file.
type expectation struct {
	file, verdict string
	rows          int  // that are not blank, the header among them; -1 if not told
	refused       bool // for its format
}

var (
	countedRows = regexp.MustCompile(`^Read OK,? ([0-9,]+)\+? (?:non-blank )?rows?`)
	dataRows    = regexp.MustCompile(`^Read OK ([0-9,]+) data rows?`)
	atLeast     = regexp.MustCompile(`^Read OK,? [0-9,]+\+`)
)

func readIndex(t *testing.T, root string) []expectation {
	t.Helper()
	index, err := os.ReadFile(filepath.Join(root, "INDEX.md"))
	if err != nil {
		t.Fatal(err)
	}
	var all []expectation
	for line := range strings.Lines(string(index)) {
		columns := strings.Split(strings.TrimSpace(line), " | ")
		if len(columns) < 4 || !strings.HasPrefix(columns[0], "| ") {
			continue
		}
		e := expectation{file: strings.TrimPrefix(columns[0], "| "), verdict: columns[3], rows: -1}
		if stat, err := os.Stat(filepath.Join(root, e.file)); err != nil || stat.IsDir() {
			continue
		}
		e.refused = strings.HasPrefix(e.verdict, "Clear error")
		for _, other := range meaningErrors {
			e.refused = e.refused && !strings.Contains(e.verdict, other)
		}
		if m := countedRows.FindStringSubmatch(e.verdict); m != nil && !atLeast.MatchString(e.verdict) {
			e.rows, _ = strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
		}
		if m := dataRows.FindStringSubmatch(e.verdict); m != nil {
			e.rows, _ = strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
			e.rows++
		}
		all = append(all, e)
	}
	return all
}

func TestCorpus(t *testing.T) {
	root := os.Getenv(corpusVariable)
	if root == "" {
		t.Logf("%s does not name a folder of real files; nothing to read", corpusVariable)
		return
	}
	files := readIndex(t, root)
	if len(files) < 100 {
		t.Fatalf("the index names %d files", len(files))
	}
	for _, e := range files {
		t.Run(e.file, func(t *testing.T) {
			began := time.Now()
			rows, err := readFirstVisible(filepath.Join(root, e.file))
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			var refused *FormatError
			switch {
			case err != nil && (!errors.As(err, &refused) || refused.Reason == "" || refused.Remedy == ""):
				t.Errorf("an error that does not help: %v", err)
			case err == nil:
				checkRows(t, rows)
			}
			found := ""
			switch {
			case strings.Contains(e.verdict, "lear error or"), strings.Contains(e.verdict, "or clear"),
				strings.Contains(e.verdict, "as above"):
			case e.refused && err == nil:
				found = fmt.Sprintf("%d rows", len(rows))
			case err != nil && (refused.Remedy == remedyXLSX || strings.Contains(err.Error(), "Excel 95")):
			case !e.refused && err != nil:
				found = err.Error()
			case e.rows >= 0 && e.rows != len(rows):
				found = fmt.Sprintf("%d rows", len(rows))
			}
			if _, known := corpusExceptions[e.file]; known == (found == "") {
				t.Errorf("the index says %q, found %q, known as an exception: %v", e.verdict, found, known)
			}
		})
	}
}

// readFirstVisible reads the first visible sheet of a file.
func readFirstVisible(path string) ([]Row, error) {
	f, err := Open(path, Limits{})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for _, s := range f.Sheets() {
		if s.Visible {
			return readSheet(f, s.Name)
		}
	}
	return nil, nil
}

// checkRows holds rows to what the types promise.
func checkRows(t testing.TB, rows []Row) {
	t.Helper()
	last := 0
	for _, row := range rows {
		if row.Number <= last || row.Number > 1<<20 {
			t.Fatalf("row %d follows row %d", row.Number, last)
		}
		last = row.Number
		if len(row.Cells) == 0 || len(row.Cells) > 1<<14 || row.Cells[len(row.Cells)-1].Kind == Blank {
			t.Fatalf("row %d has %d cells or ends in a blank", row.Number, len(row.Cells))
		}
		for i, c := range row.Cells {
			if (c.Text == "") != (c.Kind == Blank || c.Kind == Formula) || c.Kind > Formula {
				t.Fatalf("cell %s is %v with %q", CellName(i, row.Number), c.Kind, c.Text)
			}
			if clean := string(appendClean(nil, []byte(c.Text))); clean != c.Text {
				t.Fatalf("cell %s is %q, clean %q", CellName(i, row.Number), c.Text, clean)
			}
		}
	}
}
