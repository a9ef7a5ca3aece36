package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Event is what endpoints are told. Body is delivered byte for byte, however often. Source: spec section 6.
type Event struct {
	ID, Type string
	OrderID  string
	At       time.Time
	Body     []byte
}

// Errors of Advance and its like.
var (
	ErrNoOrder = errors.New("no such order")
	ErrNoEvent = errors.New("no such event")
	ErrAtEnd   = errors.New("the filing does not move any further")
)

// filingStatus values. canceled is ours: the spec speaks of cancelled attempts and shows no value for them.
const (
	submitted = "submitted"
	pending   = "pending"
	filed     = "filed"
	canceled  = "canceled"
	exception = "exception" // Assumption: how an exception is reported is not shown
)

// documentTypes that a filing brings when it is filed. Assumption: the names are not shown in the spec.
var documentTypes = map[string]string{
	formation: "articles", ein: "ein_letter", annualReport: "annual_report", foreignQualification: "certificate",
	registeredAgent: "state_confirmation",
}

// Advance moves a filing on to status, or to its next one when status is empty, delivers the events of that, and
// returns them when every endpoint has answered. A new agent appointment moves without events. A status of "canceled"
// undoes the hold of an order on its company, so that it can be ordered again; no money comes back.
// Source: spec section 3.
func (s *Service) Advance(ctx context.Context, orderID, status string) ([]Event, error) {
	return s.move(ctx, orderID, func(item *Item) error {
		if status != "" {
			item.Status = status
			return nil
		}
		switch {
		case item.Status == submitted && item.Product == annualReport:
			item.Status = pending
		case item.Status == submitted, item.Status == pending, item.Status == exception:
			item.Status = filed
		default:
			return fmt.Errorf("advance %s, which is %s: %w", orderID, item.Status, ErrAtEnd)
		}
		return nil
	})
}

// Raise reports an exception of a filing, such as 482. Source: spec section 7.
func (s *Service) Raise(ctx context.Context, orderID string, code int) ([]Event, error) {
	return s.move(ctx, orderID, func(item *Item) error {
		item.Status, item.Exception = exception, code
		return nil
	})
}

func (s *Service) move(ctx context.Context, orderID string, change func(*Item) error) ([]Event, error) {
	s.mu.Lock()
	item := s.items[orderID]
	if item == nil {
		s.mu.Unlock()
		return nil, fmt.Errorf("move %q: %w", orderID, ErrNoOrder)
	}
	was, hadException := item.Status, item.Exception
	item.Exception = 0
	if err := change(item); err != nil {
		item.Exception = hadException
		s.mu.Unlock()
		return nil, err
	}
	var events []*Event
	if item.Status != was || item.Exception != hadException {
		events = s.settle(item)
	}
	s.mu.Unlock()
	s.deliver(ctx, events...)
	return values(events), nil
}

// settle carries a new status over to the company and returns the events that tell of it.
func (s *Service) settle(item *Item) []*Event {
	now := s.cfg.Now()
	rec := s.companies[item.CompanyID]
	switch item.Status {
	case filed:
		item.FilingDate = now
		switch item.Product {
		case ein:
			rec.EIN = fmt.Sprintf("%02d-%07d", 10+hash(item.ID)%80, hash(item.ID)%10_000_000)
		case formation:
			rec.FormationDate = now.UTC().Format(time.DateOnly)
		}
		rec.UpdatedAt = now
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
	if item.Product == registeredAgent && !item.Change {
		return nil // section 6 lists the change of agent only
	}
	data := map[string]any{
		"orderId": item.ID, "orderType": s.cfg.OrderTypes.write(item.Product), "filingStatus": item.Status,
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
	events := []*Event{s.event(statusChanged, item.ID, data)}
	if item.Status == filed {
		events = append(events, s.upload(item, documentTypes[item.Product]))
	}
	return events
}

// AgentMail lets a document of registered agent mail arrive for an order.
func (s *Service) AgentMail(ctx context.Context, orderID string) (Event, error) {
	s.mu.Lock()
	item := s.items[orderID]
	if item == nil {
		s.mu.Unlock()
		return Event{}, fmt.Errorf("mail for %q: %w", orderID, ErrNoOrder)
	}
	e := s.upload(item, registeredAgent)
	s.mu.Unlock()
	s.deliver(ctx, e)
	return *e, nil
}

func (s *Service) upload(item *Item, documentType string) *Event {
	d := s.addDocument(Document{CompanyID: item.CompanyID, OrderID: item.ID, Type: documentType})
	return s.event(documentUploaded, item.ID, map[string]any{
		"orderId": item.ID, "documentType": documentType, "documentId": d.ID, // the last is an assumption
	})
}

func (s *Service) event(kind, orderID string, data map[string]any) *Event {
	e := &Event{ID: s.id("evt"), Type: kind, OrderID: orderID, At: s.cfg.Now()}
	e.Body, _ = json.Marshal(map[string]any{ // strings, numbers and stamps always encode
		"id": e.ID, "type": kind, "createdAt": stamp(e.At), "data": data,
	})
	s.events = append(s.events, e)
	s.eventsByID[e.ID] = e
	return e
}

// Events returns all events so far, oldest first.
func (s *Service) Events() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return values(s.events)
}

// Redeliver hands an event out once more, the same bytes under the same id.
func (s *Service) Redeliver(ctx context.Context, eventID string) error {
	s.mu.Lock()
	e := s.eventsByID[eventID]
	s.mu.Unlock()
	if e == nil {
		return fmt.Errorf("redeliver %q: %w", eventID, ErrNoEvent)
	}
	s.deliver(ctx, e)
	return nil
}

// TestDelivery sends an event of a made-up order to every endpoint.
func (s *Service) TestDelivery(ctx context.Context) Event {
	s.mu.Lock()
	e := s.event(statusChanged, "order_test", map[string]any{
		"orderId": "order_test", "orderType": s.cfg.OrderTypes.write(annualReport), "filingStatus": submitted,
	})
	s.mu.Unlock()
	s.deliver(ctx, e)
	return *e
}

func values(events []*Event) []Event {
	list := make([]Event, len(events))
	for i, e := range events {
		list[i] = *e
	}
	return list
}
