package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"
	sqlitedriver "modernc.org/sqlite"
)

// ErrNotFound is returned if the database has no such record.
var ErrNotFound = errors.New("not in the ledger")

// ErrCommit is returned if the response to a commit was lost, or if an SQLite file was replaced
// during the commit. The database may or may not have the change.
var ErrCommit = errors.New("commit a change of the ledger")

// errNotPostgres never repeats the address, because the address contains a password.
var errNotPostgres = errors.New(
	"DATABASE_URL is not the address of a PostgreSQL database: it looks like postgres://user@host/name")

// Config configures a database.
type Config struct {
	// Dir is the data folder. It has the SQLite file and the locks of live processes.
	Dir string
	// DatabaseURL is a postgres:// address. If it is empty, the database is an SQLite file in Dir.
	DatabaseURL string
	// Now is this process's clock. The default is the wall clock.
	Now func() time.Time
	// Clock replaces the database's clock in tests. The default is the database's clock.
	Clock func() time.Time
	// SealKey seals data that may contain a Social Security number. It is 64 hexadecimal digits.
	// Earlier keys follow, separated by blanks or line breaks. The default is a key file in Dir.
	SealKey string
}

// Hook takes part in a change. It may write within the change's transaction. It returns a function
// that is called when the change has ended. If it returns an error, nothing is changed.
type Hook func(ctx context.Context, tx *sql.Tx) (end func(committed bool), err error)

// DB is one database and this process's lock in its data folder. All methods are safe for
// concurrent use.
type DB struct {
	// Dir is the data folder.
	Dir     string
	Dialect Dialect
	// write has one connection with SQLite, so that writers queue instead of colliding.
	write *sql.DB
	// Read has the connections for reading.
	Read *sql.DB
	// writeLock is the lock of the processes over one SQLite file. It is nil with PostgreSQL.
	writeLock *writeLock
	Clock     *Clock
	// schema is the highest migration that this program knows.
	schema  int64
	sealing sealing
	Lock    *ProcessLock
	// count counts the statements of SQLite's connections.
	count statementCount

	// OnChange is called at the beginning of every change. Nil calls nothing. Set it before the first
	// change.
	OnChange Hook

	following sync.Mutex
	// file is the SQLite file at the database's path.
	file os.FileInfo
	// reopening reports whether connections may have another file open.
	reopening bool
	// noticed is the SQLite file of the last change of TransactNoticing, or the file that this process
	// found when it started. The write lock guards it.
	noticed os.FileInfo
}

