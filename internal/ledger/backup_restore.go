package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/folder"
)

// A backup is read into a ledger of its own beside the one that it is to replace: a
// folder for SQLite, a schema for PostgreSQL. Only when all of it is there, is up to
// date, and is proven, does it take the place of the other one, at once. Until then
// nothing of the other one is changed.

// ErrInUse is returned for a ledger that a living process has open.
var ErrInUse = errors.New("the ledger is in use")

// ErrSnapshot is returned for a copy that is not a ledger of its schema.
var ErrSnapshot = errors.New("the copy is not a complete ledger")

// Location is where a ledger is, or is to be.
type Location struct {
	Dir         string // its data folder
	DatabaseURL string // empty for SQLite in Dir
	SealKey     string // as in Config
}

// Copy is a ledger that is being made from a snapshot.
type Copy struct {
	place    Location // where the copy is
	at       Location // what it may replace
	schema   string
	dialect  dialect
	server   *sql.DB // of the ledger's database; nil for SQLite
	db       *sql.DB // of the copy
	snapshot *Snapshot
	kinds    [][]string // of the columns of each table
	tx       *sql.Tx
	inserts  []*sql.Stmt
	waiting  [][]any // rows of one table for PostgreSQL
	table    int
	Keys     string // sealing keys that came with the copy
}

// copyRows is how many rows PostgreSQL gets at once.
const copyRows = 500

// NewCopy prepares a copy beside a place. It returns ErrNewer for a snapshot with
// tables that this program does not know. Remove it, whether or not it is published.
func NewCopy(ctx context.Context, at Location, s *Snapshot) (c *Copy, err error) {
	c = &Copy{at: at, snapshot: s, dialect: sqlite, table: -1}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Remove())
		}
	}()
	if err := os.MkdirAll(at.Dir, 0o700); err != nil {
		return c, fmt.Errorf("create the data folder: %w", err)
	}
	if c.place.Dir, err = os.MkdirTemp(at.Dir, "restore-"); err != nil {
		return c, fmt.Errorf("create a folder for the copy: %w", err)
	}
	if at.DatabaseURL == "" {
		// It is synced as a whole before it is used.
		c.db, err = sql.Open("sqlite", "file:"+(&url.URL{Path: c.file()}).EscapedPath()+
			"?_pragma=journal_mode(MEMORY)&_pragma=synchronous(OFF)&_pragma=foreign_keys(0)")
		if err != nil {
			return c, fmt.Errorf("create the copy: %w", err)
		}
		c.db.SetMaxOpenConns(1)
	} else if err := c.openSchema(ctx); err != nil {
		return c, err
	}
	if err := c.prepare(ctx); err != nil {
		return c, err
	}
	return c, nil
}

// file is the SQLite file of the copy.
func (c *Copy) file() string { return filepath.Join(c.place.Dir, "ledger.db") }

// openSchema makes a schema for the copy.
func (c *Copy) openSchema(ctx context.Context) (err error) {
	c.dialect = postgres
	u, err := url.Parse(c.at.DatabaseURL)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return errNotPostgres
	}
	if c.server, err = openPatient(c.at.DatabaseURL); err != nil {
		return err
	}
	schema := "restore_" + strings.ToLower(rand.Text()[:12])
	if _, err := c.server.ExecContext(ctx, `CREATE SCHEMA `+schema); err != nil {
		return fmt.Errorf("create a schema for the copy (the database user needs CREATE on the database): %w", err)
	}
	c.schema = schema
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	c.place.DatabaseURL = u.String()
	c.db, err = openPatient(c.place.DatabaseURL)
	return err
}

// openPatient opens a database for statements that may take long.
func openPatient(databaseURL string) (*sql.DB, error) {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, errNotPostgres
	}
	hardenTLS(config)
	return stdlib.OpenDB(*config), nil
}

