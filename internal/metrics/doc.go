// Package metrics exports the state of a fleet to Prometheus. A decorator around the filing service
// counts the requests of one process. The figures of the whole fleet are read from the ledger and
// the queue during a scrape.
//
// Labels have a fixed set of values, such as states, kinds of answers, products and calls. They
// never contain a name, an ID or a text from a spreadsheet or the service.
package metrics
