package documents

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sync/errgroup"

	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/network"
	"bulkfiling/internal/sheet"
)

// ErrBusy is returned where another process saves into the same folder.
var ErrBusy = errors.New("another download into this folder is under way")

// Links makes fresh download links. *filingapi.Client is one.
type Links interface {
	Document(ctx context.Context, id string) (filingapi.Download, error)
}

// Item is a document to be saved.
type Item struct {
	ledger.Document
	Company string // the company's id, or the reference it is known by
	Client  string // the company's legal name; empty where nobody knows it
}

// Config is what an archive fetches documents with.
type Config struct {
	Links     Links
	Downloads network.Downloads // where a link may lead
	Log       *slog.Logger      // is told why a document could not be downloaded
}

// Folder is a folder that documents are saved into. Close it.
type Folder struct {
	dir   string
	lock  *flock.Flock
	links Links
	fetch fetcher

	mu      sync.Mutex
	entries []Entry
	byID    map[string]int    // document id to its entry
	folders map[string]string // company to its folder
	owners  map[string]string // folder, folded, to its company
	unsaved int               // entries since the manifest was written
}

// Open takes a folder over, making it as needed. It returns ErrBusy.
func Open(dir string, c Config) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("make the folder %s: %w", dir, err)
	}
	d := &Folder{
		dir:     dir,
		links:   c.Links,
		fetch:   newFetcher(c.Downloads, c.Log),
		lock:    flock.New(filepath.Join(dir, ".documents.lock")),
		byID:    make(map[string]int),
		folders: make(map[string]string),
		owners:  make(map[string]string),
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

// Close writes the manifest and leaves the folder.
func (d *Folder) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.writeManifest()
	return errors.Join(err, d.lock.Unlock()) // the lock's file stays: removed, it could be locked twice
}

// Outcome is what became of one document.
type Outcome struct {
	Item
	File  string // below the folder
	Fresh bool   // fetched now; false where it was there
	Err   error  // why it is not there
}

// saversAtOnce bounds the downloads under way.
const saversAtOnce = 4

// Save saves documents, several at once, and tells of each as it is done. An
// error of one does not stop the others; the only error returned is that of the
// folder itself, or of the context.
func (d *Folder) Save(ctx context.Context, items []Item, done func(Outcome)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(saversAtOnce)
	var telling sync.Mutex
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
				return err // as it will be for all others
			}
			telling.Lock()
			defer telling.Unlock()
			done(Outcome{Item: item, File: file, Fresh: fresh, Err: err})
			return nil
		})
	}
	return group.Wait()
}

// save brings one document in, unless it is there.
func (d *Folder) save(ctx context.Context, item Item) (file string, fresh bool, err error) {
	if item.ID == "" {
		return "", false, errors.New("the service told of it without its id: look at the company's dashboard")
	}
	if file, there := d.there(item); there {
		return file, false, nil
	}
	folder, err := d.folder(item)
	if err != nil {
		return "", false, err
	}
	stem := filepath.Join(folder, fileName(strings.Join(words(item), " ")))
	d.mu.Lock()
	_, listed := d.byID[item.ID]
	d.mu.Unlock()
	if file, found := d.left(stem); found && listed {
		// It is not as long as it was: somebody cut it short.
		if err := os.Remove(filepath.Join(d.dir, file)); err != nil {
			return "", false, fmt.Errorf("replace %s: %w", file, err)
		}
	} else if found {
		return file, false, d.record(item, file)
	}
	file, err = d.fetch.into(ctx, d.links, item.ID, d.dir, stem)
	if err != nil {
		return "", false, err
	}
	return file, true, d.record(item, file)
}

// maxWhat leaves room for the id in a file's name, which must never be cut.
const maxWhat = 20

