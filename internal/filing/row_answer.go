package filing

import (
	"strings"
	"time"
)

// AnswerKind is the outcome of one request.
type AnswerKind string

// The kinds of answers, one per line of the table below.
const (
	// NotSent means that nothing was written to the wire because of an error of DNS, dialing or
	// TLS, or of an open breaker. It also stands for a 409 that was cut off before it named an item.
	NotSent AnswerKind = "not-sent"
	// Accepted is a readable 2xx with order IDs.
	Accepted AnswerKind = "accepted"
	// Unreadable is a 2xx that cannot be read or has no order IDs, a 1xx or a 3xx.
	Unreadable AnswerKind = "unreadable"
	// NoAnswer is a timeout, a reset or an EOF after the request was written, or a crash of the
	// process.
	NoAnswer AnswerKind = "no-answer"
	// ServerError is a 5xx other than a 503 with Retry-After. A gateway may answer it although the
	// order was made.
	ServerError AnswerKind = "server-error"
	// Busy is a 429, or a 503 with Retry-After.
	Busy AnswerKind = "busy"
	// NoFunds is a 402.
	NoFunds AnswerKind = "no-funds"
	// KeyRefused is a 401 or a 403.
	KeyRefused AnswerKind = "key-refused"
	// HasItem is a 409 that names one product of the order.
	HasItem AnswerKind = "has-item"
	// Refused is any other 4xx.
	Refused AnswerKind = "refused"
)

// Answer is the outcome of one request.
type Answer struct {
	Kind AnswerKind
	// Status is the HTTP status, zero without a response.
	Status int
	// Message is a message of the filing service, or our description of a network error.
	Message string
	// Detail is the network error itself if Message describes it.
	Detail string
	// RetryAfter is how long the service asked us to wait. Set only for Busy, and zero if
	// unspecified.
	RetryAfter time.Duration
	// Has is the product that exists already. Set only for HasItem.
	Has Product
	// Ordered reports whether an order bought the product. A company may have its EIN from
	// elsewhere. Set only for HasItem.
	Ordered   bool
	CompanyID string
	Items     []Item
}

// Halt is why more than the row of an answer is stopped.
type Halt string

// The halts.
const (
	NoHalt Halt = ""
	// HaltFunds stops the organization until a probe is accepted.
	HaltFunds Halt = "funds"
	// HaltKey stops the fleet until the key is accepted.
	HaltKey Halt = "key"
	// HaltRate stops the fleet until Retry-After has passed.
	HaltRate Halt = "rate"
	// HaltRestored stops the fleet because the ledger went back in time. A person has to end it.
	HaltRestored Halt = "restored"
	// HaltVersion stops this process because a newer version has prepared the ledger.
	HaltVersion Halt = "version"
)

// answers is the table of answers. It has the conclusion about the items of the attempt, the halt,
// and whether the attempt counts against the limit of the row. A crash after the intent is NoAnswer.
// Source: spec section 7. Assumption: the kinds of the statuses that the spec does not show.
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

// shows is the conclusion about the items of an attempt that a kind of answer permits.
type shows int

const (
	// nothingKnown means that the items may have been made.
	nothingKnown shows = iota
	// nothingMade means that no item was made.
	nothingMade
	// itemsMade means that the items with an order ID were made.
	itemsMade
	// oneThere means that one item exists already and that no item was made.
	oneThere
)

// Halts returns the halt that an answer of the kind begins.
func (k AnswerKind) Halts() Halt { return answers[k].halt }

// Counts reports whether an attempt with such an answer counts against the row's
// limit.
func (k AnswerKind) Counts() bool { return answers[k].counts }

// Lost reports whether an attempt with such an answer may have placed its order.
func (k AnswerKind) Lost() bool { return k != "" && answers[k].shows == nothingKnown }

// conflicts maps the message of a 409 to the existing product and to whether an order bought it.
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

// ConflictOf returns the product that the message of a 409 names, and whether an order of the
// organization bought it.
func ConflictOf(message string) (has Product, ordered, ok bool) {
	lower := strings.ToLower(message)
	for _, c := range conflicts {
		if strings.Contains(lower, c.says) {
			return c.has, c.ordered, true
		}
	}
	return "", false, false
}
