// Package outbox keeps the notifications to people until they are sent. Each is sent once for a
// whole fleet.
package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Kind is a reason for a notification.
type Kind string

// The kinds of notifications.
const (
	// KindFunds reports that the funds ran out or suffice again.
	KindFunds Kind = "funds"
	// KindKey reports that the filing service refuses the API key.
	KindKey Kind = "key"
	// KindBatch reports that a batch has ended.
	KindBatch Kind = "batch"
	// KindUncertain reports rows that only a person can resolve.
	KindUncertain Kind = "uncertain"
	// KindExceptions reports filings that need a correction by a person before they can go on.
	KindExceptions Kind = "exceptions"
	// KindTwice reports two purchases of one filing, one of which is to be refunded.
	KindTwice Kind = "bought-twice"
	// KindSchedule reports that a schedule ran or failed. The process that runs the schedule adds
	// it.
	KindSchedule Kind = "schedule"
	// KindDueSoon reports filings that are due soon and not placed.
	KindDueSoon Kind = "due-soon"
	// KindFundsNeeded reports that the schedules will need more than the available funds.
	KindFundsNeeded Kind = "funds-needed"
	// KindSilent reports placed orders that were not heard of for too long, and events that do not
	// arrive.
	KindSilent Kind = "silent"
	// KindSilentChecked marks silent orders that a person has checked. It is never sent.
	KindSilentChecked Kind = "silent-checked"
	// KindAccess reports that a link, an address, a passkey or a role was granted, or that the
	// approval policy was weakened.
	KindAccess Kind = "access"
	// KindBackup reports that a scheduled backup failed or works again.
	KindBackup Kind = "backup"

	KindApprovalNeeded Kind = "approval-needed"
	KindApproved       Kind = "approved"
	// KindSentBack reports that an approver returned a batch to its preparer.
	KindSentBack Kind = "sent-back"
	KindRejected Kind = "rejected"
)

// Kinds lists all kinds.
var Kinds = []Kind{KindFunds, KindKey, KindBatch, KindUncertain, KindExceptions,
	KindTwice,
	KindSchedule, KindDueSoon, KindFundsNeeded, KindSilent, KindAccess,
	KindBackup, KindApprovalNeeded, KindApproved, KindSentBack, KindRejected}

// Outbox has the notifications of a database.
type Outbox struct{ db *store.DB }

// New returns the outbox of a database.
func New(db *store.DB) *Outbox { return &Outbox{db} }

// Notification is a message to a person, sent once for a whole fleet.
type Notification struct {
	ID   int64
	Kind Kind
	// Batch is empty if the notification concerns everybody.
	Batch string
	// Subject and Body are plain text without secrets. A notification without a subject is not
	// sent.
	Subject, Body string
	At            time.Time

	// Lasts reports whether the reported state continues. Until it ends, no notification of the
	// same kind and batch is added.
	Lasts bool
	// Ends reports whether the notification announces the end of a lasting state.
	Ends bool
	// Pending are the reported rows.
	Pending []Pending

	// Recipients are the email addresses that get the notification in addition to the targets.
	Recipients []string
	// Path is the path of the related page. Empty if there is no such page.
	Path string

	// Attempts counts the attempts to send it.
	Attempts int
	// Reported are the targets that have received it.
	Reported []string

	// Due is the time of the next attempt to send it, or the end of its claim.
	Due time.Time
}

// Pending is a row, or an item of a row, that a person needs to know about.
type Pending struct {
	Kind Kind
	// Ref is the ID of the row, or of the item for an exception.
	Ref int64
	// Mark is the uncertain attempt, the exception's code, or the row that bought the same.
	Mark     int64
	Row      int64
	Batch    string
	Reserved money.Cost
}

// errReported ends a change that another process has already made.
var errReported = errors.New("another process reports it")

