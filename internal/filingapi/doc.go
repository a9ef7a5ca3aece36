// Package filingapi is the HTTP client of the filing service. It has one file per resource. The
// file answer.go alone interprets answers.
//
// An order costs money and the filing service accepts no idempotency key. The client must therefore
// know whether the service may have received a request, which wire.go determines. Nothing in this
// package sends a request twice. It has no retry loop, follows no redirect, and its transport has
// no copy of a body to send again. Callers decide about retries.
//
// The file breaker.go has the only order breaker. While the filing service fails, it holds orders
// back and then sends them one at a time.
package filingapi
