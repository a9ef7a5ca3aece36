package jobs

import (
	"context"
	"net"
	"sync"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// embedded is a Redis within this process. It has no port and no socket, so no other user or
// process of the machine can read, flush or fill it. The number of handlers bounds its size.
type embedded struct {
	redis  *miniredis.Miniredis
	server *server.Server
}

func startEmbedded() (*embedded, error) {
	redis := miniredis.NewMiniRedis()
	c, err := redis.Dial() // starts the server without a listener
	if err != nil {
		return nil, err
	}
	return &embedded{redis, redis.Server()}, c.Close()
}

// dial connects a client of the in-process Redis.
func (e *embedded) dial(context.Context, string, string) (net.Conn, error) {
	client, answering := net.Pipe()
	c := &bufferedConn{Conn: answering, more: make(chan struct{}, 1), closed: make(chan struct{})}
	go c.deliver()
	e.server.ServeConn(c)
	return client, nil
}

// bufferedConn is the server's end of a connection. A client writes its whole pipeline before it
// reads an answer, and net.Pipe has no buffer. Without bufferedConn the server would wait for the
// client to read an answer and never read the rest of the pipeline.
type bufferedConn struct {
	net.Conn
	mu     sync.Mutex
	unread []byte
	// more signals unread answers.
	more   chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (c *bufferedConn) Write(answer []byte) (int, error) {
	c.mu.Lock()
	c.unread = append(c.unread, answer...)
	c.mu.Unlock()
	select {
	case c.more <- struct{}{}:
	default:
	}
	return len(answer), nil
}

// deliver writes the answers to the client until the connection closes.
func (c *bufferedConn) deliver() {
	for {
		select {
		case <-c.closed:
			return
		case <-c.more:
		}
		c.mu.Lock()
		answers := c.unread
		c.unread = nil
		c.mu.Unlock()
		if _, err := c.Conn.Write(answers); err != nil {
			_ = c.Close()
			return
		}
	}
}

func (c *bufferedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
