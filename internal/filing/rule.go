package filing

import (
	"fmt"
	"strconv"
	"strings"
)

// Violation is a rule of the service that a request breaks, found before
// anything is sent.
type Violation struct {
	Rule    string // stable name, as check --json prints it
	Field   string // the order's field, in the service's words: annualReport.filingYear
	Value   string // what stood there; empty where it is missing
	Message string // what is wrong and what to do
	Warning bool   // worth a look, and sent all the same
}

// Violations checks the request against every rule that can be decided without
// the service, and reports all that are broken, not the first.
func (r *Request) Violations(thisYear int) []Violation {
	var vs violations
	r.checkParties(&vs)
	if r.Order.FilingState == "" {
		vs.add("filing-state.required", "filingState", "", "the filing state is missing: give the two-letter code of the state that gets the filing")
	} else if !r.Order.FilingState.Known() {
		vs.add("filing-state.known", "filingState", string(r.Order.FilingState), "%q is not a US state: use a two-letter code such as DE", string(r.Order.FilingState))
	}
	if r.Order.AnnualReport != nil {
		r.checkAnnualReport(&vs, thisYear)
	}
	return vs
}

type violations []Violation

func (vs *violations) add(rule, field, value, format string, args ...any) {
	*vs = append(*vs, Violation{Rule: rule, Field: field, Value: value, Message: fmt.Sprintf(format, args...)})
}

func (vs *violations) warn(rule, field, value, format string, args ...any) {
	vs.add(rule, field, value, format, args...)
	(*vs)[len(*vs)-1].Warning = true
}

// IsUserID and IsCompanyID recognise the shapes of the service's ids.
// Source: spec section 2, Identifiers. They are scanned by hand because they
// are asked for every row of a file of a million.
func IsUserID(s string) bool    { return hasShape(s, "user_", idByte) }
func IsCompanyID(s string) bool { return hasShape(s, "comp_", idByte) }

// IsSlug recognises a company's URL slug. Assumption: its alphabet is not
// shown; it only has to be safe in a path, and not be a company id or a slip in
// writing one.
func IsSlug(s string) bool {
	if len(s) >= 5 && strings.EqualFold(s[:5], "comp_") {
		return false
	}
	return hasShape(s, "", func(c byte) bool { return idByte(c) || c == '.' }) && idByte(s[0])
}

// IsEmail recognises an e-mail address as people write it: one @, a domain with
// a dot, no spaces or list separators.
func IsEmail(s string) bool {
	local, domain, found := strings.Cut(s, "@")
	dot := strings.LastIndexByte(domain, '.')
	return found && local != "" && dot > 0 && dot < len(domain)-1 && !strings.ContainsAny(s, " \t,;<>\"") && !strings.Contains(domain, "@")
}

func hasShape(s, prefix string, allowed func(byte) bool) bool {
	rest, found := strings.CutPrefix(s, prefix)
	if !found || rest == "" {
		return false
	}
	for i := 0; i < len(rest); i++ {
		if !allowed(rest[i]) {
			return false
		}
	}
	return true
}

func idByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func isDigits(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789") == ""
}

// IsZIP recognises five digits, or five and four.
func IsZIP(s string) bool {
	if len(s) == 10 && s[5] == '-' {
		return isDigits(s[:5], 5) && isDigits(s[6:], 4)
	}
	return isDigits(s, 5) || isDigits(s, 9)
}

// checkParties: user and company are named. Source: spec section 4, rule 1.
func (r *Request) checkParties(vs *violations) {
	switch u := r.User; {
	case u.ID == "" && u.Email == "":
		vs.add("user.required", "userId", "", "no user is named: give a User ID (user_…) or a User Email")
	case u.ID != "" && !IsUserID(u.ID):
		vs.add("user.id", "userId", u.ID, "%q is not a user id: it looks like user_…, or put the e-mail under User Email", u.ID)
	case u.ID == "" && !IsEmail(u.Email):
		vs.add("user.email", "email", u.Email, "%q is not an e-mail address", u.Email)
	}
	if r.Order.Formation != nil {
		return
	}
	switch ref := r.Company.Ref; {
	case ref == "":
		vs.add("company.required", "companyId", "", "no company is named: give its Company ID (comp_…) or its slug")
	case !IsCompanyID(ref) && !IsSlug(ref):
		vs.add("company.id", "companyId", ref, "%q is neither a company id (comp_…) nor a slug as it stands in the company's web address", ref)
	}
}

