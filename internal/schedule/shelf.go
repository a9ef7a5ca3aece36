package schedule

import (
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// shelf keeps what was made last: a page that looks at 100,000 companies need
// not read their sheet at every click. What lies on it is shared, and not to be
// changed.
type shelf[T any] struct {
	mu     sync.Mutex
	kept   []shelved[T] // the last used at the end
	making singleflight.Group
}

type shelved[T any] struct {
	key  string
	at   time.Time
	rows int
	what T
}

const (
	shelfLife = 10 * time.Minute // what the service says of companies adds to them
	shelfRows = 300_000          // of all that lies on it, but for a single thing
)

// get is what was made under a key a while ago, or is made now, once for all who
// ask. It is told how many rows it has.
func (s *shelf[T]) get(key string, make func() (T, int, error)) (T, error) {
	if what, ok := s.find(key); ok {
		return what, nil
	}
	made, err, _ := s.making.Do(key, func() (any, error) {
		if what, ok := s.find(key); ok {
			return what, nil
		}
		what, rows, err := make()
		if err == nil {
			s.put(shelved[T]{key, time.Now(), rows, what})
		}
		return what, err
	})
	return made.(T), err
}

func (s *shelf[T]) find(key string) (what T, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.kept, func(k shelved[T]) bool { return k.key == key && time.Since(k.at) < shelfLife })
	if i < 0 {
		return what, false
	}
	found := s.kept[i]
	s.kept = append(slices.Delete(s.kept, i, i+1), found)
	return found.what, true
}

func (s *shelf[T]) put(one shelved[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = slices.DeleteFunc(s.kept,
		func(k shelved[T]) bool { return k.key == one.key || time.Since(k.at) >= shelfLife })
	s.kept = append(s.kept, one)
	rows := 0
	for _, k := range s.kept {
		rows += k.rows
	}
	for rows > shelfRows && len(s.kept) > 1 {
		rows -= s.kept[0].rows
		s.kept = slices.Delete(s.kept, 0, 1)
	}
}
