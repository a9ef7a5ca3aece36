//go:build !unix

package sheet_test

import "time"

// processorTime is not known here: the clock stands in for it.
func processorTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
