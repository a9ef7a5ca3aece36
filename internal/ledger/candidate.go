package ledger

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// An event of an order that the ledger does not know (an orphan event) may be the missing answer to
// an uncertain attempt. The order may also have been made by a person or by another ledger, or it
// may be a renewal by the filing service. The event names the product and the time, and little
// else: the spec does not show whether it names the company. Therefore it never resolves a row, but
// a person sees it as a possible order.

// clockSkew is the assumed maximum difference between the filing service's clock and ours, in
// either direction.
const clockSkew = time.Minute

// possibleOwner is an uncertain row that may own an orphan order, for one of its ordered products.
type possibleOwner struct {
	row     int64
	product filing.Product
	company string
	state   filing.State
	year    string
	// began is the time of the first uncertain attempt, in Unix milliseconds.
	began int64
}

// orphanEvent is an order that no row owns, with the facts of its events.
type orphanEvent struct {
	order, company string
	product        filing.Product
	state          filing.State
	year           string
	// at is the time of its first event by the filing service's clock, in Unix milliseconds.
	at int64
}

// fits reports whether the order can belong to the row.
func (d possibleOwner) fits(s orphanEvent) bool {
	return d.product == s.product && s.at >= d.began-clockSkew.Milliseconds() &&
		agree(s.company, d.company) && agree(s.state, d.state) && agree(s.year, d.year)
}

// agree reports whether two facts are equal or at least one of them is unknown.
func agree[T ~string](a, b T) bool { return a == "" || b == "" || a == b }

const (
	// The appointment of an agent is left out, because no event reports it. Source: spec section 6.
	readPossibleOwners = `SELECT r.id AS row, p.product, r.company, r.request,
			COALESCE((SELECT MIN(a.started_at) FROM attempts a
				WHERE a.row = r.id AND a.outcome IN ('unreadable', 'no-answer', 'server-error')), r.updated_at) AS began
		FROM rows r JOIN purchases p ON p.row = r.id AND p.bought = 0
		WHERE p.product <> 'registered-agent' AND r.creating = 0 AND r.result = 'uncertain' ORDER BY r.id`
	readOrphanEvents = `e.state = 'unknown' AND e.type = '` + filing.StatusChanged +
		`' AND e.received_at BETWEEN $1 AND $2 ORDER BY e.order_id, e.created_at, e.seq`
)

// orphanEvents groups the events of orphan orders by order.
func orphanEvents(events []Event) []orphanEvent {
	var all []orphanEvent
	for _, e := range events {
		product, known := e.Product()
		if !known {
			continue
		}
		last := len(all) - 1
		if last < 0 || all[last].order != e.OrderID {
			all = append(all, orphanEvent{order: e.OrderID, product: product, at: e.made()})
			last++
		}
		s := &all[last]
		s.at = min(s.at, e.made())
		if product == filing.AgentChange {
			s.product = product // one of its events names the change of agent
		}
		s.company = cmp.Or(s.company, e.CompanyID)
		s.state, s.year = cmp.Or(s.state, e.FilingState), cmp.Or(s.year, e.FilingYear)
	}
	return all
}

func (db *database) listPossibleOwners(ctx context.Context) ([]possibleOwner, error) {
	rows, err := store.List[struct {
		Row     int64
		Product filing.Product
		Company string
		Request *filing.Request
		Began   int64
	}](ctx, db.Read, "list the uncertain rows", readPossibleOwners)
	all := make([]possibleOwner, len(rows))
	for i, r := range rows {
		d := possibleOwner{row: r.Row, product: r.Product, company: r.Company, began: r.Began}
		if r.Request != nil {
			d.state = r.Request.Order.FilingState
			if d.company == "" && filing.IsCompanyID(r.Request.Company.Ref) {
				d.company = r.Request.Company.Ref
			}
			if r.Request.Order.AnnualReport != nil && d.product == filing.AnnualReport {
				d.year = r.Request.Order.AnnualReport.FilingYear
			}
		}
		all[i] = d
	}
	return all, err
}

// listOrphanEvents lists the events of orphan orders that arrived between two times, without their
// bodies and sorted by order.
func (db *database) listOrphanEvents(ctx context.Context, from, to int64) ([]Event, error) {
	return db.listBodilessEvents(ctx, readOrphanEvents, from, to)
}

// Evidence is an orphan order that may belong to a row.
type Evidence struct {
	// Events are all events of the order, the oldest first, without their bodies.
	Events []Event
	// Fits are the uncertain rows that the order fits, at most the first maxEvidence.
	Fits []int64
	// Rows is the total number of rows that the order fits.
	Rows int
}

// maxEvidence limits the orders that are named for a row to the nearest in time, and the rows that
// are named for an order to the first. A person cannot review more.
const maxEvidence = 20

// Evidence finds the orphan orders that may belong to some uncertain rows. It returns for each row
// the orders nearest in time to its attempt, the nearest first, and the number of further ones. It
// takes two queries regardless of the number of rows.
func (l Resolutions) Evidence(ctx context.Context, rows []int64) (of map[int64][]*Evidence,
	more map[int64]int, err error) {
	of, more = make(map[int64][]*Evidence), make(map[int64]int)
	var some bool
	err = l.Read.QueryRowContext(ctx,
		`SELECT EXISTS (
			SELECT 1 FROM (SELECT received_at FROM events WHERE state = 'unknown' ORDER BY received_at LIMIT 1) AS u)`).
		Scan(&some)
	if err != nil || !some || len(rows) == 0 {
		return of, more, err
	}
	// All uncertain rows are read, because an order may also fit rows that were not requested.
	uncertain, err := l.listPossibleOwners(ctx)
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
	events, err := l.listOrphanEvents(ctx, began-clockSkew.Milliseconds(), math.MaxInt64)
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

// fittingOrders returns the indexes of the orders that fit a row, the nearest in time to its
// attempt first. The row is given as its possible owners.
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

// addFits adds the rows that the order fits. The owners must be sorted by row.
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
