package ledger

import (
	"context"
	"errors"
	"sync"
)

// ErrCrowded is returned where so many people sign in at once that a password
// cannot be checked soon.
var ErrCrowded = errors.New("too many people are signing in at this moment: try again in a few seconds")

// Bounds of the queue in which passwords wait to be hashed. Each hashing takes
// 64 MiB, so that few happen at once; a wait that is longer than a few seconds
// helps nobody.
const (
	maxHashing  = 2  // at once in a process
	maxWaiting  = 16 // all who wait
	maxStranger = 12 // of them those from unknown browsers
)

// hashTurn says who wants a password hashed.
type hashTurn struct {
	network string // strangers share the queue by it
	known   bool   // a known browser, a session, a command
}

// hashWaiter is one who waits.
type hashWaiter struct {
	hashTurn
	turn  uint64     // who has the lowest is next
	ready chan error // nil when it is their turn
}

// hashQueue lets a few hash at once and a few wait. Known browsers go first.
// Strangers take turns by their networks: one that sends a hundred requests
// gets no more of it than one that sends a single request, and a newcomer takes
// the place of the last try of the name with the most tries in the queue.
type hashQueue struct {
	mu      sync.Mutex
	running int
	waiting []*hashWaiter // in the order of arrival
	turn    uint64        // of the one who began last
	last    map[string]uint64
}

func newHashQueue() *hashQueue { return &hashQueue{last: make(map[string]uint64)} }

// do runs f when its turn comes. It returns ErrCrowded.
func (q *hashQueue) do(ctx context.Context, who hashTurn, f func()) error {
	if err := q.enter(ctx, who); err != nil {
		return err
	}
	defer q.leave()
	f()
	return nil
}

func (q *hashQueue) enter(ctx context.Context, who hashTurn) error {
	q.mu.Lock()
	w := &hashWaiter{hashTurn: who, turn: q.nextTurn(who), ready: make(chan error, 1)}
	if q.running < maxHashing && len(q.waiting) == 0 {
		q.begin(w)
		q.mu.Unlock()
		return nil
	}
	if !q.room(who) {
		q.mu.Unlock()
		return ErrCrowded
	}
	if !who.known {
		q.last[who.network] = w.turn
	}
	q.waiting = append(q.waiting, w)
	q.mu.Unlock()
	select {
	case err := <-w.ready:
		return err
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		if !q.remove(w) && <-w.ready == nil { // its turn came at the same moment
			q.end()
		}
		return ctx.Err()
	}
}

// nextTurn is the turn of a newcomer: behind what their network has in the
// queue, and not before the one that began last.
func (q *hashQueue) nextTurn(who hashTurn) uint64 {
	if last, ok := q.last[who.network]; ok {
		return max(q.turn, last+1)
	}
	return q.turn
}

// room makes room for a newcomer where it can.
func (q *hashQueue) room(who hashTurn) bool {
	strangers, held := 0, make(map[string]int)
	for _, w := range q.waiting {
		if !w.known {
			strangers++
			held[w.network]++
		}
	}
	full := len(q.waiting) >= maxWaiting
	if who.known {
		return !full || q.displace(held, 0)
	}
	if !full && strangers < maxStranger {
		return true
	}
	return q.displace(held, held[who.network]+1)
}

// displace sends away the last stranger of the network that has the most in the
// queue, where that is more than least.
func (q *hashQueue) displace(held map[string]int, least int) bool {
	for i := len(q.waiting) - 1; i >= 0; i-- {
		w := q.waiting[i]
		if w.known || held[w.network] <= least {
			continue
		}
		most := true
		for _, n := range held {
			most = most && n <= held[w.network]
		}
		if most {
			q.remove(w)
			w.ready <- ErrCrowded
			return true
		}
	}
	return false
}

func (q *hashQueue) remove(w *hashWaiter) bool {
	for i, other := range q.waiting {
		if other == w {
			q.waiting = append(q.waiting[:i:i], q.waiting[i+1:]...)
			return true
		}
	}
	return false
}

func (q *hashQueue) begin(w *hashWaiter) {
	q.running++
	if !w.known {
		q.turn = max(q.turn, w.turn)
		q.last[w.network] = w.turn
	}
	for network, turn := range q.last {
		if turn < q.turn {
			delete(q.last, network) // it counts no more
		}
	}
}

func (q *hashQueue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.end()
}

// end lets the next one begin.
func (q *hashQueue) end() {
	q.running--
	if len(q.waiting) == 0 {
		clear(q.last)
		return
	}
	next := q.waiting[0]
	for _, w := range q.waiting[1:] {
		if (w.known && !next.known) || (w.known == next.known && w.turn < next.turn) {
			next = w
		}
	}
	q.remove(next)
	q.begin(next)
	next.ready <- nil
}
