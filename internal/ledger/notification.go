package ledger

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

	"github.com/bulkfiling/bulkfiling/internal/store"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// NotificationKind is a reason for a notification.
type NotificationKind string

// The kinds of notifications.
const (
	// NotifyFunds reports that the funds ran out or suffice again.
	NotifyFunds NotificationKind = "funds"
	// NotifyKey reports that the filing service refuses the API key.
	NotifyKey NotificationKind = "key"
	// NotifyBatch reports that a batch has ended.
	NotifyBatch NotificationKind = "batch"
	// NotifyUncertain reports rows that only a person can resolve.
	NotifyUncertain NotificationKind = "uncertain"
	// NotifyExceptions reports filings that need a correction by a person before they can go on.
	NotifyExceptions NotificationKind = "exceptions"
	// NotifyTwice reports two purchases of one filing, one of which is to be refunded.
	NotifyTwice NotificationKind = "bought-twice"
	// NotifySchedule reports that a schedule ran or failed. The process that runs the schedule adds
	// it.
	NotifySchedule NotificationKind = "season"
	// NotifyDueSoon reports filings that are due soon and not placed.
	NotifyDueSoon NotificationKind = "due-soon"
	// NotifyFundsNeeded reports that the schedules will need more than the available funds.
	NotifyFundsNeeded NotificationKind = "funds-needed"
	// NotifyAccess reports that a link, an address, a passkey or a role was granted, or that the
	// approval policy was weakened.
	NotifyAccess NotificationKind = "access"
	// NotifyBackup reports that a scheduled backup failed or works again.
	NotifyBackup NotificationKind = "backup"

	NotifyApprovalNeeded NotificationKind = "approval-needed"
	NotifyApproved       NotificationKind = "approved"
	// NotifySentBack reports that an approver returned a batch to its preparer.
	NotifySentBack NotificationKind = "sent-back"
	NotifyRejected NotificationKind = "rejected"
)

// NotificationKinds lists all kinds.
var NotificationKinds = []NotificationKind{NotifyFunds, NotifyKey, NotifyBatch, NotifyUncertain, NotifyExceptions,
	NotifyTwice,
	NotifySchedule, NotifyDueSoon, NotifyFundsNeeded, NotifyAccess,
	NotifyBackup, NotifyApprovalNeeded, NotifyApproved, NotifySentBack, NotifyRejected}

// Notification is a message to a person, sent once for a whole fleet.
type Notification struct {
	ID   int64
	Kind NotificationKind
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

	// Tries counts the attempts to send it.
	Tries int
	// Reported are the targets that have received it.
	Reported []string

	// Due is the time of the next attempt to send it, or the end of its claim.
	Due time.Time
}

// Pending is a row, or an item of a row, that a person needs to know about.
type Pending struct {
	Kind NotificationKind
	// Ref is the ID of the row, or of the item for an exception.
	Ref int64
	// Mark is the uncertain attempt, the exception's code, or the row that bought the same.
	Mark     int64
	Row      int64
	Batch    string
	Reserved money.Cost
}

// Reportable is the state of the ledger that may need a notification.
type Reportable struct {
	// Mode is "test" or "live". Empty if nothing was sent yet.
	Mode string
	// Halt is HaltFunds or HaltKey if a person must end the halt.
	Halt filing.Halt
	// HaltNote is the message of the filing service.
	HaltNote  string
	HaltSince time.Time
	// Short reports whether rows wait for funds.
	Short bool

	// FundsReported and KeyReported report whether the state was reported and is not over yet.
	FundsReported, KeyReported bool
	// Ended are the finished batches that are not reported yet.
	Ended []string
	// Resumed are the batches that were reported as finished and have work again.
	Resumed []string
	// Pending are in the order of their rows.
	Pending []Pending
	// Cured reports whether reported exceptions are resolved. See ForgetCured.
	Cured bool
}

