package importer

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// The forms in which a CSV has a text that a spreadsheet program took for a date,
// a percentage, or a number.
var (
	dayMonth   = regexp.MustCompile(`^(\d{1,2})-([A-Za-z]{3})(?:-\d{2,4})?$`)
	monthDay   = regexp.MustCompile(`^([A-Za-z]{3})-(\d{1,4})$`)
	wholeDate  = regexp.MustCompile(`^(\d{1,2})/(\d{1,2})/\d{2,4}$|^\d{4}-(\d\d)-(\d\d)(?:[T ].*)?$`)
	percentage = regexp.MustCompile(`^-?[\d.,]+ ?%$`)
	scientific = regexp.MustCompile(`^\d(\.\d+)?E[+-]?\d+$`)
)

// misread recognizes what a spreadsheet program made of a text that was typed into
// a column of names or addresses: what the cell holds now, and what was probably
// typed, if that is known.
func misread(b *binding, cell sheet.Cell, text string) (what, typed string) {
	switch {
	case cell.Kind == sheet.Bool, text == "TRUE", text == "FALSE":
		return text, text[:1] + strings.ToLower(text[1:])
	case cell.Kind == sheet.Date && text[min(len(text)-1, 2)] == ':':
		return "the time " + text, strings.TrimSuffix(text, ":00")
	case cell.Kind == sheet.Number:
		return "the number " + text, ""
	}
	if last := text[len(text)-1]; (last < '0' || last > '9') && last != '%' && len(text) > len("30-Sept-2026") {
		return "", ""
	}
	month := func(name, day string) (string, string) {
		n, known := monthWords[strings.ToLower(name)]
		if !known {
			return "", ""
		}
		t, _ := time.Parse("January", n)
		return "the date " + text, fmt.Sprintf("%d-%s", t.Month(), strings.TrimLeft(day, "0"))
	}
	if m := dayMonth.FindStringSubmatch(text); m != nil {
		return month(m[2], m[1])
	}
	if m := monthDay.FindStringSubmatch(text); m != nil {
		return month(m[1], m[2])
	}
	if m := wholeDate.FindStringSubmatch(text); m != nil {
		return "the date " + text, strings.TrimLeft(m[1]+m[3], "0") + "-" + strings.TrimLeft(m[2]+m[4], "0")
	}
	switch isSuite := strings.HasSuffix(b.field, "line2"); {
	case percentage.MatchString(text):
		return "the percentage " + text, ""
	case scientific.MatchString(text), !isSuite && isNumber(text):
		return "the number " + text, ""
	}
	return "", ""
}

// readMisread adds an error if a spreadsheet program changed the text of a name or
// an address, or if a database wrote it with escapes.
func (c *checker) readMisread(b *binding, cell sheet.Cell, text string) bool {
	if strings.IndexByte(text, '\\') >= 0 {
		c.refuse(b, text, "cell.escape", "the text has a backslash, which databases write in front of quotation marks "+
			"and commas: enter "+withoutEscapes(text))
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

// withoutEscapes returns a text as it was before a database wrote it.
func withoutEscapes(text string) string {
	return escapes.Replace(text)
}

var escapes = strings.NewReplacer(`\\`, `\`, `\n`, " ", `\r`, "", `\t`, " ", `\O`, "/O", `\o`, "/o", `\`, "")