// Open opens the database, creates or migrates it if needed, and locks a file of the data folder for
// this process. Close ends both.
func Open(ctx context.Context, c Config) (*DB, error) {
	if err := os.MkdirAll(filepath.Join(c.Dir, "locks"), 0o700); err != nil {
		return nil, fmt.Errorf("create the data folder: %w", err)
	}
	// The caller reports files that belong to another user.
	_ = KeepPrivate(c.Dir)
	db := &DB{
		Dir:     c.Dir,
		Dialect: sqlite,
		Clock:   newClock(c),
		sealing: sealing{given: c.SealKey, path: filepath.Join(c.Dir, sealKeyFile)},
	}
	if err := db.open(ctx, c.DatabaseURL); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func (db *DB) open(ctx context.Context, databaseURL string) (err error) {
	// The lock precedes the file, so that the file counts as in use and no restore replaces it.
	if db.Lock, err = takeLock(db.Dir); err != nil {
		return err
	}
	if databaseURL == "" {
		err = db.openFile()
	} else {
		err = db.openServer(databaseURL)
	}
	if err != nil {
		return err
	}
	if err := db.migrate(ctx, databaseURL); err != nil {
		return err
	}
	if !db.Dialect.IsServer {
		db.noticed, err = os.Stat(db.path())
	}
	return err
}

// openFile opens the SQLite file of the data folder.
func (db *DB) openFile() error {
	db.writeLock = newWriteLock(db.Dir)
	if err := db.createFile(); err != nil {
		return err
	}
	// synchronous=FULL makes a committed intent survive a power cut.
	name := "file:" + (&url.URL{Path: db.path()}).EscapedPath() +
		"?_pragma=busy_timeout(30000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)" +
		"&_pragma=cache_size(-32000)&_pragma=secure_delete(1)&_txlock=immediate"
	db.write = openClean(parsing{named{&sqlitedriver.Driver{}, name}, &db.count})
	db.write.SetMaxOpenConns(1)
	// Each commit empties the caches of the reading connections, so they read the mapped file.
	db.Read = openClean(parsing{named{&sqlitedriver.Driver{},
		name + "&_pragma=query_only(1)&_pragma=mmap_size(1073741824)"}, &db.count})
	db.Read.SetMaxOpenConns(readers)
	db.Read.SetMaxIdleConns(readers)
	return nil
}

// openServer opens a PostgreSQL database.
func (db *DB) openServer(databaseURL string) (err error) {
	db.Dialect = postgres
	if !strings.HasPrefix(databaseURL, "postgres://") && !strings.HasPrefix(databaseURL, "postgresql://") {
		return errNotPostgres
	}
	if db.write, err = openPostgres(databaseURL); err != nil {
		return err
	}
	db.write.SetMaxOpenConns(8)
	db.write.SetMaxIdleConns(8)
	db.Read = db.write
	return nil
}

// createFile creates the SQLite file with permissions for its owner only. SQLite gives its log and
// its index the same permissions. followFile compares the database with this file and so notices
// any file that replaces it from now on, regardless of the file that a connection opens.
func (db *DB) createFile() error {
	file, err := os.OpenFile(db.path(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open the ledger: %w", err)
	}
	db.file, err = file.Stat()
	return errors.Join(err, file.Close())
}

// migrate runs the missing migrations, one process at a time.
func (db *DB) migrate(ctx context.Context, databaseURL string) error {
	conn := db.write
	var options []goose.ProviderOption
	var err error
	if databaseURL == "" {
		guard := flock.New(filepath.Join(db.Dir, "locks", "migrate"))
		if _, err := guard.TryLockContext(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("wait for another process to prepare the ledger: %w", err)
		}
		defer guard.Unlock()
	} else {
		// Unlike openPostgres, sql.Open does not give up a silent connection. A migration of a large
		// table is silent for long, and so is the wait for another process that migrates.
		if conn, err = sql.Open("pgx", databaseURL); err != nil {
			return errNotPostgres
		}
		defer conn.Close()
		options = append(options, goose.WithSessionLocker(migrationLock{}))
	}
	provider, err := db.Dialect.provider(conn, options...)
	if err != nil {
		return err
	}
	if err := db.refuseUnknown(ctx, provider); err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("prepare the ledger's tables: %w", err)
	}
	return db.sign(ctx)
}

// migrationLock lets one process migrate a PostgreSQL database at a time. The lock of goose polls
// every five seconds, so the last process of a fleet that starts at once would wait a minute.
type migrationLock struct{}

const migrationLockID = 0x62756c6b66696c65 // "bulkfile"

func (migrationLock) SessionLock(ctx context.Context, c *sql.Conn) error {
	_, err := c.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, int64(migrationLockID))
	return err
}

func (migrationLock) SessionUnlock(ctx context.Context, c *sql.Conn) error {
	_, err := c.ExecContext(ctx, `SELECT pg_advisory_unlock($1)`, int64(migrationLockID))
	return err
}

// Close closes the database and then unlocks the file of this process.
func (db *DB) Close() error {
	var err error
	if db.write != nil {
		err = db.write.Close()
	}
	if db.Read != nil && db.Read != db.write {
		err = errors.Join(err, db.Read.Close())
	}
	db.Lock.unlock()
	return err
}

