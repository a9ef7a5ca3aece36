// Package notify sends notifications: funds are out, a batch has ended, rows are
// uncertain. It reads them from the state of the ledger, so that a crash loses
// none, and the ledger records who has which, so that a fleet sends each once.
package notify
