package metrics

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// How long a reading serves, so that several scrapers cost no more than one, and
// how long one may take: less than Prometheus waits for a scrape (10 s).
const (
	keepFor  = 5 * time.Second
	patience = 4 * time.Second
)

// reading is what a source said a moment ago. A source that hangs holds nobody
// up for longer than the patience, and is asked once at a time.
type reading[T any] struct {
	read   func(context.Context) (T, error)
	flight singleflight.Group

	mu   sync.Mutex
	last T
	err  error
	at   time.Time
}

func (r *reading[T]) get() (T, error) {
	r.mu.Lock()
	last, err, fresh := r.last, r.err, !r.at.IsZero() && time.Since(r.at) < keepFor
	r.mu.Unlock()
	if fresh {
		return last, err
	}
	var none T
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-r.flight.DoChan("", r.ask):
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.last, r.err
	case <-late.C:
		return none, fmt.Errorf("no reading within %s", patience)
	}
}

func (r *reading[T]) ask() (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	v, err := r.read(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, r.err, r.at = v, err, time.Now()
	return nil, nil
}
