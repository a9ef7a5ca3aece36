package sheet

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the files of testdata and their .golden readings again")

// nastyFiles makes the files of testdata: the ways in which people's sheets go
// wrong, several to a file.
var nastyFiles = map[string]func() []byte{
	"european.csv": func() []byte {
		return cp1252(
			"Kunden der Smith, Jones & Co\r\n\r\nName;Straße;Betrag\r\n\"Müller; Söhne\";Hauptstraße 1;1,50\r\nCafé " +
				"“Zum Löwen”;Weg 2;2,00\r\n")
	},
	"macintosh.csv": func() []byte {
		return []byte("Name,Address\r\"Acme LLC\",\"1 Main St\nSuite 2\"\r\rBeta Corp,2 Side St\r")
	},
	"unicode-text.csv": func() []byte {
		return utf16Bytes("Name\tZIP\r\nCafé\u00a0LLC\t02134\r\n+1 Fitness LLC\t\r\n", false, true)
	},
	"quotes.csv": func() []byte {
		return []byte(
			"sep=,\nName,State,Note\n\"Acme \"\"Best\"\" LLC\",DE,\"two\nlines\"\n5\" Pipe Co,TX,inch mark\n\"Acme " +
				"\"Best\" LLC\",DE,not doubled\n\"Big\" Al's LLC,DE,quoted word\nShort\nLong,TX,x,y,z\n'+1 Fitness " +
				"LLC,'@Home,'=1+1\n")
	},
	"unclosed.csv": func() []byte {
		return []byte("Name,State\nA,DE\n\"B,TX\nC,DE\nD,DE\n")
	},
	"renamed.csv": func() []byte {
		return []byte(
			"<html xmlns:x=\"urn:schemas-microsoft-com:office:excel\"><table><tr><td>Name</td></tr></table></html>\n")
	},
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
	for name, data := range nastyFiles {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name)
			if *update {
				writeTestdata(t, path, data())
			}
			reading := readingOf(path)
			if *update {
				writeTestdata(t, path+".golden", []byte(reading))
			}
			golden, err := os.ReadFile(path + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			if reading != string(golden) {
				t.Errorf("got\n%s\nwant\n%s", reading, golden)
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
