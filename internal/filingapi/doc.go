// Package filingapi is the HTTP client of the filing service: one file per
// resource, and one place, answer.go, that decides what an answer means.
//
// An order costs money and the filing service takes no idempotency key, so the
// client is built around one question: may the service have seen the request?
// wire.go answers it. Nothing in this package sends a request twice: there is no
// retry loop, no redirect is followed, and the transport has no copy of a body to
// send again. Callers decide what is tried again.
//
// breaker.go has the one order breaker: while the filing service fails, orders
// are held, and then go one at a time.
package filingapi
