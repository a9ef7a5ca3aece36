package season

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Facts are what a due date depends on. A zero field is not known, and makes
// the date an estimate where the rule needs it.
type Facts struct {
	State          filing.State // where the report is due
	EntityType     filing.EntityType
	FormationState filing.State // foreign where it is another than State
	Formed         Date
	Registered     Date       // in State, for a foreign company: its anniversary counts there
	FiscalEnd      time.Month // the last month of the fiscal year
}

// FactsOf are the facts of a company as a sheet or the service tells them. What
// is not readable is not known; neither tells when a foreign company registered.
func FactsOf(state filing.State, c filing.Company) Facts {
	f := Facts{State: state, EntityType: c.EntityType, FormationState: c.FormationState}
	if formed, err := ParseDate(c.FormationDate); err == nil {
		f.Formed = formed
	}
	if month, err := time.Parse("January", c.FiscalEndMonth); err == nil {
		f.FiscalEnd = month.Month()
	}
	return f
}

// Verdict is what can be said of a year.
type Verdict string

// The verdicts on a year.
const (
	Dated       Verdict = "due"           // on Due.Date
	NotThisYear Verdict = "not this year" // an off year, or too early after the formation
	NotRequired Verdict = "not required"  // the state asks for nothing
	AskState    Verdict = "see the state" // no rule that can be calculated
)

// Due is what is due of a company in a year.
type Due struct {
	Verdict Verdict
	What    string // what is filed: "annual report", "statement of information"
	Date    Date   // the last day; of the due year. Zero unless Dated
	Opens   Date   // the first day the state takes it; zero where that is not known

	// Estimate: Date is not verified, or a fact was missing and it is the
	// earliest day it can be. It is shown as "about" (see When), and nothing is
	// refused because of it.
	Estimate bool
	// EitherYear: it falls due every second year, and whether this is the one is
	// not known.
	EitherYear bool
	Why        string // the rule in words, and what was missing

	Fee         money.Cents
	FeeKnown    bool   // false: nobody knows, and Fee is nothing
	FeeVaries   bool   // Fee is the usual or the smallest figure
	FeeMinimum  bool   // it is the smallest
	FeeEstimate bool   // Fee is not verified
	FeeNote     string // how it varies

	Source     string // "" for general knowledge
	Confidence string
}

// verdicts are in the order in which one counts where the kind of company is not
// known: what may be due before what is not.
var verdicts = []Verdict{Dated, NotThisYear, AskState, NotRequired}

// When is the date for people: "2027-04-15", or "about 2027-04-15" for an
// estimate; otherwise the verdict.
func (d Due) When() string {
	switch {
	case d.Verdict != Dated:
		return string(d.Verdict)
	case d.Estimate:
		return "about " + d.Date.String()
	}
	return d.Date.String()
}

// Price is the fee for people: "$138.75", "about $50.00" where it varies or is
// not verified, "not known".
func (d Due) Price() string {
	switch {
	case !d.FeeKnown:
		return "not known"
	case d.FeeVaries, d.FeeEstimate:
		return "about " + d.Fee.Dollars()
	}
	return d.Fee.Dollars()
}

// Due says what falls due in a calendar year, and when. It reports false, with
// Verdict and Why, where nothing does or no date can be told. A missing fact
// never hides a date: where it matters, the earliest day it can be is an
// estimate. year is the year of the due date, whatever year a state names the
// report after.
//
// Assumption: the first report is due in the year after the formation, or after
// a foreign company's registration; the states' words seldom say.
// Assumption: a fiscal year ends in December where nothing else is known.
// Source: spec section 2, Company, which has that default at formation.
func (r *Rules) Due(f Facts, year int) (Due, bool) {
	d := r.due(f, func(*Line) int { return year })
	return d, d.Verdict == Dated
}

// DueOf is Due for the report that a state names after a year.
func (r *Rules) DueOf(f Facts, reportYear int) Due {
	return r.due(f, func(l *Line) int {
		if l.YearBefore {
			return reportYear + 1
		}
		return reportYear
	})
}

func (r *Rules) due(f Facts, year func(*Line) int) Due {
	var dues []Due
	for _, t := range known(f.EntityType, filing.LLC, filing.Corp) {
		for _, foreign := range residences(f) {
			line, ok := r.lines[lineKey{f.State, t, foreign}]
			if !ok {
				line = noRule
			}
			dues = append(dues, line.due(f, year(line)))
		}
	}
	return merge(dues, f)
}

// NotRequiredText says of a company that its state requires nothing of it: "Ohio asks no
// annual report of an LLC".
func (f Facts) NotRequiredText() string {
	of := map[filing.EntityType]string{filing.LLC: "an LLC", filing.Corp: "a corporation"}[f.EntityType]
	if of = cmp.Or(of, "any company"); f.FormationState != "" && f.FormationState != f.State {
		of += " formed elsewhere"
	}
	return f.State.Name() + " asks no annual report of " + of
}

// noRule stands for a kind of company without a line.
var noRule = &Line{Words: "there is no rule for this kind of company", DateEstimate: true, rule: rule{base: seeState}}

// Next is the first that falls due on a day or after it. Where nothing does, it
// reports false with what is said of that day's year.
func (r *Rules) Next(f Facts, from Date) (Due, bool) {
	d, ok := r.Due(f, from.Year)
	if d.Verdict == NotRequired || d.Verdict == AskState || ok && !d.Date.Before(from) {
		return d, ok
	}
	for year := from.Year + 1; year <= from.Year+longest; year++ {
		if next, ok := r.Due(f, year); ok {
			return next, true
		}
	}
	return d, false
}

