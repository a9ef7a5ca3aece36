package importer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// draft is the order of a row, with space for the parts that most rows have. Such a row needs no
// allocation.
type draft struct {
	request       filing.Request
	report        filing.AnnualReportItem
	ordered       filing.RegisteredAgentItem
	qualification filing.QualificationItem
	agent         filing.Agent
}

// orderReader makes the order of a row from its values.
type orderReader struct {
	*cellReader
	// run is how a schedule's run files the row.
	run RunRow
	// officers are the first columns of the officers of the row's request.
	officers []columnID
	// dues has due dates by the facts that determine them, and the year.
	dues map[[6]string]knownDue
}

// orders reports whether the row orders a product. It does so by a yes in the product's column. If
// the sheet is of this product and has no such column, every row orders it.
func (c *orderReader) orders(p filing.Product) bool {
	if flag, ok := flags[p]; ok {
		if b := c.im.mapping.binding(flag); b != nil {
			main := c.im.mapping.product == p ||
				slices.Contains(agentOrders, p) && slices.Contains(agentOrders, c.im.mapping.product)
			return c.values[flag] == yes || main && c.isFaulty(flag)
		}
	}
	return c.im.mapping.product == p
}

// build makes the order of the row from its values, with the product of the sheet and the other
// products of the row. It returns a reason to skip the row if the row orders nothing.
func (c *orderReader) build(d *draft) (skip string) {
	main := c.im.mapping.product
	ordered := c.orders(main)
	if agentMain := slices.Contains(agentOrders, main); ordered && agentMain ||
		!agentMain && c.values[orderAgent] == yes {
		d.request.Order.RegisteredAgent = &d.ordered
	}
	forms, reports, qualifies, ein := main == filing.Formation, c.orders(
		filing.AnnualReport), c.orders(filing.ForeignQualification), c.orders(filing.EIN)
	r := &d.request
	if !forms && !reports && !qualifies && !ein && r.Order.RegisteredAgent == nil {
		return fmt.Sprintf("no %s is ordered in this row: %s is not yes", main.Title(), c.bindingAt(flags[main]).header)
	}
	c.setParties(d, reports || qualifies)
	r.Product = main
	if forms {
		r.Order.Formation = c.readFormation()
	}
	if reports {
		c.readPart(ofReport)
		c.fillYear()
		d.report.FilingYear = c.values[filingYear]
		r.Order.AnnualReport = &d.report
	}
	if qualifies {
		r.Order.ForeignQualification = &d.qualification
	}
	if ein {
		r.Order.EIN = c.readEIN()
	} else if forms && c.values[orderEIN] == "" && !c.isFaulty(orderEIN) {
		if b := c.filled(ofEIN); b != nil {
			c.addWarning(b, c.textOf(b), "ein.order",
				"the row has EIN details but does not order an EIN: enter yes under Order EIN to order it")
		}
	}
	c.setAgent(d)
	if !ordered && !slices.Contains(agentOrders, main) ||
		r.Order.RegisteredAgent == nil && slices.Contains(agentOrders, main) {
		r.Product = r.Order.Products()[0]
	}
	return ""
}

// setParties sets the fields that every order has, and the facts of the company on which some
// orders depend. Source: spec section 4, rules 1, 9 and 10.
func (c *orderReader) setParties(d *draft, needsFacts bool) {
	v := c.values
	r := &d.request
	r.User = filing.UserRef{ID: v[userID], Email: v[userEmail], Name: v[userName], Phone: v[userPhone]}
	if r.User.Email == "" && strings.Contains(r.User.ID, "@") {
		r.User.ID, r.User.Email = "", r.User.ID
	}
	r.Order.FilingState = filing.State(v[filingState])
	known := &r.Company.Sheet
	switch {
	case c.im.mapping.product == filing.Formation:
		// Any other value is a number of the user's.
		if filing.IsCompanyID(v[companyID]) {
			r.Company.Ref = v[companyID]
		}
	case c.isNew:
		c.readPart(ofCompany)
		c.setCompany(known)
		known.FormationDate = v[formationDate]
		known.FormationState = filing.State(v[formationState])
		c.row.createsCompany = true
	default:
		r.Company.Ref = v[companyID]
		r.Company.Confirmed = v[confirmedName]
		known.LegalName = v[legalName]
		if needsFacts {
			c.readFacts()
			known.EntityType = filing.EntityType(v[entityType])
			known.FormationState = filing.State(v[formationState])
			known.FormationDate = v[formationDate]
			known.FiscalEndMonth = c.readFiscalEnd()
		}
	}
	if slices.Contains(ein, c.im.mapping.product) && r.Order.FilingState == "" && !c.isFaulty(filingState) {
		r.Order.FilingState = filing.State(v[formationState])
	}
}

