// Package resolve decides uncertain orders: rows that were sent and not confirmed.
// UncertainOrder is one with its evidence, Resolution is a person's decision,
// checked against the row and the reports of the filing service. One row or
// a whole sheet of decisions is resolved at a time. RestoreCheck finds the rows
// that may have been sent after the backup that a ledger was restored from.
package resolve
