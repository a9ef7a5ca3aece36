package importer

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/encoding/charmap"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// maxSeen is how many texts of a column are read only once.
const maxSeen = 256

// readCell returns the value of a cell for an order, or adds a problem. The value of an empty cell
// or of a cell with a problem is empty.
//
// It runs for every cell of a file with a million rows. Most columns repeat few texts, and a text
// without problems is read only once. How a date is read depends on other rows, and a Social Security
// number is not kept.
func (c *cellReader) readCell(b *binding, cell sheet.Cell) string {
	if cell.Kind == sheet.Blank {
		return ""
	}
	var seen map[string]string
	if cell.Kind == sheet.Text && cell.Strike == sheet.NotStruck && b.kind != dateKind && b.kind != ssnKind &&
		b.id != none && c.seen != nil {
		seen = c.seen[b.id]
		if value, known := seen[cell.Text]; known {
			return value
		}
	}
	problems := len(c.row.Problems)
	value := c.readValue(b, cell)
	if seen != nil && len(seen) < maxSeen && len(c.row.Problems) == problems {
		seen[strings.Clone(cell.Text)] = strings.Clone(value)
	}
	return value
}

// readValue is readCell for a text that was not read before.
func (c *cellReader) readValue(b *binding, cell sheet.Cell) string {
	switch cell.Kind {
	case sheet.Error:
		c.addErrorUnder(b, cell.Text, "cell.error",
			"the cell shows the error "+cell.Text+": correct its formula, or enter the value")
		return ""
	case sheet.Formula:
		c.addErrorUnder(b, "", "cell.formula",
			"the cell has a formula without a saved result: open the file in a spreadsheet program, let it "+
				"calculate, and save it again")
		return ""
	}
	text := cell.Text
	if strings.HasPrefix(text, "#") && isErrorText(text) {
		c.addErrorUnder(b, text, "cell.error",
			"the cell shows the error "+text+": correct it in the original file, or enter the value")
		return ""
	}
	if c.readPlaceholder(b, text) {
		return ""
	}
	if b.kind != ssnKind && c.im.mapping.hide(b.index, text) != text {
		c.addErrorUnder(b, text, "cell.ssn",
			"this looks like a Social Security number, which is not needed here: remove it from the cell")
		return ""
	}
	switch {
	case cell.Strike == sheet.NotStruck, b.unsent:
	case cell.Strike == sheet.PartStruck:
		c.addWarning(b, text, "cell.struck-part",
			fmt.Sprintf("the struck-through text in the cell is left out: the row is filed with %q", text))
	// A row that is struck through as a whole has a warning already.
	case !c.row.struck:
		c.addWarning(b, text, "cell.struck",
			"the cell is struck through, but the row is filed with it: correct the cell, or remove the strikethrough")
	}
	if !isASCII(text) {
		text = c.readText(b, text)
	}
	if (b.kind == nameKind || b.kind == textKind) && !b.unsent && c.readMisread(b, cell, text) {
		return ""
	}
	value, message := c.readKind(b, cell, text)
	if message != "" {
		c.addError(b, text, message)
		return ""
	}
	return value
}

