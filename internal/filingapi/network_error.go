package filingapi

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"syscall"
)

// mishap is a way in which the network or an answer fails, in the words of
// whoever reads what became of an order.
type networkError struct {
	is     func(error) bool
	unsent string // nothing of the request has left
	sent   string // it may have arrived, and no answer began
	within string // an answer began; "the service answered 200 OK, but " stands before it
}

// mishaps are told apart by the types of errors; the first that fits and has
// words for the moment counts.
var networkErrors = []networkError{
	{isError(context.Canceled),
		"it was called off",
		"it was called off before an answer came",
		"it was called off before the rest of its answer came"},
	{isA[*net.DNSError],
		"the name of the service is not found in the network",
		"", ""},
	{isTimeout,
		"no connection to the service came about in time",
		"no answer came in time",
		"the rest of its answer did not come in time"},
	{isError(syscall.ECONNREFUSED),
		"the address of the service takes no connections",
		"", ""},
	{failedToDial,
		"the address of the service cannot be reached",
		"", ""},
	{isA[*tls.CertificateVerificationError],
		"the certificate of the service is not one to trust",
		"", ""},
	{isTLS,
		"no secure connection (TLS) to the service came about",
		"the secure connection (TLS) failed before an answer came",
		"the secure connection (TLS) failed within its answer"},
	{isBroken,
		"the connection broke before anything was sent",
		"the connection broke before an answer came",
		"the connection broke within its answer"},
	{isError(io.ErrUnexpectedEOF),
		"the connection was closed before anything was sent",
		"the connection was closed where an answer had just begun",
		"its answer was cut off"},
	{isError(io.EOF),
		"the connection was closed before anything was sent",
		"the connection was closed before an answer came",
		"its answer was cut off"},
	{isGarbled,
		"", "what came for an answer is not understood",
		"its answer is not understood"},
}

func isError(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func isA[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}

// isTimeout is true of our own time-out and of the network's, such as that of a
// handshake.
func isTimeout(err error) bool {
	late, is := errors.AsType[net.Error](err)
	return is && late.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

func isTLS(err error) bool {
	op, is := errors.AsType[*net.OpError](err)
	return isA[tls.RecordHeaderError](err) || errors.Is(err, http.ErrSchemeMismatch) ||
		is && (op.Op == "remote error" || op.Op == "local error") // an alert, of them or of us
}

// isBroken is true of a connection that was reset, by whichever number the
// system calls that.
func isBroken(err error) bool {
	op, is := errors.AsType[*net.OpError](err)
	return is && (op.Op == "read" || op.Op == "write") || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// isGarbled is true of an answer that is no HTTP or no JSON.
func isGarbled(err error) bool {
	return isA[textproto.ProtocolError](err) || isA[*json.SyntaxError](err) || isA[*json.UnmarshalTypeError](err)
}

// words says in plain words what an error is, and what the error said itself as
// the detail. One of no known kind is its own words.
func (c *Client) describe(err error, at func(networkError) string) (text, detail string) {
	detail = c.clean(err.Error())
	for _, m := range networkErrors {
		if m.is(err) && at(m) != "" {
			return at(m), detail
		}
	}
	return detail, ""
}

func beforeSent(m networkError) string   { return m.unsent }
func afterSent(m networkError) string    { return m.sent }
func withinAnswer(m networkError) string { return m.within }
