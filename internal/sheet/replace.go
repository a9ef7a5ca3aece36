package sheet

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// replacing replaces a file with another.
type replacing struct {
	rename func(from, to string) error
	// busy reports whether the error means that another program has the file open and blocks its
	// replacement.
	busy     func(error) bool
	pause    time.Duration
	attempts int
}

// replaceFile renames a file over another. On Windows a file that another program has open cannot
// be replaced. A virus scanner closes it within moments, a spreadsheet program only when its user
// does.
var replaceFile = replacing{rename: os.Rename, busy: isBusy, pause: 100 * time.Millisecond, attempts: 20}.replace

func (r replacing) replace(from, to string) error {
	for n := 1; ; n++ {
		err := r.rename(from, to)
		switch {
		case err == nil || !r.busy(err):
			return err
		case n == r.attempts:
			return fmt.Errorf("%s is open in another program: close it there, then run the same command again: %w",
				filepath.Base(to), err)
		}
		time.Sleep(r.pause)
	}
}
