//go:build unix

package ledger_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// Whatever a data folder was before, nobody but its owner reads it while a ledger
// is open: the database, its log and its index, the key, the locks.
func TestADataFolderIsItsOwners(t *testing.T) {
	was := syscall.Umask(0)
	defer syscall.Umask(was)
	for name, prepare := range map[string]func(s *store){
		"new": func(*store) {},
		"open to all": func(s *store) {
			s.must(os.Mkdir(filepath.Join(s.config.Dir, "locks"), 0o777))
			for _, file := range []string{"ledger.db", "commits.json", "locks/old", "pace", "account.json"} {
				s.must(os.WriteFile(filepath.Join(s.config.Dir, file), nil, 0o666))
			}
			s.must(os.WriteFile(filepath.Join(s.config.Dir, "commits.json"), []byte("{}"), 0o644))
		},
		"used before": func(s *store) {
			l := s.open()
			s.add(l, "a", application("comp_1"))
			s.must(l.Close())
			s.must(filepath.WalkDir(s.config.Dir, func(path string, e fs.DirEntry, err error) error {
				if err != nil || filepath.Base(path) == "sealing.key" {
					return err
				}
				return os.Chmod(path, 0o755)
			}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			onBothDatabases(t, func(s *store) {
				s.must(os.Chmod(s.config.Dir, 0o755))
				prepare(s)
				s.wantPrivate()
			})
		})
	}
}

// wantPrivate opens a ledger and checks that its files are its owner's alone, and that
// other files in its folder stay as they are.
func (s *store) wantPrivate() {
	other := filepath.Join(s.config.Dir, "taxes.xlsx")
	s.must(os.WriteFile(other, nil, 0o644))
	l := s.open()
	s.add(l, "b", application("comp_2"))
	seen := 0
	s.must(filepath.WalkDir(s.config.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == other {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		seen++
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			s.Errorf("%s: %o", path, mode)
		}
		return nil
	}))
	if seen < 4 {
		s.Errorf("%d files", seen)
	}
	if info, err := os.Stat(other); err != nil || info.Mode().Perm() != 0o644 {
		s.Errorf("a file that is not the ledger's was changed: %v, %v", info.Mode(), err)
	}
}

// A folder that belongs to all users cannot be closed to them: it is said so.
func TestAFolderOfAllUsersIsNamed(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if err := ledger.KeepPrivate(dir); err == nil || !strings.Contains(err.Error(), "choose another data folder") {
		t.Error(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
