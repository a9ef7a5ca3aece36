package intake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// Warning is a warning about a row that is sent.
type Warning struct {
	// Row is the number of the row in the spreadsheet.
	Row int
	// Where is a cell such as "Reports!C7", or "row 7" if the warning concerns no cell.
	Where string
	// Column is the header, empty if the spreadsheet has no such column.
	Column  string
	Message string
}

// Warnings are the warnings of the ready rows of a batch.
type Warnings struct {
	Count int
	Rows  int
	// Hash identifies the warnings. It is empty without warnings.
	Hash string
	// First are as many of the warnings as were requested.
	First []Warning
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
	if f.Column >= 0 && f.Column < len(b.Columns) {
		w.Column = b.Columns[f.Column]
	}
	switch {
	case f.Column < 0:
		w.Where = fmt.Sprintf("row %d", row.Number)
	case b.Sheet == "":
		w.Where = sheet.CellName(f.Column, row.Number)
	default:
		w.Where = b.Sheet + "!" + sheet.CellName(f.Column, row.Number)
	}
	return w
}

// Text returns the warning on one line.
func (w Warning) Text() string {
	if w.Column == "" {
		return w.Where + "  " + w.Message
	}
	return w.Where + "  " + w.Column + ": " + w.Message
}
