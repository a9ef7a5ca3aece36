package sheet

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"

	"github.com/bulkfiling/bulkfiling/internal/goldentest"
)

const (
	sheetPart   = "xl/worksheets/sheet1.xml"
	stringsPart = "xl/sharedStrings.xml"
	stylesPart  = "xl/styles.xml"
	mainPart    = "xl/workbook.xml"
	relsPart    = "xl/_rels/workbook.xml.rels"
)

// sharedStrings is a part with the given items.
func sharedStrings(items ...string) string {
	return `<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" count="7" uniqueCount="99"><si>` +
		strings.Join(items, "</si><si>") + `</si></sst>`
}

// styleSheet has a style for each format code, from style 1 on.
func styleSheet(codes ...string) string {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;")
	var formats, xfs strings.Builder
	for i, code := range codes {
		fmt.Fprintf(&formats, `<numFmt numFmtId="%d" formatCode="%s"/>`, 164+i, escape.Replace(code))
		fmt.Fprintf(&xfs, `<xf numFmtId="%d"/>`, 164+i)
	}
	return `<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><numFmts>` +
		formats.String() +
		`</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>` + xfs.String() +
		`</cellXfs></styleSheet>`
}

// show writes rows as "number: kind text | kind text".
func show(rows []Row) string {
	var lines []string
	for _, row := range rows {
		var cells []string
		for _, c := range row.Cells {
			strike := [...]string{NotStruck: "", PartStruck: " (struck in part)", AllStruck: " (struck)"}[c.Strike]
			cells = append(cells, strings.TrimSpace(c.Kind.String()+" "+c.Text)+strike)
		}
		hidden := ""
		if row.Hidden {
			hidden = " hidden"
		}
		lines = append(lines, fmt.Sprintf("%d%s: %s", row.Number, hidden, strings.Join(cells, " | ")))
	}
	return strings.Join(lines, "\n")
}

// manyBlanks are the blank cells before a cell that is far to the right.
var manyBlanks = regexp.MustCompile(`(blank \| ){3,}`)

