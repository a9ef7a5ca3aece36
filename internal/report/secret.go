package report

import (
	"cmp"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// The importer hides Social Security numbers before the ledger stores a cell. This file is a second
// protection, and the only one for rows that an earlier version recorded.

// isSecret reports whether a column contains Social Security numbers, by its mapped field, or by
// its header if it is not mapped.
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
