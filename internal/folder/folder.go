// Package folder makes changes within a folder durable.
package folder

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// Sync makes the renames within a folder durable if the system supports it. Windows and some
// network file systems cannot sync folders.
func Sync(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