// checkAnnualReport. Source: spec section 4, rule 9; section 8, filingYear.
func (r *Request) checkAnnualReport(vs *violations, thisYear int) {
	report := r.Order.AnnualReport
	switch y := report.FilingYear; {
	case y == "":
		vs.add("annual-report.year", "annualReport.filingYear", "", "the filing year is missing: give four digits, for example %d, or run with --filing-year", thisYear)
	case !isDigits(y, 4):
		vs.add("annual-report.year", "annualReport.filingYear", y, "the filing year must be four digits, for example %d", thisYear)
	default:
		if n, _ := strconv.Atoi(y); n < thisYear-5 || n > thisYear+1 {
			vs.warn("annual-report.year-range", "annualReport.filingYear", y, "the filing year %s is far from %d: is it a slip of the pen?", y, thisYear)
		}
	}
	if report.RegisteredAgent != nil {
		if r.Order.RegisteredAgent != nil {
			vs.add("annual-report.one-agent", "annualReport.registeredAgent", "", "the row both orders a registered agent and supplies one: keep one of the two")
		}
		report.RegisteredAgent.check(vs, "annualReport.registeredAgent.", r.Order.FilingState)
	}
}

// check holds a supplied agent to its rules. Source: spec section 2, Supplied
// registered agent; section 4, rules 4, 9 and 10 (its state is the filing state).
func (a *Agent) check(vs *violations, path string, filingState State) {
	missing := func(field, column string) {
		vs.add("agent."+field, path+field, "", "%s is missing: a supplied agent needs it", column)
	}
	switch a.Type {
	case Person:
		if a.FirstName == "" {
			missing("firstName", "Agent First Name")
		}
		if a.LastName == "" {
			missing("lastName", "Agent Last Name")
		}
		if a.CompanyName != "" {
			vs.add("agent.companyName", path+"companyName", a.CompanyName, "an agent of type PERSON has no company name: clear it, or set Agent Type to COMPANY")
		}
	case CompanyParty:
		if a.CompanyName == "" {
			missing("companyName", "Agent Company Name")
		}
		if a.FirstName != "" || a.LastName != "" {
			vs.add("agent.firstName", path+"firstName", strings.TrimSpace(a.FirstName+" "+a.LastName), "an agent of type COMPANY has no first or last name: clear them, or set Agent Type to PERSON")
		}
	case "":
		missing("type", "Agent Type (PERSON or COMPANY)")
	default:
		vs.add("agent.type", path+"type", string(a.Type), "an agent is a PERSON or a COMPANY")
	}
	if a.Street == "" {
		missing("addressStreet", "Agent Street")
	}
	if a.City == "" {
		missing("addressCity", "Agent City")
	}
	switch {
	case a.State == "":
		missing("addressState", "Agent State")
	case !a.State.Known():
		vs.add("agent.addressState", path+"addressState", string(a.State), "%q is not a US state: use a two-letter code such as DE", string(a.State))
	case filingState.Known() && a.State != filingState:
		vs.add("agent.state-is-filing-state", path+"addressState", string(a.State), "the agent is in %s but the filing goes to %s: an agent must have its address in the filing state", a.State, filingState)
	}
	switch z := a.ZIP; {
	case z == "":
		missing("addressZip", "Agent ZIP")
	case !IsZIP(z):
		checkZIP(vs, "agent.addressZip", path+"addressZip", z)
	}
}

// checkZIP names the usual cause: a spreadsheet took the leading zero away. It
// is never put back silently, for 2134 may as well be a slip for 21340.
func checkZIP(vs *violations, rule, field, z string) {
	if len(z) < 5 && strings.Trim(z, "0123456789") == "" {
		vs.add(rule, field, z, "the ZIP code %q has lost its leading zero: write %s, and format the column as text", z, strings.Repeat("0", 5-len(z))+z)
		return
	}
	vs.add(rule, field, z, "%q is not a ZIP code: use five digits, or five and four", z)
}
