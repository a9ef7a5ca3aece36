package ledger_test

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
)

// The two databases have the same tables, columns, indexes and not-null rules:
// whatever runs on one runs on the other.
func TestSameTablesInBothDatabases(t *testing.T) {
	server := ledgertest.Server(t)
	lite := tableShapes(t, ledger.Config{}, "sqlite", "",
		`SELECT m.name, c.name, CASE WHEN c.type = 'TEXT' THEN 'text' ELSE 'number' END || CASE WHEN c."notnull" = 1
			OR c.pk > 0 THEN ' not null' ELSE '' END
			FROM sqlite_master m, pragma_table_info(m.name) c
			WHERE m.type = 'table' AND m.name NOT LIKE 'goose%' AND m.name NOT LIKE 'sqlite%'`,
		`SELECT tbl_name, name, 'index'
			FROM sqlite_master
			WHERE type = 'index' AND sql IS NOT NULL AND tbl_name NOT LIKE 'goose%'`)
	url := ledgertest.Schema(t, server)
	post := tableShapes(t, ledger.Config{DatabaseURL: url}, "pgx", url,
		`SELECT table_name, column_name, CASE WHEN data_type = 'text' THEN 'text' ELSE 'number' END || CASE
				WHEN is_nullable = 'NO' THEN ' not null' ELSE '' END
			FROM information_schema.columns
			WHERE table_schema = current_schema() AND table_name NOT LIKE 'goose%'
				AND table_name IN (SELECT tablename FROM pg_tables)`,
		`SELECT tablename, indexname, 'index'
			FROM pg_indexes
			WHERE schemaname = current_schema() AND tablename NOT LIKE 'goose%' AND indexname NOT LIKE '%_pkey'`)
	if !slices.Equal(lite, post) {
		t.Errorf("they differ\nSQLite     %s\nPostgreSQL %s", strings.Join(lite, "\n           "),
			strings.Join(post, "\n           "))
	}
	if len(lite) < 80 {
		t.Errorf("only %d lines were compared", len(lite))
	}
}

// tableShapes lists the columns and indexes of a new ledger, by queries that return a
// table, a name and a kind.
func tableShapes(t *testing.T, c ledger.Config, driver, name, columns, indexes string) (lines []string) {
	c.Dir = t.TempDir()
	l, err := ledger.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if name == "" {
		name = "file:" + c.Dir + "/ledger.db"
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, query := range []string{columns, indexes} {
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var table, column, kind string
			if err := rows.Scan(&table, &column, &kind); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, strings.ToLower(table+" "+column+" "+kind))
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
	slices.Sort(lines)
	return lines
}
