package importer

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// benchRows is the size of the files of the benchmarks: clean, 14 columns.
const benchRows = 100_000

var benchHeader = []string{
	"Company ID", "Legal Name", "Entity Type", "Formation State", "User Email", "User Name", "User Phone",
	"Filing State", "Filing Year",
	"Agent Company Name", "Agent Street", "Agent City", "Agent State", "Agent ZIP",
}

func benchRow(i int, row []string) []string {
	return append(row[:0],
		fmt.Sprintf("comp_%08d", i), fmt.Sprintf("Harbor Light %d LLC", i), "LLC", "DE",
		fmt.Sprintf("owner%d@example.com", i%5000), "Ana Silva",
		"+13025550142", "DE", "2026", "First State Agents Inc.", "200 Continental Drive", "Newark", "DE", "19713")
}

func benchCSV(b testing.TB, dir string, rows int) string {
	b.Helper()
	path := filepath.Join(dir, fmt.Sprintf("%d.csv", rows))
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	buf := bufio.NewWriterSize(f, 1<<20)
	w := csv.NewWriter(buf)
	err = w.Write(benchHeader)
	var row []string
	for i := 0; i < rows && err == nil; i++ {
		row = benchRow(i, row)
		err = w.Write(row)
	}
	w.Flush()
	if err := errors.Join(err, w.Error(), buf.Flush(), f.Close()); err != nil {
		b.Fatal(err)
	}
	return path
}

func benchXLSX(b testing.TB, dir string, rows int) string {
	b.Helper()
	path := filepath.Join(dir, fmt.Sprintf("%d.xlsx", rows))
	book := excelize.NewFile()
	w, err := book.NewStreamWriter("Sheet1")
	if err != nil {
		b.Fatal(err)
	}
	values := make([]any, len(benchHeader))
	set := func(n int, row []string) {
		for i, v := range row {
			values[i] = v
		}
		if n > 1 {
			values[8] = 2026
		}
		if err := w.SetRow(sheet.CellName(0, n), values); err != nil {
			b.Fatal(err)
		}
	}
	set(1, benchHeader)
	var row []string
	for i := range rows {
		row = benchRow(i, row)
		set(i+2, row)
	}
	if err := errors.Join(w.Flush(), book.SaveAs(path), book.Close()); err != nil {
		b.Fatal(err)
	}
	return path
}

func perRow(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchRows), "ns/row")
}

func benchCheck(b *testing.B, path string) {
	b.ReportAllocs()
	for b.Loop() {
		im, err := Open(path, Options{Now: july})
		if err != nil {
			b.Fatal(err)
		}
		tally, err := im.Check(context.Background(), func(p Problem) error { return errors.New(p.Message) })
		if err != nil || tally.Ready != benchRows {
			b.Fatal(tally, err)
		}
		im.Close()
	}
	perRow(b)
}

func BenchmarkCheckCSV(b *testing.B) { benchCheck(b, benchCSV(b, b.TempDir(), benchRows)) }

func BenchmarkEncodingCSV(b *testing.B) {
	path := benchCSV(b, b.TempDir(), benchRows)
	b.ReportAllocs()
	for b.Loop() {
		f, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		r := csv.NewReader(f)
		for {
			if _, err := r.Read(); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
		f.Close()
	}
	perRow(b)
}

func BenchmarkCheckXLSX(b *testing.B) { benchCheck(b, benchXLSX(b, b.TempDir(), benchRows)) }

func BenchmarkExcelizeRows(b *testing.B) {
	path := benchXLSX(b, b.TempDir(), benchRows)
	b.ReportAllocs()
	for b.Loop() {
		book, err := excelize.OpenFile(path)
		if err != nil {
			b.Fatal(err)
		}
		rows, err := book.Rows("Sheet1")
		if err != nil {
			b.Fatal(err)
		}
		for rows.Next() {
			if _, err := rows.Columns(excelize.Options{RawCellValue: true}); err != nil {
				b.Fatal(err)
			}
		}
		if err := errors.Join(rows.Error(), rows.Close(), book.Close()); err != nil {
			b.Fatal(err)
		}
	}
	perRow(b)
}
