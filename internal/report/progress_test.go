package report_test

import (
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

func TestProgressMeasuresFromWhereSomebodyBeganToLook(t *testing.T) {
	at := func(placed, ready int) ledger.Figures {
		return ledger.Figures{
			Counts: ledger.Counts{filing.Placed: placed, filing.Ready: ready},
			Spent:  money.Cost{Amount: money.Cents(placed) * 1000},
		}
	}
	least := at(100, 900)
	least.Spent.Certainty = money.Unknown
	began := time.Date(2027, 1, 15, 6, 0, 0, 0, time.UTC)
	m := report.NewMeter(at(100, 900), began)
	for _, c := range []struct {
		name   string
		now    ledger.Figures
		halted ledger.Halted
		after  time.Duration
		rate   float64
		left   time.Duration
		text   string
	}{
		{"nothing moved yet", at(100, 900), ledger.Halted{}, time.Second, 0, 0,
			"100/1000  100 placed  $1,000.00 spent"},
		{"a part of the cost is not known", least, ledger.Halted{}, time.Second, 0, 0,
			"100/1000  100 placed  at least $1,000.00 spent"},
		{"no time has passed", at(101, 899), ledger.Halted{}, 0, 0, 0, "101/1000  101 placed  $1,010.00 spent"},
		{"what was there before is not counted in", at(200, 800), ledger.Halted{}, 10 * time.Second, 10,
			80 * time.Second, "200/1000  200 placed  $2,000.00 spent  10/s  about 1 minute 20 seconds left"},
		{"at a slow rate", at(110, 890), ledger.Halted{}, 20 * time.Second, 0.5,
			1780 * time.Second, "110/1000  110 placed  $1,100.00 spent  30/min  about 30 minutes left"},
		{"halted, it has no rate", at(200, 800), ledger.Halted{Reason: filing.HaltFunds}, 10 * time.Second, 0, 0,
			"200/1000  200 placed  $2,000.00 spent"},
		{"at its end nothing is left", at(1000, 0), ledger.Halted{}, 90 * time.Second, 10, 0,
			"1000/1000  1000 placed  $10,000.00 spent  10/s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := m.Read(c.now, c.halted, began.Add(c.after))
			if p.Rate != c.rate || p.Remaining != c.left || p.String() != c.text {
				t.Errorf("%v a second, %v left, %q; want %v, %v, %q", p.Rate, p.Remaining, p, c.rate, c.left, c.text)
			}
		})
	}
}

func TestSpell(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                     "1 second",
		59*time.Minute + 40*time.Second:       "1 hour",
		24*time.Hour - 20*time.Second:         "1 day",
		59*time.Second + 400*time.Millisecond: "59 seconds",
		84 * time.Second:                      "1 minute 20 seconds",
		3 * time.Minute:                       "3 minutes",
		29*time.Minute + time.Minute/2:        "30 minutes",
		125 * time.Minute:                     "2 hours 5 minutes",
		2 * time.Hour:                         "2 hours",
		23*time.Hour + 59*time.Minute:         "23 hours 59 minutes",
		49*time.Hour + 20*time.Minute:         "2 days 1 hour",
	} {
		if got := report.Spell(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}
