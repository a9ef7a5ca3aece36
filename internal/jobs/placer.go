package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/retry"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// Service is the part of the filing service that the placer uses.
type Service interface {
	Records
	// BreakerState returns the state of the breaker of orders, without a request.
	BreakerState() filingapi.BreakerState
	PlaceOrder(context.Context, *filing.Order) filing.Answer
	UpdateCompany(ctx context.Context, id string, c filing.Company) (filing.Company, error)
	CreateUser(context.Context, filing.User) (filing.User, error)
	CreateCompany(context.Context, filing.NewCompany) filing.Answer
}

// maxAttempts is how often an order whose repetition is harmless is sent without a conclusive
// answer. Afterwards it is uncertain.
const maxAttempts = 8

// placer sends the orders of ready rows and records the answers.
type placer struct {
	service  Service
	ledger   *ledger.Ledger
	prices   *priceCache
	resolver *resolver
	state    *sendState
	// slots limits the orders in flight.
	slots    chan struct{}
	throttle Throttle
	now      func() time.Time
	log      *slog.Logger

	unrecorded unrecordedAnswers
	// warn is Config.Unrecorded.
	warn func(*Unrecorded)
}

// place sends the row's order once, unless the ledger or a look-up prevents it. It returns errors
// of the ledger only, because every failure of the filing service is an answer.
func (p *placer) place(ctx context.Context, row ledger.Row, again string) error {
	userID, company, err := p.resolver.resolve(ctx, &row)
	if m := (*mismatchError)(nil); errors.As(err, &m) {
		return p.holdBack(ctx, row, m)
	}
	if err != nil {
		return p.handleLookupError(ctx, row, err)
	}
	if company.ID == "" && row.Request.CreatesCompany() {
		return p.create(ctx, row, userID)
	}
	order := row.Left(userID, company.ID)
	quoter, err := p.prices.get(ctx, p.resolver.lookup)
	if err != nil {
		return p.handleLookupError(ctx, row, err)
	}
	notes := differences(row.Request.Company.Sheet, company)
	facts := pricing.Facts{EntityType: company.EntityType, FormationState: company.FormationState}
	for {
		var rest filing.Order
		if order, notes, err = p.dropBought(ctx, row, order, again, notes); err != nil {
			return err
		}
		r := request{left: order, notes: notes}
		r.order, rest = order.First()
		r.quote, r.rest = quoter.Quote(&r.order, facts), rest.Products()
		r.ordered = r.quote
		if row.Request.Order.Formation != nil && !row.Uncertain {
			r.ordered = quoter.Quote(&row.Request.Order, facts)
		}
		if len(r.rest) > 0 {
			r.restCost = quoter.Quote(&rest, facts).Total
		}
		err := p.send(ctx, row, &r, again)
		var duplicate *duplicateItemError
		if !errors.As(err, &duplicate) {
			return err
		}
		order = order.Drop(duplicate.product)
		notes = append(notes, duplicate.note)
		if duplicate.company != "" {
			formed, err := p.resolver.findFormed(ctx, &row, duplicate.company)
			if m := (*mismatchError)(nil); errors.As(err, &m) {
				return p.holdBack(ctx, row, m)
			}
			if err != nil {
				return p.handleLookupError(ctx, row, err)
			}
			order.CompanyID = formed.ID
			facts = pricing.Facts{EntityType: formed.EntityType, FormationState: formed.FormationState}
		}
	}
}

// dropBought drops the items from the rest of an order that other rows have bought, as the quote
// did. The intent finds the items of the first request.
func (p *placer) dropBought(ctx context.Context, row ledger.Row, order filing.Order, again string, notes []string) (
	filing.Order, []string, error) {
	_, rest := order.First()
	if len(rest.Products()) == 0 {
		return order, notes, nil
	}
	claims := ledger.ClaimsOf(&rest, again)
	held, err := p.ledger.FindPriorPurchases(ctx, claims)
	for _, c := range claims {
		if h := held[c.Key]; h.Bought && !h.Covers && !h.Canceled && h.Row != row.ID {
			order = order.Drop(c.Product)
			notes = append(notes, boughtBefore(c.Product, rowRef(row, ledger.Row{Batch: h.Batch, Number: h.Number})))
		}
	}
	return order, notes, err
}

