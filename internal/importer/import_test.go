package importer

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

var july = time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC)

// saved writes a file with the text.
func saved(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := writeFile(path, text); err != nil {
		t.Fatal(err)
	}
	return path
}

func writeFile(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }

// tab is a sheet of a workbook in a test.
type tab struct {
	name   string
	hidden bool
	rows   [][]sheet.OutCell
}

// workbook writes an XLSX.
func workbook(t testing.TB, tabs ...tab) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "book.xlsx")
	book, err := sheet.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer book.Abort()
	for _, tab := range tabs {
		s, err := book.Sheet(tab.name, sheet.SheetOptions{Hidden: tab.hidden})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range tab.rows {
			if err := s.Row(row...); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := book.Save(); err != nil {
		t.Fatal(err)
	}
	return path
}

// texts is a row of text cells.
func texts(values ...string) []sheet.OutCell {
	row := make([]sheet.OutCell, len(values))
	for i, v := range values {
		row[i] = sheet.Str(v)
	}
	return row
}

func number(text string) sheet.OutCell {
	return sheet.OutCell{Cell: sheet.Cell{Text: text, Kind: sheet.Number}}
}

// result is a row as a test keeps it.
type result struct {
	number   int
	result   filing.Result
	message  string
	request  filing.Request
	problems []Problem
}

func opened(t testing.TB, path string, o Options) *Import {
	t.Helper()
	if o.Now.IsZero() {
		o.Now = july
	}
	im, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { im.Close() })
	return im
}

func rowsOf(t testing.TB, im *Import) []result {
	t.Helper()
	var all []result
	err := im.Each(context.Background(), func(r *Row) error {
		one := result{
			number:   r.Number,
			result:   r.Result,
			message:  r.Message,
			problems: append([]Problem(nil), r.Problems...),
		}
		if r.Request != nil {
			one.request = *clone(r.Request)
		}
		all = append(all, one)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// clone copies a request, whose parts are overwritten by later rows.
func clone(r *filing.Request) *filing.Request {
	c := *r
	if r.Order.AnnualReport != nil {
		report := *r.Order.AnnualReport
		if report.RegisteredAgent != nil {
			agent := *report.RegisteredAgent
			report.RegisteredAgent = &agent
		}
		c.Order.AnnualReport = &report
	}
	if r.Order.RegisteredAgent != nil {
		agent := *r.Order.RegisteredAgent
		c.Order.RegisteredAgent = &agent
	}
	return &c
}
