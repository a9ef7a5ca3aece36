package resolve_test

import (
	"slices"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/resolve"
)

// Each row that was not marked is counted once, with the reason, over several batches.
func TestUnchangedRowsAreExplained(t *testing.T) {
	var all resolve.Marked
	if lines := all.Unchanged(); lines != nil {
		t.Errorf("no rows: %q", lines)
	}
	all.Add(resolve.Marked{Uncertain: 3, Bought: 1, Absent: 1})
	all.Add(resolve.Marked{Bought: 1, Gone: 1, Failed: []string{"row 4: no answer"}})
	want := []string{
		"2 rows were not changed: ordered before, so no order can have been sent.",
		"1 row was not changed: the filing service has no such company or user, so no order can have been sent.",
		"1 row was not changed: no longer ready.",
	}
	if lines := all.Unchanged(); !slices.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
	if all.Uncertain != 3 || len(all.Failed) != 1 {
		t.Errorf("%+v", all)
	}
}
