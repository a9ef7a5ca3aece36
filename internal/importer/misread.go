package importer

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// The forms in which a CSV has a text that a spreadsheet program took for a date, a percentage, or
// a number.
var (
	misreadDates = []string{time.DateOnly, "2-Jan", "Jan-2", "2-Jan-06", "2-Jan-2006", "1/2/06", "1/2/2006",
		"2006-01-02T15:04:05", time.DateTime}
	misreadNumber = newPattern(`^-?[\d.,]+ ?%$|^\d(\.\d+)?E[+-]?\d+$|^(0|\d{5})\.\d+$`)
)

// maxSuite is the length of the longest number that is read as a suite number. A day that lost its
// format has more digits.
const maxSuite = 4

// misread recognizes a text in a column of names or addresses that a spreadsheet program changed.
// what describes the present value of the cell. typed is the text that was probably entered, if
// known.
func misread(b *binding, cell sheet.Cell, text string) (what, typed string) {
	isSuite := strings.HasSuffix(b.field, "line2")
	switch {
	case cell.Kind == sheet.Bool, text == "TRUE", text == "FALSE":
		return text, text[:1] + strings.ToLower(text[1:])
	case cell.Kind == sheet.Date && text[2] == ':':
		return "the time " + text, strings.TrimSuffix(text, ":00")
	case cell.Kind == sheet.Number && (!isSuite || !isDigits(text) || len(text) > maxSuite):
		return "the number " + text, ""
	}
	if len(text) >= len("2-Jan") && len(text) <= len(time.DateTime) && strings.ContainsAny(text, "-/") &&
		(text[0] <= '9' || text[3] == '-') {
		if day, ok := dayIn(text, misreadDates...); ok {
			return "the date " + text, fmt.Sprintf("%d-%d", day.Month(), day.Day())
		}
		// A text such as "1-32" is a month and a year, because no month has 32 days.
		if month, err := time.Parse("Jan-06", text); err == nil {
			return "the date " + text, fmt.Sprintf("%d-%02d", month.Month(), month.Year()%100)
		}
	}
	beginsAsNumber := strings.TrimLeft(text, "-.,0123456789") != text
	if beginsAsNumber && misreadNumber.MatchString(text) || !isSuite && isNumber(text) {
		return "the number " + text, ""
	}
	return "", ""
}

// readMisread adds an error if a spreadsheet program changed the text of a name or
// an address, or if a database wrote it with escapes.
func (c *cellReader) readMisread(b *binding, cell sheet.Cell, text string) bool {
	if strings.IndexByte(text, '\\') >= 0 {
		c.refuse(b, text, "cell.escape", "the text has a backslash, which databases write in front of quotation marks "+
			"and commas: enter "+escapes.Replace(text))
		return true
	}
	what, typed := misread(b, cell, text)
	switch {
	case what == "":
		return false
	case b.id == legalName && isNumber(text) && cell.Kind != sheet.Date:
		c.refuse(b, text, b.rule, strconv.Quote(text)+" is a number, not a legal name: enter the company's full legal "+
			"name, or, if the column has your own numbers, "+
			c.im.options.remedyText(ignoreColumn, b.header, b.mapName+"="))
	case typed != "":
		c.refuse(b, text, "cell.misread", "the cell holds "+what+", which spreadsheet programs make of texts such as "+
			typed+": format the cell as text, and enter the original text again")
	default:
		c.refuse(b, text, "cell.misread", "the cell holds "+what+" in place of a text: enter the text, such as Suite "+
			"400, in a cell that is formatted as text")
	}
	return true
}

// escapes removes the escapes with which a database wrote a text.
var escapes = strings.NewReplacer(`\\`, `\`, `\n`, " ", `\r`, "", `\t`, " ", `\O`, "/O", `\o`, "/o", `\`, "")
