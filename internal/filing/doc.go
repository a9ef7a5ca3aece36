// Package filing holds the filing service's data, the rules of its orders, the
// states of a row and the meaning of each answer. It does no I/O, so everything
// here can be decided, and tested, without the filing service.
//
// It has two halves. The first are the data of the service and their rules: order.go, company.go,
// event.go, request.go and rule_*.go. The second are the states of a row: results and transitions
// in row_result.go, the meaning of an answer in row_answer.go, and the state that follows from the
// attempts of a row in row_attempt.go.
//
// Data types have the field names of the filing service. Assumptions about the service that its
// document does not settle are listed in docs/assumptions.md.
package filing
