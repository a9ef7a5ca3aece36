package schedule

import (
	"context"
	"os"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// FirmZone returns the firm's time zone: the one that was chosen, or else that of
// the most schedules, or else this machine's.
func FirmZone(ctx context.Context, l *ledger.Ledger) (*time.Location, error) {
	name, err := l.Schedules().FirmZone(ctx)
	if err != nil {
		return nil, err
	}
	if name == "" {
		schedules, err := l.Schedules().List(ctx)
		if err != nil {
			return nil, err
		}
		name = commonZone(schedules)
	}
	if zone, err := season.LoadZone(name); err == nil && name != "" {
		return zone, nil
	}
	return season.LoadZone(LocalZone(os.Getenv))
}

// commonZone returns the zone of the most schedules, the oldest first.
func commonZone(schedules []ledger.Schedule) string {
	counts, most := make(map[string]int), ""
	for _, s := range schedules {
		if o, err := DecodeOptions(s); err == nil && o.Zone != "" {
			if counts[o.Zone]++; counts[o.Zone] > counts[most] {
				most = o.Zone
			}
		}
	}
	return most
}
