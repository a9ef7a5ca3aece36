package jobs

import (
	"context"
	"errors"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/ledger"
)

// Asker asks what things cost now.
type Asker func(context.Context) (Quoter, error)

// Prices lists what things cost. *filingapi.Client is one.
type Prices interface {
	Prices(ctx context.Context) ([]filing.Price, error)
}

// AskPrices asks the service once what things cost. It is as a rule the first
// question of all, so it is also where a refused key shows, or that the refused
// one was corrected, or that the service wants to be left alone: the whole fleet
// learns of it. It returns the errors of filingapi: of ErrKeyRefused, ErrNotFound
// and ErrRefused a person must take care; what else there is may be over in a
// while.
func AskPrices(ctx context.Context, s Prices, l *ledger.Ledger) ([]filing.Price, error) {
	prices, err := s.Prices(ctx)
	if err == nil {
		return prices, l.KeyAccepted(ctx)
	}
	var unrecorded error
	if answered, ok := errors.AsType[*filingapi.Error](err); ok {
		switch {
		case errors.Is(err, filingapi.ErrKeyRefused):
			unrecorded = refuseKey(ctx, l, answered.Message)
		case errors.Is(err, filingapi.ErrBusy):
			unrecorded = l.Busy(ctx, answered.RetryAfter)
		}
	}
	if unrecorded != nil {
		return nil, unrecorded
	}
	return nil, err
}

// refuseKey has the fleet know that the key is refused. Whoever asks again and
// again records it once: it is since then that nothing is sent.
func refuseKey(ctx context.Context, l *ledger.Ledger, message string) error {
	halted, err := l.Standstill(ctx)
	if err != nil || halted.Reason == filing.HaltKey && halted.Note == message {
		return err
	}
	return l.KeyRefused(ctx, message)
}
