package sheet

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/xuri/excelize/v2"
)

// The benchmarks read a file of 100,000 rows and 14 columns, as in a firm's company list.
const benchRows = 100_000

var benchFolder = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "sheet-bench") })

func TestMain(m *testing.M) {
	code := m.Run()
	if folder, err := benchFolder(); err == nil {
		os.RemoveAll(folder)
	}
	os.Exit(code)
}

var benchHeader = []string{
	"Company ID", "Legal Name", "Entity Type", "Formation State", "Formation Date", "Principal Line 1",
	"Principal City",
	"Principal State", "Principal Postal Code", "Principal Country", "User Email", "Filing State", "Filing Year",
	"Order Registered Agent",
}

func benchRecord(i int) []string {
	return []string{
		fmt.Sprintf("comp_%08d", i), fmt.Sprintf("Acme Holdings %d LLC", i), "LLC", "DE", "2019-03-14",
		fmt.Sprintf("%d North Orange Street", i), "Wilmington", "DE", fmt.Sprintf("%05d", i%100000), "US",
		fmt.Sprintf("owner%d@example.com", i/3), "DE", "2026", "no",
	}
}

// benchXLSX writes the file with a number and a date among the texts, which are
// shared, as Excel does it, or inline, as programs do.
func benchXLSX(shared bool) (string, error) {
	folder, err := benchFolder()
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, fmt.Sprintf("bench-%t.xlsx", shared))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	var sheet, table bytes.Buffer
	index := map[string]int{}
	text := func(s string) int {
		i, ok := index[s]
		if !ok {
			i = len(index)
			index[s] = i
			fmt.Fprintf(&table, "<si><t>%s</t></si>", s)
		}
		return i
	}
	sheet.WriteString(
		`<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><dimension ref="A1:N100001"/>` +
			`<sheetData>`)
	for row := 1; row <= benchRows+1; row++ {
		record := benchHeader
		if row > 1 {
			record = benchRecord(row - 2)
		}
		fmt.Fprintf(&sheet, `<row r="%d" spans="1:14" x14ac:dyDescent="0.25">`, row)
		for column, value := range record {
			switch {
			case row > 1 && column == 4:
				fmt.Fprintf(&sheet, `<c r="%s" s="1"><v>43538</v></c>`, CellName(column, row))
			case row > 1 && column == 8:
				n, _ := strconv.Atoi(value)
				fmt.Fprintf(&sheet, `<c r="%s" s="2"><v>%d</v></c>`, CellName(column, row), n)
			case row > 1 && column == 12:
				fmt.Fprintf(&sheet, `<c r="%s"><v>2026</v></c>`, CellName(column, row))
			case !shared:
				fmt.Fprintf(&sheet, `<c r="%s" t="inlineStr"><is><t>%s</t></is></c>`, CellName(column, row), value)
			default:
				fmt.Fprintf(&sheet, `<c r="%s" t="s"><v>%d</v></c>`, CellName(column, row), text(value))
			}
		}
		sheet.WriteString("</row>")
	}
	sheet.WriteString("</sheetData></worksheet>")
	return path, writePackage(path, map[string]string{
		"xl/worksheets/sheet1.xml": sheet.String(),
		"xl/sharedStrings.xml": `<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">` +
			table.String() + `</sst>`,
		"xl/styles.xml": `<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">` +
			`<numFmts count="1"><numFmt numFmtId="164" formatCode="00000"/></numFmts>` +
			`<cellXfs count="3"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs></styleSheet>`,
	})
}

func benchBoth(b *testing.B, read func(b *testing.B, path string)) {
	for name, shared := range map[string]bool{"shared": true, "inline": false} {
		b.Run(name, func(b *testing.B) {
			path, err := benchXLSX(shared)
			if err != nil {
				b.Fatal(err)
			}
			read(b, path)
		})
	}
}

func benchCSV(rows int) (string, error) {
	folder, err := benchFolder()
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, fmt.Sprintf("bench%d.csv", rows))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	buf := bufio.NewWriter(file)
	w := csv.NewWriter(buf)
	w.Write(benchHeader)
	for i := range rows {
		w.Write(benchRecord(i))
	}
	w.Flush()
	return path, buf.Flush()
}

