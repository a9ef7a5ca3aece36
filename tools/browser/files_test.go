//go:build unix

package browser

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// table is a sheet: its header and its rows.
type table [][]string

// save writes a table as a CSV file.
func (t table) save(tb testing.TB, name string) string {
	tb.Helper()
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	if err := w.WriteAll(t); err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// column finds a column by its header.
func (t table) column(tb testing.TB, header string) int {
	tb.Helper()
	for i, h := range t[0] {
		if h == header {
			return i
		}
	}
	tb.Fatalf("no column %q among %q", header, t[0])
	return -1
}

// unpacked is what a file holds: the parts of a zip file, or itself.
func unpacked(tb testing.TB, content []byte) [][]byte {
	tb.Helper()
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return [][]byte{content}
	}
	var parts [][]byte
	for _, f := range z.File {
		parts = append(parts, read(tb, f))
	}
	return parts
}

func read(tb testing.TB, f *zip.File) []byte {
	tb.Helper()
	r, err := f.Open()
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		tb.Fatalf("read %s: %v", f.Name, err)
	}
	return content
}
