package report

import (
	"cmp"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// The importer hides Social Security numbers before the ledger sees a cell. What
// is here is the second lock on that door, and the first for rows that an earlier
// version has recorded.

// isSecret reports whether a column holds Social Security numbers: by the field
// it is mapped to, and otherwise by its header.
func isSecret(header, field string) bool { return filing.IsSSNHeader(cmp.Or(field, header)) }

// maskCell hides the numbers in a cell of the column.
func (c *column) maskCell(cell sheet.Cell) sheet.Cell {
	text := cell.Text
	switch {
	case c.secret:
		text = filing.HideSSNsUnder(cmp.Or(c.field, c.header), text)
	case c.ids:
		text = filing.HideSSNsInID(text)
	default:
		text = filing.HideSSNs(text)
	}
	if text != cell.Text {
		return sheet.Cell{Kind: sheet.Text, Text: text}
	}
	return cell
}
