// Package cache keeps values that are expensive to load, limited by time and size. Parallel
// requests for the same value share one load.
package cache

import (
	"container/list"
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Options limits a cache. The zero value keeps all values forever.
type Options[V any] struct {
	// TTL returns how long a value is valid. It depends on the duration of its load. If it is nil,
	// values never expire.
	TTL func(took time.Duration) time.Duration
	// Max limits the total cost of the values. Zero means no limit. The cache evicts the least
	// recently used values first, but always keeps the last one.
	Max int
	// Cost returns the cost of a value. If it is nil, each value costs 1.
	Cost func(V) int
}

// For returns a TTL that is the same for every value.
func For(d time.Duration) func(time.Duration) time.Duration {
	return func(time.Duration) time.Duration { return d }
}

// Cache maps keys to values that it loads on demand. Its methods are safe for concurrent use.
// Callers must not modify the shared values.
type Cache[K ~string, V any] struct {
	options Options[V]
	flights singleflight.Group

	mu      sync.Mutex
	entries map[K]*list.Element
	// used has the least recently used value first.
	used *list.List
	cost int
	// deletions counts deletions, because a value that loads during one may be outdated.
	deletions int
}

type entry[K ~string, V any] struct {
	key   K
	value V
	cost  int
	// expires is zero if the value never expires.
	expires time.Time
}

// New returns an empty cache.
func New[K ~string, V any](o Options[V]) *Cache[K, V] {
	return &Cache[K, V]{options: o, entries: make(map[K]*list.Element), used: list.New()}
}

// Get returns the value of a key and loads it if it is missing or expired. One caller loads it. The
// other callers wait for the same value or for the end of their context. Get does not keep the
// result of a failed load. A panic in load is raised in each caller, so that a server can recover
// from it.
func (c *Cache[K, V]) Get(ctx context.Context, key K, load func(context.Context) (V, error)) (V, error) {
	if v, ok := c.Peek(key); ok {
		return v, nil
	}
	loaded := c.flights.DoChan(string(key), func() (_ any, err error) {
		defer func() {
			if cause := recover(); cause != nil {
				err = &loadPanic{cause, debug.Stack()}
			}
		}()
		if v, ok := c.Peek(key); ok {
			return v, nil
		}
		began, deletions := time.Now(), c.countDeletions()
		// The caller may leave before the others have their value.
		v, err := load(context.WithoutCancel(ctx))
		if err == nil {
			c.put(key, v, time.Since(began), deletions)
		}
		return v, err
	})
	select {
	case r := <-loaded:
		if p, ok := r.Err.(*loadPanic); ok {
			panic(p)
		}
		v, _ := r.Val.(V)
		return v, r.Err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

// loadPanic carries a panic from the goroutine of the load to its callers.
type loadPanic struct {
	cause any
	stack []byte
}

func (p *loadPanic) Error() string { return fmt.Sprintf("%v\n\n%s", p.cause, p.stack) }

// Peek returns the valid value of a key without a load.
func (c *Cache[K, V]) Peek(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.entries[key]
	if !ok {
		return value, false
	}
	e := found.Value.(*entry[K, V])
	if !e.expires.IsZero() && !time.Now().Before(e.expires) {
		c.remove(found)
		return value, false
	}
	c.used.MoveToBack(found)
	return e.value, true
}

// Delete removes a key whose value has changed. A value that loads during the deletion is not kept.
func (c *Cache[K, V]) Delete(key K) {
	c.flights.Forget(string(key))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deletions++
	if found, ok := c.entries[key]; ok {
		c.remove(found)
	}
}

func (c *Cache[K, V]) countDeletions() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deletions
}

func (c *Cache[K, V]) put(key K, value V, took time.Duration, deletions int) {
	e := &entry[K, V]{key: key, value: value, cost: 1}
	if c.options.Cost != nil {
		e.cost = c.options.Cost(value)
	}
	if c.options.TTL != nil {
		e.expires = time.Now().Add(c.options.TTL(took))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deletions != deletions {
		return
	}
	if found, ok := c.entries[key]; ok {
		c.remove(found)
	}
	c.entries[key] = c.used.PushBack(e)
	c.cost += e.cost
	for c.options.Max > 0 && c.cost > c.options.Max && c.used.Len() > 1 {
		c.remove(c.used.Front())
	}
}

func (c *Cache[K, V]) remove(at *list.Element) {
	e := c.used.Remove(at).(*entry[K, V])
	delete(c.entries, e.key)
	c.cost -= e.cost
}
