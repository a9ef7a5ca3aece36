package jobs_test

import (
	"fmt"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// report is an annual report of a company whose agent is on record.
func report(i int) *filing.Request {
	return &filing.Request{
		Product: filing.AnnualReport, User: filing.UserRef{ID: "user_1"},
		Company: filing.CompanyRef{Ref: fmt.Sprintf("comp_%d", i)},
		Order:   filing.Order{FilingState: "DE", AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}},
	}
}

func reportAndAgent(i int) *filing.Request {
	r := report(i)
	r.Order.RegisteredAgent = &filing.RegisteredAgentItem{}
	return r
}

func reportWithAgent(i int) *filing.Request {
	r := report(i)
	r.Order.AnnualReport.RegisteredAgent = &filing.Agent{
		Type:      filing.Person,
		FirstName: "Grace",
		LastName:  "Okafor",
		Street:    "1 Main St",
		City:      "Dover",
		State:     "DE",
		ZIP:       "19901",
	}
	return r
}

func agentChange(i int) *filing.Request {
	r := report(i)
	r.Product = filing.AgentChange
	r.Order.AnnualReport, r.Order.RegisteredAgent = nil, &filing.RegisteredAgentItem{IsChangeOfAgent: true}
	return r
}

// requests are n of the kinds in turn, each of a company of its own.
func requests(n int, kinds ...func(int) *filing.Request) []*filing.Request {
	all := make([]*filing.Request, n)
	for i := range all {
		all[i] = kinds[i%len(kinds)](i)
	}
	return all
}

// office is an address in a state.
func office(state string) *filing.Address {
	return &filing.Address{
		Line1:      "12 Market Street",
		City:       "Springfield",
		State:      state,
		PostalCode: "19801",
		Country:    "US",
	}
}

func officers(kind filing.EntityType, n int) []filing.Officer {
	all := make([]filing.Officer, n)
	for i := range all {
		titles := filing.Titles[kind]
		all[i] = filing.Officer{
			Type:      filing.Person,
			FirstName: "Ana",
			LastName:  fmt.Sprintf("Silva %c", 'A'+i),
			Title:     titles[i%len(titles)],
			Address:   office("DE"),
			IsPrimary: i == 0,
		}
	}
	return all
}

// ana is a user that the sheet alone knows.
func ana(i int) filing.UserRef {
	return filing.UserRef{
		Email: fmt.Sprintf("ana%d@example.com", i),
		Name:  "Ana Silva",
		Phone: fmt.Sprintf("+1302555%04d", i),
	}
}

// described asks something for a company that the service does not know.
func described(i int) *filing.Request {
	return &filing.Request{
		User: ana(i % 3),
		Company: filing.CompanyRef{Sheet: filing.Company{
			LegalName:        fmt.Sprintf("Larkspur %d LLC", i),
			EntityType:       filing.LLC,
			FormationState:   "DE",
			FormationDate:    "2021-05-04",
			PrincipalAddress: office("DE"),
			MailingAddress:   office("NY"),
			Officers:         officers(filing.LLC, 2),
		}},
		Order: filing.Order{FilingState: "DE"},
	}
}

func einItem() *filing.EINItem {
	return &filing.EINItem{
		BusinessCategory:            "Retail",
		BusinessPurpose:             "Selling bread",
		ApplicationReason:           "Banking purposes",
		ResponsiblePartyFirstName:   "Grace",
		ResponsiblePartyLastName:    "Okafor",
		ResponsiblePartyTitle:       "CEO",
		ResponsiblePartySSN:         "078051120",
		ResponsiblePartyPhoneNumber: "+12125550101",
	}
}

func supplied(state filing.State) *filing.Agent {
	return &filing.Agent{
		Type:        filing.CompanyParty,
		CompanyName: "First State Agents Inc.",
		Street:      "1 Main St",
		City:        "Dover",
		State:       state,
		ZIP:         "19901",
	}
}

