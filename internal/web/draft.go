package web

import (
	"context"
	"log/slog"
	"sync"

	"github.com/bulkfiling/bulkfiling/internal/cache"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

const (
	// maxDraftsHeld is the size of the cache of drafts in bytes.
	maxDraftsHeld = 512 << 20
	// companiesAtOnce is the maximum number of rows whose companies are loaded before the first
	// answer.
	companiesAtOnce = 5000
)

// heldDraft is a cached draft of an upload and the version of the upload that it has. mu is held
// while the draft is used.
type heldDraft struct {
	mu    sync.Mutex
	draft *importer.Draft
	// options are the encoded options of the upload.
	options string
	version int
	// learned counts how often company records were added.
	learned int
	// bought are the rows that were bought before, according to the last quote.
	bought map[int]bool
}

// drafts are the drafts that people edit.
type drafts struct {
	*background
	*reader
	companies ledger.Companies
	// held is keyed by upload and options (see draftKey).
	held *cache.Cache[string, *heldDraft]
	log  *slog.Logger
}

func newDrafts(work *background, read *reader, companies ledger.Companies, log *slog.Logger) *drafts {
	return &drafts{work, read, companies, cache.New[string](cache.Options[*heldDraft]{
		Max:  maxDraftsHeld,
		Cost: func(h *heldDraft) int { return int(h.draft.Size()) },
	}), log}
}

// draftKey returns the cache key of an upload's draft. Other options mean another draft.
func draftKey(u ledger.Upload) string { return u.ID + " " + string(u.Options) }

// use calls f with the draft of an upload at its current version or a later one. f has
// exclusive use of the draft.
func (d *drafts) use(ctx context.Context, id string, f func(*heldDraft, ledger.Upload) error) error {
	u, err := d.uploads.Find(ctx, id)
	if err != nil {
		return err
	}
	h, err := d.held.Get(ctx, draftKey(u), func(ctx context.Context) (*heldDraft, error) {
		return d.open(ctx, u)
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

// applyEdits updates the draft to the version of the upload.
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

// open reads an upload as a draft.
func (d *drafts) open(ctx context.Context, u ledger.Upload) (*heldDraft, error) {
	h := &heldDraft{options: string(u.Options), version: u.Version}
	err := d.readUpload(ctx, u, func(content []byte, o importer.Options) (err error) {
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
		d.addKnownCompanies(d.ctx, h)
	} else {
		d.running.Go(func() { d.addKnownCompanies(d.ctx, h) })
	}
	return h, nil
}

// learn adds newly looked-up companies to the draft of an upload, if it is being edited.
func (d *drafts) learn(ctx context.Context, u ledger.Upload) {
	if h, ok := d.held.Peek(draftKey(u)); ok {
		d.addKnownCompanies(ctx, h)
	}
}

// addKnownCompanies adds the company records of earlier look-ups to a draft.
func (d *drafts) addKnownCompanies(ctx context.Context, h *heldDraft) {
	h.mu.Lock()
	refs := h.draft.Refs()
	h.mu.Unlock()
	known, err := d.companies.Find(ctx, refs)
	if err != nil {
		if ctx.Err() == nil {
			d.log.Warn("recalling companies failed", "err", err)
		}
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draft.SetRecords(known) {
		h.learned++
	}
}
