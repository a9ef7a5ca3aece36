// Package metrics tells Prometheus how a fleet fares: what one process does, by
// a decorator around the service, and what all of them together have done, by
// readings of the ledger and the queue at the moment of a scrape.
//
// Labels are of closed sets: states, classes of answers, products, calls. No
// name, id or word of a sheet or of the service is among them.
package metrics
