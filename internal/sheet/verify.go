package sheet

import (
	"errors"
	"io"
)

// Verify reads all sheets of a file to their ends and reports what is too large
// in it as a *[FormatError]. Other problems are left to the readers of the
// file.
func Verify(name string, r io.ReaderAt, size int64) error {
	f, err := OpenReader(name, r, size, Limits{})
	if err != nil {
		return onlyTooLarge(err)
	}
	defer f.Close()
	var block Block
	for _, info := range f.Sheets() {
		if err := onlyTooLarge(f.verify(info.Name, &block)); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) verify(name string, block *Block) error {
	r, err := f.Rows(name)
	if err != nil {
		return err
	}
	defer r.Close()
	for err == nil {
		err = r.Read(block)
	}
	return err
}

func onlyTooLarge(err error) error {
	if IsTooLarge(err) {
		return err
	}
	return nil
}

// IsTooLarge reports whether a file was refused for its cost.
func IsTooLarge(err error) bool {
	found, ok := errors.AsType[*FormatError](err)
	return ok && found.tooLarge
}
