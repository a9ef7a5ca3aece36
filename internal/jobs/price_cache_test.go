package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/money"
	"bulkfiling/internal/pricing"
)

// flat is a price of every report, and a state fee in FL.
type flat struct{ price, fee money.Cents }

func (f flat) Quote(o *filing.Order, company pricing.Facts, _ func(filing.State) bool) pricing.Quote {
	if o.AnnualReport == nil {
		return pricing.Quote{}
	}
	line := pricing.Line{Product: filing.AnnualReport, Wholesale: money.Cost{Amount: f.price}}
	if o.FilingState == "FL" && company.EntityType == filing.LLC {
		line.StateFee.Amount = f.fee
	}
	return pricing.Quote{Lines: []pricing.Line{line}, Total: line.Cost()}
}

// What things cost is asked again after a while, once for all who ask; what was
// told last stands where nobody tells anything; and a change is said once.
func TestTariff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			log    bytes.Buffer
			asked  int
			told   = flat{25_00, 138_75}
			refuse error
		)
		state := &sendState{}
		f := newLookup(nil, nil, 1, unlimited{}, state, time.Now)
		tariff := newPriceCache(told, func(ctx context.Context) (pricing.Quoter, error) {
			asked++
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return told, refuse
		}, time.Now, slog.New(slog.NewTextHandler(&log, nil)))
		want := func(cost flat, asks int, said ...string) {
			t.Helper()
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					if q, err := tariff.get(t.Context(), f); err != nil || q != cost {
						t.Errorf("%v, %v; want %v", q, err, cost)
					}
				})
			}
			all.Wait()
			lines := strings.Count(log.String(), "\n")
			if asked != asks || lines != min(len(said), 1) {
				t.Errorf("asked %d times, want %d; said %s", asked, asks, &log)
			}
			for _, s := range said {
				if !strings.Contains(log.String(), s) {
					t.Errorf("%s was not said: %s", s, &log)
				}
			}
			log.Reset()
			asked = 0
		}
		old := told
		told = flat{30_00, 150_00}
		time.Sleep(priceTTL - time.Second)
		want(old, 0)
		time.Sleep(time.Second)
		want(told, 1, "changes=2", "annual report: $30.00, it was $25.00",
			"annual report, state fee of FL for LLC: $150.00, it was $138.75")
		time.Sleep(priceTTL)
		want(told, 1) // and nothing is said of what is as it was

		old, told, refuse = told, flat{}, errors.New("nobody is there")
		time.Sleep(priceTTL)
		want(old, 1, "nobody is there")
		time.Sleep(priceRetry - time.Second)
		want(old, 0)
		time.Sleep(time.Second)
		want(old, 1) // said once is enough
		told, refuse = flat{31_00, 150_00}, nil
		time.Sleep(priceRetry)
		want(told, 1, "changes=1", "annual report: $31.00, it was $30.00")

		// Where nothing is sent nothing is asked, and old prices are none.
		time.Sleep(priceTTL)
		state.setHalt(time.Now(), ledger.Halted{Reason: filing.HaltKey})
		if q, err := tariff.get(t.Context(), f); !errors.Is(err, errHalted) || asked != 0 {
			t.Errorf("%v, %v", q, err)
		}
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if q, err := tariff.get(ctx, f); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, %v", q, err)
		}
		asked = 0
		want(told, 1)

		refuse = fmt.Errorf("ask: %w", filingapi.ErrUnavailable)
		time.Sleep(priceTTL)
		want(told, 1, "WARN")
		if state.failed.first.IsZero() {
			t.Error("a price list that cannot be read does not count as a failure of the service")
		}

		// A service that asks for patience gets it; then the last prices count.
		time.Sleep(priceTTL)
		refuse = fmt.Errorf("ask: %w", filingapi.ErrBusy)
		if q, err := tariff.get(t.Context(), f); !errors.Is(err, errHalted) {
			t.Errorf("%v, %v", q, err)
		}
		want(told, 1)
	})
}

func TestTariffThatNobodyCanAskStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tariff := newPriceCache(flat{25_00, 0}, nil, time.Now, nil)
		time.Sleep(1000 * time.Hour)
		if q, err := tariff.get(t.Context(), nil); err != nil || q != (flat{25_00, 0}) {
			t.Errorf("%v, %v", q, err)
		}
	})
}
