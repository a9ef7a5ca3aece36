package filing

import (
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Attempt has the facts about one request of a row. Facts are only added: Merge adds them in any
// order of arrival, and Fold computes the state of the row from them.
type Attempt struct {
	Number int
	// Creates reports whether the request creates the company.
	Creates bool
	// Products are the requested products, or CompanyRecord if Creates is set.
	Products []Product
	// Repeatable reports whether the service guards against a repetition of the whole order.
	Repeatable bool

	// Kind is the kind of the answer, empty while the request is in flight.
	Kind AnswerKind
	// Purchases are the purchases of the answer. If Kind is HasItem, the existing item is the only
	// purchase, at the price of an order.
	Purchases []Purchase
	// Ordered reports whether an order bought the existing item. Set only for HasItem.
	Ordered bool

	// Decision is the outcome that a person or an event stated.
	Decision Decision
	// DecidedOver is the kind of the answer at the time of the decision.
	DecidedOver AnswerKind
}

// Purchase is an item that an attempt bought.
type Purchase struct {
	Product Product `json:"product"`
	// OrderID is empty if the service has not returned it.
	OrderID string     `json:"order,omitempty"`
	Cost    money.Cost `json:"cost"`
	Parts   CostParts  `json:"parts,omitzero"`
}

// CostParts are the fee of the filing service and the fee of the state. They are zero if only the
// total is known.
type CostParts struct {
	Service money.Cost `json:"service"`
	State   money.Cost `json:"state"`
}

// Decision is the outcome of an attempt without an answer, stated by a person or an event. An
// answer overrides it.
type Decision string

// The decisions on an attempt.
const (
	Undecided        Decision = ""
	DecidedPlaced    Decision = "placed"
	DecidedNotPlaced Decision = "not-placed"
)

// Merge adds the facts of another reading of the same attempt and reports whether any is new. An
// answer replaces the assumption that none will come. Nothing replaces an answer.
func (a Attempt) Merge(ended Attempt) (Attempt, bool) {
	if a.Kind != "" && (!a.Kind.Lost() || ended.Kind.Lost()) {
		return a, false
	}
	ended.Number, ended.Decision, ended.DecidedOver = a.Number, a.Decision, a.DecidedOver
	if len(ended.Products) == 0 {
		ended.Products, ended.Creates = a.Products, a.Creates
	}
	if a.Decision == DecidedPlaced && len(ended.Purchases) == 0 {
		ended.Purchases = a.Purchases
	}
	return ended, true
}

// RowState is the state of a row that follows from its attempts.
type RowState struct {
	// Result is empty if the attempts decide nothing: no item is bought or open.
	Result Result
	// Unconfirmed reports whether the row is ready and an earlier attempt may have bought the open
	// items.
	Unconfirmed bool
	// Bought are the purchases of this row.
	Bought []Purchase
	// Existing are the products that exist without a purchase of this row.
	Existing []Product
	// Open are the products that may have been bought.
	Open []Product
	// Rest are the wanted products that are neither bought, existing nor open.
	Rest []Product
	// Last is the kind of the newest answer.
	Last AnswerKind

	// Duplicates are the products that two attempts of this row bought.
	Duplicates []Product
	// Contradicted reports whether an answer contradicts a decision.
	Contradicted bool
}

// Next returns the result of a row that was sent, or may have been sent.
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

// AttemptLimits limits the attempts of a row.
type AttemptLimits struct {
	// Exhausted means that no automatic retries remain.
	Exhausted bool
	// Canceled means that no more rows of the batch are sent.
	Canceled bool
	// Wanted are the products that the row orders with all its requests.
	Wanted []Product
}

// Fold computes the state of a row from its attempts. No other function does.
//
// An item that an answer shows as bought is bought, even against a decision. An item that a 409
// shows as ordered was ordered by an earlier attempt of the row, if one may have ordered it. A
// decision applies to an item without an answer. An answer that contradicts the decision makes
// the item uncertain again. The items of an attempt without an answer are uncertain until a
// decision. They are sent again if the filing service guards all of them against a second order.
//
// Source: spec section 4 (rule 8) and section 7, see docs/assumptions.md.
func Fold(attempts []Attempt, limits AttemptLimits) RowState {
	attempts = slices.Clone(attempts)
	slices.SortFunc(attempts, func(a, b Attempt) int { return a.Number - b.Number })
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
	bought map[Product][]Purchase
	// order are the keys of bought in the order of the attempts.
	order []Product
	there []Product
	open  []Product

	// again reports whether all open items may be sent again.
	again        bool
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

// buy counts a purchase once by its order ID. A purchase without an ID is the same as a purchase
// of the product with an ID.
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

// decided adds the facts of a decision and the items that stay uncertain.
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

// unanswered returns the products of an accepted attempt that have no order ID.
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
		// A refusal of a repetition proves nothing about the attempt before it.
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
