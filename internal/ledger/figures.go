package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Figures are the rows of a batch and their money, summed up.
type Figures struct {
	Counts   Counts
	Spent    money.Cost
	Reserved money.Cost // reserved for uncertain rows, and for those under way
	Needed   money.Cost // by ready rows, as far as is known
	Waiting  int        // ready rows that wait for funds or for another row
	Short    int        // those of them that wait for funds
	Changed  time.Time  // when a row was last changed
}

// Figures sums the rows of a batch up. Those that were corrected count as skipped.
func (l *Ledger) Figures(ctx context.Context, batch string) (Figures, error) {
	return l.figures(ctx, `rows`, batch)
}

// ResultFigures sums a batch up as its results show it, with the corrected rows: sums over
// several batches count those twice.
func (l *Ledger) ResultFigures(ctx context.Context, batch string) (Figures, error) {
	return l.figures(ctx, `result_rows`, batch)
}

func (db *database) figures(ctx context.Context, from, batch string) (Figures, error) {
	f := Figures{Counts: make(Counts)}
	rows, err := db.read.QueryContext(ctx,
		`SELECT result, COUNT(*), COALESCE(SUM(spent), 0), MAX(spent_certainty), COALESCE(SUM(held), 0),
				COALESCE(SUM(cost), 0), MAX(certainty), COALESCE(SUM(CASE WHEN waits <> '' THEN 1 ELSE 0 END), 0),
				COALESCE(SUM(CASE WHEN waits = 'funds' THEN 1 ELSE 0 END), 0), COALESCE(MAX(updated_at), 0)
			FROM `+from+`
			WHERE batch = $1
			GROUP BY result`, batch)
	err = each(rows, err, func(scan func(...any) error) error {
		var result filing.Result
		var spent, held, left money.Cost
		var n, waiting, short int
		var changed int64
		if err := scan(&result, &n, &spent.Amount, &spent.Certainty, &held.Amount, &left.Amount, &left.Certainty,
			&waiting, &short, &changed); err != nil {
			return err
		}
		f.Counts[result] = n
		if at := fromMillis(changed); at.After(f.Changed) {
			f.Changed = at
		}
		if result == filing.Ready {
			f.Waiting, f.Short, f.Needed = waiting, short, left
		}
		held.Certainty = left.Certainty
		var err, err2 error
		f.Spent, err = f.Spent.Plus(spent)
		if held.Amount > 0 || result == filing.Uncertain || result == filing.Placing {
			f.Reserved, err2 = f.Reserved.Plus(held)
		}
		return errors.Join(err, err2)
	})
	if err != nil {
		return Figures{}, fmt.Errorf("sum up the rows of batch %s: %w", batch, err)
	}
	return f, nil
}

// Filings are what became of the orders of a batch since they were placed.
type Filings struct {
	Statuses   map[string]int // of placed rows, in the filing service's words; "" if no event came
	Exceptions int            // rows with a filing that stands still
	Documents  int
}

// Filings sums up the reported states of the orders of a batch. The appointment
// of an agent is no filing and is not among them.
func (l *Ledger) Filings(ctx context.Context, batch string) (Filings, error) {
	f := Filings{Statuses: make(map[string]int)}
	halting := false
	rows, err := l.read.QueryContext(ctx, `SELECT i.filing_status, COUNT(*) FROM result_rows r JOIN items i ON i.row = r.id
		WHERE r.batch = $1 AND r.result = 'placed' AND i.product <> 'registered-agent' GROUP BY i.filing_status`,
		batch)
	err = each(rows, err, func(scan func(...any) error) error {
		var status string
		var n int
		err := scan(&status, &n)
		f.Statuses[status] = n
		halting = halting || filing.IsException(0, status)
		return err
	})
	still := `i.exception <> 0`
	if halting {
		still = `(i.exception <> 0 OR lower(i.filing_status) LIKE '%exception%')`
	}
	if err == nil {
		err = l.read.QueryRowContext(ctx,
			`SELECT COUNT(DISTINCT r.id) FROM items i JOIN result_rows r ON r.id = i.row WHERE r.batch = $1 AND `+still,
			batch).Scan(&f.Exceptions)
	}
	if err == nil {
		err = l.read.QueryRowContext(ctx,
			`SELECT COUNT(DISTINCT d.key) FROM documents d JOIN items i ON i.order_id = d.order_id
				JOIN result_rows r ON r.id = i.row
				WHERE d.order_id <> '' AND r.batch = $1`, batch).Scan(&f.Documents)
	}
	if err != nil {
		return Filings{}, fmt.Errorf("sum up the filings of batch %s: %w", batch, err)
	}
	return f, nil
}
