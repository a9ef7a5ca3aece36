package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// An event of an order that the ledger does not know (an orphan event) may be
// the missing answer to an uncertain attempt. It may also be of an order that a
// person made by hand, of one that another ledger made, or of a renewal that
// the filing service made. It names the product and the time, and little else:
// the spec does not show whether it names the company.
//
// It resolves a row without a person only if no other match is possible: see
// certain; the order fits no other row, the row fits no other order, and no
// answer that could name the same order is still out. Anything less is shown to
// a person as a possible order.
const (
	// clockSkew is how far the service's clock may be behind ours, or ahead of it.
	clockSkew = time.Minute
	// The first event of an order comes this soon after the attempt that made
	// it. Otherwise the order may be another ordering party's: sooner if it
	// does not name the company.
	evidenceFor      = 2 * time.Minute
	namedEvidenceFor = 24 * time.Hour
	// orphanEventsFor is how long an orphan order speaks against another one of
	// its kind: another party orders from the same account.
	orphanEventsFor = 24 * time.Hour
	// quiet is how long an event waits for others that would make it ambiguous:
	// if another party places orders of the kind, more events come.
	quiet = 3 * time.Second
)

// ResolvedByEvent is an uncertain row that an event resolved without a person.
type ResolvedByEvent struct {
	Event, Order string
	Row          int64
	Batch        string
	Number       int
}

// possibleOwner is a row that may own an orphan order.
type possibleOwner struct {
	row          int64
	batch        string
	number       int
	product      filing.Product
	company      string
	state        filing.State
	year         string
	began, ended int64 // the uncertain attempt; ended is 0 while the answer is out
	assumed      bool  // the begin of the attempt is assumed: it may be days long
	main         bool  // the product is what the row is about: its agent's order alone tells little
	// its answer may still come, or it has one and was sent twice: it keeps
	// others from being resolved
	open     bool
	nameless int64 // the item that has no order id yet; 0 where the row has no items
}

// orphanEvent is an order that no row owns, with what its events say.
type orphanEvent struct {
	order, orderType, event, company string
	product                          filing.Product
	state                            filing.State
	year                             string
	at                               int64  // the time of its first event, by the filing service's clock
	status                           string // it had then
	heard                            int64  // when that came in
}

// fits reports whether the order can be the row's.
func (d possibleOwner) fits(s orphanEvent) bool {
	return d.product == s.product && s.at >= d.began-clockSkew.Milliseconds() &&
		agree(s.company, d.company) && agree(s.state, d.state) && agree(s.year, d.year)
}

// agree reports whether two facts are the same where both are known.
func agree[T ~string](a, b T) bool { return a == "" || b == "" || a == b }

// certain reports whether an order that fits is new enough to be told from all
// others: it has only just been made, as the attempt was.
func (d possibleOwner) certain(s orphanEvent, now int64) bool {
	within, silence := evidenceFor, quiet
	named := s.company != "" && s.company == d.company
	if named {
		within, silence = namedEvidenceFor, 0
	}
	// An attempt that ended only when its process was found dead may have been
	// over for days.
	seen := !d.assumed && (d.nameless != 0 || d.ended-d.began <= evidenceFor.Milliseconds())
	return (named || seen) && (d.main || d.nameless != 0) && progress(s.status) <= progress("pending") &&
		s.at <= d.ended+within.Milliseconds() && s.heard <= now-silence.Milliseconds()
}

