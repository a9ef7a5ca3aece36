package resolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/report"
)

// Desk is where uncertain rows are settled.
type Desk struct {
	Ledger  *ledger.Ledger
	Service func() (*filingapi.Client, error) // asked for only where a company has to be looked at
	By      string                            // who settles, and with what; stands in the rows' messages
}

// Settlement is a person's word on an uncertain row: placed where it has orders
// or a company, never made where it has neither.
type Settlement struct {
	Doubt   report.Doubt
	Orders  []string
	Company string         // that was created, or formed
	found   filing.Company // it, as the service has it
}

func (s *Settlement) placed() bool { return len(s.Orders) > 0 || s.Company != "" }

// Check says what is wrong with a settlement: a *Fault, or that a company which
// is said to have been created, or formed, could not be looked at.
func (d *Desk) Check(ctx context.Context, s *Settlement) error {
	if err := s.fault(); err != nil {
		return err
	}
	return d.find(ctx, s)
}

// fault is what is wrong with a settlement by itself.
func (s *Settlement) fault() error {
	row := &s.Doubt.Row
	for i, id := range s.Orders {
		switch {
		case !isOrderID(id):
			return &Fault{report.OrderIDsColumn, fmt.Sprintf("%q is not an order id: it looks like order_…", id)}
		case slices.Contains(s.Orders[:i], id):
			return &Fault{report.OrderIDsColumn, id + " is given twice"}
		}
	}
	switch {
	case row.Creating && len(s.Orders) > 0 && !s.Doubt.Supposed():
		return &Fault{report.OrderIDsColumn, ledger.ErrCreating.Error()}
	case row.Creating && len(s.Orders) > 0 && s.Company == "":
		return &Fault{
			report.CompanyIDColumn, "the id of the company that was created is missing beside the order's (comp_…)",
		}
	case len(s.Orders) > len(s.Doubt.Products()):
		return &Fault{
			report.OrderIDsColumn, fmt.Sprintf("%d order ids are too many: the row ordered %s", len(s.Orders),
				s.Doubt.Ordered()),
		}
	case s.Company != "" && !s.Doubt.FormsCompany():
		return &Fault{
			report.CompanyIDColumn, fmt.Sprintf("row %d forms no company: leave the company's id out", row.Number),
		}
	case s.Company != "" && !filing.IsCompanyID(s.Company):
		return &Fault{report.CompanyIDColumn, fmt.Sprintf("%q is not a company id: it looks like comp_…", s.Company)}
	case s.Company != "" && !row.Creating && len(s.Orders) == 0:
		return &Fault{report.OrderIDsColumn, "the order's id is missing beside the company's"}
	}
	return nil
}

// Fault is what is wrong with a settlement, and in which column of the sheet of
// decisions it would stand.
type Fault struct{ Column, Message string }

func (f *Fault) Error() string { return f.Message }

