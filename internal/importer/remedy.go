package importer

import "fmt"

// remedy has the texts of an option by which a file can be read. The command line uses its flags,
// and the page uses the fields below the message.
type remedy struct{ command, page string }

// The remedies. The comment of each lists the arguments of its texts. A remedy without a comment has
// no arguments.
var (
	// chooseSheet takes the name of the sheet.
	chooseSheet = remedy{"use --sheet %q", "choose the sheet %q below"}
	// eitherSheet takes the quoted names and the first name.
	eitherSheet = remedy{"Choose one with --sheet, such as --sheet %[2]s, and run the others after it",
		"Choose one of them below, such as %[2]s, and upload the file again for the others"}
	noSheet = remedy{"Leave --sheet out: the file is text and has no sheets",
		"Choose no sheet: the file is text and has no sheets"}
	// chooseProduct takes the products.
	chooseProduct = remedy{"choose one with --product: %s", "choose the product below: %s"}
	detectProduct = remedy{"leave --product out", "let the product be detected from the columns"}
	// readAs takes their header, our header, and both with = between them.
	readAs = remedy{"use --map %[3]q", "read “%[1]s” as %[2]s below"}
	// readColumnAs takes the same. The sentence before it names the column.
	readColumnAs = remedy{"read it as such with --map %[3]q", "read “%[1]s” as %[2]s below"}
	// readAsEither takes their header, and both with = between them.
	readAsEither = remedy{
		"Use --map %[2]q if it is the first. Otherwise name the state of filing in a column or with --state",
		"If it is the first, read it as Filing State below. Otherwise leave it out, and choose one state for all " +
			"rows or add a Filing State column%.0[1]s%.0[2]s"}
	// ignoreColumn takes their header, and the header with = after it.
	ignoreColumn = remedy{"leave the column out with --map %[2]q", "leave the column “%[1]s” out below"}
	// oneOfColumns takes our header, and the ways to ignore each of theirs.
	oneOfColumns = remedy{"Rename the right one to %[1]q, or leave out the others: %[2]s",
		"Below, keep only the column that is the %[1]s, and ignore or map the others%.0[2]s"}
	nameColumns = remedy{`Name the columns as "importer template annual-report" does, or map them with --map "Their ` +
		`Header=Company ID" (and --header-row none if there are no headers)`,
		"Below, choose the header row and map the columns, or name the columns as in the templates on the first page"}
	nameAddresses   = remedy{`Map the columns, such as --map "A:A=Company ID"`, "Map the columns below"}
	chooseHeaderRow = remedy{"Choose the header row with --header-row, or --header-row none if there are no headers",
		"Choose the header row below, or that there is none"}
	oneUser  = remedy{"name one user for all rows with --user", "name one user for all rows below"}
	oneState = remedy{"run with --state", "choose one state for all rows below"}
	oneYear  = remedy{"run with --filing-year", "enter one filing year for all rows below"}
	// givenYear takes the given year.
	givenYear = remedy{"--filing-year says %s", "%s was chosen for all rows"}
	// givenUser takes the given user.
	givenUser     = remedy{"--user says %s", "%s was chosen for all rows"}
	dropHeaderRow = remedy{"If that is wrong, leave --header-row out",
		"If that is wrong, let the header row be detected"}
	// decideHeld takes the text of the cell, and its name in --include.
	decideHeld = remedy{"%[1]s: the row is not filed until you file it anyway with --include %[2]q, or leave " +
		"it out with --exclude %[2]q",
		"%[1]s: the row is not filed until you choose to file it anyway or leave it out%.0[2]s"}
	// decideFiled takes the same.
	decideFiled = remedy{"%[1]s: the row will be filed. If it should not be, leave it out with --exclude %[2]q",
		"%[1]s: the row will be filed unless you leave it out%.0[2]s"}
	visibleOnly = remedy{"use --visible-only", "select “Leave out hidden rows” below"}
)

// remedyText returns the text of a remedy for the command line or the page.
func (o *Options) remedyText(r remedy, args ...any) string {
	if o.OnPage {
		return fmt.Sprintf(r.page, args...)
	}
	return fmt.Sprintf(r.command, args...)
}
