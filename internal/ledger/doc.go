// Package ledger is the record of everything: batches, rows, attempts, items,
// purchases and cents, in one SQL database. SQLite in the data folder is the
// default; PostgreSQL serves a fleet. Whatever is not in here did not happen.
package ledger
