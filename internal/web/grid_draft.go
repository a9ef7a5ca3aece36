package web

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// draftCache holds the drafts of uploads that people edit, the last used ones,
// up to a number of bytes.
type draftCache struct {
	site    *Site
	flights singleflight.Group // by upload: one reads it

	mu   sync.Mutex
	of   map[string]*heldDraft // by upload
	size int64
}

const (
	maxDraftsHeld   = 512 << 20
	companiesAtOnce = 5000 // rows whose companies are recalled before the first answer
)

// heldDraft is a draft with the version of the upload that it has. mu is held while
// the draft is used.
type heldDraft struct {
	upload  string
	size    int64
	used    time.Time // guarded by the cache
	mu      sync.Mutex
	draft   *importer.Draft
	options string // the options of the upload
	version int
	learned int          // how often records of companies were added
	bought  map[int]bool // rows that were bought before, as of the last quote
	closed  bool         // it is held no longer
}

func newDraftCache(s *Site) *draftCache { return &draftCache{site: s, of: make(map[string]*heldDraft)} }

// withDraft calls f with the draft of an upload in its present version, or a later one.
// No one else uses the draft meanwhile.
func (c *draftCache) withDraft(ctx context.Context, id string, f func(*heldDraft, ledger.Upload) error) error {
	for {
		u, err := c.site.Ledger.Uploads().Find(ctx, id)
		if err != nil {
			return err
		}
		h, err := c.find(ctx, u)
		if err != nil {
			return err
		}
		again, err := h.withVersion(u, func() error { return f(h, u) })
		if !again {
			return err
		}
		c.drop(h)
	}
}

// withVersion calls f when the draft has the version of the upload. again reports that the
// draft is outdated, and must be read again.
func (h *heldDraft) withVersion(u ledger.Upload, f func() error) (again bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.version < u.Version && h.options != string(u.Options) {
		return true, nil
	}
	if err := h.applyEdits(u); err != nil {
		return false, err
	}
	return false, f()
}

// applyEdits brings the draft to the version of the upload.
func (h *heldDraft) applyEdits(u ledger.Upload) error {
	if u.Version <= h.version {
		return nil
	}
	c, err := correctionsOf(u)
	if err != nil {
		return err
	}
	if err := h.draft.Set(c.Edits, c.Excluded); err != nil {
		return err
	}
	h.version = u.Version
	return nil
}

// find returns the draft of an upload, which it reads if it is not held.
func (c *draftCache) find(ctx context.Context, u ledger.Upload) (*heldDraft, error) {
	c.mu.Lock()
	h := c.of[u.ID]
	if h != nil {
		h.used = time.Now()
	}
	c.mu.Unlock()
	if h != nil {
		return h, nil
	}
	found, err, _ := c.flights.Do(fmt.Sprintf("%s %d", u.ID, u.Version), func() (any, error) {
		h, err := c.read(context.WithoutCancel(ctx), u)
		if err == nil {
			c.hold(h)
			if h.draft.Len() <= companiesAtOnce {
				c.addKnownCompanies(c.site.queue.ctx, u.ID)
			} else {
				c.site.queue.running.Go(func() { c.addKnownCompanies(c.site.queue.ctx, u.ID) })
			}
		}
		return h, err
	})
	if err != nil {
		return nil, err
	}
	return found.(*heldDraft), nil
}

// read reads an upload as a draft.
func (c *draftCache) read(ctx context.Context, u ledger.Upload) (*heldDraft, error) {
	h := &heldDraft{upload: u.ID, options: string(u.Options), version: u.Version}
	err := c.site.readUpload(ctx, u, func(content []byte, o importer.Options) (err error) {
		h.draft, err = importer.OpenDraft(u.File, content, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	kept, err := correctionsOf(u)
	if err != nil {
		return nil, err
	}
	h.draft.SetRefused(kept.Refused)
	h.size = h.draft.Size()
	return h, nil
}

// addKnownCompanies gives the draft what is known of its companies from earlier look-ups.
func (c *draftCache) addKnownCompanies(ctx context.Context, upload string) {
	c.mu.Lock()
	h := c.of[upload]
	c.mu.Unlock()
	if h == nil {
		return
	}
	h.mu.Lock()
	refs := h.draft.Refs()
	h.mu.Unlock()
	known, err := c.site.Ledger.Companies().Find(ctx, refs)
	if err != nil {
		if ctx.Err() == nil {
			c.site.Log.Warn("recalling companies failed", "upload", upload, "err", err)
		}
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed && h.draft.SetRecords(known) {
		h.learned++
	}
}

// hold keeps a draft, and drops those that were not used for the longest time
// where all of them are too large.
func (c *draftCache) hold(h *heldDraft) {
	c.mu.Lock()
	h.used = time.Now()
	if old := c.of[h.upload]; old != nil {
		c.size -= old.size
	}
	c.of[h.upload] = h
	c.size += h.size
	var dropped []*heldDraft
	for c.size > maxDraftsHeld && len(c.of) > 1 {
		var oldest *heldDraft
		for _, other := range c.of {
			if other != h && (oldest == nil || other.used.Before(oldest.used)) {
				oldest = other
			}
		}
		delete(c.of, oldest.upload)
		c.size -= oldest.size
		dropped = append(dropped, oldest)
	}
	c.mu.Unlock()
	for _, old := range dropped {
		old.close()
	}
}

// drop stops holding a draft.
func (c *draftCache) drop(h *heldDraft) {
	c.mu.Lock()
	if c.of[h.upload] == h {
		delete(c.of, h.upload)
		c.size -= h.size
	}
	c.mu.Unlock()
	h.close()
}

func (h *heldDraft) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.closed = true
		_ = h.draft.Close() // it is in memory
	}
}

// columnAt returns a column of the draft.
func columnAt(all []importer.DraftColumn, i int) (importer.DraftColumn, bool) {
	if i < 0 || i >= len(all) {
		return importer.DraftColumn{}, false
	}
	return all[i], true
}

// columnName is the name of a column in messages: ours, or the header.
func columnName(c importer.DraftColumn) string {
	if c.Label != "" {
		return c.Label
	}
	if c.Header != "" {
		return c.Header
	}
	return "Column " + sheet.ColumnName(c.Index)
}