func TestXLSX(t *testing.T) {
	parts := map[string]string{
		stylesPart: styleSheet("00000", "yyyy-mm-dd", "m/d/yyyy h:mm", ";;;", "h:mm"),
		stringsPart: sharedStrings(`<t>Acme LLC</t>`, `<t>Café</t>`,
			`<r><t>東京</t></r><r><rPr><b/></rPr><t xml:space="preserve"> Ltd</t></r><rPh sb="0" eb="2">`+
				`<t>トウキョウ</t></rPh><phoneticPr fontId="1"/>`,
			`<t/>`, `<t>a &lt; b &amp; c</t>`,
			`<r><t xml:space="preserve">New </t></r><r><rPr><strike/></rPr><t>Old</t></r><r><t>LLC</t></r>`),
	}
	goldentest.Archive(t, "testdata/xlsx.txtar", func(t *testing.T, _, content string) string {
		if !strings.HasPrefix(content, "<row") {
			content = `<row r="1">` + content + `</row>`
		}
		parts[sheetPart] = worksheet(content)
		rows, _, err := readBytes(packageOf(parts), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return manyBlanks.ReplaceAllStringFunc(show(rows), func(blanks string) string {
			return fmt.Sprintf("%d blanks | ", strings.Count(blanks, "|"))
		})
	})
}

// The same workbook, as different programs write it.
func TestXLSXPackages(t *testing.T) {
	const rows = `<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1"><v>2026</v></c></row>`
	const want = "1: text Acme | number 2026"
	shared := sharedStrings("<t>Acme</t>")
	tag := regexp.MustCompile(`<(/?)(\w)`)
	prefixed := func(text string) string {
		return strings.Replace(tag.ReplaceAllString(text, "<${1}x:$2"), "xmlns=", "xmlns:x=", 1)
	}
	for name, parts := range map[string]map[string]string{
		"plain": {},
		"dimension of one cell": {
			sheetPart: strings.Replace(worksheet(rows), "<sheetData>", `<dimension ref="A1"/><sheetData>`, 1),
		},
		"dimension of all cells": {
			sheetPart: strings.Replace(worksheet(rows), "<sheetData>",
				`<dimension ref="A1:XFD1048576"/><sheetData>`, 1),
		},
		"byte order mark": {sheetPart: "\ufeff" + worksheet(rows)},
		"UTF-16":          {sheetPart: utf16Text(worksheet(rows)), mainPart: utf16Text(minimalPackage[mainPart])},
		"prefixes": {
			sheetPart: prefixed(worksheet(rows)), stringsPart: prefixed(shared),
			mainPart: prefixed(minimalPackage[mainPart]),
		},
		"strict": {
			mainPart: strings.ReplaceAll(minimalPackage[mainPart],
				"http://schemas.openxmlformats.org/officeDocument/2006/relationships",
				"http://purl.oclc.org/ooxml/officeDocument/relationships"),
			relsPart: strings.ReplaceAll(minimalPackage[relsPart],
				"http://schemas.openxmlformats.org/officeDocument/2006/relationships",
				"http://purl.oclc.org/ooxml/officeDocument/relationships"),
		},
		"absolute targets": {
			relsPart: strings.NewReplacer(`Target="`, `Target="/xl/`).Replace(minimalPackage[relsPart]),
		},
		"backslashes and capitals": {
			sheetPart: "", `XL\WorkSheets\Sheet1.XML`: worksheet(rows),
			relsPart: strings.ReplaceAll(minimalPackage[relsPart], "worksheets/sheet1.xml", `worksheets\sheet1.xml`),
		},
		"no relations of the package":  {"_rels/.rels": ""},
		"no relations of the workbook": {relsPart: ""},
		"no content types":             {"[Content_Types].xml": ""},
		"another name for the main part": {
			mainPart: "", relsPart: "", "book/main.xml": minimalPackage[mainPart],
			"book/_rels/main.xml.rels": strings.ReplaceAll(minimalPackage[relsPart], `Target="`, `Target="../xl/`),
			"_rels/.rels": strings.ReplaceAll(minimalPackage["_rels/.rels"], "xl/workbook.xml",
				"book/main.xml"),
		},
		"a trash part": {"[trash]/0000.dat": "\xff\xff"},
		"a folder":     {"xl/": ""},
		"after the sheetData": {
			sheetPart: strings.Replace(worksheet(rows), "</sheetData>",
				`</sheetData><mergeCells><mergeCell ref="A1:B1"/></mergeCells>`, 1),
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{sheetPart: worksheet(rows), stringsPart: shared}
			for part, content := range parts {
				all[part] = content
			}
			got, _, err := readBytes(packageOf(all), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if show(got) != want {
				t.Errorf("got %s", show(got))
			}
		})
	}
}

func utf16Text(text string) string {
	text = strings.Replace(text, "UTF-8", "UTF-16", 1)
	encoded, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(text)
	if err != nil {
		panic(err)
	}
	return encoded
}

func TestXLSX1904(t *testing.T) {
	main := strings.Replace(minimalPackage[mainPart], "<sheets>", `<workbookPr date1904="1"/><sheets>`, 1)
	main = strings.Replace(main, "</workbook>",
		`<extLst><ext><x15:workbookPr xmlns:x15="u" chartTrackingRefBase="1"/></ext></extLst></workbook>`, 1)
	rows, _, err := readBytes(packageOf(map[string]string{
		mainPart:   main,
		stylesPart: styleSheet("yyyy-mm-dd", "h:mm", "m/d/yy h:mm"),
		sheetPart: worksheet(
			`<row><c s="1"><v>44620</v></c><c s="1"><v>0</v></c><c s="2"><v>0.5</v></c><c s="3"><v>0.5</v></c></row>`),
	}), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show(rows),
		"1: date 2026-03-01 | date 1904-01-01 | date 12:00:00 | date 1904-01-01T12:00:00"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestXLSXSheets(t *testing.T) {
	main := `<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>` +
		`<sheet name="Chart" r:id="c"/><sheet name="Data &amp; more" r:id="a"/>` +
		`<sheet name="Old" r:id="b" state="hidden"/>` +
		`<sheet name="Lists" r:id="d" state="veryHidden"/><sheet name="Macro" r:id="nothing"/></sheets></workbook>`
	relation := func(id, kind, target string) string {
		return fmt.Sprintf(
			`<Relationship Id="%s" Target="%s" `+
				`Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s"/>`, id, target, kind)
	}
	one := func(text string) string {
		return worksheet(`<row><c t="inlineStr"><is><t>` + text + `</t></is></c></row>`)
	}
	f, err := openBytes(packageOf(map[string]string{
		mainPart: main,
		relsPart: "<Relationships>" + relation("c", "chartsheet", "chartsheets/sheet1.xml") + relation("a",
			"worksheet", "worksheets/sheet1.xml") +
			relation("b", "worksheet", "worksheets/sheet2.xml") + relation("d", "worksheet", "worksheets/sheet3.xml") +
			"</Relationships>",
		"xl/chartsheets/sheet1.xml": "<chartsheet/>", sheetPart: one("first"),
		"xl/worksheets/sheet2.xml": one("second"), "xl/worksheets/sheet3.xml": one("third"),
	}), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(f.Sheets()), "[{Data & more true} {Old false} {Lists false}]"; got != want {
		t.Errorf("sheets are %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(
		f.Notes()), `[Hidden sheets: "Old". Sheets without cells (charts, dialogs, macros) were left out: "Chart", `+
		`"Macro".]`; got != want {
		t.Errorf("notes are %s, want %s", got, want)
	}
	for sheet, want := range map[string]string{"Data & more": "1: text first", "Old": "1: text second",
		"Lists": "1: text third"} {
		rows, err := readSheet(f, sheet)
		if err != nil || show(rows) != want {
			t.Errorf("sheet %q is %s, %v", sheet, show(rows), err)
		}
	}
	if err := f.EachRow("Chart", nil); err == nil || !strings.Contains(err.Error(), `no sheet "Chart"`) {
		t.Errorf("the chart gives %v", err)
	}
}

// repeated is a text in an archive that is to be repeated.
var repeated = regexp.MustCompile(`\[\[(.+?)\*(\d+)\]\]`)

// refusedParts reads the parts of a workbook that is refused, and its limits.
func refusedParts(t *testing.T, input string) (parts map[string]string, limits Limits) {
	t.Helper()
	parts = maps.Clone(minimalPackage)
	for line := range strings.Lines(input) {
		part, content, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		content = repeated.ReplaceAllStringFunc(strings.TrimPrefix(content, " "), func(text string) string {
			m := repeated.FindStringSubmatch(text)
			times, _ := strconv.Atoi(m[2])
			return strings.Repeat(m[1], times)
		})
		switch part {
		case "rows":
			parts[sheetPart] = worksheet(content)
		case "row5":
			parts[sheetPart] = worksheet(`<row r="5">` + content + `</row>`)
		case "text":
			parts[stringsPart] = sharedStrings(content)
		case "sheets":
			parts[mainPart] = strings.Replace(parts[mainPart], "</sheets>", content+"</sheets>", 1)
		case "cut":
			name, count, _ := strings.Cut(content, " ")
			n, _ := strconv.Atoi(count)
			parts[name] = parts[name][:len(parts[name])-n]
		case "limits":
			if err := json.Unmarshal([]byte(content), &limits); err != nil {
				t.Fatal(err)
			}
		default:
			parts[part] = content
		}
	}
	return parts, limits
}

func TestXLSXRefuses(t *testing.T) {
	goldentest.Archive(t, "testdata/refused.txtar", func(t *testing.T, _, input string) string {
		parts, limits := refusedParts(t, input)
		rows, _, err := readBytes(packageOf(parts), limits)
		var refused *FormatError
		if !errors.As(err, &refused) || refused.Remedy == "" || refused.File != "test" {
			t.Fatalf("got %v and rows %.100s", err, show(rows))
		}
		return err.Error()
	})
}

func TestXLSXDamagedArchives(t *testing.T) {
	whole := packageOf(map[string]string{sheetPart: worksheet(strings.Repeat(`<row><c><v>1</v></c></row>`, 2000))})
	at := bytes.Index(whole, []byte(sheetPart)) // the local header comes first
	broken := func(change func([]byte)) []byte {
		b := bytes.Clone(whole)
		change(b)
		return b
	}
	for name, data := range map[string][]byte{
		"cut off":              whole[:len(whole)/2],
		"no directory":         whole[:len(whole)-30],
		"contents overwritten": broken(func(b []byte) { copy(b[at+len(sheetPart)+20:], "xxxxxxxxxxxxxxxx") }),
		"a wrong checksum": broken(func(b []byte) {
			entry := bytes.LastIndex(b, []byte(sheetPart)) - 46
			binary.LittleEndian.PutUint32(b[entry+16:], 0xdeadbeef)
			b[at-30+6] &^= 8
		}),
		"the first bytes alone": []byte("PK\x03\x04"),
		"an empty archive":      []byte("PK\x05\x06" + strings.Repeat("\x00", 18)),
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := readBytes(data, Limits{})
			var refused *FormatError
			if !errors.As(err, &refused) || refused.Remedy == "" {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A header that lies about the size does not help a bomb: what is unpacked is what counts.
func TestXLSXBombThatLies(t *testing.T) {
	data := packageOf(map[string]string{sheetPart: worksheet(strings.Repeat(" ", 50<<20))})
	entry := bytes.LastIndex(data, []byte(sheetPart)) - 46
	binary.LittleEndian.PutUint32(data[entry+24:], 1000)
	if _, _, err := readBytes(data, Limits{PartBytes: 1 << 20}); err == nil {
		t.Error("it is read")
	}
}

func TestDetect(t *testing.T) {
	ole := "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 512)
	archive := func(names ...string) string {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, name := range names {
			if _, err := w.Create(name); err != nil {
				panic(err)
			}
		}
		w.Close()
		return b.String()
	}
	utf16le := func(name string) string {
		encoded, err := utf16LE.NewEncoder().String(name)
		if err != nil {
			t.Fatal(err)
		}
		return encoded
	}
	for _, tt := range []struct{ name, data, want string }{
		{"nothing", "", "empty"},
		{"blanks", " \n\n\t", "nothing but blanks"},
		{"old Excel", ole + utf16le("Workbook"), "test is an old Excel workbook (.xls). " +
			"Open it in Excel or LibreOffice and save it as .xlsx."},
		{"old Excel without a container", "\x09\x08\x10\x00\x00\x06", "old Excel workbook"},
		{"Excel 95", ole + utf16le("Book"), "old Excel workbook"},
		{"Excel 3 or 4", "\x09\x02\x06\x00\x00\x00\x10\x00", "old Excel workbook"},
		{"cut off", "Name\nCaf\xc3", "test: the file ends in the middle of a character"},
		{"cut off, with a mark", "\ufeffName\nCafé, \xe6\x9d", "cut off, and rows may be missing. Export it again"},
		{"encrypted", ole + strings.Repeat("\x01", headBytes-10-512) + utf16le("EncryptedPackage"), "password"},
		{"Word", ole + utf16le("WordDocument"), "Word document"},
		{"some compound file", ole, "an old Office document"},
		{"xlsb", archive("[Content_Types].xml", "xl/workbook.bin"), ".xlsb"},
		{"ods", "PK\x03\x04" + strings.Repeat("\x00", 26) + odsType, "an OpenDocument spreadsheet (.ods). Open it"},
		{"another OpenDocument file", archive("mimetype", "content.xml"), "an OpenDocument file"},
		{"Numbers", archive("Index/Document.iwa"), "Apple Numbers"},
		{"docx", archive("[Content_Types].xml", "word/document.xml"), "Word document"},
		{"zip of a CSV", archive("table.csv"), "Unpack it"},
		{"some zip", archive("a.txt"), "without an Excel workbook"},
		{"PDF", "%PDF-1.7\n", "PDF"},
		{"HTML", "\n <!DOCTYPE html><table>", "web page"},
		{"HTML with a mark", "\ufeff<html>", "web page"},
		{"HTML table", "<table><tr><td>a</td></tr></table>", "web page"},
		{"XML of Excel 2003", `<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet">`,
			"Excel 2003"},
		{"JSON object", `{"companies": [{"name": "A"}]}`, "JSON"},
		{"JSON array", `[{"name": "A"}]`, "JSON"},
		{"SYLK", "ID;PWXL;N;E\r\nP;PGeneral\r\n", ".slk"},
		{"noise", strings.Repeat("\x01\x02\x03\x04 ab", 50), "binary"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rows, _, err := readBytes([]byte(tt.data), Limits{})
			var refused *FormatError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), tt.want) || refused.Remedy == "" {
				t.Errorf("got %v and %d rows, want an error with %q", err, len(rows), tt.want)
			}
		})
	}
	for _, text := range []string{"[Name],[State]\nA,DE\n", "{Name},State\n", "ID;Product;State\nC;x;DE\n",
		"<Name>,State\n"} {
		if rows, _, err := readBytes([]byte(text), Limits{}); err != nil || len(rows) == 0 {
			t.Errorf("%q is refused: %v", text, err)
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "none.csv"), Limits{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file gives %v", err)
	}
	if _, err := Open(dir, Limits{}); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("a folder gives %v", err)
	}
	// Content decides, whatever the name says.
	path := filepath.Join(dir, "table.csv")
	if err := writePackage(path, map[string]string{sheetPart: worksheet(`<row><c><v>1</v></c></row>`)}); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, Limits{})
	if err != nil || f.Format() != XLSX {
		t.Fatalf("a workbook called .csv gives %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
