package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"
	sqlitedriver "modernc.org/sqlite"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// The errors of the package.
var (
	// ErrNotFound is returned if the ledger has no such record, such as a batch or a row.
	ErrNotFound = errors.New("not in the ledger")
	// ErrMode is returned if a ledger with test orders is opened for live orders, or the reverse. A
	// ledger must not mix test and live purchases.
	ErrMode = errors.New("the ledger belongs to another environment")
	// ErrImport is returned if rows are added to a batch that this process is not importing, or no
	// longer.
	ErrImport = errors.New("the batch is not under import by this process")
	// ErrImporting is returned for a batch that another live process is importing.
	ErrImporting = errors.New("another process is importing the same file, or waits for its confirmation")
	// ErrCanceled is returned for a batch that was canceled before it began.
	ErrCanceled = errors.New("the batch was canceled")
	// ErrTransition is returned for a change that the row's state does not allow.
	ErrTransition = errors.New("the row's state does not allow it")
)

// errCommit is returned if the response to a commit was lost, or if an SQLite file was replaced
// during the commit. The ledger may or may not have the change.
var errCommit = errors.New("commit a change of the ledger")

// errNotPostgres never repeats the address, because the address contains a password.
var errNotPostgres = errors.New(
	"DATABASE_URL is not the address of a PostgreSQL database: it looks like postgres://user@host/name")

// Config configures a ledger.
type Config struct {
	// Dir is the data folder. It has the SQLite file and the locks of live processes.
	Dir string
	// DatabaseURL is a postgres:// address. If it is empty, the ledger is an SQLite file in Dir.
	DatabaseURL string
	// Now is this process's clock. The default is the wall clock.
	Now func() time.Time
	// Clock replaces the database's clock in tests. The default is the database's clock.
	Clock func() time.Time
	// SealKey seals data that may contain a Social Security number. It is 64 hexadecimal digits.
	// Earlier keys follow, separated by blanks or line breaks. The default is a key file in Dir.
	SealKey string
	// RepeatAgents reports whether the filing service charges an agent order only once if it is
	// sent again after a lost answer.
	RepeatAgents bool
	// Tolerance is the amount by which an order may exceed its row's approved cost.
	Tolerance money.Cents
	// Lease is how long a silent process counts as live. The default is 30 seconds.
	Lease time.Duration
	// Timeout is the timeout of the requests that this process sends. The default is 30 seconds.
	Timeout time.Duration
}

// Ledger is an open record of batches, rows, attempts, purchases and money. Each other part of the
// database has a separate type, which the method of the same name returns: Accounts, Events, Fleet,
// Resolutions and so on. All methods are safe for concurrent use. Several processes may share one
// database.
type Ledger struct{ *database }