// prepare makes the tables of the snapshot, empty, as the migrations made them that
// the snapshot went through.
func (c *Copy) prepare(ctx context.Context) error {
	provider, err := c.dialect.provider(c.db)
	if err != nil {
		return err
	}
	var known []int64
	for _, s := range provider.ListSources() {
		known = append(known, s.Version)
	}
	for _, version := range c.snapshot.Migrations {
		if !slices.Contains(known, version) {
			return newer(version, slices.Max(known), c.snapshot.WrittenBy)
		}
	}
	for _, version := range slices.Sorted(slices.Values(c.snapshot.Migrations)) {
		if _, err := provider.ApplyVersion(ctx, version, true); err != nil {
			return fmt.Errorf("prepare the tables of the copy: %w", err)
		}
	}
	tables, err := c.dialect.listTables(ctx, c.db)
	if err != nil {
		return fmt.Errorf("prepare the tables of the copy: %w", err)
	}
	if len(tables) != len(c.snapshot.Tables) {
		return fmt.Errorf("%w: it has %d tables, and schema %d has %d", ErrSnapshot, len(c.snapshot.Tables),
			c.snapshot.Schema(), len(tables))
	}
	for _, t := range slices.Backward(tables) {
		if _, err := c.db.ExecContext(ctx, `DELETE FROM `+t.Name); err != nil {
			return fmt.Errorf("prepare table %s of the copy: %w", t.Name, err)
		}
	}
	for _, t := range c.snapshot.Tables {
		kinds, err := c.kindsOf(ctx, t, tables)
		if err != nil {
			return err
		}
		c.kinds = append(c.kinds, kinds)
	}
	if !c.dialect.together {
		return c.prepareInserts(ctx)
	}
	return nil
}

// kindsOf returns the kinds of a table's columns, in the order of the snapshot.
func (c *Copy) kindsOf(ctx context.Context, t SnapshotTable, tables []SnapshotTable) ([]string, error) {
	if !slices.ContainsFunc(tables, func(o SnapshotTable) bool { return o.Name == t.Name }) {
		return nil, fmt.Errorf("%w: schema %d has no table %q", ErrSnapshot, c.snapshot.Schema(), t.Name)
	}
	columns, err := pairs(ctx, c.db, c.dialect.catalog().columns, t.Name)
	if err != nil {
		return nil, fmt.Errorf("read the columns of the copy: %w", err)
	}
	var kinds []string
	for _, name := range t.Columns {
		i := slices.IndexFunc(columns, func(column [2]string) bool { return column[0] == name })
		if i < 0 {
			return nil, fmt.Errorf("%w: table %s of schema %d has no column %q", ErrSnapshot, t.Name,
				c.snapshot.Schema(), name)
		}
		kinds = append(kinds, strings.ToLower(columns[i][1]))
	}
	if len(kinds) != len(columns) {
		return nil, fmt.Errorf("%w: table %s has %d columns, and schema %d has %d", ErrSnapshot, t.Name, len(kinds),
			c.snapshot.Schema(), len(columns))
	}
	return kinds, nil
}

func (c *Copy) prepareInserts(ctx context.Context) (err error) {
	if c.tx, err = c.db.BeginTx(ctx, nil); err != nil {
		return fmt.Errorf("write the copy: %w", err)
	}
	for _, t := range c.snapshot.Tables {
		places := "?" + strings.Repeat(",?", len(t.Columns)-1)
		stmt, err := c.tx.PrepareContext(ctx,
			`INSERT INTO `+t.Name+` (`+quoteAll(t.Columns)+`) VALUES (`+places+`)`)
		if err != nil {
			return fmt.Errorf("write table %s of the copy: %w", t.Name, err)
		}
		c.inserts = append(c.inserts, stmt)
	}
	return nil
}

// Add adds a row. The rows come table by table, in the order of the snapshot.
func (c *Copy) Add(ctx context.Context, table int, values []any) error {
	t := c.snapshot.Tables[table]
	if len(values) != len(t.Columns) {
		return fmt.Errorf("%w: a row of table %s has %d values", ErrSnapshot, t.Name, len(values))
	}
	for i, kind := range c.kinds[table] {
		values[i] = inKind(kind, values[i])
	}
	if !c.dialect.together {
		if _, err := c.inserts[table].ExecContext(ctx, values...); err != nil {
			return fmt.Errorf("write table %s of the copy: %w", t.Name, err)
		}
		return nil
	}
	if table != c.table {
		if err := c.send(ctx); err != nil {
			return err
		}
		c.table = table
	}
	if c.waiting = append(c.waiting, values); len(c.waiting) == copyRows {
		return c.send(ctx)
	}
	return nil
}

// inKind is a value as a column takes it: the databases differ in what of text is
// bytes.
func inKind(kind string, v any) any {
	blob := kind == "blob" || kind == "bytea"
	switch w := v.(type) {
	case []byte:
		if !blob {
			return string(w)
		}
	case string:
		if blob {
			return []byte(w)
		}
	}
	return v
}

