package sheet

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isBusy reports whether another program has the file open.
func isBusy(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_LOCK_VIOLATION) ||
		errors.Is(err, windows.ERROR_ACCESS_DENIED)
}
