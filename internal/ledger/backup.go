package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Snapshot describes a consistent copy of a ledger: all of it at one commit.
type Snapshot struct {
	At            time.Time       `json:"at"`
	Database      string          `json:"database"`   // "sqlite" or "postgres"
	Migrations    []int64         `json:"migrations"` // that its tables went through
	WrittenBy     string          `json:"writtenBy,omitempty"`
	Mode          string          `json:"mode,omitempty"` // "test" or "live" once bound
	Organizations []Organization  `json:"organizations,omitempty"`
	Generation    string          `json:"generation,omitempty"`
	Lineage       string          `json:"lineage"`
	Commits       int64           `json:"commits"`
	Tables        []SnapshotTable `json:"tables"` // a table comes after those that it refers to
}

// SnapshotTable is a table of a snapshot.
type SnapshotTable struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

// Schema is the highest migration of the snapshot's tables.
func (s *Snapshot) Schema() int64 {
	if len(s.Migrations) == 0 {
		return 0
	}
	return slices.Max(s.Migrations)
}

// notCopied are the tables of running processes, of backups, and of people who are
// signed in. A session or a sign-in link that ended since the copy was made must not
// come back with it.
var notCopied = []string{"backups", "owners", "sessions", "flows", "sign_in_links", "tickets", "failures"}

// versions is the table of the migrations that were run.
const versions = "goose_db_version"

// catalog is how a database describes its tables. Each query returns pairs.
type catalog struct {
	columns    string // of a table $1: name and kind of each, in their order
	references string // between tables: which one refers to which other one
}

var (
	sqliteCatalog = catalog{
		columns: `SELECT name, type FROM pragma_table_info($1) ORDER BY cid`,
		references: `SELECT m.name, f."table" FROM sqlite_master m, pragma_foreign_key_list(m.name) f
			WHERE m.type = 'table'`,
	}
	postgresCatalog = catalog{
		columns: `SELECT column_name, data_type FROM information_schema.columns
			WHERE table_schema = current_schema() AND table_name = $1
			ORDER BY ordinal_position`,
		references: `SELECT c.relname, f.relname
			FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_class f ON f.oid = k.confrelid
			JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE k.contype = 'f' AND n.nspname = current_schema()`,
	}
)

func (d dialect) catalog() catalog {
	if d.together {
		return postgresCatalog
	}
	return sqliteCatalog
}

var createTable = regexp.MustCompile(`(?m)^CREATE TABLE (\w+)`)

// tableNames lists the tables that the migrations of this program make: a database
// server may hold tables of others beside them.
func (d dialect) tableNames() ([]string, error) {
	var names []string
	files, err := fs.Glob(Migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := fs.ReadFile(Migrations, file)
		if err != nil {
			return nil, fmt.Errorf("read the migrations: %w", err)
		}
		for _, made := range createTable.FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(names, made[1]) {
				names = append(names, made[1])
			}
		}
	}
	return names, nil
}

// pairs reads a query of the catalog.
func pairs(ctx context.Context, q querier, query string, args ...any) ([][2]string, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	return collect(rows, err, func(scan func(...any) error) (pair [2]string, err error) {
		err = scan(&pair[0], &pair[1])
		return pair, err
	})
}

// listTables lists the tables of the ledger that are copied, each after those that it
// refers to.
func (d dialect) listTables(ctx context.Context, q querier) ([]SnapshotTable, error) {
	names, err := d.tableNames()
	if err != nil {
		return nil, err
	}
	var left []SnapshotTable
	for _, name := range names {
		columns, err := pairs(ctx, q, d.catalog().columns, name)
		if err != nil {
			return nil, err
		}
		if len(columns) == 0 || slices.Contains(notCopied, name) {
			continue // a later migration has dropped it
		}
		t := SnapshotTable{Name: name}
		for _, c := range columns {
			t.Columns = append(t.Columns, c[0])
		}
		left = append(left, t)
	}
	references, err := pairs(ctx, q, d.catalog().references)
	if err != nil {
		return nil, err
	}
	var tables []SnapshotTable
	for len(left) > 0 {
		before := len(left)
		left = slices.DeleteFunc(left, func(t SnapshotTable) bool {
			waits := slices.ContainsFunc(references, func(r [2]string) bool {
				return r[0] == t.Name && r[1] != t.Name &&
					slices.ContainsFunc(left, func(o SnapshotTable) bool { return o.Name == r[1] })
			})
			if !waits {
				tables = append(tables, t)
			}
			return !waits
		})
		if len(left) == before {
			return nil, fmt.Errorf("the tables refer to one another in a circle: %s", left[0].Name)
		}
	}
	return tables, nil
}