// The rows that an orphan order may belong to: uncertain ones, those whose
// answer is still out, placed ones whose order id is not known, and those that
// were answered when they were sent again, after an uncertain attempt that may
// have made an order as well. The appointment of an agent is no possible owner: no
// event reports it. Source: spec section 6.
const (
	uncertainAttempt = `a.row = r.id AND a.class IN ('unreadable', 'no-answer', 'server-error')`
	selectBegan      = `SELECT r.id, r.batch, r.number, p.product, r.company, r.request,
			COALESCE((SELECT MIN(a.started_at) FROM attempts a WHERE ` + uncertainAttempt + `), r.updated_at)`
	selectCandidates = selectBegan + `, COALESCE((SELECT MAX(a.ended_at) FROM attempts a WHERE ` + uncertainAttempt +
		`), r.updated_at),
			CASE WHEN EXISTS (SELECT 1 FROM attempts a WHERE a.row = r.id AND a.try = r.tries AND a.owner = '` +
		assumedOwner + `') THEN 1 ELSE 0 END`
	ofClaims = ` FROM rows r JOIN purchases p ON p.row = r.id AND p.bought = 0
		WHERE p.product <> 'registered-agent' AND r.creating = 0 AND `
	readUncertain = selectCandidates + `, 0, 0` + ofClaims + `r.result = 'uncertain'`
	readRetried   = selectCandidates + `, 1, 0` + ofClaims + `r.result = 'ready' AND r.doubt <> 0`
	readPlacing   = `SELECT r.id, r.batch, r.number, p.product, r.company, r.request, r.updated_at, 0, 0, 1, 0` +
		ofClaims + `r.result = 'placing'`
	readNameless = selectBegan + `,
			COALESCE((SELECT MAX(a.ended_at) FROM attempts a WHERE a.row = r.id), r.updated_at), 0, 0, p.id
		FROM items p JOIN rows r ON r.id = p.row
		WHERE p.order_id = '' AND p.product <> 'registered-agent' AND r.result = 'placed'`
	readSentTwice = selectCandidates +
		`, 1, 0
			FROM (SELECT DISTINCT a.row FROM attempts a WHERE a.class IN ('unreadable', 'no-answer', 'server-error')
				AND a.ended_at >= $1) d
			JOIN rows r ON r.id = d.row
			JOIN (SELECT row, product FROM purchases UNION SELECT row, product FROM items) p ON p.row = r.id
			WHERE p.product <> 'registered-agent' AND r.creating = 0 AND r.result NOT IN ('uncertain', 'placing')
			AND r.doubt = 0 AND r.tries > 1
			AND NOT EXISTS (SELECT 1 FROM items i WHERE i.row = r.id AND i.product = p.product AND i.order_id = '')`
	readOrphanEvents = `e.state = 'unknown' AND e.type = '` + filing.StatusChanged +
		`' AND e.received_at BETWEEN $1 AND $2 ORDER BY e.order_id, e.created_at, e.seq`
)

// orphanEvents groups events by their orders, which no row owns.
func orphanEvents(events []Event) []orphanEvent {
	var all []orphanEvent
	for _, e := range events {
		product, known := e.Product()
		if !known {
			continue
		}
		at := e.made() // one out of the future proves nothing
		last := len(all) - 1
		if last < 0 || all[last].order != e.OrderID {
			all = append(all, orphanEvent{order: e.OrderID, product: product, at: at + 1})
			last++
		}
		s := &all[last]
		if at < s.at {
			s.at, s.event, s.status, s.heard = at, e.ID, e.FilingStatus, toMillis(e.ReceivedAt)
		}
		if product == filing.AgentChange {
			s.product = product // one of its events said so
		}
		s.orderType, s.company = cmp.Or(s.orderType, e.OrderType), cmp.Or(s.company, e.CompanyID)
		s.state, s.year = cmp.Or(s.state, e.FilingState), cmp.Or(s.year, e.FilingYear)
	}
	return all
}

