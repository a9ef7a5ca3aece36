package filing

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func office() *Address {
	return &Address{
		Line1:      "12 Market Street",
		City:       "Wilmington",
		State:      "DE",
		PostalCode: "19801",
		Country:    "US",
	}
}

func officer(title string, primary bool) Officer {
	return Officer{
		Type:      Person,
		FirstName: "Ana",
		LastName:  "Silva",
		Title:     title,
		Address:   office(),
		IsPrimary: primary,
	}
}

// forming is the formation of an LLC that breaks no rule, changed by change.
func forming(change func(*Request, *FormationItem)) *Request {
	f := &FormationItem{Company: Company{
		LegalName:        "Harbor Light Bakery LLC",
		EntityType:       LLC,
		StructureType:    "MEMBER",
		FiscalEndMonth:   "June",
		PrincipalAddress: office(),
		MailingAddress:   office(),
		Officers:         []Officer{officer("Managing Member", true)},
	}}
	r := &Request{
		Product: Formation,
		User:    UserRef{ID: "user_1"},
		Order:   Order{FilingState: "DE", Formation: f, RegisteredAgent: &RegisteredAgentItem{}},
	}
	change(r, f)
	return r
}

// incorporating is the same of a corporation.
func incorporating(change func(*Company)) *Request {
	return forming(func(_ *Request, f *FormationItem) {
		c := &f.Company
		c.EntityType, c.StructureType, c.TaxElection, c.Officers[0].Title = Corp, "", "S Corporation", "President"
		c.LegalName = "Harbor Light Bakery Inc."
		change(c)
	})
}

func formed(change func(*Company)) *Request {
	return forming(func(_ *Request, f *FormationItem) { change(&f.Company) })
}

func agentOf(state State) *Agent {
	return &Agent{
		Type:        CompanyParty,
		CompanyName: "First State Agents Inc.",
		Street:      "200 Continental Drive",
		City:        "Newark",
		State:       state,
		ZIP:         "19713",
	}
}

// applying is a standalone EIN order that breaks no rule, changed by change.
func applying(change func(*EINItem)) *Request {
	e := &EINItem{
		BusinessCategory:            "Consulting",
		BusinessPurpose:             "Bookkeeping",
		ApplicationReason:           "Banking purposes",
		ResponsiblePartyFirstName:   "Ana",
		ResponsiblePartyLastName:    "Silva",
		ResponsiblePartyTitle:       "Member",
		ResponsiblePartySSN:         "078051120",
		ResponsiblePartyPhoneNumber: "+13025550142",
	}
	change(e)
	return &Request{
		Product: EIN,
		User:    UserRef{ID: "user_1"},
		Company: CompanyRef{Ref: "comp_1", Sheet: Company{LegalName: "Acme LLC"}},
		Order:   Order{FilingState: "DE", EIN: e},
	}
}

// qualifying is a foreign qualification that breaks no rule, changed by change.
func qualifying(change func(*Request)) *Request {
	r := &Request{
		Product: ForeignQualification, User: UserRef{ID: "user_1"},
		Company: CompanyRef{
			Ref:   "comp_1",
			Sheet: Company{LegalName: "Acme LLC", EntityType: LLC, FormationState: "DE"},
		},
		Order: Order{FilingState: "NY", ForeignQualification: &QualificationItem{}},
	}
	change(r)
	return r
}

// founding is a qualification of a company that is to be created first.
func founding(change func(*Company)) *Request {
	return qualifying(func(r *Request) {
		r.Company = CompanyRef{Sheet: Company{
			LegalName:        "Harbor Light Bakery LLC",
			EntityType:       LLC,
			FormationState:   "DE",
			FormationDate:    "2019-04-30",
			PrincipalAddress: office(),
		}}
		change(&r.Company.Sheet)
	})
}

func date(s string) *string { return &s }

