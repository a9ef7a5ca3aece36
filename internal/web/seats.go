package web

import (
	"net/http"
	"sync"
)

// seats bound what accounts keep going at once, each of them and all together:
// every open connection costs memory for as long as it lasts.
type seats struct {
	each, all int

	mu    sync.Mutex
	of    map[string]int // by account
	taken int
}

func newSeats(each, all int) *seats {
	return &seats{each: each, all: all, of: make(map[string]int)}
}

// take takes a seat for an account, until it is left. It fails if the account has all
// that it may have, or all are taken.
func (s *seats) take(account string) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[account] >= s.each || s.taken >= s.all {
		return nil, false
	}
	s.of[account]++
	s.taken++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.taken--
		if s.of[account]--; s.of[account] == 0 {
			delete(s.of, account)
		}
	}, true
}

// How many files are on their way in at once.
const uploadsEach, uploadsAll = 3, 30

var errUploads = &httpError{http.StatusTooManyRequests, "Too many uploads at once",
	"Nothing was saved. Wait until the other files have arrived, then upload this one again."}