// Statements returns how many statements SQLite's connections have parsed and run so far. Both are 0
// with PostgreSQL, whose driver keeps statements itself.
func (db *DB) Statements() (parsed, run int) {
	return int(db.count.parsed.Load()), int(db.count.run.Load())
}

// Now returns the database's time.
func (db *DB) Now() time.Time { return db.Clock.now() }

// Change runs f in one transaction, after all changes that began before. It serves the
// infrequent changes by people. It returns ErrNewer if a newer program has changed the schema.
func (db *DB) Change(ctx context.Context, f func(*sql.Tx) error) error {
	return db.Transact(ctx, func(tx *sql.Tx) error {
		var schema int64
		var by string
		err := tx.QueryRowContext(ctx,
			`SELECT schema_version, written_by FROM control WHERE id = 1`+db.Dialect.ForUpdate).Scan(&schema, &by)
		if err != nil {
			return fmt.Errorf("lock the ledger: %w", err)
		}
		if err := db.RefuseNewer(schema, by); err != nil {
			return err
		}
		return f(tx)
	})
}

// Transact runs f in one transaction. Changes of an SQLite file run one after another. In PostgreSQL
// they do if f locks the control row.
func (db *DB) Transact(ctx context.Context, f func(tx *sql.Tx) error) error {
	return db.transact(ctx, false, func(tx *sql.Tx, _ bool) error { return f(tx) })
}

// TransactNoticing is Transact for a change that has to notice that another SQLite file took the
// database's place. Replaced reports it until one such change has committed.
func (db *DB) TransactNoticing(ctx context.Context, f func(tx *sql.Tx, replaced bool) error) error {
	return db.transact(ctx, true, f)
}

func (db *DB) transact(ctx context.Context, noticing bool, f func(*sql.Tx, bool) error) (err error) {
	if !db.Dialect.IsServer {
		// SQLite waits only for its own disk, and watching a context costs it a goroutine per
		// statement.
		ctx = context.WithoutCancel(ctx)
	}
	end := func(bool) {}
	// The hook's function runs after the locks are released, because it may be slow.
	defer func() { end(err == nil) }()
	if err := db.writeLock.lock(); err != nil {
		return err
	}
	defer db.writeLock.unlock()
	var file os.FileInfo
	if !db.Dialect.IsServer {
		if file, err = db.followFile(); err != nil {
			return err
		}
	}
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin a change of the ledger: %w", err)
	}
	defer tx.Rollback()
	if db.OnChange != nil {
		ended, err := db.OnChange(ctx, tx)
		if err != nil {
			return err
		}
		end = ended
	}
	if err := f(tx, file != nil && !os.SameFile(db.noticed, file)); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("%w: %w", ErrCommit, err)
	}
	if file == nil {
		return nil
	}
	if err := db.checkFile(file); err != nil {
		return err
	}
	if noticing {
		db.noticed = file
	}
	return nil
}

// Exec runs one statement in a transaction of its own. It is for records that the program makes, and
// works on a database of any schema.
func (db *DB) Exec(ctx context.Context, query string, args ...any) (done sql.Result, err error) {
	err = db.Transact(ctx, func(tx *sql.Tx) error {
		done, err = tx.ExecContext(ctx, query, args...)
		return err
	})
	return done, err
}

// ExecChange runs one statement as Change.
func (db *DB) ExecChange(ctx context.Context, query string, args ...any) (done sql.Result, err error) {
	err = db.Change(ctx, func(tx *sql.Tx) error {
		done, err = tx.ExecContext(ctx, query, args...)
		return err
	})
	return done, err
}

// ToMillis converts a time to Unix milliseconds. The zero time is 0.
func ToMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// FromMillis converts Unix milliseconds to a time in UTC. 0 is the zero time.
func FromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// BoolInt returns 1 for true and 0 for false, as both databases store a boolean.
func BoolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
