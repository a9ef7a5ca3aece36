package ledger

import (
	"fmt"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// replayed is a row with its recorded attempts, the oldest first.
type replayed struct {
	id int64
	BatchRow
	result   filing.Result
	last     int
	wanted   string
	spent    money.Cents
	attempts []filing.Attempt
}

// replayAttempts computes the state and the charges of every row again from its attempts, as if they
// were recorded now. The state of the row must be the same, or follow by transitions that need no
// request.
func (a *auditor) replayAttempts() error {
	rows, err := a.tx.QueryContext(a.ctx,
		`SELECT `+foldedColumns+`, r.batch, r.number, r.result, r.last_attempt, r.wanted,
				r.spent
			FROM attempts a JOIN rows r ON r.id = a.row ORDER BY a.row, a.number`)
	var r replayed
	found := 0
	report := func() {
		if wrong := r.contradiction(); wrong != "" {
			if found++; found <= maxWrong {
				a.report.Wrong = append(a.report.Wrong, fmt.Sprintf("batch %s, row %d: %s", r.Batch, r.Number, wrong))
			}
		}
	}
	err = store.Each(rows, err, func(scan func(...any) error) error {
		var next replayed
		id, _, attempt, err := scanFolded(func(targets ...any) error {
			return scan(append(targets, &next.Batch, &next.Number, &next.result, &next.last, &next.wanted,
				&next.spent)...)
		})
		if err != nil {
			return err
		}
		if id != r.id {
			report()
			r, r.id = next, id
		}
		r.attempts = append(r.attempts, attempt)
		return nil
	})
	report()
	return err
}

// contradiction returns how the row contradicts its attempts. It is empty if it does not.
func (r *replayed) contradiction() string {
	if len(r.attempts) == 0 {
		return ""
	}
	follows := false
	var state filing.RowState
	// The row does not record whether automatic retries remained.
	for _, exhausted := range []bool{true, false} {
		state = filing.Fold(r.attempts, filing.AttemptLimits{Exhausted: exhausted, Wanted: splitProducts(r.wanted)})
		leads := state.Next().Leads(r.result)
		switch r.result {
		case filing.Placing:
			// Its last attempt is in flight, so it is not recorded yet.
			leads = state.Next() != filing.Uncertain &&
				!slices.ContainsFunc(r.attempts, func(a filing.Attempt) bool { return a.Number == r.last })
		case filing.Placed:
			leads = leads && len(state.Bought) > 0
		case filing.Uncertain:
			// An assumed attempt has no products if another row creates the company.
			leads = leads && (len(state.Open) > 0 || len(r.attempts[len(r.attempts)-1].Products) == 0)
		}
		follows = follows || leads
	}
	switch spent := state.Spent(); {
	case !follows:
		return fmt.Sprintf("it is %s, but its attempts leave it %s", r.result, state.Next())
	case r.spent != spent.Amount:
		return fmt.Sprintf("it was charged %s, but its attempts bought for %s", r.spent.Dollars(),
			spent.Amount.Dollars())
	}
	return ""
}
