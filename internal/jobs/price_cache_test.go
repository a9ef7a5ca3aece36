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

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/lookup"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
)

// flat is a price list of one price.
type flat money.Cents

func (flat) Basis() string { return "" }

func (flat) Quote(*filing.Order, pricing.Facts) pricing.Quote { return pricing.Quote{} }

// priceList is a price cache over a list of the filing service that a test changes.
type priceList struct {
	*testing.T
	cache  *priceCache
	lookup *lookup.Lookup
	halted bool
	log    bytes.Buffer
	asked  int   // how often the service was asked since the last want
	now    flat  // what the service answers
	refuse error // what it answers instead
}

func newPriceList(t *testing.T) *priceList {
	p := &priceList{T: t, now: flat(25_00)}
	p.lookup = lookup.New(nil, lookup.Config{Concurrency: 1, Breaker: p, Now: time.Now})
	p.cache = newPriceCache(p.now, p.ask, time.Now, slog.New(slog.NewTextHandler(&p.log, nil)))
	return p
}

// MayAsk and ObserveLookup make a priceList the gate of its look-ups.
func (p *priceList) MayAsk() bool { return !p.halted }

func (p *priceList) ObserveLookup(error) {}

// ask is the service, which takes a second.
func (p *priceList) ask(ctx context.Context) (pricing.Quoter, error) {
	p.asked++
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return p.now, p.refuse
}

// want checks the cached prices, how often the service was asked for them, and
// what the log says of it in one line.
func (p *priceList) want(cost flat, asked int, logged ...string) {
	p.Helper()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if q, err := p.cache.get(p.Context(), p.lookup); err != nil || q != cost {
				p.Errorf("%v, %v; want %v", q, err, cost)
			}
		})
	}
	all.Wait()
	lines := strings.Count(p.log.String(), "\n")
	if p.asked != asked || lines != min(len(logged), 1) {
		p.Errorf("asked %d times, want %d; logged %s", p.asked, asked, &p.log)
	}
	for _, s := range logged {
		if !strings.Contains(p.log.String(), s) {
			p.Errorf("%s was not logged: %s", s, &p.log)
		}
	}
	p.log.Reset()
	p.asked = 0
}

// fails checks that there are no prices, for a reason.
func (p *priceList) fails(ctx context.Context, want error) {
	p.Helper()
	if q, err := p.cache.get(ctx, p.lookup); !errors.Is(err, want) {
		p.Errorf("%v, %v; want %v", q, err, want)
	}
}

// Prices are read again after a while, once for all callers; the last ones count
// while the service cannot be asked.
func TestPriceCache(t *testing.T) {
	for name, test := range map[string]func(*priceList){
		"changes": func(p *priceList) {
			old := p.now
			p.now = flat(30_00)
			time.Sleep(priceTTL - time.Second)
			p.want(old, 0)
			time.Sleep(time.Second)
			p.want(p.now, 1)
		},
		"the service fails": func(p *priceList) {
			old := p.now
			p.now, p.refuse = flat(0), errors.New("nobody is there")
			time.Sleep(priceTTL)
			p.want(old, 1, "nobody is there")
			time.Sleep(priceRetry - time.Second)
			p.want(old, 0)
			time.Sleep(time.Second)
			p.want(old, 1) // logged once is enough
			p.now, p.refuse = flat(31_00), nil
			time.Sleep(priceRetry)
			p.want(p.now, 1)
		},
		"a halted fleet does not ask, and has no old prices": func(p *priceList) {
			time.Sleep(priceTTL)
			p.halted = true
			if p.fails(p.Context(), lookup.ErrHalted); p.asked != 0 {
				p.Errorf("asked %d times", p.asked)
			}
			p.halted = false
			ctx, cancel := context.WithTimeout(p.Context(), time.Millisecond)
			defer cancel()
			p.fails(ctx, context.DeadlineExceeded)
			p.asked = 0
			p.want(p.now, 1)
		},
		"a busy service gets its pause, then the last prices count": func(p *priceList) {
			time.Sleep(priceTTL)
			p.refuse = fmt.Errorf("ask: %w", filingapi.ErrBusy)
			p.fails(p.Context(), lookup.ErrHalted)
			p.want(p.now, 1, "using the last ones")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(newPriceList(t)) })
		})
	}
}
