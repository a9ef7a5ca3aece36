package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/money"
)

// An event of an order that the ledger does not know may be the missing answer
// to an attempt in doubt. It tells the product and the time, and little else:
// whether it names the company is not shown in the spec.
//
// It settles a row by itself only where nothing else can be meant: the order
// fits no other row, the row fits no other order, and no answer that could
// bring the same order is still out. Anything less is offered to a person.
const (
	// clockSkew is how far the service's clock may be behind ours.
	clockSkew = time.Minute
	// evidenceFor is how long after an attempt an order may first be heard of
	// and still settle the row by itself, where it does not name the company.
	evidenceFor = 24 * time.Hour
)

// Settled is an uncertain row that an event settled by itself.
type Settled struct {
	Event, Order string
	Row          int64
	Batch        string
	Number       int
}

// doubtful is a row that may own an order nobody knows.
type doubtful struct {
	row          int64
	batch        string
	number       int
	product      filing.Product
	company      string
	began, ended int64 // the attempt in doubt; ended is 0 while the answer is out
	open         bool  // its answer may still come: it keeps others from being settled
	nameless     int64 // the item that has no order id yet; 0 where the row has no items
}

// stranger is an order that nobody knows, and what was first told of it.
type stranger struct {
	order, orderType, event, company string
	product                          filing.Product
	at                               int64
}

// fits reports whether the order can be the row's.
func (d doubtful) fits(s stranger) bool {
	return d.product == s.product && s.at >= d.began-clockSkew.Milliseconds() &&
		(s.company == "" || d.company == "" || s.company == d.company)
}

// soon reports whether the order was heard of early enough to be told from one
// that somebody made by hand later.
func (d doubtful) soon(s stranger) bool {
	return s.company != "" && s.company == d.company || s.at <= d.ended+evidenceFor.Milliseconds()
}

// The rows that an unknown order may belong to: those in doubt, those whose
// answer is still out, and those placed whose order id was never told. The
// appointment of an agent is not among the last: no event tells of it.
const (
	doubtBegan    = `COALESCE((SELECT MIN(started_at) FROM attempts a WHERE a.row = r.id AND a.class IN ('unreadable', 'no-answer', 'server-error')), r.updated_at)`
	doubtEnded    = `COALESCE((SELECT MAX(ended_at) FROM attempts a WHERE a.row = r.id AND a.class IN ('unreadable', 'no-answer', 'server-error')), r.updated_at)`
	selectDoubt   = `SELECT r.id, r.batch, r.number, p.product, r.company, ` + doubtBegan + `, ` + doubtEnded
	ofClaims      = ` FROM rows r JOIN purchases p ON p.row = r.id AND p.bought = 0 WHERE r.creating = 0 AND `
	readUncertain = selectDoubt + `, 0, 0` + ofClaims + `r.result = 'uncertain'`
	readRetried   = selectDoubt + `, 1, 0` + ofClaims + `r.result = 'ready' AND r.doubt <> 0`
	readPlacing   = `SELECT r.id, r.batch, r.number, p.product, r.company, r.updated_at, 0, 1, 0` + ofClaims + `r.result = 'placing'`
	readNameless  = selectDoubt + `, 0, p.id FROM items p JOIN rows r ON r.id = p.row WHERE p.order_id = '' AND p.product <> 'registered-agent' AND r.result = 'placed'`
	readStrangers = `e.state = 'unknown' AND e.type = '` + filing.StatusChanged + `' ORDER BY e.order_id, e.created_at`
)

// strangers gathers the orders that nobody knows, by what was told of them.
func strangers(events []Event) []stranger {
	var all []stranger
	for _, e := range events {
		product, known := e.Product()
		if !known {
			continue
		}
		at := cmp.Or(millis(e.CreatedAt), millis(e.ReceivedAt))
		last := len(all) - 1
		if last < 0 || all[last].order != e.OrderID {
			all = append(all, stranger{order: e.OrderID, orderType: e.OrderType, event: e.ID, product: product, company: e.CompanyID, at: at})
			continue
		}
		s := &all[last]
		if at < s.at {
			s.at, s.event = at, e.ID
		}
		if product == filing.AgentChange {
			s.product = product // one of its events said so
		}
		s.company = cmp.Or(s.company, e.CompanyID)
	}
	return all
}

