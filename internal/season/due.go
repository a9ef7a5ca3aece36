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

// Facts are the facts that a due date depends on. A zero field is unknown and makes the date an
// estimate if the rule needs it.
type Facts struct {
	// State is the state that requires the report.
	State      filing.State
	EntityType filing.EntityType
	// FormationState differs from State for a foreign company.
	FormationState filing.State
	Formed         Date
	// Registered is the registration of a foreign company in State. Its anniversary counts there.
	Registered Date
	// FiscalEnd is the last month of the fiscal year.
	FiscalEnd time.Month
}

// FactsOf returns the facts of a company from the filing service and from a spreadsheet. The first source
// of a fact counts. A fact that cannot be parsed is unknown. No source has the registration of a foreign
// company.
func FactsOf(state filing.State, sources ...filing.Company) Facts {
	f := Facts{State: state}
	for _, c := range sources {
		f.EntityType = cmp.Or(f.EntityType, c.EntityType)
		f.FormationState = cmp.Or(f.FormationState, c.FormationState)
		formed, _ := ParseDate(c.FormationDate)
		f.Formed = cmp.Or(f.Formed, formed)
		if month, err := time.Parse("January", c.FiscalEndMonth); err == nil {
			f.FiscalEnd = cmp.Or(f.FiscalEnd, month.Month())
		}
	}
	return f
}

// Verdict is the conclusion about a year.
type Verdict string

// The verdicts.
const (
	// Dated means that the report is due on Due.Date.
	Dated Verdict = "due"
	// NotThisYear means an off year, or a year too early after the formation.
	NotThisYear Verdict = "not this year"
	// NotRequired means that the state requires no report.
	NotRequired Verdict = "not required"
	// AskState means that no rule can be calculated.
	AskState Verdict = "see the state"
)

// Due describes the report of a company that is due in a year.
type Due struct {
	Verdict Verdict
	// What is the name of the report, such as "annual report" or "statement of information".
	What string
	// Date is the last day to file, in the due year. It is zero unless Verdict is Dated.
	Date Date
	// Opens is the first day on which the state accepts the report, zero if unknown.
	Opens Date

	// Estimate reports whether Date is not verified, or is the earliest possible day because a fact
	// is missing. When shows an estimate as "about", and nothing is rejected because of it.
	Estimate bool
	// EitherYear reports whether the report is due every second year and the year is unknown.
	EitherYear bool
	// Why has the rule in words and the missing facts.
	Why string

	Fee money.Cents
	// FeeKnown reports whether the fee is known. Otherwise Fee is zero.
	FeeKnown bool
	// FeeVaries reports whether Fee is the usual or the lowest fee.
	FeeVaries bool
	// FeeMinimum reports whether Fee is the lowest fee.
	FeeMinimum bool
	// FeeEstimate reports whether Fee is not verified.
	FeeEstimate bool
	// FeeNote is how the fee varies.
	FeeNote string

	// Source is empty if the rule is general knowledge.
	Source     string
	Confidence string
}

// verdicts are in order of precedence if the type of company is unknown. A report that may be due
// precedes one that is not.
var verdicts = []Verdict{Dated, NotThisYear, AskState, NotRequired}

// When returns the date for display, such as "2027-04-15", or "about 2027-04-15" for an estimate.
// If there is no date, it returns the verdict.
func (d Due) When() string {
	switch {
	case d.Verdict != Dated:
		return string(d.Verdict)
	case d.Estimate:
		return "about " + d.Date.String()
	}
	return d.Date.String()
}

// Price returns the fee for display, such as "$138.75", "about $50.00" if it varies or is not
// verified, or "not known".
func (d Due) Price() string {
	switch {
	case !d.FeeKnown:
		return "not known"
	case d.FeeVaries, d.FeeEstimate:
		return "about " + d.Fee.Dollars()
	}
	return d.Fee.Dollars()
}

// Due returns the report that is due in a calendar year. It returns false, with Verdict and Why, if
// none is due or no date is known. A missing fact never hides a date. If the fact matters, the
// earliest possible day is an estimate. year is the year of the due date, even if the state names
// the report after another year.
//
// Assumption: the first report is due in the year after the formation, or after a foreign company's
// registration. The states seldom specify it.
// Assumption: a fiscal year ends in December if nothing else is known.
// Source: spec section 2, Company, which has that default at formation.
func (r *Rules) Due(f Facts, year int) (Due, bool) {
	d := r.due(f, func(*Line) int { return year })
	return d, d.Verdict == Dated
}

// DueOf returns Due of the report that a state names after a year.
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

// NotRequiredText returns a sentence such as "Ohio asks no annual report of an LLC".
func (f Facts) NotRequiredText() string {
	of := map[filing.EntityType]string{filing.LLC: "an LLC", filing.Corp: "a corporation"}[f.EntityType]
	if of = cmp.Or(of, "any company"); f.FormationState != "" && f.FormationState != f.State {
		of += " formed elsewhere"
	}
	return f.State.Name() + " asks no annual report of " + of
}

// noRule applies to a type of company without a line.
var noRule = &Line{Words: "there is no rule for this kind of company", DateEstimate: true, rule: rule{base: seeState}}

// Next returns the first report that is due on a day or later. If there is none, it returns false
// with the result of that day's year.
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

// longest is the maximum number of years between two reports, which is a decade and the year of the
// formation.
const longest = 11

// known returns the value, or all possible values if it is unknown.
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

// merge combines the results of the possible types of a company into the earliest date. The date is
// an estimate unless all results agree.
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

// due applies one line to a year.
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
		d.Verdict, d.FeeVaries = NotRequired, false // no report, no fee
		return d
	case seeState:
		d.Verdict, d.Why = AskState, "see the state: "+l.Words
		return d
	}
	since := f.Formed
	if l.Foreign {
		since = f.Registered
	}
	// A foreign company is registered after its formation.
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

// reportYear returns the year that a report is named after. due is the year in which it is due.
func (l *Line) reportYear(due int) int {
	if l.YearBefore {
		return due - 1
	}
	return due
}

// months returns the possible months that the rule counts from, and the missing fact if there is
// more than one or the month is assumed.
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
