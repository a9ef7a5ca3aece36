package web

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// filed is a site with a batch whose three filings are filed.
func filed(t *testing.T, change ...func(*Config)) (s *testSite, v *visitor, batch string) {
	t.Setenv("TMPDIR", t.TempDir())
	s = newSite(t, change...)
	s.place()
	v = s.as(account.Preparer)
	batch = v.submit(v.sheet("a \"b\"; ../c.csv", someClients))
	s.answered(batch)
	for _, order := range s.orders(batch) {
		s.tell(s.service.Advance(t.Context(), order, "filed"))
	}
	return s, v, batch
}

// nothingLeft fails where a download has left something on the disk, once its
// handler has come to its end: that is after its last byte.
func (s *testSite) nothingLeft() {
	s.Helper()
	s.until("nothing is left on the disk", func() bool {
		left := need(filepath.Glob(filepath.Join(os.TempDir(), "bulkfiling-page-*")))(s)
		return len(left) == 0
	})
}

func (s *testSite) parcel(body string) map[string]string {
	s.Helper()
	r, err := zip.NewReader(bytes.NewReader([]byte(body)), int64(len(body)))
	s.must(err)
	all := make(map[string]string)
	for _, f := range r.File {
		if !filepath.IsLocal(f.Name) {
			s.Errorf("the name %q leads elsewhere", f.Name)
		}
		all[f.Name] = string(need(io.ReadAll(need(f.Open())(s)))(s))
	}
	return all
}

// Documents come in one zip file, which says of itself what could not be downloaded. One document
// of the batch is sent alone; none of another batch is.
func TestDocuments(t *testing.T) {
	s, v, batch := filed(t)
	all := s.parcel(v.page("/batches/" + batch + "/documents.zip"))
	if len(all) != 4 || strings.Count(all["manifest.csv"], ".pdf") != 3 {
		t.Errorf("%d files, manifest:\n%s", len(all), all["manifest.csv"])
	}
	s.nothingLeft()

	missing := ""
	for d, err := range s.Ledger.Documents().OfBatch(t.Context(), batch) {
		s.must(err)
		missing = d.ID
	}
	if body := v.page("/batches/" + batch + "/documents/" + missing); !strings.HasPrefix(body, "%PDF") {
		t.Errorf("%.200s", body)
	}
	v.gives(http.StatusNotFound, "/batches/"+batch+"/documents/doc_other")
	s.nothingLeft()
	s.service.Inject(sandbox.Fault{
		Kind:     sandbox.FaultStatus,
		Status:   404,
		Endpoint: "GET /documents/*",
		Match:    func(r *http.Request, _ []byte) bool { return strings.HasSuffix(r.URL.Path, missing) },
	})
	all = s.parcel(v.page("/batches/" + batch + "/documents.zip"))
	if len(all) != 4 || !strings.Contains(all[missingFile], "1 document could not be downloaded") ||
		!strings.Contains(all[missingFile], missing) {
		t.Errorf("%d files: %s\n%s", len(all), all[missingFile], all["manifest.csv"])
	}

	// A key that is refused ends it early, and what is there is whole.
	s.service.ClearFaults()
	s.service.Inject(sandbox.Fault{Kind: sandbox.FaultStatus, Status: 401, Endpoint: "GET /documents/*"})
	all = s.parcel(v.page("/batches/" + batch + "/documents.zip"))
	if len(all) != 1 || !strings.Contains(all[missingFile], "3 documents could not be downloaded") {
		t.Errorf("%v", all)
	}
	s.nothingLeft()
	s.acts(4, audit.Query{What: "download", Of: batch, By: v.name})
}

// Results are downloads with harmless names.
func TestDownloads(t *testing.T) {
	s, v, batch := filed(t)
	for path, want := range map[string]string{
		"results.xlsx": "PK", "results.csv": "\ufeffCompany ID,", "next-year.xlsx": "PK",
	} {
		status, body := v.get("/batches/" + batch + "/" + path)
		name := v.answer.Header.Get("Content-Disposition")
		if status != http.StatusOK || !strings.HasPrefix(body, want) ||
			!strings.HasPrefix(name, "attachment; ") || strings.ContainsAny(name, "/\\") ||
			strings.Count(name, `"`) != 2 {
			t.Errorf("%s: %d %s %.60q", path, status, name, body)
		}
		if path == "results.csv" && !strings.Contains(body, "'=cmd|'/c calc'!A1") {
			t.Errorf("a name is a formula:\n%s", body)
		}
	}
	s.nothingLeft()
}
