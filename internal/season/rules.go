package season

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// ErrRules is returned for a file of due rules that cannot be used.
var ErrRules = errors.New("due rules")

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
	rules, err := parseRules(builtinCSV)
	if err != nil {
		panic(err) // it is part of the program, and a test reads it
	}
	return rules
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
// Other columns are ignored. Errors are ErrRules and name line and column, all
// of them at once.
func Load(r io.Reader) (*Rules, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRules, err)
	}
	given, err := parseRules(data)
	if err != nil {
		return nil, err
	}
	lines := maps.Clone(Builtin().lines)
	maps.Copy(lines, given.lines)
	return &Rules{lines}, nil
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

// fields are the columns, in the order of reports.csv, and what each puts into a
// line. The text is trimmed; false refuses it with what is wanted.
var fields = []struct {
	column, wants string
	set           func(*Line, string) bool
}{
	{"state", "a US state: use a code such as DE, or a name", func(l *Line, s string) (ok bool) {
		l.State, ok = filing.ParseState(s)
		return ok
	}},
	{"entityType", "LLC or CORP", func(l *Line, s string) (ok bool) {
		l.EntityType, ok = filing.ParseEntityType(s)
		return ok
	}},
	{"company", "domestic or foreign", func(l *Line, s string) bool {
		l.Foreign = s == "foreign"
		return l.Foreign || s == "domestic"
	}},
	{"frequency", frequencyForms, func(l *Line, s string) (ok bool) {
		l.Frequency = s
		l.frequency, ok = parseFrequency(s)
		return ok
	}},
	{"due", ruleForms, func(l *Line, s string) (ok bool) {
		l.Due = s
		l.rule, ok = parseRule(s)
		return ok && (l.frequency.every == 0) == (l.rule.base == never)
	}},
	{"words", "the rule in words", func(l *Line, s string) bool {
		l.Words = s
		return s != ""
	}},
	{"what", "", func(l *Line, s string) bool {
		if l.What = s; s == "" && l.frequency.every > 0 {
			l.What = filing.AnnualReport.Title()
		}
		return true
	}},
	{"reportYear", "before, or empty for the year it is due in", func(l *Line, s string) bool {
		l.YearBefore = s == "before"
		return l.YearBefore || s == ""
	}},
	{"fee", feeForms + ", or empty where it is not known", func(l *Line, s string) bool {
		var err error
		l.Fee, err = ParseFee(s)
		return err == nil
	}},
	{"feeVaries", "no, yes, yes: and how, or minimum: and how", func(l *Line, s string) bool {
		answer, note, _ := strings.Cut(s, ":")
		l.FeeMinimum, l.FeeNote = answer == "minimum", strings.TrimSpace(note)
		l.FeeVaries = l.FeeMinimum || answer == "yes"
		return l.FeeVaries || s == "no" || s == ""
	}},
	{"estimate", "none, date, fee or both", func(l *Line, s string) bool {
		l.DateEstimate, l.FeeEstimate = s == "date" || s == "both", s == "fee" || s == "both"
		return l.DateEstimate || l.FeeEstimate || s == "none" || s == ""
	}},
	{"source", "", func(l *Line, s string) bool {
		l.Source = s
		return true
	}},
	{"confidence", "", func(l *Line, s string) bool {
		l.Confidence = s
		return true
	}},
	{"basis", "", func(l *Line, s string) bool {
		l.Basis = s
		return true
	}},
}

// optional are the columns that a file may leave out.
var optional = []string{"reportYear", "basis"}

// maxFee is far above any fee of a state: a figure over it is cents for dollars
// or a slip.
const maxFee money.Cents = 1_000_000_00

func parseRules(data []byte) (*Rules, error) {
	reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	reader.FieldsPerRecord = -1
	first, _, _ := bytes.Cut(data, []byte("\n"))
	if bytes.Count(first, []byte(";")) > bytes.Count(first, []byte(",")) {
		reader.Comma = ';'
	}
	header, err := reader.Read()
	if err != nil {
		return nil, fmt.Errorf("%w: read the header: %w", ErrRules, err)
	}
	at, err := columns(header)
	if err != nil {
		return nil, err
	}

	lines, seen := make(map[lineKey]*Line), make(map[lineKey]int)
	var errs []error
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return &Rules{lines}, errors.Join(errs...)
		}
		if err != nil {
			return nil, errors.Join(append(errs, fmt.Errorf("%w: %w", ErrRules, err))...)
		}
		if !slices.ContainsFunc(row, func(s string) bool { return strings.TrimSpace(s) != "" }) {
			continue
		}
		n, _ := reader.FieldPos(0)
		line, err := readLine(row, at)
		if err == nil && len(row) > len(header) {
			err = fmt.Errorf("%d fields under a header of %d: a text with a comma in it needs quotes", len(row),
				len(header))
		}
		if err == nil && seen[line.key()] != 0 {
			err = fmt.Errorf("it says again what line %d says", seen[line.key()])
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: line %d: %w", ErrRules, n, err))
			continue
		}
		lines[line.key()], seen[line.key()] = line, n
	}
}

// columns finds each of fields in the header.
func columns(header []string) ([]int, error) {
	at := make([]int, len(fields))
	for i, f := range fields {
		folded := filing.FoldName(f.column)
		same := func(h string) bool { return filing.FoldName(h) == folded }
		at[i] = slices.IndexFunc(header, same)
		if at[i] < 0 && slices.Contains(optional, f.column) {
			continue
		}
		if at[i] < 0 {
			return nil, fmt.Errorf("%w: line 1: the column %s is missing", ErrRules, f.column)
		}
		if slices.ContainsFunc(header[at[i]+1:], same) {
			return nil, fmt.Errorf("%w: line 1: the column %s is there twice", ErrRules, f.column)
		}
	}
	return at, nil
}

// readLine reads one row; its errors name the column.
func readLine(row []string, at []int) (*Line, error) {
	line := new(Line)
	var errs []error
	for i, f := range fields {
		text := ""
		if at[i] >= 0 && at[i] < len(row) {
			text = strings.TrimSpace(row[at[i]])
		}
		if !f.set(line, text) {
			errs = append(errs, fmt.Errorf("column %s: %q is not %s", f.column, text, f.wants))
		}
	}
	return line, errors.Join(errs...)
}
