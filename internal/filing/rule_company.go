package filing

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The choices of the service in its spelling. Source: spec section 2, Company.
var (
	StructureTypes = []string{"MEMBER", "MANAGER"}
	TaxElections   = []string{"C Corporation", "S Corporation"}
	Months         = []string{"January", "February", "March", "April", "May", "June", "July", "August", "September",
		"October", "November", "December"}
)

// Titles are the titles of officers by entity type. Source: spec section 4, rule 3.
var Titles = map[EntityType][]string{
	LLC:  {"Managing Member", "Member", "Manager"},
	Corp: {"President", "Vice President", "Secretary", "Treasurer", "CEO", "CFO", "COO"},
}

// lacks lists the missing columns without which a company cannot be created. Assumption: the spec
// does not show which fields are required. These are the fields on which orders of the company
// depend, and the fields that every sample has.
func (c CompanyRef) lacks() []string {
	s := &c.Sheet
	a := s.PrincipalAddress
	if a == nil {
		a = &Address{}
	}
	var missing []string
	for _, needed := range []struct{ column, value string }{
		{"Legal Name", s.LegalName}, {"Entity Type", string(s.EntityType)},
		{"Formation State", string(s.FormationState)},
		{"Formation Date", s.FormationDate}, {"Principal Line 1", a.Line1}, {"Principal City", a.City},
	} {
		if needed.value == "" {
			missing = append(missing, needed.column)
		}
	}
	return missing
}

// checkNewCompany checks that a row without a Company ID describes a new company
// completely, and names the missing columns. Source: spec section 2,
// create-company request fields.
func (r *Request) checkNewCompany(vs *violations, thisYear int) {
	if missing := r.Company.lacks(); len(missing) > 0 {
		message := "the company is missing: enter its Company ID (comp_…) or its slug"
		// The row has more facts about the company than its name.
		if described := len(missing) < 5; described {
			message += "; or, for the company to be created, also " + strings.Join(missing, ", ")
		}
		vs.add("company.required", "companyId", "", "%s", message)
		return
	}
	c := &r.Company.Sheet
	add := vs.of("company.", "company.")
	if !c.FormationState.Known() {
		add("formationState", string(c.FormationState), "%q is not a US state: enter a two-letter code such as DE",
			string(c.FormationState))
	}
	switch formed, err := time.Parse(time.DateOnly, c.FormationDate); {
	case err != nil:
		add("formationDate", c.FormationDate, "%q is not a date: enter it as YYYY-MM-DD", c.FormationDate)
	case formed.Year() > thisYear:
		add("formationDate", c.FormationDate,
			"the company already exists, but its formation date %s is in the future: correct the date", c.FormationDate)
	}
	checkName(vs, "company.legalName", c.LegalName, c.EntityType)
	c.check(vs, "company.")
	if len(c.Officers) > 0 {
		checkOfficers(vs, "company.", c.EntityType, c.Officers)
	}
}

// restrictedWords need the consent of another authority in most states.
var restrictedWords = []string{"bank", "banking", "bankers", "trust", "insurance", "university"}

// checkName warns of a name under which a state may not register a new company of the type. The
// company is formed under exactly this name.
func checkName(vs *violations, field, name string, t EntityType) {
	folded := FoldLegalName(name)
	_, ending := comparableName(name)
	of := nameEndings[ending]
	if of == "" && slices.Contains([]string{"co", "ltd", "pc", "pa", "chartered"}, ending) {
		of = Corp
	}
	if strings.HasSuffix(folded, " ltd co") || strings.HasSuffix(folded, " limited co") {
		// "Limited Company" is an ending of either type.
		of = t
	}
	warn := func(format string, args ...any) {
		vs.warn("company.name", field, name, format+": the name is filed as it is unless you correct it", args...)
	}
	_, after := CutAfterEnding(name)
	switch {
	case name == "" || after != "" || t != LLC && t != Corp:
		return
	case ending == "":
		warn("the name of a new company has no ending such as %s", map[EntityType]string{LLC: "LLC", Corp: "Inc."}[t])
	case of != t:
		warn("the name ends in %q, but the entity type is %s", ending, t)
	}
	if i := strings.IndexFunc(name, isUnusual); i >= 0 {
		r, _ := utf8.DecodeRuneInString(name[i:])
		warn("states do not register names with the character %q", r)
	}
	for _, word := range strings.Fields(folded) {
		if slices.Contains(restrictedWords, word) {
			warn("most states register a name with %q only with a consent", word)
		}
	}
}

