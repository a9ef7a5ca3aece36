// Package report turns a batch of the ledger into what a person reads: the
// results workbook, its CSV form, and the summary that the commands print. It
// is a projection: it reads, and it keeps no state of its own.
//
// # The workbook
//
// The results are written into the workbook of the batch itself: a copy of it,
// without Social Security numbers, is stored with the batch. Its sheets, title
// rows, styles and formulas stay; the result columns follow the last column that
// is used, at the rows of the input, and corrected cells have their new values.
// A batch without such a copy has a table on a sheet Results: one of a CSV, of a
// schedule, with a sheet of officers, or of more than 200,000 cells.
//
// Needs Attention holds the rows that a correction can help, in the input's own
// columns, so that it can be corrected and fed back. Summary holds the counts, the
// money and a chart.
//
// # What Cost says
//
// The Cost column holds money that has moved or may have moved: what a row was
// charged, and what is reserved for it. It is empty for every other row, so that its
// sum is what Summary calls spent and reserved; what the ready rows will take stands
// on Summary. An estimate is a number too, with
// "about" in its number format. A cost of which a part is not known is a text,
// "25.00 + state fee": as a number it would be billed for the whole.
package report
