package resolve

import (
	"errors"
	"strings"
	"time"
)

// ParseSince returns ErrNoTime for a text that is not a time, and ErrFuture for a time that is not
// in the past.
var (
	ErrNoTime = errors.New("not a time: write 2026-03-01 14:30 or, in UTC, 2026-03-01T14:30:00Z")
	ErrFuture = errors.New("in the future; enter the time of the backup")
)

// sinceLayouts are the accepted layouts for the time of a backup.
var sinceLayouts = []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05",
	"2006-01-02T15:04", time.DateOnly}

// ParseSince parses the time of a backup. It returns the zero time for an empty text. The time is
// in the given zone unless it names one, also by a final "UTC".
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
