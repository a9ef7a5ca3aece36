package ledger

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// A ledger that went back in time lacks the orders that were sent since, so their rows look unsent.
// Nothing is sent from any batch until a person has ended the check. During the check each ready
// row becomes uncertain and is resolved, and lost spreadsheets are submitted again so that their
// rows are checked, too.

// ErrUnchecked means that the batch, or the ledger, has rows that are not checked.
var ErrUnchecked = errors.New("rows are left that may have been ordered before the ledger went back in time: " +
	"check them with importer resolve restored")

// ErrUncertainCompany means that the creation of a company is uncertain. Once it is
// resolved as created, its row has an order to check.
var ErrUncertainCompany = errors.New("rows are left whose company may have been created: " +
	"resolve them on the page under Uncertain, or with importer resolve")

// ErrHeldBack means that rows are held back, for example because the filing service has another name
// for their company. A person may have confirmed them since the backup, and they may have been ordered.
var ErrHeldBack = errors.New("rows are held back because of the filing service's records, and may have been " +
	"ordered before: confirm or correct them, then check them with importer resolve restored")

// RestoreCheck is the state of the check.
type RestoreCheck struct {
	// Halted is the zero value if no check is in progress.
	Halted Halted
	// Since is the time of the last commit that the ledger still has.
	Since time.Time
}

// Restores checks a ledger that went back in time.
type Restores struct{ *database }

// Restores returns the Restores of the ledger's database.
func (l *Ledger) Restores() Restores { return Restores{l.database} }

// Check returns the state of the check.
func (l Restores) Check(ctx context.Context) (RestoreCheck, error) {
	c, err := l.readControl(ctx, l.Read)
	if err != nil || c.restoredAt == 0 {
		return RestoreCheck{}, err
	}
	return RestoreCheck{Halted: c.restored(), Since: store.FromMillis(c.restoredFrom)}, nil
}

// Begin begins the check of a ledger that went back in time unnoticed, to its state at since.
func (l Restores) Begin(ctx context.Context, since time.Time) error {
	return store.Wrap("begin the check of the restored ledger", l.change(ctx, func(tx *Tx) error {
		return tx.control.haltRestored(ctx, tx.Tx, "a person said so", store.ToMillis(since))
	}))
}

// uncheckedRows selects the rows that may have been sent without a record in the ledger. A
// batch that waits for approval may have been approved since.
const uncheckedRows = `r.result = 'ready' AND r.checked_at < (SELECT restored_at FROM control WHERE id = 1)
	AND r.batch IN (SELECT id FROM batches WHERE (open = 1 OR prepared = 1) AND canceled = 0)`

// heldBackRows selects the rows that a comparison holds back. Their spreadsheet was submitted again, or
// a person may have confirmed them since the backup.
const heldBackRows = `r.result = 'invalid' AND r.request <> '' AND r.corrected_by = 0 AND r.withdrawn = 0
	AND r.batch IN (SELECT id FROM batches WHERE canceled = 0)`

// Unchecked lists the unchecked rows. Rows of the oldest batch are first, because it has the
// purchase.
func (l Restores) Unchecked(ctx context.Context) ([]Row, error) { return l.list(ctx, uncheckedRows) }

// HeldBack lists the rows for which End returns ErrHeldBack.
func (l Restores) HeldBack(ctx context.Context) ([]Row, error) { return l.list(ctx, heldBackRows) }

