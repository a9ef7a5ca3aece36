package web

import (
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/cache"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// A batch is held back, let go, taken back; what each does is said.
func TestControl(t *testing.T) {
	s := newSite(t)
	// What a form changes is seen at once, however long sums are kept.
	s.figures = cache.New[string](cache.Options[ledger.Figures]{})
	v := s.as(ledger.Preparer)
	batch := v.submit(v.sheet("clients.csv", someClients))
	at := "/batches/" + batch
	v.wants(v.posted(at+"/pause"), "No more rows are sent until someone resumes it", "This batch is paused.", ">Resume batch<")
	v.wants(v.posted(at+"/resume"), "The batch is resumed.", ">Pause batch<", "<b>3 rows</b> are canceled")
	v.wants(v.posted(at+"/cancel"), "Canceled 3 rows. Placed orders stay placed",
		`<span class="badge canceled">Canceled</span>`)
	for _, what := range []string{"pause", "resume", "cancel"} {
		acts := s.acts(ledger.AuditQuery{What: what, Of: batch, By: v.name})
		if len(acts) != 1 {
			t.Errorf("%s: %+v", what, acts)
		}
	}
}

// What the service refused goes again when someone says so, once however often
// the form arrives.
func TestRetry(t *testing.T) {
	s, v := visit(t, ledger.Operator, ledger.Preparer)
	batch := v.submit(v.sheet("clients.csv", someClients))
	s.service.Inject(sandbox.Fault{Kind: sandbox.FaultStatus, Status: 422, Company: "comp_1"})
	s.place()
	if counts := s.answered(batch); counts[filing.Rejected] != 1 {
		t.Fatal(counts)
	}
	v.wants(v.page("/batches/"+batch), "Send 1 rejected row again", "1 rejected by the filing service, 1 invalid and not sent")
	s.service.ClearFaults()
	v.wants(v.posted("/batches/"+batch+"/retry", "once", "this one"), "Ready to send again: 1 rejected row.")
	v.wants(v.posted("/batches/"+batch+"/retry", "once", "this one"), "This was already done")
	if counts := s.answered(batch); counts[filing.Placed] != 3 {
		t.Error(counts)
	}
}
