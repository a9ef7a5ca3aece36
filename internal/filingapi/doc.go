// Package filingapi is the HTTP client of the filing service: one file per
// resource, and one place, answer.go, that says what an answer is.
//
// An order costs money and the service takes no idempotency key, so the client
// is built around one question: may the service have seen it? wire.go answers
// it. Nothing in here sends a request twice: there is no retry loop, no
// redirect is followed, and the transport is denied the means to repeat a
// request by itself. Callers decide what is tried again.
package filingapi
