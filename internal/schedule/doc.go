// Package schedule runs schedules: each files a company list again and again, at
// a time or ahead of the companies' due dates.
//
// The rules of due dates are in package season, which reads no database. A run
// is claimed in the ledger, makes one batch, and leaves placing its orders to the
// workers.
package schedule
