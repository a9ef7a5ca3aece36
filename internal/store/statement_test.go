package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"testing"
)

func openTest(t *testing.T) *DB {
	db, err := Open(t.Context(), Config{Dir: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return db
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A kept statement runs again after an error, while its result is read, after its result was left or
// canceled, after the table has changed, and after it was forgotten.
func TestParsedStatements(t *testing.T) {
	db, ctx := openTest(t), t.Context()
	_, err := db.Exec(ctx, `CREATE TABLE numbers (n INTEGER PRIMARY KEY)`)
	must(t, err)
	const insert, list = `INSERT INTO numbers VALUES ($1)`, `SELECT * FROM numbers WHERE n < $1 ORDER BY n`
	count := func(rows *sql.Rows, err error) (n int) {
		must(t, Each(rows, err, func(func(...any) error) error { n++; return nil }))
		return n
	}
	must(t, db.Transact(ctx, func(tx *sql.Tx) error {
		for n := range 10 {
			_, err := tx.ExecContext(ctx, insert, n)
			must(t, err)
			if _, err := tx.ExecContext(ctx, insert, n); err == nil {
				t.Error("the same number twice")
			}
			if _, err := tx.ExecContext(ctx, insert); err == nil {
				t.Error("a statement without its argument")
			}
		}
		outer, err := tx.QueryContext(ctx, list, 10)
		must(t, err)
		outer.Next()
		if n := count(tx.QueryContext(ctx, list, 3)); n != 3 {
			t.Errorf("%d numbers within another result", n)
		}
		for i := range 2 * maxStatements { // forgets all statements but the one that is read
			var n int
			must(t, tx.QueryRowContext(ctx, fmt.Sprint(`SELECT `, i)).Scan(&n))
		}
		if n := count(outer, nil); n != 9 {
			t.Errorf("%d more numbers", n)
		}
		return nil
	}))
	for range 50 {
		canceled, cancel := context.WithCancel(ctx)
		rows, err := db.Read.QueryContext(canceled, list, 10)
		must(t, err)
		rows.Next()
		cancel()
		rows.Close()
	}
	for range 2 {
		if n := count(db.Read.QueryContext(ctx, list, 10)); n != 10 {
			t.Errorf("%d numbers", n)
		}
	}
	_, err = db.Exec(ctx, `ALTER TABLE numbers ADD COLUMN more INTEGER NOT NULL DEFAULT 7`)
	must(t, err)
	for range readers + 1 {
		var n, more int
		if must(t, db.Read.QueryRowContext(ctx, list, 1).Scan(&n, &more)); more != 7 {
			t.Errorf("the new column is %d", more)
		}
	}
}

// Records reach a query as they are, in their order, also if a text looks like another type.
func TestQueryRecords(t *testing.T) {
	db, ctx := openTest(t), t.Context()
	var records []Record
	texts := []string{"", "0", "01", "1", "1.0", "1e5", "null", "true", "[1]", `{"a":1}`, `"`, `\`, "<>&", "\u2028",
		"\n\t\r\b", "é", "😀", "\xff", "a\x00b", "'"}
	for i, text := range texts {
		numbers := []int64{0, -1, 1<<53 + 1, math.MaxInt64, math.MinInt64}
		records = append(records, Record{Number("n", numbers[i%len(numbers)]), Text("s", text)})
	}
	read := 0
	must(t, db.Transact(ctx, func(tx *sql.Tx) error {
		return db.QueryRecords(ctx, tx, `SELECT v.n, v.s, typeof(v.n), typeof(v.s) {{v}}`, records,
			func(scan func(...any) error) error {
				var n int64
				var s, typeOfN, typeOfS string
				must(t, scan(&n, &s, &typeOfN, &typeOfS))
				r := records[read]
				if n != r[0].Value() || s != Storable(texts[read]) || typeOfN != "integer" || typeOfS != "text" {
					t.Errorf("%d, %q, %s, %s; want %v", n, s, typeOfN, typeOfS, r)
				}
				read++
				return nil
			})
	}))
	if read != len(records) {
		t.Errorf("%d of %d records", read, len(records))
	}
	defer func() {
		if recover() == nil {
			t.Error("a column that no record has")
		}
	}()
	listColumns(`SELECT v.other {{v}}`, records[0])
}
