package ledger_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
)

// releasedSchemas are the schemas of which testdata has a ledger: the oldest, and those
// that later ones change the most. A file is never made again: what a version wrote
// stays.
var releasedSchemas = []int64{1, 11, 14, 18, 24, 30, 40, 50, 55}

var addSchemas = flag.Bool("add-schemas", false, "make the ledgers of testdata that are missing")

func schemaFile(version int64) string { return fmt.Sprintf("testdata/schema-%05d.db.gz", version) }

// The rows of every such ledger, by number.
const (
	oldPlaced    = 2
	oldReady     = 3
	oldUncertain = 4
	oldRejected  = 5
	oldPlacing   = 6
)

// oldRow is the report of a row of an old ledger.
func oldRow(number int) ledger.Row { return report(fmt.Sprintf("comp_%d", number), "2026") }

func oldKey(number int) string {
	r := oldRow(number)
	o := r.Request.Order
	o.CompanyID = r.Request.Company.Ref
	return string(o.Keys()[filing.AnnualReport])
}

// oldLedger are the statements that a ledger of a schema was filled with, after those
// of the schemas before it.
func oldLedger(t *testing.T, version int64) (statements []string) {
	quote := func(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
	if version == 1 {
		statements = append(statements, `INSERT INTO batches (id, file, sheet, product, options, columns, rows, open,
				owner, created_by, created_at)
			VALUES ('old', 'old.csv', '', 'annual-report', '', '["Company ID"]', 5, 1, '', 'ana', 1700000000000)`,
			`UPDATE control SET mode = 'test', declared = 1, deposits = 100000, posted = 7500, reserved = 15000`,
			`INSERT INTO entries (at, kind, amount, row, note) VALUES (1700000000000, 'deposit', 100000, 0, 'wire'),
				(1700000000001, 'reserve', 7500, 1, ''), (1700000000002, 'post', 7500, 1, ''),
				(1700000000003, 'reserve', 7500, 3, ''), (1700000000004, 'reserve', 7500, 5, '')`)
		for number, result := range map[int]string{
			oldPlaced: "placed", oldReady: "ready", oldUncertain: "uncertain",
			oldRejected: "rejected", oldPlacing: "placing",
		} {
			held, tries, id := 0, 1, number-1
			switch number {
			case oldUncertain, oldPlacing:
				held = 7500
			case oldReady:
				tries = 0
			}
			r := oldRow(number)
			request, err := json.Marshal(r.Request)
			if err != nil {
				t.Fatal(err)
			}
			statements = append(statements,
				fmt.Sprintf(`INSERT INTO rows (id, batch, number, cells, request, result, cost,
					held, attempts, tries, owner, updated_at)
				VALUES (%d, 'old', %d, '["x"]', %s, '%s', 7500, %d, %d, %d, 'dead', 1700000000000)`,
					id, number, quote(string(request)), result, held, tries, tries))
			class := map[int]string{
				oldPlaced:    "accepted",
				oldUncertain: "no-answer",
				oldRejected:  "rejected",
				oldPlacing:   "",
			}
			if tries > 0 {
				statements = append(statements,
					fmt.Sprintf(`INSERT INTO attempts (row, try, owner, started_at, ended_at, class)
					VALUES (%d, 1, 'dead', 1700000000000, 1700000001000, '%s')`, id, class[number]))
			}
			if held > 0 || result == "placed" {
				bought := 0
				if result == "placed" {
					bought = 1
				}
				statements = append(statements,
					fmt.Sprintf(`INSERT INTO purchases (key, row, product, cover, year, bought, at)
					VALUES (%s, %d, 'annual-report', 'annual-report|comp_%d|DE', 2026, %d, 1700000000000)`,
						quote(oldKey(number)), id, number, bought))
			}
		}
		return append(statements, `INSERT INTO items (row, product, order_type, order_id, cost, created_at)
			VALUES (1, 'annual-report', 'annual_report', 'order_1', 7500, 1700000000000)`,
			`INSERT INTO companies (ref, record, at) VALUES ('comp_2', '{"id":"comp_2"}', 1700000000000)`)
	}
	if version == 11 {
		return []string{
			`INSERT INTO accounts (id, name, roles, created_at) VALUES ('a1', 'leo', '', 1700000000000),
				('a2', 'ana', 'operator', 1700000000000)`,
			`INSERT INTO events (id, type, received_at, order_id, body, state)
				VALUES ('evt_1', 'order.updated', 1700000000000, 'order_1', '{}', 'applied')`,
			`INSERT INTO rosters (hash, file, content, created_by, created_at)
				VALUES ('h1', 'list.csv', CAST('Company ID' AS BLOB), 'ana', 1700000000000)`,
			`INSERT INTO seasons (name, roster, options, schedule, since, created_by, created_at)
				VALUES ('spring', 'h1', '{}', '{}', 1700000000000, 'ana', 1700000000000)`,
		}
	}
	return nil
}

// makeSchema makes the file of a schema.
func makeSchema(t *testing.T, version int64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	defer db.Close()
	for _, v := range releasedSchemas {
		if v > version {
			break
		}
		if err := ledger.MigrateTo(t.Context(), db, v); err != nil {
			t.Fatal(err)
		}
		for _, statement := range oldLedger(t, v) {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
	}
	if _, err := db.ExecContext(t.Context(), `VACUUM`); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	_, err = w.Write(content)
	if err = errors.Join(err, w.Close(), os.MkdirAll("testdata", 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(schemaFile(version), packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// unpack writes the ledger of a schema into a data folder.
func unpack(t *testing.T, version int64, dir string) {
	t.Helper()
	f, err := os.Open(schemaFile(version))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ledger.db"), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// toPostgres moves an SQLite ledger of an old schema to a database of the same schema.
// It is migrated there when it is opened.
func toPostgres(ctx context.Context, t *testing.T, dir, database string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "ledger.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c := &copied{}
	s, err := ledger.SnapshotOf(ctx, db, func(table int, values []any) error {
		for len(c.rows) <= table {
			c.rows = append(c.rows, nil)
		}
		c.rows[table] = append(c.rows[table], values)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	to, err := ledger.NewCopy(ctx, ledger.Location{Dir: t.TempDir(), DatabaseURL: database}, s)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Remove()
	for table, rows := range c.rows {
		for _, values := range rows {
			if err := to.Add(ctx, table, values); err != nil {
				t.Fatal(err)
			}
		}
	}
	l, err := to.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := to.Publish(ctx); err != nil {
		t.Fatal(err)
	}
}

// A ledger of each schema opens, is brought up to date, and adds up: what it had placed
// is known, what was on its way is uncertain and not sent again, and what was ready is
// placed once.
//
//nolint:gocognit // one ledger of each schema, told in its order
func TestLedgersOfReleasedSchemas(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a long test in short mode")
	}
	for _, version := range releasedSchemas {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			if _, err := os.Stat(schemaFile(version)); err != nil && *addSchemas {
				makeSchema(t, version)
			}
			ledgertest.OnBothEmpty(t, func(t *testing.T, database string) {
				s := &store{T: t, config: ledger.Config{Dir: t.TempDir(), DatabaseURL: database}}
				if database == "" {
					unpack(t, version, s.config.Dir)
				} else {
					old := t.TempDir()
					unpack(t, version, old)
					toPostgres(t.Context(), t, old, database)
				}
				l := s.open()
				s.must(l.Audit(t.Context()))
				rows := s.rows(l, "old")
				if len(rows) != 5 {
					t.Fatalf("%d rows", len(rows))
				}
				if n := s.sweep(l); n != 1 {
					t.Errorf("%d orphans", n)
				}
				for _, r := range rows {
					switch r.Number {
					case oldPlaced:
						if r = s.want(l, r, filing.Placed, 0); len(r.Items) != 1 || r.Items[0].OrderID != "order_1" {
							t.Errorf("%+v", r.Items)
						}
					case oldReady:
						s.want(l, r, filing.Ready, 0)
						s.place(l, r)
					case oldUncertain, oldPlacing:
						s.want(l, r, filing.Uncertain, cost)
					case oldRejected:
						s.want(l, r, filing.Rejected, 0)
					}
				}
				// What it has bought, or may have bought, is not bought again.
				again := s.add(l, "new", oldRow(oldPlaced), oldRow(oldUncertain), oldRow(oldPlacing))
				for _, r := range again {
					if begun := s.begin(l, intent(r)); begun.Try != 0 || len(begun.Taken) != 1 {
						t.Errorf("row %d is sent again: %+v", r.Number, begun)
					}
				}
				if balance := s.book(l); balance.Posted != 2*cost || balance.Reserved != 2*cost {
					t.Errorf("%+v", balance)
				}
				s.must(l.Audit(t.Context()))
			})
		})
	}
}
