package sheet

import (
	"context"
	"errors"
	"sync/atomic"
)

// ErrBusy is returned by [Enter] where too many wait for their turn already.
var ErrBusy = errors.New("too many spreadsheets are being read")

// door is the one way to spreadsheets in a server: what each may cost is
// bounded, and so is how many are read at once.
type door struct {
	room    chan struct{}
	waiting atomic.Int64
	queue   int64
}

var process atomic.Pointer[door]

// LimitReaders bounds how many spreadsheets this process reads at once, and how
// many may wait for that. A server calls it once, before it reads any; a
// command reads one at a time anyway. No readers at once are any number of
// them.
func LimitReaders(atOnce, queue int) {
	if atOnce == 0 {
		process.Store(nil)
		return
	}
	process.Store(&door{room: make(chan struct{}, atOnce), queue: int64(queue)})
}

type patience struct{}

// Patient is a context in which [Enter] waits however many do: for work that no
// person waits for.
func Patient(ctx context.Context) context.Context { return context.WithValue(ctx, patience{}, true) }

// Enter waits until a spreadsheet may be opened and read. Whoever has read it
// leaves; nobody enters twice. It returns ErrBusy at once where too many wait.
func Enter(ctx context.Context) (leave func(), err error) {
	d := process.Load()
	if d == nil {
		return func() {}, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entered := func() { <-d.room }
	select {
	case d.room <- struct{}{}:
		return entered, nil
	default:
	}
	if patient, _ := ctx.Value(patience{}).(bool); !patient {
		defer d.waiting.Add(-1)
		if d.waiting.Add(1) > d.queue {
			return nil, ErrBusy
		}
	}
	select {
	case d.room <- struct{}{}:
		return entered, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
