package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// ErrNoNextYear is returned for a batch that next year's spreadsheet cannot be made from.
var ErrNoNextYear = errors.New("it is made from annual reports, after every row has a result. Nothing was written. " +
	"Wait for the results, or cancel the batch")

// NextYear counts the rows that next year's spreadsheet has, and those that it lists with a reason.
type NextYear struct{ Copied, Listed int }

// givenColumns are the columns that are added if options replaced them, or if their values are known
// only since the order.
var givenColumns = []filing.CompanyColumn{filing.CompanyIDColumn, {Header: "User ID", Field: "userId"},
	{Header: "User Email", Field: "email"}, filing.FilingStateColumn, {Header: "Filing Year", Field: yearField}}

// WriteNextYear writes next year's spreadsheet of a batch of annual reports to a workbook. Its first
// sheet has the input's columns under the given headers, without results and with the year raised. The
// sheet Not Copied lists the rows that were not ordered, that repeat another row, or whose company has no
// report due. The error is ErrNoNextYear for a batch of another product, or with an unfinished row.
func WriteNextYear(ctx context.Context, l *ledger.Ledger, batchID string, headers []string, path string) (n NextYear,
	err error) {
	defer explain(&err, "write next year's spreadsheet of batch %s", batchID)
	b, err := l.Batch(ctx, batchID)
	if err != nil {
		return n, err
	}
	figures, err := l.ResultFigures(ctx, batchID)
	if err != nil {
		return n, err
	}
	if b.Product != filing.AnnualReport || figures.Left() > 0 {
		return n, ErrNoNextYear
	}
	y := nextYear{projection: &projection{batch: b, layout: newLayout(headers, b.Fields, answersIn(b))},
		needed: make(map[string]bool)}
	if err := y.decide(ctx, l); err != nil {
		return n, err
	}
	book, err := sheet.Create(path)
	if err != nil {
		return n, err
	}
	defer book.Abort()
	if n.Copied, err = y.writeCopied(ctx, l, book); err != nil {
		return n, err
	}
	n.Listed = len(y.rows) - n.Copied
	if err := y.writeListed(book); err != nil {
		return n, err
	}
	return n, book.Save()
}

// nextYear is next year's spreadsheet of a batch.
type nextYear struct {
	*projection
	rows []reportRow
	// needed are the fields of givenColumns that a copied row has no cell for.
	needed map[string]bool
}

// reportRow is a row with its annual report.
type reportRow struct {
	number int
	// label names the company and state.
	label string
	// why is the reason why the row is not copied. Empty if it is copied.
	why string

	// key identifies the company and state, and ref is the reference of the company's record.
	key, ref string
	year     int
	request  *filing.Request
}

// decide reads all rows and decides which are copied. Of several rows of a company in a state, the one
// with the latest year is.
func (y *nextYear) decide(ctx context.Context, l *ledger.Ledger) error {
	var refs []string
	latest := make(map[string]reportRow)
	err := eachRow(ctx, l, y.batch.ID, func(row *ledger.Row, cells []sheet.Cell) error {
		y.layout.measureCells(cells)
		r := y.read(row, cells)
		y.rows = append(y.rows, r)
		if before, found := latest[r.key]; r.why == "" && (!found || r.year > before.year) {
			latest[r.key], refs = r, append(refs, r.ref)
		}
		return nil
	})
	if err != nil {
		return err
	}
	known, err := l.Companies().Find(ctx, refs)
	for i := range y.rows {
		switch r := &y.rows[i]; {
		case r.why != "":
		case latest[r.key].number != r.number:
			r.why = fmt.Sprintf("Row %d is for the same company and state.", latest[r.key].number)
		default:
			r.why = notDue(season.FactsOf(r.request.Order.FilingState, known[r.ref], r.request.Company.Sheet), r.year)
		}
	}
	return err
}

// read returns the report of a row.
func (y *nextYear) read(row *ledger.Row, cells []sheet.Cell) reportRow {
	who := []string{y.textOf(cells, filing.LegalNameColumn.Field), y.textOf(cells, filing.CompanyIDColumn.Field),
		y.textOf(cells, filing.FilingStateColumn.Field)}
	who = slices.DeleteFunc(who, func(part string) bool { return part == "" })
	r := reportRow{number: row.Number, request: row.Request, why: notOrdered(row)}
	if r.label = cmp.Or(strings.Join(who, ", "), y.textOf(cells, "")); r.why != "" {
		return r
	}
	for field, value := range given(row) {
		y.needed[field] = y.needed[field] || value != "" && y.textOf(cells, field) == ""
	}
	r.ref = cmp.Or(r.request.Company.Ref, row.Company)
	r.key = cmp.Or(row.CompanyRef(), filing.FoldLegalName(r.request.LegalName())) + "|" +
		string(r.request.Order.FilingState)
	r.year, _ = strconv.Atoi(r.request.Order.AnnualReport.FilingYear)
	return r
}

// textOf returns the text of a row in the column of a field, or the first text if field is empty.
func (y *nextYear) textOf(cells []sheet.Cell, field string) string {
	for i := range y.layout.columns {
		c := &y.layout.columns[i]
		if t := c.of(cells).Text; t != "" && (field == "" || c.field == field) {
			return t
		}
	}
	return ""
}

