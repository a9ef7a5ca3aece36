package lookup

import (
	"errors"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
)

// ErrHalted means that a request was not sent because requests may not be sent now.
var ErrHalted = errors.New("the filing service may not be asked now")

// Error is why a row cannot be sent.
type Error struct {
	// Next is Rejected, or Ready if the row is tried again later.
	Next    filing.Result
	Message string
	// After is how long to wait before the next attempt.
	After time.Duration
	// Wait is the key of another row's purchase that the row has to wait for.
	Wait filing.Key
	// Err is the error of package filingapi. It may be nil.
	Err error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// Reject returns the error of a row that a person has to correct.
func Reject(format string, args ...any) *Error {
	return &Error{Next: filing.Rejected, Message: fmt.Sprintf(format, args...)}
}

// convertError converts an error of filingapi to the *Error of a row.
func convertError(err error, kind, ref string) error {
	var answered *filingapi.Error
	errors.As(err, &answered)
	switch {
	case errors.Is(err, filingapi.ErrOtherCompany) && answered != nil:
		return Reject("%s: correct the Company ID", answered.Message)
	case (errors.Is(err, filingapi.ErrRefused) || errors.Is(err, filingapi.ErrConflict)) && answered != nil:
		return Reject("the filing service refuses the %s %s: %s", kind, ref, answered.Message)
	case errors.Is(err, filingapi.ErrKeyRefused), errors.Is(err, filingapi.ErrBusy):
		waits := &Error{Next: filing.Ready, Message: "waits for the filing service", Err: err}
		if answered != nil {
			waits.After, waits.Message = answered.RetryAfter, answered.Message
		}
		return waits
	case errors.Is(err, filingapi.ErrUnavailable):
		return &Error{
			Next:    filing.Ready,
			Message: "the filing service cannot be reached",
			After:   time.Second,
			Err:     err,
		}
	}
	return err
}

// ignoreRowError ignores errors that only concern the row.
func ignoreRowError(err error) error {
	if e := (*Error)(nil); errors.As(err, &e) || errors.Is(err, ErrHalted) || errors.Is(err, filingapi.ErrNotFound) {
		return nil
	}
	return err
}
