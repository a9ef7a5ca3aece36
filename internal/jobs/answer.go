package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/retry"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// maxAttempts is how often an order whose repetition is harmless is sent without a conclusive
// answer. Afterwards it is uncertain.
const maxAttempts = 8

// outcomeOf returns the outcome of a request.
func (p *Placer) outcomeOf(row ledger.Row, r *request, claims []ledger.Claim, attempt int,
	a filing.Answer) ledger.Outcome {
	outcome := ledger.Outcome{
		Row:        row.ID,
		Attempt:    attempt,
		Answer:     a,
		Claims:     claims,
		Cost:       r.quote.Total,
		Repeatable: p.ledger.Repeatable(r.order.Products()),
		Exhausted:  row.Attempts+1 >= maxAttempts,
		Due:        p.now().Add(retryAfter(a, row.Attempts)),
	}
	switch a.Kind {
	case filing.Accepted:
		outcome.Items = matchItems(&r.order, a, r.quote)
	case filing.HasItem:
		cost, parts := costOf(r.earlier, a.Has)
		outcome.Items = []ledger.Item{{Product: a.Has, Cost: cost, Parts: parts}}
		outcome.Due = time.Time{}
	}
	if r.order.Formation != nil && a.CompanyID != "" {
		outcome.Company, outcome.Known = a.CompanyID, ledger.FormedClaims(&r.order, a.CompanyID)
	}
	return outcome
}

// Unrecorded is an answer of the filing service that is not recorded because the database is
// down. If the process ends, the row becomes uncertain.
type Unrecorded struct {
	Batch   string
	Number  int
	Outcome ledger.Outcome
}

// IDs returns the IDs of the orders in the answer, or of the company that it created.
func (u *Unrecorded) IDs() []string {
	ids := orderIDs(u.Outcome.Answer.Items)
	if id := u.Outcome.Answer.CompanyID; id != "" {
		ids = append(ids, "company "+id)
	}
	return ids
}

// attributes returns the attributes of the answer for the log.
func (u *Unrecorded) attributes() []any {
	a := u.Outcome.Answer
	attributes := []any{"batch", u.Batch, "row", u.Number, "row_id", u.Outcome.Row, "attempt", u.Outcome.Attempt,
		"answer", a.Kind, "orders", orderIDs(a.Items), "company", a.CompanyID}
	if a.Detail != "" {
		attributes = append(attributes, "detail", a.Detail)
	}
	return attributes
}

// unrecordedAnswers are the answers that a process is trying to record.
type unrecordedAnswers struct {
	mu  sync.Mutex
	all []*Unrecorded
}

func (a *unrecordedAnswers) add(u *Unrecorded) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, u)
}

func (a *unrecordedAnswers) remove(u *Unrecorded) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = slices.DeleteFunc(a.all, func(o *Unrecorded) bool { return o == u })
}

// list returns the answers by batch and row.
func (a *unrecordedAnswers) list() []*Unrecorded {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.SortedFunc(slices.Values(a.all), func(a, b *Unrecorded) int {
		return cmp.Or(strings.Compare(a.Batch, b.Batch), cmp.Compare(a.Number, b.Number))
	})
}

// recordOutcome records an outcome in the ledger and retries until it succeeds. It logs the order
// IDs of an answer that cannot be recorded at once. The outcome's message, if it has one, replaces
// the message that follows from the answer and notes.
func (p *Placer) recordOutcome(row ledger.Row, outcome ledger.Outcome, notes []string) error {
	u := &Unrecorded{row.Batch, row.Number, outcome}
	// recorded has a filing.Result, or nothing if the outcome was recorded before. It is atomic
	// because the ledger calls Explain again if it writes the outcome back after a restore.
	var recorded atomic.Value
	outcome.Of = ledger.BatchRow{Batch: row.Batch, Number: row.Number}
	outcome.Explain = func(s filing.RowState) string {
		recorded.Store(s.Next())
		return cmp.Or(outcome.Message, messageFor(outcome.Answer, s, notes)+unorderedItems(outcome.Items))
	}
	attributes, failed := u.attributes(), false
	backoff := retry.Backoff{First: 50 * time.Millisecond, Max: 5 * time.Second}
	return retry.Do(context.Background(), backoff, func() (final bool, err error) {
		err = p.ledger.RecordOutcome(context.Background(), outcome)
		switch {
		case err == nil:
			p.unrecorded.remove(u)
			result, _ := recorded.Load().(filing.Result)
			p.logAnswer(outcome.Answer, append(attributes, "result", result))
			return true, nil
		case errors.Is(err, ledger.ErrNotFound), errors.Is(err, ledger.ErrTransition):
			p.log.Error("answer refused by the ledger", append(attributes, "err", err)...)
			return true, err
		}
		p.log.Error("recording an answer failed, retrying", append(attributes, "err", err)...)
		if !failed {
			failed = true
			p.unrecorded.add(u)
			if p.onUnrecorded != nil {
				p.onUnrecorded(u)
			}
		}
		return errors.Is(err, ledger.ErrClosed), err
	})
}

// logAnswer logs an answer and its result.
func (p *Placer) logAnswer(a filing.Answer, attributes []any) {
	switch {
	case a.Kind.Lost():
		p.log.Warn("answer uncertain", attributes...)
	case a.Kind == filing.NotSent:
		p.log.Debug("order not sent", attributes...)
	case !a.Kind.Counts(): // sent again, and frequent while the fleet is halted
		p.log.Debug("order answered", attributes...)
	default:
		p.log.Info("order answered", attributes...)
	}
}

