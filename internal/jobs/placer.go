package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/lookup"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Service is the part of the filing service that the placer uses.
type Service interface {
	lookup.Service
	// BreakerState returns the state of the breaker of orders, without a request.
	BreakerState() filingapi.BreakerState
	PlaceOrder(context.Context, *filing.Order) filing.Answer
	CreateCompany(context.Context, filing.NewCompany) filing.Answer
}

// Placer sends the orders of ready rows and records the answers. The handlers of a Worker use it.
type Placer struct {
	service  Service
	ledger   *ledger.Ledger
	prices   *priceCache
	resolver *lookup.Resolver
	state    *sendState
	failures *failureLog
	// slots limits the orders in flight.
	slots    chan struct{}
	throttle *lookup.Throttle
	now      func() time.Time
	log      *slog.Logger

	unrecorded unrecordedAnswers
	// onUnrecorded is Config.Unrecorded.
	onUnrecorded func(*Unrecorded)
}

// NewPlacer returns a placer without a queue. It ignores the fields Queue, Batch and DrainTimeout.
func NewPlacer(c Config) *Placer {
	c = c.withDefaults()
	state := &sendState{breaker: c.Service, now: c.Now}
	return &Placer{
		service:  c.Service,
		ledger:   c.Ledger,
		prices:   newPriceCache(c.Quoter, c.Prices, c.Now, c.Log),
		state:    state,
		failures: &failureLog{log: c.Log},
		now:      c.Now,
		log:      c.Log,
		slots:    make(chan struct{}, c.Concurrency),
		throttle: c.Throttle,
		resolver: lookup.NewResolver(c.Service, lookup.Config{
			Ledger:      c.Ledger,
			Concurrency: c.Concurrency,
			Throttle:    c.Throttle,
			Breaker:     state,
			Now:         c.Now,
		}),
		onUnrecorded: c.Unrecorded,
	}
}

// Place places those of the rows that may still be sent. They are resolved concurrently and sent as
// slots become free. Every outcome is in the ledger when Place returns. No more orders are sent once
// ctx has ended.
func (p *Placer) Place(ctx context.Context, ids []int64) {
	rows, err := p.ledger.Backlog().LoadSendable(ctx, ids)
	if err == nil && len(rows) > 0 {
		err = p.resolver.Load(ctx, rows)
	}
	if err != nil {
		p.failures.report(ctx, "load rows", err)
		return
	}
	var placing sync.WaitGroup
	defer placing.Wait()
	batches := make(map[string]ledger.Batch)
	for _, row := range rows {
		if ctx.Err() != nil || !p.state.mayOrder() {
			break
		}
		b, known := batches[row.Batch]
		if !known {
			if b, err = p.ledger.Batch(ctx, row.Batch); err != nil {
				p.failures.report(ctx, "load rows", err)
				return
			}
			batches[row.Batch] = b
		}
		placing.Go(func() {
			if err := p.place(ctx, row, b.Repetition()); err != nil {
				p.failures.report(ctx, "place row", err, "batch", row.Batch, "row", row.Number, "row_id", row.ID)
			}
		})
	}
}

// place sends the row's order once, unless the ledger or a look-up prevents it. repetition is the
// batch's, see ledger.Batch.Repetition. place returns errors of the ledger only, because every
// failure of the filing service is an answer.
func (p *Placer) place(ctx context.Context, row ledger.Row, repetition string) error {
	userID, company, err := p.resolve(ctx, &row)
	if err != nil {
		return p.recordLookupError(ctx, row, err)
	}
	if company.ID == "" && row.Request.CreatesCompany() {
		return p.create(ctx, row, userID)
	}
	quoter, err := p.prices.get(ctx, p.resolver.Lookup)
	if err != nil {
		return p.recordLookupError(ctx, row, err)
	}
	order, sheet := row.Left(userID, company.ID), row.Request.Company.Sheet
	var notes []string
	for _, d := range row.Request.Differences(company) {
		if d.Column == filing.EntityTypeColumn || d.Column == filing.FormationStateColumn {
			notes = append(notes, d.Message)
		}
	}
	for {
		if order, notes, err = p.dropBought(ctx, row, order, repetition, notes); err != nil {
			return err
		}
		facts := pricing.FactsOf(company, sheet)
		r := request{left: order, notes: notes}
		var rest filing.Order
		r.order, rest = order.First()
		r.quote, r.rest = quoter.Quote(&r.order, facts), rest.Products()
		r.earlier = r.quote
		if row.Request.Order.Formation != nil && !row.Uncertain {
			r.earlier = quoter.Quote(&row.Request.Order, facts)
		}
		if len(r.rest) > 0 {
			r.restCost = quoter.Quote(&rest, facts).Total
		}
		err := p.send(ctx, row, &r, repetition)
		var duplicate *duplicateItemError
		if !errors.As(err, &duplicate) {
			return err
		}
		order = order.Drop(duplicate.product)
		notes = append(notes, duplicate.note)
		if duplicate.company != "" {
			if company, err = p.findFormed(ctx, &row, duplicate.company); err != nil {
				return p.recordLookupError(ctx, row, err)
			}
			order.CompanyID = company.ID
		}
	}
}

