package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/bulkfiling/bulkfiling/internal/cache"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// corrections are the new values of cells of an upload. They may be Social
// Security numbers: the batch's ID contains a hash of them, and the salt prevents
// guessing numbers from it.
type corrections struct {
	Salt     string              `json:"salt"`
	Edits    []importer.Edit     `json:"edits"`
	Excluded importer.Exclusions `json:"excluded,omitempty"`
	// Of is the batch whose rows are corrected, and Rows are their numbers there.
	Of   string `json:"of,omitempty"`
	Rows []int  `json:"rows,omitempty"`
	// Refused says why the filing service refused rows of that batch, by their numbers there.
	Refused map[int]string `json:"refused,omitempty"`
	// Changes are the changes in the grid, the oldest first. Last is the number of the newest.
	Changes []gridChange `json:"changes,omitempty"`
	Last    int          `json:"last,omitempty"`
}

func correctionsOf(u ledger.Upload) (corrections, error) {
	c := corrections{Salt: rand.Text()}
	if len(u.Edits) == 0 {
		return c, nil
	}
	if err := json.Unmarshal(u.Edits, &c); err != nil {
		return c, fmt.Errorf("read the corrections of the spreadsheet %s: %w", u.File, err)
	}
	return c, nil
}

const (
	maxDraftsHeld   = 512 << 20 // bytes
	companiesAtOnce = 5000      // rows whose companies are recalled before the first answer
)

// heldDraft is a draft of an upload with the version of the upload that it has. mu is held while
// the draft is used.
type heldDraft struct {
	mu      sync.Mutex
	draft   *importer.Draft
	options string // the options of the upload
	version int
	learned int          // how often records of companies were added
	bought  map[int]bool // rows that were bought before, as of the last quote
}

// newDrafts returns the cache of the drafts of uploads that people edit.
func newDrafts() *cache.Cache[string, *heldDraft] {
	return cache.New[string](cache.Options[*heldDraft]{
		Max:  maxDraftsHeld,
		Cost: func(h *heldDraft) int { return int(h.draft.Size()) },
	})
}

// draftKey is the key of an upload's draft. A draft that was read with other options is another.
func draftKey(u ledger.Upload) string { return u.ID + " " + string(u.Options) }

// withDraft calls f with the draft of an upload in its present version, or a later one.
// No one else uses the draft meanwhile.
func (s *Site) withDraft(ctx context.Context, id string, f func(*heldDraft, ledger.Upload) error) error {
	u, err := s.Ledger.Uploads().Find(ctx, id)
	if err != nil {
		return err
	}
	h, err := s.drafts.Get(ctx, draftKey(u), func(ctx context.Context) (*heldDraft, error) {
		return s.readDraft(ctx, u)
	})
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.applyEdits(u); err != nil {
		return err
	}
	return f(h, u)
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

// readDraft reads an upload as a draft.
func (s *Site) readDraft(ctx context.Context, u ledger.Upload) (*heldDraft, error) {
	h := &heldDraft{options: string(u.Options), version: u.Version}
	err := s.readUpload(ctx, u, func(content []byte, o importer.Options) (err error) {
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
	if h.draft.Len() <= companiesAtOnce {
		s.addKnownCompanies(s.queue.ctx, h)
	} else {
		s.queue.running.Go(func() { s.addKnownCompanies(s.queue.ctx, h) })
	}
	return h, nil
}

// learnCompanies gives the draft of an upload, if someone edits it, what was looked up.
func (s *Site) learnCompanies(ctx context.Context, u ledger.Upload) {
	if h, ok := s.drafts.Peek(draftKey(u)); ok {
		s.addKnownCompanies(ctx, h)
	}
}

// addKnownCompanies gives a draft what is known of its companies from earlier look-ups.
func (s *Site) addKnownCompanies(ctx context.Context, h *heldDraft) {
	h.mu.Lock()
	refs := h.draft.Refs()
	h.mu.Unlock()
	known, err := s.Ledger.Companies().Find(ctx, refs)
	if err != nil {
		if ctx.Err() == nil {
			s.Log.Warn("recalling companies failed", "err", err)
		}
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draft.SetRecords(known) {
		h.learned++
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
	return cmp.Or(c.Label, c.Header, "Column "+sheet.ColumnName(c.Index))
}
