package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// Scheduler returns the scheduler of a ledger. Without a client, its plans have no prices and no
// schedule can run.
func (e Environment) Scheduler(l *ledger.Ledger, client *filingapi.Client, log *slog.Logger) *schedule.Scheduler {
	c := schedule.Config{Ledger: l, By: "a schedule", Log: log}
	if host, err := os.Hostname(); err == nil {
		c.By += ", on " + host
	}
	if client != nil {
		c.Quoter = e.PriceSource(l, client)
	}
	return schedule.New(c)
}

// WorkerConfig returns the configuration of a worker that places the orders of all batches.
func (e Environment) WorkerConfig(l *ledger.Ledger, client *filingapi.Client, queue *jobs.Queue,
	quoter pricing.Quoter, log *slog.Logger) jobs.Config {
	return jobs.Config{
		Service:      client,
		Ledger:       l,
		Queue:        queue,
		Quoter:       quoter,
		Prices:       e.PriceSource(l, client),
		Throttle:     e.Throttle(queue),
		Concurrency:  e.Concurrency,
		DrainTimeout: e.Timeout + DrainMargin,
		Log:          log,
	}
}

// DrainMargin is the time by which a drain may exceed a request, because an answer that arrives at
// the last moment must be recorded. The container's grace period must be even longer:
//
//	FILING_TIMEOUT < drain = FILING_TIMEOUT + DrainMargin < the container's grace
const DrainMargin = 10 * time.Second

// PriceSource returns a source of current prices. The source also records in the ledger whether the
// filing service accepts the key. See pricing.FetchPrices. It first checks that the key belongs to
// the organization of the ledger, because the prices and rejected keys of another organization do
// not apply to this ledger. If the check fails, it returns ledger.ErrMode or
// ledger.ErrOrganization.
func (e Environment) PriceSource(l *ledger.Ledger, client *filingapi.Client) pricing.Source {
	return func(ctx context.Context) (pricing.Quoter, error) {
		reportable, err := l.Attention().FindReportable(ctx)
		if err != nil {
			return nil, err
		}
		if reportable.Mode != "" && reportable.Mode != e.Mode() {
			return nil, fmt.Errorf("%w: it has %s orders, but the API key is for %s orders", ledger.ErrMode,
				reportable.Mode, e.Mode())
		}
		unbound := e.bind(ctx, l, client)
		if unbound != nil && !errors.Is(unbound, filingapi.ErrKeyRefused) && !errors.Is(unbound, filingapi.ErrBusy) {
			return nil, unbound
		}
		prices, err := pricing.FetchPrices(ctx, client, l) // also halts the fleet
		if err = cmp.Or(err, unbound); err != nil {
			return nil, err
		}
		return e.Quoter(prices)
	}
}

// binding remembers that the key belongs to the ledger.
type binding struct {
	mu   sync.Mutex
	done bool
}

// bind binds the ledger, once per process, to the organization that the filing service reports for
// the key.
func (e Environment) bind(ctx context.Context, l *ledger.Ledger, client *filingapi.Client) error {
	e.binding.mu.Lock()
	defer e.binding.mu.Unlock()
	if e.binding.done {
		return nil
	}
	opened := e.chosen
	if e.organization == nil {
		if _, err := e.Recognize(ctx, client); err != nil {
			return err
		}
		if opened != nil && e.chosen.dir != opened.dir {
			return fmt.Errorf("%w: the API key belongs to %s, whose ledger is %s; the ledger in use is %s. Start again",
				ledger.ErrOrganization, *e.organization, e.chosen.name, opened.name)
		}
	}
	err := l.Organizations().BindClient(ctx, ledger.Client{
		Mode: e.Mode(), Organization: *e.organization, Unnamed: e.unnamedHash(),
		// An organization or a person chose a ledger of the data folder. Only its address chose a
		// database.
		Decided: e.Ledger != "" || e.DatabaseURL == "" && opened != nil,
	})
	e.binding.done = err == nil
	return err
}
