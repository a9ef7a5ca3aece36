package importer

import (
	"fmt"
	"strconv"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// knownDue is a report whose due date was calculated before. The rows of a sheet have few different
// facts.
type knownDue struct {
	facts season.Facts
	due   season.Due
}

// maxDues is how many due dates are calculated only once.
const maxDues = 1000

// warnNotDue adds a warning if the state does not require the report of the company, does not
// require it in that year, or does not accept it yet. The filing service would accept the order and
// charge for it. Unknown facts of the company may make a report due, so the warning needs a rule
// that is true for every possible kind of the company.
func (c *orderReader) warnNotDue(r *filing.Request) {
	if r.Order.AnnualReport == nil {
		return
	}
	year, err := strconv.Atoi(r.Order.AnnualReport.FilingYear)
	if err != nil {
		// Another check reports this as an error.
		return
	}
	sheet := &r.Company.Sheet
	key := [...]string{string(r.Order.FilingState), string(sheet.EntityType), string(sheet.FormationState),
		sheet.FormationDate, sheet.FiscalEndMonth, r.Order.AnnualReport.FilingYear}
	known, found := c.dues[key]
	if !found {
		known.facts = season.FactsOf(r.Order.FilingState, *sheet)
		known.due = season.Builtin().DueOf(known.facts, year)
		if len(c.dues) < maxDues {
			c.dues[key] = known
		}
	}
	facts, due := known.facts, known.due
	rule, why := "", ""
	switch {
	case due.Verdict == season.NotRequired:
		rule, why = "not-required", facts.NotRequiredText()
	case due.Verdict == season.NotThisYear:
		rule, why = "not-this-year", fmt.Sprintf("%s has no report of %d: %s", r.Order.FilingState.Name(), year,
			due.Why)
	case due.Opens.After(season.DateOf(c.im.options.Now)):
		rule, why = "too-early", fmt.Sprintf("%s takes the report of %d from %s on, and it is due by %s: %s",
			r.Order.FilingState.Name(), year, due.Opens.American(), due.Date.American(), due.Why)
	default:
		return
	}
	b := c.bindingOf("filingState")
	c.addWarning(b, c.textOf(b), "annual-report."+rule, fmt.Sprintf("%s (source: %s): check whether it is due before "+
		"you order it. If nothing is done, it is ordered", why, season.SourceText(due.Source, "")))
}
