package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// ErrGeneration is returned to a process that has opened the ledger before it was
// restored from a backup. What the process has read since may be of rows that the
// backup does not have.
var ErrGeneration = errors.New(
	"the ledger was restored from a backup while this process was running: end the process and start it again")

// Restoration is what a ledger that was restored from a backup says of it.
type Restoration struct {
	Generation string    // begins with a restore; "" for a ledger that never was restored from a backup
	BackupAt   time.Time // when the backup was made
	Halted     Halted    // while its rows are not resolved; the zero value after that
}

// Restoration returns how the ledger was restored last.
func (l Fleet) Restoration(ctx context.Context) (Restoration, error) {
	c, err := l.readControl(ctx, l.read)
	if err != nil {
		return Restoration{}, err
	}
	r := Restoration{Generation: c.generation, BackupAt: fromMillis(c.backupAt)}
	if c.restoredAt != 0 {
		r.Halted = c.restored()
	}
	return r, nil
}

// IsCurrent returns why this process can do nothing more than record the answers to its
// orders: ErrNewer, or ErrGeneration.
func (l Fleet) IsCurrent(ctx context.Context) error {
	c, err := l.readControl(ctx, l.read)
	switch {
	case err != nil:
		return err
	case c.schema > l.schema:
		return newer(c.schema, l.schema, c.writtenBy)
	case l.isPast(c):
		return ErrGeneration
	}
	return nil
}

// isPast reports whether the ledger was restored from a backup since this process
// opened it.
func (db *database) isPast(c *control) bool { return c.generation != db.generation }

// past returns the halt of a process whose ledger was restored since it began.
func (c *control) past() Halted {
	h := c.restored()
	h.Note = ErrGeneration.Error()
	return h
}

// loadGeneration reads the generation that this process opens.
func (db *database) loadGeneration(ctx context.Context) error {
	return wrap("read the ledger's generation",
		db.read.QueryRowContext(ctx, `SELECT generation, lineage FROM control WHERE id = 1`).
			Scan(&db.generation, &db.restoreDetector.opened))
}

// ownsRow reports whether a row of a restored ledger is the row of the same id that
// this process knows: one that was submitted before the backup was made.
func (db *database) ownsRow(ctx context.Context, tx *sql.Tx, c *control, row int64) (bool, error) {
	if !db.restoreDetector.wasIn(c.restoredLineage) || row > c.restoredRows {
		return false, nil
	}
	var n int
	err := tx.QueryRowContext(ctx,
		`SELECT COUNT(*) FROM rows r JOIN batches b ON b.id = r.batch WHERE r.id = $1 AND b.open <> 0`, row).Scan(&n)
	return n > 0, wrap("find a row of before the restore", err)
}

// admit decides what of a group an earlier generation may still write: the answers to
// its orders, for rows that the backup has. Nothing else is written.
func (g *groupWriter) admit(group []*transition) ([]*transition, error) {
	if !g.db.isPast(g.c) {
		return group, nil
	}
	var admitted []*transition
	for _, t := range group {
		switch {
		case t.event != nil:
			admitted = append(admitted, t)
			continue
		case t.intent != nil:
			t.begun = Begun{Halted: g.c.past()}
			continue
		case t.outcome != nil && !t.unsent:
			mine, err := g.db.ownsRow(g.ctx, g.tx, g.c, t.outcome.Row)
			if err != nil {
				return nil, err
			}
			if mine {
				admitted = append(admitted, t)
				continue
			}
		}
		t.err = ErrGeneration
	}
	return admitted, nil
}

// wasIn reports whether this process has opened the ledger, or committed to it, under
// a lineage.
func (h *restoreDetector) wasIn(lineage string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return lineage != "" && (lineage == h.opened || h.own[lineage])
}

// keepOwn keeps the attempts that a restored ledger may learn from this process.
func (db *database) keepOwn(ctx context.Context, tx *sql.Tx, c *control, all []pastAttempt) ([]pastAttempt, error) {
	if !db.isPast(c) {
		return all, nil
	}
	var own []pastAttempt
	for _, r := range all {
		mine, err := db.ownsRow(ctx, tx, c, r.intent.Row)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", r.intent.Row, err)
		}
		if mine {
			own = append(own, r)
		}
	}
	return own, nil
}
