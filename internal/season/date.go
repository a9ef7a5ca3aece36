package season

import (
	"cmp"
	"fmt"
	"time"
)

// Date is a day of the calendar, without hour or zone. The zero Date is no day:
// a date that is not known.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DateOf is the day that t falls on, in t's own zone.
func DateOf(t time.Time) Date {
	y, m, d := t.Date()
	return Date{y, m, d}
}

// ParseDate reads "2027-04-15".
func ParseDate(text string) (Date, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return Date{}, fmt.Errorf("read a date: %q is not a day such as 2027-04-15", text)
	}
	return DateOf(t), nil
}

// endOfMonth is the day number that stands for the last day of any month.
const endOfMonth = 31

// dayIn is a day of a month, or the month's last day where it is shorter: the
// 29th of February is the 28th in most years. month may lie outside of the year.
func dayIn(year int, month time.Month, day int) Date {
	last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC)
	return DateOf(last.AddDate(0, 0, min(day, last.Day())-last.Day()))
}

// IsZero reports whether d is no day.
func (d Date) IsZero() bool { return d == Date{} }

// String is "2027-04-15", and "" for no day.
func (d Date) String() string {
	if d.IsZero() {
		return ""
	}
	return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day)
}

// American is "Apr 15, 2027", and "" for no day.
func (d Date) American() string {
	if d.IsZero() {
		return ""
	}
	return d.wall().Format("Jan 2, 2006")
}

// Compare orders days; no day comes before all others.
func (d Date) Compare(o Date) int {
	return cmp.Or(cmp.Compare(d.Year, o.Year), cmp.Compare(d.Month, o.Month), cmp.Compare(d.Day, o.Day))
}

// Before reports whether d is an earlier day than o.
func (d Date) Before(o Date) bool { return d.Compare(o) < 0 }

// After reports whether d is a later day than o.
func (d Date) After(o Date) bool { return d.Compare(o) > 0 }

// AddDays is the day n days later, or earlier for a negative n.
func (d Date) AddDays(n int) Date { return DateOf(d.wall().AddDate(0, 0, n)) }

// DaysSince is how many days d is after o.
func (d Date) DaysSince(o Date) int { return int(d.wall().Sub(o.wall()) / (24 * time.Hour)) }

// AddMonths is the same day n months later, or the last of a shorter month.
func (d Date) AddMonths(n int) Date { return dayIn(d.Year, d.Month+time.Month(n), d.Day) }

// wall is the day's first minute on a clock without a zone, which is UTC's.
func (d Date) wall() time.Time { return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC) }

// MarshalText writes what String does, so that JSON carries "2027-04-15".
func (d Date) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (d *Date) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*d = Date{}
		return nil
	}
	*d, err = ParseDate(string(b))
	return err
}
