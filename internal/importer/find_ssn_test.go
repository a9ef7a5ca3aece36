package importer

import (
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// A number is found on whichever sheet it stands; what a column is for counts.
func TestFindSSN(t *testing.T) {
	header := []sheet.OutCell{sheet.Str("Company ID"), sheet.Str("Filing State"), sheet.Str("Filing Year"),
		sheet.Str("User Email"), sheet.Str("Notes"), sheet.Str("EIN")}
	row := func(notes, ein string) []sheet.OutCell {
		return []sheet.OutCell{sheet.Str("comp_1"), sheet.Str("DE"), sheet.Str("2026"), sheet.Str("a@example.com"),
			sheet.Str(notes), sheet.Str(ein)}
	}
	for _, c := range []struct{ notes, ein, other, want string }{
		{"call (302) 555-0142", "527317107", "527317107", ""},
		{"SSN 540-41-8100", "", "", "A!E2"},
		{"540418100", "", "", "A!E2"},
		{"", "540-41-8100", "", "A!F2"},
		{"", "", "of 540 41 8100", "B!A1"},
	} {
		path := workbook(t, tab{name: "A", rows: [][]sheet.OutCell{header, row(c.notes, c.ein)}},
			tab{name: "B", rows: [][]sheet.OutCell{{sheet.Str("x" + c.other)}}})
		im := opened(t, path, Options{})
		if where, err := im.FindSSN(t.Context()); err != nil || where != c.want {
			t.Errorf("%+v: %q, %v", c, where, err)
		}
	}
}
