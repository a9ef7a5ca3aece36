package filing

import "strconv"

// The years of a report: next year's may be filed ahead, and one of some years ago
// may be overdue. A year further off is a typing error that costs the fee: the
// filing service accepts any four digits.
//
// Assumption: the range of years that the filing service accepts is not shown.
const (
	lateYears   = 5  // more than these are worth a look
	reportYears = 10 // more than these are refused
)

// checkAnnualReport checks an annual report. Source: spec section 4, rule 9; section 8, filingYear.
func (r *Request) checkAnnualReport(vs *violations, thisYear int) {
	report := r.Order.AnnualReport
	switch y := report.FilingYear; {
	case y == "":
		vs.add("annual-report.year", "annualReport.filingYear", "",
			"the filing year is missing: enter four digits, for example %d", thisYear)
	case !isDigits(y, 4):
		vs.add("annual-report.year", "annualReport.filingYear", y,
			"%q is not a filing year: enter four digits, for example %d", y, thisYear)
	default:
		switch n, _ := strconv.Atoi(y); {
		case n > thisYear+1:
			vs.add("annual-report.year-range", "annualReport.filingYear", y,
				"the filing year %s is too far ahead: the latest possible year is %d", y, thisYear+1)
		case n < thisYear-reportYears:
			vs.add("annual-report.year-range", "annualReport.filingYear", y,
				"the filing year %s is more than %d years ago: correct it, or file that report elsewhere", y,
				reportYears)
		case n < thisYear-lateYears:
			vs.warn("annual-report.year-late", "annualReport.filingYear", y,
				"the filing year %s is %d years ago: check that this report is really missing", y, thisYear-n)
		}
	}
	if report.RegisteredAgent != nil && r.Order.RegisteredAgent != nil {
		vs.add("annual-report.one-agent", "annualReport.registeredAgent", "", bothAgents)
	}
}

// checkQualification checks a foreign qualification. The agent on record cannot be
// read, so a row that neither orders nor supplies one passes, as for annual
// reports. Source: spec section 4, rule 10.
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
