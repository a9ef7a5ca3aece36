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

// networkError is a kind of network error or invalid answer, described for the reader of a row's
// message.
type networkError struct {
	is func(error) bool
	// unsent applies if no byte of the request was sent.
	unsent string
	// sent applies if the request may have arrived and no answer began.
	sent string
	// within applies if an answer began. It follows "the filing service answered 200 OK, but ".
	within string
}

// networkErrors are matched by the types of errors. The first match with a text for the phase of
// the request applies.
var networkErrors = []networkError{
	{isError(context.Canceled),
		"the request was canceled",
		"the request was canceled before an answer came",
		"the request was canceled before the rest of its answer came"},
	{isA[*net.DNSError],
		"the host name of the filing service was not found",
		"", ""},
	{isTimeout,
		"the connection to the filing service timed out",
		"no answer came in time",
		"the rest of its answer did not come in time"},
	{isError(syscall.ECONNREFUSED),
		"the filing service refused the connection",
		"", ""},
	{failedToDial,
		"the filing service cannot be reached",
		"", ""},
	{isA[*tls.CertificateVerificationError],
		"the certificate of the filing service is not trusted",
		"", ""},
	{isA[tls.RecordHeaderError],
		"the filing service does not use TLS at this address: the address of a sandbox begins with http://",
		"", ""},
	{isTLS,
		"no secure connection (TLS) to the filing service could be made",
		"the secure connection (TLS) failed before an answer came",
		"the secure connection (TLS) failed within its answer"},
	{isBroken,
		"the connection broke before anything was sent",
		"the connection broke before an answer came",
		"the connection broke within its answer"},
	{isError(io.ErrUnexpectedEOF),
		"the connection was closed before anything was sent",
		"the connection was closed at the start of the answer",
		"its answer was cut off"},
	{isError(io.EOF),
		"the connection was closed before anything was sent",
		"the connection was closed before an answer came",
		"its answer was cut off"},
	{isGarbled,
		"", "the answer is not valid HTTP or JSON",
		"its answer is not valid JSON"},
}

func isError(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func isA[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}

// isTimeout reports a timeout of the client or of the network, such as a handshake timeout.
func isTimeout(err error) bool {
	late, is := errors.AsType[net.Error](err)
	return is && late.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

func isTLS(err error) bool {
	op, is := errors.AsType[*net.OpError](err)
	return isA[tls.RecordHeaderError](err) || errors.Is(err, http.ErrSchemeMismatch) ||
		is && (op.Op == "remote error" || op.Op == "local error") // a TLS alert of either side
}

// isBroken reports a reset connection, with any of the system's error numbers for it.
func isBroken(err error) bool {
	op, is := errors.AsType[*net.OpError](err)
	return is && (op.Op == "read" || op.Op == "write") || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// isGarbled reports an answer that is not valid HTTP or JSON.
func isGarbled(err error) bool {
	return isA[textproto.ProtocolError](err) || isA[*json.SyntaxError](err) || isA[*json.UnmarshalTypeError](err)
}

// describe returns an error in plain words, and the error's text as the detail. If no known kind
// matches, it returns only the error's text.
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
