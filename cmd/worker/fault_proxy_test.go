package main

import (
	"net"
	"sync"
	"testing"
	"time"
)

// faultProxy is a TCP proxy between a worker and one server that it needs. A test
// cuts it, stalls it or makes it slow.
//
// It is written here because that is all a test needs: an existing proxy would be a
// server to start and a dozen modules more.
type faultProxy struct {
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

// startFaultProxy starts a proxy to an address of the loopback.
func startFaultProxy(tb testing.TB, to string) *faultProxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &faultProxy{
		tb:       tb,
		from:     l.Addr().String(),
		to:       to,
		listener: l,
		ends:     make(map[net.Conn]bool),
	}
	p.changed = sync.NewCond(&p.mu)
	go p.accept(l)
	tb.Cleanup(func() {
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.cut()
	})
	return p
}

func (p *faultProxy) accept(l net.Listener) {
	for {
		near, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			far, err := net.Dial("tcp", p.to)
			if err != nil {
				reset(near)
				return
			}
			p.mu.Lock()
			there := p.listener == l
			if there {
				p.ends[near], p.ends[far] = true, true
			}
			p.mu.Unlock()
			if !there { // cut meanwhile
				reset(near)
				reset(far)
				return
			}
			go p.forward(near, far)
			p.forward(far, near)
		}()
	}
}

// forward takes what comes from one end to the other, until either breaks. An end
// of one direction is the end of both: neither HTTP nor the databases go on with
// half a connection.
func (p *faultProxy) forward(from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		for there, known := p.ends[from]; known && (p.stalled || !there); there, known = p.ends[from] {
			p.changed.Wait()
		}
		delay := p.delay
		p.mu.Unlock()
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
	p.mu.Lock()
	delete(p.ends, from)
	delete(p.ends, to)
	p.mu.Unlock()
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
func (p *faultProxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		p.listener.Close()
		p.listener = nil
	}
	for c := range p.ends {
		reset(c)
	}
	clear(p.ends)
	p.changed.Broadcast()
}

// stall lets nothing through and breaks nothing: neither end knows.
func (p *faultProxy) stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled = true
}

// forget lets nothing through any more on the connections that there are, and
// breaks none; new ones are as ever. So a router does that has lost its table, and
// a server whose address another has taken over.
func (p *faultProxy) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.ends {
		p.ends[c] = false
	}
}

// slow delays every piece.
func (p *faultProxy) slow(by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = by
}

// reconnect ends every fault. What was stalled arrives now.
func (p *faultProxy) reconnect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled, p.delay = false, 0
	p.changed.Broadcast()
	if p.listener != nil || p.closed {
		return
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		l, err := net.Listen("tcp", p.from)
		if err == nil {
			p.listener = l
			go p.accept(l)
			return
		}
		if time.Now().After(end) { // another process took the port
			p.tb.Errorf("reconnect a proxy: %v", err)
			return
		}
	}
}
