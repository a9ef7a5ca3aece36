package documents

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/network"
)

// store is a service with documents whose links work once.
type store struct {
	*testing.T
	server *httptest.Server

	mu     sync.Mutex
	links  map[string]string // token to document
	made   int
	served map[string]int
	spoil  func(w http.ResponseWriter, r *http.Request, id string, time int) bool // true: it has answered
}

func newStore(t *testing.T) *store {
	s := &store{T: t, links: make(map[string]string), served: make(map[string]int)}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.server.Close)
	return s
}

// config lets links lead to the store alone.
func (s *store) config() Config {
	from, err := network.ParseDownloads(s.server.URL+"/v1", "")
	must(s, err)
	return Config{Links: s, Downloads: from, Log: slog.New(slog.NewTextHandler(s.Output(), nil))}
}

func content(id string) []byte { return bytes.Repeat([]byte(id+" "), 10_000) }

func (s *store) Document(_ context.Context, id string) (filingapi.Download, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasPrefix(id, "doc_none") {
		return filingapi.Download{}, fmt.Errorf("look up document %s: %w", id, filingapi.ErrNotFound)
	}
	s.made++
	token := fmt.Sprint(s.made)
	s.links[token] = id
	return filingapi.Download{URL: s.server.URL + "/" + token}, nil
}

func (s *store) serve(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("x-api-key") != "" {
		s.Error("the key went to the store of files")
	}
	token := r.URL.Path[1:]
	s.mu.Lock()
	id, good := s.links[token]
	delete(s.links, token)
	s.served[id]++
	nth := s.served[id]
	s.mu.Unlock()
	if !good {
		http.Error(w, "expired", http.StatusForbidden)
		return
	}
	if s.spoil != nil && s.spoil(w, r, id, nth) {
		return
	}
	w.Header().Set("Content-Type", "application/pdf")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content(id)))
}

// save saves into a folder, and returns what became of each document.
func (s *store) save(dir string, items ...Item) map[string]Outcome {
	s.Helper()
	a, err := Open(dir, s.config())
	must(s, err)
	a.fetch.pause = time.Millisecond
	all := make(map[string]Outcome)
	err = a.Save(s.Context(), items, func(o Outcome) { all[o.ID] = o })
	must(s, errors.Join(err, a.Close()))
	return all
}

func item(id, company, name string) Item {
	return Item{Document: ledger.Document{
		ID:      id,
		Type:    "ein_letter",
		OrderID: "order_" + company,
		Batch:   "b1",
		Number:  7,
		Product: filing.EIN,
		At:      time.Date(2026, 2, 11, 0, 0, 0, 0, time.UTC),
	}, Company: company, Name: name}
}

func TestSave(t *testing.T) {
	s, dir := newStore(t), t.TempDir()
	items := []Item{
		item("doc_1", "comp_1", "Bay LLC"), item("doc_2", "comp_1", "Bay LLC"),
		item("doc_3", "comp_2", "BAY llc"), // another company of that name
		item("doc_4", "comp_3", ""), item("", "comp_1", "Bay LLC"), item("doc_none", "comp_1", "Bay LLC"),
		item("../../doc_5", "comp_4", `../..\evil`), item("doc_6", "comp_5", `=cmd|'/c calc'!A1`),
	}
	first := s.save(dir, items...)
	for id, o := range first {
		if bad := id == "" || id == "doc_none"; (o.Err != nil) != bad {
			t.Errorf("%s: %v", id, o.Err)
		}
	}
	for id, want := range map[string]string{
		"doc_1": "Bay LLC (comp_1)/ein letter 2026-02-11 doc_1.pdf",
		"doc_2": "Bay LLC (comp_1)/ein letter 2026-02-11 doc_2.pdf",
		"doc_3": "BAY llc (comp_2)/ein letter 2026-02-11 doc_3.pdf",
		"doc_4": "comp_3/ein letter 2026-02-11 doc_4.pdf",
		"doc_6": "cmd-'-c calc'!A1 (comp_5)/ein letter 2026-02-11 doc_6.pdf",

		"../../doc_5": "evil (comp_4)/ein letter 2026-02-11 ..-..-doc_5.pdf",
	} {
		o := first[id]
		got, err := os.ReadFile(filepath.Join(dir, o.File))
		if o.File != want || err != nil || !bytes.Equal(got, content(id)) || !o.Fresh {
			t.Errorf("%s is %s (%v), want %s", id, o.File, err, want)
		}
	}
	// Nothing is fetched twice, and each file is in the manifest.
	made := s.made
	for id, o := range s.save(dir, items[:4]...) {
		if o.Err != nil || o.Fresh || o.File != first[id].File {
			t.Errorf("%s: %+v", id, o)
		}
	}
	if s.made != made {
		t.Errorf("%d more links were asked for", s.made-made)
	}
	wantManifest(t, dir, 6)
	// What was deleted, or spoilt in its length, comes again.
	must(t, os.Remove(filepath.Join(dir, first["doc_2"].File)))
	must(t, os.Truncate(filepath.Join(dir, first["doc_4"].File), 3))
	if again := s.save(dir, items[:4]...); !again["doc_2"].Fresh || len(manifest(t, dir)) != 7 {
		t.Errorf("%+v", again)
	}
	// What a crash left out of the manifest comes again, and is listed.
	must(t, os.Remove(filepath.Join(dir, ManifestFile)))
	if again := s.save(dir, items[:2]...); !again["doc_1"].Fresh || again["doc_1"].File != first["doc_1"].File {
		t.Errorf("%+v", again)
	}
	wantManifest(t, dir, 2)
}