// formation asks for a new company.
func formation(i int) *filing.Request {
	return &filing.Request{Product: filing.Formation, User: ana(i % 3), Order: filing.Order{
		FilingState: "WY", RegisteredAgent: &filing.RegisteredAgentItem{},
		Formation: &filing.FormationItem{Company: filing.Company{
			LegalName:        fmt.Sprintf("Tern & Tide %d LLC", i),
			EntityType:       filing.LLC,
			StructureType:    "MEMBER",
			PrincipalAddress: office("WY"),
			MailingAddress:   office("WY"),
			Officers:         officers(filing.LLC, 1+i%4),
		}},
	}}
}

// corporation makes a formation that of a corporation.
func corporation(r *filing.Request, n int) {
	c := &r.Order.Formation.Company
	c.EntityType, c.StructureType, c.TaxElection, c.Officers = filing.Corp, "", "C Corporation", officers(filing.Corp,
		n)
	c.LegalName = strings.Replace(c.LegalName, "LLC", "Inc.", 1)
}

// costs sums the items of a row up by product.
func costs(r ledger.Row) map[filing.Product]money.Cents {
	all := make(map[filing.Product]money.Cents)
	for _, i := range r.Items {
		all[i.Product] += i.Cost.Amount
	}
	return all
}

// of changes a request.
func of(r *filing.Request, changes ...func(*filing.Order)) *filing.Request {
	for _, change := range changes {
		change(&r.Order)
	}
	return r
}

// existing asks something for a company that the service knows.
func existing(i int, product filing.Product, changes ...func(*filing.Order)) *filing.Request {
	r := report(i)
	r.Product, r.Order.AnnualReport = product, nil
	return of(r, changes...)
}

// What an order may hold besides.
func orderAgent(o *filing.Order)  { o.RegisteredAgent = &filing.RegisteredAgentItem{} }
func orderEIN(o *filing.Order)    { o.EIN = einItem() }
func orderReport(o *filing.Order) { o.AnnualReport = &filing.AnnualReportItem{FilingYear: "2026"} }
func supply(o *filing.Order) {
	o.RegisteredAgent, o.Formation.RegisteredAgent = nil, supplied(o.FilingState)
}
func qualify(o *filing.Order) {
	o.FilingState, o.ForeignQualification = "CA", &filing.QualificationItem{}
}

// everything is five rows of one company that the service does not know, each
// with another order, and the name in several spellings.
func everything(i int) []*filing.Request {
	rows := make([]*filing.Request, 5)
	for n := range rows {
		rows[n] = described(i)
	}
	rows[0].Product, rows[0].Order.EIN = filing.EIN, einItem()
	rows[1].Product, rows[1].Order = filing.ForeignQualification, filing.Order{
		FilingState:          "CA",
		ForeignQualification: &filing.QualificationItem{},
		RegisteredAgent:      &filing.RegisteredAgentItem{},
	}
	rows[2].Product, rows[2].Order = filing.AnnualReport, filing.Order{
		FilingState:  "DE",
		AnnualReport: &filing.AnnualReportItem{FilingYear: "2026", RegisteredAgent: supplied("DE")},
	}
	rows[3].Product, rows[3].Order = filing.AnnualReport, filing.Order{
		FilingState:     "NY",
		AnnualReport:    &filing.AnnualReportItem{FilingYear: "2026"},
		RegisteredAgent: &filing.RegisteredAgentItem{},
	}
	rows[4].Product, rows[4].Order.RegisteredAgent = filing.RegisteredAgent, &filing.RegisteredAgentItem{}
	rows[1].Company.Sheet.LegalName = fmt.Sprintf("LARKSPUR %d, L.L.C.", i)
	rows[3].Company.Sheet.LegalName = fmt.Sprintf("Larkspur %d limited liability company", i)
	return rows
}

const costOfEverything = priceEIN + priceFQ + feeFQ + priceAgent + priceReport + feeLLC + priceReport + feeLLC +
	priceAgent + priceAgent
