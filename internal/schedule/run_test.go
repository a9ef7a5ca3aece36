package schedule_test

import (
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// The day of a run, and whether a person started it, come back from its id.
func TestRunID(t *testing.T) {
	day := season.Date{Year: 2027, Month: time.January, Day: 15}
	for _, c := range []struct {
		got, want string
		manual    bool
	}{
		{schedule.RunID("delaware", day), "delaware@2027-01-15", false},
		{schedule.ManualRunID("delaware", day, "0123456789abcdef"), "delaware@2027-01-15+01234567", true},
		{schedule.ManualRunID("de", day, "0123"), "de@2027-01-15+0123", true},
	} {
		run := schedule.Run{ID: c.got}
		on, err := run.Date()
		if c.got != c.want || on != day || err != nil || run.IsManual() != c.manual {
			t.Errorf("%s, want %s: %s, %v, manual %v", c.got, c.want, on, err, run.IsManual())
		}
	}
	broken := schedule.Run{ID: "delaware"}
	if on, err := broken.Date(); err == nil {
		t.Errorf("an id without a day has the day %s", on)
	}
}
