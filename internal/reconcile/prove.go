package reconcile

import (
	"fmt"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// finish gives the amounts their signs, finds the period, and proves the statement's
// own sums.
func (r *reader) finish() error {
	inverted := r.sign()
	if err := r.findPeriod(); err != nil {
		return err
	}
	if err := r.proveBalances(); err != nil {
		return err
	}
	if err := r.proveTotals(); err != nil {
		return err
	}
	return r.proveClosing(inverted)
}

// sign finds out how the statement writes charges and credits, and sets the kind and
// the amount of every line. It reports whether a credit is negative.
func (r *reader) sign() (inverted bool) {
	var debits, charges, credits int // more positive ones where positive
	for i := range r.raw {
		raw := &r.raw[i]
		debits += signOf(raw.debit)
		switch raw.words {
		case Deposit, Refund:
			credits += signOf(raw.amount)
		default:
			charges += signOf(raw.amount)
		}
	}
	if credits == 0 {
		credits = -charges
	}
	for i := range r.raw {
		raw, line := &r.raw[i], &r.Lines[i]
		credit := raw.words == Deposit || raw.words == Refund
		switch {
		case !raw.signed && debits < 0:
			line.Amount = raw.credit + raw.debit
		case !raw.signed:
			line.Amount = raw.credit - raw.debit
		case credit && credits >= 0, !credit && charges <= 0:
			line.Amount = raw.amount
		default:
			line.Amount = -raw.amount
		}
		ordered := line.OrderID != "" || line.Product != "" || line.Company != "" || line.CompanyID != ""
		switch {
		case raw.words == Deposit, line.Amount > 0 && !ordered && raw.words != Refund:
			line.Kind = Deposit
		case line.Amount > 0:
			line.Kind = Refund
		default:
			line.Kind = Charge
		}
	}
	return charges > 0 && credits < 0
}

func signOf(amount money.Cents) int {
	switch {
	case amount > 0:
		return 1
	case amount < 0:
		return -1
	}
	return 0
}

// findPeriod finds the days that the statement covers. A line outside of a period that
// a person gave is another period's.
func (r *reader) findPeriod() error {
	var from, to time.Time
	for i := range r.Lines {
		line := &r.Lines[i]
		if line.At.IsZero() {
			continue
		}
		day := line.At.Truncate(24 * time.Hour)
		if !r.options.From.IsZero() && day.Before(r.options.From) || !r.options.To.IsZero() && day.After(r.options.To) {
			return r.fault(line.Cell, fmt.Sprintf("the line of %s lies outside the period from %s to %s", line.Day(),
				dayText(r.options.From), dayText(r.options.To)),
				"This is the statement of another period, or the period is wrong. "+nothingChanged)
		}
		if from.IsZero() || day.Before(from) {
			from = day
		}
		if day.After(to) {
			to = day
		}
	}
	stated := r.Stated && !from.IsZero() && !from.Before(r.From) && !to.After(r.To)
	if r.Stated = stated; !stated {
		r.From, r.To = from, to
	}
	if !r.options.From.IsZero() {
		r.From = r.options.From
	}
	if !r.options.To.IsZero() {
		r.To, r.Stated = r.options.To, true
	}
	return nil
}

func dayText(at time.Time) string {
	if at.IsZero() {
		return "any day"
	}
	return at.Format(time.DateOnly)
}

// proveBalances proves the running balance, which a statement may write from the
// oldest line to the newest or the other way round.
func (r *reader) proveBalances() error {
	if len(r.raw) == 0 || !r.heading.has(balanceColumn) {
		return nil
	}
	up, down := -1, -1 // the first line that does not follow from the one before
	last := -1
	for i := range r.raw {
		if !r.raw[i].balance.Known {
			continue
		}
		if last == i-1 && last >= 0 {
			before, after := r.raw[last].balance.Amount, r.raw[i].balance.Amount
			if up < 0 && before+r.Lines[i].Amount != after {
				up = i
			}
			if down < 0 && after+r.Lines[last].Amount != before {
				down = i
			}
		}
		last = i
	}
	first := slices.IndexFunc(r.raw, func(raw rawLine) bool { return raw.balance.Known })
	if first < 0 {
		return nil
	}
	oldest, newest := first, last
	switch {
	case up >= 0 && down >= 0:
		at := max(up, down)
		return r.fault(sheet.CellName(r.heading.at[balanceColumn], r.raw[at].row), fmt.Sprintf(
			"the running balance %s does not follow from the line before and its amount of %s",
			r.raw[at].balance.Amount.Dollars(), r.Lines[at].Amount.Dollars()),
			"The statement's own sum is wrong, or a line is missing. "+nothingChanged)
	case up >= 0:
		oldest, newest = last, first
	}
	if first != 0 || last != len(r.raw)-1 {
		return nil // some lines have no balance
	}
	if !r.marks[openingRow].Known {
		r.marks[openingRow] = mark{
			Balance{r.raw[oldest].balance.Amount - r.Lines[oldest].Amount, true},
			sheet.CellName(r.heading.at[balanceColumn], r.raw[oldest].row), true,
		}
	}
	if !r.marks[closingRow].Known {
		r.marks[closingRow] = mark{
			Balance{r.raw[newest].balance.Amount, true},
			sheet.CellName(r.heading.at[balanceColumn], r.raw[newest].row), true,
		}
	}
	return nil
}

// proveTotals proves the rows of totals: each is the sum of its column so far, or since
// the row of totals before.
func (r *reader) proveTotals() error {
	before := 0
	for _, t := range r.totals {
		for c, stated := range t.sums {
			sums := [2]map[string]money.Cents{r.sumsOf(c, 0, t.before), r.sumsOf(c, before, t.before)}
			if !slices.ContainsFunc(sums[:], func(m map[string]money.Cents) bool {
				for _, sum := range m {
					if sum == stated || sum == -stated {
						return true
					}
				}
				return false
			}) {
				return r.fault(sheet.CellName(r.heading.at[c], t.row), fmt.Sprintf(
					"the total is %s, and the lines add up to %s", stated.Dollars(), sums[0]["all"].Dollars()),
					"The statement's own sum is wrong, or lines are missing. "+nothingChanged)
			}
		}
		before = t.before
	}
	return nil
}

// sumsOf are the sums that a total of a column may state: of all lines, of the charges
// with their refunds, of the charges, of the credits, with the opening balance or
// without it.
func (r *reader) sumsOf(c column, from, to int) map[string]money.Cents {
	sums := make(map[string]money.Cents)
	for i := from; i < to; i++ {
		raw, line := &r.raw[i], &r.Lines[i]
		amount := raw.amount
		switch c {
		case debitColumn:
			amount = raw.debit
		case creditColumn:
			amount = raw.credit
		}
		sums["all"] += amount
		if c != amountColumn {
			continue
		}
		sums["opened"] += amount
		if line.Kind != Deposit {
			sums["orders"] += amount
		}
		if line.Amount < 0 {
			sums["charges"] += amount
		} else {
			sums["credits"] += amount
		}
	}
	if c == amountColumn {
		sums["opened"] += r.marks[openingRow].Amount
	}
	return sums
}

// proveClosing proves that the opening balance and the lines add up to the closing
// balance.
func (r *reader) proveClosing(inverted bool) error {
	opening, closing := r.marks[openingRow], r.marks[closingRow]
	var sum money.Cents
	for i := range r.Lines {
		sum += r.Lines[i].Amount
	}
	turn := inverted && !opening.plain && !closing.plain
	if opening.Known && closing.Known && !opening.plain && !closing.plain {
		switch {
		case opening.Amount+sum == closing.Amount:
			turn = false
		case -opening.Amount+sum == -closing.Amount:
			turn = true
		}
	}
	if turn {
		opening.Amount, closing.Amount = -opening.Amount, -closing.Amount
	}
	if opening.Known && closing.Known && opening.Amount+sum != closing.Amount {
		return r.fault(
			closing.cell, fmt.Sprintf("the closing balance is %s, and the opening balance of %s and the lines add "+
				"up to %s", closing.Amount.Dollars(), opening.Amount.Dollars(), (opening.Amount+sum).Dollars()),
			"The statement's own sum is wrong, or lines are missing. "+nothingChanged)
	}
	switch {
	case opening.Known && !closing.Known:
		closing.Amount, closing.Known = opening.Amount+sum, true
	case closing.Known && !opening.Known:
		opening.Amount, opening.Known = closing.Amount-sum, true
	}
	r.Opening, r.Closing = opening.Balance, closing.Balance
	return nil
}
