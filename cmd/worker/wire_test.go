package main

import (
	"net"
	"sync"
	"testing"
	"time"
)

// wire is the stretch of network between one worker and one thing it needs. A
// test cuts it, stalls it or makes it slow.
//
// It is our own, for that is all that is wanted of it: a proxy of the shelf would
// be a server to start and a dozen modules more.
type wire struct {
	tb   testing.TB
	from string // where the worker connects to
	to   string

	mu       sync.Mutex
	changed  *sync.Cond
	listener net.Listener // nil while cut
	stalled  bool
	delay    time.Duration     // of every piece, either way
	ends     map[net.Conn]bool // true; false for one that was forgotten
	closed   bool
}

// lay lays a wire to an address of the loopback.
func lay(tb testing.TB, to string) *wire {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	w := &wire{
		tb:       tb,
		from:     l.Addr().String(),
		to:       to,
		listener: l,
		ends:     make(map[net.Conn]bool),
	}
	w.changed = sync.NewCond(&w.mu)
	go w.accept(l)
	tb.Cleanup(func() {
		w.mu.Lock()
		w.closed = true
		w.mu.Unlock()
		w.cut()
	})
	return w
}

func (w *wire) accept(l net.Listener) {
	for {
		near, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			far, err := net.Dial("tcp", w.to)
			if err != nil {
				reset(near)
				return
			}
			w.mu.Lock()
			there := w.listener == l
			if there {
				w.ends[near], w.ends[far] = true, true
			}
			w.mu.Unlock()
			if !there { // cut meanwhile
				reset(near)
				reset(far)
				return
			}
			go w.carry(near, far)
			w.carry(far, near)
		}()
	}
}

// carry takes what comes from one end to the other, until either breaks. An end
// of one direction is the end of both: neither HTTP nor the databases go on with
// half a connection.
func (w *wire) carry(from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		w.mu.Lock()
		for there, known := w.ends[from]; known && (w.stalled || !there); there, known = w.ends[from] {
			w.changed.Wait()
		}
		delay := w.delay
		w.mu.Unlock()
		time.Sleep(delay) // the network's own time, not a wait for something
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	w.mu.Lock()
	delete(w.ends, from)
	delete(w.ends, to)
	w.mu.Unlock()
	from.Close()
	to.Close()
}

// reset breaks a connection so that its other end is told at once, whatever is
// on its way.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.Close()
}

// cut breaks every connection, and new ones are refused.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listener != nil {
		w.listener.Close()
		w.listener = nil
	}
	for c := range w.ends {
		reset(c)
	}
	clear(w.ends)
	w.changed.Broadcast()
}

// stall lets nothing through and breaks nothing: neither end knows.
func (w *wire) stall() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stalled = true
}

// forget lets nothing through any more on the connections that there are, and
// breaks none; new ones are as ever. So a router does that has lost its table, and
// a server whose address another has taken over.
func (w *wire) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.ends {
		w.ends[c] = false
	}
}

// slow delays every piece.
func (w *wire) slow(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay = by
}

// mend makes the wire whole again. What was stalled arrives now.
func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stalled, w.delay = false, 0
	w.changed.Broadcast()
	if w.listener != nil || w.closed {
		return
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		l, err := net.Listen("tcp", w.from)
		if err == nil {
			w.listener = l
			go w.accept(l)
			return
		}
		if time.Now().After(end) { // the port went to somebody else
			w.tb.Errorf("mend a wire: %v", err)
			return
		}
	}
}
