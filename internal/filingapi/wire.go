package filingapi

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"sync/atomic"
)

// wire observes one request and determines whether a byte of it may have been sent. Two conditions
// together show that.
//
// First, the transport began to write the request. Dialing, the TLS handshake and the CONNECT of a
// proxy come before that and are not part of the order. Second, the connection accepted bytes after
// the request got it. A socket that the server has closed accepts none. With the first condition
// alone, a request on a dead connection would be uncertain. The second condition alone would count
// the alert that TLS writes when a connection is closed.
//
// Both conditions are final when RoundTrip returns an error, because over HTTP/1.1 the transport
// waits for its writes to end before it returns one.
type wire struct {
	began atomic.Bool
	conn  atomic.Pointer[countedConn]
	// before is the number of bytes that the connection accepted before this request.
	before atomic.Int64
}

type mayKey struct{}

// OnlyIf returns a context whose requests are written only if may returns true once they have a
// connection. The reason for a request may have ended while it waited for the limiter, a dial or a
// handshake.
func OnlyIf(ctx context.Context, may func() bool) context.Context {
	return context.WithValue(ctx, mayKey{}, may)
}

// watchWire returns a context whose request is observed.
func watchWire(ctx context.Context) (context.Context, *wire) {
	w := new(wire)
	may, limited := ctx.Value(mayKey{}).(func() bool)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			if conn := countedIn(info.Conn); conn != nil {
				w.before.Store(conn.taken.Load())
				w.conn.Store(conn)
				if limited && !may() {
					conn.Close() // below TLS, whose alert would count as a byte
				}
			}
		},
		// WroteHeaderField is the first callback of a written request. WroteHeaders comes only
		// after bytes may have been sent.
		WroteHeaderField: func(string, []string) { w.began.Store(true) },
	}), w
}

func (w *wire) written() bool {
	conn := w.conn.Load()
	return w.began.Load() && (conn == nil || conn.taken.Load() != w.before.Load())
}

// countedConn counts the bytes that the network accepted.
type countedConn struct {
	net.Conn
	taken atomic.Int64
}

func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.taken.Add(int64(n))
	return n, err
}

// countedIn returns the counted connection below any layers of TLS.
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
