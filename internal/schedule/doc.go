// Package schedule runs schedules. A schedule files a company list repeatedly, at a time or ahead
// of the companies' due dates.
//
// The rules of due dates are in package season, which reads no database. A run is claimed in the
// ledger and makes one batch. The workers place its orders.
package schedule
