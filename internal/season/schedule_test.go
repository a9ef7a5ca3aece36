package season

import (
	"errors"
	"testing"
	"time"
)

func moment(text string) time.Time { return need(time.Parse(time.RFC3339, text)) }

func TestAtRunsAtSixInItsZone(t *testing.T) {
	tests := []struct {
		name, day, zone, after, want, date string
	}{
		{"a day of the year", "01-15", "UTC", "2027-03-01T00:00:00Z", "2028-01-15T06:00:00Z", "2028-01-15"},
		{"later in the year", "12-01", "UTC", "2027-03-01T00:00:00Z", "2027-12-01T06:00:00Z", "2027-12-01"},
		{"the very second is over", "01-15", "UTC", "2027-01-15T05:59:59.5Z", "2027-01-15T06:00:00Z", "2027-01-15"},
		{"and the next is a year later", "01-15", "UTC", "2027-01-15T06:00:00Z", "2028-01-15T06:00:00Z", "2028-01-15"},
		{"the 29th of February", "02-29", "UTC", "2026-12-01T00:00:00Z", "2027-02-28T06:00:00Z", "2027-02-28"},
		{"of a leap year", "02-29", "UTC", "2027-02-28T06:00:00Z", "2028-02-29T06:00:00Z", "2028-02-29"},
		{"every month", "15", "UTC", "2027-03-15T06:00:00Z", "2027-04-15T06:00:00Z", "2027-04-15"},
		{"the end of a month", "31", "UTC", "2027-01-31T06:00:00Z", "2027-02-28T06:00:00Z", "2027-02-28"},
		{"and of the next", "31", "UTC", "2027-02-28T06:00:00Z", "2027-03-31T06:00:00Z", "2027-03-31"},
		{"over the year", "1", "UTC", "2027-12-01T06:00:00Z", "2028-01-01T06:00:00Z", "2028-01-01"},
		{"a zone", "1", "America/New_York", "2027-01-01T10:00:00Z", "2027-01-01T11:00:00Z", "2027-01-01"},
		{"summer time", "1", "America/New_York", "2027-06-01T00:00:00Z", "2027-06-01T10:00:00Z", "2027-06-01"},
		// On 2027-03-14 clocks in New York go from 02:00 to 03:00, on 2027-11-07 from 02:00 to 01:00.
		{"an hour left out", "03-14", "America/New_York", "2027-03-14T05:00:00Z", "2027-03-14T10:00:00Z", "2027-03-14"},
		{"an hour twice", "11-07", "America/New_York", "2027-11-07T05:30:00Z", "2027-11-07T11:00:00Z", "2027-11-07"},
	}
	for _, test := range tests {
		got, ok := need(ParseAt(test.day, test.zone)).Next(moment(test.after))
		if !ok || !got.At.Equal(moment(test.want)) || got.Date.String() != test.date {
			t.Errorf("%s: after %s comes %s for %s, want %s for %s", test.name, test.after,
				got.At.UTC().Format(time.RFC3339), got.Date, test.want, test.date)
		}
	}
}

func TestAtRefuses(t *testing.T) {
	for _, text := range []string{"", "0", "32", "-1", "1.5", "every day", "13-01", "02-30", "1-1", "0 6 15 1 *"} {
		if s, err := ParseAt(text, ""); !errors.Is(err, ErrSchedule) || InWords(text) != text {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
	if _, err := ParseAt("15", "Mars/Olympus"); !errors.Is(err, ErrSchedule) {
		t.Errorf("an unknown zone: %v", err)
	}
}

func TestInWords(t *testing.T) {
	for text, want := range map[string]string{"01-15": "every year on January 15", "31": "on day 31 of every month"} {
		if got := InWords(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestBetweenRunsOnceForAllThatWereMissed(t *testing.T) {
	monthly := need(ParseAt("1", "UTC"))
	tests := []struct {
		name, last, now, date string // "" for none
		missed                int
	}{
		{"before its hour", "2027-03-01T06:00:00Z", "2027-04-01T05:59:00Z", "", 0},
		{"at its hour", "2027-03-01T06:00:00Z", "2027-04-01T06:00:00Z", "2027-04-01", 0},
		{"late", "2027-03-01T06:00:00Z", "2027-04-02T23:00:00Z", "2027-04-01", 0},
		{"three months down", "2027-03-01T06:00:00Z", "2027-06-04T07:00:00Z", "2027-06-01", 2},
		{"ten years down", "2027-03-01T06:00:00Z", "2037-03-01T06:00:00Z", "2037-03-01", 119},
		{"a clock set back", "2027-03-02T06:00:00Z", "2027-03-01T06:00:00Z", "", 0},
	}
	for _, test := range tests {
		got, ok := monthly.Between(moment(test.last), moment(test.now))
		if ok != (test.date != "") || got.Date.String() != test.date || got.Missed != test.missed {
			t.Errorf("%s: %s with %d missed, %t; want %q with %d", test.name, got.Date, got.Missed, ok, test.date,
				test.missed)
		}
	}
	if f, ok := monthly.Between(time.Time{}, moment("2027-03-04T07:00:00Z")); ok {
		t.Errorf("without a last time it ran: %v", f)
	}
}
