// Package cache keeps what is costly to load, for a while and up to a size, and
// loads it once for all who ask at the same time.
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

// Options bound a cache. The zero value keeps everything for good.
type Options[V any] struct {
	// TTL is how long a value counts, by how long its loading took; nil for ever.
	TTL func(took time.Duration) time.Duration
	// Max is the most that the values may cost together; 0 for no bound. The least
	// recently used go first; a single value stays whatever its cost.
	Max int
	// Cost is the cost of a value; nil for 1.
	Cost func(V) int
}

// For is a TTL that is the same for every value.
func For(d time.Duration) func(time.Duration) time.Duration {
	return func(time.Duration) time.Duration { return d }
}

// Cache maps keys to values that are loaded when they are asked for. Its methods
// are safe for concurrent use. Values are shared and not to be changed.
type Cache[K ~string, V any] struct {
	options Options[V]
	flights singleflight.Group

	mu        sync.Mutex
	entries   map[K]*list.Element
	used      *list.List // the least recently used first
	cost      int
	deletions int // a value that was loading during one may be old
}

type entry[K ~string, V any] struct {
	key     K
	value   V
	cost    int
	expires time.Time // zero: never
}

// New returns an empty cache.
func New[K ~string, V any](o Options[V]) *Cache[K, V] {
	return &Cache[K, V]{options: o, entries: make(map[K]*list.Element), used: list.New()}
}

// Get returns the value of a key, and loads it where none counts any more. One
// caller loads; the others wait for the same value, or for the end of their
// context. A load that fails is not kept. A load that panics panics in its callers,
// where a server recovers from it.
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
		// The caller may leave before others have what they wait for.
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

// loadPanic is a panic of a load, on its way from the goroutine of the load to the
// callers'.
type loadPanic struct {
	cause any
	stack []byte
}

func (p *loadPanic) Error() string { return fmt.Sprintf("%v\n\n%s", p.cause, p.stack) }

// Peek returns the value of a key that counts, and loads nothing.
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

// Delete forgets a key: its value has just changed. A value that is loading
// meanwhile is not kept.
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
