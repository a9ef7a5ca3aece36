package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/retry"
)

// Event is a notification to endpoints. Every delivery has the same Body, byte for byte.
// Source: spec section 6.
type Event struct {
	ID, Type string
	OrderID  string
	At       time.Time
	Body     []byte
}

// The errors of Advance, Raise and similar calls.
var (
	ErrNoOrder     = refuse(http.StatusNotFound, "no such order")
	ErrNoCompany   = refuse(http.StatusNotFound, "no such company")
	ErrAtEnd       = errors.New("the filing does not move any further")
	ErrNoException = errors.New("not an exception of this product")
)

// The values of filingStatus. canceled is ours, because the spec mentions cancelled attempts and
// shows no value for them.
const (
	submitted = "submitted"
	pending   = "pending"
	filed     = "filed"
	canceled  = "canceled"
	// Assumption: the spec does not show how an exception is reported.
	exception = "exception"
)

// documentTypes are the documents of a filing that is filed.
// Assumption: the spec does not show the names.
var documentTypes = map[string]string{
	formation:            "articles",
	ein:                  "ein_letter",
	annualReport:         "annual_report",
	foreignQualification: "certificate",
	registeredAgent:      "state_confirmation",
}

// exceptionCodes are the exceptions by product. Registered agent service has none.
// Source: spec section 7.
var exceptionCodes = map[string][]int{
	formation: {463, 464, 465}, annualReport: {482}, ein: {483, 484}, foreignQualification: {487},
}

// filings moves the filings of orders and sends their events.
type filings struct {
	*core
	records   *records
	orders    *orderBook
	documents *documents
	webhooks  *webhooks
	events    []Event
}

// next returns the status after a filing's current one, or "" at the end.
// Source: spec section 3.
func next(item *Item) string {
	switch item.Status {
	case submitted:
		if item.Product == annualReport {
			return pending
		}
		return filed
	case pending, exception:
		return filed
	}
	return ""
}

// Advance moves a filing to status, or to its next one if status is empty. It delivers the events,
// and returns them after every endpoint was attempted once. A new agent appointment moves without
// events. A filing with an exception is cured and moves on. A status of "canceled" allows the
// filing to be ordered again, without a refund.
// Source: spec section 3.
func (f *filings) Advance(ctx context.Context, orderID, status string) ([]Event, error) {
	return f.moveFiling(ctx, orderID, func(item *Item) error {
		if item.Status = cmp.Or(status, next(item)); item.Status == "" {
			return ErrAtEnd
		}
		return nil
	})
}

// AdvanceAll advances every filing that has not reached its last status, and returns their number.
func (f *filings) AdvanceAll(ctx context.Context, status string) ([]Event, int) {
	moved := 0
	events, _ := f.publish(ctx, func() (events []Event, err error) {
		for _, o := range f.orders.orders {
			for i := range o.Items {
				item := &o.Items[i]
				if item.Existing || next(item) == "" {
					continue
				}
				moved++
				events = append(events, f.changeStatus(item, func() { item.Status = cmp.Or(status, next(item)) })...)
			}
		}
		return events, nil
	})
	return events, moved
}

// publish delivers the events of a change, which runs under the lock. It returns after every
// endpoint was attempted once.
func (f *filings) publish(ctx context.Context, change func() ([]Event, error)) ([]Event, error) {
	f.mu.Lock()
	events, err := change()
	attempted := f.webhooks.send(events...)
	f.mu.Unlock()
	f.webhooks.wait(ctx, attempted)
	return events, err
}

// Raise reports an exception of a filing, such as 482. A code of 0 selects one that fits its
// product. It returns ErrNoException for a code that the spec gives to another product, and
// ErrAtEnd for a filing at its last status.
// Source: spec section 7.
func (f *filings) Raise(ctx context.Context, orderID string, code int) ([]Event, error) {
	return f.moveFiling(ctx, orderID, func(item *Item) error {
		if next(item) == "" {
			return ErrAtEnd
		}
		return raise(item, code)
	})
}

func raise(item *Item, code int) error {
	own := exceptionCodes[item.Product]
	if code == 0 && len(own) > 0 {
		code = own[0]
	}
	known := slices.Contains(slices.Concat(slices.Collect(maps.Values(exceptionCodes))...), code)
	if code == 0 || known && !slices.Contains(own, code) {
		return fmt.Errorf("%d of %s: %w", code, item.Product, ErrNoException)
	}
	item.Status, item.Exception = exception, code
	return nil
}

