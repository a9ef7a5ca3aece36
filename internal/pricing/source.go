package pricing

import (
	"context"
	"errors"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// Quoter quotes orders. *Rates implements it.
type Quoter interface {
	Quote(*filing.Order, Facts) Quote
	// Basis identifies the prices and fees. Quoters with the same basis return the same quotes.
	Basis() string
}

// Source loads the current prices and returns a quoter over them.
type Source func(context.Context) (Quoter, error)

// FetchPrices requests the price list once. It is usually the first request of a process, so it
// records for the whole fleet that the key is refused, that a refused key works again, or that the
// filing service asks clients to wait. It returns the errors of filingapi. A person must resolve
// ErrKeyRefused, ErrNotFound and ErrRefused. Other errors may be temporary.
func FetchPrices(ctx context.Context, c *filingapi.Client, l *ledger.Ledger) ([]filing.Price, error) {
	prices, err := c.Prices(ctx)
	if err == nil {
		return prices, l.Fleet().RecordKeyAccepted(ctx)
	}
	var unrecorded error
	if answered, ok := errors.AsType[*filingapi.Error](err); ok {
		switch {
		case errors.Is(err, filingapi.ErrKeyRefused):
			unrecorded = refuseKey(ctx, l, answered.Message)
		case errors.Is(err, filingapi.ErrBusy):
			unrecorded = l.Fleet().RecordBusy(ctx, answered.RetryAfter)
		}
	}
	if unrecorded != nil {
		return nil, unrecorded
	}
	return nil, err
}

// refuseKey records for the fleet that the key is refused. It records the same refusal once, so
// that the halt keeps its start time.
func refuseKey(ctx context.Context, l *ledger.Ledger, message string) error {
	halted, err := l.Fleet().Halt(ctx)
	if err != nil || (halted.Reason == filing.HaltKey && halted.Note == message) {
		return err
	}
	return l.Fleet().RecordKeyRefused(ctx, message)
}
