package web

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// Addresses that earlier versions gave out lead to the same pages.
func TestAddressesOfEarlierVersions(t *testing.T) {
	s := newSite(t)
	v := s.as(ledger.Preparer, ledger.Operator)
	path, _ := v.sheet("clients.csv",
		"Company ID,Legal Name,Filing State,Filing Year,User Email\ncomp_1,x,QQ,2026,ana@example.com\n")
	for _, name := range []string{"/highlighted"} {
		if status, body := v.get(path + name); status != http.StatusOK || !bytes.HasPrefix([]byte(body), []byte("PK")) {
			t.Errorf("%s: %d", name, status)
		}
	}

	s.must(s.Ledger.AuditLog().Record(t.Context(), ledger.AuditEvent{By: "ana", What: "hand-in", Of: "b7k2"}))
	for _, what := range []string{"submit", "hand-in"} {
		v.wants(v.page("/audit?what="+what), `value="submit" selected`, ">Submitted a batch</", "b7k2")
	}
}
