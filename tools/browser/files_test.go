//go:build unix

package browser

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// table is a sheet: its header and its rows.
type table [][]string

// save writes a table as a CSV file.
func (t table) save(tb testing.TB, name string) string {
	tb.Helper()
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	if err := w.WriteAll(t); err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// tab is a sheet of a workbook.
type tab struct {
	name string
	table
}

// saveWorkbook writes tables as a workbook, with the least that one has.
func saveWorkbook(tb testing.TB, name string, tabs ...tab) string {
	tb.Helper()
	const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	const main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
	const links = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
		`%s</Relationships>`
	path := filepath.Join(tb.TempDir(), name)
	out, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	w := zip.NewWriter(out)
	write := func(part, format string, values ...any) {
		to, err := w.Create(part)
		if err == nil {
			_, err = fmt.Fprintf(to, format, values...)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	var sheets, targets strings.Builder
	for i, t := range tabs {
		fmt.Fprintf(&sheets, `<sheet name="%s" sheetId="%d" r:id="r%[2]d"/>`, t.name, i+1)
		fmt.Fprintf(&targets, `<Relationship Id="r%d" Type="%s/worksheet" Target="worksheets/%[1]d.xml"/>`, i+1, office)
		var rows strings.Builder
		for _, row := range t.table {
			rows.WriteString("<row>")
			for _, cell := range row {
				rows.WriteString(`<c t="inlineStr"><is><t>`)
				_ = xml.EscapeText(&rows, []byte(cell)) // a Builder takes everything
				rows.WriteString("</t></is></c>")
			}
			rows.WriteString("</row>")
		}
		write(fmt.Sprintf("xl/worksheets/%d.xml", i+1), `<worksheet xmlns="%s"><sheetData>%s</sheetData></worksheet>`,
			main, rows.String())
	}
	write("_rels/.rels", links, `<Relationship Id="r1" Type="`+office+`/officeDocument" Target="xl/workbook.xml"/>`)
	write("xl/workbook.xml", `<workbook xmlns="%s" xmlns:r="%s"><sheets>%s</sheets></workbook>`, main, office,
		sheets.String())
	write("xl/_rels/workbook.xml.rels", links, targets.String())
	if err := errors.Join(w.Close(), out.Close()); err != nil {
		tb.Fatal(err)
	}
	return path
}

// column finds a column by its header.
func (t table) column(tb testing.TB, header string) int {
	tb.Helper()
	for i, h := range t[0] {
		if h == header {
			return i
		}
	}
	tb.Fatalf("no column %q among %q", header, t[0])
	return -1
}

// unpacked is what a file holds: the parts of a zip file, or itself.
func unpacked(tb testing.TB, content []byte) [][]byte {
	tb.Helper()
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return [][]byte{content}
	}
	var parts [][]byte
	for _, f := range z.File {
		parts = append(parts, read(tb, f))
	}
	return parts
}

func read(tb testing.TB, f *zip.File) []byte {
	tb.Helper()
	r, err := f.Open()
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		tb.Fatalf("read %s: %v", f.Name, err)
	}
	return content
}
