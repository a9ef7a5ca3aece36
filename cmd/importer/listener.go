package main

import (
	"net"
	"sync"
	"time"
)

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