// boughtBefore returns the note on an item that another row has bought.
func boughtBefore(product filing.Product, where string) string {
	return fmt.Sprintf("the %s was bought before (%s) and not ordered again", product.Title(), where)
}

// request is one of the requests for the order of a row.
type request struct {
	// left are the items of this request and of later ones.
	left filing.Order
	// order is the body of this request.
	order filing.Order
	quote pricing.Quote
	// ordered is the quote of an earlier request that may have ordered the item of a 409.
	ordered pricing.Quote
	// rest are the products of later requests.
	rest     []filing.Product
	restCost money.Cost
	// notes are added to the message of the row.
	notes []string
}

// differences lists the facts in which the spreadsheet differs from the record of the company. The
// state fee follows the record.
func differences(sheet, service filing.Company) []string {
	var notes []string
	for _, d := range []struct{ what, sheet, service string }{
		{"entity type", string(sheet.EntityType), string(service.EntityType)},
		{"formation state", string(sheet.FormationState), string(service.FormationState)},
	} {
		if d.sheet != "" && d.service != "" && d.sheet != d.service {
			notes = append(notes, fmt.Sprintf(
				"the spreadsheet has the %s %s, the filing service has %s; its record is used", d.what, d.sheet,
				d.service))
		}
	}
	return notes
}

// duplicateItemError is the error of an order with an item that another row has bought. The order
// is sent without the item.
type duplicateItemError struct {
	product filing.Product
	// company is the ID of the company that the other row formed.
	company string
	// note is added to the message of the row.
	note string
}

func (*duplicateItemError) Error() string { return "an item is bought already" }

// send sends a request once. It returns a *duplicateItemError if another row has bought one of the
// items.
func (p *placer) send(ctx context.Context, row ledger.Row, r *request, again string) error {
	intent := ledger.Intent{
		Row:      row.ID,
		Of:       row.InBatch(),
		Tries:    row.Tries,
		Company:  r.order.CompanyID,
		Claims:   ledger.ClaimsOf(&r.order, again),
		Cost:     r.quote.Total,
		Rest:     r.rest,
		RestCost: r.restCost,
	}
	full, err := p.unseal(ctx, row, &r.order)
	if errors.Is(err, ledger.ErrSealed) && row.Uncertain {
		// The order cannot be sent again, and whether it was placed is unknown.
		_, err := p.attempt(ctx, intent,
			func(context.Context) filing.Answer { return filing.Answer{Kind: filing.NotSent, Message: err.Error()} },
			func(try int, a filing.Answer) error {
				return p.recordOutcome(row, ledger.Outcome{
					Row:       row.ID,
					Try:       try,
					Answer:    a,
					Claims:    intent.Claims,
					Exhausted: true,
					Message: "sent without an answer, and it cannot be sent again, for the Social Security number " +
						"was sealed with another key, or is gone: check the company's dashboard, then resolve the " +
						"row (importer resolve, or Uncertain on the page)",
				})
			})
		return err
	}
	if errors.Is(err, ledger.ErrSealed) {
		return p.handleLookupError(ctx, row, &lookupError{
			next: filing.Rejected,
			message: "the Social Security number was sealed with another key, or is gone: run the sheet with the " +
				"number again",
		})
	}
	if err != nil {
		return err
	}
	begun, err := p.attempt(ctx, intent,
		func(ctx context.Context) filing.Answer { return p.service.PlaceOrder(ctx, full) },
		func(try int, a filing.Answer) error { return p.recordAnswer(row, r, intent.Claims, try, a) })
	if err == nil && len(begun.Taken) > 0 {
		return p.handleDuplicate(ctx, row, r, begun.Taken[0])
	}
	if err == nil && begun.Dearer {
		p.log.Info("row waits for approval", "batch", row.Batch, "row", row.Number, "row_id", row.ID,
			"cost", r.quote.Total.String(), "approved", row.Approved.String())
	}
	return err
}