// unorderedItems returns a note on the items of an answer that were not ordered.
func unorderedItems(items []ledger.Item) (note string) {
	for _, i := range items {
		if i.Product == "" {
			note += fmt.Sprintf("; the answer names %s (%s), which was not ordered: ask the filing service about it",
				i.OrderID, i.OrderType)
		}
	}
	return note
}

// retryAfter returns the wait before the next attempt of a row. Answers that halt the fleet have no
// wait.
func retryAfter(a filing.Answer, attempts int) time.Duration {
	switch a.Kind {
	case filing.NotSent:
		return 250 * time.Millisecond
	case filing.Unreadable, filing.NoAnswer, filing.ServerError:
		return min(500*time.Millisecond<<min(attempts, 7), 30*time.Second)
	}
	return 0
}

// matchItems matches the items of an answer to the ordered products. A single item of an unknown
// order type is the one product that is left. An item that was not ordered has no product and is
// recorded by its order ID.
func matchItems(order *filing.Order, a filing.Answer, quote pricing.Quote) []ledger.Item {
	left := order.Products()
	var items []ledger.Item
	var unmatched []int
	for _, item := range a.Items {
		if slices.ContainsFunc(items, func(m ledger.Item) bool { return m.OrderID == item.OrderID }) {
			continue
		}
		i := len(items)
		items = append(items, ledger.Item{
			OrderType:          item.OrderType,
			OrderID:            item.OrderID,
			FilingStatus:       item.FilingStatus,
			FilingDate:         item.FilingDate,
			SubscriptionStatus: item.SubscriptionStatus,
			Exception:          filing.ExceptionCode(0, item.FilingStatus),
		})
		product, known := filing.ProductOfType(item.OrderType)
		at := slices.IndexFunc(left, func(p filing.Product) bool {
			return known && (p == product || p == filing.AgentChange && product == filing.RegisteredAgent)
		})
		if at < 0 {
			if !known {
				unmatched = append(unmatched, i)
			}
			continue
		}
		items[i].Product = left[at]
		left = slices.Delete(left, at, at+1)
	}
	if len(unmatched) == 1 && len(left) == 1 {
		items[unmatched[0]].Product = left[0]
	}
	for i := range items {
		if items[i].Product != "" {
			items[i].Cost, items[i].Parts = costOf(quote, items[i].Product)
		}
	}
	return items
}

// costOf returns the quoted cost of one product with its parts.
func costOf(quote pricing.Quote, p filing.Product) (money.Cost, filing.CostParts) {
	for _, line := range quote.Lines {
		if line.Product == p {
			return line.Cost(), filing.CostParts{Service: line.Wholesale, State: line.StateFee}
		}
	}
	return money.Cost{}, filing.CostParts{}
}

func orderIDs(items []filing.Item) []string {
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = item.OrderID
	}
	return ids
}

// messageFor returns the message of a row in the results: what happened and what to do.
func messageFor(a filing.Answer, s filing.RowState, notes []string) string {
	reason := strings.TrimSuffix(a.Message, ".")
	var bought []filing.Product
	for _, p := range s.Bought {
		if p.Product != filing.CompanyRecord {
			bought = append(bought, p.Product)
		}
	}
	slices.SortFunc(bought, filing.CompareProducts)
	var text string
	switch {
	case s.Result == filing.Placed && a.Kind == filing.HasItem && s.HasBought(a.Has):
		text = "placed: an earlier attempt got no answer, and the filing service now says that it has the order (" +
			reason + ")"
	case s.Result == filing.Placed:
		text = "placed: " + titles(bought)
		if a.Kind == filing.HasItem {
			text += "; the filing service has the " + a.Has.Title() + " already: " + reason
		}
		if s.HasBought(filing.Formation) && a.CompanyID != "" {
			text += "; the new company is " + a.CompanyID
		}
	case a.Kind == filing.Accepted && len(s.Open) > 0:
		text = fmt.Sprintf("the filing service confirmed only a part of the order: the %s is not confirmed",
			titles(s.Open))
		if s.Result == filing.Uncertain {
			text += ". " + checkDashboard
		} else {
			text += ", and is ordered again without what is placed, which costs nothing twice"
		}
	case s.Result == "" && len(s.Rest) > 0 && a.Kind == filing.Accepted:
		text = "ordered next: " + titles(s.Rest)
	case a.Kind == filing.HasItem && len(s.Done()) > 0 && s.Result != filing.Exists && s.Result != filing.Uncertain:
		text = fmt.Sprintf("%s: %s; the rest is ordered without it", a.Has.Title(), reason)
	case s.Result == filing.Exists:
		text = "the filing service has it already: " + reason
	case s.Result == filing.Uncertain:
		text = "sent, but the filing service did not confirm it: " + reason + ". " + checkDashboard
	case a.Kind == filing.Refused:
		text = "the filing service refused it: " + a.Message
	case a.Kind == filing.NoFunds:
		text = "waits for funds: " + a.Message
	case a.Kind == filing.KeyRefused:
		text = "waits: the filing service refuses the API key"
	case a.Kind == filing.Busy:
		text = "waits: the filing service asked for a pause"
	case s.Unconfirmed:
		text = "sent without an answer; it is sent again, which costs nothing twice for this product"
	default:
		text = "not sent yet: " + a.Message
	}
	if (s.Result == filing.Placed || s.Result == filing.Exists) && len(notes) > 0 {
		text += "; " + strings.Join(notes, "; ")
	}
	return text
}

// checkDashboard is the instruction for an uncertain order.
const checkDashboard = "The order may or may not have been placed. Check the company's dashboard, then resolve the " +
	"row (importer resolve, or Uncertain on the page); it is not sent again automatically"

func titles(products []filing.Product) string {
	all := make([]string, len(products))
	for i, p := range products {
		all[i] = p.Title()
	}
	return text.List(all)
}
