package documents

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sync/errgroup"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/network"
)

// ErrBusy means that another process saves to the same folder.
var ErrBusy = errors.New("another download into this folder is under way")

// Links creates download links. *filingapi.Client implements it.
type Links interface {
	Document(ctx context.Context, id string) (filingapi.Download, error)
}

// Item is a document to save.
type Item struct {
	ledger.Document
	// Company is the company's ID, or the reference that stands for it.
	Company string
	// Name is the company's legal name, empty if unknown.
	Name string
}

// Config configures a folder.
type Config struct {
	Links Links
	// Downloads limits the hosts of the links.
	Downloads network.Downloads
	// Log receives the reason of each failed download.
	Log *slog.Logger
}

// Folder saves documents to a folder of the file system. Callers must close it.
type Folder struct {
	dir   string
	lock  *flock.Flock
	links Links
	fetch fetcher

	mu      sync.Mutex
	entries []Entry
	// byID maps a document ID to the index of its entry.
	byID map[string]int
	// unsaved counts the entries since the manifest was written.
	unsaved int
}

// Open opens and locks a folder, and creates it if necessary. It returns ErrBusy if
// another process has the lock.
func Open(dir string, c Config) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("make the folder %s: %w", dir, err)
	}
	d := &Folder{
		dir:   dir,
		links: c.Links,
		fetch: newFetcher(c.Downloads, c.Log),
		lock:  flock.New(filepath.Join(dir, ".documents.lock")),
		byID:  make(map[string]int),
	}
	held, err := d.lock.TryLock()
	if err == nil && !held {
		err = ErrBusy
	}
	if err != nil {
		return nil, fmt.Errorf("save documents into %s: %w", dir, err)
	}
	if err := d.readManifest(); err != nil {
		return nil, errors.Join(err, d.lock.Unlock())
	}
	return d, nil
}

// Close writes the manifest and unlocks the folder.
func (d *Folder) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.writeManifest()
	// The file of the lock stays, because two processes could lock it if it were removed.
	return errors.Join(err, d.lock.Unlock())
}

// Outcome is the result of saving one document.
type Outcome struct {
	Item
	// File is relative to the folder.
	File string
	// Fresh reports whether the document was downloaded now. Otherwise it was saved before.
	Fresh bool
	// Err is why the document is missing.
	Err error
}

// saversAtOnce limits the parallel downloads.
const saversAtOnce = 4

// Save saves documents in parallel and calls done for each. An error of one document does not stop
// the others. Save returns only errors of the folder, the API key and the context.
func (d *Folder) Save(ctx context.Context, items []Item, done func(Outcome)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(saversAtOnce)
	var reporting sync.Mutex
	for _, item := range items {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			file, fresh, err := d.save(ctx, item)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if errors.Is(err, filingapi.ErrKeyRefused) {
				// All other documents would fail too.
				return err
			}
			reporting.Lock()
			defer reporting.Unlock()
			done(Outcome{Item: item, File: file, Fresh: fresh, Err: err})
			return nil
		})
	}
	return group.Wait()
}

// save downloads one document, unless it was saved before.
func (d *Folder) save(ctx context.Context, item Item) (file string, fresh bool, err error) {
	if item.ID == "" {
		return "", false, errors.New("the filing service reported it without an ID: check the company's dashboard")
	}
	if file, there := d.there(item); there {
		return file, false, nil
	}
	stem := filepath.Join(folderName(item), fileName(strings.Join(words(item), " ")))
	if err := os.MkdirAll(filepath.Join(d.dir, filepath.Dir(stem)), 0o777); err != nil {
		return "", false, fmt.Errorf("make the folder of a company: %w", err)
	}
	file, err = d.fetch.into(ctx, d.links, item.ID, d.dir, stem)
	if err != nil {
		return "", false, err
	}
	return file, true, d.record(item, file)
}

// maxWhat limits the type in a file name, in runes. It leaves room for the ID, which is never cut.
const maxWhat = 20

// words returns the parts of a file name, which are the document's type, its date, and its ID. The
// ID makes the name unique.
func words(item Item) []string {
	what := []rune(strings.ReplaceAll(cmp.Or(item.Type, item.Product.Title(), "document"), "_", " "))
	all := []string{string(what[:min(len(what), maxWhat)])}
	if !item.At.IsZero() {
		all = append(all, item.At.UTC().Format(time.DateOnly))
	}
	return append(all, item.ID)
}

// folderName returns the name of a company's folder. It ends with the company's ID, so
// that two companies of the same name never share a folder.
func folderName(item Item) string {
	id := cmp.Or(fileName(cmp.Or(item.Company, item.OrderID)), "unknown")
	name := fileName(item.Name)
	if name == "" {
		return id
	}
	id = " (" + id + ")"
	return cut(name, maxName-len(id)) + id
}

// there returns the file of a document that was saved before and still exists.
func (d *Folder) there(item Item) (file string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, listed := d.byID[item.ID]
	if !listed {
		return "", false
	}
	e := d.entries[at]
	info, err := os.Stat(filepath.Join(d.dir, filepath.FromSlash(e.File)))
	return e.File, err == nil && info.Size() == e.Bytes
}

// record adds a file to the manifest.
func (d *Folder) record(item Item, file string) error {
	f, err := os.Open(filepath.Join(d.dir, file))
	if err != nil {
		return fmt.Errorf("read %s back: %w", file, err)
	}
	defer f.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	if err != nil {
		return fmt.Errorf("read %s back: %w", file, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list(Entry{
		Batch:    item.Batch,
		Row:      item.Number,
		Company:  cmp.Or(item.Company, item.OrderID),
		Name:     item.Name,
		Product:  string(item.Product),
		Document: item.ID,
		Type:     item.Type,
		Order:    item.OrderID,
		File:     filepath.ToSlash(file),
		Bytes:    size,
		SHA256:   hex.EncodeToString(sum.Sum(nil)),
		SavedAt:  time.Now().UTC().Truncate(time.Second),
	})
	if d.unsaved++; d.unsaved >= manifestEvery {
		return d.writeManifest()
	}
	return nil
}
