package report

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// styles are the colors of the results.
var styles = map[filing.Result]sheet.StyleID{
	filing.Placed:    sheet.StyleOK,
	filing.Exists:    sheet.StyleOK,
	filing.Ready:     sheet.StyleWait,
	filing.Placing:   sheet.StyleWait,
	filing.Skipped:   sheet.StyleGrey,
	filing.Canceled:  sheet.StyleGrey,
	filing.Invalid:   sheet.StyleBad,
	filing.Rejected:  sheet.StyleBad,
	filing.Uncertain: sheet.StyleWarn,
}

// medium is the kind of file that the table is written to.
type medium bool

const (
	inWorkbook medium = false
	inCSV      medium = true
)

// mediumOf returns the medium for a file name.
func mediumOf(path string) medium {
	return medium(strings.EqualFold(filepath.Ext(path), ".csv"))
}

func (p *projection) resultsOptions() sheet.SheetOptions {
	return sheet.SheetOptions{
		Widths:        append(p.layout.widths(), p.layout.resultColumnWidths()...),
		HeaderRows:    1,
		HeaderColumns: 1,
		AutoFilter:    true,
		TabColor:      "1F3864",
	}
}

// header returns the input's own headers and the given ones after them.
func (p *projection) header(more ...string) []sheet.OutCell {
	p.cells = p.cells[:0]
	for _, c := range p.layout.columns {
		p.cells = append(p.cells, sheet.Str(c.header).WithStyle(sheet.StyleHeader))
	}
	for _, name := range more {
		p.cells = append(p.cells, sheet.Str(name).WithStyle(sheet.StyleHeader))
	}
	return p.cells
}

// echo returns the input's cells of a row as given.
func (p *projection) echo(cells []sheet.Cell) []sheet.OutCell {
	p.cells = p.cells[:0]
	for i := range p.layout.columns {
		p.cells = append(p.cells, sheet.CopyOf(p.layout.columns[i].of(cells)))
	}
	return p.cells
}

// result returns a row of Results or of the CSV. The slice is valid until the next row.
func (p *projection) result(row *ledger.Row, cells []sheet.Cell, to medium) []sheet.OutCell {
	answers := p.answers(row, to)
	p.cells = append(p.echo(cells), answers[:]...)
	return p.cells
}

// answers returns the cells of the result columns.
func (p *projection) answers(row *ledger.Row, to medium) [resultColumnCount]sheet.OutCell {
	text := message(row, to)
	cost := sheet.OutCell{}
	if moved := row.Moved(); row.Result == filing.Placed || !moved.IsZero() {
		cost = costCell(row)
		if to == inCSV && !moved.IsKnown() {
			text += " Cost: " + costText(row) + "."
		}
	}
	return [...]sheet.OutCell{
		colResult:       sheet.Str(string(row.Result)).WithStyle(styles[row.Result]),
		colMessage:      sheet.Str(text).WithStyle(sheet.StyleWrap),
		colOrderIDs:     sheet.Str(orderIDs(row.Items)),
		colFilingStatus: sheet.Str(filingStatus(row.Items)),
		colFilingDate:   date(filingDate(row.Items)),
		colCost:         cost,
		colAttempts:     sheet.Int(int64(row.Attempts)),
		colUpdatedAt:    stamp(row.UpdatedAt, to),
		colSubscription: sheet.Str(subscription(row)),
	}
}

// costCell returns the cost of a row. A known cost and an estimate are numbers, because both are
// the best figure to add up. The workbook writes "about" before an estimate. A cost with an unknown
// part is a text, because a bare lower bound would be added up and billed as if it were the cost.
func costCell(row *ledger.Row) sheet.OutCell {
	cost := row.Moved()
	if cost.IsUnknown() {
		return sheet.Str(cost.Amount.String() + " + " + missingFee(row))
	}
	return amount(cost)
}

// missingFee names the unknown part of a cost: the state fee, or the service fee of an order
// without a state fee.
func missingFee(row *ledger.Row) string {
	if r := row.Request; r != nil && r.Order.AnnualReport == nil && r.Order.Formation == nil &&
		r.Order.ForeignQualification == nil {
		return "service fee"
	}
	return "state fee"
}

// costText returns the cost in words: "about $325.00 (the state fee is an estimate)", "$25.00 +
// state fee (not known for TX LLC)".
func costText(row *ledger.Row) string {
	cost := row.Moved()
	switch {
	case cost.IsUnknown():
		who := ""
		if row.Request != nil && missingFee(row) == "state fee" {
			who = strings.TrimSpace(string(row.Request.Order.FilingState) + " " +
				string(row.Request.Company.Sheet.EntityType))
		}
		return cost.Without(who)
	case !cost.IsKnown():
		return cost.String() + " (the state fee is an estimate)"
	}
	return cost.String()
}

// amount returns a number that can be added up, with its certainty in the number format.
func amount(c money.Cost) sheet.OutCell {
	cell := sheet.Money(int64(c.Amount))
	switch {
	case c.IsUnknown():
		cell.Format = `"at least $"#,##0.00`
	case !c.IsKnown():
		cell.Format = `"about $"#,##0.00`
	}
	return cell
}

// date returns a date if the service's text is one, alone or followed by a time. Otherwise it
// returns the text unchanged.
func date(s string) sheet.OutCell {
	if len(s) >= len(time.DateOnly) {
		if t, err := time.Parse(time.DateOnly, s[:len(time.DateOnly)]); err == nil &&
			(len(s) == len(time.DateOnly) || s[len(time.DateOnly)] == 'T') {
			return sheet.Time(t)
		}
	}
	return sheet.Str(s)
}

// stamp returns a time in UTC. The workbook's number format shows the zone, and so does the CSV's
// ISO 8601.
func stamp(t time.Time, to medium) sheet.OutCell {
	if t.IsZero() {
		return sheet.OutCell{}
	}
	if to == inCSV {
		return sheet.Str(t.UTC().Format(time.RFC3339))
	}
	c := sheet.Time(t.UTC())
	c.Format = `yyyy-mm-dd hh:mm "UTC"`
	return c
}
