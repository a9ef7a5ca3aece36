// Package importer turns a spreadsheet into orders: file, columns, rows with
// their orders and problems, and one batch in the ledger.
//
// Everything it knows of columns is one table, in columns.go: how a header may
// be worded, what its values look like, which products use it, and how it is
// explained in templates and help.
//
// A sheet is of one product, and a row may order others along with it by a yes
// in their columns. What only some rows need (a supplied agent, an EIN, officers,
// a company that is new to the service) is a part: its cells are read in those
// rows alone. Officers may also stand on a sheet of their own; see officers.go.
//
// A person can see how a file is understood ([SurveyReader]), say what a column
// is (Options.Map) and type over its cells (Options.Edits) without touching the
// file. Edits lie over the cells wherever these are read, and are part of the
// batch's identity by a hash.
//
// Reading is streamed and runs beside the checking, so that a million rows take
// no more memory than a thousand, but for 24 bytes a row to find repeats.
//
// The sheets in templates/ and samples/ are made by this package and held to
// it by a test.
package importer

//go:generate go test -run ^TestGenerated$ . -update