// einCase is an EIN order whose field breaks the rule of its name.
func einCase(field, why string, change func(*EINItem)) ruleCase {
	return ruleCase{"ein." + field, why, "ein." + field, false, applying(change)}
}

// companyCase is a formation of a company whose field breaks the rule of its name.
func companyCase(field, why string, change func(*Company)) ruleCase {
	return ruleCase{"company." + field, why, "formation.company." + field, false, formed(change)}
}

// officerCase is a formation of a company whose first officer breaks a rule.
func officerCase(rule, why, field string, change func(*Officer)) ruleCase {
	return ruleCase{"officer." + rule, why, "formation.company.officers[0]." + field, false,
		formed(func(c *Company) { change(&c.Officers[0]) })}
}

// One row for each rule of the products beside the annual report.
func TestProductViolations(t *testing.T) {
	const company, officers, ein = "formation.company.", "formation.company.officers[0].", "ein."
	checkRules(t, []ruleCase{
		{"ok", "an LLC with an agent ordered", "", false, forming(func(*Request, *FormationItem) {})},
		{"ok", "a corporation", "", false, incorporating(func(*Company) {})},
		{"ok", "an agent supplied", "", false,
			forming(func(r *Request, f *FormationItem) {
				r.Order.RegisteredAgent, f.RegisteredAgent = nil, agentOf("DE")
			})},
		{"ok", "with an EIN", "", false,
			forming(func(r *Request, _ *FormationItem) { r.Order.EIN = applying(func(*EINItem) {}).Order.EIN })},
		{"ok", "with an annual report that has the same agent", "", false, forming(func(r *Request, f *FormationItem) {
			r.Order.RegisteredAgent, f.RegisteredAgent = nil, agentOf("DE")
			r.Order.AnnualReport = &AnnualReportItem{FilingYear: "2026", RegisteredAgent: agentOf("DE")}
		})},
		{"ok", "expedited", "", false, forming(func(_ *Request, f *FormationItem) { f.Expedited = true })},
		{"ok", "four officers, a company and a foreigner among them", "", false, formed(func(c *Company) {
			c.Officers = append(c.Officers, officer("Manager", false),
				Officer{Type: CompanyParty, CompanyName: "Tern Holdings Inc.", Title: "Member", Address: office()},
				Officer{
					Type:      Person,
					FirstName: "Li",
					LastName:  "Wei",
					Title:     "Member",
					Address: &Address{
						Line1:      "1 Bay St",
						City:       "Toronto",
						State:      "ON",
						PostalCode: "M5J 2N8",
						Country:    "CA",
					},
				})
		})},
		{"ok", "ten alternative names", "", false, forming(func(_ *Request, f *FormationItem) {
			for i := range 10 {
				f.AlternativeNames = append(f.AlternativeNames, fmt.Sprintf("Harbor %d LLC", i))
			}
		})},
		{"ok", "an address in a territory", "", false,
			formed(func(c *Company) { c.MailingAddress.State, c.MailingAddress.PostalCode = "PR", "00901" })},

		{"formation.company-id", "", "companyId", false,
			forming(func(r *Request, _ *FormationItem) { r.Company.Ref = "comp_1" })},
		{"formation.excluded", "EIN", company + "legalName", false, formed(func(c *Company) { c.EIN = "12-3456789" })},
		{"formation.excluded", "formation date", company + "legalName", false,
			formed(func(c *Company) { c.FormationDate = "2026-01-01" })},
		{"formation.excluded", "formation state", company + "legalName", false,
			formed(func(c *Company) { c.FormationState = "DE" })},
		companyCase("legalName", "missing", func(c *Company) { c.LegalName = "" }),
		companyCase("entityType", "missing", func(c *Company) { c.EntityType, c.StructureType = "", "" }),
		companyCase("entityType", "unknown", func(c *Company) { c.EntityType, c.StructureType = "LP", "" }),
		companyCase("structureType", "missing of an LLC", func(c *Company) { c.StructureType = "" }),
		companyCase("structureType", "unknown", func(c *Company) { c.StructureType = "BOARD" }),
		{"company.structureType", "of a corporation", company + "structureType", false,
			incorporating(func(c *Company) { c.StructureType = "MEMBER" })},
		{"company.taxElection", "missing of a corporation", company + "taxElection", false,
			incorporating(func(c *Company) { c.TaxElection = "" })},
		{"company.taxElection", "unknown", company + "taxElection", false,
			incorporating(func(c *Company) { c.TaxElection = "B Corporation" })},
		companyCase("taxElection", "of an LLC", func(c *Company) { c.TaxElection = "C Corporation" }),
		companyCase("fiscalEndMonth", "", func(c *Company) { c.FiscalEndMonth = "Dec" }),
		companyCase("principalAddress.line1", "no address", func(c *Company) { c.PrincipalAddress = nil }),
		companyCase("mailingAddress.line1", "no address", func(c *Company) { c.MailingAddress = nil }),
		companyCase("principalAddress.line1", "no street", func(c *Company) { c.PrincipalAddress.Line1 = "" }),
		companyCase("principalAddress.city", "", func(c *Company) { c.PrincipalAddress.City = "" }),
		companyCase("principalAddress.country", "missing", func(c *Company) { c.PrincipalAddress.Country = "" }),
		companyCase("principalAddress.country", "a name", func(c *Company) { c.PrincipalAddress.Country = "USA" }),
		{"company.principalAddress.state", "neither a US state nor a country", company + "principalAddress.state",
			false, formed(func(c *Company) { c.PrincipalAddress.State, c.PrincipalAddress.Country = "Delawere", "" })},
		companyCase("principalAddress.state", "", func(c *Company) { c.PrincipalAddress.State = "ON" }),
		{"company.principalAddress.city", "of both addresses is said once", company + "principalAddress.city", false,
			formed(func(c *Company) { c.PrincipalAddress.City, c.MailingAddress.City = "", "" })},
		{"company.mailingAddress.postalCode", "lost its zero", company + "mailingAddress.postalCode", false,
			formed(func(c *Company) { c.MailingAddress.PostalCode = "2134" })},

		{"officer.required", "", company + "officers", false, formed(func(c *Company) { c.Officers = nil })},
		officerCase("primary", "none", "isPrimary", func(o *Officer) { o.IsPrimary = false }),
		{"officer.primary", "two", company + "officers[1].isPrimary", false,
			formed(func(c *Company) { c.Officers = append(c.Officers, officer("Member", true)) })},
		officerCase("member", "managers alone", "title", func(o *Officer) { o.Title = "Manager" }),
		{"officer.title", "missing", officers + "title", false,
			incorporating(func(c *Company) { c.Officers[0].Title = "" })},
		{"officer.title", "of an LLC in a corporation", officers + "title", false,
			incorporating(func(c *Company) { c.Officers[0].Title = "Member" })},
		{"officer.title", "of a corporation in an LLC", company + "officers[1].title", false,
			formed(func(c *Company) { c.Officers = append(c.Officers, officer("CEO", false)) })},
		officerCase("type", "missing", "type", func(o *Officer) { o.Type = "" }),
		officerCase("type", "unknown", "type", func(o *Officer) { o.Type = "TRUST" }),
		officerCase("first-name", "missing", "firstName", func(o *Officer) { o.FirstName = "" }),
		officerCase("last-name", "missing", "lastName", func(o *Officer) { o.LastName = "" }),
		officerCase("company-name", "of a person", "companyName", func(o *Officer) { o.CompanyName = "Tern" }),
		{"officer.company-name", "missing of a company", officers + "companyName", false, formed(func(c *Company) {
			c.Officers[0].Type, c.Officers[0].FirstName, c.Officers[0].LastName = CompanyParty, "", ""
		})},
		{"officer.first-name", "of a company", officers + "firstName", false,
			formed(func(c *Company) { c.Officers[0].Type, c.Officers[0].CompanyName = CompanyParty, "Tern" })},
		officerCase("address", "", "address.line1", func(o *Officer) { o.Address = nil }),
		officerCase("line-1", "", "address.line1", func(o *Officer) { o.Address.Line1 = "" }),
		officerCase("city", "", "address.city", func(o *Officer) { o.Address.City = "" }),
		officerCase("country", "", "address.country", func(o *Officer) { o.Address.Country = "" }),
		officerCase("state", "", "address.state", func(o *Officer) { o.Address.State = "QQ" }),
		officerCase("postal-code", "", "address.postalCode", func(o *Officer) { o.Address.PostalCode = "1980" }),

		{"formation.agent", "neither ordered nor supplied", "formation.registeredAgent", false,
			forming(func(r *Request, _ *FormationItem) { r.Order.RegisteredAgent = nil })},
		{"formation.one-agent", "ordered and supplied", "formation.registeredAgent", false,
			forming(func(_ *Request, f *FormationItem) { f.RegisteredAgent = agentOf("DE") })},
		{"formation.new-appointment", "", "registeredAgent.isChangeOfAgent", false,
			forming(func(r *Request, _ *FormationItem) { r.Order.RegisteredAgent.IsChangeOfAgent = true })},
		{"agent.state-is-filing-state", "of a formation", "formation.registeredAgent.addressState", false,
			forming(func(r *Request, f *FormationItem) {
				r.Order.RegisteredAgent, f.RegisteredAgent = nil, agentOf("NJ")
			})},
		{"formation.alternativeNames", "eleven", "formation.alternativeNames", false,
			forming(func(_ *Request, f *FormationItem) {
				for i := range 11 {
					f.AlternativeNames = append(f.AlternativeNames, fmt.Sprintf("Harbor %d LLC", i))
				}
			})},
		{"formation.alternativeNames", "an empty one", "formation.alternativeNames", false,
			forming(func(_ *Request, f *FormationItem) { f.AlternativeNames = []string{""} })},
		{"formation.alternative-repeats", "the legal name", "formation.alternativeNames", true,
			forming(func(_ *Request, f *FormationItem) {
				f.AlternativeNames = []string{"Harbor Light Bakery, L.L.C."}
			})},
		{"formation.expedited", "another state", "formation.expedited", false,
			forming(func(r *Request, f *FormationItem) { r.Order.FilingState, f.Expedited = "TX", true })},
		{"formation.expedited", "a corporation", "formation.expedited", false,
			forming(func(_ *Request, f *FormationItem) {
				f.Expedited, f.Company = true, incorporating(func(*Company) {}).Order.Formation.Company
			})},
		{"foreign-qualification.with-formation", "", "foreignQualification", false,
			forming(func(r *Request, _ *FormationItem) { r.Order.ForeignQualification = &QualificationItem{} })},

		{"ok", "an EIN", "", false, applying(func(*EINItem) {})},
		{"ok", "of a foreign party", "", false, applying(func(e *EINItem) {
			e.ResponsiblePartyIsForeign, e.ResponsiblePartySSN, e.ResponsiblePartyPhoneNumber = true, "",
				"+442079460958"
		})},
		{"ok", "with employees", "", false, applying(func(e *EINItem) {
			e.IsW2Expected, e.AgricultureEmployeesCount, e.FirstWagesDate = true, 1, date("2026-08-01")
		})},
		einCase("businessCategory", "missing", func(e *EINItem) { e.BusinessCategory = "" }),
		{"ein.business-category-unknown", "", ein + "businessCategory", true,
			applying(func(e *EINItem) { e.BusinessCategory = "Farming" })},
		einCase("businessPurpose", "missing", func(e *EINItem) { e.BusinessPurpose = "" }),
		einCase("applicationReason", "missing", func(e *EINItem) { e.ApplicationReason = "" }),
		einCase("applicationReason", "unknown", func(e *EINItem) { e.ApplicationReason = "Because" }),
		einCase("responsiblePartyFirstName", "missing", func(e *EINItem) { e.ResponsiblePartyFirstName = "" }),
		einCase("responsiblePartyLastName", "missing", func(e *EINItem) { e.ResponsiblePartyLastName = "" }),
		einCase("responsiblePartyTitle", "missing", func(e *EINItem) { e.ResponsiblePartyTitle = "" }),
		einCase("responsiblePartyPhoneNumber", "missing", func(e *EINItem) { e.ResponsiblePartyPhoneNumber = "" }),
		{"ein.responsiblePartyPhoneNumber", "not in E.164", ein + "responsiblePartyPhoneNumber", false,
			applying(func(e *EINItem) { e.ResponsiblePartyPhoneNumber = "302-555-0142" })},
		{"ein.responsiblePartyPhoneNumber", "from abroad of a party who is not", ein + "responsiblePartyPhoneNumber",
			false, applying(func(e *EINItem) { e.ResponsiblePartyPhoneNumber = "+442079460958" })},
		einCase("responsiblePartySsn", "missing", func(e *EINItem) { e.ResponsiblePartySSN = "" }),
		einCase("responsiblePartySsn", "dashes", func(e *EINItem) { e.ResponsiblePartySSN = "078-05-1120" }),
		einCase("responsiblePartySsn", "eight digits", func(e *EINItem) { e.ResponsiblePartySSN = "78051120" }),
		einCase("responsiblePartySsn", "of a foreign party", func(e *EINItem) { e.ResponsiblePartyIsForeign = true }),
		{"ein.ssn-is-itin", "", ein + "responsiblePartySsn", true,
			applying(func(e *EINItem) { e.ResponsiblePartySSN = "912701234" })},
		{"ein.ssn-never-issued", "nine in front, another group", ein + "responsiblePartySsn", true,
			applying(func(e *EINItem) { e.ResponsiblePartySSN = "912931234" })},
		{"ein.ssn-never-issued", "nothing in front", ein + "responsiblePartySsn", true,
			applying(func(e *EINItem) { e.ResponsiblePartySSN = "000123456" })},
		{"ein.employees", "expected and none counted", ein + "otherEmployeesCount", false,
			applying(func(e *EINItem) { e.IsW2Expected, e.FirstWagesDate = true, date("2026-08-01") })},
		einCase("otherEmployeesCount", "below nothing", func(e *EINItem) { e.OtherEmployeesCount = -1 }),
		{"ein.employees-unexpected", "", ein + "isW2Expected", true,
			applying(func(e *EINItem) { e.OtherEmployeesCount = 2 })},
		{"ein.firstWagesDate", "missing where employees are expected", ein + "firstWagesDate", false,
			applying(func(e *EINItem) { e.IsW2Expected, e.OtherEmployeesCount = true, 2 })},
		einCase("firstWagesDate", "not a date", func(e *EINItem) { e.FirstWagesDate = date("8/1/2026") }),

		{"ok", "a qualification with an agent on record", "", false, qualifying(func(*Request) {})},
		{"ok", "with an agent ordered", "", false,
			qualifying(func(r *Request) { r.Order.RegisteredAgent = &RegisteredAgentItem{} })},
		{"ok", "with an agent supplied", "", false,
			qualifying(func(r *Request) { r.Order.ForeignQualification.RegisteredAgent = agentOf("NY") })},
		{"foreign-qualification.one-agent", "", "foreignQualification.registeredAgent", false,
			qualifying(func(r *Request) {
				r.Order.RegisteredAgent, r.Order.ForeignQualification.RegisteredAgent = &RegisteredAgentItem{},
					agentOf("NY")
			})},
		{"agent.state-is-filing-state", "of a qualification", "foreignQualification.registeredAgent.addressState",
			false, qualifying(func(r *Request) { r.Order.ForeignQualification.RegisteredAgent = agentOf("DE") })},
		{"foreign-qualification.home-state", "", "filingState", false,
			qualifying(func(r *Request) { r.Order.FilingState = "DE" })},
		{"order.product", "nothing", "", false,
			report(func(r *Request) { r.Order.AnnualReport = nil })},
		{"user.phone", "", "phoneNumber", false, qualifying(func(r *Request) { r.User.Phone = "302-555-0142" })},

		{"ok", "a company to be created", "", false, founding(func(*Company) {})},
		{"ok", "with its officers", "", false,
			founding(func(c *Company) { c.Officers = []Officer{officer("Member", true)} })},
		{"company.required", "part of a company", "companyId", false,
			founding(func(c *Company) { c.FormationDate = "" })},
		{"company.formationState", "", "company.formationState", false,
			founding(func(c *Company) { c.FormationState = "ZZ" })},
		{"company.formationDate", "not a date", "company.formationDate", false,
			founding(func(c *Company) { c.FormationDate = "4/30/2019" })},
		{"company.formationDate", "to come", "company.formationDate", false,
			founding(func(c *Company) { c.FormationDate = "2027-01-01" })},
		{"company.principalAddress.country", "of a company to be created", "company.principalAddress.country", false,
			founding(func(c *Company) { c.PrincipalAddress.Country = "" })},
		{"officer.primary", "of a company to be created", "company.officers[0].isPrimary", false,
			founding(func(c *Company) { c.Officers = []Officer{officer("Member", false)} })},
	})
}