func (db *database) listPossibleOwners(ctx context.Context, q querier, query string,
	args ...any) ([]possibleOwner, error) {
	var all []possibleOwner
	rows, err := q.QueryContext(ctx, query, args...)
	err = each(rows, err, func(scan func(...any) error) error {
		var d possibleOwner
		var request string
		if err := scan(&d.row, &d.batch, &d.number, &d.product, &d.company, &request, &d.began, &d.ended, &d.assumed,
			&d.open, &d.nameless); err != nil {
			return err
		}
		var r filing.Request
		if request != "" {
			if err := json.Unmarshal([]byte(request), &r); err != nil {
				return fmt.Errorf("read the request of row %d: %w", d.row, err)
			}
		}
		d.state = r.Order.FilingState
		if all := r.Order.Products(); len(all) > 0 {
			d.main = d.product == all[0]
		}
		if d.company == "" && filing.IsCompanyID(r.Company.Ref) {
			d.company = r.Company.Ref
		}
		if r.Order.AnnualReport != nil && d.product == filing.AnnualReport {
			d.year = r.Order.AnnualReport.FilingYear
		}
		all = append(all, d)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the uncertain rows: %w", err)
	}
	return all, nil
}

// match is an order and the one row that it can be of.
type match struct {
	row   possibleOwner
	order orphanEvent
}

// findCertain finds the orphan orders that can only belong to one row. It reads
// without a lock: a match is checked again under the lock before it is resolved.
func (db *database) findCertain(ctx context.Context, q querier, now int64) ([]match, error) {
	var rows []possibleOwner
	for _, query := range []string{readUncertain, readNameless} {
		more, err := db.listPossibleOwners(ctx, q, query)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	// Only rows sent lately can be resolved by an event, and only by one that
	// came since.
	latest := now - namedEvidenceFor.Milliseconds()
	oldest := now
	for _, d := range rows {
		if d.ended >= latest {
			oldest = min(oldest, d.began)
		}
	}
	if oldest == now {
		return nil, nil
	}
	events, err := db.listOrphanEvents(ctx, q, oldest-orphanEventsFor.Milliseconds(), now)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	orders := orphanEvents(events)
	for _, other := range []struct {
		query string
		args  []any
	}{{readRetried, nil}, {readPlacing, nil}, {readSentTwice, []any{latest}}} {
		more, err := db.listPossibleOwners(ctx, q, other.query, other.args...)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	var matches []match
	for _, s := range orders {
		at := slices.IndexFunc(rows, func(d possibleOwner) bool { return d.fits(s) })
		if at < 0 {
			continue
		}
		d := rows[at]
		switch {
		case d.open || !d.certain(s, now):
			continue
		case slices.ContainsFunc(rows[at+1:], func(other possibleOwner) bool { return other.fits(s) }):
			continue
		case slices.ContainsFunc(orders, func(other orphanEvent) bool {
			named := s.company != "" && s.company == d.company
			return other.order != s.order && (d.fits(other) || !named && other.product == s.product)
		}):
			continue
		case slices.ContainsFunc(matches, func(m match) bool { return m.row.row == d.row }):
			continue // another order of the row: at the next look, when its items are there
		}
		matches = append(matches, match{d, s})
	}
	return matches, nil
}

// resolveByEvents resolves the rows that orphan events fit, each in a change of
// its own: one that fails does not affect the others.
func (db *database) resolveByEvents(ctx context.Context) (resolved []ResolvedByEvent, err error) {
	tx, err := db.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelSerializable})
	if err != nil {
		return nil, fmt.Errorf("find the orders of uncertain rows: %w", err)
	}
	matches, err := db.findCertain(ctx, tx, toMillis(db.now()))
	if err := errors.Join(err, tx.Rollback()); err != nil {
		return nil, err
	}
	for _, m := range matches {
		failed := db.change(ctx, func(tx *sql.Tx, c *control) error {
			return (&applier{db: db, ctx: ctx, tx: tx, now: toMillis(db.now())}).giveOrphanOrder(c, m.row, m.order)
		})
		if errors.Is(failed, ErrOrderTaken) || errors.Is(failed, ErrTransition) {
			// Another process was quicker. The events of an order that a row
			// owns by now are that row's.
			failed = db.change(ctx, func(tx *sql.Tx, _ *control) error {
				return db.exec(ctx, tx, reopenEvents+
					` AND EXISTS (SELECT 1 FROM items i WHERE i.order_id = v.order_id)`,
					[]record{{text("order_id", m.order.order)}})
			})
			if failed == nil {
				continue
			}
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("resolve row %d by the event %s: %w", m.row.row, m.order.event, failed))
			continue
		}
		resolved = append(resolved, ResolvedByEvent{
			Event:  m.order.event,
			Order:  m.order.order,
			Row:    m.row.row,
			Batch:  m.row.batch,
			Number: m.row.number,
		})
	}
	return resolved, err
}

