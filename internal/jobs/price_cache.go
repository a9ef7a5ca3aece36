package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

const (
	priceTTL   = 5 * time.Minute // how long prices and fees count without another request
	priceRetry = time.Minute     // and after a request that failed
)

// priceCache keeps the current prices and fees in a process that runs for months:
// people approve the cost of the day, and that cost has to be reserved and posted.
// The last prices count for a while, and for as long as newer ones cannot be read.
// It is no cache.Cache: a failure keeps the old value and is retried sooner.
type priceCache struct {
	ask    pricing.Source // nil: the first prices count for good
	now    func() time.Time
	log    *slog.Logger
	asking chan struct{} // one asks at a time

	mu     sync.Mutex
	quoter pricing.Quoter
	due    time.Time // when to ask again
	failed bool      // the last time
}

func newPriceCache(first pricing.Quoter, ask pricing.Source, now func() time.Time, log *slog.Logger) *priceCache {
	return &priceCache{
		ask:    ask,
		now:    now,
		log:    log,
		asking: make(chan struct{}, 1),
		quoter: first,
		due:    now().Add(priceTTL),
	}
}

// get returns the current prices; f asks the filing service. It returns errHalted,
// or the context's error, where nothing may be sent either. After that the last
// prices count for a while, so that a price list that stays busy does not keep
// orders back for good.
func (t *priceCache) get(ctx context.Context, f *lookup) (pricing.Quoter, error) {
	if quoter, fresh := t.latest(); fresh {
		return quoter, nil
	}
	select {
	case t.asking <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-t.asking }()
	if quoter, fresh := t.latest(); fresh {
		return quoter, nil // another row asked meanwhile
	}
	fresh, err := ask(ctx, f, func() (pricing.Quoter, error) { return t.ask(ctx) })
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errHalted):
		return nil, err
	}
	t.store(fresh, err)
	if errors.Is(err, filingapi.ErrBusy) || errors.Is(err, filingapi.ErrKeyRefused) {
		return nil, errHalted // the ledger has it from the request
	}
	quoter, _ := t.latest()
	return quoter, nil
}

func (t *priceCache) latest() (quoter pricing.Quoter, fresh bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.quoter, t.ask == nil || t.now().Before(t.due)
}

// store keeps new prices, or retries soon after a failure.
func (t *priceCache) store(fresh pricing.Quoter, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		if !t.failed {
			t.log.Warn("reading prices failed, the last ones count", "err", err)
		}
		t.failed, t.due = true, t.now().Add(priceRetry)
		if busy, ok := errors.AsType[*filingapi.Error](err); ok {
			t.due = t.due.Add(busy.RetryAfter) // or each retry would hold orders back
		}
		return
	}
	if changes := priceChanges(t.quoter, fresh); changes.Count > 0 {
		t.log.Warn("prices changed", "changes", changes.Count, "examples", changes.Names)
	}
	t.quoter, t.failed, t.due = fresh, false, t.now().Add(priceTTL)
}

// priced is an order of each kind that has a price of its own.
var priced = []struct {
	name  string
	order filing.Order
}{
	{filing.AnnualReport.Title(), filing.Order{AnnualReport: &filing.AnnualReportItem{}}},
	{filing.RegisteredAgent.Title(), filing.Order{RegisteredAgent: &filing.RegisteredAgentItem{}}},
	{filing.EIN.Title(), filing.Order{EIN: &filing.EINItem{}}},
	{filing.ForeignQualification.Title(), filing.Order{ForeignQualification: &filing.QualificationItem{}}},
	{filing.Formation.Title(), filing.Order{Formation: &filing.FormationItem{}}},
	{filing.Formation.Title() + " with " + filing.EIN.Title(),
		filing.Order{Formation: &filing.FormationItem{}, EIN: &filing.EINItem{}}},
	{"expedited " + filing.Formation.Title(), filing.Order{Formation: &filing.FormationItem{Expedited: true}}},
}

// priceChanges lists what costs something else now. It compares quotes of orders:
// other parts of a price list or a table of fees do not matter.
func priceChanges(before, now pricing.Quoter) text.Examples {
	var changes text.Examples
	seen := make(map[string]bool)
	differ := func(what string, before, now money.Cost) {
		if text := fmt.Sprintf("%s: %s, it was %s", what, now, before); before != now && !seen[text] {
			seen[text] = true
			changes.Add(text)
		}
	}
	for _, p := range priced {
		for _, state := range filing.States() {
			for _, kind := range []filing.EntityType{filing.LLC, filing.Corp} {
				for _, home := range []filing.State{state, otherState(state)} {
					order := p.order
					order.FilingState = state
					if order.Formation != nil {
						formation := *order.Formation
						formation.Company.EntityType = kind
						order.Formation = &formation
					}
					facts := pricing.Facts{EntityType: kind, FormationState: home}
					old, quote := before.Quote(&order, facts).Lines, now.Quote(&order, facts).Lines
					for i := range min(len(old), len(quote)) {
						differ(p.name, old[i].Wholesale, quote[i].Wholesale)
						differ(fmt.Sprintf("%s, state fee of %s for %s", p.name, state, kind), old[i].StateFee,
							quote[i].StateFee)
					}
				}
			}
		}
	}
	return changes
}

// otherState is a state that differs from the given one.
func otherState(state filing.State) filing.State {
	if state == "DE" {
		return "NV"
	}
	return "DE"
}
