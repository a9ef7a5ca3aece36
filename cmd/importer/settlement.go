package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/jobs"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/report"
)

// settlement is a person's word on an uncertain row: placed where it has orders
// or a company, never made where it has neither.
type settlement struct {
	doubt   report.Doubt
	orders  []string
	company string         // that was created, or formed
	by      string         // with what it was said
	found   filing.Company // the company that was created, as the service has it
}

func (s *settlement) placed() bool { return len(s.orders) > 0 || s.company != "" }

// fault is what is wrong with a settlement by itself: columnFault names the
// column it would stand in.
func (s *settlement) fault() error {
	row := &s.doubt.Row
	for i, id := range s.orders {
		switch {
		case !isOrderID(id):
			return &columnFault{report.OrderIDsColumn, fmt.Sprintf("%q is not an order id: it looks like order_…", id)}
		case slices.Contains(s.orders[:i], id):
			return &columnFault{report.OrderIDsColumn, id + " is given twice"}
		}
	}
	switch {
	case row.Creating && len(s.orders) > 0:
		return &columnFault{report.OrderIDsColumn, ledger.ErrCreating.Error()}
	case len(s.orders) > len(s.doubt.Products()):
		return &columnFault{report.OrderIDsColumn, fmt.Sprintf("%d order ids are too many: the row ordered %s", len(s.orders), s.doubt.Ordered())}
	case s.company != "" && !s.doubt.FormsCompany():
		return &columnFault{report.CompanyIDColumn, fmt.Sprintf("row %d forms no company: leave the company's id out", row.Number)}
	case s.company != "" && !filing.IsCompanyID(s.company):
		return &columnFault{report.CompanyIDColumn, fmt.Sprintf("%q is not a company id: it looks like comp_…", s.company)}
	case s.company != "" && !row.Creating && len(s.orders) == 0:
		return &columnFault{report.OrderIDsColumn, "the order's id is missing beside the company's"}
	}
	return nil
}

// columnFault is a fault of what stands in one column of the sheet of decisions.
type columnFault struct{ column, message string }

func (f *columnFault) Error() string { return f.message }

func isOrderID(id string) bool {
	rest, found := strings.CutPrefix(id, "order_")
	return found && rest != "" && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// prepare has a look at a company that is said to have been created.
func (r *resolver) prepare(ctx context.Context, s *settlement) error {
	if !s.doubt.Row.Creating || s.company == "" {
		return nil
	}
	client, err := r.client()
	if err != nil {
		return err
	}
	s.found, err = client.Company(ctx, s.company)
	switch {
	case errors.Is(err, filingapi.ErrNotFound), errors.Is(err, filingapi.ErrRefused):
		return &columnFault{report.CompanyIDColumn, err.Error()}
	case err != nil:
		return err
	}
	if sheet := s.doubt.Row.Request.Company.Sheet; filing.FoldLegalName(s.found.LegalName) != filing.FoldLegalName(sheet.LegalName) {
		return &columnFault{report.CompanyIDColumn, fmt.Sprintf("%s is %q, and the row's company is %q: is it the right one?", s.found.ID, s.found.LegalName, sheet.LegalName)}
	}
	return nil
}

// told is what the service told of orders that nobody knows, by order.
func (r *resolver) told(ctx context.Context) (map[string][]ledger.Event, error) {
	events, err := r.ledger.Events(ctx, ledger.EventUnknown, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	of := make(map[string][]ledger.Event)
	for _, e := range events {
		of[e.OrderID] = append(of[e.OrderID], e)
	}
	return of, nil
}

// against lists what the service told that speaks against a settlement.
func (s *settlement) against(told map[string][]ledger.Event) []string {
	row := &s.doubt.Row
	if !s.placed() {
		var orders []string
		for _, e := range s.doubt.Evidence {
			orders = append(orders, e.Order)
		}
		if len(orders) == 0 {
			return nil
		}
		return []string{fmt.Sprintf("row %d may have been placed, as %s: sent again, it would be bought twice.", row.Number, strings.Join(orders, " or "))}
	}
	var why []string
	for _, id := range s.orders {
		for _, e := range told[id] {
			if text := s.contradicts(e); text != "" {
				why = append(why, fmt.Sprintf("the service says that %s %s (event %s).", id, text, e.ID))
				break
			}
		}
	}
	return why
}

// clockSkew is how far the service's clock may be behind ours.
const clockSkew = time.Minute

// contradicts says why the order of an event cannot be the row's; empty where
// it can.
func (s *settlement) contradicts(e ledger.Event) string {
	row := &s.doubt.Row
	ordered := s.doubt.Products()
	if p, known := e.Product(); known && !slices.Contains(ordered, p) && !(p == filing.RegisteredAgent && slices.Contains(ordered, filing.AgentChange)) {
		return "is of another product: " + p.Title()
	}
	if company := cmp.Or(s.company, row.Company); e.CompanyID != "" && company != "" && e.CompanyID != company {
		return "is of another company: " + e.CompanyID
	}
	if sent := s.doubt.Sent(); len(sent) > 0 && !e.CreatedAt.IsZero() && e.CreatedAt.Before(sent[0].StartedAt.Add(-clockSkew)) {
		return "was there before this row was sent: " + e.CreatedAt.UTC().Format("2006-01-02 15:04:05 MST")
	}
	return ""
}

// settle records what a person has seen, and says what it did to the row.
func (r *resolver) settle(ctx context.Context, s settlement) error {
	row := &s.doubt.Row
	who := fmt.Sprintf("%s %s on %s", person(), s.by, stampNow())
	switch {
	case !s.placed():
		if err := r.ledger.ResolveNotPlaced(ctx, row.ID, "not placed, says "+who+"; it may be sent again"); err != nil {
			return err
		}
		fmt.Fprintf(r.out, "Row %d is ready again. The %s that was held for it is free; the same run sends it.\n", row.Number, row.Held.Dollars())
	case row.Creating:
		if err := r.ledger.ResolveCreated(ctx, row.ID, s.found, "the company was found as "+s.found.ID+" by "+who); err != nil {
			return err
		}
		fmt.Fprintf(r.out, "Row %d is ready again, for the company %s; the same run sends its order.\n", row.Number, s.found.ID)
	case s.company != "":
		why := "placed: found by " + who + "; the new company is " + s.company
		if err := r.ledger.ResolveFormed(ctx, row.ID, s.orders, s.company, jobs.Formed(&row.Request.Order, s.company), why); err != nil {
			return err
		}
		fmt.Fprintf(r.out, "Row %d is placed, and its company is %s. The %s that was held for it is spent.\n", row.Number, s.company, row.Held.Dollars())
	default:
		if err := r.ledger.ResolvePlaced(ctx, row.ID, s.orders, "placed: found by "+who); err != nil {
			return err
		}
		fmt.Fprintf(r.out, "Row %d is placed. The %s that was held for it is spent.\n", row.Number, row.Held.Dollars())
	}
	return nil
}
