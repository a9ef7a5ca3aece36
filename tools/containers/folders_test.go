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
	"testing"
	"time"
)

const (
	workName = "bulkfiling-containers-"

	// mostBuilds bounds the build cache, which has some 600 MB of each state of the
	// product that was built in the last days. It is copied into the stand-in of Go.
	mostBuilds = 3 << 29
)

// makeWork makes the working folder, and removes those of runs that were killed: a
// lock says whose run is alive.
func makeWork(tmp string) (work string, release func() error, err error) {
	abandoned, err := filepath.Glob(filepath.Join(tmp, workName+"*"))
	if err != nil {
		return "", nil, err
	}
	for _, dir := range abandoned {
		lock, err := lockFolder(dir)
		if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", nil, fmt.Errorf("look at the working folder of an earlier run: %w", err)
		}
		if err := errors.Join(os.RemoveAll(dir), lock.Close()); err != nil {
			return "", nil, fmt.Errorf("remove the working folder of a run that was killed: %w", err)
		}
	}
	if work, err = os.MkdirTemp(tmp, workName); err != nil {
		return "", nil, fmt.Errorf("make the working folder: %w", err)
	}
	lock, err := lockFolder(work)
	if err != nil {
		return "", nil, fmt.Errorf("lock the working folder: %w", err)
	}
	// The programs that install packages read it as another user.
	if err := errors.Join(os.Chmod(work, 0o711), os.Mkdir(filepath.Join(work, "tmp"), 0o711)); err != nil {
		return "", nil, err
	}
	return work, func() error {
		// The last processes of the namespace may still be closing their files.
		err := os.RemoveAll(work)
		for end := time.Now().Add(10 * time.Second); err != nil && time.Now().Before(end); {
			time.Sleep(200 * time.Millisecond)
			err = os.RemoveAll(work)
		}
		return errors.Join(err, lock.Close())
	}, nil
}

// lockFolder takes the lock of a folder, which ends with this process.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// prune keeps of the cache what this version uses, and the build cache while it is
// small.
func prune(cache string, used ...string) error {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(cache, entry.Name())
		keep := slices.Contains(used, path)
		if keep && entry.IsDir() {
			size, err := folderSize(path)
			if err != nil {
				return err
			}
			keep = size <= mostBuilds
		}
		if keep {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

func folderSize(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

// TestWork removes the folder of a run that was killed, and not that of one that runs.
func TestWork(t *testing.T) {
	tmp := t.TempDir()
	killed := filepath.Join(tmp, workName+"killed")
	if err := os.MkdirAll(filepath.Join(killed, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	first, releaseFirst, err := makeWork(tmp)
	if err != nil {
		t.Fatal(err)
	}
	second, releaseSecond, err := makeWork(tmp)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(killed); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of the killed run: %v", err)
	}
	for _, dir := range []string{first, second} {
		if _, err := os.Stat(filepath.Join(dir, "tmp")); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(releaseFirst(), releaseSecond()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("%v remain, %v", left, err)
	}
}

// TestPrune keeps what is used, and no build cache that grew.
func TestPrune(t *testing.T) {
	cache := t.TempDir()
	for _, name := range []string{"compose-1", "compose-2", "compose-2.part"} {
		if err := os.WriteFile(filepath.Join(cache, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	builds := filepath.Join(cache, "go-build")
	if err := os.Mkdir(builds, 0o700); err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int64]string{mostBuilds: "compose-2 go-build", mostBuilds + 1: "compose-2"} {
		if err := os.MkdirAll(builds, 0o700); err != nil {
			t.Fatal(err)
		}
		// It has the size and no content.
		large := filepath.Join(builds, "large")
		if err := errors.Join(os.WriteFile(large, nil, 0o600), os.Truncate(large, size)); err != nil {
			t.Fatal(err)
		}
		if err := prune(cache, filepath.Join(cache, "compose-2"), builds); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(cache)
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, e := range entries {
			left = append(left, e.Name())
		}
		if got := strings.Join(left, " "); got != want {
			t.Errorf("with %d bytes of builds: %s, want %s", size, got, want)
		}
	}
}
