// Package ledger is the record of everything: batches, rows, attempts, items,
// purchases and cents, in one SQL database. SQLite in the data folder is the
// default; PostgreSQL serves a fleet. An order that is not in it was not sent by
// this program.
//
// Its words, beside those of the field: an Intent is the write-ahead record of an
// order; a Claim is its idempotency key, kept in the table of purchases; Row.Tries
// is the fencing token of a row's attempts; reserve, post and void are the steps of
// a two-phase transfer; the sweeper marks the in-flight rows of dead processes,
// which Orphans finds, as uncertain.
package ledger
