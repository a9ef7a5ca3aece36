//go:build !linux && !windows

package store

import (
	"time"

	"golang.org/x/sys/unix"
)

// uptime returns the time since the machine started, including sleep. It is the same for every
// process, and it cannot be set.
func uptime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic("the machine has no monotonic clock: " + err.Error())
	}
	return time.Duration(t.Nano())
}
