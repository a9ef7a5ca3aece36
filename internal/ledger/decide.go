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

// decision decides the transitions of a group. It begins with what was read, applies each transition
// to the state that the previous ones left, and ends with the changes to write. It does not use the
// database.
type decision struct {
	*snapshot
	changes
	// control is the control row. The decision changes it.
	control *control
	now     int64

	// process is the process that decides.
	process   *Process
	tolerance money.Cents
	// newer is the reason why this version may not send any more. Nil if it may.
	newer error
	// restored reports whether the ledger went back in time during the life of the process.
	restored bool
}

// apply decides a group. It decides outcomes first, because they release money and keys for the
// intents of the same group.
func (d *decision) apply(group []*transition) {
	for _, t := range group {
		if o := t.outcome; o != nil {
			if t.unsent && d.restored {
				o = o.withoutAnswer()
			}
			t.err = d.recordOutcome(o, t.unsent)
		}
	}
	for _, t := range group {
		switch {
		case t.deferral != nil:
			t.err = d.deferRow(t.deferral)
		case t.intent != nil:
			t.begun, t.err = d.begin(t.intent)
		case t.fact != nil:
			d.remember(t.fact)
		case t.event != nil:
			t.fresh = d.keep(t.event)
		}
	}
}

// findLostAttempt returns why the outcomes of a group show that the ledger went back in time: one
// answers an attempt that the ledger does not have. It is empty if none does.
func (in *snapshot) findLostAttempt(group []*transition) string {
	for _, t := range group {
		if o := t.outcome; o != nil {
			if s := in.rows[o.Row]; s != nil && s.isAt(o.Of) && o.Attempt > s.lastAttempt {
				return fmt.Sprintf("it lacks attempt %d of row %d, which was answered", o.Attempt, s.id)
			}
		}
	}
	return ""
}

