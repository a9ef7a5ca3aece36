package season

import (
	"bytes"
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// Line is the rule of one state for one type of company.
type Line struct {
	State      filing.State
	EntityType filing.EntityType
	// Foreign reports whether the line applies to companies formed in another state.
	Foreign bool

	// Frequency is a value such as annual or biennial odd. See frequencyForms.
	Frequency string
	// Due is the rule in the form that rule describes.
	Due string
	// Words is the rule in the words of its source.
	Words string
	// What is the name of the report, such as "annual report" or "biennial statement". It is empty
	// if no report is required.
	What string

	// YearBefore reports whether the report is named after the year before its due date.
	YearBefore bool
	// Fee is nil if no fee was found.
	Fee Fee
	// FeeVaries reports whether the fee depends on a fact that is not recorded here, or on the way
	// of filing.
	FeeVaries bool
	// FeeMinimum reports whether Fee is the lowest possible fee.
	FeeMinimum bool
	// FeeNote is how the fee varies, in the words of its source.
	FeeNote string
	// DateEstimate reports whether the date was not verified.
	DateEstimate bool
	// FeeEstimate reports whether the fee was not verified.
	FeeEstimate bool

	// Source names web pages or statutes. It is empty if the rule is general
	// knowledge.
	Source string
	// Confidence is the content of the source and its age.
	Confidence string
	// Basis is the evidence for Confidence.
	Basis string

	frequency frequency
	rule      rule
	// grace is the number of late days without a late fee. Set only in late_fees.csv.
	grace int
}

type lineKey struct {
	state      filing.State
	entityType filing.EntityType
	foreign    bool
}

// Company returns domestic or foreign, the value of the column company.
func (l *Line) Company() string {
	if l.Foreign {
		return "foreign"
	}
	return "domestic"
}

func (l *Line) key() lineKey { return lineKey{l.State, l.EntityType, l.Foreign} }

// Rules are the due rules of the states.
type Rules struct {
	lines map[lineKey]*Line
}

// reports.csv has the report, the due date and the fee for each state and type of company. It is
// the only table of annual reports. Quotes also read their fees from it.
//
//go:embed reports.csv
var builtinCSV []byte

var builtin = sync.OnceValue(func() *Rules {
	lines, err := readRules("reports.csv", builtinCSV, columns)
	if err != nil {
		panic(err) // the file is embedded, and a test reads it
	}
	return &Rules{lines}
})

// Builtin returns the built-in rules.
func Builtin() *Rules { return builtin() }

// readRules reads a CSV file with the columns of reports.csv:
//
//	state, entityType  the code or name, and LLC or CORP
//	company            domestic or foreign (formed in another state)
//	frequency          annual, biennial odd, biennial formation, none, …
//	due                fixed 04-15, anniversary-month last, see-state, …
//	words              the rule in the words of its source
//	what               the name of the report, by default "annual report"
//	reportYear         before, if the report is named after the year before its due
//	                   date (optional column)
//	fee                dollars, such as 138.75, or several amounts with their filing
//	                   years or days, such as 300 until 2025; 400 (empty if unknown)
//	feeVaries          no, yes, yes: HOW, or minimum: HOW if the fee can be higher
//	estimate           the unverified values: none, date, fee or both
//	source, confidence where and when it was read
//	basis              the evidence for the confidence (optional column)
func readRules(name string, content []byte, columns []Column[Line]) (map[lineKey]*Line, error) {
	f, err := sheet.OpenReader(name, bytes.NewReader(content), int64(len(content)), sheet.Limits{})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadTable(f, columns, (*Line).key)
}

// Lines lists all rules by state, entity type (LLC first) and residence (domestic first).
func (r *Rules) Lines() []Line {
	lines := make([]Line, 0, len(r.lines))
	for _, l := range r.lines {
		lines = append(lines, *l)
	}
	slices.SortFunc(lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.State, b.State), -cmp.Compare(a.EntityType, b.EntityType),
			cmp.Compare(a.Company(), b.Company()))
	})
	return lines
}

// columns are the columns of reports.csv in their order. A column may depend on those before it.
var columns = []Column[Line]{
	{Name: "state", Set: func(l *Line, s string) (ok bool) {
		l.State, ok = filing.ParseState(s)
		return ok
	}},
	{Name: "entityType", Set: func(l *Line, s string) (ok bool) {
		l.EntityType, ok = filing.ParseEntityType(s)
		return ok
	}},
	{Name: "company", Set: func(l *Line, s string) bool {
		l.Foreign = s == "foreign"
		return l.Foreign || s == "domestic"
	}},
	{Name: "frequency", Set: func(l *Line, s string) (ok bool) {
		l.Frequency = s
		l.frequency, ok = frequencies[s]
		return ok
	}},
	{Name: "due", Set: func(l *Line, s string) (ok bool) {
		l.Due = s
		l.rule, ok = parseRule(s)
		return ok && (l.frequency.every == 0) == (l.rule.base == never)
	}},
	{Name: "words", Set: func(l *Line, s string) bool {
		l.Words = s
		return s != ""
	}},
	{Name: "what", Set: func(l *Line, s string) bool {
		if l.What = s; s == "" && l.frequency.every > 0 {
			l.What = filing.AnnualReport.Title()
		}
		return true
	}},
	{Name: "reportYear", Optional: true, Set: func(l *Line, s string) bool {
		l.YearBefore = s == "before"
		return l.YearBefore || s == ""
	}},
	{Name: "fee", Set: func(l *Line, s string) (ok bool) {
		l.Fee, ok = ParseFee(s)
		return ok
	}},
	{Name: "feeVaries", Set: func(l *Line, s string) bool {
		answer, note, _ := strings.Cut(s, ":")
		l.FeeMinimum, l.FeeNote = answer == "minimum", strings.TrimSpace(note)
		l.FeeVaries = l.FeeMinimum || answer == "yes"
		return l.FeeVaries || s == "no" || s == ""
	}},
	{Name: "estimate", Set: func(l *Line, s string) bool {
		l.DateEstimate, l.FeeEstimate = s == "date" || s == "both", s == "fee" || s == "both"
		return l.DateEstimate || l.FeeEstimate || s == "none" || s == ""
	}},
	TextColumn("source", false, func(l *Line) *string { return &l.Source }),
	TextColumn("confidence", false, func(l *Line) *string { return &l.Confidence }),
	TextColumn("basis", true, func(l *Line) *string { return &l.Basis }),
}

// maxFee exceeds every state fee. A higher amount is a typing error or has cents for dollars.
const maxFee money.Cents = 1_000_000_00
