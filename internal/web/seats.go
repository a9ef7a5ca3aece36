package web

import (
	"net/http"
	"slices"
	"sync"
)

// seats bound what accounts keep going at once, each of them and all together:
// every open connection costs memory for as long as it lasts.
type seats struct {
	each, all int
	mu        sync.Mutex
	of        map[string][]*seat // by account, the oldest first
	taken     int
}

type seat struct{ displaced chan struct{} }

func newSeats(each, all int) *seats {
	return &seats{each: each, all: all, of: make(map[string][]*seat)}
}

// take takes a seat for an account, until it is left. Where the account has all
// that it may have, its oldest one is displaced. It is nil where all are taken.
func (s *seats) take(account string) (taken *seat, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.of[account]; len(own) >= s.each {
		close(own[0].displaced)
		s.remove(account, own[0])
	}
	return s.add(account)
}

// tryTake takes a seat for an account, until it is left. It displaces none: seat is
// nil where the account has all that it may have, or all are taken.
func (s *seats) tryTake(account string) (taken *seat, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.of[account]) >= s.each {
		return nil, nil
	}
	return s.add(account)
}

// add gives an account one more seat; nil where all are taken.
func (s *seats) add(account string) (taken *seat, leave func()) {
	if s.taken >= s.all {
		return nil, nil
	}
	taken = &seat{make(chan struct{})}
	s.of[account] = append(s.of[account], taken)
	s.taken++
	return taken, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.remove(account, taken)
	}
}

// remove gives a seat back; one that was given back before stays so.
func (s *seats) remove(account string, gone *seat) {
	at := slices.Index(s.of[account], gone)
	if at < 0 {
		return
	}
	if s.of[account] = slices.Delete(s.of[account], at, at+1); len(s.of[account]) == 0 {
		delete(s.of, account)
	}
	s.taken--
}

// How many pages are watched, and how many files are on their way in, at once.
// A watched page costs about 50 KB.
const (
	watchedEach, watchedAll = 12, 500
	uploadsEach, uploadsAll = 3, 30
)

var (
	errWatched = &httpError{http.StatusServiceUnavailable, "Too many pages are open",
		"This page does not update automatically now. Refresh it to see changes."}
	errUploads = &httpError{http.StatusTooManyRequests, "Too many uploads at once",
		"Nothing was saved. Wait until the other files have arrived, then upload this one again."}
)
