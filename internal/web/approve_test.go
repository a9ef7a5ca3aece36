package web

import (
	"strings"
	"sync"
	"testing"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
)

// wantsApproval returns a site with a batch that waits for a second person, and
// who submitted it.
func wantsApproval(t *testing.T) (s *testSite, asker *visitor, batch string) {
	s = newSite(t)
	s.must(s.Ledger.Approvals().ChangePolicy(t.Context(), ledger.Policy{Second: true}))
	asker = s.as(ledger.Preparer, ledger.Approver)
	path, body := asker.sheet("clients.csv", someClients)
	return s, asker, asker.submit(path, body)
}

// A second person has to approve. Of two who approve at once, one is told that the
// other did.
func TestApproval(t *testing.T) {
	s, asker, batch := wantsApproval(t)
	preparer := s.as(ledger.Preparer)
	_, body := asker.get("/batches/" + batch)
	asker.wants(body, "Waiting for approval", "You uploaded this spreadsheet, so someone else must approve it.")
	if strings.Contains(body, `id="approve"`) {
		t.Error("the asker has the button")
	}
	_, body = preparer.get("/batches/" + batch)
	preparer.wants(body, "Waiting for approval", "Only an approver can approve this batch.")

	plan := s.plan(batch)
	_, body = asker.post("/batches/"+batch+"/approve", "plan", plan)
	asker.wants(body, "Send another approver")

	people := []*visitor{s.as(ledger.Approver), s.as(ledger.Approver)}
	said := make([]string, len(people))
	var both sync.WaitGroup
	for i, p := range people {
		_, body := p.get("/batches/" + batch)
		p.wants(body, `id="approve"`, "3 orders")
		both.Go(func() { _, said[i] = p.post("/batches/"+batch+"/approve", "plan", hidden(body, "plan")) })
	}
	both.Wait()
	b, err := s.Ledger.Batch(t.Context(), batch)
	s.must(err)
	if b.Approval.State != ledger.ApprovalGiven {
		t.Fatal(b.Approval)
	}
	for i, p := range people {
		if b.Approval.By == p.name {
			p.wants(said[i], "Approved 3 orders")
		} else {
			p.wants(said[i], "already approved by "+b.Approval.By)
		}
	}
	acts, err := s.Ledger.AuditLog().List(t.Context(), ledger.AuditQuery{What: "approve"})
	s.must(err)
	if len(acts) != 1 || acts[0].By != b.Approval.By || !strings.Contains(acts[0].Note, "plan "+plan) {
		t.Errorf("%+v", acts)
	}
}

func (s *testSite) plan(batch string) string {
	s.Helper()
	b, err := s.Ledger.Batch(s.Context(), batch)
	s.must(err)
	return b.Approval.Hash
}

// An approval is for what was shown: anything else is shown again, and nothing is sent.
func TestApprovalOfAnotherPlan(t *testing.T) {
	s, _, batch := wantsApproval(t)
	v := s.as(ledger.Approver)
	plan := s.plan(batch)
	s.must(s.Ledger.Approvals().Request(t.Context(), batch, "what it was before"))
	_, body := v.post("/batches/"+batch+"/approve", "plan", "what it was before")
	v.wants(body, "Review the batch", "Nothing was sent", `value="`+plan+`"`)
	counts, err := s.Ledger.Counts(t.Context(), batch)
	s.must(err)
	if counts[filing.Ready] != 3 || s.plan(batch) != plan {
		t.Errorf("%v, %s", counts, s.plan(batch))
	}
	_, body = v.post("/batches/"+batch+"/approve", "plan", plan)
	v.wants(body, "Approved")
	acts, err := s.Ledger.AuditLog().List(t.Context(), ledger.AuditQuery{What: "approve"})
	if err != nil || len(acts) != 1 {
		t.Errorf("%+v, %v", acts, err)
	}
}
