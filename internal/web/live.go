package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// broadcaster keeps the pages that are watched. What several people watch is
// loaded once.
type broadcaster struct {
	mu     sync.Mutex
	of     map[string]*stream
	ctx    context.Context
	cancel context.CancelFunc
}

func newBroadcaster() *broadcaster {
	ctx, cancel := context.WithCancel(context.Background())
	return &broadcaster{of: make(map[string]*stream), ctx: ctx, cancel: cancel}
}

func (s *broadcaster) close() { s.cancel() }

// snapshot is what a watcher sees at one moment.
type snapshot struct {
	Panel []byte // HTML
	Tally []byte // JSON: how many rows each tab has; empty where there are no such tabs
	Say   string // for a screen reader; said when it changes
	Gone  bool   // the page has changed: it has to be reloaded
}

// stream is one thing that is watched.
type stream struct {
	watchers int
	cancel   context.CancelFunc
	mu       sync.Mutex
	last     snapshot
	n        int           // snapshots so far
	changed  chan struct{} // closed at the next snapshot
}

// Times of a stream.
const (
	snapshotEvery = 500 * time.Millisecond
	beatEvery     = 15 * time.Second // so that proxies keep the connection
	sayEvery      = 10 * time.Second
	checkEvery    = 30 * time.Second // whether the watcher may still look
	takeWithin    = 2 * beatEvery    // a browser that takes nothing in for so long has gone
)

// subscribe joins the stream of a name, or starts it; look is called repeatedly
// while someone watches.
func (s *broadcaster) subscribe(name string, look func(context.Context) (snapshot, error)) (st *stream, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st = s.of[name]
	if st == nil {
		ctx, cancel := context.WithCancel(s.ctx)
		st = &stream{cancel: cancel, changed: make(chan struct{})}
		s.of[name] = st
		go st.run(ctx, look)
	}
	st.watchers++
	return st, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if st.watchers--; st.watchers == 0 {
			st.cancel()
			delete(s.of, name)
		}
	}
}

func (st *stream) run(ctx context.Context, look func(context.Context) (snapshot, error)) {
	tick := time.NewTicker(snapshotEvery)
	defer tick.Stop()
	for {
		if g, err := look(ctx); err == nil { // else the ledger is away: what was seen last stays
			st.mu.Lock()
			if st.n == 0 || !bytes.Equal(g.Panel, st.last.Panel) || !bytes.Equal(g.Tally, st.last.Tally) ||
				g.Say != st.last.Say || g.Gone != st.last.Gone {
				st.last = g
				st.n++
				close(st.changed)
				st.changed = make(chan struct{})
			}
			st.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (st *stream) now() (snapshot, int, <-chan struct{}) {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.last, st.n, st.changed
}

// live streams snapshots to a browser until one of them ends. A browser that has
// lost its connection reconnects, and is sent the whole.
func (s *Site) live(v *request, name string, look func(context.Context) (snapshot, error)) error {
	sender := snapshotSender{w: v.w}
	return s.stream(v, name, look, sender.send)
}

// stream is live for snapshots that send puts into events; n counts them.
func (s *Site) stream(v *request, name string, look func(context.Context) (snapshot, error),
	send func(g snapshot, n int)) error {
	seat, stand := s.watched.take(v.session.Account.ID)
	if seat == nil {
		return errWatched
	}
	defer stand()
	out := http.NewResponseController(v.w)
	if err := out.SetWriteDeadline(time.Now().Add(takeWithin)); err != nil {
		return fmt.Errorf("keep the connection open: %w", err)
	}
	st, leave := s.broadcaster.subscribe(name, look)
	defer leave()
	h := v.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	if v.r.ProtoMajor == 1 {
		h.Set("Connection", "close") // what has ended holds nothing; over HTTP/2 it would end the other streams
	}
	v.w.WriteHeader(http.StatusOK)
	fmt.Fprint(v.w, "retry: 2000\n\n")
	beat, check := time.NewTicker(beatEvery), time.NewTicker(checkEvery)
	defer beat.Stop()
	defer check.Stop()
	for {
		g, n, changed := st.now()
		send(g, n)
		if out.Flush() != nil || g.Gone {
			return nil
		}
		// Each beat comes before its end.
		if err := out.SetWriteDeadline(time.Now().Add(takeWithin)); err != nil {
			return nil
		}
		select {
		case <-v.ctx().Done():
			return nil
		case <-s.broadcaster.ctx.Done():
			return nil
		case <-seat.displaced: // by a page that was opened later
			event(v.w, "full", "")
			_ = out.Flush()
			return nil
		case <-changed:
		case <-beat.C:
			event(v.w, "beat", "")
		case <-check.C:
			if !v.mayContinue() {
				event(v.w, "gone", "")
				_ = out.Flush()
				return nil
			}
		}
	}
}

// snapshotSender sends snapshots to one browser.
type snapshotSender struct {
	w      http.ResponseWriter
	sent   int // the number of the last one
	said   string
	saidAt time.Time
}

// send sends the snapshot with the number n, unless it was sent already. Numbers
// begin with 1; 0 is none.
func (s *snapshotSender) send(g snapshot, n int) {
	if n == s.sent {
		return
	}
	s.sent = n
	event(s.w, "panel", string(g.Panel))
	if len(g.Tally) > 0 {
		event(s.w, "tally", string(g.Tally))
	}
	if g.Say != s.said && time.Since(s.saidAt) >= sayEvery {
		s.said, s.saidAt = g.Say, time.Now()
		event(s.w, "announce", g.Say)
	}
	if g.Gone {
		event(s.w, "gone", "")
	}
}

// mayContinue reports whether the session still has a role for the page. While the
// ledger is unavailable, the stream continues.
func (v *request) mayContinue() bool {
	session, err := v.site.Ledger.Accounts().FindSession(v.ctx(), v.secret)
	if err != nil {
		return !errors.Is(err, ledger.ErrSession)
	}
	return v.asked.isFor(session.Account)
}

// event writes a server-sent event.
func event(w http.ResponseWriter, name, data string) {
	fmt.Fprintf(w, "event: %s\n", name)
	for line := range strings.Lines(data + "\n") {
		fmt.Fprintf(w, "data: %s\n", strings.TrimRight(line, "\r\n"))
	}
	fmt.Fprint(w, "\n")
}

// fragment makes a part of a page, as the page itself has it.
func fragment(file, name string, data any) ([]byte, error) {
	var body bytes.Buffer
	if err := templates()[file].ExecuteTemplate(&body, name, data); err != nil {
		return nil, fmt.Errorf("make the part %s of %s: %w", name, file, err)
	}
	return body.Bytes(), nil
}
