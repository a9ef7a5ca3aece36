//go:build unix

package sheet

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A workbook may be read by whom the umask lets; one that is written over keeps
// who may read it.
func TestWorkbooksFollowTheUmask(t *testing.T) {
	for mask, want := range map[int]fs.FileMode{0o022: 0o644, 0o002: 0o664, 0o027: 0o640, 0o077: 0o600} {
		was := syscall.Umask(mask)
		path := filepath.Join(t.TempDir(), "out.xlsx")
		write := func() fs.FileMode {
			book, err := Create(path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := book.Sheet("A", SheetOptions{})
			if err == nil {
				err = s.Row(Str("x"))
			}
			if err == nil {
				err = book.Save()
			}
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			return info.Mode().Perm()
		}
		if got := write(); got != want {
			t.Errorf("umask %o: %o, want %o", mask, got, want)
		}
		if err := os.Chmod(path, 0o604); err != nil {
			t.Fatal(err)
		}
		if got := write(); got != 0o604 {
			t.Errorf("umask %o, written over: %o", mask, got)
		}
		left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		syscall.Umask(was)
	}
}