// request is one of the requests for the order of a row.
type request struct {
	// left are the items of this request and of later ones.
	left filing.Order
	// order is the body of this request.
	order filing.Order
	quote pricing.Quote
	// earlier is the quote of an earlier request that may have ordered the item of a 409.
	earlier pricing.Quote
	// rest are the products of later requests.
	rest     []filing.Product
	restCost money.Cost
	// notes are added to the message of the row.
	notes []string
}

// send sends a request once. It returns a *duplicateItemError if another row has bought one of the
// items.
func (p *Placer) send(ctx context.Context, row ledger.Row, r *request, repetition string) error {
	full, err := p.unseal(ctx, row, &r.order)
	sealed := errors.Is(err, store.ErrSealed)
	switch {
	case sealed && !row.Uncertain:
		return p.recordLookupError(ctx, row, lookup.Reject("the Social Security number was sealed with another key, "+
			"or is gone: run the sheet with the number again"))
	case err != nil && !sealed:
		return err
	}
	intent := orderIntent(&row, &r.order, repetition)
	intent.Cost, intent.Rest, intent.RestCost = r.quote.Total, r.rest, r.restCost
	begun, err := p.attempt(ctx, intent,
		func(ctx context.Context) filing.Answer {
			if sealed {
				return filing.Answer{Kind: filing.NotSent, Message: err.Error()}
			}
			return p.service.PlaceOrder(ctx, full)
		},
		func(attempt int, a filing.Answer) error {
			outcome := p.outcomeOf(row, r, intent.Claims, attempt, a)
			if sealed {
				// The order cannot be sent again, and whether it was placed is unknown.
				outcome.Repeatable, outcome.Exhausted, outcome.Message = false, true, sealedMessage
			}
			return p.recordOutcome(row, outcome, r.notes)
		})
	if err == nil && len(begun.Taken) > 0 {
		return p.handleDuplicate(ctx, row, r, begun.Taken[0])
	}
	if err == nil && begun.Dearer {
		p.log.Info("row waits for approval", "batch", row.Batch, "row", row.Number, "row_id", row.ID,
			"cost", r.quote.Total.String(), "approved", row.Approved.String())
	}
	return err
}

const sealedMessage = "sent without an answer, and it cannot be sent again, for the Social Security number was " +
	"sealed with another key, or is gone: check the company's dashboard, then resolve the row (importer resolve, or " +
	"Uncertain on the page)"

// unseal returns the order with the Social Security number.
func (p *Placer) unseal(ctx context.Context, row ledger.Row, order *filing.Order) (*filing.Order, error) {
	if order.EIN == nil || order.EIN.ResponsiblePartyIsForeign {
		return order, nil
	}
	ssn, err := p.ledger.Unseal(ctx, row)
	if err != nil {
		return nil, err
	}
	full, ein := *order, *order.EIN
	ein.ResponsiblePartySSN = ssn
	full.EIN = &ein
	return &full, nil
}

// attempt writes the intent (the write-ahead record of an order), sends the order, and records the
// answer. It takes a slot before the intent, so a crash leaves at most as many rows uncertain as
// there are slots. If nothing was sent, the result has the reason.
func (p *Placer) attempt(ctx context.Context, intent ledger.Intent, send func(context.Context) filing.Answer,
	recordAnswer func(attempt int, a filing.Answer) error) (begun ledger.Begun, err error) {
	if !p.state.mayOrder() {
		return begun, nil
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return begun, nil
	}
	release := sync.OnceFunc(func() { <-p.slots })
	defer release()
	// Take the token after the slot. Tokens taken before would all be used at once when slots
	// become free.
	if p.throttle.Wait(ctx) != nil {
		return begun, nil
	}
	if !p.state.mayOrder() {
		p.throttle.Release()
		return begun, nil
	}
	begun, err = p.ledger.Begin(context.WithoutCancel(ctx), intent)
	if err != nil || begun.Attempt == 0 {
		p.throttle.Release()
		if begun.Halted.Reason != filing.NoHalt {
			p.state.setHalt(begun.Halted)
		}
		return begun, err
	}

	// From here on the filing service may have the order, so an answer is recorded in any case,
	// and Ctrl-C waits for it. The slot becomes free with the answer, before it is recorded.
	answer := filing.Answer{Kind: filing.NoAnswer, Message: "sending was interrupted"}
	defer func() {
		switch answer.Kind {
		case filing.KeyRefused, filing.NoFunds, filing.Busy:
			// The answer halts the fleet. The next order must find the halt recorded.
		default:
			release()
		}
		err = errors.Join(err, recordAnswer(begun.Attempt, answer))
	}()
	if !p.ledger.Fleet().MaySend() {
		answer = filing.Answer{
			Kind:    filing.NotSent,
			Message: "this process was suspended before it could send the order",
		}
		return begun, nil
	}
	answer = send(filingapi.OnlyIf(context.WithoutCancel(ctx), p.ledger.Fleet().MaySend))
	p.state.observeOrder(answer.Kind)
	return begun, nil
}

