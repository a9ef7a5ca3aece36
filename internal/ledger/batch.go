package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// CreateBatch begins the import of a batch. It reports false if the batch already exists. Its rows
// must not be added again then. An import that a crash interrupted is deleted and started again.
// CreateBatch returns ErrImporting if another living process is importing the batch.
func (l *Ledger) CreateBatch(ctx context.Context, b Batch) (created bool, err error) {
	columns, err := json.Marshal(b.Columns)
	if err != nil {
		return false, fmt.Errorf("encode the columns of batch %s: %w", b.ID, err)
	}
	fields, err := json.Marshal(b.Fields)
	if err != nil {
		return false, fmt.Errorf("encode the fields of batch %s: %w", b.ID, err)
	}
	err = l.change(ctx, func(tx *Tx) error {
		var open, prepared, canceled bool
		var owner string
		switch err := tx.QueryRowContext(ctx, `SELECT open, prepared, canceled, owner FROM batches WHERE id = $1`,
			b.ID).Scan(&open, &prepared, &canceled, &owner); {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return err
		case open || prepared || canceled: // a batch canceled before it began stays canceled
			return nil
		default:
			if err := tx.refuseForeignImport(ctx, owner); err != nil {
				return err
			}
			if err := tx.deleteBatch(ctx, b.ID); err != nil {
				return err
			}
		}
		created = true
		_, err := tx.ExecContext(
			ctx, `INSERT INTO batches (id, file, sheet, product, options, again, columns, fields, owner,
					created_by, created_at, corrects, root)
				VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,
					COALESCE((SELECT root FROM batches WHERE id = $12), $1))`,
			b.ID, b.File, b.Sheet, b.Product, b.Options, b.Again, string(columns), string(fields),
			l.owner.ID, b.CreatedBy, store.ToMillis(l.Now()), b.Corrects)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("create batch %s: %w", b.ID, err)
	}
	return created, nil
}

// deleteBatch deletes a batch that was never open, with its rows.
func (tx *Tx) deleteBatch(ctx context.Context, batch string) error {
	if err := tx.db.gate.Forget(ctx, tx, batch); err != nil {
		return err
	}
	for _, query := range []string{`DELETE FROM secrets WHERE batch = $1`,
		`DELETE FROM originals WHERE batch = $1`,
		`DELETE FROM rows WHERE batch = $1`, `DELETE FROM batches WHERE id = $1`} {
		if _, err := tx.ExecContext(ctx, query, batch); err != nil {
			return err
		}
	}
	return nil
}

// AddRows appends rows to a batch under import, in the order in which they are to be sent. A task
// carries many rows if their IDs are close together. The result of a row must be one of the check:
// ready, invalid or skipped.
func (l *Ledger) AddRows(ctx context.Context, batch string, rows []Row) error {
	b, err := l.Batch(ctx, batch)
	if err != nil {
		return fmt.Errorf("add rows to batch %s: %w", batch, err)
	}
	records := make([]store.Record, len(rows))
	var secrets []store.Record
	for i, r := range rows {
		stored, secret := withoutSecret(r.Request)
		if secret != "" && r.Result == filing.Ready {
			sealed, err := l.sealSecret(batch, r.Number, secret)
			if err != nil {
				return fmt.Errorf("seal the number of row %d: %w", r.Number, err)
			}
			secrets = append(
				secrets,
				store.Record{
					store.Text("batch", batch),
					store.Number("number", r.Number),
					store.Text("sealed", sealed),
				},
			)
		}
		request, err := encodeJSON(stored, stored == nil)
		if err != nil {
			return fmt.Errorf("encode row %d: %w", r.Number, err)
		}
		faults, err := encodeJSON(r.Faults, len(r.Faults) == 0)
		if err != nil {
			return fmt.Errorf("encode the faults of row %d: %w", r.Number, err)
		}
		records[i] = store.Record{
			store.Text("batch", batch),
			store.Number("number", r.Number),
			store.Text("cells", string(r.Cells)),
			store.Text("faults", faults),
			store.Text("request", request),
			store.Text("result", r.Result),
			store.Text("message", r.Message),
			store.Number("cost", r.Cost.Amount),
			store.Number("certainty", r.Cost.Certainty),
			store.Number("priority", r.Priority),
			store.Number("at", store.ToMillis(l.Now())),
			store.Number("corrects", r.Corrects),
			store.Number("repeats", r.Repeats),
		}
		records[i] = append(records[i], r.companyColumns(b.Fields)...)
	}
	err = l.change(ctx, func(tx *Tx) error {
		if err := tx.requireImport(ctx, batch); err != nil {
			return err
		}
		if err := l.ExecRecords(
			ctx, tx.Tx, `INSERT INTO secrets (batch, number, sealed) SELECT v.batch, v.number, v.sealed {{v}}`,
			secrets); err != nil {
			return err
		}
		return l.ExecRecords(
			ctx, tx.Tx, `INSERT INTO rows (batch, number, cells, faults, request, result, message, cost, certainty,
					priority, updated_at, corrects, repeats, company_key, company_name, company_words, client,
					client_folded)
				SELECT v.batch, v.number, v.cells, v.faults, v.request, v.result, v.message, v.cost, v.certainty,
					v.priority, v.at, v.corrects, v.repeats, v.company_key, v.company_name, v.company_words,
					v.client, v.client_folded
				{{v}}
				ORDER BY v.priority, v.number`, records)
	})
	return store.Wrap("add rows to batch "+batch, err)
}

// requireImport returns ErrImport unless this process may still add rows to the batch. Another
// process may have found it dead and started the import again.
func (tx *Tx) requireImport(ctx context.Context, batch string) error {
	switch s, err := tx.loadStage(ctx, batch); {
	case err != nil:
		return err
	case s.open || s.prepared || s.owner != tx.db.owner.ID:
		return ErrImport
	}
	return nil
}

// stage is the progress of the import of a batch.
type stage struct {
	open, prepared, canceled bool
	owner                    string
}

func (tx *Tx) loadStage(ctx context.Context, batch string) (stage, error) {
	var s stage
	err := tx.QueryRowContext(ctx, `SELECT open, prepared, canceled, owner FROM batches WHERE id = $1`,
		batch).Scan(&s.open, &s.prepared, &s.canceled, &s.owner)
	return s, store.OrElse(err, ErrNotFound)
}

// encodeJSON returns a value as JSON text, or an empty string if none is set.
func encodeJSON(v any, none bool) (string, error) {
	if none {
		return "", nil
	}
	body, err := json.Marshal(v)
	return string(body), err
}

// PrepareBatch ends the import and leaves the batch waiting for approval. Any process may then open
// it, even if this one has ended.
func (l *Ledger) PrepareBatch(ctx context.Context, batch string) error {
	err := l.change(ctx, func(tx *Tx) error {
		if err := tx.requireImport(ctx, batch); err != nil {
			return err
		}
		_, err := tx.ExecContext(
			ctx, `UPDATE batches SET prepared = 1, rows = (SELECT COUNT(*) FROM rows WHERE batch = $1) WHERE id = $1`,
			batch)
		return err
	})
	return store.Wrap("prepare batch "+batch, err)
}

// OpenBatch ends the import. From then on the rows may be placed. If the recorded balance does not
// cover all of them, rows with a priority are sent in its order. It returns ErrNotFound,
// ErrCanceled and ErrImport.
func (l *Ledger) OpenBatch(ctx context.Context, batch string) error {
	err := l.change(ctx, func(tx *Tx) error {
		s, err := tx.loadStage(ctx, batch)
		switch {
		case err != nil:
			return err
		case s.canceled:
			return ErrCanceled
		case s.open || !s.prepared && s.owner != l.owner.ID:
			return ErrImport
		}
		return tx.OpenBatch(ctx, batch)
	})
	return store.Wrap("open batch "+batch, err)
}

// OpenBatch opens a batch within a change. The caller has checked that it is prepared. The batch waits
// for approval if the Gate requires it.
func (tx *Tx) OpenBatch(ctx context.Context, batch string) error {
	if err := tx.db.gate.BeforeOpen(ctx, tx, batch); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx,
		`UPDATE batches SET open = 1, rows = (SELECT COUNT(*) FROM rows WHERE batch = $1) WHERE id = $1`,
		batch); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, approveQuotes, batch); err != nil {
		return err
	}
	if err := tx.db.gate.AfterOpen(ctx, tx, batch); err != nil {
		return err
	}
	if err := tx.finishCorrected(ctx, batch); err != nil {
		return err
	}
	return tx.AllocateFunds(ctx)
}

