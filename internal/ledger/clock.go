package ledger

import (
	"fmt"
	"sync"
	"time"
)

// clock is the database's clock as this process knows it: leases, due times and
// the times of changes are compared and written by it alone, so that the clocks
// of the machines play no role.
//
// PostgreSQL tells its time with every control row; in between the process adds
// what has passed since on its own machine. The processes of an SQLite ledger
// share one machine: their clock is the time for which that has been up, counted
// from a moment that stands in the control row.
type clock struct {
	fixed  func() time.Time     // stands for the database's clock in tests; nil for the database's own
	wall   func() time.Time     // this process's own clock
	uptime func() time.Duration // of the machine, its sleep included
	local  bool                 // the database is this machine

	mu   sync.Mutex
	base int64 // the database's time when the machine's uptime was 0, in milliseconds
}

func newClock(c Config) *clock {
	k := &clock{fixed: c.Clock, wall: c.Now, uptime: uptime, local: c.DatabaseURL == ""}
	if k.wall == nil {
		k.wall = time.Now
	}
	if k.fixed != nil {
		start := k.fixed()
		k.uptime = func() time.Duration { return k.fixed().Sub(start) }
	}
	k.set(toMillis(k.wall())) // until the database's time is known
	return k
}

// now is the database's time.
func (k *clock) now() time.Time {
	if k.fixed != nil {
		return k.fixed()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return fromMillis(k.base + k.uptime().Milliseconds())
}

// set notes that it is now, in milliseconds, at the database.
func (k *clock) set(now int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.base = now - k.uptime().Milliseconds()
}

// column is what a query of the control row selects as the time: 0 where this process
// knows the time from what else stands there.
func (k *clock) column() string {
	if k.fixed != nil || k.local {
		return "0"
	}
	return k.sql()
}

// at is the database's time, in milliseconds, from a control row: what column selected,
// and the base of the clock.
func (k *clock) at(selected, base int64) int64 {
	switch {
	case k.fixed != nil:
		return toMillis(k.fixed())
	case k.local:
		return base + k.uptime().Milliseconds()
	}
	return selected
}

// sql is the database's time as an expression, in milliseconds.
func (k *clock) sql() string {
	switch {
	case k.fixed != nil:
		return fmt.Sprintf("CAST(%d AS BIGINT)", toMillis(k.fixed()))
	case k.local:
		return fmt.Sprintf("((SELECT clock_base FROM control) + %d)", k.uptime().Milliseconds())
	}
	return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
}

// Now is the time of the ledger's database.
func (l *Ledger) Now() time.Time { return l.clock.now() }
