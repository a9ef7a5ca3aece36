package resolve

import (
	"errors"
	"strings"
	"time"
)

// ParseSince returns these of a text that is no time, or none in the past.
var (
	ErrNoTime = errors.New("not a time: write 2026-03-01 14:30 or, in UTC, 2026-03-01T14:30:00Z")
	ErrFuture = errors.New("in the future; enter the time of the backup")
)

// sinceLayouts are the ways to write the time of a backup.
var sinceLayouts = []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05",
	"2006-01-02T15:04", time.DateOnly}

// ParseSince reads the time of a backup; the zero time for "". The time is in the
// zone unless it names one, also by "UTC" behind it.
func ParseSince(text string, zone *time.Location, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return time.Time{}, nil
	}
	if plain, utc := strings.CutSuffix(text, "UTC"); utc {
		text, zone = strings.TrimSpace(plain), time.UTC
	}
	for _, layout := range sinceLayouts {
		at, err := time.ParseInLocation(layout, text, zone)
		switch {
		case err != nil:
		case at.After(now):
			return time.Time{}, ErrFuture
		default:
			return at, nil
		}
	}
	return time.Time{}, ErrNoTime
}
