//go:build unix

package ledger_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Whatever a data folder was before, nobody but its owner reads what is in it while a
// ledger is open.
func TestADataFolderIsItsOwners(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		s.must(os.Chmod(s.config.Dir, 0o755))
		l := s.open()
		s.add(l, "a", application("comp_1"))
		if info, err := os.Stat(s.config.Dir); err != nil || info.Mode().Perm() != 0o700 {
			s.Errorf("%v, %v", info.Mode(), err)
		}
	})
}

// A folder that belongs to all users cannot be closed to them: it is said so.
func TestAFolderOfAllUsersIsNamed(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if err := store.KeepPrivate(dir); err == nil || !strings.Contains(err.Error(), "choose another data folder") {
		t.Error(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
