package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"os"
	"time"
)

// Backups are the backups of the ledger, as its processes have made them.
type Backups struct{ *database }

// Backups returns the Backups of the ledger's database.
func (l *Ledger) Backups() Backups { return Backups{l.database} }

// Backup is one backup.
type Backup struct {
	ID        string
	StartedAt time.Time
	EndedAt   time.Time // zero while it is being made
	Host      string    // the machine that the file is on
	File      string
	Bytes     int64
	Commits   int64
	Encrypted bool
	Scheduled bool
	Failure   string // why there is none
}

// BackupRenewal is how often a process that makes a backup says so: one that has not for
// three times as long has died.
const BackupRenewal = 20 * time.Second

// retryBackup is how long a failed backup waits at most for the next try.
const retryBackup = 15 * time.Minute

// Begin records a backup that is about to be made.
func (l Backups) Begin(ctx context.Context, b Backup) (Backup, error) {
	err := l.change(ctx, func(tx *sql.Tx, c *control) (err error) {
		b, err = insertBackup(ctx, tx, c, b)
		return err
	})
	return b, wrap("record the backup", err)
}

// BeginDue records a scheduled backup, unless the last one is younger than every or
// another process is making one. Of a whole fleet one process makes it, and calls Renew
// every BackupRenewal until End or Forget. While none is due, nothing is written.
func (l Backups) BeginDue(ctx context.Context, b Backup, every time.Duration) (Backup, bool, error) {
	c, err := l.readControl(ctx, l.read)
	if err != nil {
		return b, false, wrap("see whether a backup is due", err)
	}
	due, err := c.isBackupDue(ctx, l.read, every)
	if err != nil || !due {
		return b, false, wrap("see whether a backup is due", err)
	}
	err = l.change(withoutAudit(ctx), func(tx *sql.Tx, c *control) error {
		if due, err = c.isBackupDue(ctx, tx, every); err != nil || !due {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE backups SET ended_at = $1, failure = $2
			WHERE scheduled = 1 AND ended_at = 0`, c.now, "the process that made it ended"); err != nil {
			return err
		}
		b.Scheduled = true
		b, err = insertBackup(ctx, tx, c, b)
		return err
	})
	return b, due, wrap("record the backup", err)
}

// isBackupDue reports whether a scheduled backup is due: the last one is old enough, the
// last attempt did not just fail, and no living process is making one.
func (c *control) isBackupDue(ctx context.Context, q querier, every time.Duration) (bool, error) {
	var last, failed, making int64
	err := q.QueryRowContext(ctx, `SELECT
			COALESCE(MAX(CASE WHEN ended_at <> 0 AND failure = '' THEN started_at ELSE 0 END), 0),
			COALESCE(MAX(CASE WHEN failure <> '' OR ended_at = 0 THEN started_at ELSE 0 END), 0),
			COALESCE(MAX(CASE WHEN ended_at = 0 THEN alive_at ELSE 0 END), 0)
		FROM backups WHERE scheduled = 1`).Scan(&last, &failed, &making)
	again := min(every, retryBackup).Milliseconds()
	return last+every.Milliseconds() <= c.now && failed+again <= c.now &&
		making+3*BackupRenewal.Milliseconds() <= c.now, err
}

func insertBackup(ctx context.Context, tx *sql.Tx, c *control, b Backup) (Backup, error) {
	b.ID, b.StartedAt = rand.Text()[:12], fromMillis(c.now)
	b.Host, _ = os.Hostname()
	_, err := tx.ExecContext(ctx, `INSERT INTO backups (id, started_at, alive_at, host, file, encrypted, scheduled)
		VALUES ($1,$2,$2,$3,$4,$5,$6)`, b.ID, c.now, b.Host, b.File, boolInt(b.Encrypted), boolInt(b.Scheduled))
	return b, err
}

// End records what became of a backup.
func (l Backups) End(ctx context.Context, b Backup) error {
	return wrap("record the backup", l.change(withoutAudit(ctx), func(tx *sql.Tx, c *control) error {
		_, err := tx.ExecContext(
			ctx, `UPDATE backups SET ended_at = $2, file = $3, bytes = $4, commits = $5, failure = $6
			WHERE id = $1`, b.ID, c.now, b.File, b.Bytes, b.Commits, b.Failure)
		return err
	}))
}

// Renew says that a scheduled backup is still being made.
func (l Backups) Renew(ctx context.Context, id string) error {
	return wrap("record the backup", l.change(withoutAudit(ctx), func(tx *sql.Tx, c *control) error {
		_, err := tx.ExecContext(ctx, `UPDATE backups SET alive_at = $2 WHERE id = $1`, id, c.now)
		return err
	}))
}

// Forget removes the record of a backup that was given up: the next one is due at once.
func (l Backups) Forget(ctx context.Context, id string) error {
	return wrap("remove the record of the backup", l.change(withoutAudit(ctx), func(tx *sql.Tx, _ *control) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM backups WHERE id = $1 AND ended_at = 0`, id)
		return err
	}))
}

// SelectOwn returns those of the ids that are scheduled backups of this ledger.
func (l Backups) SelectOwn(ctx context.Context, ids []string) (own map[string]bool, err error) {
	own = make(map[string]bool)
	in, args := among(l.dialect, ids)
	rows, err := l.read.QueryContext(ctx, `SELECT id FROM backups WHERE scheduled = 1 AND id `+in, args...)
	err = each(rows, err, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		own[id] = true
		return err
	})
	return own, wrap("find the backups of the ledger", err)
}

// List lists the latest backups, the newest first.
func (l Backups) List(ctx context.Context, limit int) ([]Backup, error) {
	rows, err := l.read.QueryContext(ctx, `SELECT id, started_at, ended_at, host, file, bytes, commits, encrypted,
			scheduled, failure
		FROM backups ORDER BY started_at DESC, id LIMIT $1`, limit)
	all, err := collect(rows, err, scanBackup)
	return all, wrap("list the backups", err)
}

// Last is the newest backup that there is; ErrNotFound where there is none.
func (l Backups) Last(ctx context.Context) (Backup, error) {
	b, err := scanBackup(func(into ...any) error {
		return l.read.QueryRowContext(ctx, `SELECT id, started_at, ended_at, host, file, bytes, commits, encrypted,
				scheduled, failure
			FROM backups WHERE ended_at <> 0 AND failure = '' ORDER BY started_at DESC LIMIT 1`).Scan(into...)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return b, ErrNotFound
	}
	return b, wrap("find the last backup", err)
}

func scanBackup(scan func(...any) error) (b Backup, err error) {
	var started, ended int64
	err = scan(&b.ID, &started, &ended, &b.Host, &b.File, &b.Bytes, &b.Commits, &b.Encrypted, &b.Scheduled,
		&b.Failure)
	b.StartedAt, b.EndedAt = fromMillis(started), fromMillis(ended)
	return b, err
}
