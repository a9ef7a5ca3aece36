package resolve_test

import (
	"errors"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/resolve"
)

// A time that importer status prints in UTC is read as such in every zone.
func TestParseSince(t *testing.T) {
	west := time.FixedZone("west", -5*3600)
	now := time.Date(2026, 3, 1, 14, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		text, want string // in UTC
		zone       *time.Location
		err        error
	}{
		{"", "0001-01-01T00:00:00Z", west, nil},
		{"2026-03-01 09:30", "2026-03-01T14:30:00Z", west, nil},
		{"2026-03-01 09:31", "", west, resolve.ErrFuture},
		{"2026-03-01 14:30 UTC", "2026-03-01T14:30:00Z", west, nil},
		{" 2026-03-01 14:30:00UTC ", "2026-03-01T14:30:00Z", west, nil},
		{"2026-03-01T14:30:00Z", "2026-03-01T14:30:00Z", west, nil},
		{"2026-03-01T09:30:00-05:00", "2026-03-01T14:30:00Z", time.UTC, nil},
		{"2026-02-28", "2026-02-28T05:00:00Z", west, nil},
		{"2026-03-01 14:30", "2026-03-01T14:30:00Z", time.UTC, nil},
		{"yesterday", "", time.UTC, resolve.ErrNoTime},
	} {
		at, err := resolve.ParseSince(c.text, c.zone, now)
		if !errors.Is(err, c.err) || err == nil && at.UTC().Format(time.RFC3339) != c.want {
			t.Errorf("%q: %v, %v, want %s, %v", c.text, at, err, c.want, c.err)
		}
	}
}
