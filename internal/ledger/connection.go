package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/bulkfiling/bulkfiling/internal/network"
)

// A network may lose a connection without a word to either end: a database that
// failed over, a router that forgot. Left to themselves both ends would wait, we
// for an answer, up to an hour, and the server, with the control row locked for
// a transaction that never ends, for two.
const (
	silence   = 20 * time.Second // of a server that is asked: then the connection is given up
	unended   = 10 * time.Second // of a process within a transaction: then the server ends it
	dialLimit = 10 * time.Second
)

// durable has every commit of a connection wait until it is on the disk, and on
// that of a synchronous stand-by, whatever the server's default is: an intent
// must survive the server that took it. A setting that waits for more is kept.
const durable = `CASE WHEN current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')
	THEN set_config('synchronous_commit', 'on', false) END`

// connected is the key under which a connection keeps when it was made.
const connected = "connected"

// byIndex keeps a session to the indexes. Without statistics, which PostgreSQL makes
// once a table has grown, it takes tables for small, and the plan that it keeps for a
// statement reads all the rows or orders of a season for each group. A small table
// without an index then looks dear, and must not be compiled for.
const byIndex = `set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false)`

// openPostgres makes a pool whose connections end when the other end is silent.
// One that was silent speaks for all that are as old: they are not used again.
func openPostgres(databaseURL string) (*sql.DB, error) {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	hardenTLS(config)
	var lost atomic.Int64 // when a connection was given up last, in Unix nanoseconds
	dialer := &net.Dialer{Timeout: dialLimit}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &impatient{Conn: c, gaveUp: func() { lost.Store(time.Now().UnixNano()) }}, nil
	}
	old := func(c *pgx.Conn) bool {
		since, _ := c.PgConn().CustomData()[connected].(int64)
		return since < lost.Load()
	}
	return openClean(stdlib.GetConnector(*config,
		stdlib.OptionAfterConnect(func(ctx context.Context, c *pgx.Conn) error {
			c.PgConn().CustomData()[connected] = time.Now().UnixNano()
			// A statement, for poolers refuse to start with settings that they do not know.
			_, err := c.Exec(
				ctx, fmt.Sprintf(`SELECT set_config('idle_in_transaction_session_timeout', '%d', false), `,
					unended.Milliseconds())+byIndex+`, `+durable)
			return err
		}),
		stdlib.OptionShouldPing(func(_ context.Context, p stdlib.ShouldPingParams) bool {
			return p.IdleDuration > time.Second && !old(p.Conn)
		}),
		stdlib.OptionResetSession(func(_ context.Context, c *pgx.Conn) error {
			if old(c) {
				return driver.ErrBadConn
			}
			return nil
		}))), nil
}

// impatient is a connection on which no read waits longer than silence.
type impatient struct {
	net.Conn
	gaveUp func() // is called when one did

	mu    sync.Mutex
	limit time.Time // of reads, as the connection's user has set it
}

func (c *impatient) Read(b []byte) (int, error) {
	began := time.Now()
	if err := c.bound(began.Add(silence)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) && time.Since(began) >= silence {
		c.gaveUp()
	}
	return n, err
}

func (c *impatient) bound(until time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.limit.IsZero() && c.limit.Before(until) {
		until = c.limit
	}
	return c.Conn.SetReadDeadline(until)
}

func (c *impatient) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = t
	return c.Conn.SetDeadline(t)
}

func (c *impatient) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = t
	return c.Conn.SetReadDeadline(t)
}

// hardenTLS refuses what is outdated of TLS.
func hardenTLS(config *pgx.ConnConfig) {
	if config.TLSConfig != nil {
		network.HardenTLS(config.TLSConfig)
	}
	for _, other := range config.Fallbacks {
		if other.TLSConfig != nil {
			network.HardenTLS(other.TLSConfig)
		}
	}
}
