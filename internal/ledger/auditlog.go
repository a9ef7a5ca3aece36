package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/store"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// ErrDone is returned for a change under an audit event whose ID was used before. Nothing is
// changed again.
var ErrDone = errors.New("it was already done")

// AuditEvent is an action of a person and a line of the audit log. It never contains the secret of
// a session or a link.
type AuditEvent struct {
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

// auditing is an audit event that the first change under its context records.
type auditing struct {
	// mu is held from before the first change until its commit.
	mu       sync.Mutex
	act      AuditEvent
	recorded bool
}

type auditKey struct{}

// used reports whether a change has recorded the event.
func (a *auditing) used() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.recorded
}

// untilKnown makes the change of an audit event once. It retries a commit whose outcome is unknown.
// ErrDone then means that the commit succeeded.
func (db *database) untilKnown(ctx context.Context, f func(*sql.Tx, *control) error) error {
	a, _ := ctx.Value(auditKey{}).(*auditing)
	if a == nil || a.used() {
		return db.change(ctx, f) // without an unrecorded event, a retry could make the change twice
	}
	lost := false
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := db.change(ctx, f)
		switch {
		case lost && errors.Is(err, ErrDone):
			return nil
		case errors.Is(err, store.ErrCommit):
			lost = true
		case !lost || err == nil:
			return err
		}
		select {
		case <-time.After(wait):
		case <-db.stop:
			return fmt.Errorf("it is not known whether it was recorded; check before you enter it again: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("it is not known whether it was recorded; check before you enter it again: %w", err)
		}
	}
}

// WithAudit attributes the changes under the context to a person. The event is recorded once, in
// the transaction of the first change, and covers the later changes. If another use of the event's
// ID was committed before, the first change fails with ErrDone and changes nothing.
//
// It covers changes by people. Records that the ledger makes on its own are no audit events:
// quotes, answers and events of the filing service, and leases.
func WithAudit(ctx context.Context, a AuditEvent) context.Context {
	a.ID = cmp.Or(a.ID, newAuditID())
	return context.WithValue(ctx, auditKey{}, &auditing{act: a})
}

// withoutAudit removes the audit event from a context. It is for records that the ledger makes on
// its own while it serves a person, such as a quote or an answer.
func withoutAudit(ctx context.Context) context.Context {
	return context.WithValue(ctx, auditKey{}, (*auditing)(nil))
}

// auditPerson returns the name of the person of the context, or an empty string if unknown.
func auditPerson(ctx context.Context) string {
	if a, _ := ctx.Value(auditKey{}).(*auditing); a != nil {
		return a.act.By
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

func atTerminal(ctx context.Context) bool {
	_, typed := ctx.Value(terminalKey{}).(string)
	return typed
}

// auditOf returns the audit event that the context still has to record, or nil if it has none. The
// event is locked for the caller until its end.
func auditOf(ctx context.Context) *auditing {
	a, _ := ctx.Value(auditKey{}).(*auditing)
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

// recordAudit is a Hook that records the audit event of the context.
func (db *database) recordAudit(ctx context.Context, tx *sql.Tx) (end func(committed bool), err error) {
	act := auditOf(ctx)
	if act == nil {
		return func(bool) {}, nil
	}
	if err := insertAuditEvent(ctx, tx, act.act, db.Now()); err != nil {
		act.end(false)
		return nil, err
	}
	return func(committed bool) {
		if committed {
			db.report(act.act)
		}
		act.end(committed)
	}, nil
}

// noteAudit sets the note of the event that the current change records. It is for notes that are
// known only within the change.
func noteAudit(ctx context.Context, tx *sql.Tx, note string) error {
	a, _ := ctx.Value(auditKey{}).(*auditing)
	if a == nil || a.recorded {
		return nil
	}
	a.act.Note = filing.HideSSNs(note)
	_, err := tx.ExecContext(ctx, `UPDATE audit_events SET note = $2 WHERE id = $1`, a.act.ID, a.act.Note)
	return err
}

// end unlocks the event, so that the context's other changes continue.
func (a *auditing) end(committed bool) {
	a.recorded = committed
	a.mu.Unlock()
}

// newAuditID returns an ID for an event that cannot be requested twice.
func newAuditID() string { return rand.Text() }

// withID gives an event an ID if it has none.
func withID(a AuditEvent) AuditEvent {
	a.ID = cmp.Or(a.ID, newAuditID())
	return a
}

func insertAuditEvent(ctx context.Context, x store.Execer, a AuditEvent, now time.Time) error {
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
func (l AuditLog) Record(ctx context.Context, a AuditEvent) error {
	a = withID(a)
	err := l.Transact(withoutAudit(ctx), func(tx *sql.Tx, _ bool) error {
		return insertAuditEvent(ctx, tx, a, l.Now())
	})
	if err == nil {
		l.report(a)
	}
	return err
}

// OnRecord sets the function that is called with each event that this process has recorded. Call it
// before the first change.
func (l AuditLog) OnRecord(f func(AuditEvent)) { l.onAct.Store(&f) }

func (db *database) report(a AuditEvent) {
	if f := db.onAct.Load(); f != nil {
		(*f)(a)
	}
}

// AuditQuery selects audit events. Empty fields select all.
type AuditQuery struct {
	By, What, Of string
	// Before selects the events with a lower Seq. Zero selects all.
	Before int64
	// Limit is the maximum number of events. Zero means no limit.
	Limit int
}

// List reads the audit log, the newest first.
func (l AuditLog) List(ctx context.Context, q AuditQuery) ([]AuditEvent, error) {
	return store.List[AuditEvent](ctx, l.Read, "read the audit log",
		`SELECT seq, id, at, person AS "by", origin AS "from", what, object AS "of", note
			FROM audit_events
			WHERE ($1 = '' OR person = $1) AND ($2 = '' OR what = $2) AND ($3 = '' OR object = $3) AND seq < $4
			ORDER BY seq DESC LIMIT $5`,
		q.By, q.What, q.Of, cmp.Or(q.Before, math.MaxInt64), cmp.Or(q.Limit, math.MaxInt32))
}