// Open opens the ledger, creates or migrates it if needed, and registers this process as one that
// may place orders. Close ends the registration.
func Open(ctx context.Context, c Config) (*Ledger, error) {
	if err := os.MkdirAll(filepath.Join(c.Dir, "locks"), 0o700); err != nil {
		return nil, fmt.Errorf("create the data folder: %w", err)
	}
	// The caller reports files that belong to another user.
	_ = KeepPrivate(c.Dir)
	l := newLedger(c)
	if err := l.connect(ctx, c.DatabaseURL); err != nil {
		return nil, err
	}
	if err := l.join(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// newLedger returns a ledger that is not connected yet.
func newLedger(c Config) *Ledger {
	l := &Ledger{&database{
		dir:          c.Dir,
		clock:        newClock(c),
		lease:        c.Lease,
		timeout:      c.Timeout,
		repeatAgents: c.RepeatAgents,
		tolerance:    c.Tolerance,
		editLimit:    maxEdits,
		statements:   statements{ready: make(map[string]*sql.Stmt), reads: make(map[string]*sql.Stmt)},
		transitions:  make(chan *transition, maxGroup),
		stop:         make(chan struct{}),
		committed:    make(chan struct{}),
	}}
	l.now = l.clock.now
	l.sealing.given, l.sealing.path = c.SealKey, filepath.Join(c.Dir, sealKeyFile)
	if l.timeout == 0 {
		l.timeout = 30 * time.Second
	}
	if l.lease == 0 {
		l.lease = 30 * time.Second
	}
	return l
}

// join registers the process with a connected ledger and begins to commit.
func (l *Ledger) join(ctx context.Context) error {
	var err error
	// This precedes loadCommits, so that a file that appears later counts as new.
	if !l.dialect.together {
		l.committedTo, err = os.Stat(l.path())
	}
	if err := errors.Join(err, l.loadCommits(), l.enlist(ctx)); err != nil {
		l.disconnect()
		l.unlock()
		return err
	}
	l.stopped.Add(2)
	go l.commitGroups()
	go l.keepLease()
	return nil
}

// Dir returns the data folder, whose files persist from one process to the next.
func (l *Ledger) Dir() string { return l.dir }

// Repeatable reports whether an order of the products may be sent again after an attempt with an
// unknown outcome.
func (l *Ledger) Repeatable(products []filing.Product) bool {
	return !slices.ContainsFunc(products, func(p filing.Product) bool { return !p.Repeatable(l.repeatAgents) })
}

// connect opens the database and migrates its tables.
func (db *database) connect(ctx context.Context, databaseURL string) (err error) {
	defer func() {
		if err != nil {
			db.disconnect()
			db.unlock()
		}
	}()
	if databaseURL == "" {
		db.dialect = sqlite
		db.writeLock = newWriteLock(db.dir)
		if err := db.takeLock(); err != nil {
			return err
		}
		if err := db.createFile(); err != nil {
			return err
		}
		// synchronous=FULL makes a committed intent survive a power cut.
		name := "file:" + (&url.URL{Path: db.path()}).EscapedPath() +
			"?_pragma=busy_timeout(30000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)" +
			"&_pragma=cache_size(-32000)&_pragma=secure_delete(1)&_txlock=immediate"
		db.write = openClean(named{&sqlitedriver.Driver{}, name})
		db.write.SetMaxOpenConns(1)
		db.read = openClean(named{&sqlitedriver.Driver{}, name + "&_pragma=query_only(1)"})
		db.read.SetMaxOpenConns(4)
	} else {
		db.dialect = postgres
		if !strings.HasPrefix(databaseURL, "postgres://") && !strings.HasPrefix(databaseURL, "postgresql://") {
			return errNotPostgres
		}
		if db.write, err = openPostgres(databaseURL); err != nil {
			return err
		}
		db.write.SetMaxOpenConns(8)
		db.write.SetMaxIdleConns(8)
		db.read = db.write
	}
	return db.migrate(ctx, databaseURL)
}

// createFile creates the SQLite file with permissions for its owner only. SQLite gives its log and
// its index the same permissions. followFile compares the database with this file and so notices
// any file that replaces it from now on, regardless of the file that a connection opens.
func (db *database) createFile() error {
	file, err := os.OpenFile(db.path(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open the ledger: %w", err)
	}
	db.file, err = file.Stat()
	return errors.Join(err, file.Close())
}

// migrate runs the missing migrations, one process at a time.
func (db *database) migrate(ctx context.Context, databaseURL string) error {
	conn := db.write
	var options []goose.ProviderOption
	var err error
	if databaseURL == "" {
		guard := flock.New(filepath.Join(db.dir, "locks", "migrate"))
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
	provider, err := db.dialect.provider(conn, options...)
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

// migrationLock lets one process migrate a PostgreSQL ledger at a time. The lock of goose polls
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

// Close commits the pending transitions, ends the registration and closes the database. Rows that
// this process is still placing then count as crashed, so call Close only after placement has
// ended.
func (l *Ledger) Close() error {
	var err error
	l.closing.Do(func() {
		close(l.stop)
		l.stopped.Wait()
		err = errors.Join(l.retire(), l.disconnect())
	})
	return err
}

func (db *database) disconnect() error {
	var err error
	if db.write != nil {
		err = db.write.Close()
	}
	if db.read != nil && db.read != db.write {
		err = errors.Join(err, db.read.Close())
	}
	return err
}

// change runs f in one transaction that locks the control row, so that it reads and leaves a
// consistent balance. It serves the infrequent changes by people. Placement uses the group commit
// instead. The audit event of the context is recorded in the same transaction.
func (db *database) change(ctx context.Context, f func(*sql.Tx, *control) error) error {
	return db.commitChange(ctx, func(tx *sql.Tx, c *control) error {
		if c.schema > db.schema {
			return newer(c.schema, db.schema, c.writtenBy)
		}
		return f(tx, c)
	})
}

// commitChange is change for a ledger of any version. It records in-flight answers even if a newer
// version has migrated the tables.
func (db *database) commitChange(ctx context.Context, f func(*sql.Tx, *control) error) (err error) {
	act := auditOf(ctx)
	defer func() {
		act.end(err == nil)
		if act != nil && err == nil {
			db.report(act.act)
		}
	}()
	if !db.dialect.together {
		// SQLite waits only for its own disk, and watching a context costs it a goroutine per
		// statement.
		ctx = context.WithoutCancel(ctx)
	}
	if err := db.writeLock.lock(); err != nil {
		return err
	}
	defer db.writeLock.unlock()
	var file os.FileInfo
	if !db.dialect.together {
		if file, err = db.followFile(); err != nil {
			return err
		}
		db.statements.prepare(ctx, db.write)
	}
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin a change of the ledger: %w", err)
	}
	defer tx.Rollback()
	known := db.restoreDetector.highest()
	c, err := db.readControl(ctx, tx)
	if err != nil {
		return err
	}
	c.fileReplaced = file != nil && !os.SameFile(db.committedTo, file)
	if err := db.compare(ctx, tx, c, known); err != nil {
		return err
	}
	if err := act.record(ctx, tx, fromMillis(c.now)); err != nil {
		return err
	}
	if err := f(tx, c); err != nil {
		return err
	}
	c.commits++
	c.changedAt = c.now
	if err := db.writeControl(ctx, tx, c); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("%w: %w", errCommit, err)
	}
	if !db.dialect.together {
		if err := db.checkFile(file); err != nil {
			return err
		}
		db.committedTo = file
	}
	db.restoreDetector.committed(c)
	return nil
}

// toMillis converts a time to Unix milliseconds. The zero time is 0.
func toMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// fromMillis converts Unix milliseconds to a time in UTC. 0 is the zero time.
func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
