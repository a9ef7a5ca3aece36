package main

import (
	"net"
	"strconv"
	"sync"
	"time"
)

// reachable is an address of a listener that can be typed. One that listens on all
// addresses of the machine, as in a container, is reached at the machine itself.
func reachable(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return addr.String()
}

// keptListener accepts connections for one server, and stays open when that server
// closes it: the next one goes on where it stopped. What connects meanwhile waits.
type keptListener struct {
	net.Listener
	once   sync.Once
	closed chan struct{}
}

// deadliner is a listener whose Accept can be interrupted; those of TCP are.
type deadliner interface{ SetDeadline(t time.Time) error }

// keepOpen returns a listener for one server.
func keepOpen(l net.Listener) net.Listener {
	d, ok := l.(deadliner)
	if !ok || d.SetDeadline(time.Time{}) != nil {
		return l
	}
	return &keptListener{Listener: l, closed: make(chan struct{})}
}

func (k *keptListener) Accept() (net.Conn, error) {
	conn, err := k.Listener.Accept()
	select {
	case <-k.closed:
		if err == nil {
			return conn, nil // its server answers that it leaves
		}
		return nil, net.ErrClosed
	default:
		return conn, err
	}
}

// Close ends Accept, and leaves the listener open.
func (k *keptListener) Close() error {
	k.once.Do(func() {
		close(k.closed)
		_ = k.Listener.(deadliner).SetDeadline(time.Now()) // it was possible in keepOpen
	})
	return nil
}
