package sheet

import (
	"fmt"
	"strconv"
	"time"
)

// OutCell is a cell to write, with its value and style. A CSV keeps only the value.
//
// Text is always written as text: neither "=1+1" nor "+1 Fitness LLC" becomes a formula.
type OutCell struct {
	Cell
	Style StyleID
	// Money reports whether a Number is an amount in dollars.
	Money bool
	// Format is a number format that replaces the default of a Number or a Date. Empty means the
	// default.
	Format string
	// Comment is a note at the cell. Empty means no note.
	Comment string
}

// Str returns a cell with text.
func Str(text string) OutCell {
	if text == "" {
		return OutCell{}
	}
	return OutCell{Cell: Cell{Text: text, Kind: Text}}
}

// Int returns a cell with a whole number.
func Int(n int64) OutCell {
	return OutCell{Cell: Cell{Text: strconv.FormatInt(n, 10), Kind: Number}}
}

// Money returns a cell with an amount in cents, shown in dollars.
func Money(cents int64) OutCell {
	text := fmt.Sprintf("%03d", cents)
	if cents < 0 {
		text = fmt.Sprintf("%04d", cents)
	}
	point := len(text) - 2
	return OutCell{Cell: Cell{Text: text[:point] + "." + text[point:], Kind: Number}, Money: true}
}

// Time returns a cell with a date and, unless it is midnight, a time. Convert the time to the zone
// of the reader first, because the cell does not show the zone.
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

// WithStyle returns the cell with another style.
func (c OutCell) WithStyle(style StyleID) OutCell {
	c.Style = style
	return c
}

// WithComment returns the cell with a comment.
func (c OutCell) WithComment(comment string) OutCell {
	c.Comment = comment
	return c
}

// StyleID is the style of a cell. The format of the value (money, dates, text) follows from the
// value.
type StyleID uint8

// The styles of cells. The text of a cell always carries the meaning of its color.
const (
	StylePlain       StyleID = iota
	StyleTitle               // sheet title
	StyleHeader              // above a column
	StyleHeaderRight         // above a column of figures
	StyleBold
	StyleWrap  // paragraph over several lines
	StyleOK    // green
	StyleWait  // blue-grey, in progress
	StyleWarn  // amber
	StyleBad   // red
	StyleGrey  // no further interest
	StyleFault // cell with an error
	styleCount
)
