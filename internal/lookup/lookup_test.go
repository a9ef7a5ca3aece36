package lookup

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
)

// gate is a Breaker that counts the results that it observes.
type gate struct {
	closed   bool
	observed int
}

func (g *gate) MayAsk() bool { return !g.closed }

func (g *gate) ObserveLookup(error) { g.observed++ }

// After an answer that asks every process to wait, no request is sent for a moment. The gate
// observes each result, and nothing is sent while it is closed.
func TestAsk(t *testing.T) {
	for name, c := range map[string]struct {
		answer error
		pauses bool
	}{
		"answered":    {nil, false},
		"key refused": {filingapi.ErrKeyRefused, true},
		"busy":        {filingapi.ErrBusy, true},
		"unavailable": {filingapi.ErrUnavailable, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &gate{}
				l := New(nil, Config{Concurrency: 1, Breaker: g, Now: time.Now})
				sent := 0
				ask := func() error {
					_, err := Ask(t.Context(), l, func() (int, error) {
						sent++
						return 0, c.answer
					})
					return err
				}
				if err := ask(); !errors.Is(err, c.answer) || sent != 1 || g.observed != 1 {
					t.Errorf("%v; %d requests, %d observed", err, sent, g.observed)
				}
				if err := ask(); errors.Is(err, ErrHalted) != c.pauses || (sent == 1) != c.pauses {
					t.Errorf("at once: %v, %d requests", err, sent)
				}
				time.Sleep(pauseFor)
				before := sent
				if err := ask(); !errors.Is(err, c.answer) || sent != before+1 {
					t.Errorf("after the pause: %v, %d requests", err, sent)
				}
				time.Sleep(pauseFor)
				g.closed = true
				if err := ask(); !errors.Is(err, ErrHalted) || sent != before+1 {
					t.Errorf("with the gate closed: %v, %d requests", err, sent)
				}
			})
		})
	}
}
