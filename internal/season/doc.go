// Package season has the rules of due dates and of schedules. It does no I/O. The ledger has the
// rows, runs and funds of a schedule.
//
//   - Rules has the states' due dates and fees, with one line for each state, entity type and
//     residence of the company. reports.csv is built in. A file with the same columns overrides it.
//     A value that its line marks as unverified is an estimate. It is shown as "about", and
//     nothing is rejected because of it.
//   - LateFeeOf has the late fees of the states that have a source. late_fees.csv is built in.
//   - A Schedule runs on some days, either by the calendar (ParseAt) or ahead of the due dates of a
//     company list (ParseLead).
//   - Added compares a company list with another one.
//   - CompanyList.Calendar returns the reports that are due in a period.
package season
