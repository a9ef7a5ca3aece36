// Package importer turns a spreadsheet into orders. It finds the sheet and its columns, reads the
// rows into orders and problems, and records them in the ledger as one batch.
//
// The table in columns.go describes the columns. It has the wordings of the header, the form of the
// values, the products that use the column, and the explanation for templates and help.
//
// A sheet has one main product. A row can order other products with it by a yes in their columns.
// Cells that only some rows need (a supplied agent, an EIN, officers, a company to create) form a
// part and are read only in those rows.
//
// [SurveyReader] shows how a file is understood. Options.Map sets the meaning of a column.
// Options.Edits replace cells without a change of the file. The edits apply wherever cells are
// read, and their hash is part of the batch's identity.
//
// Rows are streamed. A million rows need no more memory than a thousand, except for about a hundred
// bytes a row to find rows with the same order.
//
// This package generates the workbooks in templates/, and a test compares them.
package importer

//go:generate go test -run ^(TestGenerated|TestColumnTable)$ . -update
