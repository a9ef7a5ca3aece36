package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pressly/goose/v3"
)

// dialect is all that differs between the two databases.
type dialect struct {
	goose      goose.Dialect
	migrations string
	like       string // LIKE without regard to case
	forUpdate  string // locks the control row; SQLite's writers lock the whole file
	server     string // which start of the database server this is, and which database
	together   bool   // a group of records travels in one statement
}

// Every statement over a group of records is written once, over a table v of them:
// with {{v}} where v alone is read from, and with {{v,}} before further tables.
// PostgreSQL is a network away, so it gets the records all at once, as one array per
// column. SQLite is in the process and gets them one by one through a prepared
// statement whose arguments stand where the columns of v do: to unpack an array
// takes several times as long there, and so does an UPDATE from a table.
var (
	sqlite   = dialect{goose: goose.DialectSQLite3, migrations: "migrations/sqlite", like: "LIKE", server: "''"}
	postgres = dialect{
		goose:      goose.DialectPostgres,
		migrations: "migrations/postgres",
		like:       "ILIKE",
		forUpdate:  " FOR UPDATE",
		together:   true,
		server: `CAST(pg_postmaster_start_time() AS TEXT) || ' ' || (SELECT oid FROM pg_database
				WHERE datname = current_database())`,
	}
)

// expand puts v into a query, its arguments numbered from beyond those before.
func (d dialect) expand(query string, r record, before int) string {
	if !d.together {
		text, ok := boundTexts.Load(query)
		if !ok {
			text, _ = boundTexts.LoadOrStore(query, bindColumns(query, r))
		}
		return text.(string)
	}
	var v strings.Builder
	for i, f := range r {
		if i > 0 {
			v.WriteString(", ")
		}
		fmt.Fprintf(&v, "$%d::%s[]", before+i+1, f.sqlType())
	}
	table := " FROM unnest(" + v.String() + ") AS v(" + r.names("") + ")"
	return strings.NewReplacer("{{v}}", table+" ", "{{v,}}", table+", ").Replace(query)
}

// boundTexts are SQLite's texts of the queries, which are few, by the query.
var boundTexts sync.Map

var columnOfV = regexp.MustCompile(`\bv\.\w+`)

// bindColumns puts the argument of each field in the place of its column of v, behind
// a plus that does nothing: where an index has a WHERE of its own, SQLite would compare
// it with the argument's value, and parse the statement anew for each value.
func bindColumns(query string, r record) string {
	query = strings.NewReplacer("{{v}}", "", "{{v,}}", "FROM").Replace(query)
	return columnOfV.ReplaceAllStringFunc(query, func(column string) string {
		i := slices.IndexFunc(r, func(f field) bool { return "v."+f.name == column })
		return "+$" + strconv.Itoa(i+1) // $0 fails, for a column that no field has
	})
}

// statements are SQLite's prepared ones, by their text. One is prepared on its
// second use: the first is within a transaction, which has the only connection.
type statements struct {
	mu     sync.Mutex
	ready  map[string]*sql.Stmt // of the writing connection
	wanted []string
	reads  map[string]*sql.Stmt // of the reading connections
}

// use returns the statement for a transaction.
func (s *statements) use(ctx context.Context, tx *sql.Tx, query string) (*sql.Stmt, error) {
	s.mu.Lock()
	stmt, ok := s.ready[query]
	if !ok && !slices.Contains(s.wanted, query) {
		s.wanted = append(s.wanted, query)
	}
	s.mu.Unlock()
	if ok {
		return tx.StmtContext(ctx, stmt), nil
	}
	return tx.PrepareContext(ctx, query)
}

// reading returns the statement for a query outside a transaction.
func (s *statements) reading(ctx context.Context, db *sql.DB, query string) (*sql.Stmt, error) {
	s.mu.Lock()
	stmt, ok := s.reads[query]
	s.mu.Unlock()
	if ok {
		return stmt, nil
	}
	stmt, err := db.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, ok := s.reads[query]; ok {
		_ = stmt.Close()
		return first, nil
	}
	s.reads[query] = stmt
	return stmt, nil
}

// readPrepared reads with a query whose text is one of few: SQLite parses it once for
// each connection. PostgreSQL's driver does that for all.
func (db *database) readPrepared(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if db.dialect.together {
		return db.read.QueryContext(ctx, query, args...)
	}
	stmt, err := db.statements.reading(ctx, db.read, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

// forget drops the statements of connections that are closed.
func (s *statements) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stmt := range s.ready {
		_ = stmt.Close()
	}
	clear(s.ready)
	s.wanted = nil
}

// prepare makes what was wanted lately, between transactions.
func (s *statements) prepare(ctx context.Context, db *sql.DB) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, query := range s.wanted {
		if stmt, err := db.PrepareContext(ctx, query); err == nil {
			s.ready[query] = stmt
		}
	}
	s.wanted = nil
}