// DeletePrepared deletes a prepared batch within a change, unless it was opened or canceled.
func (tx *Tx) DeletePrepared(ctx context.Context, batch string) error {
	switch s, err := tx.loadStage(ctx, batch); {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil || s.open || !s.prepared || s.canceled:
		return err
	}
	return tx.deleteBatch(ctx, batch)
}

// PauseBatch keeps the batch's rows from being sent until ResumeBatch. Until then its share of the
// funds is available to other batches.
func (l *Ledger) PauseBatch(ctx context.Context, batch string) error {
	return l.changeBatch(ctx, batch, `UPDATE batches SET paused = 1 WHERE id = $1`, (*Tx).AllocateFunds)
}

// ResumeBatch ends a pause. Because a person has looked, it also lets a fleet halted for funds
// probe at once.
func (l *Ledger) ResumeBatch(ctx context.Context, batch string) error {
	return l.changeBatch(ctx, batch, `UPDATE batches SET paused = 0 WHERE id = $1`, (*Tx).allowProbe)
}

// changeBatch changes a batch and its corrections and calls then, in one commit.
func (db *database) changeBatch(ctx context.Context, batch, query string,
	then func(*Tx, context.Context) error) error {
	err := db.change(ctx, func(tx *Tx) error {
		found := false
		err := tx.withCorrections(ctx, batch, func(batch string) error {
			found = true
			_, err := tx.ExecContext(ctx, query, batch)
			return err
		})
		switch {
		case err != nil:
			return err
		case !found:
			return ErrNotFound
		}
		return then(tx, ctx)
	})
	return store.Wrap("change batch "+batch, err)
}

