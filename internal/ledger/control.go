package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// control is the row that every writer locks. It has the sums of the balance and the halts of the
// fleet. Times are Unix milliseconds.
type control struct {
	// mode is "test" or "live". Empty until the ledger is bound.
	mode string

	declared                                bool
	deposits, adjustments, posted, reserved money.Cents

	// halt is NoHalt, HaltFunds or HaltKey.
	halt     filing.Halt
	haltNote string
	haltedAt int64
	// probeAt is the time from which the next probe may be sent.
	probeAt int64
	// probeRow is the row whose order is the probe in flight.
	probeRow int64
	// probeWait is the backoff before the next probe.
	probeWait int64

	// holdUntil is the time before which no process sends, after an answer of 429 or 503.
	holdUntil int64
	// holdWait is the backoff for answers without Retry-After.
	holdWait int64

	// commits is the number of changes.
	commits int64
	// lineage identifies the series in which commits are numbered. A new series begins when the
	// ledger is found to be restored.
	lineage string
	// restoredAt is the time when the ledger was found to be restored. Nothing is sent from then
	// on.
	restoredAt   int64
	restoredNote string
	// restoredFrom is the time of the last change before the period that the ledger lacks.
	restoredFrom int64
	// serverStarted identifies the start of the database server that made the last change.
	serverStarted string
	// restartWaitUntil is the time before which no process sends, after a restart of the server or
	// a replacement of the file.
	restartWaitUntil int64
	// restartedAt is the time at which that restart or replacement was noticed, and restartCommits is
	// the number of commits that the ledger had then.
	restartedAt, restartCommits int64
	// changedAt is the time of the last change.
	changedAt int64
	// clockBase is the base of the clock. See clock.
	clockBase int64

	// schema is the highest migration of the tables, and writtenBy is the program that ran it.
	schema    int64
	writtenBy string

	// now is the database's time when the row was read and locked.
	now int64
	// server identifies the start of the server that read the row. It is empty with SQLite.
	server string

	// fileReplaced reports whether another SQLite file took the ledger's place since
	// this process's last change.
	fileReplaced bool
}

var (
	controlColumns = (&control{}).fields().Names("")
	setControl     = `UPDATE control SET (` + controlColumns + `) = (` + placeholders(len((&control{}).fields())) + `)
		WHERE id = 1`
)

// placeholders returns the placeholders of the first n arguments.
func placeholders(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("$%d", i+1)
	}
	return strings.Join(all, ", ")
}

// fields returns the columns of the control row that every change reads and
// writes.
func (c *control) fields() store.Record {
	return store.Record{
		store.TextAt("mode", &c.mode),
		store.FlagAt("declared", &c.declared),
		store.NumberAt("deposits", &c.deposits),
		store.NumberAt("adjustments", &c.adjustments),
		store.NumberAt("posted", &c.posted),
		store.NumberAt("reserved", &c.reserved),
		store.TextAt("halt", &c.halt),
		store.TextAt("halt_note", &c.haltNote),
		store.NumberAt("halted_at", &c.haltedAt),
		store.NumberAt("probe_at", &c.probeAt),
		store.NumberAt("probe_row", &c.probeRow),
		store.NumberAt("probe_wait", &c.probeWait),
		store.NumberAt("hold_until", &c.holdUntil),
		store.NumberAt("hold_wait", &c.holdWait),
		store.NumberAt("commits", &c.commits),
		store.TextAt("lineage", &c.lineage),
		store.NumberAt("restored_at", &c.restoredAt),
		store.TextAt("restored_note", &c.restoredNote),
		store.NumberAt("restored_from", &c.restoredFrom),
		store.TextAt("server_started", &c.serverStarted),
		store.NumberAt("restart_wait_until", &c.restartWaitUntil),
		store.NumberAt("restarted_at", &c.restartedAt),
		store.NumberAt("restart_commits", &c.restartCommits),
		store.NumberAt("changed_at", &c.changedAt),
		store.NumberAt("clock_base", &c.clockBase),
	}
}

