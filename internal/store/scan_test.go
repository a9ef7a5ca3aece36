package store

import (
	"context"
	"database/sql"
	"reflect"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Columns go to the fields of their names: within a field, and of an embedded struct.
func TestListScansByName(t *testing.T) {
	type role string
	type inner struct{ CreatedAt time.Time }
	type row struct {
		inner
		Cost   money.Cost
		Body   []byte
		Makers []string
		Roles  []role
		None   []string
		Map    map[string]string
		On     bool
	}
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const query = `SELECT 5 AS created_at, 7 AS "cost.amount", 2 AS "cost.certainty", 'text' AS body,
		'["ana b", "bo"]' AS makers, 'approver operator' AS roles, 'null' AS none, '{"a": "b"}' AS map, 1 AS "on"
		UNION ALL SELECT 0, 0, 0, '', '', '', '', '', 0`
	got, err := List[row](context.Background(), db, "test", query)
	want := []row{{
		inner:  inner{time.UnixMilli(5).UTC()},
		Cost:   money.Cost{Amount: 7, Certainty: 2},
		Body:   []byte("text"),
		Makers: []string{"ana b", "bo"},
		Roles:  []role{"approver", "operator"},
		Map:    map[string]string{"a": "b"},
		On:     true,
	}, {Body: []byte{}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, damaged := range []any{"damaged", "{", "[1]", 5} {
		if got, err := List[struct{ Map map[string]string }](context.Background(), db, "test", `SELECT $1 AS map`,
			damaged); err == nil {
			t.Errorf("%v is %+v", damaged, got)
		}
		if got, err := List[struct{ Costs []money.Cost }](context.Background(), db, "test", `SELECT $1 AS costs`,
			damaged); err == nil {
			t.Errorf("%v is %+v", damaged, got)
		}
	}
	if _, err := Find[int](context.Background(), db, ErrNotFound, "test", `SELECT 1 WHERE 1 = 0`); err == nil {
		t.Error("no row, and no error")
	}
}
