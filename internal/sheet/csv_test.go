package sheet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"

	"github.com/bulkfiling/bulkfiling/internal/goldentest"
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

func cp1252(text string) []byte {
	encoded, err := charmap.Windows1252.NewEncoder().Bytes([]byte(text))
	if err != nil {
		panic(err)
	}
	return encoded
}

// readingOfRows writes the rows of a CSV on one line, with the lines of those that have other
// numbers.
func readingOfRows(t *testing.T, rows []Row) string {
	var all []string
	for _, row := range rows {
		text := strconv.Itoa(row.Number)
		if row.Line != row.Number {
			text += fmt.Sprintf(" (line %d)", row.Line)
		}
		for i, c := range row.Cells {
			if (c.Kind == Blank) != (c.Text == "") || c.Kind > Text {
				t.Errorf("cell %q is %v", c.Text, c.Kind)
			}
			text += fmt.Sprintf("%s %q", map[bool]string{true: ":"}[i == 0], c.Text)
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func TestCSV(t *testing.T) {
	goldentest.Lines(t, "testdata/csv.txt", func(t *testing.T, fields []string) string {
		var limits Limits
		if _, limit, ok := strings.Cut(fields[0], ", limit "); ok {
			limits = limitIn(t, limit)
		}
		rows, notes, err := readBytes([]byte(fields[1]), limits)
		var refused *FormatError
		if errors.As(err, &refused) && refused.Remedy != "" && refused.File == "test" {
			return "error: " + err.Error()
		} else if err != nil {
			t.Errorf("%q: %v", fields, err)
		}
		return strings.TrimSpace(readingOfRows(t, rows) + " " + strings.Join(notes, " "))
	})
}

// limitIn returns limits of which one is set, such as "rows 2".
func limitIn(t *testing.T, text string) (limits Limits) {
	t.Helper()
	name, number, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	switch name {
	case "file-bytes":
		limits.FileBytes = int64(n)
	case "rows":
		limits.Rows = n
	case "columns":
		limits.Columns = n
	case "cells":
		limits.Cells = int64(n)
	}
	return limits
}

// The encoding is that of the whole file. What is looked at first may be plain ASCII.
func TestCSV_EncodingFarBehind(t *testing.T) {
	pad := "Name,State\n" + strings.Repeat("plain ASCII row,DE\n", 10_000)
	text := pad + "Café,DE\n"
	for note, data := range map[string][]byte{"Windows-1252": cp1252(text), "": []byte(text)} {
		rows, notes, err := readBytes(data, Limits{})
		if err != nil || len(rows) != 10_002 || rows[10_001].Cells[0].Text != "Café" ||
			rows[10_000].Cells[0].Text != "plain ASCII row" || (len(notes) == 0) != (note == "") ||
			!strings.Contains(strings.Join(notes, " "), note) {
			t.Errorf("%d rows, %q, %v", len(rows), notes, err)
		}
	}
}

func TestCSV_LongText(t *testing.T) {
	_, _, err := readBytes([]byte("a,b\n1,"+strings.Repeat("x", 4*maxCellChars+1)+"\n"), Limits{})
	if refused := new(FormatError); !errors.As(err, &refused) || !strings.Contains(err.Error(), "cell B2") {
		t.Errorf("%v", err)
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
