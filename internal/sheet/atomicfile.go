package sheet

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// atomicFile is a file that appears under its name only when it is whole: it is written beside its target, synced and
// renamed.
type atomicFile struct {
	*os.File
	target string
}

func createAtomic(target string) (*atomicFile, error) {
	file, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".*.tmp")
	if err != nil {
		return nil, err
	}
	return &atomicFile{file, target}, nil
}

// commit puts the file in its place.
func (f *atomicFile) commit() error {
	mode := fs.FileMode(0o644)
	if stat, err := os.Stat(f.target); err == nil {
		mode = stat.Mode().Perm()
	}
	err := errors.Join(f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), f.target)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	// The rename itself is durable once the folder is. Not every system can sync a folder, and the file is whole anyway.
	if folder, err := os.Open(filepath.Dir(f.target)); err == nil {
		folder.Sync()
		folder.Close()
	}
	return nil
}

// abort leaves nothing behind.
func (f *atomicFile) abort() {
	f.Close()
	os.Remove(f.Name())
}
