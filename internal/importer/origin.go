package importer

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// A results workbook can be corrected and uploaded again. Its properties name the batch, and its
// Row column has each row's number in the batch.

// rowHeader is the header of the row number. It follows the Message column.
const rowHeader = "Row"

// ownColumns are the columns of a sheet that our workbooks added. They are -1 if the sheet lacks
// them.
type ownColumns struct {
	// origin is nil for other files.
	origin *ledger.Origin
	// message and row are on the sheet with the rows that need attention, or on a checked sheet.
	message, row int
	// result and orders are on a sheet of results.
	result, orders int
}

// find finds the columns and marks the first two in the layout.
func (o *ownColumns) find(l *layout, name string) {
	o.message, o.row, o.result, o.orders = -1, -1, -1, -1
	free := func(header string, from int) int {
		folded := filing.FoldName(header)
		i := slices.IndexFunc(l.headings[from:],
			func(h heading) bool { return h.column == none && h.folded == folded })
		if i < 0 {
			return -1
		}
		return from + i
	}
	if o.origin != nil && o.origin.Sheet == name {
		for at := free(messageHeader, 0); at >= 0; at = free(messageHeader, at+1) {
			o.message, o.row = at, free(rowHeader, at+1)
		}
		for _, at := range []int{o.message, o.row} {
			if at >= 0 {
				l.headings[at].ours = true
			}
		}
		return
	}
	// A company list may have some columns with the names of a results sheet, but not all of them.
	result := free("Result", 0)
	if result < 0 {
		return
	}
	if orders := free("Order IDs", result+1); orders >= 0 && free(messageHeader, result+1) >= 0 {
		o.result, o.orders = result, orders
	}
}

