// Package web is the page: what the commands do, in a browser.
//
// Pages are made on the server, work without script, and hold no state: the
// ledger has all of it, people and sessions included, so that any number of
// servers may show the same. Whoever asks and for what is decided in one place,
// by the table of routes; what a form changes is done once however often it is
// sent, and stands in the audit log.
package web