// queryRow reads one row within a transaction, with a query whose text is one of few:
// SQLite parses it once.
func (db *database) queryRow(ctx context.Context, tx *sql.Tx, query string, args ...any) *sql.Row {
	if !db.dialect.together {
		if stmt, err := db.statements.use(ctx, tx, query); err == nil {
			return stmt.QueryRowContext(ctx, args...)
		}
	}
	return tx.QueryRowContext(ctx, query, args...)
}

// execOne runs a statement within a transaction, as queryRow does.
func (db *database) execOne(ctx context.Context, tx *sql.Tx, query string, args ...any) error {
	if !db.dialect.together {
		if stmt, err := db.statements.use(ctx, tx, query); err == nil {
			_, err = stmt.ExecContext(ctx, args...)
			return err
		}
	}
	_, err := tx.ExecContext(ctx, query, args...)
	return err
}

// exec runs a statement over records within a transaction.
func (db *database) exec(ctx context.Context, tx *sql.Tx, query string, records []record) error {
	if len(records) == 0 {
		return nil
	}
	query = db.dialect.expand(query, records[0], 0)
	if db.dialect.together {
		args, err := arrays(records)
		if err == nil {
			_, err = tx.ExecContext(ctx, query, args...)
		}
		return err
	}
	stmt, err := db.statements.use(ctx, tx, query)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // the driver would start a goroutine for each record; the group ends soon
	args := make([]any, 0, len(records[0]))
	for _, r := range records {
		args = r.appendValues(args[:0])
		if _, err := stmt.ExecContext(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// query reads with a statement over records within a transaction.
func (db *database) query(ctx context.Context, tx *sql.Tx, query string, records []record,
	do func(scan func(...any) error) error) error {
	if len(records) == 0 {
		return nil
	}
	query = db.dialect.expand(query, records[0], 0)
	if db.dialect.together {
		args, err := arrays(records)
		if err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, query, args...)
		return each(rows, err, do)
	}
	stmt, err := db.statements.use(ctx, tx, query)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // as exec does
	args := make([]any, 0, len(records[0]))
	for _, r := range records {
		args = r.appendValues(args[:0])
		rows, err := stmt.QueryContext(ctx, args...)
		if err := each(rows, err, do); err != nil {
			return err
		}
	}
	return nil
}

// statement is a query over records.
type statement struct {
	what, query string
	records     []record
}

// execAll runs statements, of which none may need what another one writes, nor
// write what another one does. PostgreSQL gets them as one: what a statement
// costs there is mostly the way to it.
func (db *database) execAll(ctx context.Context, tx *sql.Tx, all ...statement) error {
	all = slices.DeleteFunc(all, func(s statement) bool { return len(s.records) == 0 })
	if !db.dialect.together || len(all) < 2 {
		for _, s := range all {
			if err := db.exec(ctx, tx, s.query, s.records); err != nil {
				return fmt.Errorf("%s: %w", s.what, err)
			}
		}
		return nil
	}
	var query strings.Builder
	var args []any
	whats := make([]string, len(all))
	for i, s := range all {
		fmt.Fprintf(&query, "%s s%d AS (%s)", [...]string{"WITH", ","}[min(i, 1)], i,
			db.dialect.expand(s.query, s.records[0], len(args)))
		values, err := arrays(s.records)
		if err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
		args = append(args, values...)
		whats[i] = s.what
	}
	query.WriteString(" SELECT")
	if _, err := tx.ExecContext(ctx, query.String(), args...); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(whats, ", "), err)
	}
	return nil
}

// queryAll reads with statements whose answers have the same shape; PostgreSQL
// gets them as one.
func (db *database) queryAll(ctx context.Context, tx *sql.Tx, do func(scan func(...any) error) error,
	all ...statement) error {
	all = slices.DeleteFunc(all, func(s statement) bool { return len(s.records) == 0 })
	if !db.dialect.together || len(all) < 2 {
		for _, s := range all {
			if err := db.query(ctx, tx, s.query, s.records, do); err != nil {
				return fmt.Errorf("%s: %w", s.what, err)
			}
		}
		return nil
	}
	var args []any
	parts, whats := make([]string, len(all)), make([]string, len(all))
	for i, s := range all {
		parts[i] = db.dialect.expand(s.query, s.records[0], len(args))
		values, err := arrays(s.records)
		if err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
		args = append(args, values...)
		whats[i] = s.what
	}
	rows, err := tx.QueryContext(ctx, strings.Join(parts, " UNION ALL "), args...)
	if err := each(rows, err, do); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(whats, ", "), err)
	}
	return nil
}
