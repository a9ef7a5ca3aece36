package sandbox

import (
	"net/http"
	"time"
)

// orderRequest is the body of POST /orders.
// Source: spec section 2, order request body.
type orderRequest struct {
	userID, companyID, state string
	formation                *formationPart
	ein                      *einPart
	agent                    *agentPart
	report                   *reportPart
	foreign                  *foreignPart
}

type formationPart struct {
	company      Company
	officers     []officer
	alternatives []string
	expedited    bool
	// agentState is the state of the supplied agent. It is empty if none is supplied.
	agentState string
}

type einPart struct {
	w2         bool
	employees  int64
	firstWages string
}

type agentPart struct{ change bool }

type reportPart struct{ year, agentState string }

type foreignPart struct{ agentState string }

func readOrder(o *object) *orderRequest {
	req := &orderRequest{}
	o.rule = "4.1"
	req.userID = o.text("userId")
	o.matches("userId", req.userID, userID, "a user id (user_…)")
	req.state = o.text("filingState")
	o.isState("filingState", req.state)
	if o.has("companyId") {
		req.companyID = o.text("companyId")
		o.matches("companyId", req.companyID, companyID, "a company id (comp_…)")
	}
	o.rule = "2 shape"
	if f := o.child("formation", false); f != nil {
		req.formation = readFormation(f)
	}
	if e := o.child("ein", false); e != nil {
		req.ein = readEIN(e)
	}
	if a := o.child("registeredAgent", false); a != nil {
		a.rule = "4.8"
		req.agent = &agentPart{change: a.flag("isChangeOfAgent")}
		// The service's own address is never supplied.
		a.done()
	}
	if r := o.child("annualReport", false); r != nil {
		r.rule = "4.9"
		req.report = &reportPart{year: r.text("filingYear")}
		r.matches("filingYear", req.report.year, year, "a year of four digits")
		req.report.agentState = readSupplied(r)
		r.done()
	}
	if o.has("foreignQualification") {
		req.foreign = readForeign(o)
	}
	o.done()
	return req
}

func readForeign(o *object) *foreignPart {
	if v, ok := o.fields["foreignQualification"].(bool); ok {
		o.read = append(o.read, "foreignQualification")
		if !v {
			o.failAs("4.10", "foreignQualification", "is true, an object, or left out; not false")
		}
		return &foreignPart{}
	}
	f := o.child("foreignQualification", true)
	if f == nil {
		return &foreignPart{}
	}
	f.rule = "4.10"
	if !f.has("registeredAgent") {
		f.fail("registeredAgent", "is required; without one, foreignQualification is true")
	}
	part := &foreignPart{readSupplied(f)}
	f.done()
	return part
}

func readFormation(o *object) *formationPart {
	part := &formationPart{}
	part.expedited, _ = o.maybeFlag("expedited")
	part.alternatives, _ = o.texts("alternativeNames")
	part.agentState = readSupplied(o)
	if c := o.child("company", true); c != nil {
		for _, name := range []string{"ein", "tradeName", "formationDate", "formationState"} {
			if c.has(name) {
				c.read = append(c.read, name)
				c.failAs("2 formation company", name, "is excluded from the company of a formation")
			}
		}
		part.company.LegalName = c.text("legalName")
		for _, name := range []string{"entityType", "principalAddress", "mailingAddress", "officers"} {
			if !c.has(name) {
				c.fail(name, "is required")
			}
		}
		readCompany(c, &part.company, "entityType", "structureType", "taxElection", "fiscalEndMonth",
			"principalAddress", "mailingAddress")
		if part.company.FiscalEndMonth == "" {
			part.company.FiscalEndMonth = "December"
		}
		if officers, given := c.objects("officers"); given {
			part.officers = readOfficers(officers)
		}
		c.done()
	}
	o.done()
	return part
}

// readSupplied reads the optional registeredAgent of a product and returns its state.
// Source: spec section 2, supplied registered agent.
func readSupplied(o *object) (state string) {
	a := o.child("registeredAgent", false)
	if a == nil {
		return ""
	}
	readParty(a)
	for _, name := range []string{"addressStreet", "addressCity", "addressZip"} {
		a.text(name)
	}
	state = a.text("addressState")
	a.isState("addressState", state)
	a.done()
	return state
}

var applicationReasons = []string{"Started a new business", "Hired employee(s)", "Banking purposes",
	"Changed type of organization", "Purchased active business"}

