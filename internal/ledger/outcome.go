package ledger

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// recordOutcome merges the outcome of an attempt into the attempts of its row and moves the row to
// the state that follows from them.
func (d *decision) recordOutcome(o *Outcome, unsent bool) error {
	s, ok := d.rows[o.Row]
	if !ok || !s.isAt(o.Of) {
		return ErrNotFound
	}
	if o.Answer.Kind == "" {
		return fmt.Errorf("%w: an outcome says how the attempt ended", ErrTransition)
	}
	owner := cmp.Or(o.Owner, d.process.ID)
	current := s.result == filing.Placing && s.lastAttempt == o.Attempt && s.owner == owner
	if unsent && !current {
		return nil // the attempt is recorded as ended
	}
	a := d.attemptOf(s, o, owner, current)
	before := *a
	bought, foreign := d.ownOrders(s, o)
	news := false
	*a, news = a.Merge(filing.Attempt{
		Kind:       o.Answer.Kind,
		Products:   productsOf(o.Claims),
		Creates:    o.Creates,
		Repeatable: o.Repeatable,
		Purchases:  bought,
		Ordered:    o.Answer.Ordered,
	})
	if !news {
		return nil
	}
	d.recordAttempt(s, *a, owner, o)
	if current {
		d.control.applyAnswer(o.Row, o.Answer, !o.Creates, d.now)
		s.due, s.owner = store.ToMillis(o.Due), ""
		if o.Answer.Kind.Lost() { // the service may work on it for as long as a request lasts
			s.due = max(s.due, s.since+d.process.Timeout.Milliseconds())
		}
	}
	if made := o.Creates && o.Answer.Kind == filing.Accepted; made || !o.Answer.Kind.Counts() {
		s.counted--
	}
	if err := d.adopt(s, o); err != nil {
		return err
	}
	state := filing.Fold(s.attempts, s.limits(o.Exhausted))
	d.correctItems(s, o, before, state, bought, foreign)
	message := o.explain(state, foreign, s.batch, current)
	if state.Contradicted {
		message = "the filing service answered late that nothing was ordered (" + o.Answer.Message +
			"), but the row was marked as placed: check the dashboard, then resolve it"
		d.unreport = append(d.unreport, store.Record{store.Number("row", s.id)})
	}
	if o.Answer.Kind == filing.HasItem {
		for _, p := range bought {
			if slices.Contains(state.Existing, p.Product) {
				s.cost.Amount = max(s.cost.Amount-p.Cost.Amount, 0) // it costs nothing
			}
		}
	}
	d.applyState(s, state, o.Claims, o.Cost, message)
	d.giveKeys(s, state, o.Known)
	return nil
}

// limits returns the limits of the row's attempts.
func (s *rowState) limits(exhausted bool) filing.AttemptLimits {
	return filing.AttemptLimits{Exhausted: exhausted, Canceled: s.canceled, Wanted: splitProducts(s.wanted)}
}

// adopt gives a row the company that an attempt created. A row that has a company keeps it, because
// its later orders are for that company.
func (d *decision) adopt(s *rowState, o *Outcome) error {
	first := s.company == "" || o.Company == s.company
	for _, c := range o.Claims {
		if p := d.rival(c.Key, s.id); o.Creates && p != nil && p.bought {
			return nil // another row has made it since
		}
	}
	s.company = cmp.Or(s.company, o.Company)
	if o.Made == nil || !first {
		return nil
	}
	f, err := newFact("companies", o.Made.Ref, o.Made.Record, d.now)
	if err == nil {
		d.remember(f)
	}
	return err
}

// explain returns the message of a row of batch after the outcome. Foreign are the orders of the
// answer that belong to other rows. Current reports whether the answer arrived in time.
func (o *Outcome) explain(state filing.RowState, foreign map[string]rowRef, batch string, current bool) string {
	message := o.Message
	if o.Explain != nil {
		message = o.Explain(state)
	}
	for _, order := range slices.Sorted(maps.Keys(foreign)) {
		message += fmt.Sprintf("; the answer names the order %s, which is the order of %s", order,
			foreign[order].seenFrom(batch))
	}
	if !current && !o.Answer.Kind.Lost() {
		message = "answered late: " + message
	}
	return message
}

