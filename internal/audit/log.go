// Package audit records who did what. A change of the database that is made under a context with an
// event records the event in the same transaction.
package audit

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// ErrDone is returned for a change under an audit event whose ID was used before. Nothing is
// changed again.
var ErrDone = errors.New("it was already done")

// Event is an action of a person and a line of the audit log. It never contains the secret of
// a session or a link.
type Event struct {
	// Seq increases with each event and is used for paging.
	Seq int64 `json:"seq"`
	// ID is chosen by the caller so that a repeated request is carried out once. If it is empty, an
	// ID is generated.
	ID string    `json:"-"`
	At time.Time `json:"at"`
	// By is the name of the person.
	By string `json:"by"`
	// From is the origin of the request, such as an address or a terminal.
	From string `json:"from,omitempty"`
	// What is the action, such as "deposit", "approve" or "pause".
	What string `json:"what"`
	// Of is the object of the action, such as a batch, a schedule or an account.
	Of string `json:"of,omitempty"`
	// Note is plain text.
	Note string `json:"note,omitempty"`
}

// Log records the actions of people.
type Log struct {
	db       *store.DB
	onRecord atomic.Pointer[func(Event)]
}

// New returns the audit log of a database. Each change of the database then records the audit event
// of its context.
func New(db *store.DB) *Log {
	l := &Log{db: db}
	db.OnChange = l.record
	return l
}

// pending is an audit event that the first change under its context records.
type pending struct {
	// mu is held from before the first change until its commit.
	mu       sync.Mutex
	event    Event
	recorded bool
}

type eventKey struct{}

// IsPending reports whether the context has an audit event that no change has recorded.
func IsPending(ctx context.Context) bool {
	a := lockPending(ctx)
	if a == nil {
		return false
	}
	a.end(a.recorded)
	return true
}

// With attributes the changes under the context to a person. The event is recorded once, in
// the transaction of the first change, and covers the later changes. If another use of the event's
// ID was committed before, the first change fails with ErrDone and changes nothing.
//
// It covers changes by people. Records that the ledger makes on its own are no audit events:
// quotes, answers and events of the filing service, and leases.
func With(ctx context.Context, a Event) context.Context {
	a.ID = cmp.Or(a.ID, newID())
	return context.WithValue(ctx, eventKey{}, &pending{event: a})
}

// Without removes the audit event from a context. It is for records that the ledger makes on
// its own while it serves a person, such as a quote or an answer.
func Without(ctx context.Context) context.Context {
	return context.WithValue(ctx, eventKey{}, (*pending)(nil))
}

// Person returns the name of the person of the context, or an empty string if unknown.
func Person(ctx context.Context) string {
	if a, _ := ctx.Value(eventKey{}).(*pending); a != nil {
		return a.event.By
	}
	by, _ := ctx.Value(terminalKey{}).(string)
	return by
}

type terminalKey struct{}

// AtTerminal marks the changes under the context as made by a command. The approval policy decides
// whether it covers commands. By is the person if the context has no audit event.
func AtTerminal(ctx context.Context, by string) context.Context {
	return context.WithValue(ctx, terminalKey{}, by)
}

// NotAtTerminal removes the mark of AtTerminal.
func NotAtTerminal(ctx context.Context) context.Context {
	return context.WithValue(ctx, terminalKey{}, nil)
}

// IsAtTerminal reports whether the changes under the context are made by a command.
func IsAtTerminal(ctx context.Context) bool {
	_, typed := ctx.Value(terminalKey{}).(string)
	return typed
}

// lockPending returns the audit event that the context still has to record, or nil if it has none. The
// event is locked for the caller until its end.
func lockPending(ctx context.Context) *pending {
	a, _ := ctx.Value(eventKey{}).(*pending)
	if a == nil {
		return nil
	}
	a.mu.Lock()
	if a.recorded {
		a.mu.Unlock()
		return nil
	}
	return a
}

