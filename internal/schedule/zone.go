package schedule

import (
	"context"
	"os"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// FirmZone returns the firm's chosen time zone, or else this machine's zone.
func FirmZone(ctx context.Context, l *ledger.Ledger) (*time.Location, error) {
	name, err := NewRecords(l).FirmZone(ctx)
	if err != nil {
		return nil, err
	}
	if zone, err := season.LoadZone(name); err == nil && name != "" {
		return zone, nil
	}
	return season.LoadZone(LocalZone(os.Getenv))
}
