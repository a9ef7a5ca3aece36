package importer

import "fmt"

// remedy is an option that lets a file be read.
type remedy int

const (
	chooseSheet     remedy = iota + 1 // its name
	eitherSheet                       // the names, quoted; the first of them
	noSheet                           // nothing
	chooseProduct                     // the products
	detectProduct                     // nothing
	readAs                            // their header, ours, both with a = between them
	readColumnAs                      // the same, where the sentence has named the column
	readAsEither                      // their header; with = and ours behind it
	ignoreColumn                      // their header; and with a = behind it
	oneOfColumns                      // our header; how each of theirs is left out
	nameColumns                       // nothing
	nameAddresses                     // nothing
	chooseHeaderRow                   // nothing
	oneUser                           // nothing
	oneState                          // nothing
	oneYear                           // nothing
	givenYear                         // the year that was said
	givenUser                         // the user who was said
	visibleOnly                       // nothing
	dropHeaderRow                     // nothing
	decideHeld                        // what the cell says; as --include names it
	decideFiled                       // the same
)

// remedies are the texts of the options: for the command line with its flags,
// and for the page with the fields below the message.
var remedies = map[remedy]struct{ command, page string }{
	chooseSheet: {"use --sheet %q", "choose the sheet %q below"},
	eitherSheet: {"Choose one with --sheet, such as --sheet %[2]s, and run the others after it",
		"Choose one of them below, such as %[2]s, and upload the file again for the others"},
	noSheet: {"Leave --sheet out: the file is text and has no sheets",
		"Choose no sheet: the file is text and has no sheets"},
	chooseProduct: {"choose one with --product: %s", "choose the product below: %s"},
	detectProduct: {"leave --product out", "let the product be detected from the columns"},
	readAs:        {"use --map %[3]q", "read “%[1]s” as %[2]s below"},
	readColumnAs:  {"read it as such with --map %[3]q", "read “%[1]s” as %[2]s below"},
	readAsEither: {"Use --map %[2]q if it is the first. Otherwise name the state of filing in a column or with --state",
		"If it is the first, read it as Filing State below. Otherwise leave it out, and choose one state for all " +
			"rows " +
			"or add a Filing State column%.0[1]s%.0[2]s"},
	ignoreColumn: {"leave the column out with --map %[2]q", "leave the column “%[1]s” out below"},
	oneOfColumns: {"Rename the right one to %[1]q, or leave out the others: %[2]s",
		"Below, keep only the column that is the %[1]s, and ignore or map the others%.0[2]s"},
	nameColumns: {`Name the columns as "importer template annual-report" does, or map them with --map "Their ` +
		`Header=Company ID" (and --header-row none if there are no headers)`,
		"Below, choose the header row and map the columns, or name the columns as in the templates on the first page"},
	nameAddresses: {`Map the columns, such as --map "A:A=Company ID"`, "Map the columns below"},
	chooseHeaderRow: {"Choose the header row with --header-row, or --header-row none if there are no headers",
		"Choose the header row below, or that there is none"},
	oneUser:   {"name one user for all rows with --user", "name one user for all rows below"},
	oneState:  {"run with --state", "choose one state for all rows below"},
	oneYear:   {"run with --filing-year", "enter one filing year for all rows below"},
	givenYear: {"--filing-year says %s", "%s was chosen for all rows"},
	givenUser: {"--user says %s", "%s was chosen for all rows"},
	dropHeaderRow: {"If that is wrong, leave --header-row out",
		"If that is wrong, let the header row be detected"},
	decideHeld: {"%[1]s: the row is not filed until you file it anyway with --include %[2]q, or leave " +
		"it out with --exclude %[2]q",
		"%[1]s: the row is not filed until you choose to file it anyway or leave it out%.0[2]s"},
	decideFiled: {"%[1]s: the row will be filed. If it should not be, leave it out with --exclude %[2]q",
		"%[1]s: the row will be filed unless you leave it out%.0[2]s"},
	visibleOnly: {"use --visible-only", "select “Leave out hidden rows” below"},
}

// remedyText returns the text of a remedy for the command line or the page.
func (o *Options) remedyText(r remedy, args ...any) string {
	words := remedies[r]
	if o.OnPage {
		return fmt.Sprintf(words.page, args...)
	}
	return fmt.Sprintf(words.command, args...)
}