// record is a Hook that records the audit event of the context.
func (l *Log) record(ctx context.Context, tx *sql.Tx) (end func(committed bool), err error) {
	p := lockPending(ctx)
	if p == nil {
		return func(bool) {}, nil
	}
	if err := Insert(ctx, tx, p.event, l.db.Now()); err != nil {
		p.end(false)
		return nil, err
	}
	return func(committed bool) {
		if committed {
			l.Report(p.event)
		}
		p.end(committed)
	}, nil
}

// RecordIn records the audit event of the context in a transaction of a file that no process has open.
func RecordIn(ctx context.Context, tx *sql.Tx, now time.Time) error {
	p := lockPending(ctx)
	if p == nil {
		return nil
	}
	err := Insert(ctx, tx, p.event, now)
	p.end(err == nil)
	return err
}

// SetNote sets the note of the event that the current change records. It is for notes that are
// known only within the change.
func SetNote(ctx context.Context, tx *sql.Tx, note string) error {
	a, _ := ctx.Value(eventKey{}).(*pending)
	if a == nil || a.recorded {
		return nil
	}
	a.event.Note = filing.HideSSNs(note)
	_, err := tx.ExecContext(ctx, `UPDATE audit_events SET note = $2 WHERE id = $1`, a.event.ID, a.event.Note)
	return err
}

// end unlocks the event, so that the context's other changes continue.
func (a *pending) end(committed bool) {
	a.recorded = committed
	a.mu.Unlock()
}

// newID returns an ID for an event that cannot be requested twice.
func newID() string { return rand.Text() }

// Insert adds an event to a transaction. It returns ErrDone for an ID that was used before.
func Insert(ctx context.Context, x store.Execer, a Event, now time.Time) error {
	a.ID = cmp.Or(a.ID, newID())
	if a.At.IsZero() {
		a.At = now
	}
	a.Of, a.Note = filing.HideSSNsInName(a.Of), filing.HideSSNs(a.Note)
	n, err := store.Affected(x.ExecContext(ctx,
		`INSERT INTO audit_events (id, at, person, origin, what, object, note)
			VALUES ($1,$2,$3,$4,$5,$6,$7) ON CONFLICT (id) DO NOTHING`,
		a.ID, store.ToMillis(a.At), a.By, a.From, a.What, a.Of, a.Note))
	switch {
	case err != nil:
		return fmt.Errorf("record the audit event %s of %s: %w", a.What, a.By, err)
	case n == 0:
		return ErrDone
	}
	return nil
}

// Record records an event that changes nothing, such as a download or a failed sign-in. It returns
// ErrDone for an ID that was used before.
func (l *Log) Record(ctx context.Context, a Event) error {
	a.ID = cmp.Or(a.ID, newID())
	err := l.db.Transact(Without(ctx), func(tx *sql.Tx) error {
		return Insert(ctx, tx, a, l.db.Now())
	})
	if err == nil {
		l.Report(a)
	}
	return err
}

// OnRecord sets the function that is called with each event that this process has recorded. Call it
// before the first change.
func (l *Log) OnRecord(f func(Event)) { l.onRecord.Store(&f) }

// Report reports an event whose transaction has been committed.
func (l *Log) Report(a Event) {
	if f := l.onRecord.Load(); f != nil {
		(*f)(a)
	}
}

// Query selects audit events. Empty fields select all.
type Query struct {
	By, What, Of string
	// Before selects the events with a lower Seq. Zero selects all.
	Before int64
	// Limit is the maximum number of events. Zero means no limit.
	Limit int
}

// List reads the audit log, the newest first.
func (l *Log) List(ctx context.Context, q Query) ([]Event, error) {
	return store.List[Event](ctx, l.db.Read, "read the audit log",
		`SELECT seq, id, at, person AS "by", origin AS "from", what, object AS "of", note
			FROM audit_events
			WHERE ($1 = '' OR person = $1) AND ($2 = '' OR what = $2) AND ($3 = '' OR object = $3) AND seq < $4
			ORDER BY seq DESC LIMIT $5`,
		q.By, q.What, q.Of, cmp.Or(q.Before, math.MaxInt64), cmp.Or(q.Limit, math.MaxInt32))
}
