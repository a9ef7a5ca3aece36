// Package billing turns purchases into bills for clients: which purchases are billed
// to whom, by which rule, on which lines, and how bills are written for accounting
// programs. It reads no database; the ledger stores bills and lines.
//
// A purchase has at most one line of each kind: its service fee and its state fee, or
// one line for both where the two are not known apart. What changes after the bill was
// made is a correction: a further line, with the difference alone, on another bill. So
// the lines of a purchase always add up to what it costs now, and no line is ever
// changed or billed again.
//
// The state fee is passed on as it was charged. A Rule changes the service fee alone.
package billing