// readKind returns the value of a text in a column, or the message of an error.
func (c *cellReader) readKind(b *binding, cell sheet.Cell, text string) (value, message string) {
	switch b.kind {
	case companyKind:
		if id, ok := idInAddress(text); ok {
			return "", strconv.Quote(text) + " is a web address: enter " + id
		}
		if cell.Kind == sheet.Number {
			return "", "the cell holds the number " + text +
				", but company IDs and slugs are text: format the column as text and enter the ID"
		}
	case stateKind:
		state, ok := filing.ParseState(strings.Join(strings.Fields(text), " "))
		if !ok {
			return "", strconv.Quote(text) + " is not a US state: enter a two-letter code such as DE"
		}
		return string(state), ""
	case yearKind:
		return c.readYear(cell, text)
	case boolKind:
		return c.readBool(b, text)
	case dateKind:
		return c.readDate(b, cell, text)
	case entityKind:
		return readEntityType(text)
	case choiceKind:
		return readChoice(b, cell, text)
	case openKind:
		if choice, ok := b.choose(text); ok {
			return choice, ""
		}
	case placeKind:
		if code, ok := filing.ParseUSPlace(text); ok {
			return code, ""
		}
	case countryKind:
		return readCountry(text)
	case countKind:
		return readCount(text)
	case ssnKind:
		return readSSN(cell, text)
	case emailKind:
		return readEmail(text)
	case phoneKind:
		return readPhone(text)
	}
	return text, ""
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// isErrorText reports whether a text is an error of a spreadsheet program. In a CSV, errors are
// text.
func isErrorText(s string) bool {
	switch s {
	case "#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!":
		return true
	}
	return strings.HasPrefix(s, "###") && strings.Trim(s, "#") == ""
}

// typographic replaces the quotation marks of word processors.
var typographic = strings.NewReplacer("’", "'", "‘", "'", "‛", "'", "“", `"`, "”", `"`, "„", `"`, "\u00a0", " ",
	"\u202f", " ")

// readText replaces typographic quotation marks by the plain ones in the states' forms. A text with
// lost letters is an error. A text with letters that only look wrong is a warning with the likely
// original.
func (c *cellReader) readText(b *binding, text string) string {
	if strings.ContainsRune(text, utf8.RuneError) {
		severity := Warning
		if !b.unsent {
			severity = Error
			c.faulty = append(c.faulty, b.id)
		}
		c.addProblem(b, text, severity, "text.lost-letters",
			"letters of this text were lost when the file was saved, and show as \uFFFD: type them again and "+
				"save as UTF-8")
		return text
	}
	if was, ok := repairEncoding(text); ok {
		c.addWarning(b, text, "text.mangled",
			fmt.Sprintf("%q looks like %q in the wrong encoding: correct it, or save the file again as UTF-8",
				text, was))
	}
	return typographic.Replace(text)
}

// repairEncoding returns the original of a UTF-8 text that was read in another encoding, once or
// several times. "CafÃ©" was "Café".
func repairEncoding(text string) (was string, ok bool) {
	was = text
	for range 3 {
		before := was
		for _, wrong := range []*charmap.Charmap{charmap.Windows1252, charmap.Macintosh} {
			bytes, err := wrong.NewEncoder().String(was)
			if err == nil && utf8.ValidString(bytes) && !isASCII(bytes) && strings.IndexFunc(bytes, isUnusual) < 0 {
				was = bytes
				break
			}
		}
		if was == before {
			break
		}
	}
	return was, was != text
}

// isUnusual reports whether a character is rare in American names and addresses. "CAFÉ’S" is
// therefore not taken for damaged text.
func isUnusual(r rune) bool {
	return r > 'ſ' && (r < '‐' || r > '›') && r != '€' && r != '™'
}

// readYear accepts four digits, also as "2026.0", FY2026 or '2026. A date is a year if its cell
// shows only the year, or if the year was entered in a cell with a date format.
func (c *cellReader) readYear(cell sheet.Cell, text string) (value, message string) {
	if cell.Kind == sheet.Date {
		if year, ok := yearOf(cell); ok {
			return year, ""
		}
		return "", "the cell holds the date " + text +
			", not a year: enter the four digits of the year, and format the cell as a number or as text"
	}
	if len(text) == 4 && isDigits(text) {
		return text, ""
	}
	year := strings.Map(narrowDigit, text)
	if whole, zeros, found := strings.Cut(year, "."); found && len(whole) == 4 && strings.Trim(zeros, "0") == "" {
		year = whole
	}
	year = strings.TrimLeft(year, "'")
	if len(year) > 2 && strings.EqualFold(year[:2], "FY") {
		year = strings.TrimLeft(year[2:], " -'")
	}
	zeros := lettersAsDigits.Replace(year)
	switch {
	case len(year) == 4 && isDigits(year):
		return year, ""
	case len(year) == 2 && isDigits(year):
		return "", strconv.Quote(text) + " has two digits: enter the filing year with four digits, such as 20" + year
	case len(zeros) == 4 && isDigits(zeros):
		return "", strconv.Quote(text) + " has letters in place of digits: enter " + zeros
	}
	return "", fmt.Sprintf("%q is not a year: enter the filing year with four digits, such as %d", text, c.year)
}

// lettersAsDigits replaces the letters that look like digits.
var lettersAsDigits = strings.NewReplacer("O", "0", "o", "0", "l", "1", "I", "1")

// narrowDigit replaces the wide digits of East Asian keyboards by plain digits.
func narrowDigit(r rune) rune {
	if r >= '０' && r <= '９' {
		return r - '０' + '0'
	}
	return r
}

// yearOf returns the year in a cell with a date. It is the year of a date that is shown as a year.
// It is also the serial number of a day, because a spreadsheet program stores such a day if a
// person enters 2026 in a cell with a date format.
func yearOf(cell sheet.Cell) (string, bool) {
	day, err := time.Parse(time.DateOnly, cell.Text)
	if err != nil {
		return "", false
	}
	serial := int(day.Sub(time.Date(1899, time.December, 30, 0, 0, 0, 0, time.UTC)) / (24 * time.Hour))
	// days1904 is how many days the system of 1904 is behind.
	const days1904 = 1462
	for _, year := range []int{serial, serial - days1904} {
		if year >= 1990 && year <= 2100 {
			return strconv.Itoa(year), true
		}
	}
	return strconv.Itoa(day.Year()), cell.Year
}

func isDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// The values of a boolKind.
const (
	yes = "yes"
	no  = "no"
)

// yesNo reads a word in lower case as yes or no. It returns an empty text for any other word.
func yesNo(word string) string {
	switch word {
	case "yes", "y", "true", "t", "1", "x", "✓", "✔":
		return yes
	case "no", "n", "false", "f", "0":
		return no
	}
	return ""
}

func (c *cellReader) readBool(b *binding, text string) (value, message string) {
	if said := yesNo(strings.ToLower(text)); said != "" {
		return said, ""
	}
	message = strconv.Quote(text) + " is not yes or no: enter yes or no"
	if b.id == orderAgent {
		message += "; or, if the column names your agents, " + c.im.options.remedyText(readColumnAs, b.header,
			columns[agentCompanyName].header, b.mapName+"="+columns[agentCompanyName].header)
	}
	return "", message
}

// dateForms are the forms of dates in text. Day and month are never guessed. A date with slashes
// has the US order, and in the other forms the month is a word.
var dateForms = []string{
	"2006-01-02", "2006/1/2", "2006-1-2", "1/2/2006", "1-2-2006", "Jan 2, 2006", "January 2, 2006", "Jan 2 2006",
	"January 2 2006",
	"2-Jan-2006", "2 Jan 2006", "2 January 2006", "2006-01-02T15:04:05", "2006-01-02 15:04:05",
	"2006-01-02T15:04:05Z07:00", "1/2/2006 15:04", "1/2/2006 15:04:05", "1/2/2006 3:04:05 PM", "1/2/2006 3:04 PM",
}

func (c *cellReader) readDate(b *binding, cell sheet.Cell, text string) (value, message string) {
	const remedy = ": enter it as YYYY-MM-DD"
	if cell.Kind == sheet.Number || isDigits(text) && len(text) != 8 {
		return "", "the number " + text + " is not a date" + remedy
	}
	if isEitherWay(text) {
		if other, known := c.im.dayFirst[b.index]; known {
			return "", fmt.Sprintf("%q may have the day or the month first, because %q in %s has the day first%s",
				text, other.text, other.cell, remedy)
		}
	}
	if day, ok := dayIn(text, dateForms...); ok && day.Year() >= 1000 {
		return day.Format(time.DateOnly), ""
	}
	if day, ok := shortYear(text); ok {
		if c.im.shortYear == "" {
			c.im.shortYear = fmt.Sprintf("%q (%s) is %s", text, sheet.CellName(b.index, c.row.Number),
				day.Format(time.DateOnly))
		}
		return day.Format(time.DateOnly), ""
	}
	message = strconv.Quote(text) + " is not a date in a recognized form" + remedy
	if day, ok := dayFirst(text); ok {
		if _, known := c.im.dayFirst[b.index]; !known {
			c.im.dayFirst[b.index] = cellText{sheet.CellName(b.index, c.row.Number), strings.Clone(text)}
		}
		message = strconv.Quote(text) + " has the day before the month: enter it as " + day.Format(time.DateOnly)
	}
	return "", message
}

// shortYearForms are the forms of dates with a year of two digits.
var shortYearForms = []string{"1/2/06", "2-Jan-06", "2 Jan 06", "Jan 2, 06", "Jan 2 06", "1-2-06"}

// shortYear reads a two-digit year like Excel. 00 to 29 are 2000 to 2029, and 30 to 99 are 1930 to
// 1999.
func shortYear(text string) (time.Time, bool) {
	day, ok := dayIn(text, shortYearForms...)
	year := 2000 + day.Year()%100
	if year >= 2030 {
		year -= 100
	}
	moved := time.Date(year, day.Month(), day.Day(), 0, 0, 0, 0, time.UTC)
	return moved, ok && moved.Day() == day.Day()
}

// dayFirst reads a date whose first number can only be the day, such as 13/02/2019.
func dayFirst(text string) (time.Time, bool) {
	day, ok := dayIn(text, "2/1/2006", "2-1-2006", "2.1.2006")
	return day, ok && day.Day() > 12 && day.Year() >= 1000
}

// isEitherWay reports whether a date may have the day or the month first.
func isEitherWay(text string) bool {
	day, ok := dayIn(text, "1/2/2006", "1-2-2006", "1/2/06", "1-2-06")
	return ok && day.Day() <= 12 && day.Day() != int(day.Month())
}

// dayIn reads a day in the first form that the text has.
func dayIn(text string, forms ...string) (day time.Time, ok bool) {
	for _, form := range forms {
		if day, err := time.Parse(form, text); err == nil {
			return day, true
		}
	}
	return time.Time{}, false
}

// otherEntityTypes are kinds of companies for which the filing service does not file, by folded
// name. Source: spec section 2, entityType.
var otherEntityTypes = map[string]string{
	"lp": "a limited partnership", "limitedpartnership": "a limited partnership",
	"lllp": "a limited liability limited partnership",
	"llp":  "a limited liability partnership", "limitedliabilitypartnership": "a limited liability partnership",
	"gp": "a general partnership", "generalpartnership": "a general partnership", "partnership": "a partnership",
	"pllc": "a professional LLC", "professionallimitedliabilitycompany": "a professional LLC",
	"pc": "a professional corporation", "professionalcorporation": "a professional corporation",
	"pa":        "a professional association",
	"nonprofit": "a nonprofit", "nonprofitcorporation": "a nonprofit", "nonprofitcorp": "a nonprofit",
	"nfp": "a nonprofit", "501c3": "a nonprofit",
	"soleproprietorship": "a sole proprietorship", "soleproprietor": "a sole proprietorship", "dba": "a trade name",
	"trust":          "a trust",
	"statutorytrust": "a trust", "coop": "a cooperative", "cooperative": "a cooperative", "ltd": "a limited company",
	"limited":   "a limited company",
	"seriesllc": "a series LLC", "bcorp": "a benefit corporation", "pbc": "a benefit corporation",
	"publicbenefitcorporation": "a benefit corporation", "benefitcorporation": "a benefit corporation",
}

func readEntityType(text string) (value, message string) {
	if t, ok := filing.ParseEntityType(text); ok {
		return string(t), ""
	}
	message = strconv.Quote(text) + " is not an entity type: use LLC or CORP"
	if other, ok := otherEntityTypes[filing.FoldName(text)]; ok {
		message = strconv.Quote(text) + " is " + other +
			", and the filing service takes only LLC and CORP: file for this company elsewhere, or correct the " +
			"entity type"
	}
	return "", message
}

func readChoice(b *binding, cell sheet.Cell, text string) (value, message string) {
	choice, ok := b.choose(text)
	if !ok && b.id == fiscalEndMonth {
		choice, ok = monthOf(cell, text)
	}
	if ok {
		return choice, ""
	}
	return "", strconv.Quote(text) + " is not one of " + strings.Join(b.choices, ", ")
}

// choose finds the choice that a text means.
func (c *column) choose(text string) (string, bool) {
	for _, choice := range c.choices {
		if text == choice {
			return choice, true
		}
	}
	folded := filing.FoldName(text)
	for _, choice := range c.choices {
		if folded == filing.FoldName(choice) {
			return choice, true
		}
	}
	choice, ok := c.means[folded]
	return choice, ok
}

// monthOf returns the month of a fiscal year end that is given as a day, such as "12/31" or a cell
// with a date.
func monthOf(cell sheet.Cell, text string) (string, bool) {
	form := "1/2"
	if cell.Kind == sheet.Date && len(text) >= len(time.DateOnly) {
		form, text = time.DateOnly, text[:len(time.DateOnly)]
	}
	day, err := time.Parse(form, text)
	if err != nil {
		return "", false
	}
	return day.Month().String(), true
}

// countries maps names of countries to their codes.
var countries = map[string]string{
	"usa": "US", "unitedstates": "US", "unitedstatesofamerica": "US", "america": "US", "canada": "CA", "mexico": "MX",
	"unitedkingdom": "GB", "uk": "GB", "greatbritain": "GB", "england": "GB", "germany": "DE", "france": "FR",
	"india": "IN", "china": "CN",
}

// readCountry accepts a two-letter code or the name of a country.
func readCountry(text string) (value, message string) {
	if code, ok := countries[filing.FoldName(text)]; ok {
		return code, ""
	}
	if upper := strings.ToUpper(text); len(upper) == 2 && upper[0] >= 'A' && upper[0] <= 'Z' && upper[1] >= 'A' &&
		upper[1] <= 'Z' {
		return upper, ""
	}
	return "", strconv.Quote(text) + " is not a two-letter country code, such as US"
}

// readCount accepts a whole number, also as "3.0".
func readCount(text string) (value, message string) {
	whole, zeros, _ := strings.Cut(text, ".")
	if isDigits(whole) && len(whole) <= 7 && strings.Trim(zeros, "0") == "" {
		return whole, ""
	}
	return "", strconv.Quote(text) + " is not a whole number"
}

// readSSN accepts nine digits, with or without dashes. Its messages do not contain the number.
func readSSN(cell sheet.Cell, text string) (value, message string) {
	digits := strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' || r == '‐' || r == '‑' || r == '‒' || r == '–' {
			return -1
		}
		return r
	}, text)
	message = "this is not a Social Security number: enter nine digits, with or without dashes"
	switch {
	case isDigits(digits) && len(digits) == 9:
		return digits, ""
	case strings.ContainsAny(text, "*•"):
		message = "the number is masked: enter all nine digits again"
	case isDigits(digits) && len(digits) < 9 && len(digits) >= 7 &&
		(cell.Kind == sheet.Number || len(digits) == len(text)):
		message = "this number has lost its leading zero: enter all nine digits, and format the column as text"
	}
	return "", message
}

