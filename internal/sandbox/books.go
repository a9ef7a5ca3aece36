package sandbox

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Books is a copy of the service's counters and orders. Amounts are in cents.
type Books struct {
	Opening   int64 `json:"openingCents"`
	Deposited int64 `json:"depositedCents"`
	Charged   int64 `json:"chargedCents"`
	// Balance is Opening + Deposited − Charged.
	Balance int64 `json:"balanceCents"`

	// Orders are sorted from the oldest to the newest.
	Orders []Order `json:"orders"`

	// Requests counts requests by endpoint, such as "POST /orders".
	Requests map[string]int `json:"requests"`
	// Lookups counts GET requests by path.
	Lookups map[string]int `json:"lookups"`
	// Refused counts refusals by status, without faults.
	Refused map[int]int `json:"refused"`
	// Faults counts the faults that fired, by name.
	Faults map[string]int `json:"faults"`
}

// Books returns a copy of the current books.
func (s *Service) Books() Books {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := Books{
		Opening:   s.cfg.OpeningBalance,
		Deposited: s.balance + s.charged - s.cfg.OpeningBalance,
		Charged:   s.charged,
		Balance:   s.balance,
		Orders:    make([]Order, len(s.orderBook.orders)),
		Requests:  maps.Clone(s.requests),
		Lookups:   maps.Clone(s.lookups),
		Refused:   maps.Clone(s.refused),
		Faults:    maps.Clone(s.faultsFired),
	}
	for i, o := range s.orderBook.orders {
		b.Orders[i] = *o
		b.Orders[i].Items = slices.Clone(o.Items)
	}
	return b
}

// Items returns all purchases, oldest first, without agent service that was already active.
func (b Books) Items() []Item {
	var items []Item
	for _, o := range b.Orders {
		for _, i := range o.Items {
			if !i.Existing {
				items = append(items, i)
			}
		}
	}
	return items
}

// Duplicate is one filing that was bought more than once.
type Duplicate struct {
	Key      string   `json:"key"`
	OrderIDs []string `json:"orderIds"`
}

// Duplicates lists the filings bought more than once, without canceled ones, in the order of their
// first purchase. The service refuses neither a second annual report nor a second formation, so a
// test finds them here.
func (b Books) Duplicates() []Duplicate {
	at := make(map[string]int)
	var bought []Duplicate
	for _, i := range b.Items() {
		if i.Status == canceled {
			continue
		}
		key := i.Key()
		n, seen := at[key]
		if !seen {
			n = len(bought)
			at[key] = n
			bought = append(bought, Duplicate{Key: key})
		}
		bought[n].OrderIDs = append(bought[n].OrderIDs, i.ID)
	}
	return slices.DeleteFunc(bought, func(d Duplicate) bool { return len(d.OrderIDs) < 2 })
}

// Key identifies the filing of an item. Repeated purchases have the same key.
func (i Item) Key() string {
	switch i.Product {
	case annualReport:
		return fmt.Sprintf("annual report %s %s %s", i.CompanyID, i.State, i.Year)
	case ein:
		return "EIN " + i.CompanyID
	case formation:
		name := strings.Join(strings.Fields(strings.ToLower(i.LegalName)), " ")
		return fmt.Sprintf("formation %s %q %s", i.UserID, name, i.State)
	}
	return fmt.Sprintf("%s %s %s", strings.ReplaceAll(i.Product, "_", " "), i.CompanyID, i.State)
}

// requestLog counts the requests and keeps the violations.
type requestLog struct {
	*core
	violations []Violation
	// requests counts requests by endpoint.
	requests map[string]int
	// lookups counts lookups by path.
	lookups map[string]int
	// refused counts refusals by status.
	refused map[int]int
}

// Violation is a request that the spec forbids.
type Violation struct {
	At time.Time `json:"at"`
	// Rule names the broken rule: "4.9" is order rule 9 of section 4.
	Rule    string `json:"rule"`
	Message string `json:"message"`
	Status  int    `json:"status"`
	Method  string `json:"method"`
	Path    string `json:"path"`
	Body    []byte `json:"-"`
	// Hidden marks a rule that a client cannot check, because it depends on records that no
	// endpoint shows, such as the agent on record.
	Hidden bool `json:"hidden"`
}

func (v Violation) String() string {
	return fmt.Sprintf("%s %s: %d: rule %s: %s", v.Method, v.Path, v.Status, v.Rule, v.Message)
}

// maxViolations bounds the memory that a client uses that fails in a loop.
const maxViolations = 10_000

// Violations returns the requests that the spec forbids, oldest first, up to the first 10,000.
func (l *requestLog) Violations() []Violation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.violations)
}

// recordRefusal records a refused request. The caller holds the lock.
func (l *requestLog) recordRefusal(c *call, r *refusal) {
	l.refused[r.status]++
	for _, p := range r.problems {
		if len(l.violations) == maxViolations {
			return
		}
		l.violations = append(l.violations, Violation{
			At:      l.cfg.Now(),
			Rule:    p.rule,
			Message: p.message,
			Status:  r.status,
			Hidden:  p.hidden,
			Method:  c.request.Method,
			Path:    c.request.URL.Path,
			Body:    c.raw,
		})
	}
}
