package sandbox

const expeditedRefused = "Expedited formation is not available for the selected state and entity type"

// expeditedFees are in cents.
// Source: spec section 4, order rule 6.
var expeditedFees = map[string]int64{
	"AZ": 85_00, "DE": 185_00, "FL": 195_00, "NV": 550_00, "NY": 205_00, "WY": 103_75,
}

// brokenRules returns every order rule of section 4 that an order breaks and that goes beyond the
// shape of a field. rec is nil if the order names no company.
func brokenRules(req *orderRequest, rec *company) problems {
	var found problems
	if req.formation == nil && req.ein == nil && req.agent == nil && req.report == nil && req.foreign == nil {
		found.add("4.1", "The order names no product")
	}
	switch {
	case req.formation != nil && req.companyID != "":
		found.add("4.1", "companyId is omitted for a formation: the company does not exist yet")
	case req.formation == nil && req.foreign == nil && req.companyID == "":
		found.add("4.1", "companyId is required for an order on an existing company")
	}
	if req.formation != nil {
		req.formation.check(req, &found)
	}
	if e := req.ein; e != nil && e.w2 {
		switch {
		case e.employees < 1:
			found.add("4.7", "ein: the employee counts must sum to at least 1 when isW2Expected is true")
		case e.firstWages == "":
			found.add("4.7", "ein.firstWagesDate is required when isW2Expected is true")
		}
	}
	if req.report != nil {
		req.report.check(req, rec, &found)
	}
	if req.foreign != nil {
		req.foreign.check(req, rec, &found)
	}
	return found
}

func (c *company) lacksFacts() bool {
	return c != nil && (c.EntityType == "" || c.FormationState == "")
}

// check adds the order rules that an annual report breaks.
func (r *reportPart) check(req *orderRequest, rec *company, found *problems) {
	if r.agentState != "" && r.agentState != req.state {
		found.add("4.9", "annualReport.registeredAgent.addressState must equal filingState")
	}
	if rec.lacksFacts() {
		found.add("4.9", "An annual report needs the company's entityType and formationState")
	}
	onRecord := rec != nil && rec.Agents[req.state] == ActiveService
	formed := req.formation != nil && req.formation.agentState != ""
	if r.agentState == "" && req.agent == nil && !onRecord && !formed {
		found.addHidden("4.9", "An annual report needs a registered agent on record in the filing state")
	}
}

// check adds the order rules that a foreign qualification breaks.
func (f *foreignPart) check(req *orderRequest, rec *company, found *problems) {
	switch {
	case req.formation != nil:
		found.add("4.10", "foreignQualification cannot be combined with formation")
	case req.companyID == "":
		found.add("4.10", "foreignQualification requires companyId")
	}
	if f.agentState != "" && f.agentState != req.state {
		found.add("4.10", "foreignQualification.registeredAgent.addressState must equal filingState")
	}
	if rec.lacksFacts() {
		found.add("4.10", "A foreign qualification needs the company's entityType and formationState")
	}
	if rec != nil && f.agentState == "" && req.agent == nil && rec.Agents[req.state] == "" {
		found.addHidden("4.10", "A foreign qualification needs a registered agent in the qualifying state")
	}
}

// check adds the order rules that a formation breaks.
func (f *formationPart) check(req *orderRequest, found *problems) {
	checkOfficers("4.3", f.company.EntityType, f.officers, found)
	switch c := f.company; {
	case c.EntityType == "LLC" && c.StructureType == "":
		found.add("4.2", "formation.company.structureType is required for an LLC")
	case c.EntityType == "LLC" && c.TaxElection != "":
		found.add("4.2", "formation.company.taxElection is for a CORP")
	case c.EntityType == "CORP" && c.TaxElection == "":
		found.add("4.2", "formation.company.taxElection is required for a CORP")
	case c.EntityType == "CORP" && c.StructureType != "":
		found.add("4.2", "formation.company.structureType is for an LLC")
	}
	switch {
	case f.agentState == "" && req.agent == nil:
		found.add("4.4", "A formation needs a registered agent: order registeredAgent or supply "+
			"formation.registeredAgent")
	case f.agentState != "" && req.agent != nil:
		found.add("4.4", "A formation takes either registeredAgent or formation.registeredAgent, not both")
	case f.agentState != "" && f.agentState != req.state:
		found.add("4.4", "formation.registeredAgent.addressState must equal filingState")
	}
	if len(f.alternatives) > 10 {
		found.add("4.5", "formation.alternativeNames has more than 10 names")
	}
	if _, offered := expeditedFees[req.state]; f.expedited && (!offered || f.company.EntityType != "LLC") {
		found.add("4.6", expeditedRefused)
	}
	if req.agent != nil && req.agent.change {
		found.add("4.8", "registeredAgent.isChangeOfAgent must be false with a formation: the appointment is always "+
			"new")
	}
}