const (
	canceledUnsent    = "canceled before it was sent; to send it: importer retry BATCH --canceled"
	canceledRest      = "canceled: nothing more is sent; to order the rest, enter it in a new spreadsheet"
	canceledCorrected = "corrected since: nothing more is sent for it; to order the corrected row, " +
		"enter it in a new spreadsheet"
	canceledUncertain = "canceled after it was sent without an answer: check the dashboard, then resolve it"
)

// CancelBatch cancels every unsent row of a batch and of its corrections, and returns their number.
// Rows in flight follow if they come back unsent. Rows with an uncertain attempt become uncertain.
// Sending them again would resolve them, but could buy items that are no longer wanted.
func (l *Ledger) CancelBatch(ctx context.Context, batch string) (rows int, err error) {
	err = l.change(ctx, func(tx *Tx) error {
		rows = 0
		err := tx.withCorrections(ctx, batch, func(batch string) error {
			n, err := tx.CancelBatch(ctx, batch, canceledUnsent)
			rows += n
			return err
		})
		if err != nil {
			return err
		}
		return tx.AllocateFunds(ctx) // its share becomes available to others
	})
	if err != nil {
		return 0, fmt.Errorf("cancel batch %s: %w", batch, err)
	}
	return rows, nil
}

// CancelBatch cancels a batch and its unsent rows within a change. Their message is why. It returns ErrUnchecked if
// rows may have been sent before the ledger was restored.
func (tx *Tx) CancelBatch(ctx context.Context, batch, why string) (rows int, err error) {
	if err := tx.requireChecked(ctx, batch); err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx,
		`UPDATE batches SET canceled = 1, canceled_by = $2, canceled_at = $3 WHERE id = $1 AND canceled = 0`,
		batch, audit.Person(ctx), store.ToMillis(tx.Now())); err != nil {
		return 0, err
	}
	return tx.cancelReady(ctx, batch, "TRUE", why)
}