// numberOf returns the row's number in the batch of the workbook, or 0 if the row was added later.
func (o *ownColumns) numberOf(cells []sheet.Cell) int {
	n, err := strconv.Atoi(cellIn(cells, o.row).Text)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// bought returns the result and orders that the workbook has for a row. is reports whether the row
// was ordered, or may have been.
func (o *ownColumns) bought(r *Row) (b ledger.BoughtRow, is bool) {
	if o.origin != nil && o.row >= 0 {
		n := o.numberOf(r.Cells)
		i := slices.IndexFunc(o.origin.Bought, func(b ledger.BoughtRow) bool { return n != 0 && b.Number == n })
		if i < 0 {
			return b, false
		}
		return o.origin.Bought[i], true
	}
	if o.result < 0 {
		return b, false
	}
	b = ledger.BoughtRow{
		Number: r.Number,
		Result: filing.Result(strings.ToLower(cellIn(r.Cells, o.result).Text)),
		Orders: cellIn(r.Cells, o.orders).Text,
	}
	if o.changedSince(r) != "" {
		// The order counts for the item that was bought.
		return b, false
	}
	switch b.Result {
	case filing.Placed, filing.Exists, filing.Uncertain, filing.Placing:
		return b, true
	}
	return b, b.Orders != ""
}

// changedSince returns the key of the item that the first order of a row was bought for, if the row
// describes another item. It returns an empty key otherwise, and if the item is unknown.
func (o *ownColumns) changedSince(r *Row) filing.Key {
	ids := ordersIn(cellIn(r.Cells, o.orders).Text)
	if o.origin == nil || r.Read == nil || len(ids) == 0 {
		return ""
	}
	bought := o.origin.Orders[ids[0]]
	if now := r.Read.SheetKeys(); len(now) > 0 && now[0] == bought {
		return ""
	}
	return bought
}

// refuseChangedResults returns an error if the sheet Needs Attention of a results workbook is read
// and the sheet of results was changed. The user would not notice that the changes are not read.
func (im *Import) refuseChangedResults() error {
	f := &im.finder
	if im.options.Sheet != "" || f.results == "" || im.own.origin == nil || len(im.own.origin.Orders) == 0 {
		return nil
	}
	o := OptionsOf(ledger.Batch{Options: im.own.origin.Options})
	o.Sheet, o.Now, o.OnPage = f.results, im.options.Now, im.options.OnPage
	results, err := o.begin(im.file.File)
	if err != nil || results.recognize() != nil {
		// The sheet of results cannot be read as filings, and it does not need to be.
		return err
	}
	var changed []string
	err = results.readRows(context.Background(), false, func(r *Row) error {
		if bought := results.own.changedSince(r); bought != "" {
			changed = append(changed, fmt.Sprintf("row %d, whose order %s was bought for %q, says %q", r.Number,
				ordersIn(r.Cells[results.own.orders].Text)[0], plainKey(bought), plainKey(r.Read.SheetKeys()[0])))
		}
		return nil
	})
	if err != nil || len(changed) == 0 {
		return err
	}
	return &sheet.FormatError{
		File: im.file.Name(), Sheet: f.results,
		Reason: text.CountOf(len(changed), "row was", "rows were") + " changed since the results were written: " +
			text.FirstOf(changed, quotedRows),
		Remedy: "Undo the changes, for only the sheet " + strconv.Quote(f.attention) + " is read. To order what the " +
			"changed rows say now, " + im.options.remedyText(chooseSheet, f.results),
	}
}

// plainKey formats a key for people: "annual-report, comp_1, DE, 2027".
func plainKey(k filing.Key) string { return strings.ReplaceAll(string(k), "|", ", ") }

// skipBought skips the rows that were ordered through another ledger, unless they are corrections.
// This ledger does not have those orders.
func (r *recording) skipBought(ctx context.Context, rows []*Row) error {
	own := &r.im.own
	if r.past == nil || r.original != nil || r.im.options.Again != "" ||
		own.result < 0 && (own.origin == nil || len(own.origin.Bought) == 0) {
		return nil
	}
	var orders []string
	all := make(map[int]ledger.BoughtRow)
	for i := range rows {
		if b, is := own.bought(rows[i]); is && rows[i].Result == filing.Ready {
			all[i] = b
			orders = append(orders, ordersIn(b.Orders)...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	known, err := r.past.ResultFiles().KnownOrders(ctx, orders)
	if err != nil {
		return err
	}
	r.known = r.known || len(known) > 0
	for i := range rows {
		b, is := all[i]
		ids := ordersIn(b.Orders)
		if !is || slices.ContainsFunc(ids, func(id string) bool { return known[id] }) || len(ids) == 0 && r.known {
			continue
		}
		r.elsewhere++
		r.ordered = append(r.ordered, ids...)
		row := rows[i]
		as := ""
		if len(ids) > 0 {
			as = " as " + strings.Join(ids, ", ")
		}
		if b.Result == filing.Uncertain || b.Result == filing.Placing {
			row.Result, row.Request = filing.Invalid, nil
			row.Message = "The spreadsheet says that the order was sent but not confirmed" + as +
				". It is not in this ledger and is not sent again. Check the company's dashboard, or resolve the " +
				"row in the ledger that sent it"
			continue
		}
		row.skip("The spreadsheet says that the order was already placed" + as +
			". It is not in this ledger and is not placed again")
	}
	return nil
}

// noteBought adds a note on the skipped rows.
func (r *recording) noteBought() {
	if r.elsewhere == 0 {
		return
	}
	note := fmt.Sprintf(
		"ATTENTION: according to the spreadsheet, %s placed or sent before from another ledger. They are not "+
			"sent again.",
		text.CountOf(r.elsewhere, "row was", "rows were"))
	if len(r.ordered) > 0 {
		note += " Their orders: " + text.FirstOf(r.ordered, 10) + "."
	}
	r.im.found = append(r.im.found, note)
}

func ordersIn(text string) (ids []string) {
	for id := range strings.SplitSeq(text, ",") {
		if id = strings.TrimSpace(id); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}
