package sheet

import (
	"fmt"
	"strconv"
	"time"
)

// OutCell is a cell to write: its value and its look. A CSV has only the value.
//
// Text is always written as text: neither "=1+1" nor "+1 Fitness LLC" becomes a
// formula.
type OutCell struct {
	Cell
	Style   StyleID
	Money   bool   // a Number that is an amount of dollars
	Format  string // a number format in place of the usual one of a Number or a Date
	Comment string // a note that opens at the cell
}

// Str is a cell with text.
func Str(text string) OutCell {
	if text == "" {
		return OutCell{}
	}
	return OutCell{Cell: Cell{Text: text, Kind: Text}}
}

// Int is a cell with a whole number.
func Int(n int64) OutCell {
	return OutCell{Cell: Cell{Text: strconv.FormatInt(n, 10), Kind: Number}}
}

// Money is a cell with an amount in cents, which it shows in dollars.
func Money(cents int64) OutCell {
	text := fmt.Sprintf("%03d", cents)
	if cents < 0 {
		text = fmt.Sprintf("%04d", cents)
	}
	point := len(text) - 2
	return OutCell{Cell: Cell{Text: text[:point] + "." + text[point:], Kind: Number}, Money: true}
}

// Time is a cell with a date and, unless it is midnight, a time. The zone is
// not shown: convert the time before.
func Time(t time.Time) OutCell {
	if t.IsZero() {
		return OutCell{}
	}
	layout := "2006-01-02T15:04:05"
	if t.Hour()|t.Minute()|t.Second() == 0 {
		layout = time.DateOnly
	}
	return OutCell{Cell: Cell{Text: t.Format(layout), Kind: Date}}
}

// CopyOf returns a cell as it was read.
func CopyOf(c Cell) OutCell {
	out := OutCell{Cell: c}
	if c.Year {
		out.Format = "yyyy"
	}
	return out
}

// WithStyle returns the cell in another style.
func (c OutCell) WithStyle(style StyleID) OutCell {
	c.Style = style
	return c
}

// WithComment returns the cell with a comment.
func (c OutCell) WithComment(comment string) OutCell {
	c.Comment = comment
	return c
}

// StyleID is the look of a cell. The format of its value (money, dates, text)
// follows from the value.
type StyleID uint8

// The looks of cells. The text of a cell always says the same as its color.
const (
	StylePlain       StyleID = iota
	StyleTitle               // the name of a sheet
	StyleHeader              // above a column
	StyleHeaderRight         // above a column of figures
	StyleBold
	StyleWrap  // a paragraph, over several lines
	StyleOK    // green
	StyleWait  // blue-grey: still to come
	StyleWarn  // amber
	StyleBad   // red
	StyleGrey  // of no further interest
	StyleFault // a cell with an error
	styleCount
)