// giveOrphanOrder gives an orphan order to a row.
func (a *applier) giveOrphanOrder(c *control, d possibleOwner, s orphanEvent) error {
	if d.nameless == 0 {
		g := a.db.newGroupWriter(a.ctx, a.tx, c, a.now)
		return g.resolve(d.row, nil, func(row *rowState) error {
			if _, err := g.productsOf(row, []string{s.order}); err != nil {
				return err // it may have become another row's since
			}
			message := "placed: no answer came, but the filing service reported the order " + s.order + " (event " +
				s.event +
				"), which can only be this row's"
			switch {
			case s.product == filing.Formation && s.company != "":
				row.company = s.company
			case s.product == filing.Formation:
				message += "; it does not name the company that was formed: importer resolve mark BATCH:ROW placed " +
					"--company does"
			}
			g.recordPlaced(row, []string{s.order}, map[string]filing.Product{s.order: s.product}, message)
			return nil
		})
	}
	return a.exec([]statement{
		{"name an order", `UPDATE items
			SET order_id = v.order_id, order_type = v.type {{v}}
			WHERE items.id = v.id AND items.order_id = ''
			AND NOT EXISTS (SELECT 1 FROM items i WHERE i.order_id = v.order_id)`,
			[]record{{number("id", d.nameless), text("order_id", s.order), text("type", s.orderType)}}},
		{"record the rows of events", reopenEvents, []record{{text("order_id", s.order)}}},
	})
}

// recordPlaced decides that an uncertain row's order was made. The product of an
// order id follows from its event, or else from its position; an item without
// an id waits for the event that names it.
func (g *groupWriter) recordPlaced(s *rowState, orderIDs []string, of map[string]filing.Product, message string) {
	state := filing.Fold(s.attempts, filing.AttemptLimits{})
	g.recordPlacedAs(s, orderIDs, of, state.Open, nil, s.expectedCost(), message)
}

// expectedCost is what an order of the row costs where nothing but its reservation is
// known.
func (s *rowState) expectedCost() money.Cost {
	return money.Cost{Amount: s.reserved, Certainty: s.cost.Certainty}
}