// Add adds a notification. It reports false if it is recorded already, usually by another process.
// That is the case if the same state lasts already, if it is over, or if another notification has
// one of the rows.
func (o *Outbox) Add(ctx context.Context, n Notification) (kept bool, err error) {
	marks := make([]store.Record, len(n.Pending))
	for i, u := range n.Pending {
		marks[i] = store.Record{store.Text("kind", n.Kind), store.Number("ref", u.Ref), store.Number("mark", u.Mark)}
	}
	err = o.db.Change(ctx, func(tx *sql.Tx) error {
		// Adding notifications locks the control row, so nothing read here changes before the
		// commit.
		var lasts, taken bool
		if err := tx.QueryRowContext(ctx,
			`SELECT EXISTS (SELECT 1 FROM notifications WHERE kind = $1 AND batch = $2 AND lasts = 1)`, n.Kind,
			n.Batch).Scan(&lasts); err != nil {
			return err
		}
		err := o.db.QueryRecords(
			ctx, tx, `SELECT t.ref {{v,}} notified t WHERE t.kind = v.kind AND t.ref = v.ref AND t.mark = v.mark`,
			marks,
			func(func(...any) error) error { taken = true; return nil })
		switch {
		case err != nil:
			return err
		case n.Lasts && lasts, n.Ends && !lasts, taken:
			return errReported
		}
		if n.Ends {
			if err := EndWithin(ctx, tx, n.Kind, n.Batch); err != nil {
				return err
			}
		}
		id, err := Insert(ctx, tx, o.db.Now(), n)
		if err != nil {
			return err
		}
		for i := range marks {
			marks[i] = append(marks[i], store.Number("notification", id))
		}
		return o.db.ExecRecords(
			ctx, tx, `INSERT INTO notified (kind, ref, mark, notification)
				SELECT v.kind, v.ref, v.mark, v.notification {{v}}`,
			marks)
	})
	switch {
	case errors.Is(err, errReported):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("save a notification of %s: %w", n.Kind, err)
	}
	return true, nil
}

// Insert adds a notification and returns its ID. Every subject begins with the
// product's name, so that a mailbox can sort the messages. A subject about test orders mentions the
// test mode.
func Insert(ctx context.Context, tx *sql.Tx, at time.Time, n Notification) (id int64, err error) {
	now := store.ToMillis(at)
	due, subject := now, presentable(n.Subject)
	if subject == "" {
		due = 0
	} else {
		var mode string
		if err := tx.QueryRowContext(ctx, `SELECT mode FROM control WHERE id = 1`).Scan(&mode); err != nil {
			return 0, store.Wrap("read the mode of the ledger", err)
		}
		product := "Bulkfiling: "
		if mode == "test" {
			product = "Bulkfiling (test): "
		}
		subject = product + subject
	}
	to := slices.Sorted(slices.Values(n.Recipients))
	err = tx.QueryRowContext(
		ctx, `INSERT INTO notifications (kind, batch, subject, body, at, lasts, due, recipients, path)
			VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9)
			RETURNING id`,
		n.Kind, n.Batch, subject, presentable(n.Body), now, store.BoolInt(n.Lasts), due,
		strings.Join(slices.Compact(to), " "), n.Path).Scan(&id)
	return id, store.Wrap("add a notification", err)
}

// apiKey is the pattern of API keys.
var apiKey = regexp.MustCompile(`sk_(live|test)_\w+`)

// presentable removes secrets, control characters, and characters that change the direction of the
// text from a message.
func presentable(message string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, apiKey.ReplaceAllString(filing.HideSSNs(message), "•••"))
}

// ListReported lists the rows that the notifications of a kind have reported. Only Kind, Ref and
// Mark are set.
func (o *Outbox) ListReported(ctx context.Context, kind Kind) (map[Pending]bool, error) {
	reported, err := store.List[Pending](ctx, o.db.Read, "list what was reported",
		`SELECT kind, ref, mark FROM notified WHERE kind = $1`, kind)
	all := make(map[Pending]bool, len(reported))
	for _, p := range reported {
		all[p] = true
	}
	return all, err
}

// EndWithin is End within a change.
func EndWithin(ctx context.Context, x store.Execer, kind Kind, batch string) error {
	_, err := x.ExecContext(ctx, `UPDATE notifications SET lasts = 0 WHERE kind = $1 AND batch = $2 AND lasts = 1`,
		kind, batch)
	return err
}

// End records that the reported state is over without a notification. If the state occurs again, it
// is reported again.
func (o *Outbox) End(ctx context.Context, kind Kind, batch string) error {
	return store.Wrap(fmt.Sprintf("end the notification of %s", kind), o.db.Transact(audit.Without(ctx),
		func(tx *sql.Tx) error { return EndWithin(ctx, tx, kind, batch) }))
}

// ForgetCured deletes the record of reported exceptions that are resolved, so that they are
// reported again if they recur.
func (o *Outbox) ForgetCured(ctx context.Context) error {
	_, err := o.db.Exec(
		ctx, `DELETE FROM notified WHERE kind = 'exceptions'
			AND NOT EXISTS (SELECT 1 FROM items i WHERE i.id = notified.ref AND i.exception = notified.mark)`)
	return store.Wrap("delete resolved exceptions", err)
}

// FindLast returns the time of the newest notification of a kind about a batch, or the zero time if
// there is no such notification.
func (o *Outbox) FindLast(ctx context.Context, kind Kind, batch string) (time.Time, error) {
	var at int64
	if err := o.db.Read.QueryRowContext(ctx,
		`SELECT COALESCE(MAX(at), 0) FROM notifications WHERE kind = $1 AND batch = $2`,
		kind, batch).Scan(&at); err != nil {
		return time.Time{}, fmt.Errorf("find the last notification of %s: %w", kind, err)
	}
	return store.FromMillis(at), nil
}

