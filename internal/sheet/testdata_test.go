package sheet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/goldentest"
)

// nastyFiles makes the workbooks of testdata. They and the CSV files of testdata have the ways in
// which people's sheets go wrong, several to a file.
var nastyFiles = map[string]func() []byte{
	"nasty.xlsx": func() []byte {
		sheet := strings.Replace(worksheet(`<row r="1"><c r="A1" t="s"><v>0</v></c></row>`+
			`<row r="3"><c r="A3" t="s"><v>1</v></c><c r="B3" t="inlineStr"><is><t>ZIP</t></is></c>`+
			`<c r="C3" t="inlineStr">`+
			`<is><t>Formed</t></is></c><c r="D3" t="inlineStr"><is><t>Fee</t></is></c></row>`+
			`<row r="4"><c r="A4" t="s"><v>2</v></c><c r="B4" s="1"><v>2134</v></c><c r="C4" s="2"><v>44620</v></c>`+
			`<c r="D4"><f>1+1</f><v>2</v></c></row>`+
			`<row r="5" hidden="1"><c r="A5" t="s"><v>3</v></c><c r="B5" s="1"><v>941031234</v></c><c r="C5" t="d">`+
			`<v>2026-03-01T00:00:00Z</v></c><c r="D5"><f>D4</f></c></row>`+
			`<row r="7"><c r="A7" t="e"><v>#N/A</v></c><c r="B7" s=""><v>1.0000000000000001E-2</v></c><c r="D7" t="b">`+
			`<v>1</v></c><c r="F7" s="2"/></row>`),
			"<sheetData>", `<dimension ref="A1:XFD1048576"/><sheetData>`, 1)
		return packageOf(map[string]string{
			sheetPart: strings.Replace(sheet, "</sheetData>",
				`</sheetData><mergeCells count="1"><mergeCell ref="A1:D1"/></mergeCells>`, 1),
			stringsPart: sharedStrings("<r><t>Our </t></r><r><t>clients</t></r><rPh sb=\"0\" eb=\"1\"><t>x</t></rPh>",
				"<t>Legal_x000D_\nName</t>", "<t xml:space=\"preserve\"> Acme\u00a0LLC </t>",
				"<t>&amp;Sons_x005F_x000D_</t>"),
			stylesPart: styleSheet(`[<=99999]00000;00000\-0000`, "m/d/yyyy"),
			mainPart: strings.Replace(minimalPackage[mainPart], "<sheets>",
				`<workbookPr date1904="true"/><sheets>`, 1),
		})
	},
	"truncated.xlsx": func() []byte {
		whole := worksheet(strings.Repeat(`<row><c><v>1</v></c></row>`, 40))
		return packageOf(map[string]string{sheetPart: whole[:len(whole)/2]})
	},
	"lost-texts.xlsx": func() []byte {
		return packageOf(map[string]string{sheetPart: worksheet(`<row r="1"><c r="A1" t="s"><v>0</v></c></row>`)})
	},
}

func TestNastyFiles(t *testing.T) {
	if goldentest.Update() {
		for name, data := range nastyFiles {
			writeTestdata(t, filepath.Join("testdata", name), data())
		}
	}
	goldens, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(goldens) < 9 {
		t.Fatal(goldens, err)
	}
	for _, golden := range goldens {
		t.Run(filepath.Base(golden), func(t *testing.T) {
			reading := readingOf(strings.TrimSuffix(golden, ".golden"))
			if goldentest.Update() {
				writeTestdata(t, golden, []byte(reading))
			}
			want, err := os.ReadFile(golden)
			if err != nil || reading != string(want) {
				t.Errorf("got\n%s\nwant\n%s (%v)", reading, want, err)
			}
		})
	}
}

func writeTestdata(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// readingOf returns the rows of a file, its notes and its error as text.
func readingOf(path string) string {
	var reading strings.Builder
	f, err := Open(path, Limits{})
	if err == nil {
		var rows []Row
		if rows, err = readSheet(f, f.Sheets()[0].Name); err == nil {
			reading.WriteString(show(rows) + "\n")
		}
		for _, note := range f.Notes() {
			reading.WriteString("note: " + note + "\n")
		}
		f.Close()
	}
	if err != nil {
		fmt.Fprintf(&reading, "error: %v\n", err)
	}
	return reading.String()
}
