package folder

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
)

// Windows syncs no folders: there a saved file is not reported as an error.
func TestSync(t *testing.T) {
	here, missing := t.TempDir(), filepath.Join(t.TempDir(), "missing")
	for _, c := range []struct {
		system, path string
		want         error
	}{
		{"linux", here, nil},
		{"linux", missing, fs.ErrNotExist},
		{"windows", missing, nil}, // not even opened
	} {
		if err := syncOn(c.system, c.path); !errors.Is(err, c.want) {
			t.Errorf("%s, %s: %v, want %v", c.system, c.path, err, c.want)
		}
	}
	if err := Sync(here); err != nil {
		t.Error(err)
	}
}