// words name a document's file: what it is, when it was made, and its id, which
// makes the name its own.
func words(item Item) []string {
	what := []rune(strings.ReplaceAll(cmp.Or(item.Type, item.Product.Title(), "document"), "_", " "))
	all := []string{string(what[:min(len(what), maxWhat)])}
	if !item.At.IsZero() {
		all = append(all, item.At.UTC().Format(time.DateOnly))
	}
	return append(all, item.ID)
}

// ownerFile lies in a client's folder and says whose it is: two clients of one
// name must never share one, whatever is killed in between.
const ownerFile = ".company"

// folder is a client's, made as needed: its name, with the company's id behind
// it where another company has the name already. It stays the same for ever.
func (d *Folder) folder(item Item) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	company := cmp.Or(item.Company, item.OrderID)
	if folder, known := d.folders[company]; known {
		return folder, nil
	}
	name := cmp.Or(fileName(item.Client), fileName(company), "unknown")
	for _, folder := range []string{name, fileName(name + " (" + company + ")")} {
		if owner, taken := d.owners[strings.ToLower(folder)]; taken && owner != company {
			continue
		}
		mine, err := d.own(company, folder)
		if err != nil {
			return "", fmt.Errorf("make the folder of %s: %w", name, err)
		}
		if mine {
			return folder, nil
		}
	}
	return "", fmt.Errorf("the folders that %s could have belong to others", name)
}

// own makes a folder a company's, or finds that it is another's. Its owner is
// written down before anything else comes into it.
func (d *Folder) own(company, folder string) (bool, error) {
	path := filepath.Join(d.dir, folder)
	if err := os.MkdirAll(path, 0o777); err != nil {
		return false, err
	}
	mark := filepath.Join(path, ownerFile)
	owner, err := os.ReadFile(mark)
	if errors.Is(err, fs.ErrNotExist) {
		if there, err := os.ReadDir(path); err != nil || len(there) > 0 {
			return false, err // somebody else's folder
		}
		owner, err = []byte(company), writeWhole(mark, company)
	}
	if err != nil || string(owner) != company {
		return false, err
	}
	d.folders[company] = folder
	d.owners[strings.ToLower(folder)] = company
	return true, nil
}

// writeWhole writes a small file that is there whole or not at all.
func writeWhole(path, content string) error {
	f, err := sheet.TempBeside(filepath.Join(filepath.Dir(filepath.Dir(path)), "company"))
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// there reports whether a document was saved before and still is.
func (d *Folder) there(item Item) (file string, ok bool) {
	d.mu.Lock()
	at, listed := d.byID[item.ID]
	var e Entry
	if listed {
		e = d.entries[at]
	}
	d.mu.Unlock()
	if !listed {
		return "", false
	}
	info, err := os.Stat(filepath.Join(d.dir, filepath.FromSlash(e.File)))
	return e.File, err == nil && info.Size() == e.Bytes
}

// left finds a file that was saved whole and not written into the manifest any
// more: a crash came between.
func (d *Folder) left(stem string) (file string, found bool) {
	names, err := os.ReadDir(filepath.Join(d.dir, filepath.Dir(stem)))
	if err != nil {
		return "", false
	}
	base := filepath.Base(stem)
	for _, n := range names {
		if rest, ok := strings.CutPrefix(n.Name(), base); ok && n.Type().IsRegular() && rest != partEnding &&
			strings.HasPrefix(rest, ".") {
			return filepath.Join(filepath.Dir(stem), n.Name()), true
		}
	}
	return "", false
}

// record lists a file in the manifest.
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
		Client:   item.Client,
		Product:  string(item.Product),
		Document: item.ID,
		Type:     item.Type,
		Order:    item.OrderID,
		File:     filepath.ToSlash(file),
		Bytes:    size,
		SHA256:   hex.EncodeToString(sum.Sum(nil)),
		SavedAt:  time.Now().UTC(),
	})
	if d.unsaved++; d.unsaved >= manifestEvery {
		return d.writeManifest()
	}
	return nil
}
