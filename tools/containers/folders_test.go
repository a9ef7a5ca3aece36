package containers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// removeWork removes the working folder. What a killed mmdebstrap has left mounted in it,
// such as this machine's /dev/shm, is detached first: it would lose its files.
func removeWork(work string) error {
	work, err := filepath.EvalSymlinks(work)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	lines := strings.Split(string(mounts), "\n")
	slices.Reverse(lines) // what is mounted on another mount comes first
	for _, line := range lines {
		if fields := strings.Fields(line); len(fields) > 1 && strings.HasPrefix(fields[1], work+"/") {
			if err := syscall.Unmount(fields[1], syscall.MNT_DETACH); err != nil {
				return fmt.Errorf("detach %s: %w", fields[1], err)
			}
		}
	}
	return os.RemoveAll(work)
}

// makeWork makes the working folder anew. One run has it at a time: a lock, which ends
// with the process, says so.
func makeWork() (work string, release func() error, err error) {
	work = filepath.Join(os.TempDir(), "bulkfiling-containers")
	lock, err := os.OpenFile(work+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", nil, fmt.Errorf("lock the working folder: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return "", nil, errors.Join(fmt.Errorf("another run has the working folder %s: %w", work, err), lock.Close())
	}
	// The programs that install packages read it as another user.
	tmp := filepath.Join(work, "tmp")
	if err := errors.Join(removeWork(work), os.MkdirAll(tmp, 0o711), os.Chmod(work, 0o711)); err != nil {
		return "", nil, fmt.Errorf("make the working folder: %w", errors.Join(err, lock.Close()))
	}
	return work, func() error {
		// The last processes of the namespace may still be closing their files.
		err := removeWork(work)
		for end := time.Now().Add(10 * time.Second); err != nil && time.Now().Before(end); {
			time.Sleep(200 * time.Millisecond)
			err = removeWork(work)
		}
		return errors.Join(err, lock.Close())
	}, nil
}

// prune keeps of the cache what this version uses.
func prune(cache string, used ...string) error {
	entries, err := os.ReadDir(cache)
	for _, entry := range entries {
		if path := filepath.Join(cache, entry.Name()); !slices.Contains(used, path) {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}
	return err
}
