package filing

import (
	"fmt"
	"strings"
)

// Violation is a rule of the service that a request breaks, found before
// anything is sent.
type Violation struct {
	// Rule is the stable name of the rule, as check --json prints it.
	Rule string
	// Field is the field of the order, such as annualReport.filingYear.
	Field string
	// Value is the value of the field, empty if it is missing.
	Value   string
	Message string
	// Warning reports whether the row is sent nevertheless.
	Warning bool
}

// Violations checks the request against every rule that can be decided without the service, and
// returns all broken rules.
func (r *Request) Violations(thisYear int) []Violation {
	var vs violations
	r.checkParties(&vs, thisYear)
	if r.Order.FilingState == "" {
		vs.add("filing-state.required", "filingState", "",
			"the filing state is missing: enter the two-letter code of the state to file in")
	} else if !r.Order.FilingState.Known() {
		vs.add("filing-state.known", "filingState", string(r.Order.FilingState),
			"%q is not a US state: enter a two-letter code such as DE", string(r.Order.FilingState))
	}
	o := &r.Order
	if o.Formation != nil {
		r.checkFormation(&vs)
	}
	if o.AnnualReport != nil {
		r.checkAnnualReport(&vs, thisYear)
	}
	if o.ForeignQualification != nil {
		r.checkQualification(&vs)
	}
	if o.EIN != nil {
		o.EIN.check(&vs)
	}
	if len(o.Products()) == 0 {
		vs.add("order.product", "", "", "nothing is ordered")
	}
	o.checkSupplied(&vs)
	return vs
}

type violations []Violation

func (vs *violations) add(rule, field, value, format string, args ...any) {
	*vs = append(*vs, Violation{Rule: rule, Field: field, Value: value, Message: fmt.Sprintf(format, args...)})
}

// of returns a function that adds violations of the rules of a path that are named after their fields.
func (vs *violations) of(rules, path string) func(field, value, format string, args ...any) {
	return func(field, value, format string, args ...any) {
		vs.add(rules+field, path+field, value, format, args...)
	}
}

func (vs *violations) warn(rule, field, value, format string, args ...any) {
	vs.add(rule, field, value, format, args...)
	(*vs)[len(*vs)-1].Warning = true
}

// IsUserID reports whether s has the shape of a user id. It scans by hand because
// it runs for every row of a file of a million.
// Source: spec section 2, Identifiers.
func IsUserID(s string) bool { return hasShape(s, "user_", idByte) }

// IsCompanyID reports whether s has the shape of a company id, like IsUserID.
func IsCompanyID(s string) bool { return hasShape(s, "comp_", idByte) }

// IsSlug reports whether s can be a company's URL slug. It must be safe in a path, and must not
// resemble a company id. Assumption: its alphabet is not shown.
func IsSlug(s string) bool {
	if len(s) >= 5 && strings.EqualFold(s[:5], "comp_") {
		return false
	}
	return hasShape(s, "", func(c byte) bool { return idByte(c) || c == '.' }) && idByte(s[0])
}

// isEIN recognizes a federal tax number, with its hyphen or without.
func isEIN(s string) bool {
	return isDigits(s, 9) || len(s) == 10 && s[2] == '-' && isDigits(s[:2]+s[3:], 9)
}

// IsEmail reports whether s is an email address in its usual form. It has one @, a domain with a
// dot, and no spaces or list separators.
func IsEmail(s string) bool {
	local, domain, found := strings.Cut(s, "@")
	dot := strings.LastIndexByte(domain, '.')
	return found && local != "" && dot > 0 && dot < len(domain)-1 && !strings.ContainsAny(s, " \t,;<>\"") &&
		!strings.Contains(domain, "@")
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

// IsE164 recognizes a phone number in international form: + and 7 to 15 digits.
// Source: spec section 2, User.
func IsE164(s string) bool {
	rest, found := strings.CutPrefix(s, "+")
	return found && len(rest) >= 7 && len(rest) <= 15 && rest[0] != '0' && strings.Trim(rest, "0123456789") == ""
}

func isDigits(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789") == ""
}

// isZIP recognizes five digits, or five and four. The lowest ZIP code is 00501, and
// the highest 99950.
func isZIP(s string) bool {
	digits := s
	if len(s) == 10 && s[5] == '-' {
		digits = s[:5] + s[6:]
	}
	return (isDigits(digits, 5) || isDigits(digits, 9)) && digits[:5] >= "00501" && digits[:5] <= "99950"
}

// checkParties checks that user and company are named. Source: spec section 4, rule 1.
func (r *Request) checkParties(vs *violations, thisYear int) {
	switch u := r.User; {
	case u.ID == "" && u.Email == "":
		vs.add("user.required", "userId", "", "the user is missing: enter a User ID (user_…) or a User Email")
	case u.ID != "" && !IsUserID(u.ID):
		vs.add("user.id", "userId", u.ID,
			"%q is not a user ID: enter an ID such as user_…, or enter the email address under User Email", u.ID)
	case u.ID == "" && !IsEmail(u.Email):
		vs.add("user.email", "email", u.Email, "%q is not an email address", u.Email)
	}
	if phone := r.User.Phone; phone != "" && !IsE164(phone) {
		vs.add("user.phone", "phoneNumber", phone,
			"%q is not a phone number in international form, such as +13025550142", phone)
	}
	switch ref := r.Company.Ref; {
	case r.Order.Formation != nil:
		if ref != "" {
			vs.add("formation.company-id", "companyId", ref,
				"a formation creates a company that does not exist yet, but the row has the Company ID %s: clear the "+
					"Company ID, or order something else for it", ref)
		}
	case ref == "":
		r.checkNewCompany(vs, thisYear)
	case isEIN(ref):
		vs.add("company.id", "companyId", ref,
			"%q looks like an EIN, which does not identify a company at the filing service: enter the company ID "+
				"(comp_…) or the slug from the company's web address", ref)
	case !IsCompanyID(ref) && !IsSlug(ref):
		vs.add("company.id", "companyId", ref,
			"%q is not a company ID: enter the ID (comp_…) or the slug from the company's web address", ref)
	case r.Company.Sheet.LegalName == "":
		vs.warn("company.no-name", "company.legalName", "",
			"no name to compare: enter the company's legal name to check that %s is the right company", ref)
	}
}
