package retry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestDoWaitsLongerEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		began := time.Now()
		err := Do(t.Context(), Backoff{First: time.Second, Max: 3 * time.Second}, func() (bool, error) {
			at = append(at, time.Since(began))
			if len(at) == 5 {
				return false, nil
			}
			return false, errors.New("not yet")
		})
		want := []time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second, 9 * time.Second}
		if err != nil || len(at) != len(want) {
			t.Fatalf("%v: %v", at, err)
		}
		for i := range want {
			if at[i] != want[i] {
				t.Errorf("attempt %d at %s, want %s", i, at[i], want[i])
			}
		}
	})
}

func TestDoEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := errors.New("failed")
		attempts := 0
		if err := Do(t.Context(), Backoff{First: time.Second, Max: time.Minute}, func() (bool, error) {
			attempts++
			return true, failed
		}); err != failed || attempts != 1 {
			t.Errorf("%d attempts: %v", attempts, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		attempts = 0
		if err := Do(ctx, Backoff{First: time.Second, Max: time.Minute}, func() (bool, error) {
			attempts++
			return false, failed
		}); err != failed || attempts != 4 { // at 0, 1, 3 and 7 s
			t.Errorf("%d attempts: %v", attempts, err)
		}
	})
}

func TestReset(t *testing.T) {
	b := Backoff{First: time.Second, Max: time.Minute}
	b.Next()
	b.Next()
	b.Reset()
	if got := b.Next(); got != time.Second {
		t.Error(got)
	}
}
