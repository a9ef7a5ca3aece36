package filing

import (
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Attempt holds the facts about one sending of a row. Facts are only added: Merge
// adds them in any order of arrival, and Fold computes the state of the row.
type Attempt struct {
	Try        int
	Creates    bool      // it creates the company; the order comes after
	Products   []Product // what it asks for; CompanyRecord where it creates
	Repeatable bool      // the service guards against a repetition of the whole order

	Kind      AnswerKind // how it ended; "" while its process waits for the answer
	Purchases []Purchase // what it bought; of HasItem the item that is there, at the price of an order
	Ordered   bool       // of HasItem: an order bought the item

	Decision    Decision   // outcome stated by a person or an event for an attempt without an answer
	DecidedOver AnswerKind // the class that the decision was made over
}

// Purchase is an item that an attempt bought.
type Purchase struct {
	Product Product    `json:"product"`
	OrderID string     `json:"order,omitempty"` // empty where the service never named it
	Cost    money.Cost `json:"cost"`
	Parts   CostParts  `json:"parts,omitzero"`
}

// CostParts are the parts of a purchase's cost. The zero value says that they are not
// known apart: a person or an event told of the purchase.
type CostParts struct {
	Service money.Cost `json:"service"` // the filing service's fee
	State   money.Cost `json:"state"`   // passed on to the state
}

// Decision states the outcome of an attempt whose answer is missing. It comes
// from a person or an event, and an answer outweighs it.
type Decision string

// The decisions on an attempt.
const (
	Undecided        Decision = ""
	DecidedPlaced    Decision = "placed"
	DecidedNotPlaced Decision = "not-placed"
)

// Merge adds the facts of another reading of the same attempt, and reports whether
// any is new. An answer outweighs the assumption that none will come; neither is
// ever replaced by a weaker or a second one.
func (a Attempt) Merge(ended Attempt) (Attempt, bool) {
	if a.Kind != "" && (!a.Kind.Lost() || ended.Kind.Lost()) {
		return a, false
	}
	ended.Try, ended.Decision, ended.DecidedOver = a.Try, a.Decision, a.DecidedOver
	if len(ended.Products) == 0 {
		ended.Products, ended.Creates = a.Products, a.Creates
	}
	if a.Decision == DecidedPlaced && len(ended.Purchases) == 0 {
		ended.Purchases = a.Purchases // what the decision names, in case it stands
	}
	return ended, true
}

// RowState is the state of a row that its attempts add up to.
type RowState struct {
	Result      Result     // "" where the attempts decide nothing: nothing is bought, and nothing may have been
	Unconfirmed bool       // ready, and an earlier attempt may have bought what is open
	Bought      []Purchase // by this row
	Existing    []Product  // there already, and not by this row
	Open        []Product  // may have been bought
	Rest        []Product  // wanted, and neither bought nor there nor open
	Last        AnswerKind // how the newest attempt ended

	Duplicates   []Product // bought by two attempts of this row
	Contradicted bool      // an answer says the opposite of a decision
}

// Next is the result of a row that was sent, or may have been.
func (s *RowState) Next() Result {
	switch {
	case s.Result != "":
		return s.Result
	case s.Last == Refused:
		return Rejected
	}
	return Ready
}

// Spent returns the cost of the row's purchases.
func (s *RowState) Spent() money.Cost {
	var sum money.Cost
	for _, p := range s.Bought {
		sum, _ = sum.Plus(p.Cost)
	}
	return sum
}

// HasBought reports whether the row has bought a product.
func (s *RowState) HasBought(product Product) bool {
	return slices.ContainsFunc(s.Bought, func(p Purchase) bool { return p.Product == product })
}

// Done returns the products that the row no longer needs to order.
func (s *RowState) Done() []Product {
	done := slices.Clone(s.Existing)
	for _, p := range s.Bought {
		if !slices.Contains(done, p.Product) {
			done = append(done, p.Product)
		}
	}
	return done
}

// AttemptLimits bounds the attempts of a row.
type AttemptLimits struct {
	Exhausted bool      // no more attempts of its own accord
	Canceled  bool      // nothing of the batch is sent any more
	Wanted    []Product // what the row orders in all, by several requests
}

// Fold computes the state of a row from the set of its attempts alone. It is the
// only place that does:
//
// An item that an answer shows as bought is bought, even against a decision. An
// item that a 409 shows as ordered was ordered by the row's own earlier attempt,
// if one of those may have ordered it. A decision counts for an item without an
// answer; an answer that contradicts it makes the item uncertain again. The items
// of an attempt without an answer are uncertain until a decision, and are sent
// again if the filing service guards every one of them against a second order.
//
// Source: spec sections 4 (rule 8) and 7; see docs/assumptions.md.
func Fold(attempts []Attempt, limits AttemptLimits) RowState {
	attempts = slices.Clone(attempts)
	slices.SortFunc(attempts, func(a, b Attempt) int { return a.Try - b.Try })
	f := folding{bought: make(map[Product][]Purchase)}
	for i := range attempts {
		f.answered(attempts[i], attempts[:i])
	}
	for i := range attempts {
		f.decided(attempts[i])
	}
	return f.state(attempts, limits)
}

// folding collects the facts of one row's attempts.
type folding struct {
	order  []Product // of bought, as it was found
	bought map[Product][]Purchase
	there  []Product
	open   []Product

	again        bool // whatever is open may be sent again
	contradicted bool
}

// answered adds the facts in an attempt's answer.
func (f *folding) answered(a Attempt, before []Attempt) {
	switch answers[a.Kind].shows {
	case itemsMade:
		for _, p := range a.Purchases {
			f.buy(p)
		}
	case oneThere:
		for _, p := range a.Purchases {
			if a.Ordered && slices.ContainsFunc(before, func(b Attempt) bool {
				return b.Kind.Lost() && slices.Contains(b.Products, p.Product) ||
					b.Kind == Accepted && slices.Contains(f.unanswered(b), p.Product)
			}) {
				f.buy(p)
			} else {
				f.there = append(f.there, p.Product)
			}
		}
	}
}

// buy counts a purchase once by its order id. One without an id is the same as the
// one that another attempt names.
func (f *folding) buy(p Purchase) {
	same := f.bought[p.Product]
	if len(same) == 0 {
		f.order = append(f.order, p.Product)
	}
	for i, q := range same {
		switch {
		case q.OrderID == p.OrderID || p.OrderID == "":
			return
		case q.OrderID == "":
			same[i] = p
			return
		}
	}
	f.bought[p.Product] = append(same, p)
}

// decided adds the facts of a decision, and finds the items that stay uncertain.
func (f *folding) decided(a Attempt) {
	left := a.Products
	switch shows := answers[a.Kind].shows; {
	case a.Kind == "":
		return
	case shows == oneThere:
		return
	case shows == itemsMade:
		left = f.unanswered(a)
	case shows == nothingMade && a.Decision != DecidedPlaced:
		return
	case shows == nothingMade && a.DecidedOver != a.Kind:
		f.contradicted = true
		f.hold(left, false)
		return
	}
	switch {
	case a.Kind == Accepted && a.DecidedOver != a.Kind:
		// A decision made before the answer arrived does not cover the answer's items.
		f.hold(left, a.Repeatable)
	case a.Decision == DecidedPlaced:
		for _, p := range a.Purchases {
			f.buy(p)
		}
	case a.Decision == Undecided:
		f.hold(left, a.Repeatable)
	}
}

// unanswered returns the products of an accepted attempt without an order id.
func (f *folding) unanswered(a Attempt) []Product {
	return slices.DeleteFunc(slices.Clone(a.Products), func(p Product) bool {
		return slices.ContainsFunc(a.Purchases, func(m Purchase) bool { return m.Product == p })
	})
}

func (f *folding) hold(products []Product, again bool) {
	if len(f.open) == 0 {
		f.again = true
	}
	f.again = f.again && again
	f.open = append(f.open, products...)
}

func (f *folding) state(attempts []Attempt, limits AttemptLimits) RowState {
	s := RowState{Existing: f.there, Contradicted: f.contradicted}
	for _, product := range f.order {
		s.Bought = append(s.Bought, f.bought[product]...)
		if len(f.bought[product]) > 1 {
			s.Duplicates = append(s.Duplicates, product)
		}
	}
	done := s.Done()
	for _, p := range f.open {
		if !slices.Contains(done, p) && !slices.Contains(s.Open, p) {
			s.Open = append(s.Open, p)
		}
	}
	for _, p := range limits.Wanted {
		if !slices.Contains(done, p) && !slices.Contains(s.Open, p) {
			s.Rest = append(s.Rest, p)
		}
	}
	s.Existing = slices.DeleteFunc(s.Existing, func(p Product) bool { return len(f.bought[p]) > 0 })
	if len(attempts) == 0 {
		return s
	}
	newest := attempts[len(attempts)-1]
	s.Last = newest.Kind
	switch {
	case newest.Kind == "":
		s.Result = Placing
	case len(s.Open) > 0 && f.again && !limits.Exhausted && !limits.Canceled && newest.Kind != Refused:
		s.Result, s.Unconfirmed = Ready, true
	case len(s.Open) > 0:
		// After a refusal, too: it refused the repetition, and says nothing of the
		// attempt before it.
		s.Result = Uncertain
	case len(s.Rest) > 0 || !satisfied(attempts, done):
	case slices.ContainsFunc(s.Bought, func(p Purchase) bool { return p.Product != CompanyRecord }):
		s.Result = Placed
	default:
		s.Result = Exists
	}
	return s
}

// satisfied reports whether every item of the newest order is bought or exists.
func satisfied(attempts []Attempt, done []Product) bool {
	for _, a := range slices.Backward(attempts) {
		if !a.Creates {
			return len(a.Products) > 0 && !slices.ContainsFunc(a.Products,
				func(p Product) bool { return !slices.Contains(done, p) })
		}
	}
	return false
}
