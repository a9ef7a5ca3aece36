package ledger

import (
	"time"

	"golang.org/x/sys/windows"
)

// uptime is how long the machine has been up, its sleep included: every process
// reads the same, and it cannot be set.
func uptime() time.Duration { return windows.DurationSinceBoot() }
