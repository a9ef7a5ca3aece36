package store

import (
	"fmt"
	"sync"
	"time"
)

// Clock is the database's clock as this process knows it. Only this clock compares and writes
// leases, due times and the times of changes, so the clocks of the machines do not matter.
//
// PostgreSQL reports its time with every control row. Between two reads the process adds the time
// that has passed on its own machine. The processes of an SQLite ledger share one machine. Their
// clock is the uptime of that machine, counted from a moment stored in the control row.
type Clock struct {
	// fixed replaces the database's clock in tests. Otherwise it is nil.
	fixed func() time.Time
	// Wall is this process's own clock.
	Wall func() time.Time
	// Uptime is the time since the machine started, including sleep.
	Uptime func() time.Duration
	// local reports whether the database is on this machine.
	local bool

	mu sync.Mutex
	// base is the database's time when the machine's uptime was zero, in Unix milliseconds.
	base int64
}

func newClock(c Config) *Clock {
	k := &Clock{fixed: c.Clock, Wall: c.Now, Uptime: uptime, local: c.DatabaseURL == ""}
	if k.Wall == nil {
		k.Wall = time.Now
	}
	if k.fixed != nil {
		start := k.fixed()
		k.Uptime = func() time.Duration { return k.fixed().Sub(start) }
	}
	k.Set(ToMillis(k.Wall())) // until the database's time is known
	return k
}

// now returns the database's time.
func (k *Clock) now() time.Time {
	if k.fixed != nil {
		return k.fixed()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return FromMillis(k.base + k.Uptime().Milliseconds())
}

// IsUptime reports whether the clock is the uptime of the machine.
func (k *Clock) IsUptime() bool { return k.local && k.fixed == nil }

// Restart sets the clock to a time and returns its new base. Both are Unix milliseconds.
func (k *Clock) Restart(now int64) (base int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.base = now - k.Uptime().Milliseconds()
	return k.base
}

// Set records the database's current time, in Unix milliseconds.
func (k *Clock) Set(now int64) { k.Restart(now) }

// Column returns the expression that a query of the control row selects as the time. The expression
// is 0 if this process knows the time from the row's other columns.
func (k *Clock) Column() string {
	if k.fixed != nil || k.local {
		return "0"
	}
	return k.SQL()
}

// At returns the database's time from a control row, in Unix milliseconds. Selected is the value of
// Column, and base is the base of the clock.
func (k *Clock) At(selected, base int64) int64 {
	switch {
	case k.fixed != nil:
		return ToMillis(k.fixed())
	case k.local:
		return base + k.Uptime().Milliseconds()
	}
	return selected
}

// SQL returns an SQL expression of the database's time, in Unix milliseconds.
func (k *Clock) SQL() string {
	switch {
	case k.fixed != nil:
		return fmt.Sprintf("CAST(%d AS BIGINT)", ToMillis(k.fixed()))
	case k.local:
		return fmt.Sprintf("((SELECT clock_base FROM control) + %d)", k.Uptime().Milliseconds())
	}
	return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
}
