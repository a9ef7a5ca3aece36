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
	const links = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">%s</Relationships>`
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

// of finds the rows of a table that have a text in a column.
func (t table) of(tb testing.TB, header, text string) (rows table) {
	tb.Helper()
	at := t.column(tb, header)
	for _, row := range t[1:] {
		if at < len(row) && row[at] == text {
			rows = append(rows, row)
		}
	}
	return rows
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

// unzip names the files of a zip file.
func unzip(tb testing.TB, content []byte) map[string][]byte {
	tb.Helper()
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		tb.Fatalf("no zip file: %v\n%s", err, brief(string(content)))
	}
	files := make(map[string][]byte)
	for _, f := range z.File {
		files[f.Name] = read(tb, f)
	}
	return files
}

// workbook reads a workbook by its XML, as far as ours go: every cell must be
// plain, and none a formula.
func workbook(tb testing.TB, content []byte) map[string]table {
	tb.Helper()
	files := unzip(tb, content)
	var book struct {
		Sheets []struct {
			Name string `xml:"name,attr"`
			ID   string `xml:"http://schemas.openxmlformats.org/officeDocument/2006/relationships id,attr"`
		} `xml:"sheets>sheet"`
	}
	var links struct {
		All []struct {
			ID     string `xml:"Id,attr"`
			Target string `xml:"Target,attr"`
		} `xml:"Relationship"`
	}
	var shared struct {
		Texts []richText `xml:"si"`
	}
	parse := func(name string, into any) {
		if err := xml.Unmarshal(files[name], into); err != nil {
			tb.Fatalf("read %s: %v", name, err)
		}
	}
	parse("xl/workbook.xml", &book)
	parse("xl/_rels/workbook.xml.rels", &links)
	if files["xl/sharedStrings.xml"] != nil {
		parse("xl/sharedStrings.xml", &shared)
	}
	tables := make(map[string]table)
	for _, s := range book.Sheets {
		for _, l := range links.All {
			if l.ID == s.ID {
				name := "xl/" + strings.TrimPrefix(l.Target, "/xl/")
				if bytes.Contains(files[name], []byte("<f>")) || bytes.Contains(files[name], []byte("<f ")) {
					tb.Errorf("the sheet %s has a formula", s.Name)
				}
				var raw worksheet
				parse(name, &raw)
				tables[s.Name] = raw.table(tb, shared.Texts)
			}
		}
	}
	return tables
}

type richText struct {
	Text string `xml:"t"`
	Runs []struct {
		Text string `xml:"t"`
	} `xml:"r"`
}

func (r richText) String() string {
	text := r.Text
	for _, run := range r.Runs {
		text += run.Text
	}
	return text
}

type worksheet struct {
	Rows []struct {
		Cells []struct {
			At     string   `xml:"r,attr"`
			Kind   string   `xml:"t,attr"`
			Value  string   `xml:"v"`
			Inline richText `xml:"is"`
		} `xml:"c"`
	} `xml:"sheetData>row"`
}

func (w worksheet) table(tb testing.TB, shared []richText) (t table) {
	tb.Helper()
	for _, row := range w.Rows {
		var line []string
		for _, c := range row.Cells {
			column := 0
			for _, letter := range strings.TrimRight(c.At, "0123456789") {
				column = 26*column + int(letter-'A') + 1
			}
			for len(line) < column {
				line = append(line, "")
			}
			text := c.Value + c.Inline.String()
			if c.Kind == "s" {
				var i int
				if _, err := fmt.Sscan(c.Value, &i); err != nil || i >= len(shared) {
					tb.Fatalf("%s names no text: %q", c.At, c.Value)
				}
				text = shared[i].String()
			}
			line[column-1] = text
		}
		t = append(t, line)
	}
	return t
}
