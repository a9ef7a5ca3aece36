package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// restoreLedger makes the site's ledger one that was restored from a backup of an hour ago.
func (s *testSite) restoreLedger() {
	s.Helper()
	s.must(s.Ledger.HaltRestored(s.Context(), &ledger.Snapshot{At: s.Ledger.Now().Add(-time.Hour), Lineage: "before"},
		&ledger.Restore{By: "olga", Host: "desk", File: "/backups/one.backup"}))
	s.actionFacts.Delete("")
}

// The page of a restored ledger leads from the rows that may have been ordered to orders
// that are sent again; each step says what it risks, and asks for the operator's word.
func TestRestoredLedgerOnThePage(t *testing.T) {
	s := newSite(t)
	v, o, p := s.as(ledger.Roles...), s.as(ledger.Operator), s.as(ledger.Preparer)
	_, body := v.get("/restore")
	v.wants(body, "never restored from a backup", "importer restore FILE")
	_, body = v.get("/settings")
	v.wants(body, "Restore a backup")
	path, body := v.sheet("a.csv", doubtfulClients)
	batch := v.submit(path, body)
	s.restoreLedger()

	_, body = o.get("/settings")
	o.wants(body, "Steps after the restore")
	_, body = o.get("/")
	o.wants(body, "so nothing is sent", `href="/restore"`)
	_, body = o.get("/restore")
	o.wants(body, "Restored from a backup", "by <bdi>olga</bdi> on <bdi>desk</bdi>", "/backups/one.backup",
		"Check 3 rows that may have been ordered", "Send orders again?", "it is bought a second time",
		"/batches/"+batch+"?show=ready#rows")
	_, body = p.get("/restore")
	p.wants(body, "Only an operator can resume sending")
	if strings.Contains(body, "/backups/one.backup") || strings.Contains(body, `action="/restore`) {
		t.Error("a preparer sees what an operator does")
	}

	for path, fields := range map[string][]string{
		"/restore/resume":                            nil,
		"/restore/end-check":                         nil,
		"/restore/batches/" + batch + "/not-ordered": {"rows", "3"},
	} {
		if status, _ := o.post(path, fields...); status != http.StatusUnprocessableEntity {
			t.Errorf("%s without the word: %d", path, status)
		}
	}
	s.isHalted(true)
	if status, _ := o.post("/restore/end-check", "sure", "1"); status != http.StatusConflict {
		t.Errorf("the check ends while rows are left: %d", status)
	}
	_, body = o.post("/restore/resume", "sure", "1")
	o.wants(body, "Orders are sent again", "New rows are held")
	s.isHalted(false)
	_, body = o.get("/batches/" + batch)
	o.wants(body, "may have been ordered before", "Check rows")
	_, body = o.get("/restore")
	o.wants(body, "Check 3 rows")

	if status, _ := o.post("/restore/batches/"+batch+"/not-ordered", "rows", "2", "sure",
		"1"); status != http.StatusConflict {
		t.Errorf("of another number of rows: %d", status)
	}
	_, body = o.post("/restore/mark-uncertain", "batch", batch)
	o.wants(body, "3 rows are now uncertain", "/uncertain?batch="+batch, "Resolve 3 uncertain rows")
	if book := s.book(); book.Reserved == 0 {
		t.Errorf("%+v", book)
	}
	_, body = o.post("/restore/mark-uncertain", "batch", batch)
	o.wants(body, "No row was marked as uncertain.")

	path, body = v.sheet("b.csv", strings.ReplaceAll(doubtfulClients, "comp_", "comp_9"))
	second := v.submit(path, body)
	_, body = o.get("/restore")
	o.wants(body, "submitted since", "Submitted since: 1 batch")
	_, body = o.post("/restore/batches/"+second+"/not-ordered", "rows", "3", "sure", "1")
	o.wants(body, "Marked as not ordered: 3 rows")
	_, body = o.post("/restore/end-check", "sure", "1")
	o.wants(body, "New rows are sent without the check", "Done")
	s.place()
	counts, err := s.Ledger.Counts(t.Context(), second)
	for end := time.Now().Add(2 * time.Minute); err == nil && counts[filing.Placed] < 3 && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
		counts, err = s.Ledger.Counts(t.Context(), second)
	}
	if err != nil || counts[filing.Placed] != 3 {
		t.Errorf("%v, %v", counts, err)
	}
	acts, err := s.Ledger.AuditLog().List(t.Context(), ledger.AuditQuery{By: o.name})
	s.must(err)
	var said []string
	for _, a := range acts {
		said = append(said, a.What)
	}
	if text := strings.Join(said, " "); !strings.Contains(text, "end-check not-ordered mark-uncertain end-restored") {
		t.Errorf("the audit log has %s", text)
	}
}

func (s *testSite) isHalted(want bool) {
	s.Helper()
	h, err := s.Ledger.Fleet().Halt(s.Context())
	if s.must(err); (h.Reason == filing.HaltRestored) != want {
		s.Errorf("%+v", h)
	}
}
