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
	for _, info := range f.Sheets() {
		if err := onlyTooLarge(f.EachRow(info.Name, func(*Row) error { return nil })); err != nil {
			return err
		}
	}
	return nil
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
