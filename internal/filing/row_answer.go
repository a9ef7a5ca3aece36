package filing

import (
	"strings"
	"time"
)

// AnswerKind is the outcome of one attempt to send an order.
type AnswerKind string

// The kinds of answers, one per line of the table below.
const (
	// nothing was written to the wire: dial, TLS, DNS, breaker open; also a 409
	// cut off before it named its item
	NotSent    AnswerKind = "not-sent"
	Accepted   AnswerKind = "accepted"   // 2xx, readable, with order ids
	Unreadable AnswerKind = "unreadable" // 2xx that cannot be read or has no order ids; also 1xx and 3xx
	NoAnswer   AnswerKind = "no-answer"  // written, then time-out, reset, EOF or a crash of ours
	// 5xx other than a 503 with Retry-After: a gateway may answer it after the
	// order was made
	ServerError AnswerKind = "server-error"
	Busy        AnswerKind = "busy"        // 429; 503 with Retry-After
	NoFunds     AnswerKind = "no-funds"    // 402
	KeyRefused  AnswerKind = "key-refused" // 401, 403
	HasItem     AnswerKind = "has-item"    // 409 that names one product of the order
	Refused     AnswerKind = "refused"     // any other 4xx, any other 409
)

// Answer is the typed outcome of one attempt to send an order.
type Answer struct {
	Kind       AnswerKind
	Status     int           // HTTP status; 0 where there was none
	Message    string        // the service's words, or ours for what the network did
	Detail     string        // the network's own words, for those who look into it; empty where they are the message
	RetryAfter time.Duration // of Busy; 0 where the service named none
	Has        Product       // of HasItem: the product that is already there
	Ordered    bool          // of HasItem: an order bought it; false where the company got it elsewhere
	CompanyID  string
	Items      []Item
}

// Halt is the extent of what an answer stops beyond its own row.
type Halt string

// What an answer can stop.
const (
	NoHalt    Halt = ""
	HaltFunds Halt = "funds" // the organization, until a probe is accepted
	HaltKey   Halt = "key"   // everything at once, until the key is accepted
	HaltRate  Halt = "rate"  // the whole fleet, until Retry-After has passed

	HaltRestored Halt = "restored" // everything: the ledger went back in time, and a person has to look
	HaltVersion  Halt = "version"  // this process: a newer version has prepared the ledger
)

// answers is the table of answers: what each kind shows of the items of its
// attempt, what it stops, and whether it counts against the attempts of the row.
// A crash or a lost worker after the intent is NoAnswer.
// Source: spec section 7; the statuses that it does not show are an Assumption.
var answers = map[AnswerKind]struct {
	shows  shows
	halt   Halt
	counts bool
}{
	NotSent:     {shows: nothingMade},
	Accepted:    {shows: itemsMade, counts: true},
	Unreadable:  {shows: nothingKnown, counts: true},
	NoAnswer:    {shows: nothingKnown, counts: true},
	ServerError: {shows: nothingKnown, counts: true},
	Busy:        {shows: nothingMade, halt: HaltRate},
	NoFunds:     {shows: nothingMade, halt: HaltFunds},
	KeyRefused:  {shows: nothingMade, halt: HaltKey},
	HasItem:     {shows: oneThere, counts: true},
	Refused:     {shows: nothingMade, counts: true},
}

// shows is the conclusion about an attempt's items that a kind permits.
type shows int

const (
	nothingKnown shows = iota // they may have been made
	nothingMade               // none was made
	itemsMade                 // those with an order id were made
	oneThere                  // one is there already, and none was made now
)

// Halts returns what an answer of the kind stops beyond its own row.
func (k AnswerKind) Halts() Halt { return answers[k].halt }

// Counts reports whether an attempt with such an answer counts against the row's
// limit.
func (k AnswerKind) Counts() bool { return answers[k].counts }

// Lost reports whether an attempt with such an answer may have placed its order.
func (k AnswerKind) Lost() bool { return k != "" && answers[k].shows == nothingKnown }

// conflicts maps the message of a 409 to the product that exists, and to whether
// an order bought it: a company may have its EIN from elsewhere.
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