// send writes the waiting rows to PostgreSQL.
func (c *Copy) send(ctx context.Context) error {
	if len(c.waiting) == 0 {
		return nil
	}
	t := c.snapshot.Tables[c.table]
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("write table %s of the copy: %w", t.Name, err)
	}
	defer conn.Close()
	err = conn.Raw(func(driver any) error {
		_, err := driver.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{t.Name}, t.Columns,
			pgx.CopyFromRows(c.waiting))
		return err
	})
	c.waiting = nil
	return wrap("write table "+t.Name+" of the copy", err)
}

// Finish ends the writing of rows, brings the copy up to date and opens it. Close the
// ledger before the copy is published. It has the keys of its place, and those that
// came with the copy.
func (c *Copy) Finish(ctx context.Context) (*Ledger, error) {
	if err := c.finishRows(ctx); err != nil {
		return nil, err
	}
	keys, err := c.at.keys()
	if err != nil {
		return nil, err
	}
	if keys = strings.TrimSpace(keys + "\n" + c.Keys); keys == "" {
		keys = newKey() // nothing is sealed with it: it must not be made beside the copy
	}
	l, err := Open(ctx, Config{Dir: c.place.Dir, DatabaseURL: c.place.DatabaseURL, SealKey: keys})
	if err != nil {
		return nil, fmt.Errorf("open the copy: %w", err)
	}
	return l, nil
}