// unseal returns the order with the Social Security number.
func (p *placer) unseal(ctx context.Context, row ledger.Row, order *filing.Order) (*filing.Order, error) {
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
func (p *placer) attempt(ctx context.Context, intent ledger.Intent, send func(context.Context) filing.Answer,
	recordAnswer func(try int, a filing.Answer) error) (begun ledger.Begun, err error) {
	if !p.state.mayOrder(p.now()) {
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
	if p.throttle.Wait(ctx) != nil || !p.state.mayOrder(p.now()) {
		return begun, nil
	}
	begun, err = p.ledger.Begin(context.WithoutCancel(ctx), intent)
	if err != nil || begun.Try == 0 {
		if begun.Halted.Reason != filing.NoHalt {
			p.state.setHalt(p.now(), begun.Halted)
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
		err = errors.Join(err, recordAnswer(begun.Try, answer))
	}()
	if !p.ledger.Fleet().MaySend() {
		answer = filing.Answer{
			Kind:    filing.NotSent,
			Message: "this process was suspended before it could send the order",
		}
		return begun, nil
	}
	answer = send(filingapi.OnlyIf(context.WithoutCancel(ctx), p.ledger.Fleet().MaySend))
	p.state.observeOrder(p.now(), answer.Kind)
	return begun, nil
}

// recordAnswer records the outcome of an order.
func (p *placer) recordAnswer(row ledger.Row, r *request, claims []ledger.Claim, try int, a filing.Answer) error {
	out := ledger.Outcome{
		Row:        row.ID,
		Try:        try,
		Answer:     a,
		Claims:     claims,
		Cost:       r.quote.Total,
		Repeatable: p.ledger.Repeatable(r.order.Products()),
		Exhausted:  row.Attempts+1 >= maxAttempts,
		Due:        p.now().Add(retryAfter(a, row.Attempts)),
	}
	switch a.Kind {
	case filing.Accepted:
		out.Items = matchItems(&r.order, a, r.quote)
	case filing.HasItem:
		cost, parts := costOf(r.ordered, a.Has)
		out.Items = []ledger.Item{{Product: a.Has, Cost: cost, Parts: parts}}
		out.Due = time.Time{}
	}
	if r.order.Formation != nil && a.CompanyID != "" {
		out.Company, out.Known = a.CompanyID, ledger.FormedClaims(&r.order, a.CompanyID)
	}
	return p.keepOutcome(&Unrecorded{row.Batch, row.Number, out, r.notes})
}

// recordOutcome records an outcome that has its own message.
func (p *placer) recordOutcome(row ledger.Row, out ledger.Outcome) error {
	return p.keepOutcome(&Unrecorded{Batch: row.Batch, Number: row.Number, Outcome: out})
}

// keepOutcome records an outcome in the ledger and retries until it succeeds. It logs the order
// IDs of an answer that cannot be recorded at once.
func (p *placer) keepOutcome(u *Unrecorded) error {
	// recorded has a filing.Result, or nothing if the outcome was recorded before. It is atomic
	// because the ledger calls Explain again if it writes the outcome back after a restore.
	var recorded atomic.Value
	out, kept := u.Outcome, false
	out.Of = ledger.BatchRow{Batch: u.Batch, Number: u.Number}
	out.Explain = func(s filing.RowState) string {
		recorded.Store(s.Next())
		return u.explain(s)
	}
	tries := retry.Backoff{First: 50 * time.Millisecond, Max: 5 * time.Second}
	return retry.Do(context.Background(), tries, func() (final bool, err error) {
		err = p.ledger.RecordOutcome(context.Background(), out)
		about := []any{"batch", u.Batch, "row", u.Number, "row_id", out.Row, "attempt", out.Try, "answer",
			out.Answer.Kind,
			"orders", orderIDs(out.Answer.Items), "company", out.Answer.CompanyID}
		if out.Answer.Detail != "" {
			about = append(about, "detail", out.Answer.Detail)
		}
		if err == nil {
			p.unrecorded.remove(u)
			result, _ := recorded.Load().(filing.Result)
			p.logAnswer(out.Answer, append(about, "result", result))
			return true, nil
		}
		if errors.Is(err, ledger.ErrNotFound) || errors.Is(err, ledger.ErrTransition) {
			p.log.Error("answer refused by the ledger", append(about, "err", err)...)
			return true, err
		}
		p.log.Error("recording an answer failed, retrying", append(about, "err", err)...)
		if !kept {
			kept = true
			p.unrecorded.add(u)
			if p.warn != nil {
				p.warn(u)
			}
		}
		return errors.Is(err, ledger.ErrClosed), err
	})
}

// logAnswer logs an answer and its result.
func (p *placer) logAnswer(a filing.Answer, about []any) {
	switch {
	case a.Kind.Lost():
		p.log.Warn("answer uncertain", about...)
	case a.Kind == filing.NotSent:
		p.log.Debug("order not sent", about...)
	case !a.Kind.Counts(): // sent again, and frequent while the fleet is halted
		p.log.Debug("order answered", about...)
	default:
		p.log.Info("order answered", about...)
	}
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
	var made []ledger.Item
	var unmatched []int
	for _, item := range a.Items {
		if slices.ContainsFunc(made, func(m ledger.Item) bool { return m.OrderID == item.OrderID }) {
			continue
		}
		i := len(made)
		made = append(made, ledger.Item{
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
		made[i].Product = left[at]
		left = slices.Delete(left, at, at+1)
	}
	if len(unmatched) == 1 && len(left) == 1 {
		made[unmatched[0]].Product = left[0]
	}
	for i := range made {
		if made[i].Product != "" {
			made[i].Cost, made[i].Parts = costOf(quote, made[i].Product)
		}
	}
	return made
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

// handleDuplicate records that another row has bought, or is ordering, an item of the request. It
// returns a *duplicateItemError if other items remain.
func (p *placer) handleDuplicate(ctx context.Context, row ledger.Row, r *request, t ledger.Taken) error {
	holder, err := p.ledger.Row(ctx, t.Row)
	if err != nil {
		return err
	}
	where, last := rowRef(row, holder), len(r.left.Products()) == 1
	deferral := ledger.Deferral{Row: row.ID, Of: row.InBatch()}
	switch {
	case !t.Bought:
		what := "the same " + t.Claim.Product.Title()
		if t.Covers {
			what = "an earlier annual report, whose subscription may cover this one,"
		}
		deferral.Next, deferral.Wait = filing.Ready, t.Key
		deferral.Message = fmt.Sprintf("%s is in %s, whose answer is out: this row waits for it", what, where)
	case t.Covers:
		if err := p.ledger.Subscriptions().RecordCoverage(ctx, ledger.Coverage{
			Batch:  row.Batch,
			Number: row.Number,
			Cover:  t.Claim.Cover,
			Year:   t.Claim.Year,
			Opened: t.Row,
		}); err != nil {
			return err
		}
		note := "the annual report is " + coveredBy(where, holder)
		if !last {
			return &duplicateItemError{product: t.Claim.Product, note: note}
		}
		deferral.Next, deferral.Message = filing.Skipped, strings.TrimPrefix(note, "the annual report is ")
	case canceledItem(holder, t.Claim.Product) != nil && (last || t.Claim.Product == filing.Formation):
		deferral.Next, deferral.Message = filing.Rejected, boughtAndCanceled(t.Claim.Product, where, holder)
	case last && len(row.Dropped) > 0:
		deferral.Next = filing.Exists
		deferral.Message = fmt.Sprintf("done: %s; %s", titles(row.Dropped),
			strings.Join(append(r.notes, boughtBefore(t.Claim.Product, where)), "; "))
	case last:
		deferral.Next = filing.Exists
		deferral.Message = strings.Join(append(r.notes, fmt.Sprintf("bought before in %s; nothing was ordered", where)),
			"; ")
		for _, item := range holder.Items {
			item.Cost = money.Cost{} // charged to the other row
			deferral.Items = append(deferral.Items, item)
		}
	case t.Claim.Product == filing.Formation && holder.Company == "":
		deferral.Next, deferral.Message = filing.Rejected, unnamedCompany(row, holder)
	default:
		duplicate := &duplicateItemError{
			product: t.Claim.Product,
			note:    boughtBefore(t.Claim.Product, where),
		}
		if canceledItem(holder, t.Claim.Product) != nil {
			duplicate.note = boughtAndCanceled(t.Claim.Product, where, holder)
		}
		if t.Claim.Product == filing.Formation {
			duplicate.company = holder.Company
		}
		return duplicate
	}
	return p.deferRow(ctx, deferral)
}

// coveredBy describes the subscription that covers a report.
func coveredBy(where string, holder ledger.Row) string {
	order := where
	for _, i := range holder.Items {
		if i.Product == filing.AnnualReport && i.OrderID != "" {
			order = i.OrderID + " (" + where + ")"
		}
	}
	return "covered by the annual subscription of order " + order +
		"; to order it all the same, run it with --again=\"why\""
}

// canceledItem returns the item of a row that was canceled after it was bought, or nil.
func canceledItem(holder ledger.Row, product filing.Product) *ledger.Item {
	for i := range holder.Items {
		if item := &holder.Items[i]; item.Product == product && filing.IsCanceled(item.FilingStatus) {
			return item
		}
	}
	return nil
}

// boughtAndCanceled returns the message of a row whose filing was bought before and canceled. It
// is not bought again unless a person asks for it, because one key is one purchase.
// Source: spec section 7 (a canceled qualification does not block another).
func boughtAndCanceled(product filing.Product, where string, holder ledger.Row) string {
	return fmt.Sprintf(
		"the %s was bought before (%s, %s) and is canceled now; nothing was ordered. To order it again, run it with "+
			"--again=\"why\"",
		product.Title(), where, cmp.Or(canceledItem(holder, product).OrderID, "no order id"))
}

// rowRef names another row in a message of a row.
func rowRef(row, other ledger.Row) string {
	if row.Batch == other.Batch {
		return fmt.Sprintf("row %d", other.Number)
	}
	return fmt.Sprintf("row %d of batch %s", other.Number, other.Batch)
}

// handleLookupError records the error of a look-up.
func (p *placer) handleLookupError(ctx context.Context, row ledger.Row, err error) error {
	var failed *lookupError
	switch {
	case ctx.Err() != nil:
		return nil // canceled by this process
	case errors.Is(err, errHalted):
		return nil
	case !errors.As(err, &failed):
		return err
	case errors.Is(failed.err, filingapi.ErrKeyRefused):
		return p.ledger.Fleet().RecordKeyRefused(ctx, failed.message)
	case errors.Is(failed.err, filingapi.ErrBusy):
		return p.ledger.Fleet().RecordBusy(ctx, failed.after)
	}
	deferral := ledger.Deferral{
		Row:     row.ID,
		Of:      row.InBatch(),
		Next:    failed.next,
		Message: failed.message,
		Wait:    failed.wait,
	}
	if failed.next == filing.Ready {
		deferral.Due = p.now().Add(failed.after)
	}
	return p.deferRow(ctx, deferral)
}

// deferRow records a decision about a row that is not sent. The decision of another process wins
// if it was faster.
func (p *placer) deferRow(ctx context.Context, d ledger.Deferral) error {
	err := p.ledger.Defer(ctx, d)
	if errors.Is(err, ledger.ErrTransition) {
		return nil
	}
	return err
}

// messageFor returns the message of a row in the results: what happened and what to do.
func messageFor(a filing.Answer, s filing.RowState, notes []string) string {
	said := strings.TrimSuffix(a.Message, ".")
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
			said + ")"
	case s.Result == filing.Placed:
		text = "placed: " + titles(bought)
		if a.Kind == filing.HasItem {
			text += "; the filing service has the " + a.Has.Title() + " already: " + said
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
		text = fmt.Sprintf("%s: %s; the rest is ordered without it", a.Has.Title(), said)
	case s.Result == filing.Exists:
		text = "the filing service has it already: " + said
	case s.Result == filing.Uncertain:
		text = "sent, but the filing service did not confirm it: " + said + ". " + checkDashboard
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
	if s.Result == filing.Placed && len(notes) > 0 {
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