// What is missing of a company that is not known is named, column by column.
func TestPartOfACompany(t *testing.T) {
	found := founding(func(c *Company) { c.EntityType, c.PrincipalAddress.City = "", "" }).Violations(2026)
	if len(found) != 1 || !strings.HasSuffix(found[0].Message, "also Entity Type, Principal City") ||
		!strings.Contains(found[0].Message, "Company ID") {
		t.Errorf("%+v", found)
	}
}

// The number itself is in no violation, whatever is wrong with it.
func TestViolationsKeepTheSecret(t *testing.T) {
	for _, ssn := range []string{"078051120", "078-05-1120", "912701234", "000123456", "12345", "x"} {
		for _, foreign := range []bool{false, true} {
			r := applying(func(e *EINItem) { e.ResponsiblePartySSN, e.ResponsiblePartyIsForeign = ssn, foreign })
			for _, v := range r.Violations(2026) {
				if v.Value == ssn || strings.Contains(v.Message, ssn) && ssn != "x" {
					t.Errorf("%+v", v)
				}
			}
		}
	}
}

// The groups of ITINs. Source: the tax authority's numbering of them.
func TestITIN(t *testing.T) {
	var got []int
	for group := range 100 {
		if isITIN(fmt.Sprintf("9%02d%02d1234", 12, group)) {
			got = append(got, group)
		}
	}
	var want []int
	for group := 50; group <= 99; group++ {
		if group <= 65 || group >= 70 && group != 89 && group != 93 {
			want = append(want, group)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if isITIN("812701234") {
		t.Error("an ITIN begins with 9")
	}
}

// The excluded keys and the SSN of a foreign party are not on the wire, and the key that
// must be there is.
func TestWireForm(t *testing.T) {
	e := applying(func(e *EINItem) { e.ResponsiblePartyIsForeign, e.ResponsiblePartySSN = true, "" }).Order.EIN
	body, err := json.Marshal(forming(func(r *Request, _ *FormationItem) { r.Order.EIN = e }).Order)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{`"tradeName"`, `"formationDate"`, `"formationState"`, `"companyId"`, `Ssn"`} {
		if strings.Contains(string(body), key) {
			t.Errorf("%s is in %s", key, body)
		}
	}
	if !strings.Contains(string(body), `"firstWagesDate":null`) {
		t.Errorf("%s", body)
	}
}
