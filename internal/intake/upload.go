package intake

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Uploads stores the spreadsheets that wait to be submitted.
type Uploads struct {
	ledger *ledger.Ledger
	// editLimit is the maximum size of the edits of a sheet, in bytes.
	editLimit int
}

// NewUploads returns the uploads of a ledger.
func NewUploads(l *ledger.Ledger) *Uploads { return &Uploads{l, maxEdits} }

// Upload is a spreadsheet that was uploaded and is not placed yet. Its content and its edits are
// sealed like Social Security numbers, because they may contain some.
type Upload struct {
	ID string
	// File is its name as it was given.
	File string
	Size int64
	// Hash is the SHA-256 of the content in hexadecimal.
	Hash string
	// Options determine how it is read, in the form of the caller.
	Options []byte
	// Edits are the corrections of the sheet.
	Edits []byte
	// Version counts the changes.
	Version int
	// Batch is the batch that was prepared from this version. Empty if there is none yet.
	Batch string
	// Quote is the quote of that batch.
	Quote     []byte
	CreatedBy string
	CreatedAt time.Time
	ChangedAt time.Time
}

// Draft identifies this version of the upload for its approval.
func (u *Upload) Draft() approval.Draft {
	return approval.Draft{Batch: u.Batch, Upload: u.ID, Version: u.Version}
}

// ErrTooLarge is returned if the corrections of a sheet exceed the limit.
var ErrTooLarge = errors.New("the corrections of the spreadsheet take too much space")

// maxEdits is the maximum size of a sheet's edits in bytes. It is several times the limit of the
// page, because each change reads and seals all edits.
const maxEdits = 64 << 20

// Add stores a sheet as it arrives, so that only one part is in memory. The upload and its audit
// event are stored when the sheet is complete. An interrupted upload may be sent again.
func (l *Uploads) Add(ctx context.Context, u Upload, content io.Reader) (Upload, error) {
	u.ID, u.Version, u.CreatedAt, u.File = rand.Text(), 1, l.ledger.Now(), filing.HideSSNsInName(u.File)
	u.ChangedAt = u.CreatedAt
	err := l.keepUpload(ctx, &u, content)
	if err != nil {
		_, _ = l.ledger.Exec(audit.Without(context.WithoutCancel(ctx)), `DELETE FROM upload_parts WHERE upload = $1`,
			u.ID) // Uploads.Prune deletes what this leaves
		return u, fmt.Errorf("save the spreadsheet %s: %w", u.File, err)
	}
	return u, nil
}

func (l *Uploads) keepUpload(ctx context.Context, u *Upload, content io.Reader) error {
	sum := sha256.New()
	var err error
	u.Size, err = l.ledger.SealParts("upload|"+u.ID, io.TeeReader(content, sum), func(part int, sealed []byte) error {
		_, err := l.ledger.Exec(audit.Without(ctx),
			`INSERT INTO upload_parts (upload, part, sealed, at) VALUES ($1,$2,$3,$4)`, u.ID, part, sealed,
			store.ToMillis(u.CreatedAt))
		return err
	})
	if err != nil {
		return err
	}
	u.Hash = hex.EncodeToString(sum.Sum(nil))
	edits, err := l.sealEdits(u)
	if err != nil {
		return err
	}
	return l.ledger.Change(ctx, func(tx *ledger.Tx) error {
		_, err := tx.ExecContext(
			ctx, `INSERT INTO uploads (id, file, size, hash, options, edits, created_by, created_at, changed_at)
				VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$8)`,
			u.ID, u.File, u.Size, u.Hash, string(u.Options), edits, u.CreatedBy, store.ToMillis(u.CreatedAt))
		if err != nil {
			return err
		}
		return approval.ContributeToDraft(ctx, tx, u.ID, u.CreatedBy, approval.PartUpload)
	})
}

func (l *Uploads) sealEdits(u *Upload) (string, error) {
	if len(u.Edits) == 0 {
		return "", nil
	}
	if len(u.Edits) > l.editLimit {
		return "", ErrTooLarge
	}
	return l.ledger.SealText("edits|"+u.ID, u.Edits)
}

// LoadContent reads a whole sheet into memory. It returns ErrNotFound and ErrSealed.
func (l *Uploads) LoadContent(ctx context.Context, id string) ([]byte, error) {
	u, err := l.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	content, err := l.ledger.UnsealParts(ctx, "upload|"+id,
		`SELECT sealed FROM upload_parts WHERE upload = $1 ORDER BY part`, id)
	if err == nil && int64(len(content)) != u.Size {
		// The sheet was deleted a moment ago.
		err = ledger.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read the spreadsheet %s: %w", u.File, err)
	}
	return content, nil
}