// readFacts reads the facts of an existing company that the main product does not need. Another
// product of the row may need them.
func (c *orderReader) readFacts() {
	for _, id := range []columnID{entityType, formationState, formationDate} {
		if b := c.im.mapping.binding(id); b != nil && c.im.mapping.partOf(b.column) == ofCompany {
			c.values[id] = c.readCell(b, cellIn(c.row.Cells, b.index))
		}
	}
}

// readFiscalEnd returns the month in which an existing company's fiscal year ends, if the row has
// it. It is not part of the order, but a due date may depend on it.
func (c *orderReader) readFiscalEnd() string {
	b := c.bindingAt(fiscalEndMonth)
	cell := cellIn(c.row.Cells, b.index)
	if cell.Kind == sheet.Blank {
		return ""
	}
	month, ok := b.choose(cell.Text)
	if !ok {
		month, _ = monthOf(cell, cell.Text)
	}
	return month
}

// setCompany sets the facts in the row about a company to create.
func (c *orderReader) setCompany(company *filing.Company) {
	v := c.values
	company.LegalName = v[legalName]
	company.EntityType = filing.EntityType(v[entityType])
	company.StructureType, company.TaxElection, company.FiscalEndMonth = v[structureType], v[taxElection],
		v[fiscalEndMonth]
	company.PrincipalAddress = readAddress(v[principalLine1:])
	company.MailingAddress = readAddress(v[mailingLine1:])
	company.Officers = c.readOfficers()
}

// readAddress makes an address from the values of its first six columns. The country of an address in a
// US state is US.
func readAddress(values []string) *filing.Address {
	a := filing.Address{
		Line1:      values[0],
		Line2:      values[1],
		City:       values[2],
		State:      values[3],
		PostalCode: values[4],
		Country:    values[5],
	}
	if a == (filing.Address{Country: a.Country}) {
		return nil
	}
	if a.Country == "" {
		if _, ok := filing.ParseUSPlace(a.State); ok {
			a.Country = "US"
		}
	}
	return &a
}

// readFormation makes the formation. Source: spec section 4, rules 2 to 6.
func (c *orderReader) readFormation() *filing.FormationItem {
	v := c.values
	f := &filing.FormationItem{Expedited: v[expedited] == yes}
	c.setCompany(&f.Company)
	if f.Company.MailingAddress == nil && f.Company.PrincipalAddress != nil {
		// Assumption: a formation needs a mailing address, because the spec does not mark it as
		// optional.
		mail := *f.Company.PrincipalAddress
		f.Company.MailingAddress = &mail
	}
	for name := range strings.SplitSeq(v[alternativeNames], ";") {
		if name = strings.TrimSpace(name); name != "" {
			f.AlternativeNames = append(f.AlternativeNames, name)
		}
	}
	if home := v[formationState]; home != "" && v[filingState] != "" && home != v[filingState] {
		b := c.bindingAt(formationState)
		c.addErrorUnder(b, c.textOf(b), "formation.state",
			"the cell says "+home+" but the filing state is "+v[filingState]+
				": a company is formed in its filing state, so correct one of them")
	}
	return f
}

