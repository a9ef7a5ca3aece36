package schedule_test

import (
	"strings"
	"testing"

	"bulkfiling/internal/money"
	"bulkfiling/internal/schedule"
)

// What a plan says of the funds is true also where it needs none.
func TestPlanWeighsItsCostAgainstTheFunds(t *testing.T) {
	for _, c := range []struct {
		cost, available money.Cents
		short           int
		shortBy         money.Cents
		want            string
	}{
		{100_00, 100_00, 0, 0, "available $100.00: it suffices\n"},
		{0, 0, 0, 0, "available $0.00: it suffices\n"},
		{0, -5_00, 0, 5_00, "available -$5.00: overdrawn before this, which needs nothing\n"},
		{100_00, -5_00, 1, 105_00, "available -$5.00: $105.00 is missing; the earliest due go, 1 do not fit\n"},
	} {
		p := schedule.Plan{
			Season:    "all",
			Priced:    true,
			Cost:      c.cost,
			Available: &c.available,
			Short:     c.short,
			ShortBy:   c.shortBy,
		}
		if text := p.Text(); !strings.HasSuffix(text, c.want) {
			t.Errorf("%s of %s: %q, want %q", c.cost.Dollars(), c.available.Dollars(), text, c.want)
		}
	}
}