// cancelReady cancels the ready rows of a batch that match a condition. Their message is why. Rows
// with an uncertain attempt become uncertain.
func (tx *Tx) cancelReady(ctx context.Context, batch, which, why string) (rows int, err error) {
	rows, err = store.Affected(tx.ExecContext(ctx,
		`UPDATE rows SET result = 'canceled', `+clearBlock+`, updated_at = $2,
				message = CASE WHEN EXISTS (SELECT 1 FROM items i WHERE i.row = rows.id AND i.order_id <> '')
					THEN $4 ELSE $3 END
			WHERE batch = $1 AND result = 'ready' AND uncertain = 0 AND `+which, batch, store.ToMillis(tx.Now()), why,
		canceledRest))
	if err != nil {
		return 0, err
	}
	if _, err = tx.ExecContext(ctx,
		`UPDATE rows SET result = 'uncertain', uncertain = 0, `+clearBlock+`, due = 0, message = $3, updated_at = $2
			WHERE batch = $1 AND result = 'ready' AND uncertain = 1 AND `+which, batch, store.ToMillis(tx.Now()),
		canceledUncertain); err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(
		ctx, `DELETE FROM secrets WHERE batch = $1
				AND number IN (SELECT number FROM rows WHERE batch = $1 AND result = 'canceled')`, batch)
	return rows, err
}

// RetryBatch makes the rejected rows of a batch and of its corrections ready again, and the rows
// that are held back because of their company's record. It returns their number. In a canceled
// batch these rows may be sent again, and its canceled rows stay canceled.
func (l *Ledger) RetryBatch(ctx context.Context, batch string) (rows int, err error) {
	rows, _, err = l.sendAgain(ctx, batch, `(result = 'rejected' OR result = 'invalid' AND request <> '')`, false)
	return rows, store.Wrap("retry batch "+batch, err)
}

// unsent matches a canceled row from which the service never made anything: its attempts, if any,
// ended with an answer that proves it. It excludes a row that was uncertain, resolved and then
// canceled, because a late answer may still come.
const unsent = `result = 'canceled' AND uncertain = 0 AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.row = rows.id
	AND a.outcome NOT IN ('` + string(filing.NotSent) + `', '` + string(filing.Busy) + `', '` + string(filing.NoFunds) +
	`', '` + string(filing.KeyRefused) + `'))`

// ReviveBatch makes the canceled rows that were never sent ready again, in a batch and its
// corrections. It returns their number and the number of rows that stay canceled. The rows behave
// like any ready row. If another row has bought the same in the meantime, Begin finds the claim
// taken. The batch is no longer canceled. If it is paused or lacks its approval, it stays so.
func (l *Ledger) ReviveBatch(ctx context.Context, batch string) (rows, left int, err error) {
	rows, left, err = l.sendAgain(ctx, batch, unsent, true)
	return rows, left, store.Wrap("revive batch "+batch, err)
}

