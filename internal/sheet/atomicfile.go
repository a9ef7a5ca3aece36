package sheet

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bulkfiling/bulkfiling/internal/folder"
)

// atomicFile is a file that appears under its name only when it is complete: it
// is written beside its target, synced and renamed.
type atomicFile struct {
	*os.File
	target string
}

// createAtomic creates an empty file in the folder of its target. Its permissions
// follow the umask: those of os.CreateTemp are for the owner alone, and the target
// would have them too.
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
		err = f.Chmod(stat.Mode().Perm()) // a file keeps who may read it
	}
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = replaceFile(f.Name(), f.target)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	// The rename itself is durable once the folder is. The file is whole anyway.
	_ = folder.Sync(filepath.Dir(f.target))
	return nil
}

// abort removes the temporary file.
func (f *atomicFile) abort() {
	f.Close()
	os.Remove(f.Name())
}
