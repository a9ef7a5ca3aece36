package season

import (
	"strconv"
	"strings"
	"time"
)

// frequency is the interval of a report in years, counted from an origin.
type frequency struct {
	// every is in years. Zero means never.
	every int
	from  origin
	// phase is in years after the origin.
	phase int
}

type origin int

const (
	// yearZero makes the even years the multiples of two.
	yearZero origin = iota
	// companyYear is the year of the formation, or of a foreign company's registration.
	companyYear
	// unknownYear means every second year, if the rule does not specify which.
	unknownYear
)

// frequencies are the values of the column frequency.
var frequencies = map[string]frequency{
	"none":                 {},
	"annual":               {every: 1},
	"biennial":             {every: 2, from: unknownYear},
	"biennial even":        {every: 2, from: yearZero},
	"biennial odd":         {every: 2, phase: 1},
	"biennial formation":   {every: 2, from: companyYear},
	"biennial formation+1": {every: 2, from: companyYear, phase: 1},
}

// falls reports whether a report is due in a year. counted is the year of its anniversary. Without
// the company's year (0), or without a rule for it, the report may be due and sure is false.
func (f frequency) falls(year, counted, company int) (falls, sure bool) {
	switch {
	case f.every == 1:
		return true, true
	case f.from == unknownYear, f.from == companyYear && company == 0:
		return true, false
	case f.from == companyYear:
		year = counted - company
	}
	return (year-f.phase)%f.every == 0, true
}

// base is the month that a due date is counted from.
type base string

const (
	// fixed is January of the year, for a calendar day.
	fixed base = "fixed"
	// anniversaryDate is the exact day of the anniversary.
	anniversaryDate base = "anniversary-date"
	// anniversary is the month of the anniversary.
	anniversary base = "anniversary-month"
	// quarter is the last month of the calendar quarter with the anniversary.
	quarter base = "anniversary-quarter"
	// fiscalYearEnd is the last month of the fiscal year.
	fiscalYearEnd base = "fiscal-year-end"
	// seeState means that the rule exists only in words.
	seeState base = "see-state"
	// never means that no report is due.
	never base = "none"
)

// byAnniversary reports whether the base depends on the anniversary.
func (b base) byAnniversary() bool { return b == anniversaryDate || b == anniversary || b == quarter }

// point is a day counted from a base.
type point struct {
	months int
	// day is endOfMonth for the last day.
	day int
}

// rule is a due date in a form that can be calculated:
//
//	fixed 04-15                     a calendar day
//	anniversary-date                the day of the anniversary
//	anniversary-month [±N] DAY      a day of the anniversary's month, or of the Nth month after it
//	anniversary-quarter [±N] DAY    the same from the last month of its calendar quarter
//	fiscal-year-end [±N] DAY        the same from the last month of the fiscal year
//	see-state                       only in words
//	none                            nothing is due
//
// DAY is first, last or a number. The first anniversary is a year after the formation, or after a
// foreign company's registration in the state. Each form may end in "opens" and the first day on
// which the state accepts the report, in the same form or in days. Examples are "fixed 05-01 opens
// 01-01", "anniversary-month last opens -5 first" and "anniversary-date opens 28 days before".
type rule struct {
	base base
	due  point
	// opens is nil if the rule does not specify it or specifies it in days.
	opens      *point
	daysBefore int
}

func parseRule(text string) (rule, bool) {
	due, opens, hasOpens := strings.Cut(text, " opens ")
	words := strings.Fields(due)
	if len(words) == 0 {
		return rule{}, false
	}
	r := rule{base: base(words[0])}
	var ok bool
	switch r.base {
	case never, seeState:
		return r, len(words) == 1 && !hasOpens
	case anniversaryDate:
		ok = len(words) == 1 // the company has the day
	case fixed, anniversary, quarter, fiscalYearEnd:
		r.due, ok = r.base.point(words[1:])
	}
	if days, inDays := strings.CutSuffix(opens, " days before"); ok && inDays {
		n, err := strconv.Atoi(days)
		r.daysBefore = n
		ok = err == nil && n > 0 && n <= maxLead
	} else if ok && hasOpens {
		r.opens = new(point)
		*r.opens, ok = r.base.point(strings.Fields(opens))
		ok = ok && r.opens.months*endOfMonth+r.opens.day <= r.due.months*endOfMonth+max(r.due.day, 1)
	}
	return r, ok
}

// point parses a day, which is MM-DD for a fixed date and otherwise [±N] DAY.
func (b base) point(words []string) (point, bool) {
	if b == fixed {
		if len(words) != 1 {
			return point{}, false
		}
		day, err := time.Parse("2006-01-02", "2024-"+words[0]) // a leap year has all days
		return point{int(day.Month()) - 1, day.Day()}, err == nil
	}
	var p point
	if len(words) == 2 {
		n, err := strconv.Atoi(words[0])
		if err != nil || n < -11 || n > 11 || !strings.ContainsAny(words[0][:1], "+-") {
			return p, false
		}
		p.months, words = n, words[1:]
	}
	if len(words) != 1 {
		return p, false
	}
	switch words[0] {
	case "first":
		p.day = 1
	case "last":
		p.day = endOfMonth
	default:
		n, err := strconv.Atoi(words[0])
		if err != nil || n < 1 || n > endOfMonth {
			return p, false
		}
		p.day = n
	}
	return p, true
}

// occurrence is one due date of a rule in a year.
type occurrence struct {
	date, opens Date
	// counted is the year of the anniversary or of the fiscal year that the date is counted from.
	counted int
	// end is the last day of the base month.
	end Date
}

// in returns the only occurrence in a year. month is the base month, which is January for a fixed
// date. day is the day of the anniversary if the rule depends on it.
func (r rule) in(year int, month time.Month, day int) occurrence {
	due := r.due
	switch r.base {
	case quarter:
		month = (month-1)/3*3 + 3
	case anniversaryDate:
		due.day = day
	}
	o := occurrence{counted: year}
	// A rule reaches at most into the adjacent years.
	switch n := int(month) + due.months; {
	case n < 1:
		o.counted++
	case n > 12:
		o.counted--
	}
	o.date = dayIn(o.counted, month+time.Month(due.months), due.day)
	o.end = dayIn(o.counted, month, endOfMonth)
	switch {
	case r.daysBefore > 0:
		o.opens = o.date.AddDays(-r.daysBefore)
	case r.opens != nil:
		o.opens = dayIn(o.counted, month+time.Month(r.opens.months), r.opens.day)
	}
	return o
}