// sendAgain makes the rows that match a condition ready again, in a batch and its corrections. It
// returns their number and the number of rows that stay canceled. A batch with such a row is no
// longer canceled. If incomplete is set, the same applies to a batch that may not have been
// imported completely.
func (db *database) sendAgain(ctx context.Context, batch, which string, incomplete bool) (rows, left int, err error) {
	err = db.change(ctx, func(tx *Tx) error {
		rows, left = 0, 0
		err := tx.withCorrections(ctx, batch, func(batch string) error {
			n, err := store.Affected(tx.ExecContext(ctx,
				`UPDATE rows SET result = 'ready', blocked_on = '`+blockedOnRelease+
					`', awaited_key = '', message = '', due = 0, attempts = 0, updated_at = $2, `+unknownAgain+`
				WHERE batch = $1 AND withdrawn = 0 AND `+which, batch, store.ToMillis(db.Now())))
			if err != nil {
				return err
			}
			rows += n
			if err := tx.release(ctx, batch, true); err != nil {
				return err
			}
			var canceled int
			if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM rows WHERE batch = $1 AND result = 'canceled'`,
				batch).Scan(&canceled); err != nil {
				return err
			}
			left += canceled
			s, err := tx.loadStage(ctx, batch)
			if err != nil || n == 0 && (!incomplete || s.open || s.prepared) {
				return err
			}
			if _, err := tx.ExecContext(ctx, `UPDATE batches SET canceled = 0 WHERE id = $1`, batch); err != nil {
				return err
			}
			return outbox.EndWithin(ctx, tx, outbox.KindBatch, batch) // the batch will end again
		})
		if err != nil {
			return err
		}
		return tx.AllocateFunds(ctx)
	})
	return rows, left, err
}

const batchColumns = `id, file, sheet, product, options, again, columns, fields, rows, open, prepared,
		paused, canceled, canceled_by, canceled_at, corrects, root, created_by, created_at, approval, plan, asked_by,
		second, approved_by, approved_at`

func scanBatch(scan func(...any) error) (Batch, error) {
	var b Batch
	var columns, fields string
	var created, approved, canceled int64
	if err := scan(&b.ID, &b.File, &b.Sheet, &b.Product, &b.Options, &b.Again, &columns, &fields, &b.Rows,
		&b.Open, &b.Prepared, &b.Paused, &b.Canceled, &b.CanceledBy, &canceled, &b.Corrects, &b.Root, &b.CreatedBy,
		&created,
		&b.Approval.State, &b.Approval.Plan, &b.Approval.AskedBy, &b.Approval.Second, &b.Approval.By,
		&approved); err != nil {
		return b, err
	}
	b.CreatedAt, b.CanceledAt, b.Approval.At = store.FromMillis(created), store.FromMillis(canceled), store.FromMillis(
		approved)
	if fields != "" {
		if err := json.Unmarshal([]byte(fields), &b.Fields); err != nil {
			return b, fmt.Errorf("read the fields of batch %s: %w", b.ID, err)
		}
	}
	return b, json.Unmarshal([]byte(columns), &b.Columns)
}

// Batch finds a batch by its ID or by an unambiguous prefix of it. An empty ID finds the newest
// batch that has begun, or else the newest batch. It returns ErrNotFound.
func (l *Ledger) Batch(ctx context.Context, id string) (Batch, error) {
	batches, err := l.listBatches(ctx,
		`WHERE substr(id, 1, $1) = $2 AND ($2 <> '' OR corrects = '' OR open = 0 OR approval = 'wanted')
			ORDER BY CASE WHEN id = $2 THEN 0 ELSE 1 END, CASE WHEN $2 = ''
			AND open = 0 THEN 1 ELSE 0 END, created_at DESC, id LIMIT 2`, len(id), id)
	switch {
	case err != nil:
		return Batch{}, err
	case len(batches) == 0 && id == "":
		return Batch{}, notFoundError("there are no batches yet")
	case len(batches) == 0:
		return Batch{}, notFoundError(fmt.Sprintf("there is no batch %s; to list the batches: importer batches", id))
	case len(batches) == 2 && id != "" && batches[0].ID != id:
		return Batch{}, fmt.Errorf("several batches begin with %q: enter more of the id", id)
	}
	return batches[0], nil
}

// Batches lists all batches, the newest first.
func (l *Ledger) Batches(ctx context.Context) ([]Batch, error) {
	return l.listBatches(ctx, `ORDER BY created_at DESC, id`)
}

func (db *database) listBatches(ctx context.Context, where string, args ...any) ([]Batch, error) {
	rows, err := db.Read.QueryContext(ctx, `SELECT `+batchColumns+` FROM batches `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("list batches: %w", err)
	}
	defer rows.Close()
	var all []Batch
	for rows.Next() {
		b, err := scanBatch(rows.Scan)
		if err != nil {
			return nil, fmt.Errorf("read a batch: %w", err)
		}
		all = append(all, b)
	}
	return all, rows.Err()
}

func splitProducts(s string) []filing.Product {
	if s == "" {
		return nil
	}
	var all []filing.Product
	for p := range strings.SplitSeq(s, ",") {
		all = append(all, filing.Product(p))
	}
	return all
}

// notFoundError is an ErrNotFound with its complete text.
type notFoundError string

func (e notFoundError) Error() string { return string(e) }

// Is reports whether target is ErrNotFound.
func (e notFoundError) Is(target error) bool { return target == ErrNotFound }
