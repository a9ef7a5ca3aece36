package filing

import (
	"slices"
	"strings"
)

// statesThatExpedite are the states that can expedite the formation of an LLC.
// Source: spec section 4, rule 6.
var statesThatExpedite = []State{"AZ", "DE", "FL", "NV", "NY", "WY"}

// maxAlternativeNames limits the number of alternative names. Source: spec section 8.
const maxAlternativeNames = 10

// checkFormation checks a formation. Source: spec section 4, rules 2 to 6 and 8, and section 2, the
// formation's company and the keys that are excluded from it.
func (r *Request) checkFormation(vs *violations) {
	f := r.Order.Formation
	c := &f.Company
	const path = "formation.company."
	add := vs.of("company.", path)
	required := func(field, value, message string) {
		if value == "" {
			add(field, "", "%s", message)
		}
	}
	required("legalName", c.LegalName, "the legal name is missing: enter the full name of the company")
	required("entityType", string(c.EntityType), "the entity type is missing: enter LLC or CORP")
	switch c.EntityType {
	case LLC:
		required("structureType", c.StructureType,
			"the structure type is missing: enter MEMBER or MANAGER")
	case Corp:
		required("taxElection", c.TaxElection,
			"the tax election is missing: enter C Corporation or S Corporation")
	}
	if c.ID != "" || c.EIN != "" || c.FormationDate != "" || c.FormationState != "" {
		vs.add("formation.excluded", path+"legalName", c.LegalName,
			"a company that is being formed has no ID, EIN, formation date or formation state yet: clear them")
	}
	if c.PrincipalAddress == nil {
		add("principalAddress.line1", "",
			"the principal address is missing: enter at least Principal Line 1, Principal City and Principal State")
	}
	if c.MailingAddress == nil && c.PrincipalAddress != nil {
		add("mailingAddress.line1", "", "the mailing address is missing")
	}
	checkName(vs, path+"legalName", c.LegalName, c.EntityType)
	c.check(vs, path)
	if len(c.Officers) == 0 {
		vs.add("officer.required", path+"officers", "",
			"officers are missing: enter at least one in the Officer 1 columns")
	} else {
		checkOfficers(vs, path, c.EntityType, c.Officers)
	}
	f.checkAlternatives(vs)
	if f.Expedited && (c.EntityType == Corp ||
		c.EntityType == LLC && r.Order.FilingState.Known() &&
			!slices.Contains(statesThatExpedite, r.Order.FilingState)) {
		vs.add("formation.expedited", "formation.expedited", "yes",
			"expedited formation is not available for this state and entity type (only for LLCs in %s): clear the "+
				"cell for the standard filing", expeditedStates())
	}
	switch agent := r.Order.RegisteredAgent; {
	case agent == nil && f.RegisteredAgent == nil:
		vs.add("formation.agent", "formation.registeredAgent", "",
			"the registered agent is missing: enter yes under Order Registered Agent, or fill in the Agent columns")
	case agent != nil && f.RegisteredAgent != nil:
		vs.add("formation.one-agent", "formation.registeredAgent", "", bothAgents)
	case agent != nil && agent.IsChangeOfAgent:
		vs.add("formation.new-appointment", "registeredAgent.isChangeOfAgent", "yes",
			"a company that is being formed has no agent to change: enter no, or clear the cell")
	}
}

// checkAlternatives checks the alternative names. Source: spec section 4, rule 5.
func (f *FormationItem) checkAlternatives(vs *violations) {
	const field = "formation.alternativeNames"
	if n := len(f.AlternativeNames); n > maxAlternativeNames {
		vs.add(field, field, strings.Join(f.AlternativeNames, "; "),
			"there are %d alternative names, but the limit is %d: remove some", n, maxAlternativeNames)
	}
	seen := map[string]bool{FoldLegalName(f.Company.LegalName): true}
	for _, name := range f.AlternativeNames {
		folded := FoldLegalName(name)
		switch {
		case name == "":
			vs.add(field, field, "", "an alternative name is empty")
		case seen[folded]:
			vs.warn("formation.alternative-repeats", field, name,
				"the name %q is listed twice: remove one of them", name)
		}
		seen[folded] = true
		checkName(vs, field, name, f.Company.EntityType)
	}
}

func expeditedStates() string {
	names := make([]string, len(statesThatExpedite))
	for i, s := range statesThatExpedite {
		names[i] = s.Name()
	}
	return strings.Join(names, ", ")
}
