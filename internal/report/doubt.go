package report

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
)

// Doubts is what is known of uncertain rows. The ledger is one.
type Doubts interface {
	UncertainRows(ctx context.Context, batch string) ([]ledger.Row, error)
	UncertainPage(ctx context.Context, batch string, after int64, limit int) (rows []ledger.Row, total int, err error)
	AttemptsOf(ctx context.Context, rows []int64) (map[int64][]ledger.Attempt, error)
	Evidence(ctx context.Context, rows []int64) (of map[int64][]*ledger.Evidence, more map[int64]int, err error)
	RowsByID(ctx context.Context, ids []int64) (map[int64]ledger.Row, error)
	CompanyNames(ctx context.Context, rows []ledger.Row) (map[int64]string, error)
}

// Doubt is an uncertain row with what is known instead of its answer.
type Doubt struct {
	Row       ledger.Row
	Company   string // its legal name; empty where nobody told it
	Attempts  []ledger.Attempt
	Evidence  []Evidence // the nearest in time to its attempt first
	More      int        // further orders that may be the row's
	Dashboard string     // where a person sees the company's orders; signs in whoever has it
	NoLink    string     // why there is no Dashboard
}

// Evidence is an order that nobody knows and that may be the row's.
type Evidence struct {
	Order   string // order_<id>
	Event   string // evt_<id>; the newest that tells of the order
	Product filing.Product
	Status  string // the service's word
	Company string // comp_<id>; empty where no event told it
	At      time.Time
	Also    []ledger.Row // other uncertain rows that the order fits, the first of them
	Others  int          // how many others there are in all
}

// Uncertain gathers the uncertain rows of a batch, or of all batches for "".
func Uncertain(ctx context.Context, l Doubts, batch string) ([]Doubt, error) {
	rows, err := l.UncertainRows(ctx, batch)
	if err != nil {
		return nil, fmt.Errorf("gather the uncertain rows: %w", err)
	}
	return doubtsOf(ctx, l, rows)
}

// UncertainPage gathers a page of them: those behind the row after, by Row.ID (0
// for the first page), and how many there are in all.
func UncertainPage(ctx context.Context, l Doubts, batch string, after int64,
	limit int) (page []Doubt, total int, err error) {
	rows, total, err := l.UncertainPage(ctx, batch, after, limit)
	if err != nil {
		return nil, 0, fmt.Errorf("gather the uncertain rows: %w", err)
	}
	page, err = doubtsOf(ctx, l, rows)
	return page, total, err
}

// doubtsOf gathers what is known of rows, in a few readings whatever their number.
func doubtsOf(ctx context.Context, l Doubts, rows []ledger.Row) ([]Doubt, error) {
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	evidence, more, err := l.Evidence(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("gather the evidence: %w", err)
	}
	others, err := othersOf(ctx, l, rows, evidence)
	if err != nil {
		return nil, err
	}
	names, err := l.CompanyNames(ctx, rows)
	if err != nil {
		return nil, fmt.Errorf("name the companies of uncertain rows: %w", err)
	}
	attempts, err := l.AttemptsOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	doubts := make([]Doubt, len(rows))
	for i, r := range rows {
		doubts[i] = Doubt{Row: r, Company: names[r.ID], Attempts: attempts[r.ID], More: more[r.ID]}
		for _, found := range evidence[r.ID] {
			e := byOrder(found.Events)[0]
			e.Others = found.Rows - 1
			for _, id := range found.Fits {
				if id != r.ID {
					e.Also = append(e.Also, others[id])
				}
			}
			doubts[i].Evidence = append(doubts[i].Evidence, e)
		}
	}
	return doubts, nil
}

// othersOf are the rows that some evidence fits, by id.
func othersOf(ctx context.Context, l Doubts, rows []ledger.Row,
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
		return nil, fmt.Errorf("gather the rows that evidence fits: %w", err)
	}
	maps.Copy(others, read)
	return others, nil
}