func (l Restores) list(ctx context.Context, rows string) (all []Row, err error) {
	for row, err := range streamRows(ctx, l.Read, selectRows+rows+` ORDER BY r.id`) {
		if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, nil
}

// MarkChecked marks ready rows as checked, because none of their orders was sent.
func (l Restores) MarkChecked(ctx context.Context, ids ...int64) error {
	return store.Wrap("mark rows as checked", l.change(ctx, func(tx *Tx) error {
		rows := make([]store.Record, len(ids))
		for i, id := range ids {
			rows[i] = store.Record{store.Number("id", id), store.Number("at", tx.control.checkTime())}
		}
		return l.ExecRecords(ctx, tx.Tx, `UPDATE rows SET checked_at = v.at {{v}} WHERE rows.id = v.id`, rows)
	}))
}

// End ends the check after a person has confirmed that the ledger has every spreadsheet that was
// submitted since. It returns ErrUnchecked, ErrHeldBack, ErrUncertainCompany and ErrImporting.
func (l Restores) End(ctx context.Context) error {
	return store.Wrap("end the check of the restored ledger", l.change(ctx, func(tx *Tx) error {
		for _, left := range []struct {
			rows string
			err  error
		}{
			{uncheckedRows, ErrUnchecked},
			{heldBackRows, ErrHeldBack},
			{`r.result IN ('uncertain', 'placing') AND r.creating = 1`, ErrUncertainCompany},
		} {
			var n int
			if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM rows r WHERE `+left.rows).Scan(&n); err != nil {
				return err
			}
			if n > 0 {
				return left.err
			}
		}
		if err := tx.requireNoImport(ctx); err != nil {
			return err
		}
		tx.control.endRestored()
		return nil
	}))
}

// requireNoImport returns ErrImporting if a live process is submitting a spreadsheet, whose rows
// cannot be checked yet.
func (tx *Tx) requireNoImport(ctx context.Context) error {
	owners, err := store.List[string](ctx, tx, "list the imports",
		`SELECT owner FROM batches WHERE open = 0 AND prepared = 0 AND canceled = 0`)
	for _, owner := range owners {
		err = errors.Join(err, tx.refuseForeignImport(ctx, owner))
	}
	return err
}

// EndUnsent ends the check and keeps every row ready, after a person has confirmed that no order is
// missing from the ledger.
func (l Restores) EndUnsent(ctx context.Context) error {
	return store.Wrap("end the check of the restored ledger", l.change(ctx, func(tx *Tx) error {
		tx.control.endRestored()
		return nil
	}))
}

// requireChecked returns ErrUnchecked if a batch has unchecked rows. Canceling would record them as
// not sent.
func (tx *Tx) requireChecked(ctx context.Context, batch string) error {
	var n int
	err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM rows r WHERE r.batch = $1 AND `+uncheckedRows, batch).Scan(&n)
	if err == nil && n > 0 {
		err = ErrUnchecked
	}
	return err
}

// haltRestored halts the fleet because the ledger lacks commits. Every process notices the new
// lineage. A check in progress starts again, from the time that it began with. Schedules are
// paused, because a run that the ledger lacks looks due.
func (c *control) haltRestored(ctx context.Context, tx *sql.Tx, note string, from int64) error {
	if c.restoredAt == 0 {
		c.restoredFrom = from
	}
	// The clock may have been ahead when rows were checked.
	var checked int64
	if err := tx.QueryRowContext(ctx, `SELECT COALESCE(MAX(checked_at), 0) FROM rows`).Scan(&checked); err != nil {
		return store.Wrap("read when rows were checked", err)
	}
	c.restoredAt, c.restoredNote, c.lineage = max(c.now, checked+1), note, newLineage()
	_, err := tx.ExecContext(ctx, `UPDATE schedules SET paused = 1`)
	return store.Wrap("pause the schedules", err)
}

// checkTime returns the time of a check that happens now. The clock may be behind restoredAt.
func (c *control) checkTime() int64 { return max(c.now, c.restoredAt) }

func (c *control) endRestored() { c.restoredAt, c.restoredNote, c.restoredFrom = 0, "", 0 }

// restored returns the halt of a ledger that went back in time.
func (c *control) restored() Halted {
	return Halted{Reason: filing.HaltRestored, Note: c.restoredNote, Since: store.FromMillis(c.restoredAt)}
}

// outdated returns the halt of a process whose ledger was migrated by a newer version.
func outdated(newer error) Halted {
	return Halted{Reason: filing.HaltVersion, Note: newer.Error()}
}

// RequireCurrent returns ErrNewer if this process may only record the answers to its orders.
func (l Fleet) RequireCurrent(ctx context.Context) error {
	c, err := l.readControl(ctx, l.Read)
	if err != nil {
		return err
	}
	return l.RefuseNewer(c.schema, c.writtenBy)
}
