package importer

import (
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/shlex"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/goldentest"
)

// TestRows compares what becomes of the rows of spreadsheets: their results, their problems at
// their cells, and their orders.
func TestRows(t *testing.T) {
	checkArchives(t, "rows", func(b *strings.Builder, im *Import, rows []result) {
		for _, r := range rows {
			writeRow(b, r)
			if r.result == filing.Ready {
				order, err := json.Marshal(r.request)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(b, "  order %s\n", order)
			}
		}
	})
}

// TestSheets_Understood compares what is understood of spreadsheets: the product, the columns, the
// notes, and which rows are filings. A spreadsheet that is refused has an error.
func TestSheets_Understood(t *testing.T) {
	checkArchives(t, "sheets", func(b *strings.Builder, im *Import, rows []result) {
		fmt.Fprintf(b, "%s: %s\n", im.Product(), strings.Join(im.Columns(), " | "))
		for _, note := range im.Notes() {
			fmt.Fprintf(b, "note: %s\n", note)
		}
		for _, r := range rows {
			writeRow(b, r)
		}
	})
}

// TestSurveys compares how the first rows of spreadsheets are understood. Open refuses a
// spreadsheet with the error of its survey.
func TestSurveys(t *testing.T) {
	eachArchive(t, "surveys", func(t *testing.T, name, text string) string {
		o := optionsIn(t, name)
		s := surveyed(t, text, o)
		im, err := inMemory(t, "in", text, o)
		if fmt.Sprint(err) != fmt.Sprint(s.Err) {
			t.Errorf("Open: %v, %v", im, err)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s: header %d, %d rows\n", s.Product, s.HeaderRow, s.Rows)
		if s.Err != nil {
			fmt.Fprintf(&b, "error: %v\n", s.Err)
		}
		for i := range s.Columns {
			writeColumn(&b, &s.Columns[i])
		}
		return b.String()
	})
}

// writeColumn writes how a column is understood.
func writeColumn(b *strings.Builder, c *ColumnSurvey) {
	fmt.Fprintf(b, "%s %q", c.Letter, c.Header)
	if c.Column != "" {
		fmt.Fprintf(b, " is %s", c.Column)
	}
	for _, is := range []struct {
		name string
		true bool
	}{{"certain", c.Certain}, {"by content", c.ByContent}, {"secret", c.Secret}} {
		if is.true {
			fmt.Fprintf(b, ", %s", is.name)
		}
	}
	for _, says := range [][2]string{{"note", c.Note}, {"suggested", c.Suggest}, {"map", c.Map}} {
		if says[1] != "" && says[1] != c.Header {
			fmt.Fprintf(b, "; %s: %s", says[0], says[1])
		}
	}
	fmt.Fprintf(b, "; such as %q\n", c.Samples)
}

// checkArchives compares the spreadsheets in a folder of archives.
func checkArchives(t *testing.T, folder string, write func(*strings.Builder, *Import, []result)) {
	eachArchive(t, folder, func(t *testing.T, name, text string) string {
		im, err := Open(saved(t, "in.csv", text), optionsIn(t, name))
		if err != nil {
			return "error: " + err.Error()
		}
		defer im.Close()
		var b strings.Builder
		write(&b, im, rowsOf(t, im))
		return b.String()
	})
}

// eachArchive compares the cases of the archives in a folder.
func eachArchive(t *testing.T, folder string, result func(t *testing.T, name, text string) string) {
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			goldentest.Archive(t, path, result)
		})
	}
}

// writeRow writes the result of a row and its problems. The message of an invalid row has the
// messages of its errors.
func writeRow(b *strings.Builder, r result) {
	fmt.Fprintf(b, "%d %s", r.number, r.result)
	if r.message != "" {
		fmt.Fprintf(b, ": %s", r.message)
	}
	b.WriteByte('\n')
	for _, p := range r.problems {
		fmt.Fprintf(b, "  %s at %s: %s", p.Severity, p.Cell, p.Rule)
		if !strings.Contains(r.message, p.Message) {
			fmt.Fprintf(b, ": %s", p.Message)
		}
		b.WriteByte('\n')
	}
}

// optionsIn returns the options of a case, which are behind the bar in its name.
func optionsIn(t *testing.T, name string) Options {
	t.Helper()
	_, text, _ := strings.Cut(name, " | ")
	words, err := shlex.Split(text)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Now: july, Map: map[string]string{}}
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.StringVar((*string)(&o.Product), "product", "", "")
	flags.StringVar((*string)(&o.State), "state", "", "")
	flags.StringVar(&o.FilingYear, "filing-year", "", "")
	flags.StringVar(&o.User, "user", "", "")
	flags.Var(&o.HeaderRow, "header-row", "")
	flags.StringVar(&o.Sheet, "sheet", "", "")
	flags.Func("map", "", func(text string) error {
		theirs, ours, _ := strings.Cut(text, "=")
		o.Map[theirs] = ours
		return nil
	})
	flags.Func("exclude", "", func(text string) error {
		o.Exclude = append(o.Exclude, text)
		return nil
	})
	flags.Func("include", "", func(text string) error {
		o.Include = append(o.Include, text)
		return nil
	})
	flags.Func("today", "", func(text string) (err error) {
		o.Now, err = time.Parse(time.DateOnly, text)
		return err
	})
	if err := flags.Parse(words); err != nil {
		t.Fatal(err)
	}
	return o
}