// recordPlacedAs decides it where the products that are left to have an order, or their
// cost, are known otherwise, and something besides is known to be made.
func (g *groupWriter) recordPlacedAs(s *rowState, orderIDs []string, of map[string]filing.Product,
	left []filing.Product,
	besides []filing.Purchase, cost money.Cost, message string) {
	left = slices.SortedFunc(slices.Values(left), filing.CompareProducts) // as the page lists them
	if len(orderIDs) < len(left) {
		// The items without an id may have cost nothing.
		cost.Certainty = max(cost.Certainty, money.Estimated)
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
	made := slices.Clone(besides)
	// The whole cost is booked on the first item.
	for _, i := range items {
		if i.Product != "" {
			made = append(made, filing.Purchase{Product: i.Product, OrderID: i.OrderID, Cost: cost})
			cost.Amount = 0
		}
	}
	g.decide(s, filing.DecidedPlaced, made, message)
	g.addItems(s, items)
}

// resolve changes one uncertain row.
func (g *groupWriter) resolve(row int64, known []Claim, decide func(*rowState) error) error {
	if err := g.readAll([]*transition{{outcome: &Outcome{Row: row, Known: known}}}); err != nil {
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

// listOrphanEvents lists the events of orphan orders that arrived between two
// times, without their bodies, by order.
func (db *database) listOrphanEvents(ctx context.Context, q querier, from, to int64) ([]Event, error) {
	return readEvents(ctx, q, bodiless, readOrphanEvents, []any{from, to})
}

// Evidence is an orphan order that may be a row's.
type Evidence struct {
	Events []Event // all its events, without the bodies, the oldest first
	Fits   []int64 // the uncertain rows that it fits, the first of them: no more than maxEvidence
	Rows   int     // how many it fits
}

// maxEvidence is how many orders are named for a row, and rows for an order: the
// nearest in time, and the first. A person cannot look at more.
const maxEvidence = 20

// Evidence finds the orphan orders that may belong to some uncertain rows: for
// each row the nearest in time to its attempt first, and how many more there
// are. It takes two queries, however many rows there are.
func (l *Ledger) Evidence(ctx context.Context, rows []int64) (of map[int64][]*Evidence, more map[int64]int, err error) {
	of, more = make(map[int64][]*Evidence), make(map[int64]int)
	var some bool
	err = l.read.QueryRowContext(ctx,
		`SELECT EXISTS (
			SELECT 1 FROM (SELECT received_at FROM events WHERE state = 'unknown' ORDER BY received_at LIMIT 1) AS u)`).
		Scan(&some)
	if err != nil || !some || len(rows) == 0 {
		return of, more, err
	}
	// Of all rows: an order may fit others than those that are asked for.
	uncertain, err := l.listPossibleOwners(ctx, l.read, readUncertain+` ORDER BY r.id`)
	if err != nil {
		return nil, nil, err
	}
	wanted := make(map[int64]bool, len(rows))
	for _, id := range rows {
		wanted[id] = true
	}
	asked, began := make(map[int64][]*possibleOwner), int64(math.MaxInt64)
	for i := range uncertain {
		if d := &uncertain[i]; wanted[d.row] {
			asked[d.row] = append(asked[d.row], d)
			began = min(began, d.began)
		}
	}
	if len(asked) == 0 {
		return of, more, nil
	}
	events, err := l.listOrphanEvents(ctx, l.read, began-clockSkew.Milliseconds(), math.MaxInt64)
	if err != nil {
		return nil, nil, err
	}
	told := make(map[string]*Evidence)
	for _, e := range events {
		if told[e.OrderID] == nil {
			told[e.OrderID] = new(Evidence)
		}
		told[e.OrderID].Events = append(told[e.OrderID].Events, e)
	}
	orders := orphanEvents(events)
	shown := make(map[int]bool) // orders, by index
	for row, all := range asked {
		fitting := fittingOrders(orders, all)
		more[row] = max(len(fitting)-maxEvidence, 0)
		for _, i := range fitting[:min(len(fitting), maxEvidence)] {
			shown[i] = true
			of[row] = append(of[row], told[orders[i].order])
		}
	}
	for i := range shown {
		told[orders[i].order].addFits(orders[i], uncertain)
	}
	return of, more, nil
}

// fittingOrders returns the indexes of the orders that fit a row, given as its
// possible owners: the nearest in time to its attempt first.
func fittingOrders(orders []orphanEvent, row []*possibleOwner) []int {
	var fitting []int
	for i := range orders {
		if slices.ContainsFunc(row, func(d *possibleOwner) bool { return d.fits(orders[i]) }) {
			fitting = append(fitting, i)
		}
	}
	slices.SortFunc(fitting, func(x, y int) int {
		return cmp.Or(cmp.Compare(distance(orders[x].at, row[0].began), distance(orders[y].at, row[0].began)),
			strings.Compare(orders[x].order, orders[y].order))
	})
	return fitting
}

// addFits adds the rows that the order fits. The owners come row by row.
func (e *Evidence) addFits(order orphanEvent, owners []possibleOwner) {
	last := int64(0)
	for i := range owners {
		d := &owners[i]
		if d.row == last || !d.fits(order) {
			continue
		}
		last = d.row
		if len(e.Fits) < maxEvidence {
			e.Fits = append(e.Fits, d.row)
		}
		e.Rows++
	}
}

func distance(at, began int64) int64 { return max(at-began, began-at) }
