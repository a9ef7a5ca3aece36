package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// What was ordered between a backup and its restore is not in the restored ledger: not
// the orders of rows that were ready at the backup, and not those of spreadsheets that
// were submitted later. Each row is therefore held until it is checked: a person says
// that it was not ordered meanwhile, or it becomes uncertain and is resolved. That goes
// for every row that is not there yet, too, until a person ends the check. A ledger that
// went back in time in another way, such as a fail-over that lost commits, is checked the
// same.

// blockedOnCheck is rowState.blockedOn of a row that is held until it is checked.
const blockedOnCheck = "restored"

// ErrUnchecked is returned where rows are left that were not checked after a restore.
var ErrUnchecked = errors.New("rows are left that may have been ordered before the restore: " +
	"check them on the page under Restore, or with importer resolve restored")

// ErrUncertainCompany means that an assumed creation of a company is unresolved, so the
// check cannot end: the order for that company has to be checked afterwards.
var ErrUncertainCompany = errors.New("rows are left whose company may have been created before the restore: " +
	"resolve them on the page under Uncertain, or with importer resolve")

// Restores are the times when the ledger went back in time: by a restore from a backup, or
// in another way.
type Restores struct{ *database }

// Restores returns the Restores of the ledger's database.
func (l *Ledger) Restores() Restores { return Restores{l.database} }

// Restore is one of them.
type Restore struct {
	Generation   string // that began with it, or an id of its own where none did
	At           time.Time
	By           string // nobody, where it was not restored by this program
	Host         string
	File         string    // of the backup; "" where it was not restored by this program
	BackupAt     time.Time // or the last change that is known from before
	LastRow      int64     // the highest id of the rows that the backup has
	Uncertain    int       // rows that were being sent at the backup
	Schedules    []string  // that were paused
	ResumedAt    time.Time
	ResumedBy    string
	CheckEndedAt time.Time
	CheckEndedBy string
}

// FromBackup reports whether this program restored the ledger from a backup.
func (r *Restore) FromBackup() bool { return r.File != "" }

// Resumed reports whether orders are sent again.
func (r *Restore) Resumed() bool { return !r.ResumedAt.IsZero() }

// Checking reports whether rows are held until they are checked.
func (r *Restore) Checking() bool { return r.CheckEndedAt.IsZero() }

// Window names the time of which the ledger knows nothing.
func (r *Restore) Window() string {
	const layout = "2006-01-02 15:04:05 MST"
	return "between " + r.BackupAt.UTC().Format(layout) + " and " + r.At.UTC().Format(layout)
}

const restoreColumns = `generation, restored_at, restored_by, host, file, backup_at, last_row, uncertain, schedules,
	resumed_at, resumed_by, check_ended_at, check_ended_by`

// Last returns when the ledger last went back in time; ErrNotFound where it never did.
func (l Restores) Last(ctx context.Context) (r Restore, err error) {
	var at, backupAt, resumed, ended int64
	var schedules string
	err = l.read.QueryRowContext(ctx, `SELECT `+restoreColumns+` FROM restores
		ORDER BY restored_at DESC LIMIT 1`).
		Scan(&r.Generation, &at, &r.By, &r.Host, &r.File, &backupAt, &r.LastRow, &r.Uncertain, &schedules, &resumed,
			&r.ResumedBy, &ended, &r.CheckEndedBy)
	if errors.Is(err, sql.ErrNoRows) {
		return r, fmt.Errorf("the last restore: %w", ErrNotFound)
	}
	if err == nil {
		err = json.Unmarshal([]byte(schedules), &r.Schedules)
	}
	r.At, r.BackupAt, r.ResumedAt, r.CheckEndedAt = fromMillis(at), fromMillis(backupAt), fromMillis(resumed),
		fromMillis(ended)
	return r, wrap("read the last restore", err)
}

// record begins the check of a restored ledger.
func (r *Restore) record(ctx context.Context, tx *sql.Tx, now int64) error {
	schedules, err := json.Marshal(append([]string{}, r.Schedules...))
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO restores (generation, restored_at, restored_by, host, file, backup_at,
			last_row, uncertain, schedules)
		SELECT $1, $2, $3, $4, $5, $6, COALESCE(MAX(id), 0),
			COALESCE(SUM(CASE WHEN result = 'placing' AND $5 <> '' THEN 1 ELSE 0 END), 0), $7
		FROM rows`, r.Generation, now, r.By, r.Host, r.File, toMillis(r.BackupAt), string(schedules)); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE control SET check_generation = $1`, r.Generation)
	return err
}

