// Package report turns a batch of the ledger into readable output: the results workbook, its CSV
// form, and the summary that the commands print. It is a projection: it reads the ledger and keeps
// no state.
//
// # The workbook
//
// The results are written into a copy of the batch's own workbook. The copy is stored with the
// batch, without Social Security numbers. Its sheets, title rows, styles and formulas stay. The
// result columns follow the last used column, at the rows of the input, and corrected cells have
// their new values. A batch without such a copy gets a table on a sheet Results. This applies to a
// batch from a CSV or a schedule, or with more than 200,000 cells.
//
// Needs Attention has the rows that a correction can fix, in the input's own columns, so that the
// sheet can be corrected and uploaded again. Summary has the counts, the money and a chart.
//
// # The Cost column
//
// The Cost column has money that has moved or may have moved: the charge of a row and the amount
// reserved for it. It is empty for every other row, so that its sum equals the spent and reserved
// amounts on Summary. Summary also has the cost of the ready rows. An estimate is a number too,
// with "about" in its number format. A cost with an unknown part is a text, "25.00 + state fee",
// because a number would be billed as the whole cost.
package report
