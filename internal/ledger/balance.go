package ledger

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// ErrAmount is returned for a deposit that is not positive.
var ErrAmount = errors.New("a deposit must be more than zero; use an adjustment to lower the recorded balance")

// ErrReason is returned for an adjustment without a reason.
var ErrReason = errors.New("an adjustment needs a reason")

// weighs selects the rows for which money is reserved, even if the amount is unknown.
const weighs = `(reserved > 0 OR creating = 0 AND result IN ('placing', 'uncertain'))`

// Balance reads the sums of the recorded balance.
func (l *Ledger) Balance(ctx context.Context) (Balance, error) {
	c, err := l.readControl(ctx, l.Read)
	if err != nil {
		return Balance{}, err
	}
	b := Balance{
		HasDeposit:  c.declared,
		Deposits:    c.deposits,
		Adjustments: c.adjustments,
		Posted:      c.posted,
		Reserved:    c.reserved,
	}
	b.Certainty, err = l.certainty.get(c, func() (certainty money.Certainty, err error) {
		err = l.Read.QueryRowContext(ctx,
			`SELECT CASE WHEN EXISTS (SELECT 1 FROM rows WHERE spent_certainty >= 2 OR certainty >= 2 AND `+weighs+
				`) THEN 2
			WHEN EXISTS (SELECT 1 FROM rows WHERE spent_certainty = 1 OR certainty = 1 AND `+weighs+
				`) THEN 1 ELSE 0 END`).Scan(&certainty)
		return certainty, err
	})
	return b, store.Wrap("read the balance", err)
}

// People record the balance, because no endpoint of the filing service shows it. Assumption: every
// order is charged when it is placed, and a canceled one is not refunded.

// RecordDeposit records money paid to the filing service. From the first deposit on, orders are
// sent only if the recorded balance covers them. Rows that wait for funds are tried again. It
// returns ErrAmount if the amount is not positive.
func (l Entries) RecordDeposit(ctx context.Context, amount money.Cents, note string) error {
	if amount <= 0 {
		return ErrAmount
	}
	return l.addEntry(ctx, Deposit, amount, note, func(c *control) { c.deposits += amount; c.declared = true })
}

// Adjust records a difference between the recorded balance and the filing service's balance, up or
// down, with its reason. An adjustment before the first deposit blocks nothing and counts from that
// deposit on. It returns ErrReason if the reason is blank.
func (l Entries) Adjust(ctx context.Context, amount money.Cents, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return ErrReason
	}
	return l.addEntry(ctx, Adjustment, amount, reason, func(c *control) { c.adjustments += amount })
}

func (db *database) addEntry(ctx context.Context, kind EntryKind, amount money.Cents, note string,
	apply func(*control)) error {
	err := db.changeOnce(ctx, func(tx *Tx) error {
		apply(tx.control)
		if _, err := tx.ExecContext(ctx, `INSERT INTO entries (at, kind, amount, note) VALUES ($1,$2,$3,$4)`,
			store.ToMillis(db.Now()), kind, int64(amount), note); err != nil {
			return err
		}
		return tx.allowProbe(ctx)
	})
	return store.Wrap(fmt.Sprintf("enter a %s of %s", kind, amount), err)
}

// All streams the entries of the balance, the oldest first.
func (l Entries) All(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		rows, err := l.Read.QueryContext(ctx,
			`SELECT e.id, e.at, e.kind, e.amount, e.row, COALESCE(r.batch, ''), COALESCE(r.number, 0), e.note
			FROM entries e LEFT JOIN rows r ON r.id = e.row ORDER BY e.id`)
		if err != nil {
			yield(Entry{}, fmt.Errorf("list the entries of the balance: %w", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var e Entry
			var at, amount int64
			if err := rows.Scan(&e.ID, &at, &e.Kind, &amount, &e.Row, &e.Batch, &e.Number, &e.Note); err != nil {
				yield(e, fmt.Errorf("read an entry: %w", err))
				return
			}
			e.At, e.Amount = store.FromMillis(at), money.Cents(amount)
			if !yield(e, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Entry{}, fmt.Errorf("list the entries of the balance: %w", err))
		}
	}
}