// readControl reads the control row with the database's time. Within a transaction it locks the row
// and reads the time after the wait for the lock.
func (db *database) readControl(ctx context.Context, q store.Querier) (*control, error) {
	lock := ""
	if _, ok := q.(*sql.Tx); ok {
		lock = db.Dialect.ForUpdate
	}
	var c control
	into := c.fields().Targets(&c.schema, &c.writtenBy, &c.now, &c.server)
	err := q.QueryRowContext(ctx, `SELECT c.*, `+db.Clock.Column()+`, `+db.Dialect.Server+`
		FROM (SELECT `+controlColumns+`, schema_version, written_by
			FROM control WHERE id = 1`+lock+`) AS c`).Scan(into...)
	if err != nil {
		return nil, fmt.Errorf("read the ledger's control row: %w", err)
	}
	c.now = db.Clock.At(c.now, c.clockBase)
	db.Clock.Set(c.now)
	return &c, nil
}

func (db *database) writeControl(ctx context.Context, tx *sql.Tx, c *control) error {
	_, err := tx.ExecContext(ctx, setControl, c.fields().AppendValues(nil)...)
	return store.Wrap("write the ledger's control row", err)
}

func (c *control) available() money.Cents { return c.deposits + c.adjustments - c.posted - c.reserved }

// Backoffs between probes for funds, and between answers of a busy service
// without Retry-After, and the longest Retry-After that is obeyed.
const (
	firstProbe  = 5 * time.Second
	lastProbe   = 10 * time.Minute
	firstHold   = time.Second
	lastHold    = time.Minute
	longestHold = time.Hour
)

func backoff(last int64, first, limit time.Duration) int64 {
	return min(max(2*last, first.Milliseconds()), limit.Milliseconds())
}

// halted reports whether row may not be sent now, and why. A fleet halted for funds admits one row
// at a time when it is due: the probe.
func (c *control) halted(row, now int64) (Halted, bool) {
	switch {
	case c.restoredAt != 0:
		return c.restored(), true
	case c.halt == filing.HaltKey:
		return Halted{Reason: filing.HaltKey, Note: c.haltNote}, true
	case c.restartWaitUntil > max(now, c.holdUntil):
		return Halted{Reason: filing.HaltRate, Until: store.FromMillis(c.restartWaitUntil)}, true
	case c.holdUntil > now:
		return Halted{Reason: filing.HaltRate, Until: store.FromMillis(c.holdUntil)}, true
	case c.halt == filing.HaltFunds && (c.probeRow != 0 && c.probeRow != row || c.probeAt > now):
		return Halted{Reason: filing.HaltFunds, Note: c.haltNote, Until: store.FromMillis(c.probeAt)}, true
	}
	return Halted{}, false
}

// applyAnswer updates the fleet halt from an answer. Ordered reports whether the answer is to an
// order rather than to the creation of a company or to a look-up.
func (c *control) applyAnswer(row int64, a filing.Answer, ordered bool, now int64) {
	probing := c.probeRow == row
	if probing {
		c.probeRow = 0
	}
	switch a.Kind.Halts() {
	case filing.HaltFunds:
		if c.halt == filing.NoHalt {
			c.halt, c.haltedAt, c.probeWait = filing.HaltFunds, now, 0
		}
		if c.halt == filing.HaltFunds && (probing || c.probeWait == 0) {
			c.probeWait = backoff(c.probeWait, firstProbe, lastProbe)
			c.probeAt = now + c.probeWait
		}
		if c.halt == filing.HaltFunds {
			c.haltNote = a.Message
		}
	case filing.HaltKey:
		c.halt, c.haltedAt, c.haltNote = filing.HaltKey, now, a.Message
	case filing.HaltRate:
		wait := min(a.RetryAfter, longestHold).Milliseconds()
		if wait <= 0 && c.holdUntil <= now { // answers that were in flight together count once
			c.holdWait = backoff(c.holdWait, firstHold, lastHold)
			wait = c.holdWait
		}
		c.holdUntil = max(c.holdUntil, now+wait)
	}
	if a.Kind == filing.Accepted {
		c.holdWait = 0
		// A company costs nothing, so its creation proves nothing about funds, and its row is the
		// next probe. If the creation were not admitted, a batch of new companies alone could never
		// probe.
		if probing && c.halt == filing.HaltFunds && ordered {
			c.endHalt()
		}
	}
}

func (c *control) endHalt() {
	c.halt, c.haltNote, c.haltedAt, c.probeAt, c.probeRow, c.probeWait = filing.NoHalt, "", 0, 0, 0, 0
}

