package jobs

import "sync"

// crew runs functions side by side on goroutines that it keeps: each request of a
// new goroutine would grow its stack again, which costs as much as its JSON.
type crew struct {
	work chan func()
	done chan struct{}
	end  func() // lets idle goroutines end; those at work end after it
}

func newCrew() *crew {
	c := &crew{work: make(chan func()), done: make(chan struct{})}
	c.end = sync.OnceFunc(func() { close(c.done) })
	return c
}

// run runs f on an idle goroutine, or on a new one, and does not wait for it.
func (c *crew) run(f func()) {
	select {
	case c.work <- f:
	default:
		go c.serve(f)
	}
}

func (c *crew) serve(f func()) {
	for {
		f()
		select {
		case f = <-c.work:
		case <-c.done:
			return
		}
	}
}
