package filing

import "strconv"

// checkAnnualReport. Source: spec section 4, rule 9; section 8, filingYear.
func (r *Request) checkAnnualReport(vs *violations, thisYear int) {
	report := r.Order.AnnualReport
	switch y := report.FilingYear; {
	case y == "":
		vs.add("annual-report.year", "annualReport.filingYear", "", "the filing year is missing: give four digits, for example %d", thisYear)
	case !isDigits(y, 4):
		vs.add("annual-report.year", "annualReport.filingYear", y, "the filing year must be four digits, for example %d", thisYear)
	default:
		if n, _ := strconv.Atoi(y); n < thisYear-5 || n > thisYear+1 {
			vs.warn("annual-report.year-range", "annualReport.filingYear", y, "the filing year %s is far from %d: is it a slip of the pen?", y, thisYear)
		}
	}
	if report.RegisteredAgent != nil && r.Order.RegisteredAgent != nil {
		vs.add("annual-report.one-agent", "annualReport.registeredAgent", "", bothAgents)
	}
}

// checkQualification. Source: spec section 4, rule 10. That the state has an
// agent on record cannot be read, so a row that neither orders nor supplies one
// is let through, as with annual reports.
func (r *Request) checkQualification(vs *violations) {
	if r.Order.Formation != nil {
		vs.add("foreign-qualification.with-formation", "foreignQualification", "", "a company that is only being formed cannot be qualified in another state by the same order: order the foreign qualification once it is formed")
	}
	if home := r.Company.Sheet.FormationState; home != "" && home == r.Order.FilingState {
		vs.warn("foreign-qualification.home-state", "filingState", string(home), "the company was formed in %s, and needs no foreign qualification there: is the filing state right?", home)
	}
	if r.Order.ForeignQualification.RegisteredAgent != nil && r.Order.RegisteredAgent != nil {
		vs.add("foreign-qualification.one-agent", "foreignQualification.registeredAgent", "", bothAgents)
	}
}
