package importer

import (
	"slices"
	"strings"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/sheet"
)

// Severity tells a problem that keeps a row from being sent from one that does not.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Problem is something wrong at a cell. Its JSON is a line of check --json.
type Problem struct {
	Sheet    string   `json:"sheet"` // empty for a CSV
	Cell     string   `json:"cell"`  // "C5"; empty where the sheet has no such column
	Row      int      `json:"row"`
	Column   string   `json:"column"` // the header as it was given; ours where the sheet has no such column
	Value    string   `json:"value"`  // what stands in the cell; never a Social Security number
	Severity Severity `json:"severity"`
	Rule     string   `json:"rule"`    // a stable name
	Message  string   `json:"message"` // what is wrong and what to do

	ColumnIndex int `json:"-"` // in Row.Cells, from 0; -1 where the sheet has no such column, or it is another sheet

	elsewhere *ledger.Place // on another sheet
}

// fault reports a value that cannot be read, under the rule of its column.
func (c *checker) addError(b *binding, value, message string) {
	c.addErrorUnder(b, value, b.rule, message)
}

// faultRule is fault under another rule. A column that the product has only
// for the record cannot stop a row.
func (c *checker) addErrorUnder(b *binding, value, rule, message string) {
	if b.unsent || b.recordOnly && !c.isNew {
		c.addProblem(b, value, Warning, rule, message)
		return
	}
	c.addProblem(b, value, Error, rule, message)
	c.faulty = append(c.faulty, b.id)
}

func (c *checker) addWarning(b *binding, value, rule, message string) {
	c.addProblem(b, value, Warning, rule, message)
}

func (c *checker) addProblem(b *binding, value string, severity Severity, rule, message string) {
	if value != "" && c.isSecret(b, value) {
		message = strings.ReplaceAll(message, value, masked)
		value = masked
	}
	message = filing.HideSSNs(message) // other cells are quoted in it
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
	if b.officer != nil {
		p.Sheet, p.Row, p.ColumnIndex = b.officer.sheet, b.officer.number, -1
		stands := c.textOf(b)
		p.elsewhere = &ledger.Place{Sheet: p.Sheet, Row: p.Row, Column: b.index, Text: stands}
		if stands != "" && c.isSecret(b, stands) {
			p.elsewhere.Text, p.elsewhere.Secret = "", true
		}
	}
	if b.index >= 0 {
		p.Cell = sheet.CellName(b.index, p.Row)
	}
	c.row.Problems = append(c.row.Problems, p)
}

// byColumn orders problems as the eye goes along the row; those without a cell
// come last.
func byColumn(a, b Problem) int {
	if (a.ColumnIndex < 0) != (b.ColumnIndex < 0) {
		return b.ColumnIndex - a.ColumnIndex
	}
	return a.ColumnIndex - b.ColumnIndex
}

// stands is what the row has in a column, as it was given.
func (c *checker) textOf(b *binding) string {
	if b.officer != nil {
		if b.index >= 0 && b.index < len(b.officer.cells) {
			return b.officer.cells[b.index].Text
		}
		return ""
	}
	if b.index >= 0 && b.index < len(c.row.Cells) {
		return c.row.Cells[b.index].Text
	}
	return ""
}

// at finds the binding of a column, or makes one that stands for its absence.
func (c *checker) bindingAt(id columnID) *binding {
	if b := c.im.mapping.binding(id); b != nil {
		return b
	}
	return &binding{column: &columns[id], id: id, index: -1, header: columns[id].header}
}

// violated turns the rules that a request breaks into problems at their cells,
// but for those of a cell that could not even be read.
func (c *checker) addViolations(violations []filing.Violation) {
	for _, v := range violations {
		b := c.bindingOf(v.Field)
		id := b.id
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

// bindingOf finds where a field of the service's stands in the sheet.
func (c *checker) bindingOf(field string) *binding {
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

func (c *checker) isFaulty(id columnID) bool {
	for _, b := range c.faulty {
		if b == id {
			return true
		}
	}
	return false
}
