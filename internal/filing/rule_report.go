package filing

import "strconv"

// The limits of a report's year. A report may be filed a year ahead, and a report of some years ago
// may be overdue. A year outside of the limits is a typing error that costs the fee, because the
// filing service accepts any four digits.
//
// Assumption: the spec does not show the range of years that the filing service accepts.
const (
	// lateYears is the number of years after which a report has a warning.
	lateYears = 5
	// reportYears is the number of years after which a report is an error.
	reportYears = 10
)

// checkAnnualReport checks an annual report. Source: spec section 4, rule 9, and section 8,
// filingYear.
func (r *Request) checkAnnualReport(vs *violations, thisYear int) {
	const field = "annualReport.filingYear"
	report := r.Order.AnnualReport
	switch y := report.FilingYear; {
	case y == "":
		vs.add("annual-report.year", field, "",
			"the filing year is missing: enter four digits, for example %d", thisYear)
	case !isDigits(y, 4):
		vs.add("annual-report.year", field, y,
			"%q is not a filing year: enter four digits, for example %d", y, thisYear)
	default:
		switch n, _ := strconv.Atoi(y); {
		case n > thisYear+1:
			vs.add("annual-report.year-range", field, y,
				"the filing year %s is too far ahead: the latest possible year is %d", y, thisYear+1)
		case n < thisYear-reportYears:
			vs.add("annual-report.year-range", field, y,
				"the filing year %s is more than %d years ago: correct it, or file that report elsewhere", y,
				reportYears)
		case n < thisYear-lateYears:
			vs.warn("annual-report.year-late", field, y,
				"the filing year %s is %d years ago: check that this report is really missing", y, thisYear-n)
		}
	}
	if report.RegisteredAgent != nil && r.Order.RegisteredAgent != nil {
		vs.add("annual-report.one-agent", "annualReport.registeredAgent", "", bothAgents)
	}
}

// checkQualification checks a foreign qualification. The agent on record cannot be read, so a row
// without an agent passes, like an annual report. Source: spec section 4, rule 10.
func (r *Request) checkQualification(vs *violations) {
	if r.Order.Formation != nil {
		vs.add("foreign-qualification.with-formation", "foreignQualification", "",
			"a company that is being formed cannot be qualified in another state with the same order: order the "+
				"foreign qualification after the formation")
	}
	if home := r.Company.Sheet.FormationState; home != "" && home == r.Order.FilingState {
		vs.add("foreign-qualification.home-state", "filingState", string(home),
			"the company was formed in %s and needs no foreign qualification there: correct the Filing State or the "+
				"Formation State, or remove the row", home)
	}
	if r.Order.ForeignQualification.RegisteredAgent != nil && r.Order.RegisteredAgent != nil {
		vs.add("foreign-qualification.one-agent", "foreignQualification.registeredAgent", "", bothAgents)
	}
}
