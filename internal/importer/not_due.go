package importer

import (
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// warnNotDue warns if the state does not require an annual report of such a
// company. The filing service accepts the order and charges for it. Unknown
// facts of the company may make a report due, so the warning needs a rule that
// holds for every kind that the company may be.
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
			season.SourceText(rule.Source, rule.Basis)))
}
