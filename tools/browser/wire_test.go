//go:build unix

package browser

import (
	"io"
	"net"
	"sync"
	"testing"
)

// wire is what lies between a browser and serve. It can be cut.
type wire struct {
	from, to string

	mu    sync.Mutex
	gone  bool
	ends  map[net.Conn]bool
	lines sync.WaitGroup
}

// lay lays a wire to an address; it goes with the test.
func lay(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{from: l.Addr().String(), to: to, ends: make(map[net.Conn]bool)}
	w.lines.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			w.lines.Go(func() { w.carry(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); w.cut(); w.lines.Wait() })
	return w
}

// carry carries a connection both ways until one of its ends closes.
func (w *wire) carry(near net.Conn) {
	defer near.Close()
	if !w.hold(near) {
		return
	}
	defer w.let(near)
	far, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer far.Close()
	if !w.hold(far) {
		return
	}
	defer w.let(far)
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			near.Close()
			far.Close()
		})
	}
	both.Wait()
}

func (w *wire) hold(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.gone {
		w.ends[c] = true
	}
	return !w.gone
}

func (w *wire) let(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.ends, c)
}

// cut breaks what is on the wire, and lets nothing through until it is mended.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = true
	for c := range w.ends {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // as a line that is gone, and not as a server that says good-bye
		}
		c.Close()
	}
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = false
}
