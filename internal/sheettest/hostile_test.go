package sheettest

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFilesAreSmall holds every hostile file to its bound. HOSTILE_DIR keeps them for a try by hand.
func TestFilesAreSmall(t *testing.T) {
	dir := os.Getenv("HOSTILE_DIR")
	for _, f := range Files() {
		data := f.Bytes()
		if len(data) == 0 || len(data) > MaxBytes {
			t.Errorf("%s has %d bytes", f.Name, len(data))
		}
		if dir != "" {
			if err := os.WriteFile(filepath.Join(dir, f.Name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}
