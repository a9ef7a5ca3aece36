package documents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gocarina/gocsv"

	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// Entry is a line of the manifest about one file.
type Entry struct {
	Batch    string `csv:"Batch"`
	Row      int    `csv:"Row"`
	Company  string `csv:"Company ID"`
	Name     string `csv:"Company"`
	Product  string `csv:"Product"`
	Document string `csv:"Document ID"`
	Type     string `csv:"Document Type"`
	Order    string `csv:"Order ID"`
	// File is relative to the folder, with slashes.
	File    string    `csv:"File"`
	Bytes   int64     `csv:"Bytes"`
	SHA256  string    `csv:"SHA-256"`
	SavedAt time.Time `csv:"Saved At"`
}

// ManifestFile is the name of the file that describes the saved documents.
const ManifestFile = "manifest.csv"

// manifestEvery is the number of files after which the manifest is written. After a crash, files
// that are missing from it are downloaded again.
const manifestEvery = 50

func (d *Folder) readManifest() error {
	path := filepath.Join(d.dir, ManifestFile)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the manifest: %w", err)
	}
	defer f.Close()
	var entries []Entry
	if err := gocsv.Unmarshal(f, &entries); err != nil && !errors.Is(err, gocsv.ErrEmptyCSVFile) {
		return fmt.Errorf("read the manifest %s: %w. Rename it, and a new one is written", path, err)
	}
	for _, e := range entries {
		if e.Document == "" || !filepath.IsLocal(filepath.FromSlash(e.File)) {
			continue // another program wrote it
		}
		d.list(e)
	}
	return nil
}

// list adds an entry or replaces the entry of the same document.
func (d *Folder) list(e Entry) {
	if at, known := d.byID[e.Document]; known {
		d.entries[at] = e
		return
	}
	d.byID[e.Document] = len(d.entries)
	d.entries = append(d.entries, e)
}

// writeManifest replaces the manifest atomically. It is written for spreadsheet programs, which
// must not read any text in it as a formula.
func (d *Folder) writeManifest() error {
	if len(d.entries) == 0 {
		return nil
	}
	file, err := sheet.CreateCSV(filepath.Join(d.dir, ManifestFile))
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	defer file.Abort()
	sorted := slices.Clone(d.entries)
	slices.SortStableFunc(sorted, func(x, y Entry) int { return strings.Compare(x.File, y.File) })
	if err := gocsv.MarshalCSV(sorted, csvWriter{file}); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	if err := file.Save(); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	d.unsaved = 0
	return nil
}

// csvWriter adapts a sheet to gocsv.
type csvWriter struct{ file *sheet.CSVFile }

func (w csvWriter) Write(row []string) error {
	var cells []sheet.OutCell
	for _, text := range row {
		cells = append(cells, sheet.Str(text))
	}
	return w.file.Row(cells...)
}

func (csvWriter) Flush() {}

func (csvWriter) Error() error { return nil }
