package season

import (
	"bytes"
	"cmp"
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// Line is the rule of one state for one kind of company.
type Line struct {
	State      filing.State
	EntityType filing.EntityType
	Foreign    bool // for companies formed elsewhere

	Frequency string // annual, biennial odd, …: see frequencyForms
	Due       string // the rule to calculate with: see rule
	Words     string // the rule as its source says it
	What      string // what is filed: "annual report", "biennial statement"; "" for nothing

	YearBefore   bool   // the report is named after the year before the one it is due in
	Fee          Fee    // nil: no figure was found
	FeeVaries    bool   // by a fact that is not known here, or by the way of filing
	FeeMinimum   bool   // Fee is the smallest that it can be
	FeeNote      string // how it varies, as its source says it
	DateEstimate bool   // the date was not verified
	FeeEstimate  bool   // the fee was not verified

	Source     string // pages or statutes; "" for general knowledge
	Confidence string // what was read there, and how old it is
	Basis      string // what the confidence rests on

	frequency frequency
	rule      rule
}

type lineKey struct {
	state      filing.State
	entityType filing.EntityType
	foreign    bool
}

// Company is domestic or foreign, as the column of that name has it.
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

// reports.csv says of each state and kind of company what is due, when, and what
// the state charges. It is the one table of annual reports: quotes read their fees
// here.
//
//go:embed reports.csv
var builtinCSV []byte

var builtin = sync.OnceValue(func() *Rules {
	lines, err := readRules("reports.csv", builtinCSV)
	if err != nil {
		panic(err) // it is part of the program, and a test reads it
	}
	return &Rules{lines}
})

// Builtin returns the rules that are known without a file.
func Builtin() *Rules { return builtin() }

// Load reads a file of rules over the built-in ones: its lines replace those for
// the same state, entity type and company, so that a correction is a file of
// one line. It is CSV with the columns of reports.csv in any order and case:
//
//	state, entityType  the code or name; LLC or CORP
//	company            domestic or foreign (formed in another state)
//	frequency          annual, biennial odd, biennial formation, none, …
//	due                fixed 04-15, anniversary-month last, see-state, …
//	words              the rule as its source says it
//	what               what is filed, "annual report" where it is empty
//	reportYear         before, where the report is named after the year before the
//	                   one it is due in; the column may be missing
//	fee                dollars, such as 138.75; several with their filing years or
//	                   days, such as 300 until 2025; 400; empty where not known
//	feeVaries          no, yes, or yes: and how; minimum: and how, where it can be
//	                   more
//	estimate           what was not verified: none, date, fee or both
//	source, confidence where it was read, and when
//	basis              what the confidence rests on; the column may be missing
//
// Other columns are ignored. Errors name file, line and column, all of them at once.
func Load(name string, content []byte) (*Rules, error) {
	given, err := readRules(name, content)
	if err != nil {
		return nil, err
	}
	lines := maps.Clone(Builtin().lines)
	maps.Copy(lines, given)
	return &Rules{lines}, nil
}

func readRules(name string, content []byte) (map[lineKey]*Line, error) {
	f, err := sheet.OpenReader(name, bytes.NewReader(content), int64(len(content)), sheet.Limits{})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadTable(f, columns, (*Line).key)
}

// Lines lists all rules by state, entity type (LLC first), and companies at
// home there before foreign ones.
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

// columns are those of reports.csv, in its order. A later one may depend on those
// before.
var columns = []Column[Line]{
	{Name: "state", Wants: "a US state: a code such as DE, or a name", Set: func(l *Line, s string) (ok bool) {
		l.State, ok = filing.ParseState(s)
		return ok
	}},
	{Name: "entityType", Wants: "LLC or CORP", Set: func(l *Line, s string) (ok bool) {
		l.EntityType, ok = filing.ParseEntityType(s)
		return ok
	}},
	{Name: "company", Wants: "domestic or foreign", Set: func(l *Line, s string) bool {
		l.Foreign = s == "foreign"
		return l.Foreign || s == "domestic"
	}},
	{Name: "frequency", Wants: frequencyForms, Set: func(l *Line, s string) (ok bool) {
		l.Frequency = s
		l.frequency, ok = parseFrequency(s)
		return ok
	}},
	{Name: "due", Wants: ruleForms, Set: func(l *Line, s string) (ok bool) {
		l.Due = s
		l.rule, ok = parseRule(s)
		return ok && (l.frequency.every == 0) == (l.rule.base == never)
	}},
	{Name: "words", Wants: "the rule in words", Set: func(l *Line, s string) bool {
		l.Words = s
		return s != ""
	}},
	{Name: "what", Set: func(l *Line, s string) bool {
		if l.What = s; s == "" && l.frequency.every > 0 {
			l.What = filing.AnnualReport.Title()
		}
		return true
	}},
	{Name: "reportYear", Optional: true, Wants: "before, or nothing for the year it is due in",
		Set: func(l *Line, s string) bool {
			l.YearBefore = s == "before"
			return l.YearBefore || s == ""
		}},
	{Name: "fee", Wants: FeeForms + ", or nothing if it is not known", Set: func(l *Line, s string) (ok bool) {
		l.Fee, ok = ParseFee(s)
		return ok
	}},
	{Name: "feeVaries", Wants: "no, yes, yes: and how, or minimum: and how", Set: func(l *Line, s string) bool {
		answer, note, _ := strings.Cut(s, ":")
		l.FeeMinimum, l.FeeNote = answer == "minimum", strings.TrimSpace(note)
		l.FeeVaries = l.FeeMinimum || answer == "yes"
		return l.FeeVaries || s == "no" || s == ""
	}},
	{Name: "estimate", Wants: "none, date, fee or both", Set: func(l *Line, s string) bool {
		l.DateEstimate, l.FeeEstimate = s == "date" || s == "both", s == "fee" || s == "both"
		return l.DateEstimate || l.FeeEstimate || s == "none" || s == ""
	}},
	TextColumn("source", false, func(l *Line) *string { return &l.Source }),
	TextColumn("confidence", false, func(l *Line) *string { return &l.Confidence }),
	TextColumn("basis", true, func(l *Line) *string { return &l.Basis }),
}

// maxFee is far above any fee of a state: a figure over it is cents for dollars
// or a slip.
const maxFee money.Cents = 1_000_000_00
