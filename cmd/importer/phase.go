package main

import (
	"fmt"
	"sync"
	"time"
)

// phaseAfter is how long a step takes before its progress is shown.
const phaseAfter = 2 * time.Second

// Times between two updates of a line, at a terminal and elsewhere.
const (
	liveEvery  = 200 * time.Millisecond
	plainEvery = 10 * time.Second
)

// repeatLine prints a line again and again until stop is called: a live one in its
// place, which stop clears, any other one below the last. It prints no empty line.
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

// phase shows the progress of a slow step at a terminal: a person who sees nothing
// begins to type. Elsewhere it shows nothing.
type phase struct {
	began time.Time
	// end ends the step and clears the line.
	end func()

	mu          sync.Mutex
	what        string
	done, total int
}

// phase begins a step. Its end method must be called.
func (a *app) phase(what string) *phase {
	p := &phase{what: what, began: time.Now(), end: func() {}}
	if a.terminal(a.err) {
		p.end = a.repeatLine(true, p.line)
	}
	return p
}

// at sets the progress of the step; total is 0 if it is not known.
func (p *phase) at(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.total = done, total
}

// next goes on to another step.
func (p *phase) next(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what, p.done, p.total = what, 0, 0
}

// line is the progress: "Looking up companies: 120 of 400"; "" for a short step.
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
