package resolve

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// UncertainOrder is a row that was sent and not confirmed, with all the evidence whether it was
// placed. The workbook, the page and the commands all show the same evidence.
type UncertainOrder struct {
	Row ledger.Row
	// Company is the legal name of the company. Empty if unknown.
	Company  string
	Attempts []ledger.Attempt
	// Candidates are sorted by their distance in time from the row's attempt, the nearest first.
	Candidates []Candidate
	// MoreCandidates counts the candidates that are not listed.
	MoreCandidates int
}

// Candidate is an order that the service reported, that belongs to no row, and that may be the
// row's.
type Candidate struct {
	// Order is an order ID, order_<id>.
	Order string
	// Event is the ID of the newest event about the order, evt_<id>.
	Event   string
	Product filing.Product
	// Status is the service's status.
	Status string
	// Company is a company ID, comp_<id>. Empty if no event names the company.
	Company string
	At      time.Time
	// Also are the first of the other uncertain rows that the order fits.
	Also []ledger.Row
	// Others is the number of all other uncertain rows that the order fits.
	Others int

	// events are all events about the order.
	events []ledger.Event
}

// ListUncertain lists the uncertain orders of a batch. An empty batch means all batches.
func ListUncertain(ctx context.Context, l *ledger.Ledger, batch string) ([]*UncertainOrder, error) {
	rows, err := l.Resolutions().UncertainRows(ctx, batch)
	if err != nil {
		return nil, fmt.Errorf("list the uncertain rows: %w", err)
	}
	return loadOrders(ctx, l, rows)
}

// ListUncertainPage lists a page of the uncertain orders, and returns their total number. The page
// starts after the row with the Row.ID after, and after is 0 on the first page.
func ListUncertainPage(ctx context.Context, l *ledger.Ledger, batch string, after int64,
	limit int) (page []*UncertainOrder, total int, err error) {
	rows, total, err := l.Resolutions().UncertainPage(ctx, batch, after, limit)
	if err != nil {
		return nil, 0, fmt.Errorf("list the uncertain rows: %w", err)
	}
	page, err = loadOrders(ctx, l, rows)
	return page, total, err
}

// loadOrders loads rows with their evidence. The number of queries does not depend on the number of
// rows.
func loadOrders(ctx context.Context, l *ledger.Ledger, rows []ledger.Row) ([]*UncertainOrder, error) {
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	evidence, more, err := l.Resolutions().Evidence(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("load the evidence: %w", err)
	}
	others, err := loadOthers(ctx, l, rows, evidence)
	if err != nil {
		return nil, err
	}
	names, err := l.Companies().NamesOf(ctx, rows)
	if err != nil {
		return nil, fmt.Errorf("load the company names of uncertain rows: %w", err)
	}
	attempts, err := l.Attempts(ctx, ids...)
	if err != nil {
		return nil, err
	}
	of := make(map[int64][]ledger.Attempt)
	for _, a := range attempts {
		of[a.Row] = append(of[a.Row], a)
	}
	orders := make([]*UncertainOrder, len(rows))
	var candidates []string
	for i, r := range rows {
		o := &UncertainOrder{Row: r, Company: names[r.ID], Attempts: of[r.ID], MoreCandidates: more[r.ID]}
		for _, found := range evidence[r.ID] {
			c := newCandidate(found.Events)
			c.Others = found.Rows - 1
			for _, id := range found.Fits {
				if id != r.ID {
					c.Also = append(c.Also, others[id])
				}
			}
			o.Candidates = append(o.Candidates, c)
			candidates = append(candidates, c.Order)
		}
		orders[i] = o
	}
	events, err := loadEvents(ctx, l, candidates)
	if err != nil {
		return nil, err
	}
	for _, o := range orders {
		for i := range o.Candidates {
			o.Candidates[i].events = events[o.Candidates[i].Order]
		}
	}
	return orders, nil
}

// loadOthers loads the rows that some evidence fits, by ID.
func loadOthers(ctx context.Context, l *ledger.Ledger, rows []ledger.Row,
	evidence map[int64][]*ledger.Evidence) (map[int64]ledger.Row, error) {
	others, missing := make(map[int64]ledger.Row), make(map[int64]bool)
	for _, r := range rows {
		others[r.ID] = r
	}
	for _, all := range evidence {
		for _, e := range all {
			for _, id := range e.Fits {
				if _, known := others[id]; !known {
					missing[id] = true
				}
			}
		}
	}
	read, err := l.RowsByID(ctx, slices.Sorted(maps.Keys(missing)))
	if err != nil {
		return nil, fmt.Errorf("load the rows that the evidence fits: %w", err)
	}
	maps.Copy(others, read)
	return others, nil
}

// newCandidate combines the events of one order.
func newCandidate(events []ledger.Event) Candidate {
	var c Candidate
	var newest time.Time
	for i, e := range events {
		at := cmp.Or(e.CreatedAt, e.ReceivedAt)
		product, _ := e.Product()
		if i == 0 {
			c = Candidate{Order: e.OrderID, Product: product, At: at}
		}
		if at.Before(c.At) {
			c.At = at
		}
		if product == filing.AgentChange {
			// One of the events names it.
			c.Product = product
		}
		c.Company = cmp.Or(c.Company, e.CompanyID)
		if c.Event == "" || at.After(newest) {
			newest = at
			c.Event, c.Status = e.ID, cmp.Or(e.FilingStatus, c.Status)
		}
	}
	return c
}

