package sheet

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNumberFormats(t *testing.T) {
	for _, tt := range []struct{ code, value, want string }{
		{"General", "2134", "number 2134"},
		{"0", "2026", "number 2026"},
		{"0", "2026.6", "number 2026.6"},
		{"0.00", "5", "number 5"},
		{"#,##0", "12345", "number 12345"},
		{"#,##0.00_);(#,##0.00)", "-12345", "number -12345"},
		{"0%", "0.5", "number 0.5"},
		{"0.00E+00", "12345", "number 12345"},
		{"0.00E-00", "12345", "number 12345"},
		{"# ?/?", "0.5", "number 0.5"},
		{"@", "2134", "number 2134"},
		{`"$"#,##0`, "5", "number 5"},
		{`0" days"`, "5", "number 5"},
		{`00" units"`, "5", "number 5"},
		{";;;", "5", "number 5"},
		{"00000", "2134", "number 02134"},
		{"00000", "941031234", "number 941031234"},
		{"00000-0000", "21341234", "number 02134-1234"},
		{`00000\-0000`, "941031234", "number 94103-1234"},
		{"000-00-0000", "12345678", "number 012-34-5678"},
		{"###-##-####", "123456789", "number 123-45-6789"},
		{"(000) 000-0000", "2025550100", "number (202) 555-0100"},
		{`[<=9999999]###\-####;\(###\)\ ###\-####`, "5550100", "number 555-0100"},
		{`[<=9999999]###\-####;\(###\)\ ###\-####`, "2025550100", "number (202) 555-0100"},
		{"00-0000000", "12345678", "number 01-2345678"},
		{"[$-409]00000", "2134", "number 02134"},
		{"[Red]00000", "2134", "number 02134"},
		{"0000", "26", "number 0026"},
		{"00000;-00000", "-26", "number -26"},
		{"yyyy-mm-dd", "46082", "date 2026-03-01"},
		{"m/d/yyyy", "46082", "date 2026-03-01"},
		{"[$-409]mmmm d, yyyy;@", "46082", "date 2026-03-01"},
		{"[$-F800]dddd, mmmm dd, yyyy", "46082", "date 2026-03-01"},
		{"mmm-yy", "46082", "date 2026-03-01"},
		{"yyyy", "46082", "date 2026-03-01"},
		{"mmm", "46082", "date 2026-03-01"},
		{`d"th of" mmmm`, "46082", "date 2026-03-01"},
		{`yyyy\-mm\-dd\ hh:mm`, "46082.5", "date 2026-03-01T12:00:00"},
		{"m/d/yy h:mm AM/PM", "46082.25", "date 2026-03-01T06:00:00"},
		{"mm:ss", "0.5", "date 12:00:00"},
		{"h:mm", "0.25", "date 06:00:00"},
		{"[h]:mm", "1.5", "number 1.5"},
		{"[mm]:ss", "0.5", "number 0.5"},
		{`"DD"0`, "5", "number 5"},
		{`\d0`, "5", "number 5"},
		{"yyyy-mm-dd;@", "46082", "date 2026-03-01"},
		{"[<100]0;yyyy-mm-dd", "46082", "date 2026-03-01"},
		{"[<100]0;yyyy-mm-dd", "5", "number 5"},
		{"[Color 10]0;[Red]-0", "5", "number 5"},
		{"0;0;0;0;0;0", "5", "number 5"},
		{"[[[", "5", "number 5"},
		{strings.Repeat("0", 300), "5", "number 5"},
		// Formats that are built in have a number in place of a code.
		{"#0", "46082.5", "number 46082.5"},
		{"#1", "46082.5", "number 46082.5"},
		{"#14", "46082.5", "date 2026-03-01"},
		{"#22", "46082.5", "date 2026-03-01T12:00:00"},
		{"#46", "46082.5", "number 46082.5"},
		{"#49", "46082.5", "number 46082.5"},
	} {
		styles := styleSheet(tt.code)
		if id, is := strings.CutPrefix(tt.code, "#"); is && len(id) <= 2 {
			styles = `<styleSheet><cellXfs><xf/><xf numFmtId="` + id + `"/></cellXfs></styleSheet>`
		}
		rows, _, err := readBytes(packageOf(map[string]string{
			sheetPart: worksheet(`<row><c s="1"><v>` + tt.value + `</v></c></row>`), stylesPart: styles,
		}), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimPrefix(show(rows), "1: "); got != tt.want {
			t.Errorf("%s in format %.60s is %s, want %s", tt.value, tt.code, got, tt.want)
		}
	}
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