// readEIN reads the ein object, whose shape is order rule 7. The spec does not show the set of
// business categories, so any is accepted.
func readEIN(o *object) *einPart {
	o.rule = "4.7"
	part := &einPart{}
	for _, name := range []string{"businessCategory", "businessPurpose", "responsiblePartyFirstName",
		"responsiblePartyLastName", "responsiblePartyTitle"} {
		o.text(name)
	}
	o.oneOf("applicationReason", o.text("applicationReason"), applicationReasons)
	for _, name := range []string{"vehicle55kPounds", "gamblingWagering", "fileForm720", "alcoholTobaccoFirearms",
		"fileForm944"} {
		o.flag(name)
	}
	part.w2 = o.flag("isW2Expected")
	part.employees = o.count("agricultureEmployeesCount") + o.count("otherEmployeesCount")
	if v, given := o.fields["firstWagesDate"]; given && v == nil {
		o.read = append(o.read, "firstWagesDate")
	} else {
		part.firstWages = o.text("firstWagesDate")
		o.isDate("firstWagesDate", part.firstWages)
	}
	foreign, _ := o.maybeFlag("responsiblePartyIsForeign")
	phone := o.text("responsiblePartyPhoneNumber")
	if foreign {
		o.read = append(o.read, "responsiblePartySsn")
		if o.has("responsiblePartySsn") {
			o.fail("responsiblePartySsn", "is omitted when the responsible party is foreign")
		}
		if phone != "" && !e164.MatchString(phone) && !tenDigits.MatchString(phone) {
			o.fail("responsiblePartyPhoneNumber", "must be in E.164 form")
		}
	} else {
		// The message does not repeat the value, because messages end up in logs.
		if ssn := o.text("responsiblePartySsn"); ssn != "" && !nineDigit.MatchString(ssn) {
			o.fail("responsiblePartySsn", "must be 9 digits without dashes")
		}
		if phone != "" && !usPhone.MatchString(phone) && !tenDigits.MatchString(phone) {
			o.fail("responsiblePartyPhoneNumber", "must be a US number, in E.164 form or of 10 digits")
		}
	}
	o.done()
	return part
}

// Order is one accepted POST /orders. The spec calls its Items orders.
type Order struct {
	// Number counts orders from 1, in the order of their placement.
	Number      int       `json:"number"`
	At          time.Time `json:"at"`
	UserID      string    `json:"userId"`
	CompanyID   string    `json:"companyId"`
	CompanyName string    `json:"companyName"`
	State       string    `json:"state"`
	Items       []Item    `json:"items"`
	Total       int64     `json:"totalCents"`
	// Fault is the fault of the answer.
	Fault string `json:"fault,omitempty"`
	// Renewal marks an order under a subscription, without a request.
	Renewal bool `json:"renewal,omitempty"`
	// Raw is the request as received. It may contain an SSN.
	Raw []byte `json:"-"`
}

// Item is one ordered product. Amounts are in cents.
type Item struct {
	ID string `json:"orderId"`
	// Product is formation, ein, registered_agent, annual_report or foreign_qualification.
	Product   string `json:"product"`
	CompanyID string `json:"companyId"`
	UserID    string `json:"userId"`
	State     string `json:"state"`
	// Year is set for an annual report.
	Year string `json:"year,omitempty"`
	// LegalName is set for a formation.
	LegalName string `json:"legalName,omitempty"`
	Change    bool   `json:"changeOfAgent,omitempty"`
	// BilledAs is a line of the price list. Empty if nothing is owed.
	BilledAs string `json:"billedAs,omitempty"`
	Price    int64  `json:"priceCents"`
	Fee      int64  `json:"stateFeeCents"`
	// Service is the charge of an expedited formation.
	Service int64 `json:"serviceChargeCents"`
	// Existing marks a service that was already active, so that nothing was bought.
	Existing     bool      `json:"existing"`
	At           time.Time `json:"at"`
	Status       string    `json:"filingStatus"`
	FilingDate   time.Time `json:"filingDate,omitzero"`
	Subscription string    `json:"subscriptionStatus,omitempty"`
	Exception    int       `json:"exceptionCode,omitempty"`
}

// Amount returns the cost of the item in cents.
func (i Item) Amount() int64 { return i.Price + i.Fee + i.Service }

