package ledger_test

import (
	"bytes"
	"crypto/rand"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

func TestOriginals(t *testing.T) { onBothDatabases(t, testOriginals) }

// The spreadsheet of a batch is sealed part by part, comes back as it was, and
// goes with its batch.
func testOriginals(s *suite) {
	l, ctx := s.open(), s.Context()
	_, err := l.Originals().Load(ctx, "b")
	s.wantErr(err, ledger.ErrNotFound)
	content := make([]byte, 2<<20+17)
	rand.Read(content)
	copy(content, "a line\nthe name of a client")
	o := ledger.Original{Sheet: "Clients", HeaderRow: 4, Width: 3, Used: 5, Added: 1, At: []int{0, -1, 1}}
	s.must(l.Originals().Save(ctx, "b", o, strings.NewReader("an import that broke off")))
	s.must(l.Originals().Save(ctx, "b", o, bytes.NewReader(content)))
	got, err := l.Originals().Load(ctx, "b")
	if s.must(err); !bytes.Equal(got.Content, content) || got.Sheet != "Clients" || got.HeaderRow != 4 ||
		!slices.Equal(got.At, o.At) {
		s.Errorf("%+v", got.Sheet)
	}
	for i, want := range []int{0, -1, 1, 4, 5} {
		if at := got.Column(i); at != want {
			s.Errorf("column %d is %d of the batch, want %d", i, at, want)
		}
	}
	var open int
	s.must(s.sql().QueryRowContext(ctx, `SELECT COUNT(*) FROM originals WHERE part = 0`).Scan(&open))
	if open != 1 {
		s.Errorf("%d first parts", open)
	}
	// A batch that was never opened takes its spreadsheet with it.
	_, err = l.CreateBatch(ctx, ledger.Batch{ID: "b", File: "a.xlsx", CreatedBy: "ana"})
	s.must(err)
	s.must(l.PrepareBatch(ctx, "b"))
	s.must(intake.NewUploads(l).DropPrepared(ctx, "b"))
	_, err = l.Originals().Load(ctx, "b")
	s.wantErr(err, ledger.ErrNotFound)
}
