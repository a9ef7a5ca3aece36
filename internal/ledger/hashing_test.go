package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// hashCost is what one hashing costs in these tests, and what one by one would.
const hashCost = 200 * time.Millisecond

// rush sends tries at once and returns how many were refused.
func rush(q *hashQueue, tries []hashTurn) (refused func() int) {
	var mu sync.Mutex
	var running sync.WaitGroup
	n := 0
	for _, who := range tries {
		running.Go(func() {
			if err := q.do(context.Background(), who, func() { time.Sleep(hashCost) }); errors.Is(err, ErrCrowded) {
				mu.Lock()
				n++
				mu.Unlock()
			}
		})
	}
	return func() int { running.Wait(); return n }
}

// timed is how long somebody waits for their password to be hashed.
func timed(t *testing.T, q *hashQueue, who hashTurn) time.Duration {
	t.Helper()
	began := time.Now()
	if err := q.do(t.Context(), who, func() { time.Sleep(hashCost) }); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}

// Eighty wrong sign-ins from eight addresses keep neither a known browser nor a
// stranger of another address waiting, and most of them are sent away.
func TestARushDoesNotKeepOthersWaiting(t *testing.T) {
	for name, c := range map[string]struct {
		networks, each int
		who            hashTurn
		within         time.Duration
	}{
		"a known browser": {8, 10, hashTurn{network: "new", known: true}, 2 * hashCost},
		"a known browser at an address of the rush": {8, 10, hashTurn{network: "n1", known: true}, 2 * hashCost},
		"a stranger":                    {8, 10, hashTurn{network: "new"}, 2 * time.Second},
		"a stranger beside one address": {1, 80, hashTurn{network: "new"}, 3 * hashCost},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newHashQueue()
				var tries []hashTurn
				for i := range c.networks * c.each {
					tries = append(tries, hashTurn{network: fmt.Sprint("n", i%c.networks)})
				}
				refused := rush(q, tries)
				synctest.Wait()
				if took := timed(t, q, c.who); took > c.within {
					t.Errorf("it took %s", took)
				}
				if n := refused(); n < 80-maxHashing-maxStranger {
					t.Errorf("only %d were refused", n)
				}
			})
		})
	}
}

// What strangers leave free is for known browsers, and a known browser takes the
// place of a stranger where nothing is left; it is refused only among its own.
func TestKnownBrowsersHaveTheirShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newHashQueue()
		strangers := make([]hashTurn, 40)
		for i := range strangers {
			strangers[i].network = fmt.Sprint("n", i)
		}
		strange := rush(q, strangers)
		synctest.Wait()
		if len(q.waiting) != maxStranger {
			t.Errorf("%d wait", len(q.waiting))
		}
		known := make([]hashTurn, maxWaiting)
		for i := range known {
			known[i] = hashTurn{known: true}
		}
		own := rush(q, known)
		synctest.Wait()
		if err := q.do(t.Context(), hashTurn{known: true}, func() {}); !errors.Is(err, ErrCrowded) {
			t.Errorf("%v", err)
		}
		if n := own(); n != 0 {
			t.Errorf("%d known browsers were refused", n)
		}
		if n := strange(); n != 40-maxHashing {
			t.Errorf("%d strangers were refused", n)
		}
	})
}

// Two hash at once, never more; a caller that stops waiting leaves nothing.
func TestHashingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newHashQueue()
		gone, leave := context.WithCancel(t.Context())
		now, most := 0, 0
		var mu sync.Mutex
		var running sync.WaitGroup
		for i := range 10 {
			running.Go(func() {
				ctx := t.Context()
				if i%3 == 0 {
					ctx = gone
				}
				_ = q.do(ctx, hashTurn{network: fmt.Sprint(i)}, func() {
					mu.Lock()
					now++
					most = max(most, now)
					mu.Unlock()
					time.Sleep(hashCost)
					mu.Lock()
					now--
					mu.Unlock()
				})
			})
		}
		synctest.Wait()
		leave()
		running.Wait()
		if most != maxHashing || q.running != 0 || len(q.waiting) != 0 {
			t.Errorf("%d at once, %d run, %d wait", most, q.running, len(q.waiting))
		}
		if took := timed(t, q, hashTurn{network: "later"}); took != hashCost {
			t.Errorf("it took %s", took)
		}
		if len(q.last) > 0 {
			t.Errorf("%d networks are remembered", len(q.last))
		}
	})
}
