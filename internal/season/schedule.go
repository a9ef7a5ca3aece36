package season

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"time"
	_ "time/tzdata" // a container of one binary has no zone files

	"github.com/robfig/cron/v3"
)

// ErrSchedule matches errors of a text that is not a schedule.
var ErrSchedule = errors.New("schedule")

// Schedule says when a schedule runs: at most once on any day, by the wall clock
// of a zone. A run in an hour that the clock leaves out in spring happens when the
// clock goes on; in an hour that comes twice in autumn it happens the first time.
type Schedule struct {
	zone *time.Location
	// next is the first reading of the wall clock after another at which the
	// schedule runs, zero for never. Readings are times in UTC, which leaves none
	// out and has none twice.
	next func(wall time.Time) time.Time
}

// Run is one run of a schedule.
type Run struct {
	// Date is the day it stands for. Its day on the clock is the same but where
	// the clock leaves out the last hours of a day.
	Date   Date
	At     time.Time // when it is, or was, due
	Missed int       // earlier runs that no process carried out; this one stands for them too
}

// LoadZone finds a zone by its name, such as America/New_York; "" and Local are
// the machine's own.
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

// cronParser reads five fields and the descriptors. asynq reads its own with
// the same package. Only its calendar of the fields is used: its own
// clock skips an hour that the wall clock leaves out, and runs twice in one that
// comes twice.
var cronParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// ParseAt reads a cron expression: minute, hour, day of the month, month, day of
// the week, or @daily, @weekly, @monthly, @yearly. Where both days are given,
// either of them is a day of a run, as with cron. Minute and hour must be one each:
// a schedule runs once a day. zone is a name of LoadZone; CRON_TZ=ZONE in front of the
// expression says the same.
func ParseAt(expression, zone string) (*Schedule, error) {
	spec, zone, err := parseSpec(expression, zone)
	if err != nil {
		return nil, err
	}
	location, err := LoadZone(zone)
	if err != nil {
		return nil, err
	}
	return &Schedule{location, spec.Next}, nil
}

// parseSpec reads a cron expression and its zone, wherever that stands.
func parseSpec(expression, zone string) (*cron.SpecSchedule, string, error) {
	fields := strings.Fields(expression)
	if len(fields) > 0 {
		for _, prefix := range []string{"CRON_TZ=", "TZ="} {
			name, ok := strings.CutPrefix(fields[0], prefix)
			if !ok {
				continue
			}
			if zone != "" && zone != name {
				return nil, "", fmt.Errorf("%w: %q has another zone than %q: give one of them", ErrSchedule,
					expression, zone)
			}
			zone, fields = name, fields[1:]
			break
		}
	}
	rest := strings.Join(fields, " ")
	if strings.Contains(rest, "=") { // the parser panics at a second zone
		return nil, "", fmt.Errorf("%w: %q: the zone stands once, in front: CRON_TZ=America/New_York 0 6 15 1 *",
			ErrSchedule, expression)
	}
	parsed, err := cronParser.Parse(rest)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %q: %w: an example is \"0 6 15 1 *\", the 15th of January at six", ErrSchedule,
			expression, err)
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok || !one(spec.Minute) || !one(spec.Hour) {
		return nil, "", fmt.Errorf(
			"%w: %q runs more than once a day: give one minute and one hour, such as \"0 6 * * 1\"", ErrSchedule,
			expression)
	}
	spec.Location = time.UTC
	// The five years that cron looks ahead have every day there is.
	if spec.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, "", fmt.Errorf("%w: %q never runs: its months have no such day", ErrSchedule, expression)
	}
	return spec, zone, nil
}

// one reports whether a field of a cron expression has one value. Its top bit
// says that it was a star.
func one(field uint64) bool { return bits.OnesCount64(field) == 1 }

// Zone is the zone of the schedule, to be kept with it; "Local" is each
// machine's own.
func (s *Schedule) Zone() *time.Location { return s.zone }

// Next returns the first run after a time; false for never.
func (s *Schedule) Next(after time.Time) (Run, bool) {
	wall := wallClock(after, s.zone)
	for {
		if wall = s.next(wall); wall.IsZero() {
			return Run{}, false
		}
		// The run of an hour that comes twice was at its first time.
		if at := instant(wall, s.zone); at.After(after) {
			return Run{Date: DateOf(wall), At: at}, true
		}
	}
}

// Upcoming returns the next n runs after a time, their times in the schedule's
// zone; fewer where there are not as many.
func (s *Schedule) Upcoming(after time.Time, n int) []Run {
	var all []Run
	for len(all) < n {
		f, ok := s.Next(after)
		if !ok {
			break
		}
		after = f.At
		f.At = f.At.In(s.zone)
		all = append(all, f)
	}
	return all
}

// Between returns the run to carry out now, when the last one was looked for at
// last: the latest after last and not after now, with the number of those
// before it that were missed. False where there is none, or last is zero.
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

// wallClock is what a clock in the zone shows, as a time in UTC.
func wallClock(t time.Time, zone *time.Location) time.Time {
	t = t.In(zone)
	y, m, d := t.Date()
	hour, minute, second := t.Clock()
	return time.Date(y, m, d, hour, minute, second, t.Nanosecond(), time.UTC)
}

// instant is when a clock in the zone first shows a reading or, where it leaves
// it out, when it goes on past it.
func instant(wall time.Time, zone *time.Location) time.Time {
	y, m, d := wall.Date()
	hour, minute, second := wall.Clock()
	t := time.Date(y, m, d, hour, minute, second, wall.Nanosecond(), zone)
	start, end := t.ZoneBounds()
	// Of a reading that is left out, Date takes the offset before or behind: it
	// does not promise which.
	switch shown := wallClock(t, zone); {
	case shown.After(wall):
		return start
	case shown.Before(wall):
		return end
	case start.IsZero():
		return t
	}
	// Shown twice, the first time is under the offset before.
	_, before := start.Add(-time.Nanosecond).Zone()
	_, offset := t.Zone()
	if first := t.Add(time.Duration(offset-before) * time.Second); first.Before(start) {
		return first
	}
	return t
}
