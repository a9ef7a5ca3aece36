package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Figures are the sums over the rows of a batch and their money. The commands, the page, the
// results, the notifications and the metrics all show these sums.
type Figures struct {
	Counts Counts

	// Spent is the charged amount, including rows that are uncertain, rejected or canceled.
	Spent money.Cost
	// Reserved is the amount for orders that were sent and are not confirmed.
	Reserved money.Cost
	// Needed is the cost of the ready rows beyond their reservations.
	Needed money.Cost

	// Orders counts the ready rows that order something. Everything in the other ready rows was
	// bought before.
	Orders int
	// Later counts the ready rows whose next attempt is not due yet. NextDue is when the first is.
	Later   int
	NextDue time.Time
	// Short, Increased and Behind count the ready rows that wait for funds, for an approval of
	// their cost, and for the result of another row with the same order.
	Short, Increased, Behind int
	// HeldBack counts the invalid rows that differ from the filing service's record.
	HeldBack int
	// Changed is when a row last changed.
	Changed time.Time
}

// Left counts the rows without a result, which are ready or being placed.
func (f *Figures) Left() int { return f.Counts[filing.Ready] + f.Counts[filing.Placing] }

// Waiting counts the ready rows that wait for funds, an approval or another row.
func (f *Figures) Waiting() int { return f.Short + f.Increased + f.Behind }

// Cost returns the total cost of the batch: spent, reserved and needed.
func (f *Figures) Cost() (money.Cost, error) {
	sum, err := f.Spent.Plus(f.Reserved)
	if err != nil {
		return sum, err
	}
	return sum.Plus(f.Needed)
}

// The conditions of rows for their figures.
const (
	isReady   = `result = 'ready'`
	isLater   = `(result = 'ready' AND blocked_on = '' AND due > $1)`
	isOrdered = `(result = 'ready' AND (cost > 0 OR quoted = 0 OR certainty > 0))`
)

// selectFigures sums the rows of a batch. The table or view of the rows is inserted. It has no GROUP
// BY, for which SQLite would sort the rows.
var selectFigures = func() string {
	count := func(condition string) string { return `COUNT(CASE WHEN ` + condition + ` THEN 1 END), ` }
	highest := func(condition, column string) string {
		return `COALESCE(MAX(CASE WHEN ` + condition + ` THEN ` + column + ` END), 0)`
	}
	query := `SELECT `
	for _, r := range filing.Results {
		query += count(`result = '` + string(r) + `'`)
	}
	return query + count(isOrdered) + count(isLater) +
		count(isReady+` AND blocked_on = '`+blockedOnFunds+`'`) +
		count(isReady+` AND blocked_on = '`+blockedOnApproval+`'`) +
		count(isReady+` AND blocked_on = '`+blockedOnKey+`'`) +
		count(`result = 'invalid' AND request <> ''`) +
		`COALESCE(MIN(CASE WHEN ` + isLater + ` THEN due END), 0), COALESCE(MAX(updated_at), 0),
		COALESCE(SUM(spent), 0), COALESCE(MAX(spent_certainty), 0),
		COALESCE(SUM(reserved), 0), ` + highest(weighs, `certainty`) + `,
		COALESCE(SUM(CASE WHEN ` + isReady + ` THEN ` + need + ` END), 0), ` +
		highest(isReady+` AND (reserved = 0 OR cost > reserved)`, `certainty`) + `
		FROM %s r WHERE batch = $2`
}()

// Figures returns the sums over the rows of a batch. Corrected rows count as skipped.
func (l *Ledger) Figures(ctx context.Context, batch string) (Figures, error) {
	return l.sumFigures(ctx, l.Read, `rows`, batch)
}

// ResultFigures returns the sums over the results of a batch, which include corrected rows. Sums
// over several batches count corrected rows twice.
func (l *Ledger) ResultFigures(ctx context.Context, batch string) (Figures, error) {
	return l.sumFigures(ctx, l.Read, `result_rows`, batch)
}

func (db *database) sumFigures(ctx context.Context, q store.Querier, from, batch string) (Figures, error) {
	f := Figures{Counts: make(Counts)}
	counts := make([]int, len(filing.Results))
	var targets []any
	for i := range counts {
		targets = append(targets, &counts[i])
	}
	var due, changed int64
	targets = append(targets, &f.Orders, &f.Later, &f.Short, &f.Increased, &f.Behind, &f.HeldBack, &due, &changed,
		&f.Spent.Amount, &f.Spent.Certainty, &f.Reserved.Amount, &f.Reserved.Certainty,
		&f.Needed.Amount, &f.Needed.Certainty)
	err := q.QueryRowContext(ctx, fmt.Sprintf(selectFigures, from), store.ToMillis(db.Now()), batch).Scan(targets...)
	for i, n := range counts {
		if n > 0 {
			f.Counts[filing.Results[i]] = n
		}
	}
	f.NextDue, f.Changed = store.FromMillis(due), store.FromMillis(changed)
	return f, store.Wrap("sum up the rows of batch "+batch, err)
}

// Filings are the states of a batch's orders since they were placed.
type Filings struct {
	// Statuses counts the filings of placed rows by status, in the filing service's words. The
	// status is empty if no event arrived.
	Statuses map[string]int
	// Exceptions counts the rows with a filing that needs a correction before it can go on.
	Exceptions int
	Documents  int
	// Uncovered counts the rows that were not ordered because of a subscription that has lapsed
	// since.
	Uncovered int
}

// Total returns the number of filings of placed rows.
func (f *Filings) Total() (n int) {
	for _, of := range f.Statuses {
		n += of
	}
	return n
}

// Filings sums the reported states of a batch's orders. The appointment of an agent is not a filing
// and is left out.
func (l *Ledger) Filings(ctx context.Context, batch string) (Filings, error) {
	f := Filings{Statuses: make(map[string]int)}
	statuses, err := store.List[struct {
		Status string
		N      int
	}](ctx, l.Read, "sum up the filings of batch "+batch, `SELECT i.filing_status AS status, COUNT(*) AS n
		FROM result_rows r JOIN items i ON i.row = r.id
		WHERE r.batch = $1 AND r.result = 'placed' AND i.product <> 'registered-agent' GROUP BY i.filing_status`,
		batch)
	for _, s := range statuses {
		f.Statuses[s.Status] = s.N
	}
	if err == nil {
		err = l.Read.QueryRowContext(ctx,
			`SELECT (SELECT COUNT(DISTINCT r.id) FROM items i JOIN result_rows r ON r.id = i.row
					WHERE r.batch = $1 AND i.exception <> 0),
				(SELECT COUNT(DISTINCT d.key) FROM documents d JOIN items i ON i.order_id = d.order_id
					JOIN result_rows r ON r.id = i.row
					WHERE d.order_id <> '' AND r.batch = $1)`, batch).Scan(&f.Exceptions, &f.Documents)
	}
	if err != nil {
		return Filings{}, fmt.Errorf("sum up the filings of batch %s: %w", batch, err)
	}
	covered, err := l.listCovered(ctx, ` AND r.id IN (SELECT id FROM result_rows WHERE batch = $1)`, batch)
	for _, c := range covered {
		if c.By.Lapsed != "" {
			f.Uncovered++
		}
	}
	return f, err
}
