package retry

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Do doubles its waits up to the limit. It ends with a final error or with the context, and
// returns the last error.
func TestDo(t *testing.T) {
	for final, want := range map[int]string{9: "[0s 1s 3s 6s 9s]", 2: "[0s 1s]"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			began, failed := time.Now(), errors.New("failed")
			var at []time.Duration
			err := Do(ctx, Backoff{First: time.Second, Max: 3 * time.Second}, func() (bool, error) {
				at = append(at, time.Since(began))
				return len(at) == final, failed
			})
			if err != failed || fmt.Sprint(at) != want {
				t.Errorf("attempts at %v: %v, want %s", at, err, want)
			}
		})
	}
}
