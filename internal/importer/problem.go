package importer

import (
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// Severity distinguishes a problem that keeps a row from being sent from one
// that does not.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Problem is a problem at a cell. Its JSON is a line of check --json.
type Problem struct {
	Sheet    string   `json:"sheet"` // empty for a CSV
	Cell     string   `json:"cell"`  // "C5"; empty if the sheet has no such column
	Row      int      `json:"row"`
	Column   string   `json:"column"` // the header as given; ours if the sheet has no such column
	Value    string   `json:"value"`  // the cell's text; never a Social Security number
	Severity Severity `json:"severity"`
	Rule     string   `json:"rule"`    // a stable name
	Message  string   `json:"message"` // what is wrong and what to do

	// Suggest are texts that the cell may be meant to hold, the likeliest first:
	// each is read without this problem. They are empty where the rules know none.
	Suggest []string `json:"-"`
	Confirm bool     `json:"-"` // entering Suggest[0] confirms the row as it is

	// Remark names the text that speaks against filing the row, as in
	// Options.Include; empty for other problems.
	Remark string `json:"-"`
	beside string // the whole remark, if no cell of the row holds it

	ColumnIndex int `json:"-"` // in Row.Cells, from 0; -1 if the sheet has no such column, or for another sheet

	elsewhere *ledger.Place // on another sheet
}

// addError adds a value that cannot be read, under the rule of its column.
func (c *checker) addError(b *binding, value, message string) {
	c.addErrorUnder(b, value, b.rule, message)
}

// addErrorUnder is addError under another rule. For a column that is only kept
// for the record it adds a warning.
func (c *checker) addErrorUnder(b *binding, value, rule, message string) {
	if b.unsent || b.recordOnly && !c.isNew {
		c.addProblem(b, value, Warning, rule, message)
		return
	}
	c.addProblem(b, value, Error, rule, message)
	c.faulty = append(c.faulty, b.id)
}

// refuse is addErrorUnder, except that a name is compared with the filing service's
// record even where it is only kept for the record: one that cannot be read is an error.
func (c *checker) refuse(b *binding, value, rule, message string) {
	at := *b
	at.recordOnly = b.recordOnly && b.kind != nameKind
	c.addErrorUnder(&at, value, rule, message)
}

func (c *checker) addWarning(b *binding, value, rule, message string) {
	c.addProblem(b, value, Warning, rule, message)
}

func (c *checker) addProblem(b *binding, value string, severity Severity, rule, message string) {
	if value != "" && c.isSecret(b, value) {
		message = strings.ReplaceAll(message, value, masked)
		value = masked
	}
	message = filing.HideSSNs(message) // it may quote other cells
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
		p.elsewhere = &ledger.Place{Sheet: p.Sheet, Row: p.Row, Column: b.index}
	}
	if b.index >= 0 {
		p.Cell = sheet.CellName(b.index, p.Row)
	}
	if c.suggests && value != "" && value != masked {
		p.Suggest = c.suggestionsFor(b, rule, value)
	}
	c.row.Problems = append(c.row.Problems, p)
}

// byColumn orders problems from left to right; those without a cell come last.
func byColumn(a, b Problem) int {
	if (a.ColumnIndex < 0) != (b.ColumnIndex < 0) {
		return b.ColumnIndex - a.ColumnIndex
	}
	return a.ColumnIndex - b.ColumnIndex
}

// textOf returns the row's text in a column, as given.
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

// bindingAt returns the binding of a column, or one without a cell if the sheet
// lacks the column.
func (c *checker) bindingAt(id columnID) *binding {
	if b := c.im.mapping.binding(id); b != nil {
		return b
	}
	return &binding{column: &columns[id], id: id, index: -1, header: columns[id].header}
}

// addViolations adds the rules that a request breaks as problems at their
// cells. It leaves out cells that could not be read: they have an error
// already.
func (c *checker) addViolations(violations []filing.Violation) {
	for _, v := range violations {
		b := c.bindingOf(v.Field)
		id := b.id
		if v.Rule == noNameRule && b.index < 0 {
			continue // a note says it once for the sheet
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
