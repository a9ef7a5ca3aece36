package importer

import (
	"strings"

	"bulkfiling/internal/filing"
)

// draft is the order of one row with room for all its parts, so that a row
// that is only checked costs no allocation.
type draft struct {
	request filing.Request
	report  filing.AnnualReportItem
	ordered filing.RegisteredAgentItem
	agent   filing.Agent
}

func (d *draft) reset() { *d = draft{} }

// builders make the order of a row from its values, one for each product that
// can be placed from a sheet. A reason is returned where the row does not ask
// for the product.
var builders = map[filing.Product]func(*checker, *draft) (skip string){
	filing.AnnualReport:    (*checker).annualReport,
	filing.AgentChange:     (*checker).agentOrder,
	filing.RegisteredAgent: (*checker).agentOrder,
}

// parties sets what every order has. Source: spec section 4, rule 1.
func (c *checker) parties(d *draft) {
	v := c.values
	r := &d.request
	r.User = filing.UserRef{ID: v[userID], Email: v[userEmail], Name: v[userName], Phone: v[userPhone]}
	if r.User.Email == "" && strings.Contains(r.User.ID, "@") {
		r.User.ID, r.User.Email = "", r.User.ID
	}
	r.Company.Ref = v[companyID]
	r.Company.Sheet.LegalName = v[legalName]
	r.Order.FilingState = filing.State(v[filingState])
}

// annualReport. Source: spec section 4, rule 9.
func (c *checker) annualReport(d *draft) string {
	v := c.values
	if v[orderAnnualReport] == no {
		return "no annual report is asked for in this row"
	}
	c.parties(d)
	r := &d.request
	r.Product = filing.AnnualReport
	r.Company.Sheet.EntityType = filing.EntityType(v[entityType])
	r.Company.Sheet.FormationState = filing.State(v[formationState])
	r.Company.Sheet.FormationDate = v[formationDate]
	d.report.FilingYear = v[filingYear]
	r.Order.AnnualReport = &d.report
	if c.orderAgent(d) {
		c.warnOfSuppliedAgent()
	} else if c.supplyAgent(d) {
		d.report.RegisteredAgent = &d.agent
	} else {
		c.row.noAgent = true
	}
	return ""
}

// orderAgent puts the service's agent into the order where the row wants it.
func (c *checker) orderAgent(d *draft) bool {
	v := c.values
	if v[orderAgent] != yes {
		if v[changeOfAgent] == yes {
			c.fault(c.at(changeOfAgent), yes, "a change of agent is asked for, but no agent is ordered: say yes under Order Registered Agent, or clear this cell")
		}
		return false
	}
	d.ordered.IsChangeOfAgent = v[changeOfAgent] == yes
	d.request.Order.RegisteredAgent = &d.ordered
	return true
}

// supplies finds the first cell that supplies an agent.
func (c *checker) supplies() *binding {
	agent := c.im.plan.agent
	for i := range agent {
		if b := &agent[i]; b.index < len(c.row.Cells) {
			if text := c.row.Cells[b.index].Text; text != "" && !isEmptyWord(text) {
				return b
			}
		}
	}
	return nil
}

// warnOfSuppliedAgent: the agent that is ordered takes the place of the one in
// the sheet, which the user may not expect.
func (c *checker) warnOfSuppliedAgent() {
	if b := c.supplies(); b != nil {
		c.warn(b, c.stands(b), "annual-report.one-agent", "the service's own agent is ordered, so the agent given here is not sent: say no under Order Registered Agent to keep it")
	}
}

// supplyAgent reads the agent that the row supplies, if it supplies one. Its
// type follows from its names where it is not given.
func (c *checker) supplyAgent(d *draft) bool {
	if c.supplies() == nil {
		return false
	}
	agent := c.im.plan.agent
	for i := range agent {
		if b := &agent[i]; b.index < len(c.row.Cells) {
			c.values[b.id] = c.read(b, c.row.Cells[b.index])
		}
	}
	v := c.values
	for _, id := range []columnID{agentCompanyName, agentFirstName, agentLastName} {
		if isEmptyWord(v[id]) {
			v[id] = ""
		}
	}
	d.agent = filing.Agent{
		Type: filing.AgentType(v[agentType]), CompanyName: v[agentCompanyName], FirstName: v[agentFirstName], LastName: v[agentLastName],
		Street: v[agentStreet], City: v[agentCity], State: filing.State(v[agentState]), ZIP: v[agentZIP],
	}
	person := d.agent.FirstName != "" || d.agent.LastName != ""
	company := d.agent.CompanyName != ""
	if d.agent.Type == "" && !c.isBroken(agentType) && person != company {
		d.agent.Type = filing.Person
		if company {
			d.agent.Type = filing.CompanyParty
		}
	}
	return true
}

// agentOrder is an order of the service's agent alone, new or by a change.
// Source: spec section 4, rule 8.
func (c *checker) agentOrder(d *draft) string {
	v := c.values
	if b := c.im.plan.binding(orderAgent); b != nil && !c.isBroken(orderAgent) && v[orderAgent] != yes {
		return "no registered agent is ordered in this row: " + b.header + " is not yes"
	}
	c.parties(d)
	d.ordered.IsChangeOfAgent = c.isChange()
	d.request.Order.RegisteredAgent = &d.ordered
	d.request.Product = filing.RegisteredAgent
	if d.ordered.IsChangeOfAgent {
		d.request.Product = filing.AgentChange
	}
	return ""
}

// isChange tells a change of agent from a first appointment: by the row's own
// word, which must agree with the product where one was named.
func (c *checker) isChange() bool {
	change := c.im.plan.product == filing.AgentChange
	b := c.im.plan.binding(changeOfAgent)
	if b == nil || c.isBroken(changeOfAgent) {
		return change
	}
	switch said := c.values[changeOfAgent]; {
	case said == "" && c.im.told:
		c.fault(b, "", "it is not said whether the agent is changed: say yes to replace the agent on record, or no for a first appointment")
	case said == "":
	case c.im.told:
		return said == yes
	case said == yes && !change:
		c.fault(b, c.stands(b), "the row asks for a change of agent, but the product is registered-agent: leave --product out to take every row at its word")
	case said == no && change:
		c.fault(b, c.stands(b), "the row asks for no change of agent, but the product is agent-change: leave --product out to take every row at its word")
	}
	return change
}
