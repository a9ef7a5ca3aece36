// Package resolve resolves uncertain orders: rows that were sent and not confirmed. An
// UncertainOrder is such a row with its evidence. A Resolution is a person's decision, checked
// against the row and the reports of the filing service. Decisions are made for a single row or for
// a whole sheet. RestoreCheck finds the rows that may have been sent after the backup that a ledger
// was restored from.
package resolve
