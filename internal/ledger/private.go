package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// The files of a data folder. Other files there are not touched, and neither is
// the sealing key: one that others could read is refused, so that a person
// learns of it.
var (
	privateNames      = []string{"accounts", "locks", "pace"}
	privateBeginnings = []string{"ledger.db", commitsFile, "account.json"}
)

// KeepPrivate takes the files of a data folder, and the folder itself, from all
// but their owner, whatever they were before: files become 0600, folders 0700. It
// returns an error that names what others can still read because it belongs to
// another user. On Windows, where a mode says nothing, it does nothing.
func KeepPrivate(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	var open []error
	tighten := func(path string) bool {
		info, err := os.Stat(path)
		if err != nil {
			return false // it went meanwhile
		}
		mode := info.Mode().Perm() &^ 0o077
		switch {
		case info.IsDir() && info.Mode()&fs.ModeSticky != 0: // such as /tmp: it belongs to all
			open = append(open, fmt.Errorf("%s is a folder of all users: choose another data folder", path))
			return false
		case info.IsDir():
			mode |= 0o700
		case info.Mode().IsRegular():
			mode = 0o600
		default:
			return false
		}
		if mode == info.Mode().Perm() {
			return info.IsDir()
		}
		if err := os.Chmod(path, mode); err != nil && info.Mode().Perm()&0o077 != 0 {
			open = append(
				open, fmt.Errorf(
					"others can read or change %s (%s): give it to the user who runs this program, or chmod %o it",
					path, info.Mode().Perm(), mode))
		}
		return info.IsDir()
	}
	var walk func(dir string, all bool)
	walk = func(dir string, all bool) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		for _, e := range entries {
			if e.Name() == sealKeyFile || !all && !isPrivate(e.Name()) {
				continue
			}
			if path := filepath.Join(dir, e.Name()); tighten(path) && e.IsDir() {
				walk(path, true)
			}
		}
	}
	if tighten(dir) {
		walk(dir, false)
	}
	return errors.Join(open...)
}

func isPrivate(name string) bool {
	return slices.Contains(privateNames, name) ||
		slices.ContainsFunc(privateBeginnings,
			func(beginning string) bool { return strings.HasPrefix(name, beginning) })
}