// longest is how many years there may be from one report to the next: a decade,
// and the year of the formation.
const longest = 11

// known is the one value, or all there are where it is not known.
func known[T comparable](value T, all ...T) []T {
	var none T
	if value != none {
		return []T{value}
	}
	return all
}

func residences(f Facts) []bool {
	if f.FormationState == "" {
		return []bool{false, true}
	}
	return []bool{f.FormationState != f.State}
}

// merge makes one answer of those for the kinds of company that it may be: the
// earliest date, which is an estimate unless they agree.
func merge(dues []Due, f Facts) Due {
	first := slices.MinFunc(dues, func(a, b Due) int {
		return cmp.Or(slices.Index(verdicts, a.Verdict)-slices.Index(verdicts, b.Verdict), a.Date.Compare(b.Date))
	})
	var dates, fees bool
	for _, d := range dues {
		dates = dates || d.Verdict != first.Verdict || d.Date != first.Date
		fees = fees || d.FeeKnown != first.FeeKnown || d.Fee != first.Fee
		first.Estimate = first.Estimate || d.Estimate
		first.EitherYear = first.EitherYear || d.EitherYear
		first.FeeEstimate = first.FeeEstimate || d.FeeEstimate
		first.FeeVaries = first.FeeVaries || d.FeeVaries
		first.FeeMinimum = first.FeeMinimum || d.FeeMinimum
	}
	var missing []string
	if f.EntityType == "" {
		missing = append(missing, "entity type")
	}
	if f.FormationState == "" {
		missing = append(missing, "formation state")
	}
	which := strings.Join(missing, " and ")
	if dates {
		first.Estimate = true
		first.Why += "; not known: " + which + ", so this is the earliest day it can be"
	}
	if fees {
		for _, d := range dues {
			if d.FeeKnown && (!first.FeeKnown || d.Fee < first.Fee) {
				first.Fee, first.FeeKnown = d.Fee, true
			}
		}
		first.FeeVaries, first.FeeNote = true, "by the "+which
	}
	return first
}

// due applies one line.
func (l *Line) due(f Facts, year int) Due {
	d := Due{
		What:        l.What,
		Estimate:    l.DateEstimate,
		Why:         l.Words,
		FeeVaries:   l.FeeVaries,
		FeeMinimum:  l.FeeMinimum,
		FeeEstimate: l.FeeEstimate,
		FeeNote:     l.FeeNote,
		Source:      l.Source,
		Confidence:  l.Confidence,
	}
	if l.rule.base != never {
		d.Fee, d.FeeKnown = l.Fee.At(l.reportYear(year), Date{Year: year, Month: time.December, Day: endOfMonth})
	}
	switch l.rule.base {
	case never:
		d.Verdict, d.FeeVaries = NotRequired, false // there is nothing to pay for
		return d
	case seeState:
		d.Verdict, d.Why = AskState, "see the state: "+l.Words
		return d
	}
	since := f.Formed
	if l.Foreign {
		since = f.Registered
	}
	// A foreign company was registered after it was formed, whenever that was.
	begun := since
	if begun.IsZero() {
		begun = f.Formed
	}

	months, missing := l.months(f, since)
	d.Verdict = NotThisYear
	var why string
	for _, month := range months {
		o := l.rule.in(year, month, max(since.Day, 1))
		falls, sure := l.frequency.falls(year, o.counted, since.Year)
		switch {
		case l.rule.base == fiscalYearEnd && o.end.Before(begun),
			l.rule.base != fiscalYearEnd && o.counted <= begun.Year:
			why = fmt.Sprintf("the company's first falls due after %d", year)
		case !falls:
			why = fmt.Sprintf("%d is not one of its years", year)
		case d.Verdict != Dated || o.date.Before(d.Date):
			d.Verdict, d.Date, d.Opens, d.EitherYear = Dated, o.date, o.opens, !sure
		}
	}
	if d.Verdict == NotThisYear {
		d.Why += "; " + why
		return d
	}
	d.Fee, d.FeeKnown = l.Fee.At(l.reportYear(d.Date.Year), d.Date)
	if missing != "" {
		d.Estimate, d.Opens = true, Date{}
		d.Why += "; " + missing
	}
	if d.EitherYear {
		d.Estimate = true
		d.Why += fmt.Sprintf("; whether %d is one of its years is not known", year)
	}
	if l.DateEstimate {
		d.Why += "; not verified"
	}
	return d
}

// reportYear is the year that a report is named after, by the year it is due in.
func (l *Line) reportYear(due int) int {
	if l.YearBefore {
		return due - 1
	}
	return due
}

// months are the months that the rule may count from, and what is missing where
// that is not sure.
func (l *Line) months(f Facts, since Date) ([]time.Month, string) {
	switch {
	case l.rule.base == fiscalYearEnd && (f.FiscalEnd < time.January || f.FiscalEnd > time.December):
		return []time.Month{time.December}, "the fiscal year is taken to end in December"
	case l.rule.base == fiscalYearEnd:
		return []time.Month{f.FiscalEnd}, ""
	case !l.rule.base.byAnniversary():
		return []time.Month{time.January}, ""
	case since.Month >= time.January && since.Month <= time.December:
		return []time.Month{since.Month}, ""
	}
	fact := "the date of formation"
	if l.Foreign {
		fact = "the date of registration in " + l.State.Name()
	}
	all := make([]time.Month, 12)
	for i := range all {
		all[i] = time.Month(i + 1)
	}
	return all, fact + " is not known: this is the earliest day it can be"
}