func benchRead(b *testing.B, path string, rows int) {
	b.ReportAllocs()
	var block Block
	for b.Loop() {
		f, err := Open(path, Limits{})
		if err != nil {
			b.Fatal(err)
		}
		r, err := f.Rows(f.Sheets()[0].Name)
		if err != nil {
			b.Fatal(err)
		}
		read := 0
		for {
			err := r.Read(&block)
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			for _, row := range block.Rows {
				if len(row.Cells) != len(benchHeader) {
					b.Fatalf("row %d has %d cells", row.Number, len(row.Cells))
				}
			}
			read += len(block.Rows)
		}
		if read != rows+1 {
			b.Fatalf("%d rows", read)
		}
		r.Close()
		f.Close()
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkReadXLSX(b *testing.B) {
	benchBoth(b, func(b *testing.B, path string) { benchRead(b, path, benchRows) })
}

// BenchmarkExcelizeRows is the least that excelize can be asked for: iterate,
// and take the columns as they come.
func BenchmarkExcelizeRows(b *testing.B) {
	benchBoth(b, func(b *testing.B, path string) {
		b.ReportAllocs()
		for b.Loop() {
			f, err := excelize.OpenFile(path)
			if err != nil {
				b.Fatal(err)
			}
			rows, err := f.Rows(f.GetSheetName(0))
			if err != nil {
				b.Fatal(err)
			}
			read := 0
			for rows.Next() {
				columns, err := rows.Columns()
				if err != nil || len(columns) != len(benchHeader) {
					b.Fatal(len(columns), err)
				}
				read++
			}
			if read != benchRows+1 {
				b.Fatalf("%d rows", read)
			}
			rows.Close()
			f.Close()
		}
		b.ReportMetric(benchRows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
}

func BenchmarkReadCSV(b *testing.B) {
	path, err := benchCSV(benchRows)
	if err != nil {
		b.Fatal(err)
	}
	benchRead(b, path, benchRows)
}

func BenchmarkEncodingCSV(b *testing.B) {
	path, err := benchCSV(benchRows)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		file, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		r := csv.NewReader(bufio.NewReaderSize(file, headBytes))
		r.ReuseRecord = true
		read := 0
		for {
			record, err := r.Read()
			if err == io.EOF {
				break
			}
			if err != nil || len(record) != len(benchHeader) {
				b.Fatal(len(record), err)
			}
			read++
		}
		if read != benchRows+1 {
			b.Fatalf("%d rows", read)
		}
		file.Close()
	}
	b.ReportMetric(benchRows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkEncodeCells(b *testing.B) {
	var cells []Cell
	for _, text := range benchRecord(12345) {
		cells = append(cells, Cell{Text: text, Kind: Text})
	}
	b.ReportAllocs()
	for b.Loop() {
		EncodeCells(cells)
	}
}

func BenchmarkDecodeCells(b *testing.B) {
	var cells []Cell
	for _, text := range benchRecord(12345) {
		cells = append(cells, Cell{Text: text, Kind: Text})
	}
	data := EncodeCells(cells)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeCells(data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWriteXLSX writes 20,000 rows.
func BenchmarkWriteXLSX(b *testing.B) {
	folder, err := benchFolder()
	if err != nil {
		b.Fatal(err)
	}
	const rows = 20_000
	for b.Loop() {
		w, err := Create(filepath.Join(folder, "written.xlsx"))
		if err != nil {
			b.Fatal(err)
		}
		s, err := w.Sheet("Results", SheetOptions{HeaderRows: 1, AutoFilter: true, TextColumns: []int{8}})
		if err != nil {
			b.Fatal(err)
		}
		var cells []OutCell
		for i := range rows {
			cells = cells[:0]
			for _, text := range benchRecord(i) {
				cells = append(cells, Str(text))
			}
			cells = append(cells, Str("placed").WithStyle(StyleOK), Money(12500))
			if err := s.Row(cells...); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Save(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
