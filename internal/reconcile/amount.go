package reconcile

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// errCurrency is the error of an amount that is not in dollars.
var errCurrency = errors.New("is not in US dollars")

// parseAmount reads an amount as statements write it: beside what money.Parse reads,
// "(12.50)", "12.50-", "12.50 DR", "USD 12.50".
func parseAmount(text string) (money.Cents, error) {
	if foreignCash.MatchString(text) {
		return 0, errCurrency
	}
	plain := strings.ToUpper(strings.TrimSpace(text))
	plain = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(plain, "USD"), "USD"))
	negative := false
	if inner, ok := strings.CutPrefix(plain, "("); ok && strings.HasSuffix(inner, ")") {
		plain, negative = strings.TrimSuffix(inner, ")"), true
	}
	for _, mark := range []string{"-", "DR"} {
		if rest, ok := strings.CutSuffix(plain, mark); ok && rest != "" {
			plain, negative = strings.TrimSpace(rest), true
		}
	}
	plain = strings.TrimSpace(strings.TrimSuffix(plain, "CR"))
	amount, err := money.Parse(strings.Replace(plain, "−", "-", 1))
	if err != nil {
		return 0, err
	}
	if negative {
		amount = -amount
	}
	return amount, nil
}

// dateForms are the forms of dates in a text. A date with slashes has the month first.
var dateForms = []string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04:05 MST", "2006-01-02 15:04",
	time.DateOnly,
	"1/2/2006", "1/2/2006 15:04", "1/2/2006 15:04:05", "1/2/2006 3:04 PM", "1/2/2006 3:04:05 PM", "1/2/06", "1-2-2006",
	"Jan 2, 2006", "Jan 2 2006", "January 2, 2006", "January 2 2006", "2 Jan 2006", "2 January 2006", "2-Jan-2006",
	"2-Jan-06", "2006/01/02", "20060102", "Mon, 02 Jan 2006", "Jan 2, 2006 3:04 PM",
}

// parseDate reads a date, with its time where it has one.
func parseDate(text string) (time.Time, bool) {
	text = strings.TrimSpace(text)
	for _, form := range dateForms {
		if at, err := time.Parse(form, text); err == nil && at.Year() >= 2000 && at.Year() < 2100 {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// fault is the error of a cell of the statement.
func (r *reader) fault(cell, reason, remedy string) error {
	return &sheet.FormatError{
		File:   r.File,
		Sheet:  r.Sheet,
		Cell:   cell,
		Reason: reason,
		Remedy: remedy,
	}
}

// nothingChanged ends what a refusal says.
const nothingChanged = "Nothing was changed"

// amountOf reads an amount of a row; known is false for a blank cell.
func (r *reader) amountOf(row *sheet.Row, at int) (amount money.Cents, known bool, err error) {
	cell := cellOf(row, at)
	if cell.Kind == sheet.Blank || cell.Text == "-" || cell.Text == "–" {
		return 0, false, nil
	}
	amount, err = parseAmount(cell.Text)
	name := sheet.CellName(at, row.Number)
	switch {
	case errors.Is(err, errCurrency):
		return 0, false, r.fault(name, fmt.Sprintf("the amount %q is not in US dollars", cell.Text),
			"Ask the filing service for a statement in US dollars. "+nothingChanged)
	case err != nil:
		return 0, false, r.fault(name, fmt.Sprintf("%q is not an amount in dollars and cents", cell.Text),
			"Correct the cell, or leave the column out with --map. "+nothingChanged)
	}
	return amount, true, nil
}

func cellOf(row *sheet.Row, at int) sheet.Cell {
	if at < 0 || at >= len(row.Cells) {
		return sheet.Cell{}
	}
	return row.Cells[at]
}