// isUnusual reports whether a character is unusual in names of companies.
func isUnusual(r rune) bool {
	return r >= utf8.RuneSelf && !unicode.Is(unicode.Mn, r) && !strings.ContainsRune("‘’“”–—", r) &&
		(!unicode.Is(unicode.Latin, r) || !norm.NFKC.IsNormalString(string(r)))
}

// check checks the format of each given field of a company. Its callers check the
// required fields.
func (c *Company) check(vs *violations, path string) {
	add := vs.of("company.", path)
	if t := c.EntityType; t != "" && t != LLC && t != Corp {
		add("entityType", string(t), "%q is not an entity type: use LLC or CORP", string(t))
	}
	if s := c.StructureType; s != "" && !slices.Contains(StructureTypes, s) {
		add("structureType", s, "%q is not one of %s", s, strings.Join(StructureTypes, ", "))
	} else if s != "" && c.EntityType == Corp {
		add("structureType", s, "a corporation cannot have a structure type: clear it, or correct the Entity Type")
	}
	if e := c.TaxElection; e != "" && !slices.Contains(TaxElections, e) {
		add("taxElection", e, "%q is not one of %s", e, strings.Join(TaxElections, ", "))
	} else if e != "" && c.EntityType == LLC {
		add("taxElection", e, "an LLC cannot have a tax election here: clear it, or correct the Entity Type")
	}
	if m := c.FiscalEndMonth; m != "" && !slices.Contains(Months, m) {
		add("fiscalEndMonth", m, "%q is not a month: enter a month such as December", m)
	}
	c.PrincipalAddress.check(vs, path+"principalAddress.", "Principal ", companyPart("principalAddress"))
	if p, m := c.PrincipalAddress, c.MailingAddress; p == nil || m == nil || *p != *m {
		m.check(vs, path+"mailingAddress.", "Mailing ", companyPart("mailingAddress"))
	}
}

func companyPart(address string) func(string) string {
	return func(part string) string { return "company." + address + "." + part }
}

// checkOfficers checks the officers of a formation. Source: spec section 4, rule 3, and section 8,
// primary officer.
func checkOfficers(vs *violations, path string, t EntityType, officers []Officer) {
	primaries, managers := 0, 0
	for i := range officers {
		o := &officers[i]
		at := fmt.Sprintf("%sofficers[%d].", path, i)
		o.check(vs, at, t)
		if o.Title == "Manager" {
			managers++
		}
		if o.IsPrimary {
			if primaries++; primaries > 1 {
				vs.add("officer.primary", at+"isPrimary", "yes",
					"more than one officer is primary: enter yes for exactly one")
			}
		}
	}
	if primaries == 0 {
		vs.add("officer.primary", path+"officers[0].isPrimary", "",
			"no officer is primary: enter yes for exactly one")
	}
	// Invalid titles have another error.
	if t == LLC && managers == len(officers) {
		vs.add("officer.member", path+"officers[0].title", officers[0].Title,
			"an LLC needs at least one Member or Managing Member: change the title of an officer")
	}
}

