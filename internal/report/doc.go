// Package report turns a batch of the ledger into what a person reads: the
// results workbook, its CSV form, and the summary that the commands print. It
// is a projection: it reads, and it keeps no state of its own.
//
// # The workbook
//
// Results holds the input's columns as they were given, then the eight answer
// columns. Needs Attention holds the rows that a correction can help, in the
// input's own columns, so that it can be corrected and fed back. Summary
// holds the counts, the money and a chart.
//
// # What Cost says
//
// The Cost column holds money that has moved or may have moved: spent for
// placed rows, set aside for rows in doubt or under way. It is empty for every
// other row, so that its sum is never a mixture of bills and estimates; what
// the ready rows will take stands on Summary. An estimate is a number too, with
// "about" in its number format. A cost of which a part is not known is a text,
// "25.00 + state fee": as a number it would be billed for the whole.
package report
