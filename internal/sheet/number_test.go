package sheet

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bulkfiling/bulkfiling/internal/goldentest"
)

func TestNumberFormats(t *testing.T) {
	goldentest.Lines(t, "testdata/number_formats.txt", func(t *testing.T, fields []string) string {
		styles := styleSheet(fields[0])
		if id, is := strings.CutPrefix(fields[0], "built-in "); is {
			styles = `<styleSheet><cellXfs><xf/><xf numFmtId="` + id + `"/></cellXfs></styleSheet>`
		}
		rows, _, err := readBytes(packageOf(map[string]string{
			sheetPart: worksheet(`<row><c s="1"><v>` + fields[1] + `</v></c></row>`), stylesPart: styles,
		}), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimPrefix(show(rows), "1: ")
	})
}

// The text of a number is that number, has no exponent and no digits that say nothing.
func TestNumbersArePlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float64().Draw(t, "value")
		if rapid.Bool().Draw(t, "short") {
			value = float64(rapid.IntRange(-1e9, 1e9).Draw(t, "n")) / 100
		}
		verb := rapid.SampledFrom([]byte{'e', 'E', 'f', 'g'}).Draw(t, "verb")
		raw := strconv.FormatFloat(value, verb, 17, 64)
		text, ok := appendNumber(nil, []byte(raw))
		if !ok {
			t.Fatalf("%s is refused", raw)
		}
		got := string(text)
		if strings.ContainsAny(got, "eE+") || got == "-0" || strings.Contains(got, ".") && strings.HasSuffix(got, "0") {
			t.Fatalf("%s is %s", raw, got)
		}
		back, err := strconv.ParseFloat(got, 64)
		value, _ = strconv.ParseFloat(raw, 64)
		want, _ := strconv.ParseFloat(strconv.FormatFloat(value, 'e', 14, 64), 64)
		if err != nil || back != want && back != value {
			t.Fatalf("%s is %s, which is %v and not %v", raw, got, back, want)
		}
	})
}

func TestCoordinates(t *testing.T) {
	for i, want := range map[int]string{0: "A", 25: "Z", 26: "AA", 701: "ZZ", 702: "AAA", 16383: "XFD", -1: ""} {
		if got := ColumnName(i); got != want {
			t.Errorf("column %d is %s, want %s", i, got, want)
		}
	}
	if got := CellName(2, 5); got != "C5" {
		t.Errorf("got %s", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		col, row := rapid.IntRange(0, 16383).Draw(t, "col"), rapid.IntRange(1, 1<<20).Draw(t, "row")
		gotCol, gotRow, ok := parseCellName([]byte(CellName(col, row)))
		if gotCol != col || gotRow != row || !ok {
			t.Fatalf("%s is read as %d, %d, %v", CellName(col, row), gotCol, gotRow, ok)
		}
	})
	for _, name := range []string{"", "A", "5", "A0", "A-1", "ABCDE5", "A5B", "Ä5", "A99999999999", "$", "A$"} {
		if _, _, ok := parseCellName([]byte(name)); ok {
			t.Errorf("%q is taken for an address", name)
		}
	}
}