func (a *applier) doubtful(query string) ([]doubtful, error) {
	var all []doubtful
	err := drain(a.tx.QueryContext(a.ctx, query))(func(scan func(...any) error) error {
		var d doubtful
		err := scan(&d.row, &d.batch, &d.number, &d.product, &d.company, &d.began, &d.ended, &d.open, &d.nameless)
		all = append(all, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the rows in doubt: %w", err)
	}
	return all, nil
}

// settle lets events of unknown orders settle the rows that they fit.
func (a *applier) settle(c *control) ([]Settled, error) {
	events, err := a.l.events(a.ctx, a.tx, readStrangers)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	orders := strangers(events)
	var rows []doubtful
	for _, query := range []string{readUncertain, readRetried, readPlacing, readNameless} {
		more, err := a.doubtful(query)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	var settled []Settled
	for _, s := range orders {
		at := slices.IndexFunc(rows, func(d doubtful) bool { return d.fits(s) })
		if at < 0 {
			continue
		}
		d := rows[at]
		switch {
		case d.open || !d.soon(s):
			continue
		case slices.ContainsFunc(rows[at+1:], func(other doubtful) bool { return other.fits(s) }):
			continue
		case slices.ContainsFunc(orders, func(other stranger) bool { return other.order != s.order && d.fits(other) }):
			continue
		}
		if err := a.own(c, d, s); err != nil {
			return nil, err
		}
		settled = append(settled, Settled{Event: s.event, Order: s.order, Row: d.row, Batch: d.batch, Number: d.number})
	}
	return settled, nil
}

// own makes an order that nobody knew a row's own.
func (a *applier) own(c *control, d doubtful, s stranger) error {
	if d.nameless == 0 {
		g := &groupWriter{l: a.l, ctx: a.ctx, tx: a.tx, c: c, now: a.now}
		err := g.resolve(d.row, func(row *standing) error {
			row.message, row.doubt = "placed: no answer came, but the service told of the order "+s.order+" (event "+s.event+"), which can only be this row's", false
			g.placed(row, []string{s.order}, map[string]filing.Product{s.order: s.product})
			return nil
		})
		if err != nil {
			return fmt.Errorf("settle row %d by the event %s: %w", d.row, s.event, err)
		}
		return nil
	}
	return a.exec([]statement{
		{"name an order", `UPDATE items SET order_id = v.order_id, order_type = v.type {{v}} WHERE items.id = v.id AND items.order_id = ''`,
			columns{"id bigint", "order_id text", "type text"}, []record{{d.nameless, s.order, s.orderType}}},
		{"hand events to their order", wakeEvents, columns{"order_id text"}, []record{{s.order}}},
	})
}

// placed settles an uncertain row's order as made. What an order id is of is
// told by its event, or else by its place; an item without an id waits for the
// event that tells it.
func (g *groupWriter) placed(s *standing, orderIDs []string, of map[string]filing.Product) {
	left := make([]filing.Product, 0, len(s.claims))
	for _, p := range s.claims {
		if !p.bought {
			left = append(left, p.product)
		}
	}
	take := func(p filing.Product) bool {
		at := slices.Index(left, p)
		if at >= 0 {
			left = slices.Delete(left, at, at+1)
		}
		return at >= 0
	}
	items := make([]Item, len(orderIDs))
	for i, id := range orderIDs {
		items[i] = Item{OrderID: id}
		if p := of[id]; p != "" && take(p) {
			items[i].Product = p
		}
	}
	for i := range items {
		if items[i].Product == "" && len(left) > 0 {
			items[i].Product = left[0]
			left = left[1:]
		}
	}
	for _, p := range left {
		items = append(items, Item{Product: p})
	}
	g.move(s, filing.Placed)
	g.post(s, money.Cost{Amount: s.held, AtLeast: s.cost.AtLeast})
	g.buy(s, "")
	g.addItems(s, items)
}

// resolve changes one uncertain row.
func (g *groupWriter) resolve(row int64, decide func(*standing) error) error {
	if err := g.readAll([]*transition{{outcome: &Outcome{Row: row}}}); err != nil {
		return err
	}
	s, ok := g.rows[row]
	switch {
	case !ok:
		return ErrNotFound
	case s.result != filing.Uncertain:
		return fmt.Errorf("%w: it is %s", ErrTransition, s.result)
	}
	if err := decide(s); err != nil {
		return err
	}
	return g.writeAll()
}

// Evidence lists the events of orders that nobody knows and that may be the
// row's, the nearest in time to its attempt first.
func (l *Ledger) Evidence(ctx context.Context, row int64) ([]Event, error) {
	var fitting []Event
	tx, err := l.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("look for evidence: %w", err)
	}
	defer tx.Rollback()
	a := &applier{l: l, ctx: ctx, tx: tx}
	rows, err := a.doubtful(readUncertain + fmt.Sprintf(" AND r.id = %d", row))
	if err != nil {
		return nil, err
	}
	events, err := l.events(ctx, tx, readStrangers)
	if err != nil {
		return nil, err
	}
	orders := strangers(events)
	for _, d := range rows {
		for _, e := range events {
			at := slices.IndexFunc(orders, func(s stranger) bool { return s.order == e.OrderID })
			if at >= 0 && d.fits(orders[at]) {
				fitting = append(fitting, e)
			}
		}
	}
	if len(rows) > 0 {
		slices.SortStableFunc(fitting, func(x, y Event) int {
			return cmp.Or(cmp.Compare(distance(x, rows[0].began), distance(y, rows[0].began)), strings.Compare(x.OrderID, y.OrderID))
		})
	}
	return fitting, nil
}

func distance(e Event, began int64) int64 {
	d := cmp.Or(millis(e.CreatedAt), millis(e.ReceivedAt)) - began
	return max(d, -d)
}
