package filing

import (
	"slices"
	"strings"
	"time"
)

// BusinessCategories are the categories in the filing service's document. The service has more.
// Source: spec section 2, ein object.
var BusinessCategories = []string{"Consulting", "Retail", "Real Estate", "Finance"}

// ApplicationReasons is the complete set of reasons. Source: spec section 2, ein object.
var ApplicationReasons = []string{"Started a new business", "Hired employee(s)", "Banking purposes",
	"Changed type of organization", "Purchased active business"}

// check checks an EIN application. No message and no value contains the Social Security number.
// Source: spec section 4, rule 7, and section 2, ein object.
func (e *EINItem) check(vs *violations) {
	add := vs.of("ein.", "ein.")
	for _, needed := range []struct{ field, value, column string }{
		{"businessCategory", e.BusinessCategory, "Business Category"},
		{"businessPurpose", e.BusinessPurpose, "Business Purpose"},
		{"applicationReason", e.ApplicationReason, "Application Reason"},
		{"responsiblePartyFirstName", e.ResponsiblePartyFirstName, "Responsible Party First Name"},
		{"responsiblePartyLastName", e.ResponsiblePartyLastName, "Responsible Party Last Name"},
		{"responsiblePartyTitle", e.ResponsiblePartyTitle, "Responsible Party Title"},
		{"responsiblePartyPhoneNumber", e.ResponsiblePartyPhoneNumber, "Responsible Party Phone Number"},
	} {
		if needed.value == "" {
			add(needed.field, "", "%s is missing: an EIN application requires it", needed.column)
		}
	}
	// Assumption: the spec does not show all categories. Other categories are sent with a warning.
	if c := e.BusinessCategory; c != "" && !slices.Contains(BusinessCategories, c) {
		vs.warn("ein.business-category-unknown", "ein.businessCategory", c,
			"%[2]q may not be accepted: the filing service is known to accept %[1]s",
			strings.Join(BusinessCategories, ", "), c)
	}
	if a := e.ApplicationReason; a != "" && !slices.Contains(ApplicationReasons, a) {
		add("applicationReason", a, "%q is not one of %s", a, strings.Join(ApplicationReasons, ", "))
	}
	e.checkEmployment(vs)
	e.checkSSN(vs)
	switch phone := e.ResponsiblePartyPhoneNumber; {
	case phone == "":
	case !IsE164(phone):
		add("responsiblePartyPhoneNumber", phone,
			"%q is not a phone number in international form, such as +13025550142", phone)
	case !e.ResponsiblePartyIsForeign && (!strings.HasPrefix(phone, "+1") || len(phone) != len("+13025550142")):
		add("responsiblePartyPhoneNumber", phone,
			"%s is not a US number: only a foreign responsible party may have a foreign number", phone)
	}
}

func (e *EINItem) checkEmployment(vs *violations) {
	add := vs.of("ein.", "ein.")
	if e.AgricultureEmployeesCount < 0 {
		add("agricultureEmployeesCount", "", "the number of employees cannot be negative")
	}
	if e.OtherEmployeesCount < 0 {
		add("otherEmployeesCount", "", "the number of employees cannot be negative")
	}
	employees := e.AgricultureEmployeesCount + e.OtherEmployeesCount
	switch date := e.FirstWagesDate; {
	case date == nil && e.IsW2Expected:
		add("firstWagesDate", "", "First Wages Date is missing: it is needed where employees are expected")
	case date != nil:
		if _, err := time.Parse(time.DateOnly, *date); err != nil {
			add("firstWagesDate", *date, "%q is not a date: enter it as YYYY-MM-DD", *date)
		}
	}
	switch {
	case e.IsW2Expected && employees < 1:
		vs.add("ein.employees", "ein.otherEmployeesCount", "",
			"employees are expected: enter at least 1 employee in one of the two counts")
	case !e.IsW2Expected && employees > 0:
		vs.warn("ein.employees-unexpected", "ein.isW2Expected", "no",
			"employees are counted, but Is W2 Expected is no: check both")
	}
}

// checkSSN checks the format like the filing service, and warns of numbers that the tax authority
// is certain to reject. Source: spec section 4, rule 7, and section 7, code 483.
func (e *EINItem) checkSSN(vs *violations) {
	const field = "ein.responsiblePartySsn"
	switch ssn := e.ResponsiblePartySSN; {
	case e.ResponsiblePartyIsForeign:
		if ssn != "" {
			vs.add(field, field, "", "a foreign responsible party has no Social Security number: clear it, or enter "+
				"no under Responsible Party Is Foreign")
		}
	case ssn == "":
		vs.add(field, field, "", "Responsible Party SSN is missing: it is needed unless the responsible party "+
			"is foreign")
	case !isDigits(ssn, 9):
		vs.add(field, field, "", "this is not a Social Security number: enter nine digits")
	case isITIN(ssn):
		vs.warn("ein.ssn-is-itin", field, "",
			"this is an individual taxpayer number (ITIN), not a Social Security number: the IRS will reject it "+
				"(exception 483)")
	case ssn[0] == '9' || ssn[:3] == "000" || ssn[:3] == "666" || ssn[3:5] == "00" || ssn[5:] == "0000":
		vs.warn("ein.ssn-never-issued", field, "",
			"this Social Security number was never issued: the IRS will reject it (exception 483)")
	}
}

// isITIN reports whether a number is an ITIN, the tax authority's number for people without a
// Social Security number. It begins with a 9 and has certain fourth and fifth digits.
func isITIN(ssn string) bool {
	group := ssn[3:5]
	return ssn[0] == '9' && (group >= "50" && group <= "65" || group >= "70" && group <= "88" ||
		group >= "90" && group <= "92" || group >= "94")
}