const (
	// Every process runs this query every few seconds, so each part uses an index. A part that
	// rarely finds a row uses the order of its index, and a batch is looked up as a range.
	// Otherwise PostgreSQL would read all rows.
	selectReportable = `SELECT c.mode, c.paused AS halt, c.paused_note AS halt_note, c.paused_at AS halt_since,
			EXISTS (
				SELECT 1 FROM (SELECT blocked_on FROM rows WHERE blocked_on <> '' AND blocked_on = 'funds'
					ORDER BY blocked_on LIMIT 1) AS w) AS short,
			EXISTS (SELECT 1 FROM notifications WHERE kind = 'funds' AND batch = '' AND lasts = 1) AS funds_reported,
			EXISTS (SELECT 1 FROM notifications WHERE kind = 'key' AND batch = '' AND lasts = 1) AS key_reported,
			EXISTS (SELECT 1 FROM notified t WHERE t.kind = 'exceptions'
			AND NOT EXISTS (SELECT 1 FROM items i WHERE i.id = t.ref AND i.exception = t.mark)) AS cured
		FROM control c
		WHERE c.id = 1`
	selectEndings = `SELECT s.id, s.notified FROM (SELECT b.id, b.created_at,
			EXISTS (SELECT 1 FROM notifications n WHERE n.kind = 'batch' AND n.batch = b.id
				AND n.lasts = 1) AS notified,
			EXISTS (
				SELECT 1 FROM (SELECT r.id FROM rows r
					WHERE r.batch >= b.id AND r.batch <= b.id AND r.result = 'ready' AND r.blocked_on = ''
					ORDER BY r.batch LIMIT 1) AS w)
			OR EXISTS (
				SELECT 1 FROM (SELECT r.id FROM rows r
					WHERE r.batch >= b.id AND r.batch <= b.id AND r.blocked_on <> ''
					ORDER BY r.batch LIMIT 1) AS w)
			OR b.id IN (SELECT r.batch FROM rows r WHERE r.result = 'placing') AS works FROM batches b
			WHERE b.open = 1) AS s
		WHERE s.notified = s.works
		ORDER BY s.created_at DESC, s.id LIMIT 100`
	selectPending = `SELECT 'uncertain' AS kind, r.id AS ref, r.tries AS mark, r.id AS "row", r.batch,
			r.reserved AS "reserved.amount", r.certainty AS "reserved.certainty"
		FROM rows r
		WHERE r.result = 'uncertain'
		AND NOT EXISTS (SELECT 1 FROM notified t WHERE t.kind = 'uncertain' AND t.ref = r.id AND t.mark = r.tries)
		UNION ALL SELECT 'exceptions', i.id, i.exception, i.row, r.batch, 0, 0
		FROM items i JOIN rows r ON r.id = i.row
		WHERE i.exception <> 0
		AND NOT EXISTS (SELECT 1 FROM notified t WHERE t.kind = 'exceptions' AND t.ref = i.id AND t.mark = i.exception)
		UNION ALL SELECT DISTINCT 'bought-twice', p.row, p.twin, p.row, r.batch, CAST(0 AS BIGINT), 0
		FROM purchases p JOIN rows r ON r.id = p.row
		WHERE p.twin <> 0 AND p.bought = 1
		AND NOT EXISTS (SELECT 1 FROM notified t WHERE t.kind = 'bought-twice' AND t.ref = p.row AND t.mark = p.twin)
		ORDER BY 4, 2 LIMIT 10000`
)

// FindReportable reads the state that may need a notification. It changes nothing.
func (l Notifications) FindReportable(ctx context.Context) (Reportable, error) {
	n, err := store.Find[Reportable](ctx, l.Read, ErrNotFound, "find what to report", selectReportable)
	if err != nil {
		return n, err
	}
	endings, err := store.List[struct {
		ID       string
		Notified bool
	}](ctx, l.Read, "find finished batches", selectEndings)
	if err != nil {
		return n, err
	}
	for _, e := range endings {
		if e.Notified {
			n.Resumed = append(n.Resumed, e.ID)
		} else {
			n.Ended = append(n.Ended, e.ID)
		}
	}
	n.Pending, err = store.List[Pending](ctx, l.Read, "find unreported rows", selectPending)
	return n, err
}

// errReported ends a change that another process has already made.
var errReported = errors.New("another process reports it")

