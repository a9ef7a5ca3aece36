package intake

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
)

// TestUploads_EditLimit checks that the edits of a draft are bounded.
func TestUploads_EditLimit(t *testing.T) {
	ledgertest.OnBoth(t, func(t *testing.T, database string) {
		const limit = 1000
		ctx := t.Context()
		uploads := NewUploads(ledgertest.Open(t, ledger.Config{DatabaseURL: database}))
		uploads.editLimit = limit
		u, err := uploads.Add(ctx, Upload{File: "a.csv", CreatedBy: "ana"}, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		large := func(size int) error {
			_, err := uploads.Edit(ctx, u.ID, func(Upload) ([]byte, string, error) {
				return bytes.Repeat([]byte("x"), size), "", nil
			})
			return err
		}
		if err := large(limit); err != nil {
			t.Fatal(err)
		}
		if err := large(limit + 1); !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
		now, err := uploads.Find(ctx, u.ID)
		if err != nil || len(now.Edits) != limit || now.Version != u.Version+1 {
			t.Errorf("%d bytes in version %d: %v", len(now.Edits), now.Version, err)
		}
		now.Edits = bytes.Repeat([]byte("x"), limit+1)
		if err := uploads.Change(ctx, now); !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
	})
}
