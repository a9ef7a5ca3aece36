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
	ErrNotFound   = errors.New("not found")
	ErrKeyRefused = errors.New("the API key was refused")
	// ErrBusy comes with Error.RetryAfter.
	ErrBusy = errors.New("the filing service is busy")
	// ErrUnavailable is a 5xx, a network error, an open breaker or an unreadable answer. Callers
	// may try again.
	ErrUnavailable = errors.New("the filing service is not available")
	// ErrConflict is a 409.
	ErrConflict = errors.New("conflicts with an existing record")
	// ErrRefused is any other 4xx.
	ErrRefused = errors.New("the filing service refused the request")
	// ErrLacking is a complete and readable answer without a required field. It matches
	// ErrUnavailable too.
	ErrLacking = errors.New("the answer lacks what it must have")

	// ErrOtherCompany is an answer for another company than the requested one. It matches
	// ErrRefused too.
	ErrOtherCompany = errors.New("the answer is for another company")
)

// ErrUncertain matches an error in addition to its kind. The request was sent and got no conclusive
// answer, so its change may have been made.
var ErrUncertain = errors.New("sent, but the filing service did not confirm it")

// Error is a failed call.
type Error struct {
	// Op is the operation, such as "look up company".
	Op string
	// ID is the subject of the operation. It may be empty.
	ID string
	// Status is the HTTP status, zero without a response.
	Status int
	// Message is the filing service's message, or our description of a network error.
	Message string
	// Detail is the network error itself if Message describes it.
	Detail     string
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

// Is reports whether target is the error's kind, or is ErrUncertain and the outcome is uncertain.
func (e *Error) Is(target error) bool {
	return target == e.kind || target == ErrUncertain && e.uncertain
}

// Unwrap returns the network error, such as context.Canceled.
func (e *Error) Unwrap() error { return e.cause }

// errorKinds are the errors of the kinds of answers, for calls that cost nothing.
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

// decodeInto returns the error of a failed outcome, and otherwise decodes the outcome into v. whole
// reports whether v has its required fields.
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

// invalid returns the error of arguments for which no request is sent.
func invalid(op, id string, err error) error {
	return &Error{Op: op, ID: id, Message: err.Error(), kind: ErrRefused, cause: err}
}

// get looks up a resource by its ID and decodes it as decodeInto does.
func (c *Client) get(ctx context.Context, op, path, id string, v any, whole func() bool) error {
	escaped, err := segment(id)
	if err != nil {
		return invalid(op, "", err)
	}
	return c.decodeInto(op, id, c.do(ctx, http.MethodGet, path+escaped, nil), v, whole)
}

// errorOf returns the error of a failed outcome. It returns nil if the status is 2xx, with any body.
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
		e.kind = ErrNotFound // Assumption: the spec does not show the status of a missing resource
	case http.StatusConflict:
		e.kind = ErrConflict
	}
	return e
}
