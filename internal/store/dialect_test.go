package store

import "testing"

// SQLite parses a statement anew for each value of an argument that it has to compare
// with the WHERE of an index: a plus before the argument hides the value.
func TestArgumentsAreHiddenFromThePlan(t *testing.T) {
	const query = `UPDATE rows SET blocked_on = v.key {{v}} WHERE rows.id = v.id AND rows.blocked_on = v.key`
	want := `UPDATE rows SET blocked_on = +$2  WHERE rows.id = +$1 AND rows.blocked_on = +$2`
	if got := sqlite.expand(query, Record{Text("id", ""), Text("key", "")}, 0); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	const joined = `SELECT v.key, p.row {{v,}} purchases p JOIN rows o ON o.id = p.row WHERE p.key = v.key`
	want = `SELECT +$1, p.row FROM purchases p JOIN rows o ON o.id = p.row WHERE p.key = +$1`
	if got := sqlite.expand(joined, Record{Text("key", "")}, 0); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