// quoteAll quotes names for a statement.
func quoteAll(names []string) string { return `"` + strings.Join(names, `", "`) + `"` }

// Export reads the whole ledger in one transaction while others write to it. It calls
// begin once, then row for each row, table by table in the order of the snapshot. The
// values are nil, int64, string and []byte; they are row's to keep.
func (l *Ledger) Export(ctx context.Context, begin func(*Snapshot) error,
	row func(table int, values []any) error) error {
	level := sql.LevelSerializable
	if l.dialect.together {
		level = sql.LevelRepeatableRead // one snapshot, without a reason for the server to refuse it
	}
	tx, err := l.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: level})
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	defer tx.Rollback()
	if l.dialect.together {
		// It is as slow as the disk that the copy goes to.
		if _, err := tx.ExecContext(ctx, `SET LOCAL idle_in_transaction_session_timeout = 0`); err != nil {
			return fmt.Errorf("read the ledger: %w", err)
		}
	}
	s, err := l.describe(ctx, tx)
	if err != nil {
		return fmt.Errorf("describe the ledger: %w", err)
	}
	if err := begin(s); err != nil {
		return err
	}
	for i, t := range s.Tables {
		if err := exportTable(ctx, tx, t, func(values []any) error { return row(i, values) }); err != nil {
			return fmt.Errorf("copy table %s: %w", t.Name, err)
		}
	}
	return nil
}

// describe reads what a snapshot says of itself.
func (db *database) describe(ctx context.Context, tx *sql.Tx) (*Snapshot, error) {
	s := &Snapshot{Database: "sqlite"}
	if db.dialect.together {
		s.Database = "postgres"
	}
	c, err := db.readControl(ctx, readOnly{tx})
	if err != nil {
		return nil, err
	}
	if c.schema > db.schema {
		return nil, newer(c.schema, db.schema, c.writtenBy)
	}
	s.At, s.WrittenBy, s.Mode = fromMillis(c.now), c.writtenBy, c.mode
	s.Generation, s.Lineage, s.Commits = c.generation, c.lineage, c.commits
	if s.Organizations, _, err = organizations(ctx, tx); err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx,
		`SELECT version_id FROM `+versions+` WHERE version_id > 0 GROUP BY version_id ORDER BY version_id`)
	if s.Migrations, err = collect(rows, err, func(scan func(...any) error) (v int64, err error) {
		err = scan(&v)
		return v, err
	}); err != nil {
		return nil, err
	}
	s.Tables, err = db.dialect.listTables(ctx, tx)
	return s, err
}

// readOnly is a transaction in which the control row is read without a lock.
type readOnly struct{ querier }

// exportTable reads a table from its first row to its last.
func exportTable(ctx context.Context, tx *sql.Tx, t SnapshotTable, row func([]any) error) error {
	rows, err := tx.QueryContext(ctx, `SELECT `+quoteAll(t.Columns)+` FROM `+t.Name)
	return each(rows, err, func(scan func(...any) error) error {
		values, into := make([]any, len(t.Columns)), make([]any, len(t.Columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := scan(into...); err != nil {
			return err
		}
		for i, v := range values {
			switch v.(type) {
			case nil, int64, string, []byte:
			default:
				return fmt.Errorf("column %s holds a %T", t.Columns[i], v)
			}
		}
		return row(values)
	})
}

// CheckOwner reports whether a snapshot may take the place of a ledger of these
// organizations: it returns ErrMode or ErrOrganization where it may not.
func (s *Snapshot) CheckOwner(mode string, known []Organization) error {
	if s.Mode != "" && mode != "" && s.Mode != mode {
		return fmt.Errorf("%w: the backup holds %s orders and the ledger %s ones", ErrMode, s.Mode, mode)
	}
	for _, o := range s.Organizations {
		if slices.ContainsFunc(known, o.Same) {
			return nil
		}
	}
	if len(s.Organizations) > 0 && len(known) > 0 {
		return fmt.Errorf("%w: the backup holds the orders of %s, and the ledger is that of %s", ErrOrganization,
			s.Organizations[0], known[0])
	}
	return nil
}

// Text returns the keys as they stand in the key file; "" where there is none.
// ErrKeyGiven says that they come from FILING_SEAL_KEY.
func (l SealKeys) Text() (string, error) {
	if l.sealing.given != "" {
		return l.sealing.given, ErrKeyGiven
	}
	text, err := readKey(l.sealing.path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return text, err
}
