package filingapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// The errors of calls other than orders. Test with errors.Is.
var (
	ErrNotFound    = errors.New("not found")
	ErrKeyRefused  = errors.New("the API key was refused")
	ErrBusy        = errors.New("the filing service is busy")             // see Error.RetryAfter
	ErrUnavailable = errors.New("the filing service is not available")    // 5xx, network, breaker, garbage: try again
	ErrConflict    = errors.New("conflicts with an existing record")      // 409
	ErrRefused     = errors.New("the filing service refused the request") // any other 4xx
	ErrLacking     = errors.New("the answer lacks what it must have")     // whole, and readable; an ErrUnavailable too

	// ErrOtherCompany is an answer for another company than the one whose ID was asked for. It is an
	// ErrRefused too.
	ErrOtherCompany = errors.New("the answer is for another company")
)

// ErrUncertain matches an error beside its kind: the request was sent and no
// trustworthy answer came, so that its change may have been made.
var ErrUncertain = errors.New("sent, but the filing service did not confirm it")

// Error is a call that failed.
type Error struct {
	Op         string // look up company
	ID         string // what it was about; may be empty
	Status     int    // HTTP status; 0 where there was none
	Message    string // the filing service's words, or a description of the network's failure
	Detail     string // the network's own text; empty where it is the message
	RetryAfter time.Duration

	kind      error
	cause     error
	uncertain bool
}

func (e *Error) Error() string {
	what := e.Op
	if e.ID != "" {
		what += " " + e.ID
	}
	text := what + ": " + e.Message
	if e.Detail != "" {
		text += " [" + e.Detail + "]"
	}
	if e.Status == 0 {
		return text
	}
	return fmt.Sprintf("%s (%d)", text, e.Status)
}

// Is matches the Err… values.
func (e *Error) Is(target error) bool {
	return target == e.kind || target == ErrUncertain && e.uncertain
}

// Unwrap gives the network's error, for context.Canceled and the like.
func (e *Error) Unwrap() error { return e.cause }

// errorKinds are the kinds of answers as errors of calls that cost nothing.
var errorKinds = map[filing.AnswerKind]error{
	filing.NotSent:     ErrUnavailable,
	filing.NoAnswer:    ErrUnavailable,
	filing.ServerError: ErrUnavailable,
	filing.Unreadable:  ErrUnavailable,
	filing.Busy:        ErrBusy,
	filing.KeyRefused:  ErrKeyRefused,
	filing.NoFunds:     ErrRefused,
	filing.Refused:     ErrRefused,
}

// decodeInto returns the error of a failed outcome, and decodes a good one into v;
// whole reports whether v has what it must.
func (c *Client) decodeInto(op, id string, o outcome, v any, whole func() bool) error {
	if err := c.errorOf(op, id, o); err != nil {
		return err
	}
	err := o.decode(v)
	if err == nil && whole() {
		return nil
	}
	why, detail := ErrLacking.Error(), ""
	if err != nil {
		why, detail = c.unreadable(o, err, "")
	}
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); err == nil || other {
		err = errors.Join(ErrLacking, err)
	}
	return &Error{
		Op:        op,
		ID:        id,
		Status:    o.status,
		Message:   why,
		Detail:    detail,
		kind:      ErrUnavailable,
		cause:     err,
		uncertain: true,
	}
}

// get looks up something by its id, as decodeInto reads it.
func (c *Client) get(ctx context.Context, op, path, id string, v any, whole func() bool) error {
	escaped, err := segment(id)
	if err != nil {
		return &Error{Op: op, Message: err.Error(), kind: ErrRefused, cause: err}
	}
	return c.decodeInto(op, id, c.do(ctx, http.MethodGet, path+escaped, nil), v, whole)
}

// errorOf returns the error of a failed outcome; nil for a good one, whatever its
// body has.
func (c *Client) errorOf(op, id string, o outcome) error {
	kind := o.kind()
	if kind == filing.Accepted {
		return nil
	}
	text, detail := c.message(o)
	if kind == filing.NotSent {
		text = "not sent: " + text
	}
	e := &Error{
		Op:         op,
		ID:         id,
		Status:     o.status,
		Message:    text,
		Detail:     detail,
		RetryAfter: o.retryAfter(),
		kind:       errorKinds[kind],
		cause:      o.err,
		uncertain:  kind.Lost(),
	}
	switch o.status {
	case http.StatusNotFound:
		e.kind = ErrNotFound // Assumption: the status of what is not found is not shown
	case http.StatusConflict:
		e.kind = ErrConflict
	}
	return e
}
