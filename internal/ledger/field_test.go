package ledger

import (
	"reflect"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

func TestArrays(t *testing.T) {
	row := func(s rowState) record { return s.appendFields(nil) }
	all, err := arrays([]record{
		{number("row", int64(7)), text("class", filing.Ready), flag("creates", true)},
		{number("row", int64(8)), text("class", filing.Placed), flag("creates", false)},
	})
	want := []any{[]int64{7, 8}, []string{string(filing.Ready), string(filing.Placed)}, []int64{1, 0}}
	if err != nil || !reflect.DeepEqual(all, want) {
		t.Errorf("arrays are %v, %v, want %v", all, err, want)
	}
	if _, err := arrays([]record{row(rowState{}), row(rowState{id: 1, uncertain: true})}); err != nil {
		t.Error(err)
	}
	for name, other := range map[string]record{
		"fewer fields":  {number("row", 1)},
		"another name":  {number("row", 1), text("note", "")},
		"another type":  {number("row", 1), number("class", 0)},
		"another order": {text("class", ""), number("row", 1)},
	} {
		if _, err := arrays([]record{{number("row", 1), text("class", "")}, other}); err == nil {
			t.Errorf("a record with %s is accepted", name)
		}
	}
}

// Every field of a record that is scanned has a place of its own for it.
func TestFieldsAreScannedWhereTheyAreWrittenFrom(t *testing.T) {
	for name, fields := range map[string]record{"row": rowStateColumns, "control": (&control{}).fields()} {
		names, places := make(map[string]bool), make(map[any]bool)
		for _, f := range fields {
			at := f.v.(binding).target()
			if reflect.ValueOf(at).IsNil() || names[f.name] || places[at] {
				t.Errorf("%s: the field %s has no place, or shares its name or place", name, f.name)
			}
			if isText := reflect.TypeOf(at).Elem().Kind() == reflect.String; isText != f.isText() {
				t.Errorf("%s: the field %s is kept as %s, but scanned into a %T", name, f.name, f.sqlType(), at)
			}
			names[f.name], places[at] = true, true
		}
		if got := strings.Count(fields.names(""), ",") + 1; got != len(fields) {
			t.Errorf("%s: %d names for %d fields", name, got, len(fields))
		}
	}
}