// byOrder makes one piece of evidence of all that was told of an order.
func byOrder(events []ledger.Event) []Evidence {
	var all []Evidence
	newest := make(map[string]time.Time)
	for _, e := range events {
		at := cmp.Or(e.CreatedAt, e.ReceivedAt)
		product, _ := e.Product()
		i := slices.IndexFunc(all, func(known Evidence) bool { return known.Order == e.OrderID })
		if i < 0 {
			i = len(all)
			all = append(all, Evidence{Order: e.OrderID, Product: product, At: at})
		}
		known := &all[i]
		if at.Before(known.At) {
			known.At = at
		}
		if product == filing.AgentChange {
			known.Product = product // one of its events said so
		}
		known.Company = cmp.Or(known.Company, e.CompanyID)
		if known.Event == "" || at.After(newest[e.OrderID]) {
			newest[e.OrderID] = at
			known.Event, known.Status = e.ID, cmp.Or(e.FilingStatus, known.Status)
		}
	}
	return all
}

// Ordered says what is in doubt: "annual report and registered agent, FL 2026".
func (d *Doubt) Ordered() string {
	if d.Row.Creating {
		text := "creation of " + cmp.Or(d.Company, "the company")
		if d.Supposed() {
			text += ", and " + d.order()
		}
		return text
	}
	return d.order()
}

func (d *Doubt) order() string {
	o := d.Row.Request.Order
	var titles []string
	for _, p := range d.Products() {
		titles = append(titles, p.Title())
	}
	where := string(o.FilingState)
	if o.AnnualReport != nil {
		where += " " + o.AnnualReport.FilingYear
	}
	return strings.Join(titles, " and ") + ", " + where
}

// Products are the items that were sent: one order each.
func (d *Doubt) Products() []filing.Product {
	return slices.DeleteFunc(d.Row.Request.Order.Products(),
		func(p filing.Product) bool { return slices.Contains(d.Row.Dropped, p) })
}

// FormsCompany reports whether an id of a company belongs to the row's answer.
func (d *Doubt) FormsCompany() bool {
	return d.Row.Creating || d.Row.Request.Order.Formation != nil
}

// classes are the outcomes of attempts in plain words.
var classes = map[filing.AnswerKind]string{
	filing.NotSent:     "not sent",
	filing.Accepted:    "accepted",
	filing.Unreadable:  "an answer that cannot be read",
	filing.NoAnswer:    "no answer",
	filing.ServerError: "the service failed",
	filing.Busy:        "the service was busy",
	filing.NoFunds:     "the balance was too low",
	filing.KeyRefused:  "the API key was refused",
	filing.HasItem:     "the service had it already",
	filing.Refused:     "refused",
}

// Supposed reports whether nobody saw the row being sent: a person supposes it,
// as after a restored backup. One that creates its company may have done both
// then, the creation and the order.
func (d *Doubt) Supposed() bool {
	last, known := d.last()
	return known && last.Supposed
}

// Sent lists the attempts that reached the service, or may have.
func (d *Doubt) Sent() []ledger.Attempt {
	return slices.DeleteFunc(slices.Clone(d.Attempts), func(a ledger.Attempt) bool { return a.Class == filing.NotSent })
}

// AnswerText says what came of an attempt: "the service failed (HTTP 502): bad gateway".
func AnswerText(a ledger.Attempt) string {
	if a.Supposed {
		return filing.HideSSNs(a.Message)
	}
	text := cmp.Or(classes[a.Class], string(a.Class))
	if a.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", a.Status)
	}
	message := a.Message
	for _, class := range []string{
		"sent, and no answer came: ", "not sent: ",
	} { // an earlier version recorded it there, too
		message = strings.TrimPrefix(message, class)
	}
	if message != "" {
		text += ": " + message
	}
	return filing.HideSSNs(text)
}

// String tells of the order: "order_81, annual report, submitted, first heard
// of 2026-03-01 12:30:15 UTC; it fits row 9 too".
func (e Evidence) String() string {
	text := e.Order + ", " + cmp.Or(e.Product.Title(), "a filing")
	if e.Status != "" {
		text += ", " + e.Status
	}
	if e.Company != "" {
		text += ", of " + e.Company
	}
	text += ", first heard of " + e.At.UTC().Format("2006-01-02 15:04:05 MST")
	const named = 3
	for i, r := range e.Also {
		switch {
		case i == 0:
			text += fmt.Sprintf("; it fits row %d of batch %s", r.Number, r.Batch)
		case i < named:
			text += fmt.Sprintf(", row %d of batch %s", r.Number, r.Batch)
		}
	}
	switch more := e.Others - named; {
	case more > 0:
		text += fmt.Sprintf(" and %d more, too", more)
	case e.Others > 0:
		text += ", too"
	}
	return text
}
