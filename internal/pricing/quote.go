package pricing

import (
	"fmt"
	"math"
	"strconv"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Facts are the facts about a company that affect its state fees. An empty field is unknown.
// Source: spec section 4, rule 9.
type Facts struct {
	EntityType     filing.EntityType
	FormationState filing.State
}

// Line is the cost of one item of an order.
type Line struct {
	Product filing.Product
	// Wholesale is the price of the filing service. It includes the service charge of an expedited
	// formation.
	Wholesale money.Cost
	// StateFee is the fee of the state, passed on at cost.
	StateFee money.Cost
	// Of describes StateFee. It is nil if the product has no state fee.
	Of *StateFee
	// Free explains why the service charges nothing, or may charge nothing. It is empty if the
	// service charges.
	Free string
}

// Cost returns the sum of the line.
func (l Line) Cost() money.Cost { return sum(l.Wholesale, l.StateFee) }

// Quote is the amount that an order will take from the prepaid balance.
type Quote struct {
	// Lines has one line per item, in the order of Order.Products.
	Lines []Line
	Total money.Cost
}

// Rates quotes orders by the billing rules.
type Rates struct {
	prices *PriceBook
	fees   *Fees
}

// NewRates returns a quoter over prices and fees.
func NewRates(prices *PriceBook, fees *Fees) *Rates { return &Rates{prices: prices, fees: fees} }

// Basis implements Quoter.
func (q *Rates) Basis() string {
	return fmt.Sprintln(q.prices.wholesale, expeditedFees) + q.fees.basis()
}

// Quote quotes an order. company has the known facts about the company on record. A formation uses
// its own facts instead. An agent of an existing company is an estimate, because it is free if the
// company already has the service's own agent, and the API does not show that.
//
// Source: spec section 4, Billing rules, and rules 6 and 8.
func (q *Rates) Quote(o *filing.Order, company Facts) Quote {
	if o.Formation != nil {
		company = Facts{EntityType: o.Formation.Company.EntityType, FormationState: o.FilingState}
	}
	var quote Quote
	for _, p := range o.Products() {
		line := q.line(p, o, company)
		quote.Lines = append(quote.Lines, line)
		quote.Total = sum(quote.Total, line.Cost())
	}
	return quote
}

func (q *Rates) line(p filing.Product, o *filing.Order, company Facts) Line {
	line := Line{Product: p}
	state := func(c charge, year int) {
		fee, of := q.fees.fee(c, o.FilingState, company, year)
		line.StateFee, line.Of = fee, &of
	}
	price := func(i item) { line.Wholesale = q.prices.price(i) }
	switch p {
	case filing.Formation:
		price(tier1)
		if o.EIN != nil {
			price(tier2)
		}
		state(formationFee, 0)
		if o.Formation.Expedited {
			fee, offered := expeditedFees[o.FilingState]
			line.StateFee = money.Cost{Amount: fee, Certainty: unless(offered)}
			line.Of = &StateFee{State: o.FilingState, EntityType: company.EntityType, Note: "expedited"}
			charge, _ := q.fees.fee(expeditedService, o.FilingState, company, 0)
			line.Wholesale = sum(line.Wholesale, charge)
		}
	case filing.AnnualReport:
		price(annualReport)
		year, _ := strconv.Atoi(o.AnnualReport.FilingYear) // the rules have validated it
		state(annualReportFee, year)
	case filing.ForeignQualification:
		price(foreignQualification)
		state(foreignQualificationFee, 0)
	case filing.EIN:
		if o.Formation == nil { // else it is part of tier 2
			price(ein)
		} else {
			line.Free = "included in the formation"
		}
	case filing.RegisteredAgent, filing.AgentChange:
		price(registeredAgent)
		if o.Formation == nil { // else the company has no agent yet
			line.Wholesale.Certainty = max(line.Wholesale.Certainty, money.Estimated)
			line.Free = "The price list's service fee. Nothing is charged if the company has active registered agent " +
				"service in the state, which cannot be looked up."
		}
	}
	return line
}

// sum adds costs. If the sum overflows, it returns the maximum amount with an unknown certainty.
func sum(a, b money.Cost) money.Cost {
	total, err := a.Plus(b)
	if err != nil {
		return money.Cost{Amount: math.MaxInt64, Certainty: money.Unknown}
	}
	return total
}