// recordLookupError records why a row's user, company or prices prevent its order.
func (p *Placer) recordLookupError(ctx context.Context, row ledger.Row, err error) error {
	if m := (*lookup.Mismatch)(nil); errors.As(err, &m) {
		return p.holdBack(ctx, row, m)
	}
	var failed *lookup.Error
	switch {
	case ctx.Err() != nil, errors.Is(err, lookup.ErrHalted):
		return nil
	case !errors.As(err, &failed):
		return err
	case errors.Is(err, filingapi.ErrKeyRefused):
		return p.ledger.Fleet().RecordKeyRefused(ctx, failed.Message)
	case errors.Is(err, filingapi.ErrBusy):
		return p.ledger.Fleet().RecordBusy(ctx, failed.After)
	}
	deferral := ledger.Deferral{
		Row:     row.ID,
		Of:      row.InBatch(),
		Next:    failed.Next,
		Message: failed.Message,
		Wait:    failed.Wait,
	}
	if failed.Next == filing.Ready {
		deferral.Due = p.now().Add(failed.After)
	}
	return p.deferRow(ctx, deferral)
}

// holdBack records that a row names another company than its Company ID.
func (p *Placer) holdBack(ctx context.Context, row ledger.Row, m *lookup.Mismatch) error {
	b, err := p.ledger.Batch(ctx, row.Batch)
	if err != nil {
		return err
	}
	p.log.Warn("row held back", "batch", row.Batch, "row", row.Number, "row_id", row.ID, "company", m.Record.ID,
		"reason", m.Error())
	return p.ledger.RecordReview(ctx, b.ID, []ledger.Reviewed{m.Review(b, &row)})
}

// deferRow records a decision about a row that is not sent. The decision of another process wins
// if it was faster.
func (p *Placer) deferRow(ctx context.Context, d ledger.Deferral) error {
	err := p.ledger.Defer(ctx, d)
	if errors.Is(err, ledger.ErrTransition) {
		return nil
	}
	return err
}

// rowRef names another row in a message of a row.
func rowRef(row, other ledger.Row) string {
	if row.Batch == other.Batch {
		return fmt.Sprintf("row %d", other.Number)
	}
	return fmt.Sprintf("row %d of batch %s", other.Number, other.Batch)
}

// IntentFor returns the intent (the write-ahead record) with which a row would be sent now. It
// orders the row's items without the dropped ones. If companyID is empty and the row describes a
// company, it creates the company.
func IntentFor(row ledger.Row, b ledger.Batch, userID, companyID string) ledger.Intent {
	var in ledger.Intent
	if companyID == "" && row.Request.CreatesCompany() {
		in = creationIntent(&row, userID)
	} else {
		order, rest := ledger.Sent(row.Left(userID, companyID))
		in = orderIntent(&row, &order, b.Repetition())
		in.Rest = rest
	}
	in.Cost = money.Cost{Amount: row.Cost.Amount - row.Spent.Amount, Certainty: row.Cost.Certainty}
	return in
}

// orderIntent returns the intent of an order, without its cost and the products of later orders.
func orderIntent(row *ledger.Row, order *filing.Order, repetition string) ledger.Intent {
	return ledger.Intent{
		Row:         row.ID,
		Of:          row.InBatch(),
		LastAttempt: row.LastAttempt,
		Company:     order.CompanyID,
		Claims:      ledger.ClaimsOf(order, repetition),
	}
}

// creationIntent returns the intent to create the company that a row describes.
func creationIntent(row *ledger.Row, userID string) ledger.Intent {
	key := row.Request.Company.Sheet.ForUser(userID).Key()
	return ledger.Intent{
		Row:         row.ID,
		Of:          row.InBatch(),
		LastAttempt: row.LastAttempt,
		Claims:      []ledger.Claim{{Product: filing.CompanyRecord, Key: key}},
		Creating:    true,
		Rest:        row.Request.Order.Products(),
	}
}