// wantManifest checks the number of files in the manifest, and each sum.
func wantManifest(t *testing.T, dir string, files int) {
	t.Helper()
	lines := manifest(t, dir)
	if len(lines) != files+1 {
		t.Fatalf("%d lines: %v", len(lines), lines)
	}
	for _, line := range lines[1:] {
		sum := sha256.Sum256(content(line[5]))
		if line[10] != hex.EncodeToString(sum[:]) || strings.HasPrefix(line[3], "=") {
			t.Errorf("%v", line)
		}
	}
}

func manifest(t *testing.T, dir string) [][]string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, ManifestFile))
	must(t, err)
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	must(t, err)
	lines[0][0] = strings.TrimPrefix(lines[0][0], "\uFEFF")
	return lines
}

// A download that breaks starts over with a fresh link.
func TestBrokenDownloads(t *testing.T) {
	for name, c := range map[string]struct {
		spoil    func(w http.ResponseWriter, r *http.Request, id string, nth int) bool
		attempts int
		fails    bool
	}{
		"breaks in the middle": {func(w http.ResponseWriter, r *http.Request, id string, nth int) bool {
			if nth == 1 {
				w.Header().Set("Content-Length", fmt.Sprint(len(content(id))))
				w.Write(content(id)[:len(content(id))/2])
				panic(http.ErrAbortHandler)
			}
			return false
		}, 2, false},
		"the link has expired": {func(w http.ResponseWriter, r *http.Request, id string, nth int) bool {
			if nth == 1 {
				http.Error(w, "expired", http.StatusForbidden)
			}
			return nth == 1
		}, 2, false},
		"nothing at all": {func(w http.ResponseWriter, r *http.Request, id string, nth int) bool { return true },
			maxAttempts, true},
		"always refused": {func(w http.ResponseWriter, r *http.Request, id string, nth int) bool {
			http.Error(w, "no", http.StatusForbidden)
			return true
		}, maxAttempts, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := newStore(t), t.TempDir()
			s.spoil = c.spoil
			o := s.save(dir, item("doc_1", "comp_1", "Bay LLC"))["doc_1"]
			if (o.Err != nil) != c.fails || s.served["doc_1"] != c.attempts {
				t.Fatalf("%d attempts: %v", s.served["doc_1"], o.Err)
			}
			if c.fails {
				if strings.Contains(o.Err.Error(), "/") ||
					strings.Contains(o.Err.Error(), ":"+s.server.URL[strings.LastIndexByte(s.server.URL, ':'):]) {
					t.Errorf("the error tells the link: %v", o.Err)
				}
				return
			}
			if got, err := os.ReadFile(filepath.Join(dir, o.File)); err != nil || !bytes.Equal(got, content("doc_1")) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
}

func TestOneAtATime(t *testing.T) {
	s, dir := newStore(t), t.TempDir()
	a, err := Open(dir, s.config())
	must(t, err)
	if _, err := Open(dir, s.config()); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	s.save(dir)
}

// Whatever a company is called, its folder is one plain part of a path.
func TestFileName(t *testing.T) {
	for name, want := range map[string]string{
		"+1 Fitness LLC": "1 Fitness LLC", "@Home Health Corp": "Home Health Corp", "A/B: \"C\" <D>": "A-B- -C- -D-",
		"CON": "_CON", "nul.txt": "_nul.txt",
		"Ends. ": "Ends", "..": "", "\u202Egnp.exe": "gnp.exe", "Cafe\u0301": "Café", "a\x00b\nc": "ab c", "": "",
	} {
		if got := fileName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name")
		got := fileName(name)
		if got == "" {
			return
		}
		if !filepath.IsLocal(got) || filepath.Base(got) != got || len(got) > maxName+1 || !utf8.ValidString(got) ||
			fileName(got) != got && !strings.HasPrefix(got, "_") {
			t.Fatalf("%q: %q", name, got)
		}
		if slices.Contains([]byte("=+-@. "), got[0]) {
			t.Fatalf("%q: %q", name, got)
		}
	})
}

// A link into the network behind is not followed, is not tried again, and its
// error tells nothing of that network. The log does.
func TestLinkThatLeadsInside(t *testing.T) {
	s := newStore(t)
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }))
	defer inside.Close()
	var log bytes.Buffer
	c := s.config()
	c.Links, c.Log = fixedLink(inside.URL+"/secret-link"), slog.New(slog.NewTextHandler(&log, nil))
	a, err := Open(t.TempDir(), c)
	must(t, err)
	defer a.Close()
	_, _, err = a.save(t.Context(), item("doc_1", "comp_1", "Bay LLC"))
	if err == nil || !strings.Contains(err.Error(), "could not be downloaded from 127.0.0.1; the log says why") ||
		!errors.Is(err, network.ErrForbidden) {
		t.Errorf("%v", err)
	}
	if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "not encrypted") ||
		strings.Contains(log.String(), "secret-link") {
		t.Errorf("the log: %s", log.String())
	}
}

type fixedLink string

func (l fixedLink) Document(context.Context, string) (filingapi.Download, error) {
	return filingapi.Download{URL: string(l)}, nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
