package approval

import (
	"context"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// A draft is an uploaded spreadsheet from which a batch was prepared. Package intake stores it. While
// the batch waits for approval the draft is kept, and it does not change.

// Draft identifies the version of a draft from which a batch was prepared.
type Draft struct {
	Batch string
	// Upload is empty if the batch was prepared without an upload.
	Upload  string
	Version int
}

// requireUnchanged returns ErrStale unless a draft still has the version and the batch with which
// it was read, and does not wait for approval.
func requireUnchanged(ctx context.Context, tx *ledger.Tx, d Draft) error {
	if d.Upload == "" {
		return nil
	}
	var same bool
	err := tx.QueryRowContext(ctx,
		`SELECT COUNT(*) > 0 FROM uploads WHERE id = $1 AND version = $2 AND batch = $3 AND submitted = 0`, d.Upload,
		d.Version, d.Batch).Scan(&same)
	if err == nil && !same {
		err = ledger.ErrStale
	}
	return err
}

// ContributeToDraft records within a change that a person contributes to every batch that is
// prepared from a draft.
func ContributeToDraft(ctx context.Context, tx *ledger.Tx, upload, by string, part Part) error {
	return contribute(ctx, tx.Tx, uploadObject(upload), by, part)
}

// DeleteDraft deletes a draft within a change, with its history and its contributors.
func DeleteDraft(ctx context.Context, tx *ledger.Tx, upload string) error {
	if err := store.ExecEach(ctx, tx.Tx, upload,
		`DELETE FROM upload_parts WHERE upload = $1`, `DELETE FROM uploads WHERE id = $1`); err != nil {
		return err
	}
	return forget(ctx, tx, uploadObject(upload))
}

// deleteDrafts deletes the drafts that were kept for a batch while it waited for approval.
func deleteDrafts(ctx context.Context, tx *ledger.Tx, batch string) error {
	ids, err := store.List[string](ctx, tx, "find the drafts of batch "+batch,
		`SELECT id FROM uploads WHERE batch = $1 AND submitted = 1`, batch)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := DeleteDraft(ctx, tx, id); err != nil {
			return err
		}
	}
	return nil
}
