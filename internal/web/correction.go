package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

// correctBatch makes a new upload of the rows that a correction can help, with the options of the
// batch. If such an upload exists, it leads there, so that two people do not correct the same rows.
func (h *uploadHandler) correctBatch(v *request, b ledger.Batch) error {
	kept, err := h.attentionOf(v.ctx(), b.ID)
	if err != nil {
		return err
	}
	if len(kept.Rows) == 0 {
		return v.leadTo("/batches/"+b.ID, "note", "This batch has no rows that need attention.")
	}
	waiting, found, err := h.Ledger.Corrections().FindWaiting(v.ctx(), b.ID)
	if err != nil {
		return err
	}
	if found {
		return v.leadTo("/batches/"+waiting+"/approve", "note",
			"Corrections of %s wait for approval. They are approved or sent back before others are made.", b.File)
	}
	open, err := h.findCorrection(v.ctx(), b, kept.Rows)
	if err != nil {
		return err
	}
	if open != nil {
		return v.leadTo("/sheets/"+open.ID, "note",
			"%s opened these rows before. The corrections made so far are here.", open.CreatedBy)
	}
	u, err := h.takeAttention(v, b)
	if err != nil {
		return err
	}
	o := importer.OptionsOf(b)
	r := readOptions{Product: o.Product, State: o.State, Year: o.FilingYear, User: o.User, Map: o.Map}
	err = errors.Join(load(&u.Edits)(encodeStored(kept)), load(&u.Options)(encodeStored(r)))
	if err == nil {
		err = h.uploads.Change(v.ctx(), u)
	}
	if err != nil {
		return err
	}
	return v.leadTo("/sheets/"+u.ID, "note", "These are the rows of %s that need attention, as a new upload. Correct "+
		"rows with a filing exception in the filing service's dashboard instead; here they count as ordered.", b.File)
}

// attentionOf returns the initial corrections of an upload of the rows that need attention: the
// numbers of the rows, and the filing service's reasons for refusing them.
func (h *uploadHandler) attentionOf(ctx context.Context, batch string) (corrections, error) {
	c := corrections{Salt: rand.Text(), Of: batch}
	for row, err := range h.Ledger.Results(ctx, batch) {
		if err != nil {
			return c, err
		}
		if row.Result != filing.Rejected && row.Result != filing.Invalid {
			continue
		}
		c.Rows = append(c.Rows, row.Number)
		if row.Result == filing.Rejected {
			if c.Refused == nil {
				c.Refused = make(map[int]string)
			}
			c.Refused[row.Number] = report.Message(&row)
		}
	}
	return c, nil
}

// findCorrection finds an upload that corrects the rows of a batch. It returns nil if there is none.
func (h *uploadHandler) findCorrection(ctx context.Context, b ledger.Batch, rows []int) (*intake.Upload, error) {
	uploads, err := h.uploads.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, listed := range uploads {
		if listed.File != attentionName(b) {
			continue
		}
		u, err := h.uploads.Find(ctx, listed.ID)
		if errors.Is(err, ledger.ErrNotFound) {
			// Someone has deleted the upload since it was listed.
			continue
		}
		c, decodeErr := correctionsOf(u)
		if err := errors.Join(err, decodeErr); err != nil {
			return nil, err
		}
		missing := func(row int) bool { return !slices.Contains(c.Rows, row) }
		if c.Of == b.ID && !slices.ContainsFunc(rows, missing) {
			return &u, nil
		}
	}
	return nil, nil
}

// attentionName returns the file name of an upload of the rows of a batch that need attention.
func attentionName(b ledger.Batch) string {
	return filing.HideSSNsInName(shortened(baseName(b.File), 150) + ".needs-attention.xlsx")
}

func (h *uploadHandler) takeAttention(v *request, b ledger.Batch) (u intake.Upload, err error) {
	if err := mayKeep(v, h.uploads); err != nil {
		return u, err
	}
	err = inFolder(func(dir string) error {
		path := filepath.Join(dir, "attention.xlsx")
		if err := report.WriteAttention(v.ctx(), h.Ledger, b.ID, path); err != nil {
			return err
		}
		content, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("read the rows that need attention: %w", err)
		}
		defer content.Close()
		name := attentionName(b)
		u, err = h.uploads.Add(v.withAudit("upload", name, "rows that need attention, from batch "+b.ID),
			intake.Upload{File: name, CreatedBy: v.who()}, content)
		return err
	})
	return u, err
}