// Halted is the reason why a row may not be sent now.
type Halted struct {
	Reason filing.Halt
	// Note is the text of the filing service.
	Note  string
	Since time.Time
	// Until is the time of the next attempt. Zero if a person has to act.
	Until time.Time
}

// Halt returns the halt of the whole fleet, or the zero value if it is not halted.
func (l Fleet) Halt(ctx context.Context) (Halted, error) {
	c, err := l.readControl(ctx, l.Read)
	if err != nil {
		return Halted{}, err
	}
	l.restoreDetector.observe(c.lineage, c.commits)
	now := c.now
	switch {
	case l.RefuseNewer(c.schema, c.writtenBy) != nil:
		return outdated(l.RefuseNewer(c.schema, c.writtenBy)), nil
	case c.restoredAt != 0:
		return c.restored(), nil
	case c.halt != filing.NoHalt:
		h := Halted{Reason: c.halt, Note: c.haltNote, Since: store.FromMillis(c.haltedAt)}
		if c.halt == filing.HaltFunds {
			h.Until = store.FromMillis(c.probeAt)
		}
		return h, nil
	case max(c.holdUntil, c.restartWaitUntil) > now:
		return Halted{Reason: filing.HaltRate, Until: store.FromMillis(max(c.holdUntil, c.restartWaitUntil))}, nil
	}
	return Halted{}, nil
}

// AllowProbe lets a fleet halted for funds probe at once and unblocks the rows that wait for funds.
// A deposit, a resume and a repeated run call it.
func (l Fleet) AllowProbe(ctx context.Context) error {
	return l.change(ctx, func(tx *Tx) error { return tx.allowProbe(ctx) })
}

func (tx *Tx) allowProbe(ctx context.Context) error {
	if c := tx.control; c.halt == filing.HaltFunds {
		c.probeAt, c.probeWait = c.now, 0
	}
	return tx.AllocateFunds(ctx)
}

// RecordKeyAccepted ends the halt for a refused key, because the service has accepted a key since.
func (l Fleet) RecordKeyAccepted(ctx context.Context) error {
	return l.change(audit.Without(ctx), func(tx *Tx) error {
		if tx.control.halt == filing.HaltKey {
			tx.control.endHalt()
		}
		return nil
	})
}

// RecordKeyRefused halts the fleet after a look-up was answered with 401 or 403.
func (l Fleet) RecordKeyRefused(ctx context.Context, message string) error {
	return l.change(audit.Without(ctx), func(tx *Tx) error {
		tx.control.applyAnswer(0, filing.Answer{Kind: filing.KeyRefused, Message: message}, false, tx.control.now)
		return nil
	})
}

// RecordBusy halts the fleet for a while after a look-up was answered with 429 or 503.
func (l Fleet) RecordBusy(ctx context.Context, retryAfter time.Duration) error {
	return l.change(audit.Without(ctx), func(tx *Tx) error {
		tx.control.applyAnswer(0, filing.Answer{Kind: filing.Busy, RetryAfter: retryAfter}, false, tx.control.now)
		return nil
	})
}

// Bind ties the ledger to "test" or "live" orders at the first use. Later it returns ErrMode for
// the other mode, because a purchase of the test environment must never pass for a real one.
func (l Organizations) Bind(ctx context.Context, mode string) error {
	return l.change(ctx, func(tx *Tx) error {
		if tx.control.mode != "" && tx.control.mode != mode {
			return modeError(tx.control.mode, mode)
		}
		tx.control.mode = mode
		return nil
	})
}

func modeError(holds, asked string) error {
	return fmt.Errorf(
		"%w: it holds %s orders and the key is for %s ones; use another ledger (--ledger NAME, or another "+
			"DATABASE_URL)", ErrMode, holds, asked)
}

// changeOnce makes the change of an audit event once. It retries a commit whose outcome is unknown.
// ErrDone then means that the commit succeeded.
func (db *database) changeOnce(ctx context.Context, f func(*Tx) error) error {
	if !audit.IsPending(ctx) {
		return db.change(ctx, f) // without an unrecorded event, a retry could make the change twice
	}
	lost := false
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := db.change(ctx, f)
		switch {
		case lost && errors.Is(err, audit.ErrDone):
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
