package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// The errors of the package.
var (
	// ErrNotFound is returned if the ledger has no such record, such as a batch or a row.
	ErrNotFound = store.ErrNotFound
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
	// ErrStale is returned for a change of something that another person has changed since it was
	// read.
	ErrStale = errors.New("another person has changed it since you opened it")
)

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
	// Gate decides which orders wait for approval. If it is nil, none do.
	Gate Gate
}

// Ledger is an open record of batches, rows, attempts, purchases and money. Each other part of the
// database has a separate type, which the method of the same name returns: Accounts, Events, Fleet,
// Resolutions and so on. All methods are safe for concurrent use. Several processes may share one
// database.
type Ledger struct{ *database }

// Open opens the ledger, creates or migrates it if needed, and registers this process as one that
// may place orders. Close ends the registration.
func Open(ctx context.Context, c Config) (*Ledger, error) {
	db, err := store.Open(ctx, store.Config{
		Dir:         c.Dir,
		DatabaseURL: c.DatabaseURL,
		Now:         c.Now,
		Clock:       c.Clock,
		SealKey:     c.SealKey,
	})
	if err != nil {
		return nil, err
	}
	return join(ctx, db, c)
}

// RequestTimeout returns the timeout of the requests that this process sends.
func (l *Ledger) RequestTimeout() time.Duration { return l.owner.Timeout }

// join registers this process with the ledger of an open database and begins to commit.
func join(ctx context.Context, db *store.DB, c Config) (*Ledger, error) {
	l := &Ledger{&database{
		DB:           db,
		owner:        Process{ID: db.Lock.ID, Host: db.Lock.Host, PID: os.Getpid(), lock: db.Lock.Path},
		log:          audit.New(db),
		lease:        cmp.Or(c.Lease, 30*time.Second),
		repeatAgents: c.RepeatAgents,
		tolerance:    c.Tolerance,
		gate:         c.Gate,
		transitions:  make(chan *transition, maxGroup),
		stop:         make(chan struct{}),
		committed:    make(chan struct{}),
	}}
	if l.gate == nil {
		l.gate = noGate{}
	}
	l.owner.Timeout = cmp.Or(c.Timeout, 30*time.Second)
	if err := errors.Join(l.loadCommits(), l.register(ctx)); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	l.stopped.Add(2)
	go l.commitGroups()
	go l.keepLease()
	return l, nil
}

// Repeatable reports whether an order of the products may be sent again after an attempt with an
// unknown outcome.
func (l *Ledger) Repeatable(products []filing.Product) bool {
	return !slices.ContainsFunc(products, func(p filing.Product) bool { return !p.Repeatable(l.repeatAgents) })
}

// Close commits the pending transitions, ends the registration and closes the database. Rows that
// this process is still placing then count as crashed, so call Close only after placement has
// ended.
func (l *Ledger) Close() error {
	var err error
	l.closing.Do(func() {
		close(l.stop)
		l.stopped.Wait()
		err = errors.Join(l.unregister(), l.DB.Close())
	})
	return err
}

// change runs f in one transaction that locks the control row, so that it reads and leaves a
// consistent balance. It serves the infrequent changes by people. Placement uses the group commit
// instead. The audit event of the context is recorded in the same transaction.
func (db *database) change(ctx context.Context, f func(*Tx) error) error {
	return db.commitChange(ctx, func(tx *Tx) error {
		if err := db.RefuseNewer(tx.control.schema, tx.control.writtenBy); err != nil {
			return err
		}
		return f(tx)
	})
}

// Change runs f in one change of the ledger. The packages beside the ledger change their tables
// with it if their records must commit together with the ledger's.
func (l *Ledger) Change(ctx context.Context, f func(*Tx) error) error { return l.change(ctx, f) }

// commitChange is change for a ledger of any version. It records in-flight answers even if a newer
// version has migrated the tables.
func (db *database) commitChange(ctx context.Context, f func(*Tx) error) error {
	var c *control
	var known map[string]int64
	err := db.TransactNoticing(ctx, func(tx *sql.Tx, replaced bool) (err error) {
		known = db.restoreDetector.highest()
		if c, err = db.readControl(ctx, tx); err != nil {
			return err
		}
		c.fileReplaced = replaced
		change := &Tx{tx, db, c}
		if err := change.detectRestore(ctx, known); err != nil {
			return err
		}
		if err := f(change); err != nil {
			return err
		}
		c.commits++
		c.changedAt = c.now
		return db.writeControl(ctx, tx, c)
	})
	if err == nil {
		db.restoreDetector.committed(c, known)
	}
	return err
}
