package ledger

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// KeepPrivate takes a data folder, and so all that is in it, from all but its owner. It
// returns an error that names a folder which others can still read because it belongs to
// another user. On Windows, where a mode says nothing, it does nothing.
func KeepPrivate(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0:
		return nil
	case info.Mode()&fs.ModeSticky != 0: // such as /tmp: it belongs to all
		return fmt.Errorf("%s is a folder of all users: choose another data folder", dir)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("others can read or change %s (%s): give it to the user who runs this program, or "+
			"chmod 700 it", dir, info.Mode().Perm())
	}
	return nil
}
