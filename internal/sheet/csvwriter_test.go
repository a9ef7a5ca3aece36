package sheet

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var formulaLike = []string{
	"+1 Fitness LLC", "@Home Health Corp", "-", "=1+1", "'=1+1", "''+x", "'quoted'", "'", "plain", "-5",
	"O'Brien & Sons",
	`"Big" Al's`, "a,b", "a;b", "two\nlines", "=HYPERLINK(\"http://x\")",
}

func TestCSVRoundTripIsTheIdentity(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.csv")
	rapid.Check(t, func(t *rapid.T) {
		field := rapid.OneOf(rapid.SampledFrom(formulaLike), rapid.StringMatching(`['=+@\-]{0,3}[a-zé ,;"\t]{0,6}`),
			rapid.String())
		rows := rapid.SliceOfN(rapid.SliceOfN(field, 1, 5), 1, 8).Draw(t, "rows")
		f, err := CreateCSV(path)
		if err != nil {
			t.Fatal(err)
		}
		var want [][]string
		rows = append([][]string{{"first", "second", "third", "fourth", "fifth"}}, rows...)
		for _, row := range rows {
			cells := make([]OutCell, len(rows[0])) // a table is as wide as its header
			line := make([]string, len(row))
			for i, text := range row {
				line[i] = string(appendClean(nil, []byte(text)))
				cells[i] = Str(line[i])
			}
			if line = trimBlank(line); len(line) > 0 {
				want = append(want, line)
			}
			if err := f.Row(cells...); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Save(); err != nil {
			t.Fatal(err)
		}
		rows2, err := tryReadAll(path, "")
		if err != nil {
			t.Fatal(err)
		}
		got := texts(rows2)
		if len(got) != len(want) {
			t.Fatalf("got %q, want %q", got, want)
		}
		for i := range want {
			if !slices.Equal(got[i], want[i]) {
				t.Fatalf("row %d: got %q, want %q", i, got[i], want[i])
			}
		}
	})
}

// trimBlank drops the blank texts at the end of a line.
func trimBlank(line []string) []string {
	for len(line) > 0 && line[len(line)-1] == "" {
		line = line[:len(line)-1]
	}
	return line
}

// A number below zero is no formula, and other programs should read it as a number.
func TestCSVMarksOnlyWhatNeedsIt(t *testing.T) {
	for want, cells := range map[string][]OutCell{
		"Cafe\n": {Str("Cafe")}, "\ufeffCafé\n": {Str("Café")}, "'+1\n": {Str("+1")},
		"\ufeff'＝1+1\n": {Str("＝1+1")}, "\"x;=1+1\"\n": {Str("x;=1+1")}, "\"x\t=1\"\n": {Str("x\t=1")},
		"-1.50,-3,'-3\n": {Money(-150), Int(-3), Str("-3")},
	} {
		path := filepath.Join(t.TempDir(), "out.csv")
		f, err := CreateCSV(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Row(cells...); err != nil {
			t.Fatal(err)
		}
		if err := f.Save(); err != nil {
			t.Fatal(err)
		}
		f.Abort()
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("%v is written as %q, want %q (%v)", cells, got, want, err)
		}
		if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
			t.Errorf("left in the folder: %v", entries)
		}
	}
}
