package filing

import (
	"fmt"
	"strings"
)

// Exception is the reason why a filing stops until a person corrects it.
type Exception struct {
	// From and To are the first and the last code.
	From, To int
	Product  Product
	Meaning  string
	Advice   string
	// Fields are the names of the fields of the order that may be wrong.
	Fields []string
}

// Exceptions are the known codes. Other codes are shown without a meaning.
// Source: spec section 7. Assumption: 463 to 465 have the same meaning.
var Exceptions = []Exception{
	{463, 465, Formation, "the name is not available in the state", "choose another name in the dashboard",
		[]string{"formation.company.legalName", "formation.alternativeNames"}},
	{482, 482, AnnualReport, "a report of an earlier year has a problem", "cure the earlier year's report first",
		[]string{"annualReport.filingYear"}},
	{483, 483, EIN, "the IRS rejects the responsible party's SSN (an ITIN, for example)",
		"enter the Social Security number of another responsible party in the dashboard",
		[]string{"ein.responsiblePartySsn"}},
	{484, 484, EIN, "the SSN does not belong to the responsible party's name",
		"correct the name or the number in the dashboard",
		[]string{"ein.responsiblePartySsn", "ein.responsiblePartyFirstName", "ein.responsiblePartyLastName"}},
	{487, 487, ForeignQualification, "the registered agent is not in the qualifying state",
		"enter an agent in that state in the dashboard", []string{"foreignQualification.registeredAgent.addressState"}},
}

// ExceptionOf returns the exception of a code.
func ExceptionOf(code int) (Exception, bool) {
	for _, e := range Exceptions {
		if e.From <= code && code <= e.To {
			return e, true
		}
	}
	return Exception{}, false
}

// UnnamedException is the code of an exception that the filing service reports without one.
const UnnamedException = -1

// ExceptionCode returns the code of an exception, or UnnamedException if only the status mentions an
// exception. Assumption: the spec does not show the fields of an exception.
func ExceptionCode(code int, status string) int {
	if code == 0 && strings.Contains(FoldName(status), "exception") {
		return UnnamedException
	}
	return code
}

// ExceptionText returns the meaning of a code and the action needed, with the
// filing service's own message if there is one.
func ExceptionText(code int, note string) string {
	text := fmt.Sprintf("exception %d", code)
	if code == UnnamedException {
		text = "an exception without a code"
	}
	e, known := ExceptionOf(code)
	if known {
		text += ": " + e.Meaning
	}
	if note != "" {
		text += " (" + note + ")"
	}
	if known {
		return text + "; " + e.Advice
	}
	return text + "; check the company's dashboard"
}