// keys are the sealing keys of a place; "" where there are none.
func (p Location) keys() (string, error) {
	if p.SealKey != "" {
		return p.SealKey, nil
	}
	text, err := readKey(filepath.Join(p.Dir, sealKeyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return text, err
}

// finishRows checks what the rows refer to, and lets new rows count on from them.
func (c *Copy) finishRows(ctx context.Context) error {
	if c.dialect.together {
		if err := c.send(ctx); err != nil {
			return err
		}
		return c.setSequences(ctx)
	}
	if err := c.tx.Commit(); err != nil {
		return fmt.Errorf("write the copy: %w", err)
	}
	c.tx = nil
	broken, err := pairs(ctx, c.db, `SELECT "table", parent FROM pragma_foreign_key_check LIMIT 1`)
	if err != nil {
		return fmt.Errorf("check the copy: %w", err)
	}
	if len(broken) > 0 {
		return fmt.Errorf("%w: a row of table %s refers to one of %s that is missing", ErrSnapshot, broken[0][0],
			broken[0][1])
	}
	err = c.db.Close()
	c.db = nil
	return err
}

// setSequences sets PostgreSQL's counters to the highest numbers that were copied.
func (c *Copy) setSequences(ctx context.Context) error {
	counted, err := pairs(ctx, c.db, `SELECT table_name, column_name FROM information_schema.columns
		WHERE table_schema = current_schema() AND is_identity = 'YES' AND table_name NOT LIKE 'goose%'`)
	if err != nil {
		return fmt.Errorf("read the counters of the copy: %w", err)
	}
	for _, t := range counted {
		_, err := c.db.ExecContext(ctx, fmt.Sprintf(`SELECT setval(pg_get_serial_sequence('%[3]s.%[1]s', '%[2]s'),
			COALESCE(MAX(%[2]s), 1), MAX(%[2]s) IS NOT NULL) FROM %[1]s`, t[0], t[1], c.schema))
		if err != nil {
			return fmt.Errorf("set the counter of table %s: %w", t[0], err)
		}
	}
	return nil
}

// HaltRestored makes a copy safe before it is published. It begins a new generation
// in which nothing is sent, rows whose answer was awaited become uncertain, every other
// row is held until it is checked, and schedules are paused. It notes in r what it did.
func (l *Ledger) HaltRestored(ctx context.Context, s *Snapshot, r *Restore) error {
	note := fmt.Sprintf("it was restored from a backup of %s", s.At.UTC().Format("2006-01-02 15:04 MST"))
	r.BackupAt = s.At
	audited := WithAudit(ctx, AuditEvent{
		By:   r.By,
		From: r.Host,
		What: "restore",
		Note: fmt.Sprintf("%s, a backup of %s", filepath.Base(r.File), s.At.UTC().Format("2006-01-02 15:04 MST")),
	})
	if err := l.change(audited, func(tx *sql.Tx, c *control) error {
		c.haltRestored(note)
		r.Generation = strings.ToLower(rand.Text()[:12])
		l.generation = r.Generation
		if _, err := tx.ExecContext(ctx, `UPDATE control SET generation = $1, restored_lineage = $2, backup_at = $3,
				restored_rows = (SELECT COALESCE(MAX(id), 0) FROM rows)`,
			l.generation, s.Lineage, toMillis(s.At)); err != nil {
			return err
		}
		found, err := tx.QueryContext(ctx, `SELECT name FROM seasons WHERE paused = 0 ORDER BY name`)
		if r.Schedules, err = collect(found, err, scanOne[string]); err != nil {
			return err
		}
		if _, err = tx.ExecContext(ctx, `UPDATE seasons SET paused = 1`); err != nil {
			return err
		}
		return r.record(ctx, tx, c.now)
	}); err != nil {
		return fmt.Errorf("halt the restored ledger: %w", err)
	}
	var placing []Row
	for row, err := range l.rows(ctx, `r.result = 'placing' ORDER BY r.id`) {
		if err != nil {
			return err
		}
		placing = append(placing, row)
	}
	for _, row := range placing {
		err := l.RecordOutcome(ctx, Outcome{
			Row:     row.ID,
			Try:     row.Tries,
			Owner:   row.Owner,
			Creates: row.Creating,
			Answer: filing.Answer{
				Kind:    filing.NoAnswer,
				Message: "the backup was made before the answer",
			},
			Message: "was being sent when the backup was made. Check the company's dashboard, then resolve the row " +
				"(importer resolve, or Uncertain on the page); it is not sent again automatically",
		})
		if err != nil {
			return fmt.Errorf("mark row %d of batch %s as uncertain: %w", row.Number, row.Batch, err)
		}
	}
	r.Uncertain = len(placing)
	return nil
}

// Publish puts the copy in the place of the ledger. It returns where the ledger is
// kept that was there; "" where there was none. It returns ErrInUse while a process
// has that one open.
func (c *Copy) Publish(ctx context.Context) (kept string, err error) {
	if err := os.MkdirAll(filepath.Join(c.at.Dir, "locks"), 0o700); err != nil {
		return "", fmt.Errorf("create the data folder: %w", err)
	}
	guard := flock.New(filepath.Join(c.at.Dir, "locks", "migrate"))
	if _, err := guard.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return "", fmt.Errorf("wait for another process to prepare the ledger: %w", err)
	}
	defer guard.Unlock()
	if c.dialect.together {
		return c.publishSchema(ctx)
	}
	return c.publishFile(ctx)
}

// keptName is the name of what a restore replaces.
func keptName() string {
	return "before_restore_" + strings.ReplaceAll(time.Now().UTC().Format("20060102_150405.000"), ".", "_")
}

// publishFile replaces the SQLite file.
func (c *Copy) publishFile(ctx context.Context) (kept string, err error) {
	if err := CheckUnused(ctx, c.at); err != nil {
		return "", err
	}
	path := filepath.Join(c.at.Dir, "ledger.db")
	if err := syncFile(c.file()); err != nil {
		return "", fmt.Errorf("write the copy: %w", err)
	}
	if _, err := os.Stat(path); err == nil {
		kept = filepath.Join(c.at.Dir, keptName())
		if err := keepFiles(ctx, c.at.Dir, kept); err != nil {
			return "", errors.Join(fmt.Errorf("keep the ledger that is there: %w", err), os.RemoveAll(kept))
		}
	}
	if err := c.mergeKeys(); err != nil {
		return "", errors.Join(err, os.RemoveAll(kept))
	}
	// From here on another ledger is there, and no file of the former one is beside it.
	for _, beside := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("remove the log of the ledger that was there: %w", err)
		}
	}
	if err := os.Rename(c.file(), path); err != nil {
		return "", fmt.Errorf("put the copy in the place of the ledger: %w", err)
	}
	return kept, folder.Sync(c.at.Dir)
}

