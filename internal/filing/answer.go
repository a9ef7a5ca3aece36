package filing

import (
	"strings"
	"time"
)

// Class is what became of one attempt to send an order.
type Class string

// The classes of answers, one per line of the table below.
const (
	// nothing was written to the wire: dial, TLS, DNS, breaker open; also a 409
	// cut off before it named its item
	NotSent    Class = "not-sent"
	Accepted   Class = "accepted"   // 2xx, readable, with order ids
	Unreadable Class = "unreadable" // 2xx that cannot be read or has no order ids; also 1xx and 3xx
	NoAnswer   Class = "no-answer"  // written, then time-out, reset, EOF or a crash of ours
	// 5xx other than a 503 with Retry-After: a gateway may answer it after the
	// order was made
	ServerError Class = "server-error"
	Busy        Class = "busy"        // 429; 503 with Retry-After
	NoFunds     Class = "no-funds"    // 402
	KeyRefused  Class = "key-refused" // 401, 403
	HasItem     Class = "has-item"    // 409 that names one product of the order
	Refused     Class = "refused"     // any other 4xx, any other 409
)

// Answer is the typed outcome of one attempt to send an order.
type Answer struct {
	Class      Class
	Status     int           // HTTP status; 0 where there was none
	Message    string        // the service's words, or ours for what the network did
	Detail     string        // the network's own words, for those who look into it; empty where they are the message
	RetryAfter time.Duration // of Busy; 0 where the service named none
	Has        Product       // of HasItem: the product that is already there
	Ordered    bool          // of HasItem: an order bought it; false where the company got it elsewhere
	CompanyID  string
	Items      []Item
}

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

// answers is the table of answers: what each class shows of the items of its
// attempt, what it stops, and whether it counts against the attempts of the row.
// A crash or a lost worker after the intent is NoAnswer.
// Source: spec section 7; the statuses that it does not show are an Assumption.
var answers = map[Class]struct {
	shows  shows
	halt   Halt
	counts bool
}{
	NotSent:     {shows: nothingMade},
	Accepted:    {shows: itemsMade, counts: true},
	Unreadable:  {shows: nothingKnown, counts: true},
	NoAnswer:    {shows: nothingKnown, counts: true},
	ServerError: {shows: nothingKnown, counts: true},
	Busy:        {shows: nothingMade, halt: ForRate},
	NoFunds:     {shows: nothingMade, halt: ForFunds},
	KeyRefused:  {shows: nothingMade, halt: ForKey},
	HasItem:     {shows: oneThere, counts: true},
	Refused:     {shows: nothingMade, counts: true},
}

// shows is what a class says of the items of an attempt.
type shows int

const (
	nothingKnown shows = iota // they may have been made
	nothingMade               // none was made
	itemsMade                 // those with an order id were made
	oneThere                  // one is there already, and none was made now
)

// Halts is what an answer of the class stops beyond its own row.
func (c Class) Halts() Halt { return answers[c].halt }

// Counts reports whether an attempt that ends so counts against the row's limit.
func (c Class) Counts() bool { return answers[c].counts }

// Lost reports whether an attempt that ends so may have made its order.
func (c Class) Lost() bool { return c != "" && answers[c].shows == nothingKnown }

// conflicts maps what the service says with 409 to the product that is there,
// and to whether an order bought it: a company may have got its EIN elsewhere.
// Source: spec section 7. A message is matched without regard to case.
var conflicts = []struct {
	says    string
	has     Product
	ordered bool
}{
	{"ein already exists", EIN, false},
	{"ein already requested", EIN, true},
	{"foreign qualification already purchased", ForeignQualification, true},
}

// ConflictOf finds the product that a 409 message names, and whether an order of
// the organization bought it.
func ConflictOf(message string) (has Product, ordered, ok bool) {
	lower := strings.ToLower(message)
	for _, c := range conflicts {
		if strings.Contains(lower, c.says) {
			return c.has, c.ordered, true
		}
	}
	return "", false, false
}
