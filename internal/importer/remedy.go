package importer

import "fmt"

// remedy is an option by which a file can be read. The comment of each constant lists the arguments
// of its text. A constant without a comment has no arguments.
type remedy int

const (
	// chooseSheet takes the name of the sheet.
	chooseSheet remedy = iota + 1
	// eitherSheet takes the quoted names and the first name.
	eitherSheet
	noSheet
	// chooseProduct takes the products.
	chooseProduct
	detectProduct
	// readAs takes their header, our header, and both with = between them.
	readAs
	// readColumnAs takes the same. The sentence before it names the column.
	readColumnAs
	// readAsEither takes their header, and both with = between them.
	readAsEither
	// ignoreColumn takes their header, and the header with = after it.
	ignoreColumn
	// oneOfColumns takes our header, and the ways to ignore each of theirs.
	oneOfColumns
	nameColumns
	nameAddresses
	chooseHeaderRow
	oneUser
	oneState
	oneYear
	// givenYear takes the given year.
	givenYear
	// givenUser takes the given user.
	givenUser
	visibleOnly
	dropHeaderRow
	// decideHeld takes the text of the cell, and its name in --include.
	decideHeld
	// decideFiled takes the same.
	decideFiled
)

// remedies are the texts of the options. The command line uses its flags, and the page uses the
// fields below the message.
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
