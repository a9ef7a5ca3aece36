package sheet

import (
	"context"
	"errors"
	"sync/atomic"
)

// ErrBusy is returned by [AcquireReader] if too many callers are already waiting.
var ErrBusy = errors.New("too many spreadsheets are being read")

// readers bounds how many spreadsheets this process reads at once. Limits bounds the cost of each.
type readers struct {
	slots   chan struct{}
	waiting atomic.Int64
	queue   int64
}

var processReaders atomic.Pointer[readers]

// LimitReaders sets how many spreadsheets this process reads at once, and how many callers may
// wait. A server calls it once, before the first read. A command reads one spreadsheet at a time
// and needs no limit. An atOnce of 0 removes the limit.
func LimitReaders(atOnce, queue int) {
	if atOnce == 0 {
		processReaders.Store(nil)
		return
	}
	processReaders.Store(&readers{slots: make(chan struct{}, atOnce), queue: int64(queue)})
}

type unlimitedWait struct{}

// WithUnlimitedWait returns a context for background work. With it [AcquireReader] waits for any
// number of other callers.
func WithUnlimitedWait(ctx context.Context) context.Context {
	return context.WithValue(ctx, unlimitedWait{}, true)
}

// AcquireReader waits until a spreadsheet may be opened and read. The caller calls release after
// the read, and must not acquire a second reader before that. It returns ErrBusy at once if too
// many callers are waiting.
func AcquireReader(ctx context.Context) (release func(), err error) {
	r := processReaders.Load()
	if r == nil {
		return func() {}, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	acquired := func() { <-r.slots }
	select {
	case r.slots <- struct{}{}:
		return acquired, nil
	default:
	}
	if unlimited, _ := ctx.Value(unlimitedWait{}).(bool); !unlimited {
		defer r.waiting.Add(-1)
		if r.waiting.Add(1) > r.queue {
			return nil, ErrBusy
		}
	}
	select {
	case r.slots <- struct{}{}:
		return acquired, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
