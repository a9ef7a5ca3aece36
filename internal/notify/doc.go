// Package notify tells a person what they asked to be told: that funds are out,
// that a batch has ended, that rows are uncertain. What there is to tell comes
// from the state of the ledger, so that a crash loses nothing of it, and the
// ledger keeps who has been told, so that a fleet tells it once.
package notify
