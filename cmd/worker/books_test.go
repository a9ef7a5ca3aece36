//go:build unix

package main

import (
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// subject is what a row is for, in a word that the service's books know too:
// the company's id, or its name where the id is not known yet.
func subject(r *ledger.Row) string {
	switch {
	case r.Request.Order.Formation != nil:
		return r.Request.Order.Formation.Company.LegalName
	case r.Request.Company.Ref != "":
		return r.Request.Company.Ref
	}
	return r.Request.Company.Sheet.LegalName
}

// bought are the service's orders by what they are for, those aside that bought
// nothing.
func (p *proof) bought(rows []ledger.Row) map[string][]sandbox.Order {
	p.Helper()
	subjects := make(map[string]bool)
	for i := range rows {
		subjects[subject(&rows[i])] = true
	}
	all := make(map[string][]sandbox.Order)
	for _, o := range p.service.Books().Orders {
		if !slices.ContainsFunc(o.Items, func(i sandbox.Item) bool { return !i.Existing }) {
			continue
		}
		name := o.CompanyID
		if subjects[o.CompanyName] {
			name = o.CompanyName
		}
		if !subjects[name] {
			p.Errorf("nobody ordered %+v", o)
		}
		all[name] = append(all[name], o)
	}
	return all
}

func (p *proof) read(batch string) []ledger.Row {
	p.Helper()
	var rows []ledger.Row
	for r, err := range p.ledger.Rows(p.Context(), batch) {
		p.must(err)
		rows = append(rows, r)
	}
	return rows
}

// compare holds the ledger against the service's books: each order in the books
// is of exactly one row, each row cost what was charged for it, and what is
// uncertain holds what it cost, or would have. Of several rows for the same
// purchase one has made it; the others say so, or wait while it is uncertain.
func (p *proof) compare(batches ...string) ledger.Counts {
	p.Helper()
	p.must(p.ledger.Audit(p.Context()))
	books := p.service.Books()
	if twice := books.Duplicates(); len(twice) > 0 {
		p.Errorf("bought twice: %+v", twice)
	}
	for _, v := range p.service.Violations() {
		if !v.Hidden {
			p.Errorf("%s", v)
		}
	}
	var rows []ledger.Row
	for _, batch := range batches {
		rows = append(rows, p.read(batch)...)
	}
	c := comparison{
		proof:  p,
		orders: p.bought(rows),
		counts: make(ledger.Counts),
		buyers: make(map[string]*ledger.Row),
		owners: make(map[string]*ledger.Row),
	}
	for i := range rows {
		c.addRow(&rows[i])
	}
	for _, of := range c.orders {
		p.Errorf("no row is placed or uncertain for %+v", of)
	}
	for i := range rows {
		c.checkOthers(&rows[i])
	}
	book, err := p.ledger.Balance(p.Context())
	p.must(err)
	if book.Posted != c.posted || book.Reserved != c.reserved || c.posted+c.uncertain != money.Cents(books.Charged) {
		p.Errorf("the ledger spent %s and holds %s, of which %s was charged; its rows cost %s and hold %s; the "+
			"service charged %s",
			book.Posted, book.Reserved, c.uncertain, c.posted, c.reserved, money.Cents(books.Charged))
	}
	if p.Failed() {
		p.complain()
	}
	return c.counts
}

// comparison is what compare has seen of the rows and of the service's orders.
type comparison struct {
	*proof
	orders map[string][]sandbox.Order // that no row has yet, by subject
	counts ledger.Counts
	buyers map[string]*ledger.Row // placed or uncertain, by subject
	owners map[string]*ledger.Row // by order id

	posted, reserved money.Cents
	uncertain        money.Cents // charged for rows that are uncertain
}

// addRow counts a row. A placed or an uncertain one is the only buyer of its
// subject and takes the orders of it.
func (c *comparison) addRow(r *ledger.Row) {
	c.Helper()
	c.counts[r.Result]++
	if r.Message == "" {
		c.Errorf("row %d of %s is %s without a word", r.Number, r.Batch, r.Result)
	}
	if r.Result != filing.Placed && r.Result != filing.Uncertain {
		return
	}
	if other := c.buyers[subject(r)]; other != nil {
		c.Errorf("%s is bought by row %d of %s (%s) and by row %d of %s (%s)", subject(r), other.Number,
			other.Batch, other.Result, r.Number, r.Batch, r.Result)
	}
	c.buyers[subject(r)] = r
	made := c.orders[subject(r)]
	delete(c.orders, subject(r))
	if len(made) > 1 {
		c.Errorf("row %d of %s: %d orders bought something: %+v", r.Number, r.Batch, len(made), made)
	}
	var charged money.Cents
	for _, o := range made {
		charged += money.Cents(o.Total)
	}
	if r.Result == filing.Uncertain {
		c.reserved, c.uncertain = c.reserved+r.Reserved, c.uncertain+charged
		c.checkUncertain(r, charged)
		return
	}
	c.posted += r.Cost.Amount
	if len(made) != 1 || r.Cost.Amount != charged || !r.Cost.IsKnown() || r.Reserved != 0 {
		c.Errorf("row %d of %s is placed, cost %s and holds %s; the books have %d orders for %s (%s)", r.Number,
			r.Batch, r.Cost, r.Reserved, len(made), charged, r.Message)
	}
	c.checkOrderIDs(r, made)
}

// checkOrderIDs checks that the orders of a placed row are those that were made
// for it, and no other row's.
func (c *comparison) checkOrderIDs(r *ledger.Row, made []sandbox.Order) {
	c.Helper()
	ids := make(map[string]bool)
	for _, o := range made {
		for _, i := range o.Items {
			ids[i.ID] = true
		}
	}
	for _, i := range r.Items {
		if i.OrderID == "" {
			continue // a 409 resolved an uncertain order: an event tells the id
		}
		if !ids[i.OrderID] {
			c.Errorf("row %d of %s has the order %s, which the books do not have for %s", r.Number, r.Batch,
				i.OrderID, subject(r))
		}
		if other := c.owners[i.OrderID]; other != nil && other != r {
			c.Errorf("rows %d of %s and %d of %s both have the order %s", other.Number, other.Batch, r.Number,
				r.Batch, i.OrderID)
		}
		c.owners[i.OrderID] = r
	}
}

// checkOthers checks that a row beside the buyer of its subject says so, or waits
// while the buyer is uncertain.
func (c *comparison) checkOthers(r *ledger.Row) {
	c.Helper()
	buyer := c.buyers[subject(r)]
	waits := r.Result == filing.Ready && buyer != nil && buyer.Result == filing.Uncertain
	if buyer != r && (buyer == nil || r.Reserved != 0 || r.Result != filing.Exists && !waits) {
		c.Errorf("row %d of %s is %s and holds %s: %s", r.Number, r.Batch, r.Result, r.Reserved, r.Message)
	}
}

// checkUncertain checks that an uncertain row needs a person, and reserves what it
// cost, or would have cost.
func (p *proof) checkUncertain(r *ledger.Row, charged money.Cents) {
	p.Helper()
	want := charged
	if charged == 0 && !r.Creating {
		want = p.quoter.Quote(&r.Request.Order, pricing.Facts{EntityType: filing.LLC, FormationState: "DE"}).
			Total.Amount
	}
	if r.Reserved != want {
		p.Errorf("row %d of %s is uncertain and holds %s, want %s (charged: %s; %s)", r.Number, r.Batch,
			r.Reserved, want,
			charged, r.Message)
	}
	// A 409 whose body is garbage names no product: it is sent again by nobody but a person,
	// for a service that always answers so would be asked without end.
	unreadable := strings.Contains(r.Message, ": 409 Conflict.")
	if r.Request.Order.Repeatable(false) && !r.Creating && r.Attempts < 8 && !unreadable {
		p.Errorf("row %d of %s may be sent again, and was left to a person after %d attempts: %s", r.Number, r.Batch,
			r.Attempts, r.Message)
	}
}

// resolve settles what is uncertain as a person does who looks at each company's
// dashboard.
func (p *proof) resolve(batches ...string) {
	p.Helper()
	companies := make(map[string]string)
	for _, c := range p.service.Companies() {
		if other := companies[c.LegalName]; other != "" && strings.HasPrefix(c.LegalName, described) {
			p.Errorf("%s was created twice: %s and %s", c.LegalName, other, c.ID)
		}
		companies[c.LegalName] = c.ID
	}
	var rows []ledger.Row
	for _, batch := range batches {
		rows = append(rows, p.read(batch)...)
	}
	orders := p.bought(rows)
	for i := range rows {
		const why = "seen on the dashboard"
		r := &rows[i]
		if r.Result != filing.Uncertain {
			continue
		}
		var ids []string
		for _, o := range orders[subject(r)] {
			for _, i := range o.Items {
				ids = append(ids, i.ID)
			}
		}
		company := companies[subject(r)]
		var err error
		switch order := &r.Request.Order; {
		case r.Creating && company != "":
			record := r.Request.Company.Sheet
			record.ID = company
			err = p.ledger.Resolutions().MarkCreated(p.Context(), r.ID, 0, record, why)
		case len(ids) == 0:
			err = p.ledger.Resolutions().MarkNotPlaced(p.Context(), r.ID, 0, why)
		case order.Formation != nil:
			err = p.ledger.Resolutions().MarkFormed(p.Context(), r.ID, 0, ids, company,
				ledger.FormedClaims(order, company), why)
		default:
			err = p.ledger.Resolutions().MarkPlaced(p.Context(), r.ID, 0, ids, why)
		}
		p.must(err)
	}
}
