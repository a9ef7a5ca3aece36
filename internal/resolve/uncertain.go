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

// UncertainOrder is a row that was sent and not confirmed, with everything that
// helps to decide whether it was placed. The workbook, the page and the commands
// all show this one.
type UncertainOrder struct {
	Row            ledger.Row
	Company        string // its legal name; empty where it is not known
	Attempts       []ledger.Attempt
	Candidates     []Candidate // the nearest in time to the row's attempt first
	MoreCandidates int         // further ones, which are not listed
}

// Candidate is an order that the service reported, that belongs to no row, and
// that may be the row's.
type Candidate struct {
	Order   string // order_<id>
	Event   string // evt_<id>; the newest about the order
	Product filing.Product
	Status  string // the service's word
	Company string // comp_<id>; empty where no event names it
	At      time.Time
	Also    []ledger.Row // other uncertain rows that the order fits, the first of them
	Others  int          // how many others there are in all

	events []ledger.Event // all that the service reported about the order
}

// ListUncertain lists the uncertain orders of a batch, or of all batches for "".
func ListUncertain(ctx context.Context, l *ledger.Ledger, batch string) ([]*UncertainOrder, error) {
	rows, err := l.UncertainRows(ctx, batch)
	if err != nil {
		return nil, fmt.Errorf("list the uncertain rows: %w", err)
	}
	return loadOrders(ctx, l, rows)
}

// ListUncertainPage lists a page of them: those behind the row after, by Row.ID
// (0 for the first page), and how many there are in all.
func ListUncertainPage(ctx context.Context, l *ledger.Ledger, batch string, after int64,
	limit int) (page []*UncertainOrder, total int, err error) {
	rows, total, err := l.UncertainPage(ctx, batch, after, limit)
	if err != nil {
		return nil, 0, fmt.Errorf("list the uncertain rows: %w", err)
	}
	page, err = loadOrders(ctx, l, rows)
	return page, total, err
}

// loadOrders loads rows with their evidence, in a few queries for any number.
func loadOrders(ctx context.Context, l *ledger.Ledger, rows []ledger.Row) ([]*UncertainOrder, error) {
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	evidence, more, err := l.Evidence(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("load the evidence: %w", err)
	}
	others, err := loadOthers(ctx, l, rows, evidence)
	if err != nil {
		return nil, err
	}
	names, err := l.CompanyNames(ctx, rows)
	if err != nil {
		return nil, fmt.Errorf("load the company names of uncertain rows: %w", err)
	}
	attempts, err := l.AttemptsOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	orders := make([]*UncertainOrder, len(rows))
	var candidates []string
	for i, r := range rows {
		o := &UncertainOrder{Row: r, Company: names[r.ID], Attempts: attempts[r.ID], MoreCandidates: more[r.ID]}
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

// loadOthers loads the rows that some evidence fits, by id.
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

// newCandidate sums up the events of one order.
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
			c.Product = product // one of its events names it
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

// CompanyText names the company by the id or the name that the spreadsheet has
// for it, and by its legal name.
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

// Products lists the items that were sent, one order each. An attempt leaves out what
// another row has bought. The creation of a company does not say what its order asks for.
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

// TakesOrderIDs reports whether order ids can be recorded for the row. A row
// whose company's creation is uncertain sent no order yet, unless it is assumed.
func (o *UncertainOrder) TakesOrderIDs() bool { return !o.Row.Creating || o.Assumed() }

// FormsCompany reports whether a company id can be recorded for the row.
func (o *UncertainOrder) FormsCompany() bool {
	return o.Row.Creating || o.Row.Request.Order.Formation != nil
}

// Assumed reports whether the row is only assumed to have been sent, as after a
// restored backup. One that creates its company may have done both then: the
// creation and the order.
func (o *UncertainOrder) Assumed() bool {
	last, known := o.LastSent()
	return known && last.Supposed
}

// Sent lists the attempts that reached the service, or may have.
func (o *UncertainOrder) Sent() []ledger.Attempt {
	return slices.DeleteFunc(slices.Clone(o.Attempts), func(a ledger.Attempt) bool { return a.Class == filing.NotSent })
}

// LastSent is the attempt whose answer is not known.
func (o *UncertainOrder) LastSent() (ledger.Attempt, bool) {
	sent := o.Sent()
	if len(sent) == 0 {
		return ledger.Attempt{}, false
	}
	return sent[len(sent)-1], true
}

// Accept is the resolution that takes a candidate as the row's order.
func (o *UncertainOrder) Accept(c Candidate) *Resolution {
	r := &Resolution{Order: o, OrderIDs: []string{c.Order}}
	if o.FormsCompany() && filing.IsCompanyID(c.Company) {
		r.CompanyID = c.Company
	}
	r.Objections = r.objections(Events{c.Order: c.events})
	return r
}

// AcceptOnly is the resolution that takes the row's only candidate; nil if there is
// another, or if the order fits other rows, too.
func (o *UncertainOrder) AcceptOnly() *Resolution {
	if len(o.Candidates) != 1 || o.MoreCandidates > 0 || o.Candidates[0].Others > 0 || len(o.Products()) != 1 {
		return nil
	}
	return o.Accept(o.Candidates[0])
}

// String describes the candidate: "order_81, annual report, submitted, first
// reported 2026-03-01 12:30:15 UTC; also matches row 9 of
// batch b7k2".
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

// Description describes the candidate without its id and the rows that it fits:
// the page shows these as links.
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