// attemptOf returns the attempt of an outcome. If the ledger does not know the attempt, a process
// began it in a later state of the ledger, which has been restored since.
func (d *decision) attemptOf(s *rowState, o *Outcome, owner string, current bool) *filing.Attempt {
	if s.result == filing.Placing {
		d.addPresentAttempt(s)
	}
	attempt := o.Attempt
	if !current {
		attempt = s.numberOf(attempt, owner)
	}
	s.addSender(attempt, owner)
	if a := s.find(attempt); a != nil {
		return a
	}
	s.lastAttempt = max(s.lastAttempt, attempt)
	s.counted++
	s.attempts = append(s.attempts, filing.Attempt{Number: attempt, Products: productsOf(o.Claims), Creates: o.Creates})
	return &s.attempts[len(s.attempts)-1]
}

// numberOf returns the number that an attempt of a process has in the row. If another process, or a
// person who assumed an attempt after a restore, has used the number, the attempt gets a negative
// one, because the outcome of one order proves nothing about the other.
func (s *rowState) numberOf(attempt int, owner string) int {
	if s.senders[attempt] == owner {
		return attempt
	}
	inFlight := s.result == filing.Placing && s.lastAttempt <= attempt
	if inFlight || s.senders[attempt] != "" || s.senders[-attempt] == owner {
		attempt = -attempt
	}
	for s.senders[attempt] != "" && s.senders[attempt] != owner {
		attempt -= renumbered
	}
	return attempt
}

// renumbered is the distance between the negative numbers of attempts that had the same
// number. It is higher than the number of any attempt.
const renumbered = 1_000_000

// addPresentAttempt adds the current attempt of a placing row, which is recorded only when it ends.
func (d *decision) addPresentAttempt(s *rowState) {
	if s.find(s.lastAttempt) == nil {
		present := filing.Attempt{Number: s.lastAttempt, Products: s.inFlight(), Creates: s.creating}
		s.attempts = append(s.attempts, present)
	}
}

// addSender records the process that an attempt belongs to.
func (s *rowState) addSender(attempt int, owner string) {
	if s.senders == nil {
		s.senders = make(map[int]string)
	}
	s.senders[attempt] = owner
}

func (s *rowState) find(attempt int) *filing.Attempt {
	at := slices.IndexFunc(s.attempts, func(a filing.Attempt) bool { return a.Number == attempt })
	if at < 0 {
		return nil
	}
	return &s.attempts[at]
}

// ownOrders returns the purchases of an answer whose order IDs belong to no other row, and the rows
// that own the other order IDs. An order belongs to one item of one row.
func (d *decision) ownOrders(s *rowState, o *Outcome) (own []filing.Purchase, foreign map[string]rowRef) {
	foreign = make(map[string]rowRef)
	for _, p := range o.bought() {
		other, known := d.orders[p.OrderID]
		repeated := slices.ContainsFunc(own, func(q filing.Purchase) bool { return q.OrderID == p.OrderID })
		switch {
		case p.OrderID == "":
		case known && other.ID != s.id, repeated:
			foreign[p.OrderID] = cmp.Or(other, s.ref())
			continue
		default:
			d.orders[p.OrderID] = s.ref()
		}
		own = append(own, p)
	}
	return own, foreign
}