// readEIN makes the EIN application. Source: spec section 4, rule 7.
func (c *orderReader) readEIN() *filing.EINItem {
	c.readPart(ofEIN)
	v := c.values
	answer := func(id columnID) bool {
		if v[id] == "" && !c.isFaulty(id) {
			c.addError(c.bindingAt(id), "", columns[id].header+
				" is not answered: enter yes or no, because the IRS asks this question")
		}
		return v[id] == yes
	}
	// Assumption: a blank count is 0, because the spec does not show the meaning of a missing
	// count.
	number := func(id columnID) int {
		n, _ := strconv.Atoi(v[id])
		return n
	}
	e := &filing.EINItem{
		BusinessCategory:            v[businessCategory],
		BusinessPurpose:             v[businessPurpose],
		ApplicationReason:           v[applicationReason],
		Vehicle55kPounds:            answer(vehicle55kPounds),
		GamblingWagering:            answer(gamblingWagering),
		FileForm720:                 answer(fileForm720),
		AlcoholTobaccoFirearms:      answer(alcoholTobaccoFirearms),
		FileForm944:                 answer(fileForm944),
		IsW2Expected:                answer(w2Expected),
		AgricultureEmployeesCount:   number(agricultureEmployees),
		OtherEmployeesCount:         number(otherEmployees),
		ResponsiblePartyFirstName:   v[partyFirstName],
		ResponsiblePartyLastName:    v[partyLastName],
		ResponsiblePartyTitle:       v[partyTitle],
		ResponsiblePartySSN:         v[partySSN],
		ResponsiblePartyPhoneNumber: v[partyPhone],
		ResponsiblePartyIsForeign:   v[partyIsForeign] == yes,
	}
	if date := v[firstWagesDate]; date != "" {
		e.FirstWagesDate = &date
	}
	return e
}

// setAgent sets the registered agent in every product that needs one. It is the filing service's
// agent if the row orders it, or the supplied agent.
func (c *orderReader) setAgent(d *draft) {
	o := &d.request.Order
	c.refuseOtherAgent(o)
	switch {
	case o.RegisteredAgent != nil && slices.Contains(agentOrders, c.im.mapping.product):
		d.ordered.IsChangeOfAgent = c.isChange()
		d.request.Product = filing.RegisteredAgent
		if d.ordered.IsChangeOfAgent {
			d.request.Product = filing.AgentChange
		}
	case o.RegisteredAgent != nil:
		d.ordered.IsChangeOfAgent = c.values[changeOfAgent] == yes
	case c.values[changeOfAgent] == yes:
		c.addError(c.bindingAt(changeOfAgent), yes,
			"a change of agent is requested, but no agent is ordered: enter yes under Order Registered Agent, or "+
				"clear this cell")
	}
	if o.Formation == nil && o.AnnualReport == nil && o.ForeignQualification == nil {
		return
	}
	if !c.readAgent(d) {
		c.row.noAgent = o.RegisteredAgent == nil
		return
	}
	switch {
	case o.Formation != nil:
		o.Formation.RegisteredAgent = &d.agent
	case o.ForeignQualification != nil:
		o.ForeignQualification.RegisteredAgent = &d.agent
	}
	if o.AnnualReport != nil {
		o.AnnualReport.RegisteredAgent = &d.agent
	}
}

// refuseOtherAgent adds an error if a row orders the filing service's agent and names another
// agent. The order would appoint the service's agent. Source: spec section 4, rule 8.
func (c *orderReader) refuseOtherAgent(o *filing.Order) {
	change := c.values[changeOfAgent] == yes
	if o.RegisteredAgent == nil || !change && !slices.Contains(agentOrders, c.im.mapping.product) {
		return
	}
	for i := range c.im.mapping.otherAgent {
		b := &c.im.mapping.otherAgent[i]
		text := c.textOf(b)
		if isEmptyWord(text) {
			continue
		}
		c.addErrorUnder(b, text, "registered-agent.other",
			fmt.Sprintf(
				"%q cannot be appointed through the filing service: this order appoints the filing service's own "+
					"agent. Clear the cell to appoint that agent, or remove the row and change the agent elsewhere",
				text))
		return
	}
}

// isChange reports whether the row changes the agent. If not, it appoints the first agent. The
// value in the row decides. It must agree with the product, if one was given.
func (c *orderReader) isChange() bool {
	change := c.im.mapping.product == filing.AgentChange
	b := c.im.mapping.binding(changeOfAgent)
	if b == nil || c.isFaulty(changeOfAgent) {
		return change
	}
	switch said := c.values[changeOfAgent]; {
	case said == "" && c.im.detected:
		c.addError(b, "", "the cell is blank: enter yes to replace the agent on record, or no for a first appointment")
	case said == "":
	case c.im.detected:
		return said == yes
	case said == yes && !change:
		c.addError(b, c.textOf(b), "the row requests a change of agent, but the product is registered-agent: "+
			c.im.options.remedyText(detectProduct)+" to let each row decide")
	case said == no && change:
		c.addError(b, c.textOf(b), "the row does not request a change of agent, but the product is agent-change: "+
			c.im.options.remedyText(detectProduct)+" to let each row decide")
	}
	return change
}
