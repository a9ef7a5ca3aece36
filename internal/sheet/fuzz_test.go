package sheet

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// fuzzLimits keep a fuzzer from spending its time on what is merely large.
var fuzzLimits = Limits{TotalBytes: 1 << 20, PartBytes: 1 << 20, Cells: 1 << 16}

// addSeeds adds the files of this package's testdata, and the samples of the
// project where there are some.
func addSeeds(f *testing.F, extension string) {
	f.Helper()
	for _, folder := range []string{"testdata", filepath.Join("..", "..", "samples")} {
		paths, err := filepath.Glob(filepath.Join(folder, "*"+extension))
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			if len(data) < 1<<20 {
				f.Add(data)
			}
		}
	}
}

func fuzzFile(t *testing.T, data []byte) {
	rows, _, err := readBytes(data, fuzzLimits)
	var refused *FormatError
	if err != nil && (!errors.As(err, &refused) || refused.Reason == "" || refused.Remedy == "") {
		t.Fatalf("an error that does not help: %v", err)
	}
	checkRows(t, rows)
}

// checkRows holds rows to what the types promise.
func checkRows(t testing.TB, rows []Row) {
	t.Helper()
	last := 0
	for _, row := range rows {
		if row.Number <= last || row.Number > 1<<20 {
			t.Fatalf("row %d follows row %d", row.Number, last)
		}
		last = row.Number
		if len(row.Cells) == 0 || len(row.Cells) > 1<<14 || row.Cells[len(row.Cells)-1].Kind == Blank {
			t.Fatalf("row %d has %d cells or ends in a blank", row.Number, len(row.Cells))
		}
		for i, c := range row.Cells {
			if (c.Text == "") != (c.Kind == Blank || c.Kind == Formula) || c.Kind > Formula {
				t.Fatalf("cell %s is %v with %q", CellName(i, row.Number), c.Kind, c.Text)
			}
			if clean := string(appendClean(nil, []byte(c.Text))); clean != c.Text {
				t.Fatalf("cell %s is %q, clean %q", CellName(i, row.Number), c.Text, clean)
			}
		}
	}
}

func FuzzCSV(f *testing.F) {
	addSeeds(f, ".csv")
	for _, seed := range []string{
		"sep=;\na;b\n1;2\n", "a,b\r\n\"x\r\ny\",'+1\r\n", "a\tb\n5\" x\t\"y\" z\n", "\ufeffa|b\n", "a,b\r1,\"2\r3\"\r",
		"a\n\"", "\xff\xfea\x00,\x00b\x00\n\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(fuzzFile)
}

func FuzzXLSX(f *testing.F) {
	addSeeds(f, ".xlsx")
	f.Add(packageOf(map[string]string{
		sheetPart:   worksheet(`<row r="2"><c r="B2" t="s"><v>0</v></c><c r="C2" s="1"><v>46082</v></c></row>`),
		stringsPart: sharedStrings("<t>a</t>"), stylesPart: styleSheet("yyyy-mm-dd"),
	}))
	f.Fuzz(fuzzFile)
}

// tokens is what a scanner finds, in a form to compare: "<name", "text", ">".
func scannerTokens(r io.Reader) (string, error) {
	var b strings.Builder
	var text []byte
	s := newScanner(r)
	for {
		token, err := s.next()
		if err != nil {
			return "", err
		}
		switch token {
		case tokenText:
			if text, err = s.appendText(text[:0]); err != nil {
				return "", err
			}
			b.Write(text)
		case tokenStart:
			b.WriteString("\x00<" + string(s.name) + "\x00")
		case tokenEnd:
			b.WriteString("\x00>\x00")
		case tokenEOF:
			return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(b.String()), nil
		}
	}
}

// decoderTokens is the same by encoding/xml.
func decoderTokens(r io.Reader) (string, error) {
	var b strings.Builder
	d := xml.NewDecoder(r)
	depth := 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(b.String()), nil
		}
		if err != nil {
			return "", err
		}
		switch token := token.(type) {
		case xml.CharData:
			if depth > 0 {
				b.Write(token)
			}
		case xml.StartElement:
			depth++
			b.WriteString("\x00<" + token.Name.Local + "\x00")
		case xml.EndElement:
			depth--
			b.WriteString("\x00>\x00")
		}
	}
}

// FuzzScanner holds the scanner to encoding/xml wherever both can read, and to
// itself however its input comes.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		`<a/>`, `<?xml version="1.0"?><a b='c>d'><x:b xmlns:x="u">1 &lt; 2<!-- - --></x:b ><![CDATA[]]]]></a>`,
		"<a>\r\n&#13;&#x41;</a>", `<a><b></a></b>`,
		`<!DOCTYPE a><a/>`, `<a>&b;</a>`, `<a`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := scannerTokens(bytes.NewReader(data))
		slow, slowErr := scannerTokens(iotest.OneByteReader(bytes.NewReader(data)))
		if got != slow || (err == nil) != (slowErr == nil) {
			t.Fatalf("byte by byte %q, %v; at once %q, %v", slow, slowErr, got, err)
		}
		if err != nil {
			return
		}
		if want, err := decoderTokens(bytes.NewReader(data)); err == nil && got != want {
			t.Fatalf("got %q, encoding/xml has %q", got, want)
		}
	})
}
