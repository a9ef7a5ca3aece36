package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

const twoRefused = "Company ID,Filing State,Filing Year,User Email\n" +
	"comp_1,DE,2026,ana@example.com\ncomp_2,DE,2026,ana@example.com\ncomp_3,DE,26,ana@example.com\n"

// refused submits a sheet of which one row is rejected and one is invalid.
func (s *testSite) refused(v *visitor) (batch string) {
	s.Helper()
	batch = v.submit(v.sheet("clients.csv", twoRefused))
	s.service.Inject(sandbox.Fault{Kind: sandbox.FaultStatus, Status: 422, Company: "comp_2"})
	s.place()
	s.answered(batch)
	s.service.ClearFaults()
	return batch
}

// Rows are corrected in one upload, however often the button is pressed and by
// whom; a row and its correction lead to each other.
func TestCorrectOnce(t *testing.T) {
	s, v := visit(t, ledger.Preparer)
	batch := s.refused(v)
	v.post("/batches/" + batch + "/correct")
	_, body := s.as(ledger.Preparer).post("/batches/" + batch + "/correct")
	uploads, err := s.Ledger.Uploads().List(t.Context())
	if s.must(err); len(uploads) != 1 {
		t.Fatalf("%d uploads", len(uploads))
	}
	v.wants(body, "opened these rows before")
	path := "/sheets/" + uploads[0].ID
	v.prepared(path, gridMark)
	page := v.grid(path, "?show=all")
	if page.Counts.Warnings != 1 || page.Rows[0].Problems[0].Rule != "row.refused-before" {
		t.Errorf("%+v", page.Rows[0])
	}
	row := page.Rows[len(page.Rows)-1].Row // that of comp_3
	year := -1
	for _, c := range page.Columns {
		if c.Header == "Filing Year" {
			year = c.Index
		}
	}
	v.change(path, fmt.Sprintf(`{"id":"%%s","cells":[{"row":%d,"column":%d,"text":"2026"}]}`, row, year))
	body = v.prepared(path, gridMark)
	v.wants(v.page("/batches/"+batch+"/rows/4"), "A correction of this row is not approved yet.")
	correction := v.submit(path, body)
	s.answered(correction)
	v.wants(v.page("/batches/"+batch), `href="/batches/`+correction+`"`, "<b>3</b> placed")
	v.wants(v.page("/batches/"+correction), `href="/batches/`+batch+`"`, "<b>2</b> placed")
	v.wants(v.page("/batches/"+batch+"/rows/4"), "This row was corrected.", `href="/batches/`+correction+`/rows/`, `href="?uploaded"`)
	v.wants(v.page("/batches/"+batch+"/rows/4?uploaded"), "two digits")
	if _, body := v.get("/batches/" + batch + "/rows/2"); strings.Contains(body, "corrected") {
		t.Errorf("a row that was placed at once:\n%s", body)
	}
}

// Rows that no one will correct are dismissed: they need no action any more, keep
// their reason, and are not sent again.
func TestDismissRows(t *testing.T) {
	s, v := visit(t, ledger.Preparer, ledger.Operator)
	batch := s.refused(v)
	v.wants(v.page("/batches/"+batch), "Dismiss 2 rows</button>")
	v.answers(http.StatusConflict, "/batches/"+batch+"/dismiss", "rows", "1")
	v.wants(v.posted("/batches/"+batch+"/dismiss", "rows", "2"), "Dismissed 2 rows. The results show them as skipped, and nothing is ordered.")
	if _, body := v.get("/"); strings.Contains(body, "attention") && strings.Contains(body, "Correct 2 rows") {
		t.Errorf("they still need action:\n%s", body)
	}
	counts, err := s.Ledger.Counts(t.Context(), batch)
	if s.must(err); counts[filing.Skipped] != 2 || counts[filing.Placed] != 1 {
		t.Errorf("%v", counts)
	}
	for number, reason := range map[int]string{3: "422", 4: "two digits"} {
		v.wants(v.page(fmt.Sprintf("/batches/%s/rows/%d", batch, number)), "dismissed by "+v.name, reason)
	}
	v.post("/batches/" + batch + "/retry")
	if counts, err = s.Ledger.Counts(t.Context(), batch); err != nil || counts[filing.Skipped] != 2 {
		t.Errorf("%v, %v", counts, err)
	}
}

// Where a correction of dismissed rows is open, the page does not say that nothing is
// ordered for them: it may be.
func TestDismissRowsWithAnOpenCorrection(t *testing.T) {
	s, v := visit(t, ledger.Preparer)
	batch := s.refused(v)
	v.post("/batches/" + batch + "/correct")
	uploads := need(s.Ledger.Uploads().List(t.Context()))(s)
	v.prepared("/sheets/"+uploads[0].ID, gridMark)
	_, body := v.post("/batches/"+batch+"/dismiss", "rows", "2")
	v.wants(body, "A correction of this batch is still open: what is ready in it is ordered when it is approved.")
	if strings.Contains(body, "nothing is ordered") {
		t.Errorf("the page says that nothing is ordered:\n%s", body)
	}
}
