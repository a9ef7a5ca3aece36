package balance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/balance"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// The earliest due orders are paid first; an undated one comes last.
func TestForecast(t *testing.T) {
	orders := []balance.Order{{Priority: balance.Undated, Row: 1, Cost: 100}, {Priority: 2, Row: 2, Cost: 100},
		{Priority: 1, Row: 4, Cost: 100}, {Priority: 1, Row: 3, Cost: 100}}
	f, err := balance.NewForecast(balance.Balance{HasDeposit: true, Deposits: 250, Reserved: 50}, orders)
	if err != nil || f.Short != 2 || f.ShortBy != 200 || fmt.Sprint(f.ShortDue) != "[{1970-01-03 1} { 1}]" {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err := balance.NewForecast(balance.Balance{}, orders); err != nil || f.Available != nil ||
		f.Short != 0 {
		t.Errorf("%+v, %v", f, err)
	}
}

// The text about the funds is true also where nothing is needed.
func TestForecastLines(t *testing.T) {
	for _, c := range []struct {
		available money.Cents
		short     int
		shortBy   money.Cents
		want      string
	}{
		{100_00, 0, 0, "available $100.00: sufficient funds"},
		{0, 0, 0, "available $0.00: sufficient funds"},
		{-5_00, 0, 5_00, "available -$5.00: the balance is overdrawn, but this run costs nothing"},
		{-5_00, 1, 105_00, "available -$5.00: insufficient funds, $105.00 more needed; the earliest due go " +
			"first, 1 wait"},
	} {
		f := balance.Forecast{Available: &c.available, Short: c.short, ShortBy: c.shortBy}
		if got := strings.Join(f.Lines(), "\n"); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