const uploadColumns = `id, file, size, hash, options, edits, version, batch, quote, created_by, created_at, changed_at`

func (l *Uploads) find(ctx context.Context, q store.Querier, id string) (Upload, error) {
	u, err := store.Find[Upload](ctx, q, ledger.ErrNotFound, "find the spreadsheet "+id,
		`SELECT `+uploadColumns+` FROM uploads WHERE id = $1`, id)
	if err != nil || len(u.Edits) == 0 {
		return u, err
	}
	u.Edits, err = l.ledger.UnsealText("edits|"+u.ID, string(u.Edits))
	return u, store.Wrap("read the corrections of the spreadsheet "+u.File, err)
}

// Find finds an upload. It returns ErrNotFound if there is none.
func (l *Uploads) Find(ctx context.Context, id string) (Upload, error) {
	return l.find(ctx, l.ledger.Read, id)
}

// List lists the uploads without an open batch, the newest first. It leaves out their edits.
func (l *Uploads) List(ctx context.Context) ([]Upload, error) {
	return store.List[Upload](ctx, l.ledger.Read, "list the spreadsheets",
		`SELECT id, file, size, hash, options, version, batch, quote, created_by, created_at, changed_at
			FROM uploads u
			WHERE NOT EXISTS (SELECT 1 FROM batches b WHERE b.id = u.batch AND b.open = 1)
			ORDER BY created_at DESC, id`)
}

// Count returns the number and the total size in bytes of a person's uploads without an open batch.
func (l *Uploads) Count(ctx context.Context, by string) (n int, size int64, err error) {
	err = l.ledger.Read.QueryRowContext(ctx,
		`SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM uploads u WHERE created_by = $1
		AND NOT EXISTS (SELECT 1 FROM batches b WHERE b.id = u.batch AND b.open = 1)`, by).Scan(&n, &size)
	if err != nil {
		return 0, 0, fmt.Errorf("count the spreadsheets of %s: %w", by, err)
	}
	return n, size, nil
}

// Change changes the options and the corrections of a sheet. A batch that was prepared from it
// before no longer belongs to it. It returns ErrNotFound, and ErrStale if u.Version is outdated or
// the batch waits for approval.
func (l *Uploads) Change(ctx context.Context, u Upload) error {
	return store.Wrap("change the spreadsheet "+u.File, l.ledger.Change(ctx, func(tx *ledger.Tx) error {
		if err := l.saveVersion(ctx, tx, u); err != nil || u.Batch == "" {
			return err
		}
		return dropPrepared(ctx, tx, u.Batch)
	}))
}

// saveVersion saves options and edits as the next version, which has no prepared batch.
func (l *Uploads) saveVersion(ctx context.Context, tx *ledger.Tx, u Upload) error {
	edits, err := l.sealEdits(&u)
	if err != nil {
		return err
	}
	if err := store.RequireChange(ledger.ErrStale)(tx.ExecContext(ctx,
		`UPDATE uploads
			SET options = $3, edits = $4, version = version + 1, batch = '', quote = '', changed_at = $5
			WHERE id = $1 AND version = $2 AND submitted = 0`,
		u.ID, u.Version, string(u.Options), edits, store.ToMillis(l.ledger.Now()))); err != nil {
		return err
	}
	return approval.ContributeToDraft(ctx, tx, u.ID, audit.Person(ctx), approval.PartEdit)
}

// Edit changes the corrections of an upload and tolerates concurrent changes. change gets the
// present sheet inside the transaction and returns the edits and a note for the audit log. The
// prepared batch stays until DropPrepared. Edit returns the sheet in the state before the edit,
// with its new version. It returns ErrNotFound, ErrStale for a sheet that was submitted,
// ErrTooLarge, and the error of change.
func (l *Uploads) Edit(ctx context.Context, id string,
	change func(Upload) (edits []byte, note string, err error)) (Upload, error) {
	var u Upload
	err := l.ledger.Change(ctx, func(tx *ledger.Tx) (err error) {
		if u, err = l.find(ctx, tx, id); err != nil {
			return err
		}
		if u.Batch != "" {
			open, err := store.Find[bool](ctx, tx, nil, "read the batch", `SELECT open FROM batches WHERE id = $1`,
				u.Batch)
			if err == nil && open {
				err = ledger.ErrStale
			}
			if err != nil {
				return err
			}
		}
		after, note := u, ""
		if after.Edits, note, err = change(u); err != nil {
			return err
		}
		if err := audit.SetNote(ctx, tx.Tx, note); err != nil {
			return err
		}
		u.Version++
		return l.saveVersion(ctx, tx, after)
	})
	return u, store.Wrap("change the spreadsheet "+u.File, err)
}

