package sandbox

// orderRule is an order rule of section 4 that goes beyond the shape of a field. broken returns the
// problem, or "". rec is nil if the order names no company.
type orderRule struct {
	name string
	// hidden marks a rule about records that no endpoint shows.
	hidden bool
	broken func(req *orderRequest, rec *company) string
}

const expeditedRefused = "Expedited formation is not available for the selected state and entity type"

// expeditedFees are in cents.
// Source: spec section 4, order rule 6.
var expeditedFees = map[string]int64{
	"AZ": 85_00, "DE": 185_00, "FL": 195_00, "NV": 550_00, "NY": 205_00, "WY": 103_75,
}

var orderRules = []orderRule{
	{name: "4.1", broken: func(req *orderRequest, _ *company) string {
		if req.formation == nil && req.ein == nil && req.agent == nil && req.report == nil && req.foreign == nil {
			return "The order names no product"
		}
		return ""
	}},
	{name: "4.1", broken: func(req *orderRequest, _ *company) string {
		switch {
		case req.formation != nil && req.companyID != "":
			return "companyId is omitted for a formation: the company does not exist yet"
		case req.formation == nil && req.foreign == nil && req.companyID == "":
			return "companyId is required for an order on an existing company"
		}
		return ""
	}},
	{name: "4.2", broken: func(req *orderRequest, _ *company) string {
		if req.formation == nil {
			return ""
		}
		switch c := req.formation.company; {
		case c.EntityType == "LLC" && c.StructureType == "":
			return "formation.company.structureType is required for an LLC"
		case c.EntityType == "LLC" && c.TaxElection != "":
			return "formation.company.taxElection is for a CORP"
		case c.EntityType == "CORP" && c.TaxElection == "":
			return "formation.company.taxElection is required for a CORP"
		case c.EntityType == "CORP" && c.StructureType != "":
			return "formation.company.structureType is for an LLC"
		}
		return ""
	}},
	{name: "4.4", broken: func(req *orderRequest, _ *company) string {
		switch f := req.formation; {
		case f == nil:
		case f.supplied == nil && req.agent == nil:
			return "A formation needs a registered agent: order registeredAgent or supply formation.registeredAgent"
		case f.supplied != nil && req.agent != nil:
			return "A formation takes either registeredAgent or formation.registeredAgent, not both"
		case f.supplied != nil && f.supplied.state != req.state:
			return "formation.registeredAgent.addressState must equal filingState"
		}
		return ""
	}},
	{name: "4.5", broken: func(req *orderRequest, _ *company) string {
		if req.formation != nil && len(req.formation.alternatives) > 10 {
			return "formation.alternativeNames has more than 10 names"
		}
		return ""
	}},
	{name: "4.6", broken: func(req *orderRequest, _ *company) string {
		if f := req.formation; f != nil && f.expedited {
			if _, offered := expeditedFees[req.state]; !offered || f.company.EntityType != "LLC" {
				return expeditedRefused
			}
		}
		return ""
	}},
	{name: "4.7", broken: func(req *orderRequest, _ *company) string {
		switch e := req.ein; {
		case e == nil || !e.w2:
		case e.employees < 1:
			return "ein: the employee counts must sum to at least 1 when isW2Expected is true"
		case e.firstWages == "":
			return "ein.firstWagesDate is required when isW2Expected is true"
		}
		return ""
	}},
	{name: "4.8", broken: func(req *orderRequest, _ *company) string {
		if req.formation != nil && req.agent != nil && req.agent.change {
			return "registeredAgent.isChangeOfAgent must be false with a formation: the appointment is always new"
		}
		return ""
	}},
	{name: "4.9", broken: func(req *orderRequest, _ *company) string {
		if r := req.report; r != nil && r.supplied != nil && r.supplied.state != req.state {
			return "annualReport.registeredAgent.addressState must equal filingState"
		}
		return ""
	}},
	{name: "4.9", broken: func(req *orderRequest, rec *company) string {
		if req.report != nil && rec != nil && (rec.EntityType == "" || rec.FormationState == "") {
			return "An annual report needs the company's entityType and formationState"
		}
		return ""
	}},
	{name: "4.9", hidden: true, broken: func(req *orderRequest, rec *company) string {
		if req.report == nil || req.report.supplied != nil || req.agent != nil ||
			rec != nil && rec.Agents[req.state] == ActiveService ||
			req.formation != nil && req.formation.supplied != nil {
			return ""
		}
		return "An annual report needs a registered agent on record in the filing state"
	}},
	{name: "4.10", broken: func(req *orderRequest, _ *company) string {
		switch {
		case req.foreign == nil:
		case req.formation != nil:
			return "foreignQualification cannot be combined with formation"
		case req.companyID == "":
			return "foreignQualification requires companyId"
		}
		return ""
	}},
	{name: "4.10", broken: func(req *orderRequest, _ *company) string {
		if f := req.foreign; f != nil && f.supplied != nil && f.supplied.state != req.state {
			return "foreignQualification.registeredAgent.addressState must equal filingState"
		}
		return ""
	}},
	{name: "4.10", broken: func(req *orderRequest, rec *company) string {
		if req.foreign != nil && rec != nil && (rec.EntityType == "" || rec.FormationState == "") {
			return "A foreign qualification needs the company's entityType and formationState"
		}
		return ""
	}},
	{name: "4.10", hidden: true, broken: func(req *orderRequest, rec *company) string {
		if req.foreign == nil || rec == nil || req.foreign.supplied != nil || req.agent != nil ||
			rec.Agents[req.state] != "" {
			return ""
		}
		return "A foreign qualification needs a registered agent in the qualifying state"
	}},
}

// brokenRules returns every rule that an order breaks. Order rule 3 has a separate list for
// officers.
func brokenRules(req *orderRequest, rec *company) problems {
	var found problems
	if f := req.formation; f != nil {
		checkOfficers("4.3", f.company.EntityType, f.officers, &found)
	}
	for _, rule := range orderRules {
		if message := rule.broken(req, rec); message != "" {
			found = append(found, problem{rule.name, message, rule.hidden})
		}
	}
	return found
}
