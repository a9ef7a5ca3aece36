package sheet

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bulkfiling/bulkfiling/internal/folder"
)

// atomicFile is a file that appears under its name only when it is complete. It is written beside
// its target, synced and renamed.
type atomicFile struct {
	*os.File
	target string
}

// createAtomic creates an empty file in the folder of its target. Its permissions follow the umask,
// because a file of os.CreateTemp is private to its owner and the target would keep those
// permissions.
func createAtomic(target string) (*atomicFile, error) {
	dir, name := filepath.Split(target)
	for {
		file, err := os.OpenFile(filepath.Join(dir, "."+name+"."+rand.Text()[:10]+".tmp"),
			os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			return &atomicFile{file, target}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
}

// commit renames the file to its target.
func (f *atomicFile) commit() error {
	var err error
	if stat, missing := os.Stat(f.target); missing == nil {
		// Keep the permissions of the file that is replaced.
		err = f.Chmod(stat.Mode().Perm())
	}
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = replaceFile(f.Name(), f.target)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	// A sync of the folder makes the rename durable. The file is complete without it.
	_ = folder.Sync(filepath.Dir(f.target))
	return nil
}

// abort removes the temporary file.
func (f *atomicFile) abort() {
	f.Close()
	os.Remove(f.Name())
}
