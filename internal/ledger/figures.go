package ledger

import (
	"context"
	"errors"
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

// selectFigures sums rows by their result and by the reason they wait. The table or view of the
// rows is inserted.
const selectFigures = `SELECT result,
		CASE WHEN blocked_on <> '' OR result <> 'ready' OR due <= $1 THEN blocked_on ELSE 'later' END AS reason,
		COUNT(*) AS n, MAX(updated_at) AS changed, MIN(due) AS due, SUM(spent) AS "spent.amount",
		MAX(spent_certainty) AS "spent.certainty", SUM(reserved) AS "reserved.amount",
		MAX(CASE WHEN ` + weighs + ` THEN certainty ELSE 0 END) AS "reserved.certainty",
		SUM(` + need + `) AS "needed.amount",
		MAX(CASE WHEN reserved = 0 OR cost > reserved THEN certainty ELSE 0 END) AS "needed.certainty",
		SUM(CASE WHEN cost > 0 OR quoted = 0 OR certainty > 0 THEN 1 ELSE 0 END) AS orders,
		SUM(CASE WHEN request <> '' THEN 1 ELSE 0 END) AS requests
	FROM %s r
	WHERE batch = $2
	GROUP BY 1, 2`

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
	what := "sum up the rows of batch " + batch
	groups, err := store.List[struct {
		Result                  filing.Result
		Reason                  string
		N, Orders, Requests     int
		Changed, Due            time.Time
		Spent, Reserved, Needed money.Cost
	}](ctx, q, what, fmt.Sprintf(selectFigures, from), store.ToMillis(db.Now()), batch)
	for _, g := range groups {
		f.Counts[g.Result] += g.N
		if g.Changed.After(f.Changed) {
			f.Changed = g.Changed
		}
		switch {
		case g.Result == filing.Invalid:
			f.HeldBack += g.Requests
		case g.Result != filing.Ready:
		case g.Reason == "later":
			f.Later, f.NextDue = g.N, g.Due
		case g.Reason == blockedOnFunds:
			f.Short = g.N
		case g.Reason == blockedOnApproval:
			f.Increased = g.N
		case g.Reason == blockedOnKey:
			f.Behind = g.N
		}
		if g.Result == filing.Ready {
			f.Orders += g.Orders
		} else {
			g.Needed = money.Cost{}
		}
		var errs [3]error
		f.Spent, errs[0] = f.Spent.Plus(g.Spent)
		f.Reserved, errs[1] = f.Reserved.Plus(g.Reserved)
		f.Needed, errs[2] = f.Needed.Plus(g.Needed)
		err = errors.Join(err, store.Wrap(what, errors.Join(errs[:]...)))
	}
	return f, err
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