// readEmail accepts one plain address. It suggests an address that is part of a longer text.
func readEmail(text string) (value, message string) {
	if filing.IsEmail(text) && !hasMailto(text) {
		return text, ""
	}
	message = strconv.Quote(text) + " is not an email address: enter one such as name@example.com"
	bare := bareEmail(text)
	switch {
	case strings.Count(text, "@") > 1:
		message = strconv.Quote(text) + " has several addresses: an order has one owner, so keep one address"
	case bare != text && filing.IsEmail(bare):
		message = strconv.Quote(text) + " is more than an address: enter " + bare
	}
	return "", message
}

// bareEmail extracts the address from "mailto:a@b.co" and "Ana <a@b.co>".
func bareEmail(text string) string {
	if hasMailto(text) {
		text, _, _ = strings.Cut(text[len("mailto:"):], "?")
	}
	if open, end := strings.IndexByte(text, '<'), strings.LastIndexByte(text, '>'); open >= 0 && end > open {
		text = text[open+1 : end]
	}
	return text
}

func hasMailto(s string) bool { return len(s) > 7 && strings.EqualFold(s[:7], "mailto:") }

// readPhone returns a phone number in E.164. Ten bare digits are a US number.
func readPhone(text string) (value, message string) {
	// The library needs much more time than this expression for a usual US number.
	if us := usPhone.FindStringSubmatch(text); us != nil {
		return "+1" + us[1] + us[2] + us[3], ""
	}
	number, err := phonenumbers.Parse(text, "US")
	switch {
	case err != nil || !phonenumbers.IsValidNumber(number):
		return "", strconv.Quote(text) +
			" is not a phone number: use ten digits for a US number, or + and the country code"
	case number.GetExtension() != "":
		return "", strconv.Quote(text) +
			" has an extension, which a user's phone number cannot have: remove the extension"
	}
	return phonenumbers.Format(number, phonenumbers.E164), ""
}

// usPhone matches the usual forms of a US number.
var usPhone = regexp.MustCompile(`^(?:\+?1)?[ ().-]*([2-9]\d\d)[ ().-]*([2-9]\d\d)[ ().-]*(\d{4})[ ().-]*$`)