// Ordered names the order: "annual report and registered agent, FL 2026".
func (o *UncertainOrder) Ordered() string {
	if o.Row.Creating {
		text := "creation of " + cmp.Or(o.Company, "the company")
		if o.Assumed() {
			text += ", and " + o.order()
		}
		return text
	}
	return o.order()
}

func (o *UncertainOrder) order() string {
	order := o.Row.Request.Order
	var titles []string
	for _, p := range o.Products() {
		titles = append(titles, p.Title())
	}
	where := string(order.FilingState)
	if order.AnnualReport != nil {
		where += " " + order.AnnualReport.FilingYear
	}
	return strings.Join(titles, " and ") + ", " + where
}

// CompanyText names the company by the ID or name in the spreadsheet, and by its legal name.
func (o *UncertainOrder) CompanyText() string {
	ref := o.Row.CompanyRef()
	switch {
	case ref == "" && o.Company == "":
		return "a new one"
	case ref == "":
		return o.Company + " (new)"
	}
	return strings.TrimSpace(ref + "  " + o.Company)
}

// Products lists the sent items, one order each. An attempt leaves out the items that another row
// has bought. The creation of a company does not name the items of its order.
func (o *UncertainOrder) Products() []filing.Product {
	var sent []filing.Product
	for _, a := range o.Sent() {
		sent = append(sent, a.Products...)
	}
	sent = slices.DeleteFunc(sent, func(p filing.Product) bool { return p == filing.CompanyRecord })
	return slices.DeleteFunc(o.Row.Request.Order.Products(), func(p filing.Product) bool {
		return slices.Contains(o.Row.Dropped, p) || (len(sent) > 0 && !slices.Contains(sent, p))
	})
}

// TakesOrderIDs reports whether order IDs can be recorded for the row. If the creation of the row's
// company is uncertain, no order was sent yet, unless the row is assumed to be sent.
func (o *UncertainOrder) TakesOrderIDs() bool { return !o.Row.Creating || o.Assumed() }

// FormsCompany reports whether a company ID can be recorded for the row.
func (o *UncertainOrder) FormsCompany() bool {
	return o.Row.Creating || o.Row.Request.Order.Formation != nil
}

// Assumed reports whether the row is only assumed to have been sent, as after a restored backup. A
// row that creates its company may then have sent both requests, the creation and the order.
func (o *UncertainOrder) Assumed() bool {
	last, known := o.LastSent()
	return known && last.Supposed
}

// Sent lists the attempts that reached the service or may have reached it.
func (o *UncertainOrder) Sent() []ledger.Attempt {
	return slices.DeleteFunc(slices.Clone(o.Attempts),
		func(a ledger.Attempt) bool { return a.Outcome == filing.NotSent })
}

// LastSent returns the attempt without a known answer.
func (o *UncertainOrder) LastSent() (ledger.Attempt, bool) {
	sent := o.Sent()
	if len(sent) == 0 {
		return ledger.Attempt{}, false
	}
	return sent[len(sent)-1], true
}

// Accept returns the resolution that assigns a candidate to the row.
func (o *UncertainOrder) Accept(c Candidate) *Resolution {
	r := &Resolution{Order: o, OrderIDs: []string{c.Order}}
	if o.FormsCompany() && filing.IsCompanyID(c.Company) {
		r.CompanyID = c.Company
	}
	r.Objections = r.objections(Events{c.Order: c.events})
	return r
}

// AcceptOnly returns the resolution that assigns the row's only candidate. It returns nil if the
// row has another candidate, or if the order also fits other rows.
func (o *UncertainOrder) AcceptOnly() *Resolution {
	if len(o.Candidates) != 1 || o.MoreCandidates > 0 || o.Candidates[0].Others > 0 || len(o.Products()) != 1 {
		return nil
	}
	return o.Accept(o.Candidates[0])
}

// String describes the candidate: "order_81, annual report, submitted, first reported 2026-03-01
// 12:30:15 UTC; also matches row 9 of batch b7k2".
func (c Candidate) String() string {
	text := c.Order + ", " + c.Description()
	const named = 3
	for i, r := range c.Also {
		switch {
		case i == 0:
			text += fmt.Sprintf("; also matches row %d of batch %s", r.Number, r.Batch)
		case i < named:
			text += fmt.Sprintf(", row %d of batch %s", r.Number, r.Batch)
		}
	}
	if more := c.Beyond(named); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Description describes the candidate without its ID and the rows that it fits, because the page
// shows these as links.
func (c Candidate) Description() string {
	text := cmp.Or(c.Product.Title(), "a filing")
	if c.Status != "" {
		text += ", " + c.Status
	}
	if c.Company != "" {
		text += ", company " + c.Company
	}
	return text + ", first reported " + c.At.UTC().Format("2006-01-02 15:04:05 MST")
}

// Beyond counts the other rows that the order fits beyond the first few of Also.
func (c Candidate) Beyond(few int) int { return max(0, c.Others-min(few, len(c.Also))) }
