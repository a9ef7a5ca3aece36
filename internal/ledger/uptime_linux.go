package ledger

import (
	"time"

	"golang.org/x/sys/unix"
)

// uptime is how long the machine has been up, its sleep included: every process
// reads the same, and it cannot be set.
func uptime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic("the machine has no monotonic clock: " + err.Error())
	}
	return time.Duration(t.Nano())
}
