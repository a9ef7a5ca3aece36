package importer

import "fmt"

// remedy is something that a person chooses so that a file can be read.
type remedy int

const (
	chooseSheet   remedy = iota + 1 // its name
	eitherSheet                     // the names, quoted; the first of them
	noSheet                         // nothing
	chooseProduct                   // the products
	anyProductOf                    // nothing
	readAs                          // their header, ours, both with a = between them
	readSuch                        // the same, where the sentence has named the column
	leaveOut                        // their header; and with a = behind it
	oneOfColumns                    // our header; how each of theirs is left out
	nameColumns                     // nothing
	nameAddresses                   // nothing
	sayHeaderRow                    // nothing
	oneUser                         // nothing
	oneState                        // nothing
	oneYear                         // nothing
	sayYear                         // the year that was said
	sayUser                         // the user who was said
	visibleOnly                     // nothing
	saidHeaderRow                   // nothing
)

// remedies are told to whoever types a command by its flags, and on the page by
// what stands below the words.
var remedies = map[remedy]struct{ command, page string }{
	chooseSheet: {"say --sheet %q", "choose the sheet %q below"},
	eitherSheet: {"Say which one with --sheet, such as --sheet %[2]s, and run the others after it",
		"Choose one of them below, such as %[2]s, and hand the file over again for the others"},
	noSheet: {"Leave --sheet out: the file is text and has no sheets",
		"Choose no sheet: the file is text and has none"},
	chooseProduct: {"say --product with one of %s", "choose below what is ordered: %s"},
	anyProductOf:  {"leave --product out", "let what is ordered be told from the columns"},
	readAs:        {"say --map %[3]q", "read “%[1]s” as %[2]s below"},
	readSuch:      {"read it as such with --map %[3]q", "read “%[1]s” as %[2]s below"},
	leaveOut:      {"leave the column out with --map %[2]q", "leave the column “%[1]s” out below"},
	oneOfColumns: {"Rename the one that is meant to %[1]q, or leave out the others: %[2]s",
		"Leave out below all but the one that is the %[1]s, or say what the others are%.0[2]s"},
	nameColumns:   {`Name the columns as "importer template annual-report" does, or say what they are with --map "Their Header=Company ID", and with --header-row none where there are no headers`, "Say below what the columns are and in which row their headers stand, or name them as the empty sheets of the first page do"},
	nameAddresses: {`Say which column is which, such as --map "A:A=Company ID"`, "Say below what the columns are"},
	sayHeaderRow: {"Say with --header-row in which row the headers stand, or --header-row none",
		"Say below in which row the headers stand, or that there are none"},
	oneUser:  {"name one user for all rows with --user", "name one user for all rows below"},
	oneState: {"run with --state", "choose one state for all rows below"},
	oneYear:  {"run with --filing-year", "give one filing year for all rows below"},
	sayYear:  {"--filing-year says %s", "the sheet is read for %s"},
	sayUser:  {"--user says %s", "the sheet is read for the user %s"},
	saidHeaderRow: {"leave --header-row out if that is wrong",
		"let the headers be found by themselves if that is wrong"},
	visibleOnly: {"say --visible-only", "tick “Leave out hidden rows” below"},
}

// tell says what to choose, in the words of whoever reads it.
func (o *Options) tell(r remedy, args ...any) string {
	words := remedies[r]
	if o.OnPage {
		return fmt.Sprintf(words.page, args...)
	}
	return fmt.Sprintf(words.command, args...)
}
