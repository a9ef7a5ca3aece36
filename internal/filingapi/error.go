package filingapi

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"bulkfiling/internal/filing"
)

// What a call other than an order can come to. Test with errors.Is.
var (
	ErrNotFound    = errors.New("not found")
	ErrKeyRefused  = errors.New("the API key was refused")
	ErrBusy        = errors.New("the service is busy")             // see Error.RetryAfter
	ErrUnavailable = errors.New("the service is not available")    // 5xx, network, breaker, garbage: worth another try
	ErrConflict    = errors.New("conflicts with what is there")    // 409
	ErrRefused     = errors.New("the service refused the request") // any other 4xx
)

// Error is a call that failed.
type Error struct {
	Op         string // look up company
	ID         string // what it was about; may be empty
	Status     int    // HTTP status; 0 where there was none
	Message    string // the service's words, or the network's
	RetryAfter time.Duration

	kind  error
	cause error
}

func (e *Error) Error() string {
	what := e.Op
	if e.ID != "" {
		what += " " + e.ID
	}
	if e.Status == 0 {
		return fmt.Sprintf("%s: %s", what, e.Message)
	}
	return fmt.Sprintf("%s: %s (%d)", what, e.Message, e.Status)
}

// Is matches the Err… values.
func (e *Error) Is(target error) bool { return target == e.kind }

// Unwrap gives the network's error, for context.Canceled and the like.
func (e *Error) Unwrap() error { return e.cause }

// kinds says what the classes of answers are for calls that cost nothing.
var kinds = map[filing.Class]error{
	filing.NotSent:     ErrUnavailable,
	filing.NoAnswer:    ErrUnavailable,
	filing.ServerError: ErrUnavailable,
	filing.Unreadable:  ErrUnavailable,
	filing.Busy:        ErrBusy,
	filing.KeyRefused:  ErrKeyRefused,
	filing.NoFunds:     ErrRefused,
	filing.Refused:     ErrRefused,
}

// read types a failed outcome, and decodes a good one into v, of which whole
// says whether it holds what it must.
func (c *Client) read(op, id string, o outcome, v any, whole func() bool) error {
	class := o.class()
	if class == filing.Accepted {
		err := o.decode(v)
		if err == nil && whole() {
			return nil
		}
		why := "the answer is not what was asked for"
		if err != nil {
			why = "the answer cannot be read: " + err.Error()
		}
		return &Error{Op: op, ID: id, Status: o.status, Message: c.clean(why), kind: ErrUnavailable, cause: err}
	}
	kind := kinds[class]
	switch o.status {
	case http.StatusNotFound:
		kind = ErrNotFound
	case http.StatusConflict:
		kind = ErrConflict
	}
	return &Error{Op: op, ID: id, Status: o.status, Message: c.message(o), RetryAfter: o.retryAfter(), kind: kind, cause: o.err}
}
