package sheet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
)

// openBytes opens a file that lies in memory.
func openBytes(data []byte, limits Limits) (*File, error) {
	return OpenReader("test", bytes.NewReader(data), int64(len(data)), limits)
}

// readBytes reads the first sheet of a file that lies in memory.
func readBytes(data []byte, limits Limits) ([]Row, []string, error) {
	f, err := openBytes(data, limits)
	if err != nil {
		return nil, nil, err
	}
	rows, err := readSheet(f, f.Sheets()[0].Name)
	return rows, f.Notes(), err
}

func utf16Bytes(text string, bigEndian, mark bool) []byte {
	encoder := utf16LE.NewEncoder()
	bom := "\xff\xfe"
	if bigEndian {
		encoder, bom = utf16BE.NewEncoder(), "\xfe\xff"
	}
	if !mark {
		bom = ""
	}
	encoded, err := encoder.String(text)
	if err != nil {
		panic(err)
	}
	return []byte(bom + encoded)
}

func cp1252(text string) []byte {
	encoded, err := charmap.Windows1252.NewEncoder().Bytes([]byte(text))
	if err != nil {
		panic(err)
	}
	return encoded
}

// csvCase is a case of TestCSVReads.
type csvCase struct {
	name  string
	data  []byte
	want  [][]string
	notes string // a part of them
}