// notOrdered returns the reason why the report of a row was not ordered, or was canceled. It is empty if
// the report was ordered, may have been ordered, or is covered by a subscription.
func notOrdered(row *ledger.Row) string {
	for _, i := range row.Items {
		if i.Product == filing.AnnualReport && filing.IsCanceled(i.FilingStatus) {
			return fmt.Sprintf("The filing service canceled this year's report (order %s).", i.OrderID)
		}
	}
	// The rest of such a message has the choices of this year.
	why, _, _ := strings.Cut(Message(row), ": the row is not filed until")
	why = strings.TrimSuffix(why, ".") + "."
	switch r := row.Result; {
	case r == filing.Rejected, r == filing.Invalid:
		return text.Capital(string(r)) + ": " + why
	case r == filing.Canceled, r == filing.Skipped && row.CoveredBy == nil:
		return text.Capital(why)
	case row.Request == nil || row.Request.Order.AnnualReport == nil:
		return "The row orders no annual report."
	}
	return ""
}

// notDue returns the reason why no report is due in the year after a report. If the rule is every second
// year and does not show which, it is the year of the report.
func notDue(f season.Facts, year int) string {
	rules := season.Builtin()
	due := rules.DueOf(f, year+1)
	alternates := due.EitherYear && f.EntityType != "" && f.FormationState != ""
	switch {
	case due.Verdict == season.NotRequired:
		return f.NotRequiredText() + "."
	case due.Verdict != season.NotThisYear && !alternates:
		return ""
	}
	// Some reports are due once in ten years.
	later := year + 2
	for later < year+10 && rules.DueOf(f, later).Verdict != season.Dated {
		later++
	}
	return fmt.Sprintf("Its next report is due in %d: add it to the spreadsheet of that year.", later)
}

// writeCopied writes the rows that are copied, and returns their number. It adds the needed columns after
// the last one that is sent, because a blank column ends the table.
func (y *nextYear) writeCopied(ctx context.Context, l *ledger.Ledger, book *sheet.Workbook) (n int, err error) {
	columns, at := &y.layout.columns, 0
	for i, c := range *columns {
		if delete(y.needed, c.field); c.field != "" {
			at = i + 1
		}
	}
	for _, c := range slices.Backward(givenColumns) {
		if y.needed[c.Field] {
			// No row has a cell in the column.
			added := column{index: math.MaxInt, header: c.Header, field: c.Field, width: len(c.Header)}
			*columns = slices.Insert(*columns, at, added)
		}
	}
	options := y.layout.correctable()
	options.TabColor = "1F3864"
	w, err := book.Sheet("Annual Reports", options)
	if err == nil {
		err = w.Row(y.header()...)
	}
	if err != nil {
		return 0, err
	}
	next := 0
	err = eachRow(ctx, l, y.batch.ID, func(row *ledger.Row, cells []sheet.Cell) error {
		if next++; y.rows[next-1].why != "" {
			return nil
		}
		n++
		return w.Row(y.raise(row, cells)...)
	})
	return n, err
}

// given returns the values of givenColumns in a row for next year.
func given(row *ledger.Row) map[string]string {
	o := row.Request
	year, _ := strconv.Atoi(o.Order.AnnualReport.FilingYear)
	return map[string]string{
		filing.CompanyIDColumn.Field:   row.CompanyRef(),
		filing.FilingStateColumn.Field: string(o.Order.FilingState),
		yearField:                      strconv.Itoa(year + 1),
		"userId":                       o.User.ID,
		"email":                        o.User.Email,
	}
}

// raise returns the cells of a row for next year. They do not order again what was ordered with the
// report. A company that was created has its ID, instead of a placeholder.
func (y *nextYear) raise(row *ledger.Row, cells []sheet.Cell) []sheet.OutCell {
	o, values := &row.Request.Order, given(row)
	done := map[string]bool{
		"registeredAgent":                 o.RegisteredAgent != nil,
		"registeredAgent.isChangeOfAgent": o.RegisteredAgent != nil,
		"foreignQualification":            o.ForeignQualification != nil,
		"ein":                             o.EIN != nil,
	}
	out := y.echo(cells)
	for i, c := range y.layout.columns {
		switch cell := &out[i]; {
		case c.secret, done[c.field]:
			*cell = sheet.OutCell{}
		case c.field == yearField && cell.Kind != sheet.Text:
			*cell = sheet.OutCell{Cell: sheet.Cell{Kind: sheet.Number, Text: values[yearField]}}
		case c.field == yearField, cell.Kind == sheet.Blank,
			c.field == filing.CompanyIDColumn.Field && row.Request.Company.Ref == "":
			*cell = sheet.Str(values[c.field])
		}
	}
	return out
}

// writeListed writes the rows that are not copied. The headers are not those of filings, so that the
// sheet is not read as one.
func (y *nextYear) writeListed(book *sheet.Workbook) error {
	w, err := book.Sheet("Not Copied", sheet.SheetOptions{Widths: []float64{8, 60, messageWidth}, HeaderRows: 1})
	if err != nil {
		return err
	}
	head := sheet.StyleHeader
	err = w.Row(sheet.Str(rowHeader).WithStyle(head), sheet.Str("Company and state").WithStyle(head),
		sheet.Str("Reason").WithStyle(head))
	for _, r := range y.rows {
		if r.why != "" && err == nil {
			err = w.Row(sheet.Int(int64(r.number)), sheet.Str(r.label), sheet.Str(r.why).WithStyle(sheet.StyleWrap))
		}
	}
	return err
}