// conclude derives the remaining changes from the state in which the group leaves its rows.
func (d *decision) conclude() {
	for _, s := range d.changed {
		s.since = d.now
		if s.needsNoSecret() {
			d.secrets = append(d.secrets, store.Record{store.Text("batch", s.batch), store.Number("number", s.number)})
		}
	}
	for _, c := range d.claims {
		c.beside = !c.freed && d.purchases[c.key][0] != c.purchase
	}
	for _, p := range d.settled {
		if !p.freed {
			d.awaitedKeys = append(d.awaitedKeys, store.Record{store.Text("key", p.key)})
		}
	}
	for _, p := range d.freed {
		d.awaitedKeys = append(d.awaitedKeys, store.Record{store.Text("key", p.key)})
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

func (d *decision) remember(f *fact) {
	if d.facts == nil {
		d.facts = make(map[string][]*fact)
	}
	d.facts[f.table] = append(d.facts[f.table], f)
}

func (d *decision) move(s *rowState, next filing.Result) {
	s.result = next
	// Otherwise the end of the block would erase the message later. Only a person ends the wait for
	// an approval, even after an answer that leaves the row uncertain.
	if next != filing.Ready && (next != filing.Uncertain || s.blockedOn != blockedOnApproval) {
		s.blockedOn, s.awaitedKey = "", ""
	}
	d.touch(s)
}

func (d *decision) touch(s *rowState) {
	if !s.touched {
		s.touched = true
		d.changed = append(d.changed, s)
	}
}

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
	d.correctItems(s, o, before, state, foreign)
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

// correctItems records the items of an answer. It removes the order IDs that a decision named for
// the attempt if the answer does not name them.
func (d *decision) correctItems(s *rowState, o *Outcome, before filing.Attempt, state filing.RowState,
	foreign map[string]rowRef) {
	if before.Decision == filing.DecidedPlaced && o.Answer.Kind == filing.Accepted {
		for _, p := range before.Purchases {
			if p.OrderID != "" && !slices.ContainsFunc(o.Items, func(i Item) bool { return i.OrderID == p.OrderID }) {
				d.removeItem(s, p)
			}
		}
	}
	for _, i := range o.Items {
		if other, ok := foreign[i.OrderID]; ok && other.ID != s.id {
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

// alignKeys gives the row the keys that its state requires. It keeps the keys of bought or existing
// products permanently and the keys of open products while they are open.
func (d *decision) alignKeys(s *rowState, state filing.RowState, claims []Claim) {
	done := state.Done()
	for _, c := range claims {
		if slices.Contains(done, c.Product) || slices.Contains(state.Open, c.Product) {
			d.claim(s, c)
		}
	}
	for _, p := range s.claims {
		isDone, isOpen := slices.Contains(done, p.product), slices.Contains(state.Open, p.product)
		switch {
		case !p.bought && isDone && !state.HasBought(p.product) && d.boughtBesides(p):
			d.free(s, p) // the existing item is the other row's
		case isDone && (!p.bought || p.exists && state.HasBought(p.product)):
			p.exists = !state.HasBought(p.product)
			d.buy(s, p, len(claims) > 0)
		case p.bought && isOpen:
			// An answer does not name the item that a person marked as placed. The key stays
			// reserved until a person has checked.
			p.bought, p.twin = false, 0
			d.settle(p)
			d.untwin(p)
		case !p.bought && !isOpen && s.result != filing.Placing:
			d.free(s, p)
		}
		if p.twin == 0 && slices.Contains(state.Duplicates, p.product) {
			p.twin = s.id
			d.settle(p)
		}
	}
	s.claims = slices.DeleteFunc(s.claims, func(p *purchase) bool { return p.freed })
}

// claim returns the row's purchase of a claim. It takes the key for the row if the row does not
// have it.
func (d *decision) claim(s *rowState, c Claim) *purchase {
	if p := s.purchase(c.Key); p != nil {
		return p
	}
	p := &purchase{
		key:     c.Key,
		row:     s.id,
		product: c.Product,
		cover:   c.Cover,
		year:    c.Year,
		batch:   s.batch,
		root:    s.root,
		number:  s.number,
	}
	d.purchases[c.Key] = append(d.purchases[c.Key], p)
	if c.Cover != "" {
		d.covers[c.Cover] = append(d.covers[c.Cover], p)
	}
	s.claims = append(s.claims, p)
	d.claims = append(d.claims, claimed{p, store.Record{
		store.Text("key", c.Key),
		store.Number("row", s.id),
		store.Text("product", c.Product),
		store.Text("cover", c.Cover),
		store.Number("year", c.Year),
		store.Text("why", c.Why),
		store.Number("at", d.now),
		store.FlagAt("bought", &p.bought),
		store.NumberAt("twin", &p.twin),
		store.FlagAt("beside", &p.beside),
	}})
	return p
}

// free releases a key of the row.
func (d *decision) free(s *rowState, p *purchase) {
	p.freed = true
	d.freed = append(d.freed, p)
	d.purchases[p.key] = slices.DeleteFunc(d.purchases[p.key], func(q *purchase) bool { return q == p })
	d.untwin(p)
}

// untwin updates the rows that name p as the other purchase of their key, because p is not bought
// after all. Each names another row that bought the same, if one exists.
func (d *decision) untwin(p *purchase) {
	for _, q := range d.purchases[p.key] {
		if q == p || q.twin != p.row {
			continue
		}
		q.twin = 0
		if other := d.rival(q.key, q.row); other != nil && other.bought && !other.exists && other.twin == 0 {
			q.twin = other.row
		}
		d.settle(q)
	}
}

// buy gives a key to the row permanently, because the row bought its product. If another row has
// bought the same, the purchase names it as its twin. A company costs nothing, and a person may
// have named the company of the other row. Therefore two companies are a double purchase only if
// the service answered both.
func (d *decision) buy(s *rowState, p *purchase, answered bool) {
	p.bought = true
	d.settle(p)
	other := d.rival(p.key, s.id)
	if other == nil || !other.bought || other.exists || p.product == filing.CompanyRecord && !answered {
		return
	}
	p.twin = other.row
}

// giveKeys calls buy for the claims whose products the row has bought. The row may not have their
// keys yet.
func (d *decision) giveKeys(s *rowState, state filing.RowState, claims []Claim) {
	for _, c := range claims {
		if !state.HasBought(c.Product) {
			continue
		}
		if p := d.claim(s, c); !p.bought {
			d.buy(s, p, true)
		}
	}
}

// settle records whether a purchase is bought.
func (d *decision) settle(p *purchase) {
	if !slices.Contains(d.settled, p) {
		d.settled = append(d.settled, p)
	}
}

// rival returns the purchase of a key by another row, or nil if no other row has the key. It
// prefers a purchase that was bought and not canceled, and the first of these. Next come a canceled
// purchase and one that is open.
func (d *decision) rival(key filing.Key, row int64) (best *purchase) {
	rank := func(p *purchase) int {
		switch {
		case !p.bought:
			return 0
		case p.canceled:
			return 1
		case p.twin != 0:
			return 2
		}
		return 3
	}
	for _, p := range d.purchases[key] {
		if p.row != row && (best == nil || rank(p) > rank(best)) {
			best = p
		}
	}
	return best
}

// boughtBesides reports whether another row has bought the same key.
func (d *decision) boughtBesides(p *purchase) bool {
	other := d.rival(p.key, p.row)
	return other != nil && other.bought
}

// purchase returns the row's purchase of a key, or nil if it has not claimed the key.
func (s *rowState) purchase(key filing.Key) *purchase {
	at := slices.IndexFunc(s.claims, func(p *purchase) bool { return p.key == key && !p.freed })
	if at < 0 {
		return nil
	}
	return s.claims[at]
}

// rowRef identifies a row for a person.
type rowRef struct {
	ID     int64
	Batch  string
	Number int
}

func (s *rowState) ref() rowRef { return rowRef{s.id, s.batch, s.number} }

// seenFrom returns the name of the row for a message of a row of batch.
func (r rowRef) seenFrom(batch string) string {
	if r.Batch == batch {
		return fmt.Sprintf("row %d", r.Number)
	}
	return fmt.Sprintf("row %d of batch %s", r.Number, r.Batch)
}

// claimed returns the products whose keys the row holds and has not bought. For a placed row it
// includes the bought products.
func (s *rowState) claimed() []filing.Product {
	var products []filing.Product
	for _, p := range s.claims {
		if (!p.bought || s.result == filing.Placed) && !slices.Contains(products, p.product) {
			products = append(products, p.product)
		}
	}
	return products
}

// inFlight returns the products that the order of a placing row asks for. These are the products
// whose keys it holds, without those left out. They include products that a late answer has shown
// as bought since.
func (s *rowState) inFlight() []filing.Product {
	left := splitProducts(s.dropped)
	if !s.creating {
		left = append(left, filing.CompanyRecord)
	}
	var products []filing.Product
	for _, p := range s.claims {
		if (!p.bought || !slices.Contains(left, p.product)) && !slices.Contains(products, p.product) {
			products = append(products, p.product)
		}
	}
	return products
}

func productsOf(claims []Claim) []filing.Product {
	var products []filing.Product
	for _, c := range claims {
		products = append(products, c.Product)
	}
	return products
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

func (d *decision) addEntry(kind EntryKind, amount money.Cents, row int64, note string) {
	if amount != 0 {
		d.entries = append(d.entries, store.Record{
			store.Number("at", d.now),
			store.Text("kind", kind),
			store.Number("amount", amount),
			store.Number("row", row),
			store.Text("note", note),
		})
	}
}

// errOtherRow is an ErrTransition. It is returned if another row now has the ID of the row that was
// read.
var errOtherRow = fmt.Errorf("%w: the row is not the one that was read", ErrTransition)

// deferRow commits a Deferral.
func (d *decision) deferRow(a *Deferral) error {
	s, ok := d.rows[a.Row]
	switch {
	case !ok:
		return ErrNotFound
	case !s.isAt(a.Of):
		return errOtherRow
	}
	if s.result != filing.Ready {
		return fmt.Errorf("%w: it is %s", ErrTransition, s.result)
	}
	if a.Next == filing.Ready && s.blockedOn == blockedOnApproval {
		return nil // the row was made ready again and is not approved
	}
	if a.Next != filing.Ready && !s.result.CanBecome(a.Next) || a.Next == filing.Placed {
		return fmt.Errorf("%w: %s to %s", ErrTransition, s.result, a.Next)
	}
	if a.Wait != "" {
		if p := d.rival(a.Wait, s.id); p == nil || p.bought {
			return nil // the key is decided, so the row may try again at once
		}
		s.blockedOn, s.awaitedKey = blockedOnKey, a.Wait
	}
	s.message, s.due = a.Message, store.ToMillis(a.Due)
	switch {
	case a.Next != filing.Ready && s.uncertain:
		// It cannot be sent again, and it is not known whether it was bought.
		s.uncertain = false
		s.message = "sent without an answer, and it cannot be sent again: " + a.Message +
			". Check the dashboard, then resolve it"
		d.move(s, filing.Uncertain)
		return nil
	case a.Next != filing.Ready:
		s.cost = money.Cost{}
	}
	next := a.Next
	if (next == filing.Exists || next == filing.Skipped) && s.bought() > 0 {
		next, s.dropped = filing.Placed, ""
	}
	d.move(s, next)
	if next == a.Next {
		d.addItems(s, a.Items)
	}
	return nil
}

// bought returns how many products the row has bought.
func (s *rowState) bought() (n int) {
	for _, p := range s.claims {
		if p.bought && !p.exists && p.product != filing.CompanyRecord {
			n++
		}
	}
	return n
}

// begin begins an attempt of a row, or returns why it may not be sent.
func (d *decision) begin(in *Intent) (Begun, error) {
	s, ok := d.rows[in.Row]
	switch {
	case !ok:
		return Begun{}, ErrNotFound
	case !s.isAt(in.Of):
		return Begun{Lost: true}, nil
	case !d.leased:
		return Begun{}, fmt.Errorf("the lease of this process has run out")
	case s.result != filing.Ready || s.lastAttempt != in.LastAttempt || s.blockedOn != "" || s.due > d.now,
		s.onHold || s.canceled:
		return Begun{Lost: true}, nil
	}
	for _, c := range in.Claims {
		if p := s.purchase(c.Key); p != nil && p.bought {
			return Begun{Lost: true}, nil // already bought by the row: the order is from an older read
		}
	}
	if d.newer != nil {
		return Begun{Halted: outdated(d.newer)}, nil
	}
	if h, halted := d.control.halted(in.Row, d.now); halted {
		return Begun{Halted: h}, nil
	}
	if taken := d.taken(s, in.Claims); len(taken) > 0 {
		return Begun{Taken: taken}, nil
	}
	whole := in.whole()
	if !in.Creating && s.exceedsApproval(whole, d.tolerance) {
		s.blockedOn = blockedOnApproval
		approved := "no cost"
		if s.approved.Amount >= 0 {
			approved = s.approved.String()
		}
		s.message = fmt.Sprintf(
			"waiting for approval: the order costs %s now, and %s was approved; importer approve %s",
			money.Cost{Amount: s.spent.Amount + whole.Amount, Certainty: whole.Certainty}, approved, s.batch)
		s.cost = whole
		d.touch(s)
		return Begun{Dearer: true}, nil
	}
	need := max(in.Cost.Amount-s.reserved, 0)
	if d.control.declared && need > 0 && need > d.control.available() {
		s.blockedOn = blockedOnFunds
		s.message = fmt.Sprintf("insufficient funds: the order needs %s and %s is available", in.Cost,
			d.control.available().Dollars())
		s.cost = whole
		d.touch(s)
		d.short = true
		return Begun{Short: true}, nil
	}
	in.unconfirmed = s.uncertain
	d.reserve(s, in)
	s.owner, s.message, s.due = d.process.ID, "", 0
	if d.control.halt == filing.HaltFunds {
		d.control.probeRow = s.id
	}
	d.move(s, filing.Placing)
	return Begun{Attempt: s.lastAttempt}, nil
}

// exceedsApproval reports whether an order exceeds, or may exceed, the approved cost of the row. It
// may if its cost is no longer known or no cost was approved. An approval of a partly unknown cost
// has no limit.
func (s *rowState) exceedsApproval(cost money.Cost, tolerance money.Cents) bool {
	switch {
	case s.approved.Amount < 0:
		return true
	case s.approved.IsUnknown():
		return false
	}
	return cost.IsUnknown() || s.spent.Amount+cost.Amount > s.approved.Amount+tolerance
}

// reserve takes the keys of an attempt and reserves its money.
func (d *decision) reserve(s *rowState, in *Intent) {
	for _, c := range in.Claims {
		d.claim(s, c)
	}
	s.lastAttempt++
	s.counted++
	s.creating, s.wanted = in.Creating, s.wants(in)
	s.company = cmp.Or(in.Company, s.company)
	need := max(in.Cost.Amount-s.reserved, 0)
	s.reserved += need
	if !in.Creating { // creating a company costs nothing: the expected cost of its order stays
		s.cost = in.whole()
	}
	d.addEntry(Reserve, need, s.id, "")
	d.control.reserved += need
}

// wants returns the products that the row orders with an intent, after it and before it.
func (s *rowState) wants(in *Intent) string {
	all := in.Rest
	if !in.Creating {
		all = append(productsOf(in.Claims), all...)
	}
	done := splitProducts(s.dropped)
	for _, p := range splitProducts(s.wanted) {
		if slices.Contains(done, p) && !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return filing.JoinProducts(all, ",")
}

// taken returns the claims that other rows hold. It also returns the subscriptions that cover a
// later year and that other batches have bought or are about to buy. Two years of one company in
// one file, or in corrections of it, are both intended.
func (d *decision) taken(s *rowState, claims []Claim) []Taken {
	var taken []Taken
	for _, claim := range claims {
		if p := d.rival(claim.Key, s.id); p != nil {
			if !p.bought && s.purchase(claim.Key) != nil && s.id < p.row {
				continue // both repeat an order of it: the other one waits
			}
			taken = append(taken, Taken{Claim: claim, Row: p.row, Key: p.key, Bought: p.bought})
			continue
		}
		if claim.Cover == "" || claim.Why != "" {
			continue
		}
		for _, p := range d.covers[claim.Cover] {
			if !p.freed && p.root != s.root && p.year < claim.Year {
				taken = append(taken, Taken{Claim: claim, Row: p.row, Key: p.key, Bought: p.bought, Covers: true})
				break
			}
		}
	}
	return taken
}
