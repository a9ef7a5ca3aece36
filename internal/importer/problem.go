package importer

import (
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// Severity distinguishes a problem that prevents a row from being sent from one that does not.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Problem is a problem at a cell. Its JSON is a line of check --json.
type Problem struct {
	// Sheet is empty for a CSV.
	Sheet string `json:"sheet"`
	// Cell is an address such as "C5". It is empty if the sheet has no such column.
	Cell string `json:"cell"`
	Row  int    `json:"row"`
	// Column is the header in the sheet, or our header if the sheet has no such column.
	Column string `json:"column"`
	// Value is the cell's text. It never contains a Social Security number.
	Value    string   `json:"value"`
	Severity Severity `json:"severity"`
	// Rule is a stable name.
	Rule string `json:"rule"`
	// Message describes the problem and the action needed.
	Message string `json:"message"`

	// Suggest are texts that the cell may be meant to hold, the likeliest first. Each is read
	// without this problem. It is empty if the rules know none.
	Suggest []string `json:"-"`
	// Confirm reports whether entering Suggest[0] confirms the row without a change.
	Confirm bool `json:"-"`

	// Remark names the text that speaks against filing the row, in the form of Options.Include. It
	// is empty for other problems.
	Remark string `json:"-"`
	// beside is the whole remark if no cell of the row holds it.
	beside string

	// ColumnIndex is the index in Row.Cells. It is -1 if the sheet has no such column.
	ColumnIndex int `json:"-"`
}

// cellReader reads the cells of a row into values and reports their problems.
type cellReader struct {
	im   *Import
	year int
	row  *Row
	// values are the values of the current row by column.
	values []string
	// faulty are the columns of the current row whose values could not be read.
	faulty []columnID
	// seen has the texts without problems that were read before, with their values, by column.
	seen []map[string]string
	// isNew reports whether the row has no Company ID and describes a company.
	isNew bool
	// suggests reports whether problems get suggestions.
	suggests bool
	// probe reads suggestions. It is nil until the first suggestion.
	probe *cellReader
}

func (im *Import) newCellReader() *cellReader {
	if im.selected == nil {
		im.selected, im.dayFirst = make(map[string]bool), make(map[int]cellText)
	}
	c := &cellReader{
		im:     im,
		year:   im.options.Now.Year(),
		values: make([]string, len(columns)),
		seen:   make([]map[string]string, len(columns)),
	}
	for i := range c.seen {
		c.seen[i] = make(map[string]string)
	}
	return c
}

// addError adds an error for a value that cannot be read, under the rule of its column.
func (c *cellReader) addError(b *binding, value, message string) {
	c.addErrorUnder(b, value, b.rule, message)
}

// addErrorUnder is addError under another rule. In a column that is only kept for the record it
// adds a warning.
func (c *cellReader) addErrorUnder(b *binding, value, rule, message string) {
	if b.unsent || b.recordOnly && !c.isNew {
		c.addProblem(b, value, Warning, rule, message)
		return
	}
	c.addProblem(b, value, Error, rule, message)
	c.faulty = append(c.faulty, b.id)
}

// refuse is addErrorUnder for names. A name is compared with the filing service's record even if it
// is only kept for the record. A name that cannot be read is therefore an error.
func (c *cellReader) refuse(b *binding, value, rule, message string) {
	at := *b
	at.recordOnly = b.recordOnly && b.kind != nameKind
	c.addErrorUnder(&at, value, rule, message)
}

func (c *cellReader) addWarning(b *binding, value, rule, message string) {
	c.addProblem(b, value, Warning, rule, message)
}

func (c *cellReader) addProblem(b *binding, value string, severity Severity, rule, message string) {
	if value != "" && c.isSecret(b, value) {
		message = strings.ReplaceAll(message, value, masked)
		value = masked
	}
	// The message may quote other cells.
	message = filing.HideSSNs(message)
	p := Problem{
		Sheet:       c.im.sheet,
		Row:         c.row.Number,
		Column:      b.header,
		Value:       value,
		Severity:    severity,
		Rule:        rule,
		Message:     message,
		ColumnIndex: b.index,
	}
	if b.index >= 0 {
		p.Cell = sheet.CellName(b.index, p.Row)
	}
	if c.suggests && value != "" && value != masked {
		p.Suggest = c.suggestionsFor(b, rule, value)
	}
	c.row.Problems = append(c.row.Problems, p)
}

// byColumn orders problems from left to right. Problems without a cell come last.
func byColumn(a, b Problem) int {
	if (a.ColumnIndex < 0) != (b.ColumnIndex < 0) {
		return b.ColumnIndex - a.ColumnIndex
	}
	return a.ColumnIndex - b.ColumnIndex
}

// textOf returns the row's text in a column, as given.
func (c *cellReader) textOf(b *binding) string {
	return cellIn(c.row.Cells, b.index).Text
}

// bindingAt returns the binding of a column, or one without a cell if the sheet
// lacks the column.
func (c *cellReader) bindingAt(id columnID) *binding {
	if b := c.im.mapping.binding(id); b != nil {
		return b
	}
	return &binding{column: &columns[id], id: id, index: -1, header: columns[id].header}
}

// addViolations adds the rules that a request breaks as problems at their cells. Cells that could
// not be read are left out, because they have an error already.
func (c *orderReader) addViolations(violations []filing.Violation) {
	for _, v := range violations {
		b := c.bindingOf(v.Field)
		id := b.id
		if v.Rule == noNameRule && b.index < 0 {
			// A note reports it once for the sheet.
			continue
		}
		if c.isFaulty(id) || id == userEmail && c.isFaulty(userID) || id == userID && c.isFaulty(userEmail) {
			continue
		}
		severity := Error
		if v.Warning {
			severity = Warning
		}
		value := c.textOf(b)
		if value == "" {
			value = v.Value
		}
		c.addProblem(b, value, severity, v.Rule, v.Message)
	}
}

// noNameRule is the rule of filing that warns of a company without a name to compare.
const noNameRule = "company.no-name"

// bindingOf finds the column of a field of the filing service.
func (c *orderReader) bindingOf(field string) *binding {
	if b, ok := c.officerField(field); ok {
		return b
	}
	id := columnOfField(field)
	switch has := c.im.mapping.binding; {
	case id == none:
		id = companyID
	case id == userID && has(userID) == nil && has(userEmail) != nil:
		id = userEmail
	case id == userEmail && has(userEmail) == nil && has(userID) != nil:
		id = userID
	case id == filingState && has(filingState) == nil && has(formationState) != nil &&
		slices.Contains(ein, c.im.mapping.product):
		id = formationState
	}
	return c.bindingAt(id)
}

func (c *cellReader) isFaulty(id columnID) bool {
	return slices.Contains(c.faulty, id)
}
