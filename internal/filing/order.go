package filing

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Order is the body of POST /orders. A formation has no CompanyID. Source: spec section 2, Order
// request body.
type Order struct {
	UserID               string               `json:"userId"`
	CompanyID            string               `json:"companyId,omitempty"`
	FilingState          State                `json:"filingState"`
	Formation            *FormationItem       `json:"formation,omitempty"`
	EIN                  *EINItem             `json:"ein,omitempty"`
	RegisteredAgent      *RegisteredAgentItem `json:"registeredAgent,omitempty"`
	AnnualReport         *AnnualReportItem    `json:"annualReport,omitempty"`
	ForeignQualification *QualificationItem   `json:"foreignQualification,omitempty"`
}

// RegisteredAgentItem orders the filing service's own agent.
type RegisteredAgentItem struct {
	IsChangeOfAgent bool `json:"isChangeOfAgent"`
}

// AnnualReportItem orders the report of one year.
type AnnualReportItem struct {
	FilingYear      string `json:"filingYear"` // four digits
	RegisteredAgent *Agent `json:"registeredAgent,omitempty"`
}

// QualificationItem orders a foreign qualification. It is encoded as true without a supplied agent.
type QualificationItem struct {
	RegisteredAgent *Agent `json:"registeredAgent,omitempty"`
}

// MarshalJSON writes true, or an object with the supplied agent.
func (q QualificationItem) MarshalJSON() ([]byte, error) {
	if q.RegisteredAgent == nil {
		return []byte("true"), nil
	}
	type object QualificationItem
	return json.Marshal(object(q))
}

// UnmarshalJSON reads both forms.
func (q *QualificationItem) UnmarshalJSON(b []byte) error {
	if string(b) == "true" {
		*q = QualificationItem{}
		return nil
	}
	type object QualificationItem
	return json.Unmarshal(b, (*object)(q))
}

// FormationItem orders the formation of a company.
type FormationItem struct {
	Expedited        bool     `json:"expedited"`
	Company          Company  `json:"company"`
	AlternativeNames []string `json:"alternativeNames,omitempty"`
	RegisteredAgent  *Agent   `json:"registeredAgent,omitempty"`
}

// EINItem orders an employer identification number.
type EINItem struct {
	BusinessCategory          string `json:"businessCategory"`
	BusinessPurpose           string `json:"businessPurpose"`
	ApplicationReason         string `json:"applicationReason"`
	Vehicle55kPounds          bool   `json:"vehicle55kPounds"`
	GamblingWagering          bool   `json:"gamblingWagering"`
	FileForm720               bool   `json:"fileForm720"`
	AlcoholTobaccoFirearms    bool   `json:"alcoholTobaccoFirearms"`
	FileForm944               bool   `json:"fileForm944"`
	IsW2Expected              bool   `json:"isW2Expected"`
	AgricultureEmployeesCount int    `json:"agricultureEmployeesCount"`
	OtherEmployeesCount       int    `json:"otherEmployeesCount"`
	// FirstWagesDate is sent as null if it is not set.
	FirstWagesDate            *string `json:"firstWagesDate"`
	ResponsiblePartyFirstName string  `json:"responsiblePartyFirstName"`
	ResponsiblePartyLastName  string  `json:"responsiblePartyLastName"`
	ResponsiblePartyTitle     string  `json:"responsiblePartyTitle"`
	// ResponsiblePartySSN is absent if the party is foreign.
	ResponsiblePartySSN         string `json:"responsiblePartySsn,omitempty"`
	ResponsiblePartyPhoneNumber string `json:"responsiblePartyPhoneNumber"`
	ResponsiblePartyIsForeign   bool   `json:"responsiblePartyIsForeign"`
}

// Products lists the items of the order, the main one first.
func (o *Order) Products() []Product {
	var p []Product
	if o.Formation != nil {
		p = append(p, Formation)
	}
	if o.AnnualReport != nil {
		p = append(p, AnnualReport)
	}
	if o.ForeignQualification != nil {
		p = append(p, ForeignQualification)
	}
	if o.EIN != nil {
		p = append(p, EIN)
	}
	if o.RegisteredAgent != nil {
		p = append(p, o.agentProduct())
	}
	return p
}

// CompareProducts compares products by their positions in Order.Products.
func CompareProducts(a, b Product) int {
	order := []Product{Formation, AnnualReport, ForeignQualification, EIN, RegisteredAgent, AgentChange}
	return cmp.Compare(slices.Index(order, a), slices.Index(order, b))
}

func (o *Order) agentProduct() Product {
	if o.RegisteredAgent.IsChangeOfAgent {
		return AgentChange
	}
	return RegisteredAgent
}

// Drop returns the order without one of its items.
func (o Order) Drop(p Product) Order {
	switch p {
	case Formation:
		o.Formation = nil
	case AnnualReport:
		o.AnnualReport = nil
	case ForeignQualification:
		o.ForeignQualification = nil
	case EIN:
		o.EIN = nil
	case RegisteredAgent, AgentChange:
		o.RegisteredAgent = nil
	}
	return o
}

// First splits the order into the next request and the rest, which later requests order. A
// formation is ordered with all other items, because its company has no ID yet. Items of an
// existing company are ordered one by one, so that the answer to one item leaves the others open.
// An agent is ordered with the report or qualification that needs it.
// Assumption: whether a 409 about one item leaves out the others is not shown.
func (o Order) First() (first, rest Order) {
	if o.Formation != nil {
		return o, Order{}
	}
	products := o.Products()
	first, rest = o, o
	for i, p := range products {
		with := i == 0 || o.RegisteredAgent != nil && p == o.agentProduct() && products[0] != EIN
		if with {
			rest = rest.Drop(p)
		} else {
			first = first.Drop(p)
		}
	}
	return first, rest
}

// Item is one order that the filing service placed for a request.
// Source: spec section 2, Order item.
type Item struct {
	OrderType          string `json:"orderType"`
	OrderID            string `json:"orderId"`
	CreatedAt          string `json:"createdAt,omitempty"`
	FilingDate         string `json:"filingDate,omitempty"`
	FilingStatus       string `json:"filingStatus,omitempty"`
	SubscriptionStatus string `json:"subscriptionStatus,omitempty"`
}

// orderTypes maps an order type, folded to lowercase letters, to its product. An unmatched type is
// still recorded. Source: formation and registered_agent are shown. Assumption: the other types.
var orderTypes = map[string]Product{
	"formation": Formation, "annualreport": AnnualReport, "ein": EIN,
	"registeredagent": RegisteredAgent, "changeofagent": AgentChange, "registeredagentchange": AgentChange,
	"agentchange": AgentChange, "foreignqualification": ForeignQualification,
}

// ProductOfType returns the product of an order type in any style: annual_report, annualReport,
// ANNUAL-REPORT.
func ProductOfType(orderType string) (Product, bool) {
	p, ok := orderTypes[FoldName(orderType)]
	return p, ok
}

// FoldName folds a name to its lowercase ASCII letters and digits.
func FoldName(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, s)
}
