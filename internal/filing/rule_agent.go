package filing

import "strings"

// bothAgents is the message for an order that has two agents for one state.
const bothAgents = "the row both orders a registered agent and supplies one: keep only one of them"

// checkSupplied checks the agents that the customer supplies. An agent that several products of the
// order share is checked once.
func (o *Order) checkSupplied(vs *violations) {
	var first *Agent
	check := func(a *Agent, path string) {
		if a == nil || first != nil && *a == *first {
			return
		}
		if first == nil {
			first = a
		}
		a.check(vs, path, o.FilingState)
	}
	if o.Formation != nil {
		check(o.Formation.RegisteredAgent, "formation.registeredAgent.")
	}
	if o.AnnualReport != nil {
		check(o.AnnualReport.RegisteredAgent, "annualReport.registeredAgent.")
	}
	if o.ForeignQualification != nil {
		check(o.ForeignQualification.RegisteredAgent, "foreignQualification.registeredAgent.")
	}
}

// check checks a supplied agent. Its state must be the filing state. Source: spec section 2
// (Supplied registered agent) and section 4, rules 4, 9 and 10.
func (a *Agent) check(vs *violations, path string, filingState State) {
	add := vs.of("agent.", path)
	missing := func(field, column string) { add(field, "", "%s is missing: a supplied agent requires it", column) }
	switch a.Type {
	case Person:
		if a.FirstName == "" {
			missing("firstName", "Agent First Name")
		}
		if a.LastName == "" {
			missing("lastName", "Agent Last Name")
		}
		if a.CompanyName != "" {
			add("companyName", a.CompanyName,
				"an agent of type PERSON cannot have a company name: clear it, or set Agent Type to COMPANY")
		}
	case CompanyParty:
		if a.CompanyName == "" {
			missing("companyName", "Agent Company Name")
		}
		if a.FirstName != "" || a.LastName != "" {
			add("firstName", strings.TrimSpace(a.FirstName+" "+a.LastName),
				"an agent of type COMPANY cannot have a first or last name: clear them, or set Agent Type to PERSON")
		}
	case "":
		missing("type", "Agent Type (PERSON or COMPANY)")
	default:
		add("type", string(a.Type), "the agent type is not valid: enter PERSON or COMPANY")
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
		add("addressState", string(a.State), "%q is not a US state: enter a two-letter code such as DE",
			string(a.State))
	case filingState.Known() && a.State != filingState:
		vs.add("agent.state-is-filing-state", path+"addressState", string(a.State),
			"the agent is in %s but the filing goes to %s: an agent must have its address in the filing state",
			a.State, filingState)
	}
	switch z := a.ZIP; {
	case z == "":
		missing("addressZip", "Agent ZIP")
	case !isZIP(z):
		checkZIP(vs, "agent.addressZip", path+"addressZip", z)
	}
}
