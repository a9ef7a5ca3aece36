package season

import (
	"errors"
	"testing"
	"time"
)

func mustAt(t testing.TB, expression, zone string) *Schedule {
	t.Helper()
	s, err := ParseAt(expression, zone)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

func TestAtRunsByTheWallClock(t *testing.T) {
	tests := []struct {
		name, expression, zone, after, want, date string
	}{
		{"every day", "0 6 * * *", "UTC", "2027-03-01T06:00:00Z", "2027-03-02T06:00:00Z", "2027-03-02"},
		{"the very second is over", "0 6 * * *", "UTC", "2027-03-01T05:59:59.5Z", "2027-03-01T06:00:00Z", "2027-03-01"},
		{"a day of the year", "30 2 15 1 *", "UTC", "2027-03-01T00:00:00Z", "2028-01-15T02:30:00Z", "2028-01-15"},
		{"a day of the week", "0 6 * * mon", "UTC", "2027-03-02T00:00:00Z", "2027-03-08T06:00:00Z", "2027-03-08"},
		{"either of two days", "0 6 13 * fri", "UTC", "2027-03-06T00:00:00Z", "2027-03-12T06:00:00Z", "2027-03-12"},
		{"the 29th of February", "0 6 29 2 *", "UTC", "2025-03-01T00:00:00Z", "2028-02-29T06:00:00Z", "2028-02-29"},
		{"a word", "@monthly", "UTC", "2027-03-01T00:00:00Z", "2027-04-01T00:00:00Z", "2027-04-01"},
		{"a zone", "0 6 * * *", "America/New_York", "2027-01-01T11:00:00Z", "2027-01-02T11:00:00Z", "2027-01-02"},
		{"a zone in front", "CRON_TZ=America/New_York 0 6 * * *", "", "2027-01-01T10:00:00Z", "2027-01-01T11:00:00Z",
			"2027-01-01"},
		{"the same zone twice", "TZ=Asia/Tokyo 0 6 * * *", "Asia/Tokyo", "2027-01-01T20:00:00Z",
			"2027-01-01T21:00:00Z", "2027-01-02"},
		{"summer time", "0 6 * * *", "America/New_York", "2027-06-01T00:00:00Z", "2027-06-01T10:00:00Z", "2027-06-01"},

		// On 2027-03-14 clocks in New York go from 02:00 to 03:00, at 07:00Z.
		{"an hour left out runs when the clock goes on", "30 2 * * *", "America/New_York",
			"2027-03-14T00:00:00-05:00", "2027-03-14T07:00:00Z", "2027-03-14"},
		{"and once", "30 2 * * *", "America/New_York", "2027-03-14T07:00:00Z", "2027-03-15T06:30:00Z", "2027-03-15"},
		// On 2027-11-07 they go from 02:00 to 01:00, at 06:00Z.
		{"an hour shown twice runs the first time", "30 1 * * *", "America/New_York", "2027-11-07T00:00:00-04:00",
			"2027-11-07T05:30:00Z", "2027-11-07"},
		{"and not the second", "30 1 * * *", "America/New_York", "2027-11-07T05:30:00Z", "2027-11-08T06:30:00Z",
			"2027-11-08"},
		{"asked between the two", "30 1 * * *", "America/New_York", "2027-11-07T06:10:00Z", "2027-11-08T06:30:00Z",
			"2027-11-08"},
		// On 2027-04-04 clocks on Lord Howe go back by half an hour, from 02:00 to 01:30.
		{"half an hour shown twice", "45 1 4 4 *", "Australia/Lord_Howe", "2027-04-01T00:00:00Z",
			"2027-04-03T14:45:00Z", "2027-04-04"},
		// On 2023-04-28 clocks in Cairo went from midnight to one.
		{"a day that begins at one", "0 0 * * *", "Africa/Cairo", "2023-04-27T12:00:00Z", "2023-04-27T22:00:00Z",
			"2023-04-28"},
		// Samoa left the 30th of December 2011 out.
		{"a day left out", "0 9 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30"},
		{"the day behind it is another", "0 9 * * *", "Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-30T19:00:00Z",
			"2011-12-31"},
	}
	for _, test := range tests {
		got, ok := mustAt(t, test.expression, test.zone).Next(at(t, test.after))
		if !ok || !got.At.Equal(at(t, test.want)) || got.Date.String() != test.date {
			t.Errorf("%s: after %s comes %s for %s, want %s for %s", test.name, test.after,
				got.At.UTC().Format(time.RFC3339), got.Date, test.want, test.date)
		}
	}
}

func TestAtRefuses(t *testing.T) {
	for _, test := range []struct{ name, expression, zone string }{
		{"nothing", "", ""},
		{"a zone alone", "CRON_TZ=UTC", ""},
		{"an unknown zone", "0 6 * * *", "Mars/Olympus"},
		{"an unknown zone in front", "TZ=Mars 0 6 * * *", ""},
		{"two zones", "TZ=UTC 0 6 * * *", "Asia/Tokyo"},
		{"a zone and another behind it, without fields", "TZ=UTC TZ=UTC", ""},
		{"four fields", "0 6 * *", ""},
		{"seconds", "0 0 6 * * *", ""},
		{"words", "every morning", ""},
		{"every minute", "* * * * *", ""},
		{"every minute of an hour", "* 6 * * *", ""},
		{"two hours", "0 6,18 * * *", ""},
		{"every hour", "@hourly", ""},
		{"a span of time", "@every 24h", ""},
		{"the 30th of February", "0 6 30 2 *", ""},
		{"a day without a value", "0 6 , * *", ""},
		{"the 32nd", "0 6 32 * *", ""},
	} {
		if s, err := ParseAt(test.expression, test.zone); !errors.Is(err, ErrSchedule) {
			t.Errorf("%s: %v, %v", test.name, s, err)
		}
	}
}

func TestAtIsLocalWithoutAZone(t *testing.T) {
	if zone := mustAt(t, "0 6 * * *", "").Zone(); zone != time.Local {
		t.Errorf("the zone is %s", zone)
	}
}

func TestBetweenRunsOnceForAllThatWereMissed(t *testing.T) {
	daily := mustAt(t, "0 6 * * *", "UTC")
	tests := []struct {
		name, last, now, date string // "" for none
		missed                int
	}{
		{"before its hour", "2027-03-01T06:00:00Z", "2027-03-02T05:59:00Z", "", 0},
		{"at its hour", "2027-03-01T06:00:00Z", "2027-03-02T06:00:00Z", "2027-03-02", 0},
		{"late", "2027-03-01T06:00:00Z", "2027-03-02T23:00:00Z", "2027-03-02", 0},
		{"three days down", "2027-03-01T06:00:00Z", "2027-03-04T07:00:00Z", "2027-03-04", 2},
		{"a year down", "2027-03-01T06:00:00Z", "2028-03-01T06:00:00Z", "2028-03-01", 365},
		{"a clock set back", "2027-03-02T06:00:00Z", "2027-03-01T06:00:00Z", "", 0},
	}
	for _, test := range tests {
		got, ok := daily.Between(at(t, test.last), at(t, test.now))
		if ok != (test.date != "") || got.Date.String() != test.date || got.Missed != test.missed {
			t.Errorf("%s: %s with %d missed, %t; want %q with %d", test.name, got.Date, got.Missed, ok, test.date,
				test.missed)
		}
	}
	if f, ok := daily.Between(time.Time{}, at(t, "2027-03-04T07:00:00Z")); ok {
		t.Errorf("without a last time it ran: %v", f)
	}
}