// Add adds a notification. It reports false if it is recorded already, usually by another process.
// That is the case if the same state lasts already, if it is over, or if another notification has
// one of the rows.
func (l Notifications) Add(ctx context.Context, n Notification) (kept bool, err error) {
	marks := make([]store.Record, len(n.Pending))
	for i, u := range n.Pending {
		marks[i] = store.Record{store.Text("kind", n.Kind), store.Number("ref", u.Ref), store.Number("mark", u.Mark)}
	}
	err = l.change(ctx, func(tx *sql.Tx, _ *control) error {
		// Adding notifications locks the control row, so nothing read here changes before the
		// commit.
		var lasts, taken bool
		if err := tx.QueryRowContext(ctx,
			`SELECT EXISTS (SELECT 1 FROM notifications WHERE kind = $1 AND batch = $2 AND lasts = 1)`, n.Kind,
			n.Batch).Scan(&lasts); err != nil {
			return err
		}
		err := l.QueryRecords(
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
			if err := endNotification(ctx, tx, n.Kind, n.Batch); err != nil {
				return err
			}
		}
		id, err := l.insertNotification(ctx, tx, n)
		if err != nil {
			return err
		}
		for i := range marks {
			marks[i] = append(marks[i], store.Number("notification", id))
		}
		return l.ExecRecords(
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

// insertNotification adds a notification and returns its ID. Every subject begins with the
// product's name, so that a mailbox can sort the messages. A subject about test orders mentions the
// test mode.
func (db *database) insertNotification(ctx context.Context, tx *sql.Tx, n Notification) (id int64, err error) {
	now := store.ToMillis(db.Now())
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

// addNotification is insertNotification for callers that need no ID.
func (db *database) addNotification(ctx context.Context, tx *sql.Tx, n Notification) error {
	_, err := db.insertNotification(ctx, tx, n)
	return err
}

// ListReported lists the rows that the notifications of a kind have reported. Only Kind, Ref and
// Mark are set.
func (l Notifications) ListReported(ctx context.Context, kind NotificationKind) (map[Pending]bool, error) {
	reported, err := store.List[Pending](ctx, l.Read, "list what was reported",
		`SELECT kind, ref, mark FROM notified WHERE kind = $1`, kind)
	all := make(map[Pending]bool, len(reported))
	for _, p := range reported {
		all[p] = true
	}
	return all, err
}

func endNotification(ctx context.Context, x store.Execer, kind NotificationKind, batch string) error {
	_, err := x.ExecContext(ctx, `UPDATE notifications SET lasts = 0 WHERE kind = $1 AND batch = $2 AND lasts = 1`,
		kind, batch)
	return err
}

// End records that the reported state is over without a notification. If the state occurs again, it
// is reported again.
func (l Notifications) End(ctx context.Context, kind NotificationKind, batch string) error {
	return store.Wrap(fmt.Sprintf("end the notification of %s", kind), l.Transact(audit.Without(ctx),
		func(tx *sql.Tx, _ bool) error { return endNotification(ctx, tx, kind, batch) }))
}

// ForgetCured deletes the record of reported exceptions that are resolved, so that they are
// reported again if they recur.
func (l Notifications) ForgetCured(ctx context.Context) error {
	_, err := l.Exec(
		ctx, `DELETE FROM notified WHERE kind = 'exceptions'
			AND NOT EXISTS (SELECT 1 FROM items i WHERE i.id = notified.ref AND i.exception = notified.mark)`)
	return store.Wrap("delete resolved exceptions", err)
}

// FindLast returns the time of the newest notification of a kind about a batch, or the zero time if
// there is no such notification.
func (l Notifications) FindLast(ctx context.Context, kind NotificationKind, batch string) (time.Time, error) {
	var at int64
	if err := l.Read.QueryRowContext(ctx,
		`SELECT COALESCE(MAX(at), 0) FROM notifications WHERE kind = $1 AND batch = $2`,
		kind, batch).Scan(&at); err != nil {
		return time.Time{}, fmt.Errorf("find the last notification of %s: %w", kind, err)
	}
	return store.FromMillis(at), nil
}

const notificationColumns = `id, kind, batch, subject, body, at, lasts, due, tries, reported,
		recipients, path`

// Claim claims the notification of the given kinds that has been due the longest. No other process
// gets it before the lease ends. If this process dies, another process claims it then. It reports
// false if nothing is due.
func (l Notifications) Claim(ctx context.Context, kinds []NotificationKind,
	lease time.Duration) (n Notification, ok bool, err error) {
	in, args := store.Among(l.Dialect, kinds, store.ToMillis(l.Now()))
	for len(kinds) > 0 {
		found, err := store.List[Notification](ctx, l.Read, "find a notification to send",
			`SELECT `+notificationColumns+` FROM notifications WHERE due <> 0 AND due <= $1 AND kind `+in+
				` ORDER BY due, id LIMIT 1`, args...)
		if err != nil || len(found) == 0 {
			return Notification{}, false, err
		}
		n = found[0]
		until := store.FromMillis(store.ToMillis(l.Now().Add(lease)))
		mine, err := store.Affected(l.Exec(ctx,
			`UPDATE notifications SET due = $3, tries = tries + 1 WHERE id = $1 AND due = $2`,
			n.ID, store.ToMillis(n.Due), store.ToMillis(until)))
		if err != nil {
			return Notification{}, false, fmt.Errorf("claim notification %d: %w", n.ID, err)
		}
		if mine == 1 {
			n.Due, n.Tries = until, n.Tries+1
			return n, true, nil
		}
	}
	return Notification{}, false, nil
}

// RecordDelivery records which targets have received a claimed notification. again is the time to
// notify the other targets, or the zero time if no target is left or sending is abandoned. failure
// is the reason that it did not arrive. It is for a reader of the table and must not contain a
// secret. RecordDelivery does nothing if the claim has expired.
func (l Notifications) RecordDelivery(ctx context.Context, n Notification, again time.Time, failure string) error {
	slices.Sort(n.Reported)
	_, err := l.Exec(ctx,
		`UPDATE notifications SET due = $3, reported = $4, failure = $5 WHERE id = $1 AND due = $2`,
		n.ID, store.ToMillis(n.Due), store.ToMillis(again), strings.Join(slices.Compact(n.Reported), " "), failure)
	return store.Wrap(fmt.Sprintf("record the end of notification %d", n.ID), err)
}

// GiveUp stops sending notifications that are older than age and returns their number.
func (l Notifications) GiveUp(ctx context.Context, age time.Duration) (int, error) {
	// Write nothing if no notification is old.
	limit := store.ToMillis(l.Now().Add(-age))
	var old bool
	if err := l.Read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM notifications WHERE due <> 0 AND at < $1)`,
		limit).Scan(&old); err != nil || !old {
		return 0, store.Wrap("look for old notifications", err)
	}
	n, err := store.Affected(l.Exec(ctx, `UPDATE notifications SET due = 0 WHERE due <> 0 AND at < $1`, limit))
	return n, store.Wrap("give up notifications", err)
}

// List lists the sent and pending notifications, the newest first.
func (l Notifications) List(ctx context.Context, limit int) ([]Notification, error) {
	return store.List[Notification](ctx, l.Read, "list notifications",
		`SELECT `+notificationColumns+` FROM notifications ORDER BY id DESC LIMIT $1`, limit)
}

// selectBacklog reads the ready rows in two parts, each with a separate index.
const selectBacklog = `SELECT COUNT(*), CAST(COALESCE(SUM(` + need + `), 0) AS BIGINT), COALESCE(MAX(r.certainty), 0)
	FROM (SELECT batch, cost, reserved, certainty FROM rows WHERE result = 'ready' AND blocked_on = ''
		UNION ALL
		SELECT batch, cost, reserved, certainty FROM rows WHERE result = 'ready' AND blocked_on <> '') AS r
	CROSS JOIN batches b
	WHERE b.id = r.batch AND b.open = 1`

// Backlog returns the number of rows that wait to be placed and their known cost beyond the
// reservations.
func (l *Ledger) Backlog(ctx context.Context) (rows int, cost money.Cost, err error) {
	err = l.Read.QueryRowContext(ctx, selectBacklog).Scan(&rows, &cost.Amount, &cost.Certainty)
	return rows, cost, store.Wrap("sum up the rows that wait", err)
}
