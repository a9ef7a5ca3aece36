package environment

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/jobs"
	"bulkfiling/internal/ledger"
)

// Seasons makes what fires the seasons of a ledger. Without a client their plans
// have no prices, and none can fire.
func (e Environment) Seasons(l *ledger.Ledger, client *filingapi.Client, log *slog.Logger) *jobs.Seasons {
	c := jobs.SeasonsConfig{Ledger: l, By: "a season", Log: log}
	if host, err := os.Hostname(); err == nil {
		c.By += ", on " + host
	}
	if client != nil {
		c.Quoter = e.Asker(l, client)
	}
	return jobs.NewSeasons(c)
}

// Asker asks the service what things cost now, and has the ledger know whether
// it accepts the key: see jobs.AskPrices. It returns ledger.ErrMode, and asks
// nothing, with a key of the environment that is not the ledger's: what is said
// to that one halts nobody here, and prices are no prices.
func (e Environment) Asker(l *ledger.Ledger, client *filingapi.Client) jobs.Asker {
	return func(ctx context.Context) (jobs.Quoter, error) {
		news, err := l.News(ctx)
		if err != nil {
			return nil, err
		}
		if news.Mode != "" && news.Mode != e.Mode() {
			return nil, fmt.Errorf("%w: it holds %s orders and the key is for %s ones", ledger.ErrMode, news.Mode, e.Mode())
		}
		prices, err := jobs.AskPrices(ctx, client, l)
		if err != nil {
			return nil, err
		}
		return e.Quoter(prices)
	}
}
