package store

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

// A network may lose a connection without notice to either end, for example if the database failed
// over or a router lost its state. Without these limits the process would wait for an answer for up
// to an hour. The server would wait for two, with the control row locked for a transaction that
// never ends.
const (
	// readTimeout is how long the server may leave a request unanswered before the connection is given
	// up.
	readTimeout = 20 * time.Second
	// idleTimeout is how long a process may be idle within a transaction before the server ends it.
	idleTimeout = 10 * time.Second
	dialLimit   = 10 * time.Second
)

// durable makes every commit of a connection wait until it is on the disk, and on the disk of a
// synchronous standby, regardless of the server's default. An intent must survive the server that
// accepted it. A setting that waits for more is kept.
const durable = `CASE WHEN current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')
	THEN set_config('synchronous_commit', 'on', false) END`

// connected is the key under which a connection stores the time at which it was made.
const connected = "connected"

// byIndex makes a session join tables as SQLite does, by loops over their indexes. The indexes are
// made for such loops. PostgreSQL makes statistics only after a table has grown. Without them, the
// plan that it keeps for a statement reads all rows or orders of a season for each group. A small
// table without an index then seems expensive, and JIT compilation must not be used for it.
const byIndex = `set_config('enable_seqscan', 'off', false), set_config('enable_hashjoin', 'off', false),
	set_config('enable_mergejoin', 'off', false), set_config('jit', 'off', false)`

// Analyze updates PostgreSQL's statistics of a table, from which it plans statements. PostgreSQL does
// so itself, but only up to a minute after a change of many rows. Analyze does nothing with SQLite.
func (db *DB) Analyze(ctx context.Context, table string) error {
	if !db.Dialect.IsServer {
		return nil
	}
	return db.Transact(ctx, func(tx *sql.Tx) error {
		// A small sample suffices to tell many rows from few.
		if _, err := tx.ExecContext(ctx, `SET LOCAL default_statistics_target = 10`); err != nil {
			return err
		}
		// Maintenance that locks the table must not delay the caller.
		_, err := tx.ExecContext(ctx, `ANALYZE (SKIP_LOCKED) `+table)
		return err
	})
}

// openPostgres opens a pool whose connections end if the other end is silent. If a connection was
// silent, connections that were made before that are not used again.
func openPostgres(databaseURL string) (*sql.DB, error) {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	hardenTLS(config)
	// lost is the time at which a connection was last given up, in Unix nanoseconds.
	var lost atomic.Int64
	dialer := &net.Dialer{Timeout: dialLimit}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &timeoutConn{Conn: c, gaveUp: func() { lost.Store(time.Now().UnixNano()) }}, nil
	}
	old := func(c *pgx.Conn) bool {
		since, _ := c.PgConn().CustomData()[connected].(int64)
		return since < lost.Load()
	}
	return openClean(stdlib.GetConnector(*config,
		stdlib.OptionAfterConnect(func(ctx context.Context, c *pgx.Conn) error {
			c.PgConn().CustomData()[connected] = time.Now().UnixNano()
			// A statement sets the options, because poolers refuse startup options that they do not
			// know.
			_, err := c.Exec(
				ctx, fmt.Sprintf(`SELECT set_config('idle_in_transaction_session_timeout', '%d', false), `,
					idleTimeout.Milliseconds())+byIndex+`, `+durable)
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

// timeoutConn is a connection on which no read waits longer than readTimeout.
type timeoutConn struct {
	net.Conn
	// gaveUp is called when a read has waited for as long as readTimeout.
	gaveUp func()

	mu sync.Mutex
	// limit is the read deadline that the connection's user has set.
	limit time.Time
}

func (c *timeoutConn) Read(b []byte) (int, error) {
	began := time.Now()
	if err := c.bound(began.Add(readTimeout)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) && time.Since(began) >= readTimeout {
		c.gaveUp()
	}
	return n, err
}

func (c *timeoutConn) bound(until time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.limit.IsZero() && c.limit.Before(until) {
		until = c.limit
	}
	return c.Conn.SetReadDeadline(until)
}

func (c *timeoutConn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = t
	return c.Conn.SetDeadline(t)
}

func (c *timeoutConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = t
	return c.Conn.SetReadDeadline(t)
}

// hardenTLS refuses outdated TLS on the connection and its fallbacks.
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
