package web

import (
	"context"
	"sync"

	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/intake"
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

// draftKey returns the cache key of an upload's draft. Other options mean another draft.
func draftKey(u intake.Upload) string { return u.ID + " " + string(u.Options) }

// useDraft calls f with the draft of an upload at its current version or a later one. f has
// exclusive use of the draft.
func (p *prepareQueue) useDraft(ctx context.Context, id string, f func(*heldDraft, intake.Upload) error) error {
	u, err := p.uploads.Find(ctx, id)
	if err != nil {
		return err
	}
	h, err := p.drafts.Get(ctx, draftKey(u), func(ctx context.Context) (*heldDraft, error) {
		return p.openDraft(ctx, u)
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
func (h *heldDraft) applyEdits(u intake.Upload) error {
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

// openDraft reads an upload as a draft.
func (p *prepareQueue) openDraft(ctx context.Context, u intake.Upload) (*heldDraft, error) {
	h := &heldDraft{options: string(u.Options), version: u.Version}
	err := p.readUpload(ctx, u, func(content []byte, o importer.Options) (err error) {
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
		p.addKnownCompanies(p.ctx, h)
	} else {
		p.running.Go(func() { p.addKnownCompanies(p.ctx, h) })
	}
	return h, nil
}

// learn adds newly looked-up companies to the draft of an upload, if it is being edited.
func (p *prepareQueue) learn(ctx context.Context, u intake.Upload) {
	if h, ok := p.drafts.Peek(draftKey(u)); ok {
		p.addKnownCompanies(ctx, h)
	}
}

// addKnownCompanies adds the company records of earlier look-ups to a draft.
func (p *prepareQueue) addKnownCompanies(ctx context.Context, h *heldDraft) {
	h.mu.Lock()
	refs := h.draft.Refs()
	h.mu.Unlock()
	known, err := p.Ledger.Companies().Find(ctx, refs)
	if err != nil {
		if ctx.Err() == nil {
			p.Log.Warn("recalling companies failed", "err", err)
		}
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draft.SetRecords(known) {
		h.learned++
	}
}
