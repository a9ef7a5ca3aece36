package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
)

// A draft is rehearsed beside its approval. The filing service gets nothing, and the workbook is of
// this version only.
func TestRehearsal(t *testing.T) {
	s, v := visit(t, account.Preparer)
	path, body := v.sheet("clients.csv", someClients)
	v.wants(body, path+"/rehearse", "Nothing is filed or charged.")
	other, otherBody := v.sheet("others.csv", strings.ReplaceAll(someClients, "comp_", "comp_9"))
	if status, _ := v.get(path + "/rehearsal"); status != http.StatusNotFound {
		t.Errorf("a workbook before the rehearsal: %d", status)
	}
	before := s.service.Books().Requests
	v.wants(v.posted(path+"/rehearse", "version", hidden(body, "version")), "The rehearsal has started.")
	v.wants(v.posted(other+"/rehearse", "version", hidden(otherBody, "version")), "Another rehearsal is running.")
	v.until("the rehearsal has ended", func() bool {
		_, body = v.get(path + "/approve")
		return !strings.Contains(body, "Rehearsing")
	})
	v.wants(body, "Rehearsal: 4 rows, 3 orders, 0 twice.", "3 placed", "Rehearse again", path+"/rehearsal")
	s.lacks(v.page(other+"/approve"), "0 twice")
	if status, content := v.get(path + "/rehearsal"); status != http.StatusOK || !strings.HasPrefix(content, "PK") {
		t.Errorf("no workbook: %d", status)
	}
	if after := s.service.Books(); len(after.Orders) > 0 || after.Requests["POST /orders"] != before["POST /orders"] {
		t.Errorf("the filing service got %v", after.Requests)
	}
	s.acts(1, audit.Query{What: "rehearse"})
}
