package environment

import (
	"context"
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
		c.Quoter = func(ctx context.Context) (jobs.Quoter, error) {
			prices, err := client.Prices(ctx)
			if err != nil {
				return nil, err
			}
			return e.Quoter(prices)
		}
	}
	return jobs.NewSeasons(c)
}

// Asker asks the service what things cost now, and has the ledger know whether
// it accepts the key: see jobs.AskPrices.
func (e Environment) Asker(l *ledger.Ledger, client *filingapi.Client) jobs.Asker {
	return func(ctx context.Context) (jobs.Quoter, error) {
		prices, err := jobs.AskPrices(ctx, client, l)
		if err != nil {
			return nil, err
		}
		return e.Quoter(prices)
	}
}
