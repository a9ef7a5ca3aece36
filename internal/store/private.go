package store

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// KeepPrivate removes the permissions of everyone except the owner from a data folder, which
// protects everything in it. It returns an error that names a folder which others can still read
// because it belongs to another user. On Windows it does nothing, because file modes do not show
// permissions there.
func KeepPrivate(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0:
		return nil
	// A folder such as /tmp belongs to all users.
	case info.Mode()&fs.ModeSticky != 0:
		return fmt.Errorf("%s is a folder of all users: choose another data folder", dir)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("others can read or change %s (%s): give it to the user who runs this program, or "+
			"chmod 700 it", dir, info.Mode().Perm())
	}
	return nil
}
