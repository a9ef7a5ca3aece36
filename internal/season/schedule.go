package season

import (
	"errors"
	"fmt"
	"strconv"
	"time"
	_ "time/tzdata" // a container of one binary has no zone files
)

// ErrSchedule means that a text is not a valid schedule.
var ErrSchedule = errors.New("schedule")

// Schedule is the days on which a schedule runs, at runHour in its zone.
type Schedule struct {
	zone *time.Location
	// next returns the first day after another on which the schedule runs, zero if there is none.
	next func(after Date) Date
}

// runHour is the hour of every run. No time zone changes its clocks at that hour.
const runHour = 6

// Run is one run of a schedule.
type Run struct {
	Date Date
	// At is the time at which the run is due.
	At time.Time
	// Missed is the number of earlier runs that no process carried out. This run replaces them.
	Missed int
}

// LoadZone loads a zone by its name, such as America/New_York. An empty name and Local mean the
// zone of the machine.
func LoadZone(name string) (*time.Location, error) {
	if name == "" {
		return time.Local, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%w: the zone %q is not known: give a name such as America/New_York", ErrSchedule, name)
	}
	return zone, nil
}

// ParseAt parses the day of a schedule. "01-15" is January 15 of every year, and "15" is that day
// of every month. In a shorter month the schedule runs on the last day.
func ParseAt(text, zone string) (*Schedule, error) {
	location, err := LoadZone(zone)
	if err != nil {
		return nil, err
	}
	month, day, ok := parseDay(text)
	if !ok {
		return nil, fmt.Errorf("%w: %q is not a day: use 01-15 for January 15 of every year, or 15 for that day of "+
			"every month", ErrSchedule, text)
	}
	return &Schedule{location, func(after Date) Date {
		first, months := dayIn(after.Year, after.Month, day), 1
		if month != 0 {
			first, months = dayIn(after.Year, month, day), 12
		}
		if first.After(after) {
			return first
		}
		return dayIn(first.Year, first.Month+time.Month(months), day)
	}}, nil
}

// parseDay parses a day of the year or of every month. month is zero if the day is of every month.
func parseDay(text string) (month time.Month, day int, ok bool) {
	if t, err := time.Parse("2006-01-02", "2024-"+text); err == nil { // a leap year has all days
		return t.Month(), t.Day(), true
	}
	day, err := strconv.Atoi(text)
	return 0, day, err == nil && day >= 1 && day <= endOfMonth
}

// InWords describes a text of ParseAt, such as "every year on January 15". It returns any other
// text unchanged.
func InWords(text string) string {
	switch month, day, ok := parseDay(text); {
	case !ok:
		return text
	case month == 0:
		return fmt.Sprintf("on day %d of every month", day)
	default:
		return fmt.Sprintf("every year on %s %d", month, day)
	}
}

// Next returns the first run after a time, or false if there is none.
func (s *Schedule) Next(after time.Time) (Run, bool) {
	day := DateOf(after.In(s.zone)).AddDays(-1)
	for {
		if day = s.next(day); day.IsZero() {
			return Run{}, false
		}
		if at := time.Date(day.Year, day.Month, day.Day, runHour, 0, 0, 0, s.zone); at.After(after) {
			return Run{Date: day, At: at}, true
		}
	}
}

// Upcoming returns up to n runs after a time.
func (s *Schedule) Upcoming(after time.Time, n int) []Run {
	var all []Run
	for f, ok := s.Next(after); ok && len(all) < n; f, ok = s.Next(f.At) {
		all = append(all, f)
	}
	return all
}

// Between returns the run to carry out now. It is the latest run after last and not after now. Its
// Missed counts the other runs in that period. Between returns false if there is no run or last is
// zero.
func (s *Schedule) Between(last, now time.Time) (Run, bool) {
	if last.IsZero() {
		return Run{}, false
	}
	var latest Run
	n := 0
	for f, ok := s.Next(last); ok && !f.At.After(now); f, ok = s.Next(f.At) {
		latest, n = f, n+1
	}
	latest.Missed = max(n-1, 0)
	return latest, n > 0
}
