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

// layout is which of the input's columns are written, and how.
type layout struct {
	columns []column
	inputs  int                    // the input's columns, those left out included
	answers [resultColumnCount]int // the longest text of each answer, in characters
}

// column is one of the input's columns.
type column struct {
	index  int    // in the input
	header string // as it was given
	field  string // the service's, as which it was read; "" for none
	secret bool   // holds Social Security numbers
	ids    bool   // holds identifiers, of nine digits too
	digits bool   // holds digits that were typed as text, such as postal codes
	width  int    // the longest of its texts, in characters
}

// inputLayout takes the input's columns without the result columns that an earlier
// results file added: they are written again.
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

// concerns reports whether an exception may be about what stands in the column.
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

// answersIn finds the answer columns of an earlier file among the input's. Our
// names are common words, so what a roster calls by them is its own: ours are
// those that follow each other from Result on, with the three names that no
// roster has together, and the Message at the end of Needs Attention.
func answersIn(b ledger.Batch) []int {
	names := make([]string, len(b.Columns))
	for i, h := range b.Columns {
		if i >= len(b.Fields) || b.Fields[i] == "" { // else a person said what it is
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
	// The sheet Needs Attention, saved as CSV, has lost its name. The second of two
	// Message columns at its end is a result column; otherwise each run would add
	// one more.
	last := len(names) - 1
	if last > 0 && names[last] == filing.FoldName(rowHeader) && names[last-1] == resultColumnNames[colMessage] {
		return []int{last - 1, last} // the row's number stands behind the message
	}
	if last >= 0 && names[last] == resultColumnNames[colMessage] &&
		(b.Sheet == attentionSheet || last > 0 && names[last-1] == resultColumnNames[colMessage]) {
		return []int{last}
	}
	return nil
}

// answersFrom are the answers that begin at a Result, in their order; a person
// may have taken some away and put other columns between them. They are nil
// where it is no Result of ours.
func answersFrom(names []string, first int) []int {
	var ours []int
	var found [resultColumnCount]bool
	next := 0
	for i := first; i < len(names); i++ {
		plain := strings.TrimSuffix(names[i], "2") // in a table with another column of this name
		if at := slices.Index(resultColumnNames[next:], plain); at >= 0 {
			ours, found[next+at], next = append(ours, i), true, next+at+1
		}
	}
	if !found[colResult] || !found[colMessage] || !found[colOrderIDs] {
		return nil
	}
	return ours
}

// resultColumnNames are resultColumns as they are compared.
var resultColumnNames = func() (names []string) {
	for _, name := range resultColumns {
		names = append(names, filing.FoldName(name))
	}
	return names
}()

// measure widens the columns to what a row holds, and adds a column without a
// header for every cell beyond the last header, so that none is lost.
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

// of is the column's cell of a row; rows end at their last cell that is not blank.
func (c *column) of(cells []sheet.Cell) sheet.Cell {
	if c.index >= len(cells) {
		return sheet.Cell{}
	}
	return c.maskCell(cells[c.index])
}

// Columns are as wide as their texts, within these bounds, and leave room for
// the filter's button. Messages are wrapped, so theirs may be long.
const (
	minWidth     = 9
	maxWidth     = 40
	messageWidth = 80
	button       = 3
)

func fit(chars, most int) float64 { return float64(min(max(chars+button, minWidth), most)) }

// resultColumnWidths are the widths of the result columns.
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

// widths are those of the input's columns.
func (l *layout) widths() []float64 {
	var widths []float64
	for _, c := range l.columns {
		widths = append(widths, fit(c.width, maxWidth))
	}
	return widths
}

// textColumns are those in which a correction must stay as it was typed, so
// that no postal code loses its zero.
func (l *layout) textColumns() []int {
	var columns []int
	for i, c := range l.columns {
		if c.digits || c.secret {
			columns = append(columns, i)
		}
	}
	return columns
}
