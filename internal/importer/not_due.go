package importer

import (
	"fmt"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/season"
)

// warnNotDue warns where the state asks for no annual report of such a company.
// The service takes the order and its fee all the same. What is not known of the
// company may make a report due, so that only what holds of every kind it may be
// is said.
func (c *checker) warnNotDue(r *filing.Request) {
	if r.Order.AnnualReport == nil {
		return
	}
	company := &r.Company.Sheet
	facts := season.Facts{
		State:          r.Order.FilingState,
		EntityType:     company.EntityType,
		FormationState: company.FormationState,
	}
	rule, none := season.Builtin().NotRequired(facts)
	if !none {
		return
	}
	b := c.bindingOf("filingState")
	c.addWarning(b, c.textOf(b), "annual-report.not-required",
		fmt.Sprintf("%s (source: %s): check whether a report is due before you order it", rule.NotRequiredText(facts),
			season.Read(rule.Source, rule.Basis)))
}
