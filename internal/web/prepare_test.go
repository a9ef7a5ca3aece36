package web

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
)

// Two uploads of one file share the batch that is prepared of it. Where one of them is
// edited while the other one is quoted, the other one is prepared again: it does not
// lead to a batch that is gone.
func TestABatchThatAnotherUploadDropped(t *testing.T) {
	var drop atomic.Value // of func()
	s := newSite(t, func(c *Config) {
		ask := c.Ask
		c.Ask = func(ctx context.Context) (pricing.Quoter, error) {
			if f, given := drop.Swap(func() {}).(func()); given {
				f()
			}
			return ask(ctx)
		}
	})
	const content = "Company ID,Entity Type,Formation State,Filing State,Filing Year,User Email\n" +
		"comp_1,LLC,DE,DE,2026,ana@example.com\n"
	v := s.as(ledger.Preparer)
	v.sheet("one.csv", content)
	all := need(s.Ledger.Uploads().List(t.Context()))(s)
	one, dropped := all[0], false
	drop.Store(func() {
		// A change on the page drops the batch a moment later, once nothing leads to it.
		_, err := s.Ledger.Uploads().Edit(t.Context(), one.ID, func(ledger.Upload) ([]byte, string, error) {
			return []byte(`{"edits":[]}`), "", nil
		})
		s.must(err)
		s.must(s.Ledger.Uploads().DropPrepared(t.Context(), one.Batch))
		dropped = true
	})
	path, body := v.sheet("one.csv", content)
	if !dropped {
		t.Fatal("the second upload was not quoted")
	}
	v.wants(body, "DE LLC")
	v.page(path + "/approve")
	two := need(s.Ledger.Uploads().Find(t.Context(), path[len("/sheets/"):]))(s)
	if b, err := s.Ledger.Batch(t.Context(), two.Batch); err != nil || b.ID != one.Batch {
		t.Errorf("%+v, %v", b, err)
	}
}