func TestCSVReads(t *testing.T) {
	const table = "Name,State\nCafé LLC,DE\n"
	want := [][]string{{"Name", "State"}, {"Café LLC", "DE"}}
	pad := strings.Repeat("plain ASCII row,DE\n", 10_000) // longer than what is looked at first
	padded := func(rest string) [][]string {
		all := [][]string{{"Name", "State"}}
		for range 10_000 {
			all = append(all, []string{"plain ASCII row", "DE"})
		}
		return append(all, []string{rest, "DE"})
	}
	for _, tt := range []csvCase{
		{"UTF-8", []byte(table), want, ""},
		{"UTF-8 with byte order mark", []byte("\ufeff" + table), want, ""},
		{"UTF-16 LE with mark", utf16Bytes(table, false, true), want, "UTF-16"},
		{"UTF-16 BE with mark", utf16Bytes(table, true, true), want, "UTF-16"},
		{"UTF-16 LE without mark", utf16Bytes(table, false, false), want, "UTF-16"},
		{"UTF-16 BE without mark", utf16Bytes(table, true, false), want, "UTF-16"},
		{"Windows-1252", cp1252(table), want, "Windows-1252"},
		{"Windows-1252 far behind", cp1252("Name,State\n" + pad + "Café,DE\n"), padded("Café"), "Windows-1252"},
		{"UTF-8 far behind", []byte("Name,State\n" + pad + "Café,DE\n"), padded("Café"), ""},
		{"one broken sequence in UTF-8", []byte("Name,State\nCafé Ünïcödé \xff,DE\n"),
			[][]string{{"Name", "State"}, {"Café Ünïcödé \uFFFD", "DE"}}, "lost"},
		{"one broken sequence beside one whole one", []byte("Name,State\nCafé \xff,DE\n"),
			[][]string{{"Name", "State"}, {"Café \uFFFD", "DE"}}, "lost"},
		{"a sequence cut short", []byte("Name,State\nCafé \xe2\x82,DE\n"),
			[][]string{{"Name", "State"}, {"Café \uFFFD\uFFFD", "DE"}}, "lost"},
		{"Windows-1252 with a sequence of UTF-8 in it", []byte("Name,State\nCaf\xe9 \xfcber \xc3\xa9,DE\n"),
			[][]string{{"Name", "State"}, {"Café über Ã©", "DE"}}, "Windows-1252"},
		{"letters lost before", []byte("Name,State\nCaf\uFFFD,DE\n"),
			[][]string{{"Name", "State"}, {"Caf\uFFFD", "DE"}}, "lost"},
		{"CRLF", []byte(strings.ReplaceAll(table, "\n", "\r\n")), want, ""},
		{"CR", []byte(strings.ReplaceAll(table, "\n", "\r")), want, ""},
		{"CR with line feeds in cells", []byte("Name,State\r\"Café\nLLC\",DE\r"), want, ""},
		{"no line end at the end", []byte(strings.TrimSpace(table)), want, ""},
		{"semicolons", []byte("Name;State\n\"Smith, John, Jr\";DE\nCafé LLC;DE\n"),
			[][]string{{"Name", "State"}, {"Smith, John, Jr", "DE"}, {"Café LLC", "DE"}}, "semicolons"},
		{"semicolons and decimal commas", []byte("Name;Fee\nA;1,5\nB;2,5\nC;3,5\n"),
			[][]string{{"Name", "Fee"}, {"A", "1,5"}, {"B", "2,5"}, {"C", "3,5"}}, "semicolons"},
		{"semicolons below a title with a comma", []byte("Clients of Smith, Jones\n\nName;State\nA;DE\nB;DE\n"),
			[][]string{{"Clients of Smith, Jones"}, {"Name", "State"}, {"A", "DE"}, {"B", "DE"}}, "semicolons"},
		{"tabs", []byte("Name\tState\nCafé, LLC\tDE\n"), [][]string{{"Name", "State"}, {"Café, LLC", "DE"}}, "tabs"},
		{"tabs around empty cells", []byte("Name\tCity\tState\nA\t\tDE\n"),
			[][]string{{"Name", "City", "State"}, {"A", "", "DE"}}, "tabs"},
		{"vertical bars", []byte("Name|State\nCafé LLC|DE\n"), want, "vertical bars"},
		{"commas and lists of alternatives", []byte("Name,Alternatives,State\nA,x;y,DE\nB,u;v,DE\n"),
			[][]string{{"Name", "Alternatives", "State"}, {"A", "x;y", "DE"}, {"B", "u;v", "DE"}}, ""},
		{"sep line", []byte("sep=;\r\nName;State\r\nCafé LLC;DE\r\n"), want, "semicolons"},
		{"sep line against the look of it", []byte("sep=|\na,b|c,d\n"), [][]string{{"a,b", "c,d"}}, "vertical bars"},
		{"one column", []byte("Name\nA\nB\n"), [][]string{{"Name"}, {"A"}, {"B"}}, ""},
		{"line breaks in cells", []byte("Name,State\n\"Café\n LLC\",DE\n"), want, ""},
		{"ragged rows", []byte("a,b,c\n1\n1,2,3,4\n"), [][]string{{"a", "b", "c"}, {"1"}, {"1", "2", "3", "4"}}, ""},
		{"trailing commas", []byte("a,b,,\n1,,,\n,,,\n"), [][]string{{"a", "b"}, {"1"}}, ""},
		{"doubled quotation marks", []byte("a,b\n\"say \"\"hi\"\"\",2\n"),
			[][]string{{"a", "b"}, {`say "hi"`, "2"}}, ""},
		{"a space before quotation marks", []byte("\"a\", \"b\"\n\"1\", \"x, y\"\n"),
			[][]string{{"a", "b"}, {"1", "x, y"}}, ""},
		{"an inch mark", []byte("a,b\n5\" pipe,2\n"), [][]string{{"a", "b"}, {`5" pipe`, "2"}}, "Quotation marks"},
		{"quotation marks inside quoted text", []byte("a,b\n\"Acme \"Best\" LLC\",DE\n"),
			[][]string{{"a", "b"}, {`Acme "Best" LLC`, "DE"}}, "line 2"},
		{"a quoted word in front", []byte("a,b\n\"Big\" Al's LLC,\"DE\"\nx,y\n"),
			[][]string{{"a", "b"}, {"Big Al's LLC", "DE"}, {"x", "y"}}, "line 2"},
		{"NUL", []byte("a,b\nx\x00y,2\n"), [][]string{{"a", "b"}, {"xy", "2"}}, "NUL"},
		{"guarded formulas", []byte("a,b\n'+1 Fitness LLC,'@Home\n''=x,'tis\n"),
			[][]string{{"a", "b"}, {"+1 Fitness LLC", "@Home"}, {"'=x", "'tis"}}, ""},
		{"blanks and invisible characters", []byte("a,b\n\u00a0 x\u200by\u00a0,\u2003\n"),
			[][]string{{"a", "b"}, {"xy"}}, ""},
		{"numbers are text", []byte("a,b\n02134,2026\n"), [][]string{{"a", "b"}, {"02134", "2026"}}, ""},
	} {
		t.Run(tt.name, tt.run)
	}
}