// beginCheck begins the check of a ledger that went back in time without a restore from a
// backup: by a fail-over that lost commits, or a file that was copied. A check that is
// not ended goes on in it, from the time that it began with.
func (db *database) beginCheck(ctx context.Context, tx *sql.Tx, c *control) error {
	r := Restore{Generation: c.lineage}
	var known int64
	var schedules string
	err := tx.QueryRowContext(ctx, `SELECT backup_at, schedules FROM restores WHERE generation = $1 AND $1 <> ''`,
		c.checkGeneration).Scan(&known, &schedules)
	switch {
	case err == nil:
		if err := json.Unmarshal([]byte(schedules), &r.Schedules); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE restores SET check_ended_at = $2 WHERE generation = $1`,
			c.checkGeneration, c.now); err != nil {
			return err
		}
	case errors.Is(err, sql.ErrNoRows):
		if err := tx.QueryRowContext(ctx, `SELECT COALESCE(MAX(updated_at), 0) FROM rows`).Scan(&known); err != nil {
			return err
		}
	default:
		return err
	}
	r.BackupAt = fromMillis(known)
	c.checkGeneration = r.Generation
	return wrap("begin the check of the ledger's rows", r.record(ctx, tx, c.now))
}

// checkMark is what Row.checked is for a row that was checked in this generation, and
// since the ledger last went back in time: what was checked before may have been sent
// afterwards.
func (c *control) checkMark() string { return c.checkGeneration + " " + c.lineage }

// checkMarkSQL is checkMark of the control row k.
const checkMarkSQL = `k.check_generation || ' ' || k.lineage`

// uncheckedRows selects the rows that are held until they are checked, or will be as
// soon as their turn comes.
const uncheckedRows = `FROM control k, rows r JOIN batches b ON b.id = r.batch
	WHERE k.id = 1 AND k.check_generation <> '' AND r.checked <> ` + checkMarkSQL + ` AND r.result = 'ready'
	AND b.open = 1 AND b.canceled = 0`

// Unchecked counts the rows of a batch, or of all batches for "", that are not sent
// before they are checked.
func (l Restores) Unchecked(ctx context.Context, batch string) (n int, err error) {
	err = l.read.QueryRowContext(ctx, `SELECT COUNT(*) `+uncheckedRows+` AND ($1 = '' OR r.batch = $1)`, batch).Scan(&n)
	return n, wrap("count the rows that are not checked", err)
}

// Checking reports whether rows are held until they are checked.
func (l Restores) Checking(ctx context.Context) (bool, error) {
	c, err := l.readControl(ctx, l.read)
	if err != nil {
		return false, err
	}
	return c.checkGeneration != "", nil
}

// ListUnchecked returns the ids of those rows of a batch, and whether rows are checked at
// all.
func (l Restores) ListUnchecked(ctx context.Context, batch string) (ids map[int64]bool, checking bool, err error) {
	c, err := l.readControl(ctx, l.read)
	if err != nil || c.checkGeneration == "" {
		return nil, false, err
	}
	ids = make(map[int64]bool)
	rows, err := l.read.QueryContext(ctx, `SELECT r.id `+uncheckedRows+` AND r.batch = $1`, batch)
	err = each(rows, err, func(scan func(...any) error) error {
		var id int64
		err := scan(&id)
		ids[id] = true
		return err
	})
	return ids, true, wrap("list the rows that are not checked", err)
}

// RestoredBatch is what of a batch may have been ordered between the backup and the
// restore.
type RestoredBatch struct {
	ID, File  string
	New       bool // not in the backup: submitted after the restore
	Unchecked int  // ready, and held until they are checked
	Ready     int  // checked
	Uncertain int
	Placing   int
}

// Batches lists the batches with rows that are not checked, uncertain, or sent now, in the
// order in which they were made.
func (l Restores) Batches(ctx context.Context) ([]RestoredBatch, error) {
	rows, err := l.read.QueryContext(ctx, `SELECT b.id, b.file, q.fresh, q.unchecked, q.ready, q.uncertain, q.placing
		FROM (SELECT r.batch, CASE WHEN MIN(r.id) > MAX(s.last_row) THEN 1 ELSE 0 END AS fresh,
				SUM(CASE WHEN r.result = 'ready' AND k.check_generation <> '' AND r.checked <> `+checkMarkSQL+`
					THEN 1 ELSE 0 END) AS unchecked,
				SUM(CASE WHEN r.result = 'ready' AND (k.check_generation = '' OR r.checked = `+checkMarkSQL+`)
					THEN 1 ELSE 0 END) AS ready,
				SUM(CASE WHEN r.result = 'uncertain' THEN 1 ELSE 0 END) AS uncertain,
				SUM(CASE WHEN r.result = 'placing' THEN 1 ELSE 0 END) AS placing
			FROM control k LEFT JOIN restores s ON s.generation = k.check_generation, rows r
			WHERE k.id = 1 AND r.result IN ('ready', 'uncertain', 'placing')
			GROUP BY r.batch) AS q JOIN batches b ON b.id = q.batch
		WHERE b.open = 1 AND b.canceled = 0 OR q.uncertain > 0
		ORDER BY b.created_at, b.id`)
	all, err := collect(rows, err, func(scan func(...any) error) (b RestoredBatch, err error) {
		err = scan(&b.ID, &b.File, &b.New, &b.Unchecked, &b.Ready, &b.Uncertain, &b.Placing)
		return b, err
	})
	return all, wrap("list the batches of a restored ledger", err)
}

// MarkNotOrdered checks the rows of a batch: a person knows that none of them was ordered
// between the backup and the restore. rows is how many rows the person was shown; it
// returns ErrStale if they are not the same number now.
func (l Restores) MarkNotOrdered(ctx context.Context, batch string, rows int) error {
	err := l.change(ctx, func(tx *sql.Tx, c *control) error {
		var n int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) `+uncheckedRows+` AND r.batch = $1`, batch).
			Scan(&n); err != nil {
			return err
		}
		if n != rows {
			return fmt.Errorf("%w: it has %d rows to check now", ErrStale, n)
		}
		if _, err := tx.ExecContext(ctx, `UPDATE rows SET checked = $2, `+unheld+`
			WHERE batch = $1 AND result NOT IN ('placing', 'uncertain')`, batch, c.checkMark()); err != nil {
			return err
		}
		return l.ration(ctx, tx, c)
	})
	return wrap("check the rows of batch "+batch, err)
}