// ErrNotPrepared is returned if the batch that was prepared from a sheet is gone, because it was
// dropped for another sheet with the same rows. The sheet is then prepared again.
var ErrNotPrepared = errors.New("the prepared batch is gone")

// SetPrepared records the batch that was prepared from a version of a sheet, and its quote. It
// returns ErrStale if the version is outdated, and ErrNotPrepared if the batch is gone, in which
// case the sheet has no batch.
func (l *Uploads) SetPrepared(ctx context.Context, id string, version int, batch string, quote []byte) error {
	var there bool
	err := l.ledger.Change(ctx, func(tx *ledger.Tx) error {
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) > 0 FROM batches WHERE id = $1`,
			batch).Scan(&there); err != nil {
			return err
		}
		if !there {
			batch, quote = "", nil
		}
		return store.RequireChange(ledger.ErrStale)(tx.ExecContext(ctx,
			`UPDATE uploads SET batch = $3, quote = $4 WHERE id = $1 AND version = $2 AND submitted = 0`,
			id, version, batch, string(quote)))
	})
	if err == nil && !there {
		err = ErrNotPrepared
	}
	return store.Wrap("record the batch of the spreadsheet "+id, err)
}

// DropPrepared deletes a prepared batch that was not opened and that no sheet refers to any more.
// It keeps any other batch.
func (l *Uploads) DropPrepared(ctx context.Context, batch string) error {
	err := l.ledger.Change(ctx, func(tx *ledger.Tx) error { return dropPrepared(ctx, tx, batch) })
	return store.Wrap("delete the prepared batch "+batch, err)
}

// Delete deletes a sheet, and the batch that was prepared from it unless the batch was opened. It
// returns ErrSubmitted if the batch waits for approval, because its orders are placed once it is
// approved.
func (l *Uploads) Delete(ctx context.Context, id string) error {
	err := l.ledger.Change(ctx, func(tx *ledger.Tx) error {
		var waits bool
		err := tx.QueryRowContext(ctx, `SELECT COUNT(*) > 0 FROM uploads u JOIN batches b ON b.id = u.batch
			WHERE u.id = $1 AND b.open = 1 AND b.approval = 'wanted' AND b.canceled = 0`, id).Scan(&waits)
		if err == nil && waits {
			err = approval.ErrSubmitted
		}
		if err != nil {
			return err
		}
		return dropUpload(ctx, tx, id)
	})
	return store.Wrap("delete the spreadsheet "+id, err)
}

func dropUpload(ctx context.Context, tx *ledger.Tx, id string) error {
	batch, err := store.Find[string](ctx, tx, ledger.ErrNotFound, "find the spreadsheet "+id,
		`SELECT batch FROM uploads WHERE id = $1`, id)
	if err != nil {
		return err
	}
	if err := approval.DeleteDraft(ctx, tx, id); err != nil || batch == "" {
		return err
	}
	return dropPrepared(ctx, tx, batch)
}

// dropPrepared deletes a prepared batch that was not opened and that no upload refers to any more.
func dropPrepared(ctx context.Context, tx *ledger.Tx, batch string) error {
	var used bool
	err := tx.QueryRowContext(ctx, `SELECT COUNT(*) > 0 FROM uploads WHERE batch = $1`, batch).Scan(&used)
	if err != nil || used {
		return err
	}
	return tx.DeletePrepared(ctx, batch)
}

// Prune deletes spreadsheets that were not changed for age, or for a day if their batch was opened
// by other means. It also deletes the parts of incomplete uploads. It returns the number of sheets.
func (l *Uploads) Prune(ctx context.Context, age time.Duration) (int, error) {
	before, yesterday := store.ToMillis(l.ledger.Now().Add(-age)), store.ToMillis(l.ledger.Now().Add(-24*time.Hour))
	dropped := 0
	err := l.ledger.Change(ctx, func(tx *ledger.Tx) error {
		ids, err := store.List[string](ctx, tx, "find old spreadsheets", `SELECT id FROM uploads WHERE (changed_at < $1
			OR changed_at < $2 AND EXISTS (SELECT 1 FROM batches b WHERE b.id = uploads.batch AND b.open = 1))
			AND NOT (submitted = 1 AND EXISTS (SELECT 1 FROM batches b
				WHERE b.id = uploads.batch AND b.approval = 'wanted' AND b.canceled = 0))`, before, yesterday)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := dropUpload(ctx, tx, id); err != nil {
				return err
			}
		}
		dropped = len(ids)
		// An upload in progress has a day to complete.
		_, err = tx.ExecContext(
			ctx, `DELETE FROM upload_parts WHERE at < $1
				AND NOT EXISTS (SELECT 1 FROM uploads u WHERE u.id = upload_parts.upload)`, yesterday)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("delete old spreadsheets: %w", err)
	}
	return dropped, nil
}