// keepFiles copies the files of a ledger to a new folder. Its log is written into the
// file first, where the file is not damaged.
func keepFiles(ctx context.Context, dir, kept string) error {
	if err := os.Mkdir(kept, 0o700); err != nil {
		return err
	}
	path := filepath.Join(dir, "ledger.db")
	if db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()); err == nil {
		_, _ = db.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`) // a damaged one is kept as it is
		_ = db.Close()
	}
	for _, name := range []string{"ledger.db", "ledger.db-wal", "ledger.db-shm", sealKeyFile, commitsFile} {
		err := copyFile(filepath.Join(dir, name), filepath.Join(kept, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return folder.Sync(kept)
}

// copyFile copies a file, for its owner alone, and syncs it.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// mergeKeys adds the keys that came with the copy behind those of the key file.
func (c *Copy) mergeKeys() error {
	if c.Keys == "" || c.at.SealKey != "" {
		return nil
	}
	text, err := c.at.keys()
	if err != nil {
		return err
	}
	keys := strings.Fields(text)
	for _, k := range strings.Fields(strings.ReplaceAll(c.Keys, ",", " ")) {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	if slices.Equal(keys, strings.Fields(text)) {
		return nil
	}
	path := filepath.Join(c.at.Dir, sealKeyFile)
	return wrap("write the sealing keys", writeKeys(path, strings.Join(keys, "\n")+"\n",
		func(fresh string) error { return os.Rename(fresh, path) }))
}

// publishSchema moves the tables of the ledger to a schema of their own and those of
// the copy to their place, in one transaction.
func (c *Copy) publishSchema(ctx context.Context) (kept string, err error) {
	names, err := c.dialect.tableNames()
	if err != nil {
		return "", err
	}
	names = append(names, versions)
	tx, err := c.server.BeginTx(ctx, nil)
	if err != nil {
		return "", fmt.Errorf("replace the ledger: %w", err)
	}
	defer tx.Rollback()
	var schema string
	if err := tx.QueryRowContext(ctx, `SELECT current_schema()`).Scan(&schema); err != nil {
		return "", fmt.Errorf("replace the ledger: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `SELECT set_config('lock_timeout', '30s', true),
			pg_advisory_xact_lock($1)`, int64(migrationLockID)); err != nil {
		return "", fmt.Errorf("wait for another process to prepare the ledger: %w", err)
	}
	there, err := tablesIn(ctx, tx, schema, names)
	if err != nil {
		return "", err
	}
	if len(there) > 0 {
		if _, err := tx.ExecContext(ctx, `LOCK TABLE `+quoteAll(there)+` IN ACCESS EXCLUSIVE MODE`); err != nil {
			return "", fmt.Errorf("lock the ledger that is there: %w", err)
		}
		if err := checkUnusedDatabase(ctx, tx, there); err != nil {
			return "", err
		}
		kept = keptName()
		if err := moveTables(ctx, tx, there, schema, kept, true); err != nil {
			return "", fmt.Errorf("keep the ledger that is there: %w", err)
		}
	}
	fresh, err := tablesIn(ctx, tx, c.schema, names)
	if err != nil {
		return "", err
	}
	if err := moveTables(ctx, tx, fresh, c.schema, schema, false); err != nil {
		return "", fmt.Errorf("put the copy in the place of the ledger: %w", err)
	}
	if err := c.mergeKeys(); err != nil {
		return "", err
	}
	if err := tx.Commit(); err != nil {
		return "", fmt.Errorf("replace the ledger: %w", err)
	}
	if kept != "" {
		kept = "the schema " + kept
	}
	return kept, nil
}

// tablesIn lists which of the names are tables of a schema.
func tablesIn(ctx context.Context, tx *sql.Tx, schema string, names []string) ([]string, error) {
	found, err := pairs(ctx, tx, `SELECT tablename, schemaname FROM pg_tables WHERE schemaname = $1`, schema)
	if err != nil {
		return nil, fmt.Errorf("list the tables of schema %s: %w", schema, err)
	}
	var tables []string
	for _, f := range found {
		if slices.Contains(names, f[0]) {
			tables = append(tables, f[0])
		}
	}
	return tables, nil
}

func moveTables(ctx context.Context, tx *sql.Tx, tables []string, from, to string, create bool) error {
	quote := func(name string) string { return pgx.Identifier{name}.Sanitize() }
	if create {
		if _, err := tx.ExecContext(ctx, `CREATE SCHEMA `+quote(to)); err != nil {
			return err
		}
	}
	for _, name := range tables {
		_, err := tx.ExecContext(ctx, `ALTER TABLE `+quote(from)+`.`+quote(name)+` SET SCHEMA `+quote(to))
		if err != nil {
			return err
		}
	}
	return nil
}

// CheckUnused returns ErrInUse if a living process has the ledger at a place open.
func CheckUnused(ctx context.Context, p Location) error {
	if p.DatabaseURL != "" {
		db, err := openPatient(p.DatabaseURL)
		if err != nil {
			return err
		}
		defer db.Close()
		tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return fmt.Errorf("read the ledger that is there: %w", err)
		}
		defer tx.Rollback()
		var schema string
		if err := tx.QueryRowContext(ctx, `SELECT current_schema()`).Scan(&schema); err != nil {
			return fmt.Errorf("read the ledger that is there: %w", err)
		}
		there, err := tablesIn(ctx, tx, schema, []string{"owners"})
		if err != nil {
			return err
		}
		return checkUnusedDatabase(ctx, tx, there)
	}
	entries, err := os.ReadDir(filepath.Join(p.Dir, "locks"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read which processes have the ledger open: %w", err)
	}
	living := 0
	for _, e := range entries {
		if len(e.Name()) != len(rand.Text()[:12]) {
			continue // a lock for a moment
		}
		probe := flock.New(filepath.Join(p.Dir, "locks", e.Name()))
		if free, err := probe.TryLock(); err != nil || !free {
			living++
			continue
		}
		_ = probe.Unlock()
	}
	if living > 0 {
		return inUse(living, "")
	}
	return nil
}

func inUse(n int, which string) error {
	return fmt.Errorf("%w by %d running process(es)%s: stop every worker, serve and run, then restore", ErrInUse, n,
		which)
}

// checkUnusedDatabase is CheckUnused for the tables of a PostgreSQL ledger.
func checkUnusedDatabase(ctx context.Context, tx *sql.Tx, tables []string) error {
	if !slices.Contains(tables, "owners") {
		return nil
	}
	living, err := pairs(ctx, tx, `SELECT host, CAST(pid AS TEXT) FROM owners
		WHERE expires_at > CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) ORDER BY host, pid`)
	if err != nil {
		return fmt.Errorf("read which processes have the ledger open: %w", err)
	}
	if len(living) == 0 {
		return nil
	}
	var which []string
	for _, p := range living {
		which = append(which, p[0]+" pid "+p[1])
	}
	return inUse(len(living), " ("+strings.Join(which, ", ")+")")
}

// Remove removes what is left of the copy.
func (c *Copy) Remove() error {
	var errs []error
	if c.tx != nil {
		_ = c.tx.Rollback()
	}
	if c.db != nil {
		errs = append(errs, c.db.Close())
	}
	if c.server != nil {
		if c.schema != "" {
			ctx, stop := context.WithTimeout(context.Background(), time.Minute)
			defer stop()
			_, err := c.server.ExecContext(ctx, `DROP SCHEMA IF EXISTS `+c.schema+` CASCADE`)
			errs = append(errs, err)
		}
		errs = append(errs, c.server.Close())
	}
	if c.place.Dir != "" {
		errs = append(errs, os.RemoveAll(c.place.Dir))
	}
	return wrap("remove what is left of the copy", errors.Join(errs...))
}

// Owner returns whose orders the ledger at a location holds: its mode and
// organizations. It is empty where there is no ledger. Nothing is changed.
func Owner(ctx context.Context, at Location) (mode string, known []Organization, err error) {
	var db *sql.DB
	there := `SELECT name, '' FROM sqlite_master WHERE name IN ('control', 'organizations')`
	if at.DatabaseURL != "" {
		there = `SELECT tablename, '' FROM pg_tables
			WHERE schemaname = current_schema() AND tablename IN ('control', 'organizations')`
		db, err = openPatient(at.DatabaseURL)
	} else {
		path := filepath.Join(at.Dir, "ledger.db")
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return "", nil, nil
		}
		db, err = sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro")
	}
	if err != nil {
		return "", nil, err
	}
	defer db.Close()
	tables, err := pairs(ctx, db, there)
	if err != nil || len(tables) < 2 {
		return "", nil, wrap("read whose ledger it is", err)
	}
	if err := db.QueryRowContext(ctx, `SELECT mode FROM control WHERE id = 1`).Scan(&mode); err != nil {
		return "", nil, fmt.Errorf("read whose ledger it is: %w", err)
	}
	known, _, err = organizations(ctx, db)
	return mode, known, wrap("read whose ledger it is", err)
}
