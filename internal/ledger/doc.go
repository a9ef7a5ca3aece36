// Package ledger stores batches, rows, attempts, items, purchases and money in one SQL database.
// SQLite in the data folder is the default, and PostgreSQL serves a fleet. An order that is not in
// the ledger was not sent by this program.
//
// The package uses these terms. An Intent is the write-ahead record of an order. A Claim is its
// idempotency key, stored in the table of purchases. Row.LastAttempt is the fencing token of a
// row's attempts. Reserve, post and void are the steps of a two-phase transfer. The sweeper marks
// the in-flight rows of dead processes, which CollectOrphans finds, as uncertain.
package ledger
