// Package filing holds the nouns of the filing service, the rules that its
// orders must keep, the states of a row and what each answer means. It does no
// I/O, so everything here can be decided, and tested, without a service.
//
// The types that travel carry the service's own field names. Where the
// service's document does not show something, the assumption is declared in
// assumption.go and nowhere else.
package filing
