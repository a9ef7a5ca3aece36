package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/money"
	"bulkfiling/internal/pricing"
	"bulkfiling/internal/text"
)

const (
	priceTTL   = 5 * time.Minute // for how long what things cost is not asked for again
	priceRetry = time.Minute     // and where it could not be told
)

// tariff is what things cost now, for a process that runs for months: people
// approve what things cost on the day, and that is what has to be reserved and
// posted. What was told last counts for a while, and for as long as nobody can
// tell anything else.
type priceCache struct {
	ask    pricing.Source // nil: what was told first counts for good
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

// at is what things cost now; f is how the service is asked. It returns errHalted,
// or the context's error, where nothing is to be sent either: after that the last
// prices count for a while, so that a price list that is busy for ever holds up
// no order for ever.
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
		return quoter, nil // somebody was quicker
	}
	told, err := ask(ctx, f, func() (pricing.Quoter, error) { return t.ask(ctx) })
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errHalted):
		return nil, err
	}
	t.store(told, err)
	if errors.Is(err, filingapi.ErrBusy) || errors.Is(err, filingapi.ErrKeyRefused) {
		return nil, errHalted // whoever asked has told the fleet
	}
	quoter, _ := t.latest()
	return quoter, nil
}

func (t *priceCache) latest() (quoter pricing.Quoter, fresh bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.quoter, t.ask == nil || t.now().Before(t.due)
}

// learn takes down what was told.
func (t *priceCache) store(told pricing.Quoter, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		if !t.failed {
			t.log.Warn("it cannot be asked what things cost: the last prices and fees count", "error", err)
		}
		t.failed, t.due = true, t.now().Add(priceRetry)
		if busy, ok := errors.AsType[*filingapi.Error](err); ok {
			t.due = t.due.Add(busy.RetryAfter) // else orders might never have their turn
		}
		return
	}
	if changes := priceChanges(t.quoter, told); changes.Count > 0 {
		t.log.Warn("prices or fees have changed", "changes", changes.Count, "what", changes.Names)
	}
	t.quoter, t.failed, t.due = told, false, t.now().Add(priceTTL)
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

// priceChanges lists what costs something else: whatever else there is in a
// price list or in a table of fees, what they say of orders is what counts.
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
					old, quote := before.Quote(&order, facts, nil).Lines, now.Quote(&order, facts, nil).Lines
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

// elsewhere is another state.
func otherState(state filing.State) filing.State {
	if state == "DE" {
		return "NV"
	}
	return "DE"
}
