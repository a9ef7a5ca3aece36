package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// Warning is a remark about a cell of a row that is sent all the same.
type Warning struct {
	Row     int    // of the spreadsheet
	Where   string // "Reports!C7", or "row 7" where it concerns no cell
	Column  string // the header; "" where the spreadsheet has no such column
	Message string
}

// Warnings are the warnings of the rows of a batch that are still to be sent.
type Warnings struct {
	Count int
	Rows  int
	Hash  string    // of the row, the rule and the text of each; "" for none
	First []Warning // as many as were asked for
}

// ListWarnings counts the warnings of a batch's ready rows, hashes all of them, and
// lists the first.
func ListWarnings(ctx context.Context, l *ledger.Ledger, b ledger.Batch, first int) (Warnings, error) {
	var all Warnings
	whole := sha256.New()
	q := ledger.RowQuery{
		Batch:     b.ID,
		Results:   []filing.Result{filing.Ready},
		Warned:    true,
		Limit:     500,
		Uncounted: true,
	}
	for {
		rows, _, err := l.ListRows(ctx, q)
		if err != nil {
			return all, err
		}
		for _, row := range rows {
			n := all.Count
			for _, f := range row.Faults {
				if !f.Warning {
					continue
				}
				fmt.Fprintf(whole, "%d %q %d %q\n", row.Number, f.Rule, f.Column, f.Message)
				if all.Count++; len(all.First) < first {
					all.First = append(all.First, warningAt(b, row, f))
				}
			}
			if all.Count > n {
				all.Rows++
			}
		}
		if len(rows) < q.Limit {
			if all.Count > 0 {
				all.Hash = hex.EncodeToString(whole.Sum(nil))[:16]
			}
			return all, nil
		}
		q.After = rows[len(rows)-1].Number
	}
}

func warningAt(b ledger.Batch, row ledger.Row, f ledger.Fault) Warning {
	w := Warning{Row: row.Number, Column: f.Header, Message: f.Message}
	tab, column, number := b.Sheet, f.Column, row.Number
	if p := f.Elsewhere; p != nil {
		tab, column, number = p.Sheet, p.Column, p.Row
	} else if column >= 0 && column < len(b.Columns) {
		w.Column = b.Columns[column]
	}
	switch {
	case column < 0:
		w.Where = fmt.Sprintf("row %d", number)
	case tab == "":
		w.Where = sheet.CellName(column, number)
	default:
		w.Where = tab + "!" + sheet.CellName(column, number)
	}
	return w
}

// Text is the warning on one line.
func (w Warning) Text() string {
	if w.Column == "" {
		return w.Where + "  " + w.Message
	}
	return w.Where + "  " + w.Column + ": " + w.Message
}
