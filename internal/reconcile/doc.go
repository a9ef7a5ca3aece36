// Package reconcile compares the ledger with a statement of the filing service:
// which lines agree with what was bought, which amounts differ, what was charged
// and is not ours, what is ours and was not charged, and which uncertain orders
// the statement settles.
//
// ReadStatement reads a statement of any layout. NewPlan matches its lines with the
// purchases of the ledger; it is pure, and the same input always gives the same
// plan. Service carries a plan out through a Store.
package reconcile