// correctItems records the items of an answer whose orders are the row's. It removes the order IDs
// that a decision named for the attempt if the answer does not name them.
func (d *decision) correctItems(s *rowState, o *Outcome, before filing.Attempt, state filing.RowState,
	own []filing.Purchase, foreign map[string]rowRef) {
	if before.Decision == filing.DecidedPlaced && o.Answer.Kind == filing.Accepted {
		for _, p := range before.Purchases {
			if p.OrderID != "" && !slices.ContainsFunc(o.Items, func(i Item) bool { return i.OrderID == p.OrderID }) {
				d.removeItem(s, p)
			}
		}
	}
	for _, i := range o.Items {
		if _, ok := foreign[i.OrderID]; ok && !slices.ContainsFunc(own, func(p filing.Purchase) bool {
			return p.OrderID == i.OrderID && p.Product == i.Product
		}) {
			continue
		}
		if i.OrderID == "" && !state.HasBought(i.Product) {
			continue // the item is not the row's, so no event may give it an ID
		}
		if i.OrderID != "" && before.Kind != "" { // an item without an ID may be recorded
			d.named = append(d.named, store.Record{
				store.Number("row", s.id),
				store.Text("product", i.Product),
				store.Text("order_id", i.OrderID),
				store.Text("type", i.OrderType),
			})
		}
		d.addItems(s, []Item{i})
	}
}

func (d *decision) addItems(s *rowState, items []Item) {
	for _, i := range items {
		if i.OrderID != "" {
			d.ordered = append(d.ordered, store.Record{store.Text("order_id", i.OrderID)})
		}
		d.items = append(d.items, store.Record{
			store.Number("row", s.id),
			store.Text("product", i.Product),
			store.Text("type", i.OrderType),
			store.Text("order_id", i.OrderID),
			store.Text("status", i.FilingStatus),
			store.Text("date", i.FilingDate),
			store.Text("subscription", i.SubscriptionStatus),
			store.Number("exception", i.Exception),
			store.Text("note", i.ExceptionNote),
			store.Number("cost", i.Cost.Amount),
			store.Number("certainty", i.Cost.Certainty),
			store.Number("at", d.now),
		})
	}
}

// removeItem removes the item of a purchase that the row does not have.
func (d *decision) removeItem(s *rowState, p filing.Purchase) {
	d.removed = append(d.removed, store.Record{
		store.Number("row", s.id),
		store.Text("product", p.Product),
		store.Text("order_id", p.OrderID),
	})
}

// recordAttempt records how an attempt ended.
func (d *decision) recordAttempt(s *rowState, a filing.Attempt, owner string, o *Outcome) {
	d.attempts = append(d.attempts, store.Record{
		store.Number("row", s.id),
		store.Number("number", a.Number),
		store.Text("owner", owner),
		store.Number("started", s.since),
		store.Number("ended", d.now),
		store.Text("outcome", a.Kind),
		store.Number("status", o.Answer.Status),
		store.Text("message", o.Answer.Message),
		store.Text("detail", o.Answer.Detail),
		store.Text("products", filing.JoinProducts(a.Products, ",")),
		store.Flag("creates", a.Creates),
		store.Flag("repeatable", a.Repeatable),
		store.Text("purchases", madeText(a.Purchases)),
		store.Flag("ordered", a.Ordered),
	})
}

func madeText(made []filing.Purchase) string {
	if len(made) == 0 {
		return ""
	}
	body, err := json.Marshal(made)
	if err != nil {
		panic(err) // only strings and numbers are encoded
	}
	return string(body)
}

// decideAttempts records a decision on all open attempts of the row and moves the row to the state that
// follows. Made are the purchases that a decision for placed names.
func (d *decision) decideAttempts(s *rowState, as filing.Decision, made []filing.Purchase, message string) {
	d.decideMatching(s, func(*filing.Attempt) bool { return true }, as, made, message)
}

