// Package web serves the commands as pages in a browser.
//
// The server renders the pages. They work without script. The server keeps no state: the ledger
// stores everything, including accounts and sessions, so that any number of servers can show the
// same pages. The table of routes defines which roles may use a page or a form. A form that arrives
// several times makes its change once. The audit log records each change.
package web
