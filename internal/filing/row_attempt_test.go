package filing

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/money"
)

// allKinds are the kinds of answers, "" for none yet included.
var allKinds = []AnswerKind{"", NotSent, Accepted, Unreadable, NoAnswer, ServerError, Busy, NoFunds, KeyRefused,
	HasItem,
	Refused}

// sent is an attempt that asks for products and ended so. Accepted makes all of
// them; HasItem finds the first.
func sent(attempt int, class AnswerKind, products ...Product) Attempt {
	a := Attempt{
		Number:   attempt,
		Kind:     class,
		Products: products,
		Ordered:  true,
		Repeatable: !slices.ContainsFunc(products,
			func(p Product) bool { return p != EIN && p != ForeignQualification }),
	}
	for i, p := range products {
		switch {
		case class == Accepted:
			a.Purchases = append(a.Purchases, Purchase{
				Product: p,
				OrderID: fmt.Sprintf("order_%d_%s", attempt, p),
				Cost:    money.Cost{Amount: 100},
			})
		case class == HasItem && i == 0:
			a.Purchases = []Purchase{{Product: p, Cost: money.Cost{Amount: 100}}}
		}
	}
	return a
}

// foldCase is a cell of the table of answers: an answer to an order that the
// service guards against repetition or does not guard, as the first attempt or
// after one whose outcome is not known, for one item or two, before and after
// the attempts are used up, and in a batch that was canceled.
type foldCase struct {
	kind       AnswerKind
	repeatable bool
	items      int
	after      bool // an attempt without an answer
	limits     AttemptLimits
}

// foldResult is what a state says of a row.
type foldResult struct {
	result       Result // "" where nothing is bought and nothing open
	unconfirmed  bool
	bought, open int
}

// want is the state that the table of answers gives the row.
func (c foldCase) want() foldResult {
	again := c.repeatable && !c.limits.Exhausted && !c.limits.Canceled
	lost := func(again bool, open int) foldResult {
		if again {
			return foldResult{Ready, true, 0, open}
		}
		return foldResult{Uncertain, false, 0, open}
	}
	switch c.kind {
	case "":
		if c.after {
			return foldResult{result: Placing, open: c.items}
		}
		return foldResult{result: Placing}
	case Accepted:
		return foldResult{Placed, false, c.items, 0}
	case Unreadable, NoAnswer, ServerError:
		return lost(again, c.items)
	case HasItem:
		switch {
		case c.after && c.items == 1: // the row's own earlier attempt bought it
			return foldResult{Placed, false, 1, 0}
		case c.after: // the same; the answer says nothing of the rest
			want := lost(again, 1)
			want.bought = 1
			return want
		case c.items == 1:
			return foldResult{result: Exists}
		}
		return foldResult{}
	case Refused: // the repetition was refused; the outcome of the first attempt is still unknown
		again = false
	}
	if c.after { // no order was placed now; an earlier uncertainty stays
		return lost(again, c.items)
	}
	return foldResult{}
}

func (c foldCase) run(t *testing.T) {
	products := []Product{EIN, ForeignQualification}
	if !c.repeatable {
		products = []Product{AnnualReport, RegisteredAgent}
	}
	products = products[:c.items]
	var attempts []Attempt
	if c.after {
		attempts = append(attempts, sent(1, NoAnswer, products...))
	}
	s := Fold(append(attempts, sent(2, c.kind, products...)), c.limits)
	if got, want := (foldResult{s.Result, s.Unconfirmed, len(s.Bought), len(s.Open)}), c.want(); got != want {
		t.Errorf("%+v:\ngot  %+v\nwant %+v", c, got, want)
	}
	if s.Last != c.kind {
		t.Errorf("the newest ended with %q, not %q", s.Last, c.kind)
	}
}

// TestFoldFollowsTheTableOfAnswers tries every cell of the table.
// Source: spec section 7; what it does not show is in docs/assumptions.md.
func TestFoldFollowsTheTableOfAnswers(t *testing.T) {
	for _, repeatable := range []bool{true, false} {
		for _, items := range []int{1, 2} {
			for _, after := range []bool{false, true} {
				for _, limits := range []AttemptLimits{{}, {Exhausted: true}, {Canceled: true}} {
					for _, kind := range allKinds {
						foldCase{kind, repeatable, items, after, limits}.run(t)
					}
				}
			}
		}
	}
}

