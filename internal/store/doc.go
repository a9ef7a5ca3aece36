// Package store opens the database of a data folder or a fleet, SQLite or PostgreSQL, and has what
// both share: one schema, transactions, statements over groups of records, rows that are
// read by the names of their columns, the database's clock, and sealed values. It knows no table
// but control, which every change locks.
package store
