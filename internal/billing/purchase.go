package billing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Key names a purchase. A row buys a product once; a second purchase of the same has
// the Ordinal 1.
type Key struct {
	Row     int64
	Product filing.Product
	Ordinal int
}

// Client is who pays for a row, as far as it is known.
type Client struct {
	Name      string
	Matter    string
	BillTo    string // who gets the bill; "" for the client
	Reference string // of the client or the firm
	Origin    Origin
}

// Origin says where the client of a row comes from.
type Origin string

// The origins, the strongest first.
const (
	FromPerson  Origin = "person"  // a person entered it for the row
	FromSheet   Origin = "sheet"   // the row's own column
	FromDefault Origin = "default" // the batch's default
	FromCompany Origin = "company" // the company was billed to this client before
	FromNowhere Origin = ""        // nobody named one: the company itself
)

// Purchase is an order that was charged.
type Purchase struct {
	Key
	Batch     string
	Number    int // the row's number in the spreadsheet
	OrderID   string
	Company   string // its legal name, or its ID
	CompanyID string // names the company for later spreadsheets
	State     string
	Year      string
	PostedAt  time.Time
	Cost      money.Cost
	Parts     filing.CostParts
	Client    Client
}

// Split are the two parts of the cost. It reports false where they are not known apart.
func (p *Purchase) Split() (service, state money.Cents, ok bool) {
	service, state = p.Parts.Service.Amount, p.Parts.State.Amount
	return service, state, p.Parts != filing.CostParts{} && service+state == p.Cost.Amount
}

// Correct replaces the cost of the purchase by what was charged in truth. The service
// fee is that of the price list, so that the difference is the state's.
func (p *Purchase) Correct(truth money.Cents) {
	if _, _, ok := p.Split(); ok {
		service := min(p.Parts.Service.Amount, truth)
		p.Parts.Service = money.Cost{Amount: service}
		p.Parts.State = money.Cost{Amount: truth - service}
	}
	p.Cost = money.Cost{Amount: truth}
}

// Kind is what a line bills.
type Kind string

// The kinds of lines.
const (
	ServiceFee Kind = "service"
	StateFee   Kind = "state"
	Filing     Kind = "filing" // both, where they are not known apart
)

// Kinds lists the kinds in the order of a bill.
var Kinds = []Kind{ServiceFee, StateFee, Filing}

// Title names the kind for people.
func (k Kind) Title() string {
	switch k {
	case ServiceFee:
		return "Service fee"
	case StateFee:
		return "State fee"
	}
	return "Filing"
}

// Line is one line of a bill.
type Line struct {
	Purchase  Key
	Kind      Kind
	Revision  int         // 0 for the charge; counts corrections
	Cost      money.Cents // what was charged, passed on
	Amount    money.Cents // what the client pays
	Estimated bool        // the cost was an estimate when it was billed

	Batch     string
	Number    int
	OrderID   string
	Company   string
	State     string
	Year      string
	Reference string
	PostedAt  time.Time

	CompanyID string // names the company for later spreadsheets; not kept with a stored line
	Origin    Origin // of the client; not kept with a stored line
}

// Correction reports whether the line corrects an earlier one.
func (l *Line) Correction() bool { return l.Revision > 0 }

// Description says what the line bills.
func (l *Line) Description() string {
	parts := []string{strings.TrimSpace(l.Purchase.Product.Title() + " " + l.Year)}
	if l.State != "" {
		parts = append(parts, l.State)
	}
	parts = append(parts, l.Company)
	text := strings.Join(parts, ", ") + ": " + strings.ToLower(l.Kind.Title())
	switch {
	case l.Correction() && l.Amount < 0:
		text += ", credit"
	case l.Correction():
		text += ", additional charge"
	}
	if l.Estimated {
		text += " (estimate)"
	}
	if l.Reference != "" {
		text += "; " + l.Reference
	}
	return text
}

// part is what a purchase bills of one kind.
type part struct {
	kind         Kind
	cost, amount money.Cents
}

// parts are what the purchase bills by a rule. Split says whether the fees are apart.
func (p *Purchase) parts(rule Rule, split bool) []part {
	service, state, known := p.Split()
	if !split || !known {
		return []part{{Filing, p.Cost.Amount, p.Cost.Amount}}
	}
	return []part{
		{ServiceFee, service, rule.ServiceFee(service, p.Parts.Retail)},
		{StateFee, state, state},
	}
}

