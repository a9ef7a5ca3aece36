// Package samples holds sheets to try the product on.
package samples

import _ "embed"

// AnnualReportsName is the file name of AnnualReports.
const AnnualReportsName = "annual-reports-de-2026.xlsx"

// AnnualReports is a workbook of sixty companies, some of whose rows are wrong.
//
//go:embed annual-reports-de-2026.xlsx
var AnnualReports []byte

// Companies is a CSV of the companies of the samples, as the sandbox reads it.
//
//go:embed companies.csv
var Companies []byte