func (tt csvCase) run(t *testing.T) {
	rows, notes, err := readBytes(tt.data, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(rows); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tt.want) {
		t.Errorf("got  %.500q\nwant %.500q", got, tt.want)
	}
	if all := strings.Join(notes, " "); !strings.Contains(all, tt.notes) || tt.notes == "" && all != "" {
		t.Errorf("notes are %q, want %q", all, tt.notes)
	}
	for _, row := range rows {
		for _, c := range row.Cells {
			if (c.Kind == Blank) != (c.Text == "") || c.Kind > Text {
				t.Errorf("cell %q is %v", c.Text, c.Kind)
			}
		}
	}
}

func TestCSVRowNumbers(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		want       [][2]int // number and line of each row
	}{
		{"blank lines count", "a\n\n\nb\n", [][2]int{{1, 1}, {4, 4}}},
		{"rows of blanks count", "a,b\n , \nc,d\n", [][2]int{{1, 1}, {3, 3}}},
		{"blank lines in front", "\n\na\nb\n", [][2]int{{3, 3}, {4, 4}}},
		{"quoted line breaks do not", "a\n\"b\nc\"\nd\n\"e\n\nf\"\n\ng\n",
			[][2]int{{1, 1}, {2, 2}, {3, 4}, {4, 5}, {6, 9}}},
		{"the same with CRLF", "a\r\n\"b\r\nc\"\r\nd\r\n\r\ne\r\n", [][2]int{{1, 1}, {2, 2}, {3, 4}, {5, 6}}},
		{"the same with CR", "a\r\"b\nc\"\rd\r\re\r", [][2]int{{1, 1}, {2, 2}, {3, 4}, {5, 6}}},
		{"a sep line is no row", "sep=,\na,b\n\nc,d\n", [][2]int{{1, 2}, {3, 4}}},
		{"records read loosely", "a,b\n\n5\",x\n\nc,d\n", [][2]int{{1, 1}, {3, 3}, {5, 5}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rows, _, err := readBytes([]byte(tt.data), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			var got [][2]int
			for _, row := range rows {
				got = append(got, [2]int{row.Number, row.Line})
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// The offsets at which records lie are exact over many buffers.
func TestCSVLooseRecordsInALargeFile(t *testing.T) {
	var b strings.Builder
	b.WriteString("sep=,\nName,State\n")
	const rows = 20_000
	for i := range rows {
		fmt.Fprintf(&b, "%d\" pipe and fittings,DE\n", i)
	}
	read, _, err := readBytes([]byte(b.String()), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if len(read) != rows+1 {
		t.Fatalf("%d rows", len(read))
	}
	for i, row := range read[1:] {
		if want := fmt.Sprintf(`%d" pipe and fittings`, i); row.Cells[0].Text != want || row.Number != i+2 ||
			row.Line != i+3 || len(row.Cells) != 2 {
			t.Fatalf("row %d on line %d is %v, want %q", row.Number, row.Line, row.Cells, want)
		}
	}
}

func TestCSVRefuses(t *testing.T) {
	long := strings.Repeat("x", 4*32767+1)
	for _, tt := range []struct {
		name   string
		data   string
		limits Limits
		want   string // a part of the error
	}{
		{"a quotation that is never closed", "a,b\n1,2\n\"3,4\n5,6\n7,8\n", Limits{}, "line 3"},
		{"a quotation that ends in another row", "a,b\n\"Foo LLC,DE\n\"Bar LLC\",TX\n", Limits{}, "line 2"},
		{"a quotation that is never closed on the last line", "a,b\n1,\"2", Limits{}, "line 2"},
		{"the same below a sep line", "sep=,\na,b\n1,\"2", Limits{}, "line 3"},
		{"a text that is too long", "a,b\n1," + long + "\n", Limits{}, "cell B2"},
		{"too many rows", "a\nb\nc\n", Limits{Rows: 2}, "more than 2 rows"},
		{"too many columns", "a,b\n1,2,3\n", Limits{Columns: 2}, "row 2 (line 2) has 3 columns"},
		{"too many cells", "a,b\n1,2\n3,4\n", Limits{Cells: 5}, "more than 5 cells"},
		{"a file that is too large", "a,b\n", Limits{FileBytes: 3}, "larger than 3 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rows, _, err := readBytes([]byte(tt.data), tt.limits)
			var refused *FormatError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), tt.want) || refused.Remedy == "" ||
				refused.File != "test" {
				t.Errorf("got %v and %d rows, want an error with %q", err, len(rows), tt.want)
			}
		})
	}
}

// A quotation mark that is never closed does not take the rest of a large file into memory.
func TestCSVUnclosedQuotationIsBounded(t *testing.T) {
	data := []byte("a,b\n\"1,2\n" + strings.Repeat("some row,DE\n", rowBytes/8))
	_, _, err := readBytes(data, Limits{})
	if err == nil || !strings.Contains(err.Error(), "quotation mark is opened on or after line 2") {
		t.Errorf("got %v", err)
	}
}

// Reading ends without an error where its function needs no more, and a CSV has
// no sheet with a name.
func TestEachRowEnds(t *testing.T) {
	f, err := openBytes([]byte("a\nb\nc\n"), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = f.EachRow("", func(*Row) error {
		if n++; n == 2 {
			return ErrSkipRest
		}
		return nil
	})
	if err != nil || n != 2 {
		t.Errorf("%v after %d rows", err, n)
	}
	if err := f.EachRow("Sheet1", nil); err == nil {
		t.Error("a CSV has a sheet with a name")
	}
}

// Content in memory is read as a file is, and closing it closes nothing.
func TestOpenReader(t *testing.T) {
	const text = "a,b\n1,2\n"
	f, err := OpenReader("some/where/in.csv", strings.NewReader(text), int64(len(text)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // it can be read again
		content, err := io.ReadAll(f.Content())
		if err != nil || string(content) != text || f.Name() != "in.csv" {
			t.Errorf("%q %q %v", f.Name(), content, err)
		}
	}
	if rows, err := readSheet(f, ""); err != nil || len(rows) != 2 {
		t.Errorf("%v %v", rows, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err = OpenReader("some/where/in.csv", strings.NewReader(""), 0, Limits{}); err == nil ||
		!strings.HasPrefix(err.Error(), "in.csv: ") {
		t.Errorf("%v", err)
	}
}

// What is typed is what a cell of a CSV would be.
func TestTyped(t *testing.T) {
	for _, text := range []string{"", " ", "DE", " DE\u00a0", "a\r\n b", "'=1+1", "''=1", "'tis", "\u200b", "\x00x",
		"O’Neill", "a\tb", "2134", "\xff", `"q"`} {
		content := `x,"` + strings.ReplaceAll(text, `"`, `""`) + "\"\n"
		rows, _, err := readBytes([]byte(content), Limits{})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		want := Cell{}
		if len(rows[0].Cells) > 1 {
			want = rows[0].Cells[1]
		}
		if text == "\xff" {
			want.Text = "\uFFFD" // a file of such bytes is no UTF-8
		}
		if got := TypedCell(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}