func TestFold(t *testing.T) {
	decided := func(a Attempt, d Decision, over AnswerKind, order string) Attempt {
		a.Decision, a.DecidedOver = d, over
		if d == DecidedPlaced {
			a.Purchases = append(a.Purchases,
				Purchase{Product: a.Products[0], OrderID: order, Cost: money.Cost{Amount: 100}})
		}
		return a
	}
	partly := func(a Attempt) Attempt { a.Purchases = a.Purchases[:1]; return a }
	elsewhere := func(a Attempt) Attempt { a.Ordered = false; return a }
	creation := func(class AnswerKind) Attempt {
		a := sent(1, class, CompanyRecord)
		a.Creates = true
		return a
	}
	for _, c := range []struct {
		name     string
		attempts []Attempt
		want     string // result, what is bought, there, open, twice, contradicted
	}{
		{"an answer names some of the items", []Attempt{partly(sent(1, Accepted, AnnualReport, RegisteredAgent))},
			"uncertain bought annual-report open registered-agent"},
		{"the rest of it may be sent again", []Attempt{partly(sent(1, Accepted, ForeignQualification, EIN))},
			"ready unconfirmed bought foreign-qualification open ein"},
		{"the service names the rest when it is sent again", []Attempt{
			partly(sent(1, Accepted, ForeignQualification, EIN)), sent(2, HasItem, EIN),
		}, "placed bought foreign-qualification ein"},
		{"the rest was decided", []Attempt{
			decided(partly(sent(1, Accepted, AnnualReport, RegisteredAgent)), DecidedNotPlaced, Accepted, ""),
		}, " bought annual-report"},
		{"the rest was decided before the answer came",
			[]Attempt{
				decided(partly(sent(1, Accepted, AnnualReport, RegisteredAgent)), DecidedNotPlaced, NoAnswer, ""),
			}, "uncertain bought annual-report open registered-agent"},
		{"a person says placed", []Attempt{
			decided(sent(1, NoAnswer, AnnualReport), DecidedPlaced, NoAnswer, "order_9"),
		}, "placed bought annual-report"},
		{"a person says not placed", []Attempt{
			decided(sent(1, NoAnswer, AnnualReport), DecidedNotPlaced, NoAnswer, ""),
		}, ""},
		{"accepted after not placed", []Attempt{
			decided(sent(1, Accepted, AnnualReport), DecidedNotPlaced, NoAnswer, ""),
		}, "placed bought annual-report"},
		{"refused after placed", []Attempt{
			decided(sent(1, Refused, AnnualReport), DecidedPlaced, NoAnswer, "order_9"),
		}, "uncertain open annual-report contradicted"},
		{"placed all the same", []Attempt{decided(sent(1, Refused, AnnualReport), DecidedPlaced, Refused, "order_9")},
			"placed bought annual-report"},
		{"not placed after all", []Attempt{decided(sent(1, Refused, AnnualReport), DecidedNotPlaced, Refused, "")}, ""},
		{"accepted after it was sent again",
			[]Attempt{decided(sent(1, Accepted, AnnualReport), DecidedNotPlaced, NoAnswer, ""),
				sent(2, Accepted, AnnualReport)}, "placed bought annual-report annual-report twice annual-report"},
		{"accepted while it is sent again",
			[]Attempt{decided(sent(1, Accepted, AnnualReport), DecidedNotPlaced, NoAnswer, ""),
				sent(2, "", AnnualReport)}, "placing bought annual-report"},
		{"accepted, and the second refused",
			[]Attempt{decided(sent(1, Accepted, AnnualReport), DecidedNotPlaced, NoAnswer, ""),
				sent(2, Refused, AnnualReport)}, "placed bought annual-report"},
		{"a 409 after not placed shows the purchase",
			[]Attempt{decided(sent(1, NoAnswer, EIN), DecidedNotPlaced, NoAnswer, ""), sent(2, HasItem, EIN)},
			"placed bought ein"},
		{"a 409, and the first turns out refused", []Attempt{sent(1, Refused, EIN), sent(2, HasItem, EIN)},
			"exists there ein"},
		{"a 409, and the first turns out accepted", []Attempt{sent(1, Accepted, EIN), sent(2, HasItem, EIN)},
			"placed bought ein"},
		{"a 409, and an attempt before it turns out accepted",
			[]Attempt{sent(1, NoAnswer, EIN), sent(2, Accepted, EIN), sent(3, HasItem, EIN)}, "placed bought ein"},
		{"an EIN from elsewhere is never ours", []Attempt{sent(1, NoAnswer, EIN), elsewhere(sent(2, HasItem, EIN))},
			"exists there ein"},
		{"the company is made", []Attempt{creation(Accepted)}, " bought company"},
		{"its order after it", []Attempt{creation(Accepted), sent(2, Accepted, AnnualReport)},
			"placed bought company annual-report"},
		{"its creation is not known", []Attempt{creation(NoAnswer)}, "uncertain open company"},
		{"an item was dropped meanwhile",
			[]Attempt{decided(sent(1, NoAnswer, AnnualReport, RegisteredAgent), DecidedNotPlaced, NoAnswer, ""),
				sent(2, Accepted, AnnualReport)}, "placed bought annual-report"},
	} {
		s := Fold(c.attempts, AttemptLimits{})
		if got := s.describe(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// describe writes a state on one line.
func (s RowState) describe() string {
	parts := []string{string(s.Result)}
	add := func(what string, products ...Product) {
		if len(products) > 0 {
			parts = append(parts, what)
		}
		for _, p := range products {
			parts = append(parts, string(p))
		}
	}
	if s.Unconfirmed {
		parts = append(parts, "unconfirmed")
	}
	var bought []Product
	for _, p := range s.Bought {
		bought = append(bought, p.Product)
	}
	add("bought", bought...)
	add("there", s.Existing...)
	add("open", s.Open...)
	add("twice", s.Duplicates...)
	if s.Contradicted {
		parts = append(parts, "contradicted")
	}
	return strings.Join(parts, " ")
}

// outcomes are the attempts of products with every kind of answer and every
// decision on it.
func outcomes(attempt int, products []Product) []Attempt {
	var all []Attempt
	for _, kind := range allKinds {
		a := sent(attempt, kind, products...)
		all = append(all, a)
		if kind == "" {
			continue
		}
		if kind == Accepted && len(a.Purchases) > 1 {
			part := a
			part.Purchases = part.Purchases[:1]
			all = append(all, part)
		}
		for _, over := range []AnswerKind{NoAnswer, kind} {
			no, yes := a, a
			no.Decision, no.DecidedOver = DecidedNotPlaced, over
			yes.Decision, yes.DecidedOver = DecidedPlaced, over
			if kind != Accepted && kind != HasItem {
				yes.Purchases = []Purchase{{
					Product: products[0],
					OrderID: fmt.Sprintf("order_seen_%d", attempt),
					Cost:    money.Cost{Amount: 100},
				}}
			}
			all = append(all, no, yes)
		}
	}
	return all
}

// eachRow calls fn with all rows of one attempt or two, each of one item or two.
func eachRow(fn func([]Attempt)) {
	for _, products := range [][]Product{
		{AnnualReport}, {AnnualReport, ForeignQualification}, {EIN}, {EIN, ForeignQualification},
	} {
		for _, first := range outcomes(1, products) {
			fn([]Attempt{first})
			if first.Kind == "" {
				continue // nothing is sent while an attempt is under way
			}
			for _, second := range outcomes(2, products) {
				fn([]Attempt{first, second})
			}
		}
	}
}

// TestFoldProperties checks what is true of every set of facts.
func TestFoldProperties(t *testing.T) {
	rows := 0
	eachRow(func(attempts []Attempt) {
		rows++
		s := Fold(attempts, AttemptLimits{})
		where := fmt.Sprintf("%+v: %s", attempts, s.describe())
		reversed := slices.Clone(attempts)
		slices.Reverse(reversed)
		if !reflect.DeepEqual(s, Fold(reversed, AttemptLimits{})) {
			t.Fatalf("the order of the facts changes where the row ends: %s", where)
		}
		checkPurchases(t, attempts, s)
		switch {
		case s.Result == Placed && (len(s.Bought) == 0 || len(s.Open) > 0),
			s.Result == Exists && (len(s.Bought) > 0 || len(s.Existing) == 0 || len(s.Open) > 0),
			s.Result == Uncertain && (len(s.Open) == 0 || s.Unconfirmed),
			s.Result == Ready && !s.Unconfirmed,
			s.Result == "" && len(s.Open) > 0,
			s.Unconfirmed && len(s.Open) == 0:
			t.Fatalf("the state contradicts itself: %s", where)
		case s.Unconfirmed && !slices.ContainsFunc(attempts, func(a Attempt) bool { return a.Repeatable }):
			t.Fatalf("what the service does not guard is to be sent again: %s", where)
		case s.Unconfirmed && (Fold(attempts, AttemptLimits{Canceled: true}).Unconfirmed ||
			Fold(attempts, AttemptLimits{Exhausted: true}).Unconfirmed):
			t.Fatalf("it is sent again although it must not be: %s", where)
		}
	})
	if rows < 5000 {
		t.Errorf("only %d rows were tried", rows)
	}
}

// checkPurchases checks that no purchase is lost, and none is bought and open.
func checkPurchases(t *testing.T, attempts []Attempt, s RowState) {
	t.Helper()
	for _, a := range attempts {
		for _, p := range a.Purchases {
			if a.Kind == Accepted && !slices.ContainsFunc(s.Bought,
				func(q Purchase) bool { return q.OrderID == p.OrderID }) {
				t.Fatalf("a purchase that an answer names is lost: %+v: %s", attempts, s.describe())
			}
		}
	}
	for _, p := range s.Open {
		if slices.Contains(s.Done(), p) {
			t.Fatalf("%s is bought and open: %+v: %s", p, attempts, s.describe())
		}
	}
}

// What is learned of an attempt is the same in whatever order it arrives: an
// answer outweighs a guess, and nothing outweighs an answer.
func TestMergeInAnyOrder(t *testing.T) {
	begun := sent(1, "", EIN)
	for _, x := range allKinds[1:] {
		for _, y := range allKinds[1:] {
			first, second := sent(1, x, EIN), sent(1, y, EIN)
			xy, _ := begun.Merge(first)
			xy, news := xy.Merge(second)
			yx, _ := begun.Merge(second)
			yx, _ = yx.Merge(first)
			switch {
			case x.Lost() != y.Lost():
				if !reflect.DeepEqual(xy, yx) || xy.Kind.Lost() {
					t.Errorf("%s and %s: %s one way, %s the other", x, y, xy.Kind, yx.Kind)
				}
			case xy.Kind != x || news:
				t.Errorf("%s is replaced by %s", x, y)
			}
		}
	}
}

// A late answer to a decided attempt never makes less known than the answer in
// time would have.
func TestAnAnswerOutweighsADecision(t *testing.T) {
	for _, class := range allKinds[1:] {
		for _, d := range []Decision{DecidedPlaced, DecidedNotPlaced} {
			a := sent(1, NoAnswer, AnnualReport)
			a.Decision, a.DecidedOver = d, NoAnswer
			if d == DecidedPlaced {
				a.Purchases = []Purchase{{Product: AnnualReport, OrderID: "order_seen"}}
			}
			late, _ := a.Merge(sent(1, class, AnnualReport))
			got, inTime := Fold([]Attempt{late}, AttemptLimits{}), Fold([]Attempt{sent(1, class, AnnualReport)},
				AttemptLimits{})
			switch {
			case class.Lost(): // no answer: the decision stands
				want := Fold([]Attempt{a}, AttemptLimits{})
				if got.describe() != want.describe() {
					t.Errorf("%s after %s: %q", class, d, got.describe())
				}
			case d == DecidedPlaced && answers[class].shows == nothingMade:
				if got.Result != Uncertain || !got.Contradicted {
					t.Errorf("%s after %s: %q", class, d, got.describe())
				}
			case got.describe() != inTime.describe():
				t.Errorf("%s after %s: %q, in time %q", class, d, got.describe(), inTime.describe())
			}
		}
	}
}

func TestSpentIsWhatWasBought(t *testing.T) {
	s := Fold([]Attempt{sent(1, Accepted, AnnualReport, RegisteredAgent)}, AttemptLimits{})
	if got := s.Spent(); got != (money.Cost{Amount: 200}) {
		t.Errorf("%s", got)
	}
}
