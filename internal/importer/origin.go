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

// findResultColumns finds the columns that a results workbook added to the sheet.
func (im *Import) findResultColumns() {
	im.messageColumn, im.rowColumn, im.resultColumn, im.ordersColumn = -1, -1, -1, -1
	free := func(header string, from int) int {
		folded := filing.FoldName(header)
		i := slices.IndexFunc(im.layout.headings[from:],
			func(h heading) bool { return h.column == none && h.folded == folded })
		if i < 0 {
			return -1
		}
		return from + i
	}
	if im.origin != nil && im.origin.Sheet == im.sheet {
		for at := free(messageHeader, 0); at >= 0; at = free(messageHeader, at+1) {
			im.messageColumn, im.rowColumn = at, free(rowHeader, at+1)
		}
		for _, at := range []int{im.messageColumn, im.rowColumn} {
			if at >= 0 {
				im.options.ours = append(im.options.ours, im.layout.headings[at].index)
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
		im.resultColumn, im.ordersColumn = im.layout.headings[result].index, im.layout.headings[orders].index
	}
}

// isOurs reports whether a results workbook added the column.
func (im *Import) isOurs(heading int) bool {
	return heading >= 0 && (heading == im.messageColumn || heading == im.rowColumn)
}

// numberOf returns the row's number in the batch of the results workbook, or 0 if the row was added
// later.
func (im *Import) numberOf(cells []sheet.Cell) int {
	if im.rowColumn < 0 {
		return 0
	}
	at := im.layout.headings[im.rowColumn].index
	if at >= len(cells) {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(cells[at].Text))
	if err != nil || n < 1 {
		return 0
	}
	return n
}

// boughtRow returns the result and orders that a results sheet has for a row. is reports whether
// the row was ordered, or may have been.
func (im *Import) boughtRow(r *Row) (ledger.BoughtRow, bool) {
	if im.origin != nil && im.rowColumn >= 0 {
		n := im.numberOf(r.Cells)
		i := slices.IndexFunc(im.origin.Bought, func(b ledger.BoughtRow) bool { return n != 0 && b.Number == n })
		if i < 0 {
			return ledger.BoughtRow{}, false
		}
		return im.origin.Bought[i], true
	}
	if im.resultColumn < 0 {
		return ledger.BoughtRow{}, false
	}
	text := func(at int) string {
		if at >= len(r.Cells) {
			return ""
		}
		return strings.TrimSpace(r.Cells[at].Text)
	}
	b := ledger.BoughtRow{
		Number: r.Number,
		Result: filing.Result(strings.ToLower(text(im.resultColumn))),
		Orders: text(im.ordersColumn),
	}
	if im.changedSince(r) != "" {
		// The order counts for the item that was bought.
		return b, false
	}
	switch b.Result {
	case filing.Placed, filing.Exists, filing.Uncertain, filing.Placing:
		return b, true
	}
	return b, b.Orders != ""
}

// changedSince returns the key of the item that a row of a results sheet bought, if the row now
// describes another item. It returns an empty key otherwise, and if the item is unknown.
func (im *Import) changedSince(r *Row) filing.Key {
	if im.origin == nil || im.ordersColumn < 0 || im.ordersColumn >= len(r.Cells) || r.Read == nil {
		return ""
	}
	ids := ordersIn(r.Cells[im.ordersColumn].Text)
	if len(ids) == 0 {
		return ""
	}
	bought := im.origin.Orders[ids[0]]
	if now := r.Read.SheetKeys(); len(now) > 0 && now[0] == bought {
		return ""
	}
	return bought
}

// refuseChangedResults returns an error if the sheet Needs Attention of a results workbook is read
// and the sheet of results was changed. The user would not notice that the changes are not read.
func (im *Import) refuseChangedResults() error {
	f := &im.finder
	if im.options.Sheet != "" || f.results == "" || im.origin == nil || len(im.origin.Orders) == 0 {
		return nil
	}
	o := OptionsOf(ledger.Batch{Options: im.origin.Options})
	o.Sheet, o.Now, o.OnPage = f.results, im.options.Now, im.options.OnPage
	results, err := o.begin(im.file.File)
	if err != nil || results.recognize() != nil {
		// The sheet of results cannot be read as filings, and it does not need to be.
		return err
	}
	var changed []string
	err = results.readChunks(context.Background(), func(rows []Row) error {
		for i := range rows {
			if bought := results.changedSince(&rows[i]); bought != "" {
				changed = append(changed, fmt.Sprintf("row %d, whose order %s was bought for %q, says %q",
					rows[i].Number, ordersIn(rows[i].Cells[results.ordersColumn].Text)[0], plainKey(bought),
					plainKey(rows[i].Read.SheetKeys()[0])))
			}
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

// purchaseLookup reads purchases from the ledger. *ledger.Ledger implements it.
type purchaseLookup interface {
	KnownOrders(ctx context.Context, orders []string) (map[string]bool, error)
	Batch(ctx context.Context, id string) (ledger.Batch, error)
	Counts(ctx context.Context, batch string) (ledger.Counts, error)
}

// otherPurchases skips rows that were ordered through another ledger. This ledger does not have
// those orders.
type otherPurchases struct {
	im *Import
	// to is nil if the recorder cannot look up purchases.
	to purchaseLookup
	// known reports whether this ledger has the batch of the workbook, or an order of that batch.
	known   bool
	rows    int
	ordered []string
}

func (im *Import) newOtherPurchases(ctx context.Context, to Recorder) *otherPurchases {
	e := &otherPurchases{im: im}
	e.to, _ = to.(purchaseLookup)
	if e.to == nil || im.origin == nil {
		return e
	}
	original, err := e.to.Batch(ctx, im.origin.Batch)
	e.known = err == nil && original.ID == im.origin.Batch
	return e
}

// skipBought skips such rows before they are recorded.
func (e *otherPurchases) skipBought(ctx context.Context, rows []Row) error {
	if e.to == nil || e.im.options.Again != "" ||
		e.im.resultColumn < 0 && (e.im.origin == nil || len(e.im.origin.Bought) == 0) {
		return nil
	}
	var orders []string
	all := make(map[int]ledger.BoughtRow)
	for i := range rows {
		if b, is := e.im.boughtRow(&rows[i]); is && rows[i].Result == filing.Ready {
			all[i] = b
			orders = append(orders, ordersIn(b.Orders)...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	known, err := e.to.KnownOrders(ctx, orders)
	if err != nil {
		return err
	}
	e.known = e.known || len(known) > 0
	for i := range rows {
		b, is := all[i]
		ids := ordersIn(b.Orders)
		if !is || slices.ContainsFunc(ids, func(id string) bool { return known[id] }) || len(ids) == 0 && e.known {
			continue
		}
		e.rows++
		e.ordered = append(e.ordered, ids...)
		r := &rows[i]
		as := ""
		if len(ids) > 0 {
			as = " as " + strings.Join(ids, ", ")
		}
		if b.Result == filing.Uncertain || b.Result == filing.Placing {
			r.Result, r.Request = filing.Invalid, nil
			r.Message = "The spreadsheet says that the order was sent but not confirmed" + as +
				". It is not in this ledger and is not sent again. Check the company's dashboard, or resolve the " +
				"row in the ledger that sent it"
			continue
		}
		r.skip("The spreadsheet says that the order was already placed" + as +
			". It is not in this ledger and is not placed again")
	}
	return nil
}

// note adds a note on the skipped rows.
func (e *otherPurchases) note() {
	if e.rows == 0 {
		return
	}
	note := fmt.Sprintf(
		"ATTENTION: according to the spreadsheet, %s placed or sent before from another ledger. They are not "+
			"sent again.",
		text.CountOf(e.rows, "row was", "rows were"))
	if len(e.ordered) > 0 {
		note += " Their orders: " + text.FirstOf(e.ordered, 10) + "."
	}
	e.im.found = append(e.im.found, note)
}

func ordersIn(text string) (ids []string) {
	for id := range strings.SplitSeq(text, ",") {
		if id = strings.TrimSpace(id); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// target maps the columns of the sheet to the columns of the batch. It leaves out the columns that
// a results workbook added. For corrections, it has the order of the corrected batch.
type target struct {
	columns []string
	fields  []string
	// at has the position of each column of the sheet, or -1 for a column that is left out.
	at []int
}

// targetFor finds the position of each column. original is the corrected batch, or nil.
func (im *Import) targetFor(original *ledger.Batch) *target {
	headers, fields := im.Columns(), im.fields()
	t := &target{at: make([]int, len(headers))}
	if original != nil {
		t.columns, t.fields = slices.Clone(original.Columns), slices.Clone(original.Fields)
		for len(t.fields) < len(t.columns) {
			t.fields = append(t.fields, "")
		}
	}
	own := len(t.columns)
	taken := make([]bool, own)
	for i, h := range im.layout.headings {
		at := h.index
		if at >= len(headers) {
			continue
		}
		if im.isOurs(i) {
			t.at[at] = -1
			continue
		}
		j := -1
		for k, c := range t.columns[:own] {
			if !taken[k] && foldHeader(c) == foldHeader(headers[at]) {
				j = k
				break
			}
		}
		if j >= 0 {
			taken[j] = true
			if t.fields[j] == "" {
				t.fields[j] = fields[at]
			}
		} else {
			j = len(t.columns)
			t.columns, t.fields = append(t.columns, headers[at]), append(t.fields, fields[at])
		}
		t.at[at] = j
	}
	return t
}

// cells returns a row's cells in the columns of the batch.
func (t *target) cells(in []sheet.Cell) []sheet.Cell {
	out := make([]sheet.Cell, len(t.columns))
	for i, c := range in {
		switch {
		// The cell is after the headers.
		case i >= len(t.at):
			out = append(out, c)
		case t.at[i] >= 0:
			out[t.at[i]] = c
		}
	}
	for len(out) > 0 && out[len(out)-1].Kind == sheet.Blank {
		out = out[:len(out)-1]
	}
	return out
}

// column returns the position of a column in the batch, or -1 if it is left out.
func (t *target) column(i int) int {
	if i < 0 || i >= len(t.at) {
		return i
	}
	return t.at[i]
}

// findOriginal returns the batch whose rows the sheet corrects, or nil if this ledger has no such
// batch.
func (im *Import) findOriginal(ctx context.Context, to Recorder, own *ledger.Batch) (*ledger.Batch, error) {
	k, ok := to.(purchaseLookup)
	if !ok || im.origin == nil || im.rowColumn < 0 || im.options.Run != nil {
		return nil, nil
	}
	b, err := k.Batch(ctx, im.origin.Batch)
	if err != nil || b.ID != im.origin.Batch || b.ID == own.ID || b.Product != own.Product || b.Again != own.Again {
		// The batch belongs to another ledger or has another product.
		return nil, nil
	}
	if b.Open || b.Prepared {
		return &b, nil
	}
	counts, err := k.Counts(ctx, b.ID)
	if err != nil || im.origin.Rows == 0 || counts.Total() != im.origin.Rows {
		// The batch was not recorded completely.
		return nil, err
	}
	return &b, nil
}