func (p *Purchase) line(of part, revision int) Line {
	return Line{
		Purchase:  p.Key,
		Kind:      of.kind,
		Revision:  revision,
		Cost:      of.cost,
		Amount:    of.amount,
		Estimated: p.estimates(of.kind),
		Batch:     p.Batch,
		Number:    p.Number,
		OrderID:   p.OrderID,
		Company:   p.Company,
		State:     p.State,
		Year:      p.Year,
		Reference: p.Client.Reference,
		PostedAt:  p.PostedAt,
		CompanyID: p.CompanyID,
		Origin:    p.Client.Origin,
	}
}

// estimates reports whether a part of the cost is an estimate.
func (p *Purchase) estimates(kind Kind) bool {
	if _, _, split := p.Split(); split && kind == ServiceFee {
		return !p.Parts.Service.IsKnown()
	}
	return !p.Cost.IsKnown()
}

// Charge makes the lines of a purchase that has none. A part that costs nothing and is
// billed at nothing has no line.
func (p *Purchase) Charge(rule Rule) (lines []Line) {
	for _, of := range p.parts(rule, true) {
		if of.cost != 0 || of.amount != 0 {
			lines = append(lines, p.line(of, 0))
		}
	}
	return lines
}

// CorrectLines makes the corrections of a purchase that has lines: the differences
// between what they bill and what the purchase costs now. The purchase is nil where the
// row has it no more: it became uncertain again, or was not placed. A line that it
// takes back is credited as it was billed.
func CorrectLines(p *Purchase, billed []Line, rule Rule) (lines []Line) {
	if len(billed) == 0 {
		return nil
	}
	billed = slices.Clone(billed)
	slices.SortStableFunc(billed, func(a, b Line) int { return cmp.Compare(a.Revision, b.Revision) })
	gone := p == nil || p.Cost.Amount == 0
	model := &Purchase{Key: billed[0].Purchase}
	if p != nil {
		model = p
	}
	split := billed[0].Kind != Filing
	targets := map[Kind]part{}
	switch {
	case gone:
	case !split || !model.knows():
		targets = model.unsplit(billed, split)
	default:
		for _, of := range model.parts(rule, true) {
			targets[of.kind] = of
		}
	}
	for _, kind := range Kinds {
		of, next, billedBefore := difference(kind, targets[kind], billed, rule, model.Parts.Retail)
		if of.cost == 0 && (!gone || of.amount == 0) {
			continue
		}
		line := model.line(of, next)
		if p == nil {
			line = gonelike(billed[0], of, next)
		}
		if !billedBefore { // a part that cost nothing before: its first line
			line.Revision = 0
		}
		line.Estimated = p != nil && p.estimates(kind)
		lines = append(lines, line)
	}
	return lines
}

// difference is what is to be billed of a kind beyond its lines, and the revision of the
// line that does. What costs nothing any more is credited as it was billed.
func difference(kind Kind, target part, billed []Line, rule Rule, retail money.Cost) (of part, next int, found bool) {
	var cost, amount money.Cents
	for i := range billed {
		if billed[i].Kind == kind {
			cost, amount = cost+billed[i].Cost, amount+billed[i].Amount
			next, found = max(next, billed[i].Revision+1), true
		}
	}
	of = part{kind: kind, cost: target.cost - cost, amount: target.cost - cost}
	switch {
	case target.cost == 0:
		of.amount = -amount
	case kind == ServiceFee:
		of.amount = rule.ServiceFee(target.cost, retail) - rule.ServiceFee(cost, retail)
	}
	return of, next, found
}

// knows reports whether the parts of the cost are known apart.
func (p *Purchase) knows() bool {
	_, _, ok := p.Split()
	return ok
}

// unsplit is what a purchase bills whose parts are not known apart now, or were not when
// it was billed: the kinds of its lines stay. Of two, the service fee stays as billed.
func (p *Purchase) unsplit(billed []Line, split bool) map[Kind]part {
	if !split {
		return map[Kind]part{Filing: {Filing, p.Cost.Amount, p.Cost.Amount}}
	}
	var service money.Cents
	for _, l := range billed {
		if l.Kind == ServiceFee {
			service += l.Cost
		}
	}
	service = min(service, p.Cost.Amount)
	state := p.Cost.Amount - service
	return map[Kind]part{ServiceFee: {kind: ServiceFee, cost: service}, StateFee: {kind: StateFee, cost: state}}
}

// gonelike is a correction of a purchase that the ledger has no more, with the words of
// its first line.
func gonelike(first Line, of part, revision int) Line {
	first.Kind, first.Revision, first.Cost, first.Amount = of.kind, revision, of.cost, of.amount
	return first
}

// String names the purchase in messages.
func (k Key) String() string {
	text := fmt.Sprintf("row %d, %s", k.Row, k.Product.Title())
	if k.Ordinal > 0 {
		text += fmt.Sprintf(", order %d", k.Ordinal+1)
	}
	return text
}
