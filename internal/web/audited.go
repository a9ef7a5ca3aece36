package web

import (
	"context"
	"errors"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/cache"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// verdicts keeps whether the entries add up: to prove it takes the database seconds
// for a hundred thousand orders. It is proved again after a commit, for at most one
// part in restShare of the time.
type verdicts struct {
	ledger *ledger.Ledger
	last   *cache.Cache[string, verdict]
}

// verdict is what is wrong with a ledger; "" for nothing.
type verdict struct {
	wrong string
	loading
}

func newVerdicts(l *ledger.Ledger) *verdicts {
	return &verdicts{ledger: l, last: cache.New[string](cache.Options[verdict]{TTL: unlessInstant, Max: 1})}
}

// load returns what is wrong.
func (a *verdicts) load(ctx context.Context) (string, error) {
	version, err := a.ledger.Fleet().Version(ctx)
	if err != nil {
		return "", err
	}
	if last, ok := a.last.Peek(""); ok && !last.isCurrent(version, true, restShare) {
		a.last.Delete("")
	}
	v, err := a.last.Get(ctx, "", func(ctx context.Context) (v verdict, err error) {
		began := time.Now()
		if err = a.ledger.Audit(ctx); errors.Is(err, ledger.ErrInconsistent) {
			v.wrong, err = err.Error(), nil
		}
		v.loading = loading{version, time.Now(), time.Since(began)}
		return v, err
	})
	return v.wrong, err
}
