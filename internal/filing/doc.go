// Package filing holds the filing service's data, the rules of its orders, the
// states of a row and the meaning of each answer. It does no I/O, so everything
// here can be decided, and tested, without the filing service.
//
// It has two halves. What travels and what it must satisfy: order.go,
// company.go, event.go, request.go, and the rules in rule_*.go. What becomes of
// a row: its results and their transitions in row_result.go, the meaning of an
// answer in row_answer.go, and the state that a row's attempts add up to in
// row_attempt.go.
//
// The types that travel carry the filing service's own field names. Where its
// document does not show something, the assumption is declared in assumption.go
// and nowhere else.
package filing
