// Package season is what is due where and when, and when a season fires. It
// does no I/O: a season's rows, its last firing and its money are the ledger's.
//
//   - Rules are the states' due dates and fees, one line per state, entity type
//     and whether the company is at home there. due.csv is built in; a file of
//     the same columns goes over it. What its line calls unverified is an
//     estimate: shown as "about", and never a reason to refuse anything.
//   - A Schedule fires on some days, at most once a day: by the calendar
//     (ParseAt) or ahead of the due dates of a roster (ParseLead).
//   - Compare is a season's plan against the season before.
//   - Roster.Calendar is what falls due in a span of days.
package season
