package sheet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// expectation is what the index of the corpus says of a file.
type expectation struct {
	file  string
	cells string // what a good importer does
	rows  int    // -1 if not told
	err   bool
}

var (
	okRows   = regexp.MustCompile(`^Read OK,? ([0-9,]+)\+? (?:non-blank )?rows?`)
	dataRows = regexp.MustCompile(`^Read OK ([0-9,]+) data rows?`)
)

func readIndex(t *testing.T, root string) []expectation {
	index, err := os.ReadFile(filepath.Join(root, "INDEX.md"))
	if err != nil {
		t.Fatal(err)
	}
	var all []expectation
	for line := range strings.Lines(string(index)) {
		columns := strings.Split(strings.TrimSpace(line), " | ")
		if len(columns) < 4 || !strings.Contains(columns[0], "/") || !strings.HasPrefix(columns[0], "| ") {
			continue
		}
		e := expectation{file: strings.TrimPrefix(columns[0], "| "), cells: columns[3], rows: -1}
		if _, err := os.Stat(filepath.Join(root, e.file)); err != nil {
			continue
		}
		e.err = strings.HasPrefix(e.cells, "Clear error")
		if m := okRows.FindStringSubmatch(e.cells); m != nil {
			e.rows, _ = strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
		}
		all = append(all, e)
	}
	return all
}

// outcome reads the first visible sheet of a file.
func outcome(path string) (rows, visible int, notes []string, err error) {
	f, err := Open(path, Limits{})
	if err != nil {
		return 0, 0, nil, err
	}
	defer f.Close()
	first := ""
	found := false
	for _, s := range f.Sheets() {
		if s.Visible {
			visible++
			if !found {
				first, found = s.Name, true
			}
		}
	}
	r, err := f.Rows(first)
	if err != nil {
		return 0, visible, f.Notes(), err
	}
	defer r.Close()
	var b Block
	for {
		err := r.Read(&b)
		if err == io.EOF {
			return rows, visible, f.Notes(), nil
		}
		if err != nil {
			return rows, visible, f.Notes(), err
		}
		rows += len(b.Rows)
	}
}

func TestCorpus(t *testing.T) {
	root := os.Getenv("BULKFILING_CORPUS")
	if root == "" {
		t.Skip("BULKFILING_CORPUS is not set")
	}
	for _, e := range readIndex(t, root) {
		began := time.Now()
		rows, _, notes, err := outcome(filepath.Join(root, e.file))
		took := time.Since(began)
		var refused *FormatError
		verdict := "same"
		switch {
		case err != nil && !errors.As(err, &refused):
			verdict = "UNCLEAR"
		case e.err != (err != nil):
			verdict = "DIFF"
		case e.rows >= 0 && e.rows != rows:
			verdict = "ROWS"
		}
		fmt.Printf("%s\t%s\t%d/%d\t%v\t%q\t%v\t%v\n", verdict, e.file, rows, e.rows, took.Round(time.Millisecond), e.cells, err, notes)
	}
}