// unheld lets the rows go on that were held for the check.
const unheld = `message = CASE waits WHEN '` + blockedOnCheck + `' THEN '' ELSE message END,
	waits = CASE waits WHEN '` + blockedOnCheck + `' THEN '' ELSE waits END`

// requireChecked returns ErrUnchecked if a batch has unchecked rows. Canceling would
// record them as not sent.
func (db *database) requireChecked(ctx context.Context, tx *sql.Tx, batch string) error {
	var n int
	err := tx.QueryRowContext(ctx, `SELECT COUNT(*) `+uncheckedRows+` AND r.batch = $1`, batch).Scan(&n)
	if err == nil && n > 0 {
		err = ErrUnchecked
	}
	return err
}

// markChecked notes that rows were checked: they are uncertain now, or were.
func (db *database) markChecked(ctx context.Context, tx *sql.Tx, c *control, ids ...int64) error {
	if c.checkGeneration == "" {
		return nil
	}
	rows := make([]record, len(ids))
	for i, id := range ids {
		rows[i] = record{number("id", id), text("mark", c.checkMark())}
	}
	return db.exec(ctx, tx, `UPDATE rows SET checked = v.mark {{v}} WHERE rows.id = v.id`, rows)
}

// EndCheck ends the check: a person says that the orders of all spreadsheets are known
// that were submitted between the backup and the restore. It returns ErrUnchecked while
// rows are held, and ErrUncertainCompany while an assumed creation of a company is
// uncertain.
func (l Restores) EndCheck(ctx context.Context) error {
	return wrap("end the check of new orders", l.change(ctx, func(tx *sql.Tx, c *control) error {
		var n int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) `+uncheckedRows).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			return ErrUnchecked
		}
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM rows r
			JOIN attempts a ON a.row = r.id AND a.try = r.tries
			WHERE r.result = 'uncertain' AND r.creating = 1 AND a.owner = $1`, assumedOwner).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			return ErrUncertainCompany
		}
		return l.endCheck(ctx, tx, c)
	}))
}

func (l Restores) endCheck(ctx context.Context, tx *sql.Tx, c *control) error {
	if _, err := tx.ExecContext(ctx, `UPDATE restores SET check_ended_at = $2, check_ended_by = $3
		WHERE generation = $1 AND check_ended_at = 0`, c.checkGeneration, c.now, auditPerson(ctx)); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE control SET check_generation = ''`); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE rows SET `+unheld+` WHERE waits = '`+blockedOnCheck+`'`); err != nil {
		return err
	}
	return l.ration(ctx, tx, c)
}

// NothingOrdered ends the halt and the check of a ledger that went back in time: a person
// says that no order was sent that it does not know.
func (l Restores) NothingOrdered(ctx context.Context) error {
	return wrap("end the halt of the restored ledger", l.change(ctx, func(tx *sql.Tx, c *control) error {
		if err := c.endRestored(ctx, tx); err != nil {
			return err
		}
		return l.endCheck(ctx, tx, c)
	}))
}

// endRestored ends the halt of a ledger that went back in time.
func (c *control) endRestored(ctx context.Context, tx *sql.Tx) error {
	c.restoredAt, c.restoredNote = 0, ""
	_, err := tx.ExecContext(ctx, `UPDATE restores SET resumed_at = $1, resumed_by = $2
		WHERE resumed_at = 0`, c.now, auditPerson(ctx))
	return err
}
