// Package web is the page: what the commands do, in a browser.
//
// Pages are made on the server, work without script, and hold no state: the
// ledger has all of it, people and sessions included, so that any number of
// servers may show the same. The table of routes says who may do what; a form
// that is sent several times makes its change once, which the audit log records.
package web