// orderBook places and charges orders.
type orderBook struct {
	*core
	records *records
	prices  *priceList

	orders  []*Order
	balance int64
	charged int64
}

// createOrder places an order completely or not at all. It checks shape, rules, conflicts and
// balance before it records the order.
func (b *orderBook) createOrder(c *call) (any, error) {
	req := readOrder(c.body)
	if err := b.invalid(c.found); err != nil {
		return nil, err
	}
	if b.records.findUser(req.userID) == nil {
		return nil, refuse(http.StatusNotFound, "User not found")
	}
	var rec *company
	if req.companyID != "" {
		if rec = b.records.findCompany(req.companyID); rec == nil {
			return nil, refuse(http.StatusNotFound, "Company not found")
		}
		b.records.setAutoAgent(rec, req.state, req.agent != nil)
	}
	if err := b.invalid(brokenRules(req, rec)); err != nil {
		return nil, err
	}
	if err := conflict(req, rec); err != nil {
		return nil, err
	}
	items := b.billItems(req, rec)
	total := sum(items)
	if total > b.balance && total > 0 {
		return nil, refuse(http.StatusPaymentRequired, "Insufficient balance")
	}
	if rec == nil {
		formed := req.formation.company
		formed.UserID, formed.FormationState = req.userID, req.state
		rec = b.records.addCompany(formed)
	}
	c.order = b.recordOrder(req, rec, items, total, c.raw)
	return b.answerOf(c.order), nil
}

// conflict returns the idempotent 409, or nil if the order does not conflict.
// Source: spec section 7.
func conflict(req *orderRequest, rec *company) error {
	switch {
	case rec == nil:
		return nil
	case req.ein != nil && rec.EIN != "":
		return refuse(http.StatusConflict, "EIN already exists for this company")
	case req.ein != nil && rec.EINRequested:
		return refuse(http.StatusConflict, "EIN already requested for this company")
	case req.foreign != nil && rec.qualified[req.state]:
		return refuse(http.StatusConflict, "Foreign qualification already purchased for this state")
	}
	return nil
}

// recordOrder records an order that passed all checks, charges it and updates the company.
func (b *orderBook) recordOrder(req *orderRequest, rec *company, items []Item, total int64, raw []byte) *Order {
	now := b.cfg.Now()
	o := &Order{
		Number:      len(b.orders) + 1,
		At:          now,
		UserID:      req.userID,
		CompanyID:   rec.ID,
		CompanyName: rec.LegalName,
		State:       req.state,
		Items:       items,
		Total:       total,
		Raw:         raw,
	}
	for i := range items {
		item := &items[i]
		if item.Existing {
			continue
		}
		item.ID, item.At, item.Status = b.id("order"), now, submitted
		item.CompanyID, item.UserID, item.State = rec.ID, req.userID, req.state
		b.records.items[item.ID] = item
		switch item.Product {
		case ein:
			rec.EINRequested = true
		case registeredAgent:
			item.Subscription = "active"
			rec.service[req.state] = item
			rec.Agents[req.state] = ActiveService
		case annualReport:
			item.Subscription = "active"
		case foreignQualification:
			rec.qualified[req.state] = true
		}
		b.charge(item.Amount())
	}
	if req.suppliesAgent() && rec.Agents[req.state] == "" {
		rec.Agents[req.state] = OtherAgent
	}
	b.orders = append(b.orders, o)
	return o
}

func (req *orderRequest) suppliesAgent() bool {
	return req.formation != nil && req.formation.agentState != "" ||
		req.report != nil && req.report.agentState != "" || req.foreign != nil && req.foreign.agentState != ""
}

// answerOf returns the answer to an order.
func (b *orderBook) answerOf(o *Order) any {
	items := make([]map[string]any, len(o.Items))
	for i, item := range o.Items {
		items[i] = map[string]any{
			"orderType":          b.cfg.OrderTypes.write(item.Product),
			"orderId":            item.ID,
			"createdAt":          stamp(item.At),
			"filingDate":         stamp(item.FilingDate),
			"filingStatus":       item.Status,
			"subscriptionStatus": nil,
		}
		if item.Subscription != "" {
			items[i]["subscriptionStatus"] = item.Subscription
		}
	}
	if b.cfg.ShuffleItems {
		b.rand.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	}
	return map[string]any{"companyId": o.CompanyID, "items": items}
}
