package ledger

import (
	"fmt"
	"sync"
	"time"
)

// clock is the database's clock as this process knows it. Only this clock compares and writes
// leases, due times and the times of changes, so the clocks of the machines do not matter.
//
// PostgreSQL reports its time with every control row. Between two reads the process adds the time
// that has passed on its own machine. The processes of an SQLite ledger share one machine. Their
// clock is the uptime of that machine, counted from a moment stored in the control row.
type clock struct {
	// fixed replaces the database's clock in tests. Otherwise it is nil.
	fixed func() time.Time
	// wall is this process's own clock.
	wall func() time.Time
	// uptime is the time since the machine started, including sleep.
	uptime func() time.Duration
	// local reports whether the database is on this machine.
	local bool

	mu sync.Mutex
	// base is the database's time when the machine's uptime was zero, in Unix milliseconds.
	base int64
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

// now returns the database's time.
func (k *clock) now() time.Time {
	if k.fixed != nil {
		return k.fixed()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return fromMillis(k.base + k.uptime().Milliseconds())
}

// set records the database's current time, in Unix milliseconds.
func (k *clock) set(now int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.base = now - k.uptime().Milliseconds()
}

// column returns the expression that a query of the control row selects as the time. The expression
// is 0 if this process knows the time from the row's other columns.
func (k *clock) column() string {
	if k.fixed != nil || k.local {
		return "0"
	}
	return k.sql()
}

// at returns the database's time from a control row, in Unix milliseconds. Selected is the value of
// column, and base is the base of the clock.
func (k *clock) at(selected, base int64) int64 {
	switch {
	case k.fixed != nil:
		return toMillis(k.fixed())
	case k.local:
		return base + k.uptime().Milliseconds()
	}
	return selected
}

// sql returns an SQL expression of the database's time, in Unix milliseconds.
func (k *clock) sql() string {
	switch {
	case k.fixed != nil:
		return fmt.Sprintf("CAST(%d AS BIGINT)", toMillis(k.fixed()))
	case k.local:
		return fmt.Sprintf("((SELECT clock_base FROM control) + %d)", k.uptime().Milliseconds())
	}
	return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
}

// Now returns the time of the ledger's database.
func (l *Ledger) Now() time.Time { return l.clock.now() }
