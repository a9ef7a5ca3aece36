package filingapi

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"sync/atomic"
)

// wire watches one request and knows whether a byte of it may have been sent.
//
// Two signs together show that. The transport began to write the request: until
// then, dialing, the TLS handshake and the CONNECT of a proxy are not the order.
// And its connection took bytes since the request had it: a socket that the other
// side has closed refuses them all. The first sign alone would make uncertain what
// a dead connection never took; the second alone would count the alert that TLS
// writes when a connection is closed.
//
// Both are final when RoundTrip has returned an error, for over HTTP/1.1 the
// transport waits for its writing to end before it returns one.
type wire struct {
	began  atomic.Bool
	conn   atomic.Pointer[countedConn]
	before atomic.Int64 // bytes that the connection had taken before this request
}

type mayKey struct{}

// OnlyIf returns a context whose requests are written only if may returns true once they have a connection. What
// it depends on may have ended while the request waited for the limiter, a dial or a handshake.
func OnlyIf(ctx context.Context, may func() bool) context.Context {
	return context.WithValue(ctx, mayKey{}, may)
}

// watchWire returns a context whose request is watched.
func watchWire(ctx context.Context) (context.Context, *wire) {
	w := new(wire)
	may, limited := ctx.Value(mayKey{}).(func() bool)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			if conn := countedIn(info.Conn); conn != nil {
				w.before.Store(conn.taken.Load())
				w.conn.Store(conn)
				if limited && !may() {
					conn.Close() // under any TLS, whose alert would be a byte of its own
				}
			}
		},
		// The first callback of a request that is being written; WroteHeaders comes
		// only after bytes may have been sent.
		WroteHeaderField: func(string, []string) { w.began.Store(true) },
	}), w
}

func (w *wire) written() bool {
	conn := w.conn.Load()
	return w.began.Load() && (conn == nil || conn.taken.Load() != w.before.Load())
}

// countedConn counts the bytes that the network took.
type countedConn struct {
	net.Conn
	taken atomic.Int64
}

func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.taken.Add(int64(n))
	return n, err
}

// countedIn finds the counted connection under any layers of TLS.
func countedIn(conn net.Conn) *countedConn {
	for {
		switch c := conn.(type) {
		case *countedConn:
			return c
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return nil
		}
	}
}

func failedToDial(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}
