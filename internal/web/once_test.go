package web

import (
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// way is one way on the page to an order, on which one person alone tries to have it
// sent. Before has what other people did, which may leave orders behind.
type way struct {
	name   string
	before func(*walk)
	one    func(*walk)
}

// walk is a site with a person who has every role and others who have one.
type walk struct {
	*testSite
	one    *visitor
	second *visitor // an approver
	helper *visitor // a preparer
}

func newWalk(t *testing.T) *walk {
	w := &walk{testSite: newSite(t)}
	w.one, w.second, w.helper = w.as(ledger.Roles...), w.as(ledger.Approver), w.as(ledger.Preparer)
	w.place()
	return w
}

// drain waits until what may be placed is.
func (w *walk) drain() {
	w.Helper()
	ctx := w.Context()
	w.until("what may be placed is", func() bool {
		ids := need(w.Ledger.Sendable(ctx, "", 1))(w)
		batches, err := w.Ledger.Batches(ctx)
		w.must(err)
		placing := 0
		for _, b := range batches {
			counts := need(w.Ledger.Counts(ctx, b.ID))(w)
			placing += counts[filing.Placing]
		}
		return len(ids)+placing == 0
	})
}

// sent is how many orders the service was sent.
func (w *walk) sent() int { return w.service.Books().Requests["POST /orders"] }

func (w *walk) policy(p ledger.Policy) { w.must(w.Ledger.Approvals().ChangePolicy(w.Context(), p)) }

// approves has someone approve all that waits.
func (w *walk) approves(v *visitor) {
	w.Helper()
	batches := need(w.Ledger.Batches(w.Context()))(w)
	for _, b := range batches {
		all := need(jobs.ListWarnings(w.Context(), w.Ledger, b, 0))(w)
		v.post("/batches/"+b.ID+"/approve", "plan", w.plan(b.ID), "warnings", all.Hash)
		c := need(w.Ledger.Approvals().CostIncrease(w.Context(), b.ID))(w)
		v.post("/batches/"+b.ID+"/approve-costs", "plan", c.Plan)
	}
}

// sheet has someone upload and submit a spreadsheet of one filing.
func (w *walk) submits(v *visitor, company string) string {
	w.Helper()
	path, body := v.sheet(company+".csv",
		"Company ID,Filing State,Filing Year,User Email\n"+company+",DE,2026,ana@example.com\n")
	return v.submit(path, body)
}

// sentBack has a person send a batch back.
func (w *walk) sentBack(batch string, v *visitor) {
	w.Helper()
	v.post("/batches/"+batch+"/send-back", "comment", "Check the year.")
	if b, err := w.Ledger.Batch(w.Context(), batch); err != nil || b.Open {
		w.Fatalf("%+v was not sent back: %v", b, err)
	}
}

// ways are the ways on the page on which it says who took part, but for company lists: the ledger's tests
// have those.
var ways = []way{
	{
		name:   "sent back, and submitted by another",
		before: func(w *walk) { w.sentBack(w.submits(w.one, "comp_1"), w.second) },
		one: func(w *walk) {
			path := "/sheets/" + w.uploaded().ID
			_, body := w.helper.get(path)
			w.helper.submit(path, w.helper.prepared(path, body))
		},
	},
	{
		name: "corrected by another than who uploads and submits",
		one: func(w *walk) {
			path, _ := w.helper.sheet("a.csv",
				"Company ID,Filing State,Filing Year,User Email\ncomp_1,DE,26,ana@example.com\n")
			for range 2 {
				w.one.json(path+"/grid/changes", `{"id":"%s","undo":0}`, nil)
				w.one.change(path, `{"id":"%s","cells":[{"row":2,"column":2,"text":"2026","was":"26"}]}`)
			}
			w.helper.submit(path, w.helper.prepared(path, gridMark))
		},
	},
	{
		name: "uploaded by another than who submits",
		one: func(w *walk) {
			path, body := w.one.sheet("a.csv",
				"Company ID,Filing State,Filing Year,User Email\ncomp_1,DE,2026,ana@example.com\n")
			w.helper.submit(path, body)
		},
	},
	{
		name: "correction of a batch that others placed",
		before: func(w *walk) {
			path, body := w.helper.sheet("a.csv",
				"Company ID,Filing State,Filing Year,User Email\n"+
					"comp_1,DE,2026,ana@example.com\ncomp_2,DE,26,ana@example.com\n")
			w.helper.submit(path, body)
			w.approves(w.second)
			w.drain()
		},
		one: func(w *walk) {
			b := need(w.Ledger.Batch(w.Context(), ""))(w)
			_, body := w.one.post("/batches/" + b.ID + "/correct")
			path := "/sheets/" + w.uploaded().ID
			w.one.prepared(path, body)
			w.one.change(path, `{"id":"%s","cells":[{"row":2,"column":2,"text":"2026","was":"26"}]}`)
			w.one.submit(path, w.one.prepared(path, gridMark))
		},
	},
	{
		name: "a row marked as not placed",
		before: func(w *walk) {
			w.service.Inject(sandbox.Fault{Kind: sandbox.FaultReset})
			w.submits(w.one, "comp_1")
			w.approves(w.second)
			w.drain()
			w.service.ClearFaults()
		},
		one: func(w *walk) {
			rows, err := w.Ledger.UncertainRows(w.Context(), "")
			if w.must(err); len(rows) != 1 {
				w.Fatalf("%d uncertain rows", len(rows))
			}
			_, page := w.one.decide(rows[0], "not placed", "")
			w.one.confirm(rows[0].Batch, page)
		},
	},
}

// Under the policy one person alone, whatever roles they have, has no order sent in any
// way on which the page says who took part; with a second person it is sent. The ledger's
// tests prove the same for rows that are sent again, for company lists and for links between accounts.
func TestNobodyPlacesAlone(t *testing.T) {
	policy := ledger.Policy{Second: true, From: money.Cents(1)}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			w := newWalk(t)
			w.policy(policy)
			if way.before != nil {
				way.before(w)
			}
			w.policy(policy)
			before := w.sent()
			way.one(w)
			w.approves(w.one)
			w.drain()
			if n := w.sent() - before; n != 0 {
				t.Errorf("one person alone had %d orders sent", n)
			}
			w.approves(w.second)
			w.drain()
			if w.sent() == before {
				t.Error("two people had no order sent")
			}
		})
	}
}
