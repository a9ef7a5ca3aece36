package ledger

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Ordered is what was ordered.
type Ordered struct {
	Product filing.Product
	// Key is empty if the filing service named an item that the row did not order.
	Key filing.Key
}

// keyPart returns a part of the key, counted from its end.
func (o Ordered) keyPart(fromEnd int) string {
	parts := strings.Split(string(o.Key), "|")
	return parts[max(len(parts)-fromEnd, 0)]
}

// State returns the state of the filing. It is empty for an EIN.
func (o Ordered) State() filing.State {
	switch o.Product {
	case filing.EIN:
		return ""
	case filing.AnnualReport:
		return filing.State(o.keyPart(2))
	}
	return filing.State(o.keyPart(1))
}

// Year returns the year of an annual report, and 0 for other products.
func (o Ordered) Year() int {
	if o.Product != filing.AnnualReport {
		return 0
	}
	year, _ := strconv.Atoi(o.keyPart(1))
	return year
}

// OpenOrder is a placed order without a final status.
type OpenOrder struct {
	Ordered
	Item    int64
	Row     int64
	Batch   string
	Number  int
	OrderID string
	Company string
	// Status is the service's term for the status of the filing.
	Status   string
	PlacedAt time.Time
	// NewsAt is the time of the answer to the order, or of the newest event.
	NewsAt time.Time
	// Priority is the due date by which a schedule placed the order, as in the package balance.
	Priority int64
}

// MaxOpenOrders is the most orders that ListOpenOrders returns.
const MaxOpenOrders = 10_000

// ListOpenOrders lists the oldest open orders without news since a time. An empty batch means all.
// It leaves out appointments of agents, which have no status, and orders with an exception, which
// need attention anyway. Source: spec section 6.
func (l Attention) ListOpenOrders(ctx context.Context, batch string, before time.Time) ([]OpenOrder, error) {
	return store.List[OpenOrder](ctx, l.Read, "list open orders", `SELECT i.id AS item, r.id AS "row", r.batch,
			r.number, i.product, COALESCE(p.key, '') AS key, i.order_id, r.company_name AS company,
			i.filing_status AS status, i.created_at AS placed_at, r.updated_at AS news_at, r.priority
		FROM items i JOIN rows r ON r.id = i.row AND r.result = 'placed'
		LEFT JOIN purchases p ON p.row = i.row AND p.product = i.product AND p.bought = 1
		WHERE i.filing_status <> 'filed' AND lower(i.filing_status) NOT IN ('canceled', 'cancelled')
			AND i.exception = 0 AND i.product <> 'registered-agent'
			AND r.updated_at < $1 AND ($2 = '' OR r.batch = $2)
		ORDER BY i.id LIMIT $3`, store.ToMillis(before), batch, MaxOpenOrders)
}

// FilingTime is the time from an order to the state's acceptance of the filing.
type FilingTime struct {
	Ordered
	Millis int64
}

// ListFilingTimes lists the times of the newest filings.
func (l Attention) ListFilingTimes(ctx context.Context) ([]FilingTime, error) {
	return store.List[FilingTime](ctx, l.Read, "list how long filings take", `SELECT i.product,
			COALESCE(p.key, '') AS key, i.reported_at - i.created_at AS millis
		FROM (SELECT * FROM items WHERE filing_status = 'filed' AND reported_at > created_at
			ORDER BY id DESC LIMIT $1) AS i
		LEFT JOIN purchases p ON p.row = i.row AND p.product = i.product AND p.bought = 1`, MaxOpenOrders)
}

// EventFacts tell whether the filing service is expected to send events.
type EventFacts struct {
	// Endpoint reports whether a webhook endpoint is registered.
	Endpoint bool
	// Last is the arrival of the newest event. Zero if there is none.
	Last time.Time
}

// FindEventFacts finds whether events are expected.
func (l Attention) FindEventFacts(ctx context.Context) (EventFacts, error) {
	return store.Find[EventFacts](ctx, l.Read, nil, "find the newest event",
		`SELECT EXISTS (SELECT 1 FROM endpoints) AS endpoint,
			COALESCE((SELECT received_at FROM events ORDER BY seq DESC LIMIT 1), 0) AS last`)
}
