package report

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// layout selects and describes the input columns to write.
type layout struct {
	columns []column
	// inputs is the number of input columns, including those left out.
	inputs int
	// answers are the lengths of the longest text of each answer, in characters.
	answers [resultColumnCount]int
}

// column is one of the input's columns.
type column struct {
	// index is the position of the column in the input.
	index int
	// header is the header as given in the input.
	header string
	// field is the service's field that the column was read as. Empty if the column is not mapped.
	field string
	// secret reports whether the column contains Social Security numbers.
	secret bool
	// ids reports whether the column contains identifiers, which may have nine digits.
	ids bool
	// digits reports whether the column contains digits typed as text, such as postal codes.
	digits bool
	// width is the length of the longest text in characters.
	width int
}

// inputLayout returns the input's columns without the result columns of an earlier results file,
// because those are written again.
func inputLayout(b ledger.Batch) *layout {
	return newLayout(b.Columns, b.Fields, answersIn(b))
}

func newLayout(headers, fields []string, without []int) *layout {
	l := &layout{inputs: len(headers)}
	for i, name := range resultColumns {
		l.answers[i] = len(name)
	}
	l.answers[colUpdatedAt] = len("2026-03-01 14:30 UTC")
	for i, header := range headers {
		if slices.Contains(without, i) {
			continue
		}
		field := ""
		if i < len(fields) {
			field = fields[i]
		}
		l.append(i, filing.HideSSNs(header), field)
	}
	return l
}

// concerns reports whether an exception may be about the content of the column.
func (c *column) concerns(exception int) bool {
	e, known := filing.ExceptionOf(exception)
	return known && c.field != "" && slices.ContainsFunc(e.Fields, func(f string) bool {
		return f == c.field || strings.HasSuffix(f, "."+c.field)
	})
}

func (l *layout) append(index int, header, field string) {
	l.columns = append(l.columns, column{
		index:  index,
		header: header,
		field:  field,
		secret: isSecret(header, field),
		ids:    filing.IsIdentifierHeader(cmp.Or(field, header)) || field == "companyId" || field == "userId",
		width:  utf8.RuneCountInString(header),
	})
}

// answersIn finds the answer columns of an earlier results file among the input's columns. Their
// names are common words, and a company list may use them for other columns. They count as answers
// only from Result on in their usual order, with the three names that no company list combines, or
// as the Message at the end of Needs Attention.
func answersIn(b ledger.Batch) []int {
	names := make([]string, len(b.Columns))
	for i, h := range b.Columns {
		// A user has not mapped the column.
		if i >= len(b.Fields) || b.Fields[i] == "" {
			names[i] = filing.FoldName(h)
		}
	}
	for first := len(names) - 1; first >= 0; first-- {
		if names[first] != resultColumnNames[colResult] {
			continue
		}
		if ours := answersFrom(names, first); ours != nil {
			return ours
		}
	}
	// The sheet Needs Attention has no name after it is saved as CSV. The second of two Message
	// columns at its end is a result column. Otherwise each run would add another.
	last := len(names) - 1
	if last > 0 && names[last] == filing.FoldName(rowHeader) && names[last-1] == resultColumnNames[colMessage] {
		// The row number follows the message.
		return []int{last - 1, last}
	}
	if last >= 0 && names[last] == resultColumnNames[colMessage] &&
		(b.Sheet == attentionSheet || last > 0 && names[last-1] == resultColumnNames[colMessage]) {
		return []int{last}
	}
	return nil
}

// answersFrom returns the answers that begin at a Result, in their order. A user may have deleted
// some and inserted other columns between them. It returns nil if the Result belongs to another
// table.
func answersFrom(names []string, first int) []int {
	var ours []int
	var found [resultColumnCount]bool
	next := 0
	for i := first; i < len(names); i++ {
		// The number ends a duplicate name in an Excel table.
		plain := strings.TrimSuffix(names[i], "2")
		if at := slices.Index(resultColumnNames[next:], plain); at >= 0 {
			ours, found[next+at], next = append(ours, i), true, next+at+1
		}
	}
	if !found[colResult] || !found[colMessage] || !found[colOrderIDs] {
		return nil
	}
	return ours
}

// resultColumnNames are resultColumns in folded form, for comparisons.
var resultColumnNames = func() (names []string) {
	for _, name := range resultColumns {
		names = append(names, filing.FoldName(name))
	}
	return names
}()

// measure widens the columns to the texts of a row. It adds a column without a header for every
// cell beyond the last header, so that no cell is lost.
func (l *layout) measure(row *ledger.Row, cells []sheet.Cell) {
	l.measureCells(cells)
	l.widen(colMessage, Message(row))
	l.widen(colOrderIDs, orderIDs(row.Items))
	l.widen(colFilingStatus, filingStatus(row.Items))
	l.widen(colFilingDate, filingDate(row.Items))
	l.widen(colSubscription, subscription(row))
	l.widen(colCost, row.Cost.String()+" + ")
}

func (l *layout) measureCells(cells []sheet.Cell) {
	for ; l.inputs < len(cells); l.inputs++ {
		l.append(l.inputs, "", "")
	}
	for i := range l.columns {
		c := &l.columns[i]
		cell := c.of(cells)
		c.width = max(c.width, utf8.RuneCountInString(cell.Text))
		c.digits = c.digits || cell.Kind == sheet.Text && allDigits(cell.Text)
	}
}

func (l *layout) widen(answer int, text string) {
	l.answers[answer] = max(l.answers[answer], utf8.RuneCountInString(text))
}

func allDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// of returns the column's cell of a row. Rows end at their last cell that is not blank.
func (c *column) of(cells []sheet.Cell) sheet.Cell {
	if c.index >= len(cells) {
		return sheet.Cell{}
	}
	return c.maskCell(cells[c.index])
}

// Columns are as wide as their texts, within these bounds, and leave room for the filter's button.
// Messages are wrapped and may be longer.
const (
	minWidth     = 9
	maxWidth     = 40
	messageWidth = 80
	button       = 3
)

func fit(chars, most int) float64 { return float64(min(max(chars+button, minWidth), most)) }

// resultColumnWidths returns the widths of the result columns.
func (l *layout) resultColumnWidths() (widths []float64) {
	for col, chars := range l.answers {
		most := maxWidth
		if col == colMessage {
			most = messageWidth
		}
		widths = append(widths, fit(chars, most))
	}
	return widths
}

// widths returns the widths of the input's columns.
func (l *layout) widths() []float64 {
	var widths []float64
	for _, c := range l.columns {
		widths = append(widths, fit(c.width, maxWidth))
	}
	return widths
}

// textColumns returns the columns in which corrections stay text, so that no postal code loses its
// leading zero.
func (l *layout) textColumns() []int {
	var columns []int
	for i, c := range l.columns {
		if c.digits || c.secret {
			columns = append(columns, i)
		}
	}
	return columns
}
