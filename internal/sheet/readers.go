package sheet

import (
	"context"
	"errors"
	"sync/atomic"
)

// ErrBusy is returned by [AcquireReader] where too many callers wait already.
var ErrBusy = errors.New("too many spreadsheets are being read")

// readers bounds how many spreadsheets this process reads at once; Limits
// bounds what each may cost.
type readers struct {
	slots   chan struct{}
	waiting atomic.Int64
	queue   int64
}

var processReaders atomic.Pointer[readers]

// LimitReaders sets how many spreadsheets this process reads at once, and how
// many callers may wait. A server calls it once, before it reads any; a command
// reads one at a time and needs no limit. An atOnce of 0 removes the limit.
func LimitReaders(atOnce, queue int) {
	if atOnce == 0 {
		processReaders.Store(nil)
		return
	}
	processReaders.Store(&readers{slots: make(chan struct{}, atOnce), queue: int64(queue)})
}

type unlimitedWait struct{}

// WithUnlimitedWait returns a context in which [AcquireReader] waits however
// many callers wait already: for background work.
func WithUnlimitedWait(ctx context.Context) context.Context {
	return context.WithValue(ctx, unlimitedWait{}, true)
}

// AcquireReader waits until a spreadsheet may be opened and read. The caller
// calls release when it has read it, and does not acquire a second reader
// before that. It returns ErrBusy at once where too many wait.
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
