package filing

import (
	"strings"
	"time"
)

// Class is what became of one attempt to send an order.
type Class string

// The classes of answers, one per line of the table in Decide.
const (
	NotSent     Class = "not-sent"     // nothing was written to the wire: dial, TLS, DNS, breaker open; also a 409 cut off before it named its item
	Accepted    Class = "accepted"     // 2xx, readable, with order ids
	Unreadable  Class = "unreadable"   // 2xx that cannot be read or has no order ids; also 1xx and 3xx
	NoAnswer    Class = "no-answer"    // written, then time-out, reset, EOF or a crash of ours
	ServerError Class = "server-error" // 5xx other than 503
	Busy        Class = "busy"         // 429, 503
	NoFunds     Class = "no-funds"     // 402
	KeyRefused  Class = "key-refused"  // 401, 403
	HasItem     Class = "has-item"     // 409 that names one product of the order
	Refused     Class = "refused"      // any other 4xx, any other 409
)

// Answer is the typed outcome of one attempt to send an order.
type Answer struct {
	Class      Class
	Status     int           // HTTP status; 0 where there was none
	Message    string        // the service's words, or ours for what the network did
	Detail     string        // the network's own words, for those who look into it; empty where they are the message
	RetryAfter time.Duration // of Busy; 0 where the service named none
	Has        Product       // of HasItem: the product that is already there
	CompanyID  string
	Items      []Item
}

// Funds says what happens to the money set aside for the attempt.
type Funds string

// The fates of a reservation.
const (
	Post Funds = "post" // it was spent; with Verdict.Drop, the item's share of it
	Void Funds = "void" // it was not
	Hold Funds = "hold" // not known: it stays set aside
)

// Halt says what the answer stops beyond its own row.
type Halt string

// What an answer can stop.
const (
	Nothing  Halt = ""
	ForFunds Halt = "funds" // the organization, until a probe is accepted
	ForKey   Halt = "key"   // everything at once, until the key is accepted
	ForRate  Halt = "rate"  // the whole fleet, until Retry-After has passed

	ForRestore Halt = "restored" // everything: the ledger went back in time, and a person has to look
	ForVersion Halt = "version"  // this process: a newer version has prepared the ledger
)

// Verdict is what an answer means for the row, its money and the fleet.
type Verdict struct {
	Next    Result
	Funds   Funds
	Halt    Halt
	Doubt   bool // the row goes back to ready with an attempt in doubt behind it
	Attempt bool // the attempt counts against the row's limit
	Drop    bool // the item of Answer.Has is there: the rest is sent again without it
}

// Standing is what the decision depends on besides the answer.
type Standing struct {
	Repeatable bool // every item of the order may be sent twice without harm
	Doubt      bool // an earlier attempt to send this row has no known outcome
	LastItem   bool // the order has only one item left
	Exhausted  bool // the row has used up its attempts
}

// verdicts is the table of answers: the left column for orders whose repetition
// is harmless, the right for those with an annual report or a formation in them.
//
// A crash or a lost worker after the intent is NoAnswer.
var verdicts = map[Class]struct{ repeatable, once Verdict }{
	NotSent:     same(Verdict{Next: Ready, Funds: Void}),
	Accepted:    same(Verdict{Next: Placed, Funds: Post, Attempt: true}),
	Unreadable:  doubtful,
	NoAnswer:    doubtful,
	ServerError: doubtful,
	Busy:        same(Verdict{Next: Ready, Funds: Void, Halt: ForRate}),
	NoFunds:     same(Verdict{Next: Ready, Funds: Void, Halt: ForFunds}),
	KeyRefused:  same(Verdict{Next: Ready, Funds: Void, Halt: ForKey}),
	HasItem:     same(Verdict{Next: Exists, Funds: Void, Attempt: true}),
	Refused:     same(Verdict{Next: Rejected, Funds: Void, Attempt: true}),
}

var doubtful = struct{ repeatable, once Verdict }{
	repeatable: Verdict{Next: Ready, Funds: Hold, Doubt: true, Attempt: true},
	once:       Verdict{Next: Uncertain, Funds: Hold, Attempt: true},
}

func same(v Verdict) struct{ repeatable, once Verdict } {
	return struct{ repeatable, once Verdict }{v, v}
}

// Decide is the one place that says what an answer means.
//
// Three things bend the table, all of them about attempts in doubt. A 409 after
// one shows that the item was ours: its money is spent, and the row is placed
// unless other items are left, which are sent again, for the 409 says nothing of
// them. An answer that sends nothing leaves the earlier doubt, and its
// reservation, as they were. And a row in doubt that has used up its attempts is
// uncertain: a person decides.
func Decide(a Answer, s Standing) Verdict {
	row := verdicts[a.Class]
	v := row.once
	if s.Repeatable {
		v = row.repeatable
	}
	switch {
	case a.Class == HasItem && s.Doubt && !s.LastItem:
		// It has been answered: the attempts of the rest begin anew.
		return Verdict{Next: Ready, Funds: Post, Doubt: true, Attempt: true, Drop: true}
	case a.Class == HasItem && s.Doubt:
		v.Next, v.Funds = Placed, Post
	case a.Class == HasItem && !s.LastItem:
		v.Next, v.Drop = Ready, true
	case a.Class == Refused && s.Doubt:
		// The repetition was refused; whether the first attempt was, nobody knows.
		v.Next, v.Funds = Uncertain, Hold
	case v.Next == Ready && s.Doubt:
		v.Doubt, v.Funds = true, Hold
	}
	if v.Doubt && v.Attempt && s.Exhausted {
		v.Next, v.Doubt = Uncertain, false
	}
	return v
}

// conflicts maps what the service says with 409 to the product that is there.
// Source: spec section 7. A message is matched without regard to case.
var conflicts = []struct {
	says string
	has  Product
}{
	{"ein already exists", EIN},
	{"ein already requested", EIN},
	{"foreign qualification already purchased", ForeignQualification},
}

// ConflictOf finds the product that a 409 message names.
func ConflictOf(message string) (Product, bool) {
	lower := strings.ToLower(message)
	for _, c := range conflicts {
		if strings.Contains(lower, c.says) {
			return c.has, true
		}
	}
	return "", false
}
