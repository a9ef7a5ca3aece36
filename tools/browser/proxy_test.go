//go:build unix

package browser

import (
	"io"
	"net"
	"sync"
	"testing"
)

// proxy forwards the connections of a browser to serve. It can be disconnected.
type proxy struct {
	from, to string

	mu    sync.Mutex
	gone  bool
	ends  []net.Conn
	lines sync.WaitGroup
}

// newProxy starts a proxy to an address; it ends with the test.
func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &proxy{from: l.Addr().String(), to: to}
	w.lines.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			w.lines.Go(func() { w.forward(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); w.disconnect(); w.lines.Wait() })
	return w
}

// forward copies both ways until one of the ends closes.
func (w *proxy) forward(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer far.Close()
	if !w.track(near, far) {
		return
	}
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

func (w *proxy) track(ends ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends = append(w.ends, ends...)
	return !w.gone
}

// disconnect resets the open connections and refuses new ones until reconnect.
func (w *proxy) disconnect() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = true
	for _, c := range w.ends { // some are closed already
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset, as of a lost network, and not the FIN of a server that ends
		}
		c.Close()
	}
	w.ends = nil
}

func (w *proxy) reconnect() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = false
}
