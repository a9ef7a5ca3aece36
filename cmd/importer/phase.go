package main

import (
	"fmt"
	"sync"
	"time"
)

// phaseAfter is the time after which the progress of a step is shown.
const phaseAfter = 2 * time.Second

// The times between two updates of a line, at a terminal and elsewhere.
const (
	liveEvery  = 200 * time.Millisecond
	plainEvery = 10 * time.Second
)

// repeatLine prints a line repeatedly until stop is called. A live line is updated in place, and
// stop clears it. Other lines are printed below each other. Empty lines are not printed.
func (a *app) repeatLine(live bool, line func() string) (stop func()) {
	every, form, wipe := plainEvery, "%s\n", ""
	if live {
		every, form = liveEvery, "\r\x1b[K%s"
	}
	stopped := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-stopped:
				fmt.Fprint(a.err, wipe)
				return
			case <-tick.C:
			}
			if text := line(); text != "" {
				fmt.Fprintf(a.err, form, text)
				if live {
					wipe = "\r\x1b[K"
				}
			}
		}
	})
	return sync.OnceFunc(func() { close(stopped); ended.Wait() })
}

// phase shows the progress of a slow step at a terminal, because a person who sees nothing begins
// to type. Elsewhere it shows nothing.
type phase struct {
	began time.Time
	// end ends the step and clears the line.
	end func()

	mu          sync.Mutex
	what        string
	done, total int
}

// phase begins a step. The caller must call its end method.
func (a *app) phase(what string) *phase {
	p := &phase{what: what, began: time.Now(), end: func() {}}
	if a.terminal(a.err) {
		p.end = a.repeatLine(true, p.line)
	}
	return p
}

// at sets the progress of the step. total is 0 if it is unknown.
func (p *phase) at(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.total = done, total
}

// next begins another step.
func (p *phase) next(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what, p.done, p.total = what, 0, 0
}

// line returns the progress: "Looking up companies: 120 of 400". It returns "" for a short step.
func (p *phase) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	since := time.Since(p.began)
	switch {
	case since < phaseAfter:
		return ""
	case p.total > 0:
		return fmt.Sprintf("%s: %d of %d", p.what, p.done, p.total)
	case p.done > 0:
		return fmt.Sprintf("%s: %s", p.what, count(p.done, "row"))
	}
	return fmt.Sprintf("%s… %s", p.what, since.Round(time.Second))
}
