// Package notify sends notifications: funds are insufficient, a batch has ended, rows are
// uncertain. It derives them from the state of the ledger, so that a crash loses none. The ledger
// records the deliveries, so that several workers send each notification once.
package notify
