package billing

import (
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// WriteXLSX writes bills into a workbook: one sheet with a line per bill, and one with
// all lines.
func WriteXLSX(path string, bills []Bill) error {
	book, err := sheet.Create(path)
	if err != nil {
		return err
	}
	defer book.Abort()
	book.Stable = true
	if err := addBills(book, bills); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return book.Save()
}

func addBills(book *sheet.Workbook, bills []Bill) error {
	list, err := book.Sheet("Bills", sheet.SheetOptions{
		Widths:     []float64{12, 10, 12, 12, 10, 32, 28, 24, 8, 14, 14, 14},
		HeaderRows: 1,
		AutoFilter: true,
	})
	if err != nil {
		return err
	}
	if err := list.Row(headers("Bill", "Type", "Date", "Due", "Month", "Client", "Bill To", "Matter", "Lines",
		"Service Fees", "State Fees", "Total")...); err != nil {
		return err
	}
	for i := range bills {
		b := &bills[i]
		kind := "Invoice"
		if b.Credit {
			kind = "Credit"
		}
		if err := list.Row(sheet.Str(b.Name()), sheet.Str(kind), sheet.Str(b.Dated), sheet.Str(b.Due),
			sheet.Str(string(b.Month)), sheet.Str(b.Client), sheet.Str(b.BillTo), sheet.Str(b.Matter),
			sheet.Int(int64(len(b.Lines))), sheet.Money(int64(b.Fees(ServiceFee))),
			sheet.Money(int64(b.Fees(StateFee)+b.Fees(Filing))), sheet.Money(int64(b.Sum()))); err != nil {
			return err
		}
	}
	lines, err := book.Sheet("Lines", sheet.SheetOptions{
		Widths:     []float64{12, 10, 12, 12, 10, 28, 12, 24, 20, 18, 32, 18, 8, 8, 24, 12, 60, 12, 12, 11, 22, 16, 8},
		HeaderRows: 1,
		AutoFilter: true,
	})
	if err != nil {
		return err
	}
	if err := lines.Row(headers(csvHeader...)...); err != nil {
		return err
	}
	for i := range bills {
		b := &bills[i]
		for j := range b.Lines {
			l := &b.Lines[j]
			if err := lines.Row(b.xlsxLine(l)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// xlsxLine is a line with amounts that can be summed. A workbook keeps text as text, so
// that nothing has to be put in front of it.
func (b *Bill) xlsxLine(l *Line) []sheet.OutCell {
	texts := b.detail(l)
	cells := make([]sheet.OutCell, len(texts))
	for i, text := range texts {
		cells[i] = sheet.Str(text)
	}
	for i, text := range map[int]string{5: b.Client, 6: b.ClientID, 7: b.BillTo, 8: b.Matter, 9: l.Reference,
		10: l.Company, 12: l.State, 13: l.Year, 14: l.OrderID, 16: l.Description()} {
		cells[i] = sheet.Str(text)
	}
	cells[17], cells[18] = sheet.Money(int64(l.Cost)), sheet.Money(int64(l.Amount))
	cells[22] = sheet.Int(int64(l.Number))
	return cells
}

func headers(names ...string) []sheet.OutCell {
	cells := make([]sheet.OutCell, len(names))
	for i, name := range names {
		cells[i] = sheet.Str(name).WithStyle(sheet.StyleHeader)
	}
	return cells
}