func isOrderID(id string) bool {
	rest, found := strings.CutPrefix(id, "order_")
	return found && rest != "" && strings.Trim(rest,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// find has a look at a company that is said to have been created, or formed: what
// came with it is known as that company's from then on, and is not bought again.
func (d *Desk) find(ctx context.Context, s *Settlement) (err error) {
	row := &s.Doubt.Row
	switch formation := row.Request.Order.Formation; {
	case s.Company == "":
	case row.Creating:
		s.found, err = d.company(ctx, s.Company, row.Request.Company.Sheet.LegalName)
	case formation != nil:
		s.found, err = d.company(ctx, s.Company, formation.Company.LegalName, formation.AlternativeNames...)
	}
	return err
}

// company has a look at a company, which must have one of the names that it was
// ordered by: a *Fault where it is not there, or has another.
func (d *Desk) company(ctx context.Context, id, name string, others ...string) (filing.Company, error) {
	client, err := d.Service()
	if err != nil {
		return filing.Company{}, err
	}
	found, err := client.Company(ctx, id)
	switch {
	case errors.Is(err, filingapi.ErrNotFound), errors.Is(err, filingapi.ErrRefused):
		return found, &Fault{report.CompanyIDColumn, err.Error()}
	case err != nil:
		return found, err
	}
	for _, n := range append([]string{name}, others...) {
		if filing.FoldLegalName(found.LegalName) == filing.FoldLegalName(n) {
			return found, nil
		}
	}
	return found, &Fault{
		report.CompanyIDColumn, fmt.Sprintf("%s is %q, and the row's company is %q: is it the right one?", found.ID,
			found.LegalName, name),
	}
}

// Told is what the service told of orders that nobody knows, by order.
type Told map[string][]ledger.Event

// Told reads it, for these orders.
func (d *Desk) Told(ctx context.Context, orders []string) (Told, error) {
	events, err := d.Ledger.UnknownEvents(ctx, orders)
	if err != nil {
		return nil, err
	}
	told := make(Told)
	for _, e := range events {
		told[e.OrderID] = append(told[e.OrderID], e)
	}
	return told, nil
}

// Against lists what speaks against a settlement.
func (t Told) Against(s *Settlement) []string {
	row := &s.Doubt.Row
	if !s.placed() {
		var orders []string
		for _, e := range s.Doubt.Evidence {
			orders = append(orders, e.Order)
		}
		if len(orders) == 0 {
			return nil
		}
		which := strings.Join(orders[:min(len(orders), someOrders)], " or ")
		if more := len(orders) + s.Doubt.More - someOrders; more > 0 {
			which += fmt.Sprintf(" or one of %d others", more)
		}
		return []string{
			fmt.Sprintf("row %d may have been placed, as %s: sent again, it would be bought twice.", row.Number, which),
		}
	}
	var why []string
	if nameless := t.nameless(s); len(nameless) > 0 {
		why = append(
			why, fmt.Sprintf(
				"row %d ordered %s, and no order id is given for the %s: that is recorded as placed without one.",
				row.Number, s.Doubt.Ordered(), strings.Join(nameless, " and the ")))
	}
	if row.Creating && len(s.Orders) == 0 && s.Doubt.Supposed() {
		why = append(
			why, fmt.Sprintf(
				"row %d may have sent its order as well as made the company: with the company alone, its order is "+
					"sent now.", row.Number))
	}
	for _, id := range s.Orders {
		for _, e := range t[id] {
			if text := s.contradicts(e); text != "" {
				why = append(why, fmt.Sprintf("the service says that %s %s (event %s).", id, text, e.ID))
				break
			}
		}
	}
	return why
}

// someOrders is how many of the orders that may be a row's are named, the nearest
// in time.
const someOrders = 3

// nameless are the items of a row that no order id was given for, by title: an
// id is of the product that its events tell, or else of the first that is left.
func (t Told) nameless(s *Settlement) []string {
	if len(s.Orders) == 0 {
		return nil // a company alone
	}
	left := s.Doubt.Products()
	others := 0
	for _, id := range s.Orders {
		at := slices.IndexFunc(left, func(ordered filing.Product) bool {
			return slices.ContainsFunc(t[id],
				func(e ledger.Event) bool { p, known := e.Product(); return known && p == ordered })
		})
		if at < 0 {
			others++
			continue
		}
		left = slices.Delete(left, at, at+1)
	}
	var titles []string
	for _, p := range left[min(others, len(left)):] {
		titles = append(titles, p.Title())
	}
	return titles
}

// clockSkew is how far the service's clock may be behind ours.
const clockSkew = time.Minute

// contradicts says why the order of an event cannot be the row's; empty where
// it can.
func (s *Settlement) contradicts(e ledger.Event) string {
	row := &s.Doubt.Row
	ordered := s.Doubt.Products()
	if p, known := e.Product(); known && !slices.Contains(ordered, p) &&
		!(p == filing.RegisteredAgent && slices.Contains(ordered, filing.AgentChange)) {
		return "is of another product: " + p.Title()
	}
	if company := cmp.Or(s.Company, row.Company); e.CompanyID != "" && company != "" && e.CompanyID != company {
		return "is of another company: " + e.CompanyID
	}
	if state := row.Request.Order.FilingState; e.FilingState != "" && state != "" && e.FilingState != state {
		return "is of another state: " + string(e.FilingState)
	}
	if report := row.Request.Order.AnnualReport; report != nil && e.FilingYear != "" &&
		e.FilingYear != report.FilingYear {
		return "is of another year: " + e.FilingYear
	}
	if sent := s.Doubt.Sent(); len(sent) > 0 && !e.CreatedAt.IsZero() &&
		e.CreatedAt.Before(sent[0].StartedAt.Add(-clockSkew)) {
		return "was there before this row was sent: " + e.CreatedAt.UTC().Format("2006-01-02 15:04:05 MST")
	}
	return ""
}

// Settle records what a person has seen, and says what that did to the row.
func (d *Desk) Settle(ctx context.Context, s *Settlement) (string, error) {
	row := &s.Doubt.Row
	by := d.By + " on " + time.Now().UTC().Format("2006-01-02 15:04 MST")
	switch {
	case !s.placed():
		if err := d.Ledger.ResolveNotPlaced(ctx, row.ID, row.Tries,
			"not placed, says "+by+"; it may be sent again"); err != nil {
			return "", err
		}
		return d.freed(ctx, row)
	case row.Creating && len(s.Orders) > 0:
		return fmt.Sprintf("Row %d is placed, and its company is %s. The %s that was held for it is spent.",
				row.Number, s.found.ID, row.Held.Dollars()),
			d.Ledger.ResolveMade(ctx, row.ID, row.Tries, s.Orders, s.found,
				ledger.FormedClaims(&row.Request.Order, s.found.ID),
				"placed: found by "+by+", for the new company "+s.found.ID)
	case row.Creating:
		return fmt.Sprintf("Row %d is ready again, for the company %s; the same run sends its order.", row.Number,
				s.found.ID),
			d.Ledger.ResolveCreated(ctx, row.ID, row.Tries, s.found, "the company was found as "+s.found.ID+" by "+by)
	case s.Company != "":
		return fmt.Sprintf("Row %d is placed, and its company is %s. The %s that was held for it is spent.",
				row.Number, s.Company, row.Held.Dollars()),
			d.Ledger.ResolveFormed(ctx, row.ID, row.Tries, s.Orders, s.Company,
				ledger.FormedClaims(&row.Request.Order, s.Company),
				"placed: found by "+by+"; the new company is "+s.Company)
	}
	said := fmt.Sprintf("Row %d is placed. The %s that was held for it is spent.", row.Number, row.Held.Dollars())
	if row.Request.Order.Formation != nil {
		said += fmt.Sprintf(
			" The company that was formed is not known yet: importer resolve %s --row %d --company COMPANY_ID",
			row.Batch, row.Number)
	}
	return said, d.Ledger.ResolvePlaced(ctx, row.ID, row.Tries, s.Orders, "placed: found by "+by)
}

// NameCompany completes a formation that is placed and whose company nobody told.
// It returns a *Fault where the company is not the one that was formed.
func (d *Desk) NameCompany(ctx context.Context, row ledger.Row, company string) (string, error) {
	switch {
	case row.Request == nil || row.Request.Order.Formation == nil:
		return "", &Fault{
			report.CompanyIDColumn, fmt.Sprintf("row %d forms no company: leave the company's id out", row.Number),
		}
	case !filing.IsCompanyID(company):
		return "", &Fault{report.CompanyIDColumn, fmt.Sprintf("%q is not a company id: it looks like comp_…", company)}
	}
	order := &row.Request.Order
	found, err := d.company(ctx, company, order.Formation.Company.LegalName, order.Formation.AlternativeNames...)
	if err != nil {
		return "", err
	}
	by := d.By + " on " + time.Now().UTC().Format("2006-01-02 15:04 MST")
	return fmt.Sprintf("The company of row %d is %s.", row.Number, found.ID),
		d.Ledger.NameCompany(ctx, row.ID, found.ID, ledger.FormedClaims(order, found.ID),
			"placed; the new company is "+found.ID+", says "+by)
}

// freed says what became of a row that was never made: one of a batch that was
// canceled is not sent any more.
func (d *Desk) freed(ctx context.Context, row *ledger.Row) (string, error) {
	now, err := d.Ledger.Row(ctx, row.ID)
	if err != nil {
		return "", err
	}
	if now.Result == filing.Canceled {
		return fmt.Sprintf(
			"Row %d was never made, and is taken back with its batch: it is not sent any more. The %s that was held "+
				"for it is free.", row.Number, row.Held.Dollars()), nil
	}
	return fmt.Sprintf("Row %d is ready again. The %s that was held for it is free; the same run sends it.",
		row.Number, row.Held.Dollars()), nil
}
