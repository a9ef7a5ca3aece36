// Package importer turns a spreadsheet into orders: it finds the sheet and its
// columns, reads the rows into orders and problems, and records them in the
// ledger as one batch.
//
// One table, in columns.go, describes the columns: how a header may be worded,
// what its values look like, which products use it, and how templates and help
// explain it.
//
// A sheet has one main product, and a row can order others with it by a yes in
// their columns. Cells that only some rows need (a supplied agent, an EIN,
// officers, a company to create) form a part and are read in those rows alone.
// Officers may be listed on a second sheet; see officers.go.
//
// [SurveyReader] shows how a file is understood. Options.Map says what a column
// is, and Options.Edits are typed over its cells without a change of the file.
// The edits apply wherever cells are read, and their hash is part of the
// batch's identity.
//
// Rows are streamed: a million rows take no more memory than a thousand, apart
// from about a hundred bytes a row to find those that order the same.
//
// This package makes the sheets in templates/ and samples/, and a test holds it
// to them.
package importer

//go:generate go test -run ^TestGenerated$ . -update
