package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// An order is silent after three times the median, and at least a week. No event since an order that waits for longer
// than usual means that events do not arrive.
func TestFindSilent(t *testing.T) {
	now := time.Date(2027, time.May, 20, 12, 0, 0, 0, time.UTC)
	orders := func(product filing.Product, key filing.Key, days, n int) []ledger.OpenOrder {
		o := ledger.OpenOrder{Ordered: ledger.Ordered{Product: product, Key: key}, NewsAt: now.AddDate(0, 0, -days)}
		return slices.Repeat([]ledger.OpenOrder{o}, n)
	}
	reports := func(state string, days, n int) []ledger.OpenOrder {
		return orders(filing.AnnualReport, filing.Key("annual-report|comp_1|"+state+"|2027"), days, n)
	}
	took := func(state string, days, n int) []ledger.FilingTime {
		t := ledger.FilingTime{Millis: int64(days) * 86_400_000}
		t.Product, t.Key = filing.AnnualReport, filing.Key("annual-report|comp_1|"+state+"|2026")
		return slices.Repeat([]ledger.FilingTime{t}, n)
	}
	lately := now.Add(-time.Hour)
	for _, c := range []struct {
		name  string
		open  []ledger.OpenOrder
		times []ledger.FilingTime
		last  time.Time
		want  string
	}{
		{"nothing", nil, nil, lately, ""},
		{"usual", reports("DE", 17, 11), took("DE", 6, 9), lately, ""},
		{"late", reports("DE", 21, 11), took("DE", 6, 9), lately,
			"11 annual report orders placed and not heard of for 21 days; Delaware usually takes 6 days"},
		{"several days and states", slices.Concat(reports("DE", 20, 2), reports("DE", 30, 1),
			reports("DE", 9, 100), reports("FL", 8, 1)),
			slices.Concat(took("DE", 6, 9), took("FL", 1, 3)), lately,
			"3 annual report orders placed and not heard of for 20 to 30 days; Delaware usually takes 6 days\n" +
				"1 annual report order placed and not heard of for 8 days; Florida usually takes 1 day"},
		{"too few filings", slices.Concat(reports("NV", 20, 5), reports("TX", 22, 5)),
			took("NV", 1, 2), lately,
			"5 annual report orders placed and not heard of for 22 days; Texas has no usual time yet"},
		{"an EIN", orders(filing.EIN, "ein|comp_1", 25, 2), nil, lately,
			"2 EIN orders placed and not heard of for 25 days; this product has no usual time yet"},
		{"no events", reports("DE", 9, 2), took("DE", 6, 9),
			now.AddDate(0, 0, -10), "No event since Monday, May 10: check the webhook"},
		{"no events yet", reports("DE", 9, 2), took("DE", 10, 9),
			now.AddDate(0, 0, -10), ""},
		{"never an event", reports("DE", 9, 2), nil, time.Time{},
			"No event was ever received: check the webhook"},
	} {
		if got := strings.Join(findSilent(c.open, c.times, c.last, now).Lines(), "\n"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// The earliest due date counts, but not that of an order that was late when it was placed.
func TestDueText(t *testing.T) {
	today := season.Date{Year: 2027, Month: time.May, Day: 20}
	due := func(days int) SilentOrder {
		return SilentOrder{Due: today.AddDays(days), OpenOrder: ledger.OpenOrder{
			PlacedAt: time.Date(2027, time.May, 1, 0, 0, 0, 0, time.UTC)}}
	}
	for days, want := range map[int]string{
		12: "; due in 12 days", 1: "; due in 1 day", 0: "; due today", -3: "; due 3 days ago", -40: "",
	} {
		g := SilentOrders{Orders: []SilentOrder{{}, due(days), due(90), due(-50)}}
		if days == -40 {
			g.Orders = g.Orders[:2]
		}
		if got := g.dueText(today); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
