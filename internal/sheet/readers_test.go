package sheet

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		LimitReaders(2, 1)
		defer LimitReaders(0, 0)
		ctx, cancel := context.WithCancel(t.Context())
		enter := func(ctx context.Context) func() {
			t.Helper()
			leave, err := AcquireReader(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return leave
		}
		first, second := enter(ctx), enter(ctx)
		entered, patient := make(chan func()), make(chan func())
		go func() { entered <- enter(ctx) }()
		synctest.Wait()
		if _, err := AcquireReader(ctx); !errors.Is(err, ErrBusy) {
			t.Errorf("a second one waits, or got in: %v", err)
		}
		go func() { patient <- enter(WithUnlimitedWait(ctx)) }()
		synctest.Wait()
		select {
		case <-entered:
			t.Error("a third one got in")
		case <-patient:
			t.Error("a patient one got in")
		default:
		}
		first()
		second()
		(<-entered)()
		(<-patient)()
		third, fourth := enter(ctx), enter(ctx)
		given := make(chan error)
		go func() {
			_, err := AcquireReader(ctx)
			given <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-given; !errors.Is(err, context.Canceled) {
			t.Errorf("the caller that gave up got %v", err)
		}
		third()
		fourth()
		enter(t.Context())()
	})
}
