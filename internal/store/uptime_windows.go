package store

import (
	"time"

	"golang.org/x/sys/windows"
)

// uptime returns the time since the machine started, including sleep. It is the same for every
// process, and it cannot be set.
func uptime() time.Duration { return windows.DurationSinceBoot() }
