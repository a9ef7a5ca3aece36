package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"bulkfiling/internal/ledger"
	"bulkfiling/internal/season"

	"golang.org/x/sync/singleflight"
)

// shelf keeps the rosters that were read last: a page that looks at one of
// 100,000 companies need not read its sheet at every click.
type shelf struct {
	mu      sync.Mutex
	rosters []shelved // the last used at the end
	reading singleflight.Group
}

type shelved struct {
	key    string
	at     time.Time
	roster *Roster
}

const (
	shelfLife = 10 * time.Minute // what the service says of companies adds to them
	shelfRows = 300_000          // of all rosters together, but for a single one
)

// read is ReadVersion, of what may have been read a while ago. What it returns is
// shared but for its Since.
func (s *shelf) read(ctx context.Context, l *ledger.Ledger, hash string, o SeasonOptions, on season.Date) (*Roster, error) {
	options, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("read the roster %s: %w", hash, err)
	}
	key := fmt.Sprintf("%s %s %s", hash, on, options)
	found := s.find(key)
	if found == nil {
		read, err, _ := s.reading.Do(key, func() (any, error) {
			if r := s.find(key); r != nil {
				return r, nil
			}
			// Others may wait for it, too: it is read to its end.
			r, err := ReadVersion(context.WithoutCancel(ctx), l, hash, o, on)
			if err == nil {
				s.put(key, r)
			}
			return r, err
		})
		if err != nil {
			return nil, err
		}
		found = read.(*Roster)
	}
	shared := *found
	return &shared, ctx.Err()
}

func (s *shelf) find(key string) *Roster {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.rosters, func(r shelved) bool { return r.key == key && time.Since(r.at) < shelfLife })
	if i < 0 {
		return nil
	}
	r := s.rosters[i]
	s.rosters = append(slices.Delete(s.rosters, i, i+1), r)
	return r.roster
}

func (s *shelf) put(key string, roster *Roster) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rosters = slices.DeleteFunc(s.rosters, func(r shelved) bool { return r.key == key || time.Since(r.at) >= shelfLife })
	s.rosters = append(s.rosters, shelved{key, time.Now(), roster})
	rows := 0
	for _, r := range s.rosters {
		rows += len(r.roster.Rows)
	}
	for rows > shelfRows && len(s.rosters) > 1 {
		rows -= len(s.rosters[0].roster.Rows)
		s.rosters = slices.Delete(s.rosters, 0, 1)
	}
}
