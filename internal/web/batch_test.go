package web

import (
	"testing"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
)

// answered waits until every row of a batch is answered.
func (s *testSite) answered(batch string) ledger.Counts {
	s.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		counts, err := s.Ledger.Counts(s.T.Context(), batch)
		s.must(err)
		if counts[filing.Ready]+counts[filing.Placing] == 0 {
			return counts
		}
		if time.Now().After(deadline) {
			s.Fatal(counts)
		}
	}
}

const someClients = "Company ID,Legal Name,Filing State,Filing Year,User Email\n" +
	"comp_1,<script>alert(1)</script>,DE,2026,ana@example.com\n" +
	"comp_2,=cmd|'/c calc'!A1,DE,2026,ana@example.com\n" +
	"comp_3,Third,DE,26,ana@example.com\n"

// The page of a batch says how it stands, before and after.
func TestBatchPage(t *testing.T) {
	s := newSite(t)
	v := s.as(ledger.Preparer)
	path, body := v.sheet("clients.csv", someClients)
	batch := v.handIn(path, body)
	_, body = v.get("/batches/" + batch)
	v.wants(body, "clients.csv", "nobody places", "Nobody places orders now", "<b>1</b> of 3 rows answered")
	s.place()
	s.answered(batch)
	_, body = v.get("/batches/" + batch)
	v.wants(body, "<b>3</b> of 3 rows answered", "rows to correct", "&lt;script&gt;alert(1)&lt;/script&gt;")
	if status, _ := v.get("/batches/" + batch[:4]); status != 404 {
		t.Errorf("a part of an id: %d", status)
	}
}