const notificationColumns = `id, kind, batch, subject, body, at, lasts, due, attempts, reported,
		recipients, path`

// Claim claims the notification of the given kinds that has been due the longest. No other process
// gets it before the lease ends. If this process dies, another process claims it then. It reports
// false if nothing is due.
func (o *Outbox) Claim(ctx context.Context, kinds []Kind,
	lease time.Duration) (n Notification, ok bool, err error) {
	if len(kinds) == 0 {
		return Notification{}, false, nil
	}
	in, args := store.Among(o.db.Dialect, kinds, store.ToMillis(o.db.Now()))
	// The loop ends when nothing is due, or when no other process has claimed what was found.
	for {
		found, err := store.List[Notification](ctx, o.db.Read, "find a notification to send",
			`SELECT `+notificationColumns+` FROM notifications WHERE due <> 0 AND due <= $1 AND kind `+in+
				` ORDER BY due, id LIMIT 1`, args...)
		if err != nil || len(found) == 0 {
			return Notification{}, false, err
		}
		n = found[0]
		until := store.FromMillis(store.ToMillis(o.db.Now().Add(lease)))
		mine, err := store.Affected(o.db.Exec(ctx,
			`UPDATE notifications SET due = $3, attempts = attempts + 1 WHERE id = $1 AND due = $2`,
			n.ID, store.ToMillis(n.Due), store.ToMillis(until)))
		if err != nil {
			return Notification{}, false, fmt.Errorf("claim notification %d: %w", n.ID, err)
		}
		if mine == 1 {
			n.Due, n.Attempts = until, n.Attempts+1
			return n, true, nil
		}
	}
}

// RecordDelivery records which targets have received a claimed notification. again is the time to
// notify the other targets, or the zero time if no target is left or sending is abandoned. failure
// is the reason that it did not arrive. It is for a reader of the table and must not contain a
// secret. RecordDelivery does nothing if the claim has expired.
func (o *Outbox) RecordDelivery(ctx context.Context, n Notification, again time.Time, failure string) error {
	slices.Sort(n.Reported)
	_, err := o.db.Exec(ctx,
		`UPDATE notifications SET due = $3, reported = $4, failure = $5 WHERE id = $1 AND due = $2`,
		n.ID, store.ToMillis(n.Due), store.ToMillis(again), strings.Join(slices.Compact(n.Reported), " "), failure)
	return store.Wrap(fmt.Sprintf("record the end of notification %d", n.ID), err)
}

// GiveUp stops sending notifications that are older than age and returns their number.
func (o *Outbox) GiveUp(ctx context.Context, age time.Duration) (int, error) {
	// Write nothing if no notification is old.
	limit := store.ToMillis(o.db.Now().Add(-age))
	var old bool
	if err := o.db.Read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM notifications WHERE due <> 0 AND at < $1)`,
		limit).Scan(&old); err != nil || !old {
		return 0, store.Wrap("look for old notifications", err)
	}
	n, err := store.Affected(o.db.Exec(ctx, `UPDATE notifications SET due = 0 WHERE due <> 0 AND at < $1`, limit))
	return n, store.Wrap("give up notifications", err)
}

// List lists the sent and pending notifications, the newest first. It leaves out those without a
// subject, which are never sent.
func (o *Outbox) List(ctx context.Context, limit int) ([]Notification, error) {
	return store.List[Notification](ctx, o.db.Read, "list notifications",
		`SELECT `+notificationColumns+` FROM notifications WHERE subject <> '' ORDER BY id DESC LIMIT $1`, limit)
}

// SetPageAddress stores the address at which people reach the page, such as
// https://filings.example.com. Notifications use it for their links.
func (o *Outbox) SetPageAddress(ctx context.Context, address string) error {
	_, err := o.db.Exec(audit.Without(ctx), `INSERT INTO page_address (id, address) VALUES (1, $1)
		ON CONFLICT (id) DO UPDATE SET address = excluded.address`, strings.TrimSuffix(address, "/"))
	return store.Wrap("store the address of the page", err)
}

// PageAddress returns the address at which people reach the page, or an empty string if unknown.
func (o *Outbox) PageAddress(ctx context.Context) (string, error) {
	var address string
	err := o.db.Read.QueryRowContext(ctx, `SELECT address FROM page_address WHERE id = 1`).Scan(&address)
	return address, store.Wrap("read the address of the page", store.OrElse(err, nil))
}