// check checks one officer. Source: spec section 2, Officer, and section 4, rule 3.
func (o *Officer) check(vs *violations, path string, t EntityType) {
	missing := func(rule, field, column string) {
		vs.add("officer."+rule, path+field, "", "%s is missing: every officer requires it", column)
	}
	switch o.Type {
	case Person:
		if o.FirstName == "" {
			missing("first-name", "firstName", "the first name")
		}
		if o.LastName == "" {
			missing("last-name", "lastName", "the last name")
		}
		if o.CompanyName != "" {
			vs.add("officer.company-name", path+"companyName", o.CompanyName,
				"an officer of type PERSON cannot have a company name: clear it, or set the type to COMPANY")
		}
	case CompanyParty:
		if o.CompanyName == "" {
			missing("company-name", "companyName", "the company name")
		}
		if o.FirstName != "" || o.LastName != "" {
			vs.add("officer.first-name", path+"firstName", strings.TrimSpace(o.FirstName+" "+o.LastName),
				"an officer of type COMPANY cannot have a first or last name: clear them, or set the type to PERSON")
		}
	case "":
		missing("type", "type", "the type (PERSON or COMPANY)")
	default:
		vs.add("officer.type", path+"type", string(o.Type), "the officer type is not valid: enter PERSON or COMPANY")
	}
	switch titles := Titles[t]; {
	case o.Title == "":
		missing("title", "title", "the title")
	case titles != nil && !slices.Contains(titles, o.Title):
		what := "an LLC"
		if t == Corp {
			what = "a corporation"
		}
		vs.add("officer.title", path+"title", o.Title, "%q is not a title in %s: enter one of %s", o.Title, what,
			strings.Join(titles, ", "))
	}
	if o.Address == nil {
		vs.add("officer.address", path+"address.line1", "",
			"the officer's address is missing: every officer requires one")
		return
	}
	o.Address.check(vs, path+"address.", "", func(part string) string { return officerPart[part] })
}

// officerPart maps the parts of an officer's address to the names of their rules. The names match
// the officer's columns.
var officerPart = map[string]string{
	"line1": "officer.line-1", "city": "officer.city", "state": "officer.state", "postalCode": "officer.postal-code",
	"country": "officer.country",
}

// territories are US places with US addresses that are not states.
var territories = map[string]string{"PR": "PUERTO RICO", "VI": "US VIRGIN ISLANDS", "GU": "GUAM",
	"AS": "AMERICAN SAMOA", "MP": "NORTHERN MARIANA ISLANDS"}

// ParseUSPlace reads the state or territory of a US address, by code or name.
func ParseUSPlace(text string) (code string, ok bool) {
	if s, ok := ParseState(text); ok {
		return string(s), true
	}
	folded := strings.ToUpper(strings.TrimSpace(text))
	for code, name := range territories {
		if folded == code || folded == name {
			return code, true
		}
	}
	return "", false
}

// check checks an address. A nil address is valid. Assumption: line1, city and country are
// required, because every sample of the spec has them. State and postal code are sent if given.
func (a *Address) check(vs *violations, path, column string, rule func(part string) string) {
	if a == nil {
		return
	}
	if a.Line1 == "" {
		vs.add(rule("line1"), path+"line1", "", "%sLine 1 is missing: enter the street address", column)
	}
	if a.City == "" {
		vs.add(rule("city"), path+"city", "", "%sCity is missing: enter the city", column)
	}
	_, inUS := ParseUSPlace(a.State)
	switch c := a.Country; {
	case c == "" && a.State != "" && !inUS:
		vs.add(rule("state"), path+"state", a.State,
			"%q is not a US state: enter a two-letter code such as DE, or enter the country too", a.State)
	case c == "":
		vs.add(rule("country"), path+"country", "",
			"%sCountry is missing: enter its two-letter code, such as US; it may be left blank only for US states",
			column)
	case len(c) != 2 || c[0] < 'A' || c[0] > 'Z' || c[1] < 'A' || c[1] > 'Z':
		vs.add(rule("country"), path+"country", c, "%q is not a two-letter country code, such as US", c)
	case c == "US":
		if a.State != "" && !inUS {
			vs.add(rule("state"), path+"state", a.State,
				"%q is not a US state: enter a two-letter code such as DE, or correct the country", a.State)
		}
		if a.PostalCode != "" && !isZIP(a.PostalCode) {
			checkZIP(vs, rule("postalCode"), path+"postalCode", a.PostalCode)
		}
	}
}

// checkZIP adds an error that names the usual cause, a spreadsheet program that removed the leading
// zero. It never adds the zero, because 2134 may also be a typing error for 21340.
func checkZIP(vs *violations, rule, field, z string) {
	if full := strings.Repeat("0", max(5-len(z), 0)) + z; len(z) < 5 && isZIP(full) {
		vs.add(rule, field, z, "the ZIP code %q has lost its leading zero: enter %s, and format the column as text", z,
			full)
		return
	}
	vs.add(rule, field, z, "%q is not a ZIP code: enter five digits, or ZIP+4", z)
}
