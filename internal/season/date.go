package season

import (
	"cmp"
	"fmt"
	"time"
)

// Date is a calendar day without an hour or a zone. The zero Date is an unknown day.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DateOf returns the day of t in the zone of t.
func DateOf(t time.Time) Date {
	y, m, d := t.Date()
	return Date{y, m, d}
}

// ParseDate parses a date such as "2027-04-15".
func ParseDate(text string) (Date, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return Date{}, fmt.Errorf("read a date: %q is not a day such as 2027-04-15", text)
	}
	return DateOf(t), nil
}

// endOfMonth is the day number that means the last day of any month.
const endOfMonth = 31

// dayIn returns a day of a month, or the month's last day if the month is shorter. February 29 is
// February 28 in most years. month may lie outside the year.
func dayIn(year int, month time.Month, day int) Date {
	last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC)
	return DateOf(last.AddDate(0, 0, min(day, last.Day())-last.Day()))
}

// IsZero reports whether d is unknown.
func (d Date) IsZero() bool { return d == Date{} }

// String returns a date such as "2027-04-15", or "" if d is zero.
func (d Date) String() string {
	if d.IsZero() {
		return ""
	}
	return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day)
}

// American returns a date such as "Apr 15, 2027", or "" if d is zero.
func (d Date) American() string {
	if d.IsZero() {
		return ""
	}
	return d.wall().Format("Jan 2, 2006")
}

// Compare orders days. The zero Date precedes all others.
func (d Date) Compare(o Date) int {
	return cmp.Or(cmp.Compare(d.Year, o.Year), cmp.Compare(d.Month, o.Month), cmp.Compare(d.Day, o.Day))
}

// Before reports whether d is an earlier day than o.
func (d Date) Before(o Date) bool { return d.Compare(o) < 0 }

// After reports whether d is a later day than o.
func (d Date) After(o Date) bool { return d.Compare(o) > 0 }

// AddDays returns the day n days later, or earlier if n is negative.
func (d Date) AddDays(n int) Date { return DateOf(d.wall().AddDate(0, 0, n)) }

// DaysSince returns the number of days from o to d.
func (d Date) DaysSince(o Date) int { return int(d.wall().Sub(o.wall()) / (24 * time.Hour)) }

// AddMonths returns the same day n months later, or the last day of a shorter month.
func (d Date) AddMonths(n int) Date { return dayIn(d.Year, d.Month+time.Month(n), d.Day) }

// wall returns midnight of the day in UTC.
func (d Date) wall() time.Time { return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC) }

// MarshalText returns the text of String, so that JSON has "2027-04-15".
func (d Date) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText parses the text of MarshalText.
func (d *Date) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*d = Date{}
		return nil
	}
	*d, err = ParseDate(string(b))
	return err
}
