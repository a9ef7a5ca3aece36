package sheet

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// replacing is how a file takes the place of another.
type replacing struct {
	rename func(from, to string) error
	busy   func(error) bool // another program has the file open, which keeps it from being replaced
	pause  time.Duration
	tries  int
}

// replaceFile renames a file over another. On Windows a file that another program has
// open cannot be replaced: a virus scanner closes it within moments, and a spreadsheet
// program only when its person does.
var replaceFile = replacing{rename: os.Rename, busy: isBusy, pause: 100 * time.Millisecond, tries: 20}.replace

func (r replacing) replace(from, to string) error {
	for n := 1; ; n++ {
		err := r.rename(from, to)
		switch {
		case err == nil || !r.busy(err):
			return err
		case n == r.tries:
			return fmt.Errorf("%s is open in another program: close it there, then run the same command again: %w",
				filepath.Base(to), err)
		}
		time.Sleep(r.pause)
	}
}
