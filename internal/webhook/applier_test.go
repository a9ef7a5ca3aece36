package webhook_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/webhook"
)

// running is an applier at work over a store, and the times at which it asked.
func running(t *testing.T, apply func(n int) (int, error)) (
	m *memory, rc *webhook.Receiver, asked func() []time.Duration, said *bytes.Buffer) {
	var times []time.Duration
	begin := time.Now()
	m = &memory{secrets: []string{secret}}
	m.apply = func() (int, error) {
		times = append(times, time.Since(begin))
		return apply(len(times))
	}
	said = new(bytes.Buffer)
	rc, a := webhook.Handler(m, webhook.NewHMAC(webhook.Secrets(m, nil)), slog.New(slog.NewTextHandler(said, nil)))
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	go a.Run(ctx)
	asked = func() []time.Duration {
		m.mu.Lock()
		defer m.mu.Unlock()
		return append([]time.Duration(nil), times...)
	}
	return m, rc, asked, said
}

// What is received here is applied at once; what others stored, soon.
func TestIsWokenAndLooksByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, rc, asked, _ := running(t, func(int) (int, error) { return 0, nil })
		synctest.Wait()
		time.Sleep(500 * time.Millisecond)
		for range 2 {
			answer(rc, delivery(event, sign(secret, event)))
			synctest.Wait()
		}
		if got := asked(); len(got) != 2 || got[1] != 500*time.Millisecond {
			t.Errorf("of an event that came twice it asked at %v", got)
		}
		time.Sleep(10 * time.Second)
		if got := asked(); len(got) < 4 || len(got) > 13 {
			t.Errorf("in ten seconds it asked at %v", got)
		}
	})
}

func TestBacksOffOnErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := true
		m, rc, asked, said := running(t, func(int) (int, error) {
			if broken {
				return 0, errors.New("the database is away")
			}
			return 0, nil
		})
		time.Sleep(time.Millisecond)
		answer(rc, delivery(event, sign(secret, event))) // does not hurry it
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		got := asked()
		if len(got) < 10 || len(got) > 20 || got[1] != time.Second || got[2] != 3*time.Second {
			t.Errorf("in ten minutes it asked at %v", got)
		}
		if n := strings.Count(said.String(), "the database is away"); n != len(got) {
			t.Errorf("%d complaints about %d errors", n, len(got))
		}
		m.set(func(*memory) { broken = false })
		time.Sleep(time.Minute)
		mended := len(asked())
		time.Sleep(10 * time.Second)
		if more := len(asked()) - mended; more < 3 {
			t.Errorf("mended, it asked %d times in ten seconds", more)
		}
	})
}

// What is stored when it is told to end is still applied, and an end is no
// error.
func TestEndsInGoodOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := new(bytes.Buffer)
		ctx, stop := context.WithCancel(t.Context())
		m := new(memory)
		calls := 0
		m.apply = func() (int, error) {
			switch calls++; calls {
			case 1:
				stop()
				return 0, context.Cause(ctx)
			case 2:
				return 3, nil
			}
			return 0, nil
		}
		_, a := webhook.Handler(m, nil, slog.New(slog.NewTextHandler(said, nil)))
		a.Run(ctx)
		if said.String() != "" || calls != 3 {
			t.Errorf("asked %d times; said: %s", calls, said)
		}
	})
}
