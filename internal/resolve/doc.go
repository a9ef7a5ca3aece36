// Package resolve decides uncertain orders: rows that were sent and not confirmed.
// UncertainOrder holds what is known of one, Resolution is what a person decides,
// checked against the row and against what the filing service reported. One row or
// a whole sheet of decisions is resolved at a time. RestoreCheck finds the rows
// that may have been sent after the backup that a ledger was restored from.
package resolve
