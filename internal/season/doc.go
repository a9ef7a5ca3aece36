// Package season has the rules of due dates, and of when a schedule runs. It does
// no I/O: the rows, runs and money of a schedule are in the ledger.
//
//   - Rules are the states' due dates and fees, one line per state, entity type
//     and whether the company is at home there. reports.csv is built in; a file of
//     the same columns goes over it. What its line calls unverified is an
//     estimate: shown as "about", and never a reason to refuse anything.
//   - A Schedule runs on some days: by the calendar
//     (ParseAt) or ahead of the due dates of a company list (ParseLead).
//   - Added compares a company list with another one.
//   - CompanyList.Calendar is what falls due in a span of days.
package season