// decideMatching is decideAttempts for the open attempts that match.
func (d *decision) decideMatching(s *rowState, matches func(*filing.Attempt) bool, as filing.Decision,
	made []filing.Purchase, message string) {
	last := -1
	var before []filing.Purchase // of earlier decisions
	for i := range s.attempts {
		a := &s.attempts[i]
		if state := filing.Fold([]filing.Attempt{*a}, filing.AttemptLimits{}); len(state.Open) == 0 || !matches(a) {
			continue
		}
		if a.Kind != filing.Accepted {
			before = append(before, a.Purchases...)
			a.Purchases = nil
		}
		a.Decision, a.DecidedOver = as, a.Kind
		last = i
	}
	if last >= 0 && as == filing.DecidedPlaced {
		s.attempts[last].Purchases = append(slices.Clone(s.attempts[last].Purchases), made...)
	}
	for _, a := range s.attempts {
		if a.Decision != filing.Undecided {
			d.decided = append(d.decided, store.Record{
				store.Number("row", s.id),
				store.Number("number", a.Number),
				store.Text("decision", a.Decision),
				store.Text("over", a.DecidedOver),
				store.Text("purchases", madeText(a.Purchases)),
				store.Text("products", filing.JoinProducts(a.Products, ",")),
				store.Flag("creates", a.Creates),
			})
		}
	}
	s.due = 0
	state := filing.Fold(s.attempts, s.limits(true))
	for _, p := range before {
		if !slices.ContainsFunc(state.Bought, func(b filing.Purchase) bool {
			return b.Product == p.Product && b.OrderID == p.OrderID
		}) {
			d.removeItem(s, p)
		}
	}
	d.applyState(s, state, nil, money.Cost{}, message)
}

// applyState moves a row to the state that follows from its attempts, with its money and its keys.
// Claims are the claims of an attempt whose row may have released them, and cost is the amount that
// was reserved for it.
func (d *decision) applyState(s *rowState, state filing.RowState, claims []Claim, cost money.Cost, message string) {
	open := s.result == filing.Placing || s.result == filing.Uncertain || s.result == filing.Ready && s.uncertain
	next := state.Next()
	news := len(state.Bought) > s.bought()
	if state.Result == "" && !open {
		next = s.result // already resolved: a late answer without a purchase changes nothing
	}
	if next == filing.Ready && !state.Unconfirmed && s.canceled {
		next = filing.Canceled
		switch {
		case s.withdrawn:
			message = canceledCorrected
		case len(state.Bought) == 0:
			message = canceledUnsent
		default:
			message = canceledRest
		}
	}
	if next != s.result || open || news {
		s.message = message
	}
	asked := s.blockedOn == blockedOnApproval &&
		(next == filing.Ready || next == filing.Uncertain) // an answer does not approve it
	if !asked && (next != s.result || next == filing.Ready) {
		s.blockedOn, s.awaitedKey = "", ""
	}
	s.uncertain = state.Unconfirmed
	s.creating = slices.Contains(state.Open, filing.CompanyRecord) || next == filing.Placing && s.creating
	if next != filing.Placing { // an order in flight stays as it was sent
		s.dropped = filing.JoinProducts(dropped(next, state), ",")
	}
	d.move(s, next)
	d.postDifference(s, state, open, cost)
	d.alignKeys(s, state, claims)
}

// dropped returns the products that the row's next order leaves out.
func dropped(next filing.Result, state filing.RowState) []filing.Product {
	if next == filing.Placed {
		return state.Existing
	}
	return slices.DeleteFunc(state.Done(), func(p filing.Product) bool { return p == filing.CompanyRecord })
}

// postDifference posts the difference between the row's reserved and spent amounts and the amounts
// that its state requires.
func (d *decision) postDifference(s *rowState, state filing.RowState, wasOpen bool, cost money.Cost) {
	spent := state.Spent()
	bought := spent.Amount - s.spent.Amount
	var hold money.Cents
	switch {
	case s.result == filing.Placing:
		hold = s.reserved
	case len(state.Open) == 0:
	case wasOpen || bought < 0:
		hold = max(s.reserved-bought, 0)
	default: // its reservation was released before
		hold = max(cost.Amount-max(bought, 0), 0)
	}
	note := ""
	if bought < 0 {
		note = "open again"
	}
	missing := hold + bought - s.reserved
	d.addEntry(Reserve, max(missing, 0), s.id, note)
	d.addEntry(Posted, bought, s.id, note)
	d.addEntry(Voided, max(-missing, 0), s.id, note)
	d.control.posted += bought
	d.control.reserved += hold - s.reserved
	s.reserved, s.spent = hold, spent
	switch s.result {
	case filing.Placed, filing.Exists:
		s.cost = money.Cost{}
	default:
		s.cost.Amount = max(s.cost.Amount-bought, 0)
	}
}
