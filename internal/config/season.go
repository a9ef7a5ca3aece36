package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/pricing"
	"bulkfiling/internal/schedule"
)

// Seasons makes what fires the seasons of a ledger. Without a client their plans
// have no prices, and none can fire.
func (e Environment) Seasons(l *ledger.Ledger, client *filingapi.Client, log *slog.Logger) *schedule.Scheduler {
	c := schedule.Config{Ledger: l, By: "a season", Log: log}
	if host, err := os.Hostname(); err == nil {
		c.By += ", on " + host
	}
	if client != nil {
		c.Quoter = e.Asker(l, client)
	}
	return schedule.New(c)
}

// Asker asks the service what things cost now, and has the ledger know whether
// it accepts the key: see pricing.FetchPrices. First of all it makes sure that the key
// belongs to the organization whose orders the ledger holds. With any other it
// returns ledger.ErrMode or ledger.ErrOrganization: what is said to that one
// halts nobody here, and prices are no prices.
func (e Environment) Asker(l *ledger.Ledger, client *filingapi.Client) pricing.Source {
	return func(ctx context.Context) (pricing.Quoter, error) {
		news, err := l.Notifications().FindReportable(ctx)
		if err != nil {
			return nil, err
		}
		if news.Mode != "" && news.Mode != e.Mode() {
			return nil, fmt.Errorf("%w: it holds %s orders and the key is for %s ones", ledger.ErrMode, news.Mode,
				e.Mode())
		}
		unbound := e.bind(ctx, l, client)
		if unbound != nil && !errors.Is(unbound, filingapi.ErrKeyRefused) && !errors.Is(unbound, filingapi.ErrBusy) {
			return nil, unbound
		}
		prices, err := pricing.FetchPrices(ctx, client, l) // which tells the fleet of a refused key and a busy service
		if err = cmp.Or(err, unbound); err != nil {
			return nil, err
		}
		return e.Quoter(prices)
	}
}

// bound remembers that the key was found to be that of the ledger.
type bound struct {
	mu   sync.Mutex
	done bool
}

// bind ties the ledger to the organization that the filing service reports for
// the key, once in a process.
func (e Environment) bind(ctx context.Context, l *ledger.Ledger, client *filingapi.Client) error {
	e.bound.mu.Lock()
	defer e.bound.mu.Unlock()
	if e.bound.done {
		return nil
	}
	opened := e.chosen
	if e.organization == nil {
		if _, err := e.Recognize(ctx, client); err != nil {
			return err
		}
		if opened != nil && e.chosen.dir != opened.dir {
			return fmt.Errorf("%w: the key belongs to %s, whose ledger is %s; the one in use is %s. Start again",
				ledger.ErrOrganization, *e.organization, e.chosen.name, opened.name)
		}
	}
	err := l.Organizations().BindClient(ctx, ledger.Client{
		Mode: e.Mode(), Organization: *e.organization, Unnamed: e.unnamedHash(),
		// A ledger of the data folder was chosen by what the filing service says, or
		// by a person; a database by its address alone.
		Decided: e.Ledger != "" || e.DatabaseURL == "" && opened != nil,
	})
	e.bound.done = err == nil
	return err
}