func (f *filings) moveFiling(ctx context.Context, orderID string, to func(*Item) error) ([]Event, error) {
	return f.publish(ctx, func() ([]Event, error) {
		item := f.records.items[orderID]
		if item == nil {
			return nil, fmt.Errorf("move %q: %w", orderID, ErrNoOrder)
		}
		was := *item
		var err error
		events := f.changeStatus(item, func() {
			if err = to(item); err != nil {
				*item = was
			}
		})
		if err != nil {
			return nil, fmt.Errorf("move %s, which is %s: %w", orderID, was.Status, err)
		}
		return events, nil
	})
}

// changeStatus changes the status of a filing and returns its events. An exception that is not
// raised again is cured. The caller holds s.mu.
func (f *filings) changeStatus(item *Item, to func()) []Event {
	was, had := item.Status, item.Exception
	to()
	if item.Status != exception {
		item.Exception = 0
	}
	if item.Status == was && item.Exception == had {
		return nil
	}
	return f.applyStatus(item)
}

// applyStatus applies a new status to the company and returns its events.
func (f *filings) applyStatus(item *Item) []Event {
	now := f.cfg.Now()
	rec := f.records.companies[item.CompanyID]
	switch item.Status {
	case filed:
		item.FilingDate = now
		switch item.Product {
		case ein:
			rec.EIN = fmt.Sprintf("%02d-%07d", 10+hash(item.ID)%80, hash(item.ID)%10_000_000)
		case formation:
			rec.FormationDate = now.UTC().Format(time.DateOnly)
		}
		rec.UpdatedAt = stamp(now)
	case canceled:
		switch item.Product {
		case ein:
			rec.EINRequested = false
		case foreignQualification:
			delete(rec.qualified, item.State)
		case registeredAgent:
			delete(rec.Agents, item.State)
			delete(rec.service, item.State)
		}
		if item.Subscription != "" {
			item.Subscription = "canceled"
		}
	}
	events := f.eventsOf(item)
	if len(events) > 0 && item.Status == filed {
		events = append(events, f.upload(item, documentTypes[item.Product]))
	}
	return events
}

// eventsOf returns the event for a filing's current status. A new appointment has none, because
// section 6 lists only the change of agent.
func (f *filings) eventsOf(item *Item) []Event {
	if item.Product == registeredAgent && !item.Change {
		return nil
	}
	data := map[string]any{
		"orderId": item.ID, "orderType": f.cfg.OrderTypes.write(item.Product), "filingStatus": item.Status,
	}
	if !item.FilingDate.IsZero() {
		data["filingDate"] = stamp(item.FilingDate)
	}
	if item.Change {
		data["filingType"] = "change_of_agent"
	}
	if item.Exception != 0 {
		data["exceptionCode"] = item.Exception
	}
	return []Event{f.event(statusChanged, item, data)}
}

// AgentMail adds a document of registered agent mail to an order.
func (f *filings) AgentMail(ctx context.Context, orderID string) (Event, error) {
	events, err := f.publish(ctx, func() ([]Event, error) {
		item := f.records.items[orderID]
		if item == nil {
			return nil, fmt.Errorf("mail for %q: %w", orderID, ErrNoOrder)
		}
		return []Event{f.upload(item, registeredAgent)}, nil
	})
	if err != nil {
		return Event{}, err
	}
	return events[0], nil
}

func (f *filings) upload(item *Item, documentType string) Event {
	d := f.documents.addDocument(Document{CompanyID: item.CompanyID, OrderID: item.ID, Type: documentType})
	return f.event(documentUploaded, item, map[string]any{
		// Assumption: the event names the document's ID.
		"orderId": item.ID, "documentType": documentType, "documentId": d.ID,
	})
}

func (f *filings) event(kind string, item *Item, data map[string]any) Event {
	e := Event{ID: f.id("evt"), Type: kind, OrderID: item.ID, At: f.cfg.Now()}
	// Strings, numbers and stamps always encode.
	e.Body, _ = json.Marshal(map[string]any{
		"id": e.ID, "type": kind, "createdAt": stamp(e.At), "data": data,
	})
	f.events = append(f.events, e)
	return e
}

// Events returns all events so far, oldest first.
func (f *filings) Events() []Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.events)
}

// TestDelivery sends an event of a made-up order to every endpoint.
func (f *filings) TestDelivery(ctx context.Context) Event {
	item := &Item{ID: "order_test", CompanyID: "comp_test", Product: annualReport, Status: submitted}
	events, _ := f.publish(ctx, func() ([]Event, error) { return f.eventsOf(item), nil })
	return events[0]
}

// advanceByClock moves every filing one step, again and again until the service is closed.
func (f *filings) advanceByClock() {
	for retry.Sleep(f.life, f.cfg.Advance) == nil {
		f.AdvanceAll(f.life, "")
	}
}
