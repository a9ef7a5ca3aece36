package web

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// wantsApproval returns a site with a batch that waits for a second person, and
// who submitted it.
func wantsApproval(t *testing.T, change ...func(*Config)) (s *testSite, asker *visitor, batch string) {
	s = newSite(t, change...)
	s.must(approval.New(s.Ledger).ChangePolicy(t.Context(), approval.Policy{Second: true}))
	asker = s.as(account.Preparer, account.Approver)
	path, body := asker.sheet("clients.csv", someClients)
	return s, asker, asker.submit(path, body)
}

// A second person has to approve. Of two who approve at once, one is told that the
// other did.
func TestApproval(t *testing.T) {
	s, asker, batch := wantsApproval(t)
	preparer := s.as(account.Preparer)
	_, body := asker.get("/batches/" + batch + "/approve")
	asker.wants(body, "Waiting for approval", "You uploaded this spreadsheet, so someone else must approve it.")
	s.lacks(body, `id="approve"`)
	preparer.wants(preparer.page("/batches/"+batch+"/approve"), "Waiting for approval",
		"Only an approver can approve this batch.")

	plan := s.plan(batch)
	asker.wants(asker.posted("/batches/"+batch+"/approve", "plan", plan),
		"so someone else must approve it. Nothing was sent.")

	people := []*visitor{s.as(account.Approver), s.as(account.Approver)}
	pages, said := make([]string, len(people)), make([]string, len(people))
	for i, p := range people {
		_, pages[i] = p.get("/batches/" + batch + "/approve")
		p.wants(pages[i], `id="approve"`, "3 orders")
	}
	var both sync.WaitGroup
	for i, p := range people {
		both.Go(func() { _, said[i] = p.post("/batches/"+batch+"/approve", "plan", hidden(pages[i], "plan")) })
	}
	both.Wait()
	b := need(s.Ledger.Batch(t.Context(), batch))(s)
	if b.Approval.State != ledger.ApprovalGiven {
		t.Fatal(b.Approval)
	}
	for i, p := range people {
		if b.Approval.By == p.name {
			p.wants(said[i], "Approved 3 orders")
		} else {
			p.wants(said[i], "Nothing here waits for approval")
		}
	}
	if act := s.acts(1, audit.Query{What: "approve"})[0]; act.By != b.Approval.By ||
		!strings.Contains(act.Note, "plan "+plan) {
		t.Errorf("%+v", act)
	}
}

func (s *testSite) plan(batch string) string {
	s.Helper()
	b := need(s.Ledger.Batch(s.Context(), batch))(s)
	return b.Approval.Plan
}

// An approval is for what was shown: anything else is shown again, and nothing is sent.
func TestApprovalOfAnotherPlan(t *testing.T) {
	s, _, batch := wantsApproval(t)
	v := s.as(account.Approver)
	plan := s.plan(batch)
	s.must(approval.New(s.Ledger).Request(t.Context(), batch, "what it was before"))
	v.wants(v.posted("/batches/"+batch+"/approve", "plan", "what it was before"), "The rows or the cost changed",
		"Nothing was sent")
	v.wants(v.page("/batches/"+batch+"/approve"), `value="`+plan+`"`)
	counts := need(s.Ledger.Figures(t.Context(), batch))(s).Counts
	if counts[filing.Ready] != 3 || s.plan(batch) != plan {
		t.Errorf("%v, %s", counts, s.plan(batch))
	}
	v.wants(v.posted("/batches/"+batch+"/approve", "plan", plan), "Approved")
	s.acts(1, audit.Query{What: "approve"})
}

// texts of pages without their elements, for figures that stand in several of them.
var elements = regexp.MustCompile(`<[^>]*>`)

// The page of a draft and of its batch say the same: every line and column of the
// cost, what rests on what, the balance before and after, what will wait for a
// deposit, and what is not included.
func TestTheApprovalPage(t *testing.T) {
	s := newSite(t)
	s.must(approval.New(s.Ledger).ChangePolicy(t.Context(), approval.Policy{Second: true}))
	s.must(s.Ledger.Entries().RecordDeposit(t.Context(), 30_00, "check 1"))
	v := s.as(account.Preparer)
	path, body := v.sheet("clients.csv", "Company ID,Entity Type,Formation State,Filing State,Filing Year,User Email\n"+
		"comp_1,LLC,DE,DE,2026,ana@example.com\ncomp_2,LLC,DE,DE,2026,ana@example.com\n"+
		"comp_3,LLC,DE,DE,26,ana@example.com\ncomp_2,LLC,DE,DE,2026,ana@example.com\n")
	v.wants(body, `href="`+path+`/approve"`)
	q := need(quoteOf(s.draftOf(path)))(s)
	sum := q.Summary()
	said := []string{sum.ServiceSum(), sum.FeeSum(), sum.TotalSum(), "checked Nov 2026",
		"$30.00", (30_00 - q.Total.Amount).Dollars(),
		"Insufficient funds; you need " + (q.Total.Amount - 30_00).Dollars() + " more.", "1 row with errors",
		"1 skipped", "Filings can't be undone.", "yearly subscription"}
	for _, l := range sum.Lines {
		said = append(said, "Annual report, "+l.Name, l.ServiceText(), l.FeeText(), l.TotalText())
	}
	_, body = v.get(path + "/approve")
	v.wants(body, append(said, "Submit 2 orders for approval, "+q.TotalText(), "An approver reviews it")...)
	s.times(1, body, "can't be undone")
	if n := strings.Count(body, `"primary`) + strings.Count(body, ` primary"`); n != 1 {
		t.Errorf("%d primary buttons", n)
	}
	v.wants(body, "data-print", "Uploaded by", q.Plan)
	batch := v.submit(path, body)
	a := s.as(account.Approver)
	_, body = a.get("/batches/" + batch + "/approve")
	a.wants(body, append(said, "Batch "+batch, "Approve 2 orders, "+q.TotalText(), "Send back…", "Reject…")...)
	if n := strings.Count(body, `"primary`) + strings.Count(body, ` primary"`); n != 1 {
		t.Errorf("%d primary buttons", n)
	}
	v.lacks(body, " due .")
	v.wants(elements.ReplaceAllString(body, " "), "submitted 2 orders, "+q.Total.String())
	_, body = s.as(account.Auditor).get("/batches/" + batch + "/approve")
	v.lacks(body, `id="approve"`, "Send back")
}

// A batch that is sent back is a draft again, with the comment; corrected, and submitted
// again, it needs an approval of its own. One that is rejected is canceled, and its results
// say who rejected it and why.
func TestRefusedApproval(t *testing.T) {
	s, asker, batch := wantsApproval(t)
	a := s.as(account.Approver)
	a.wants(a.posted("/batches/"+batch+"/send-back", "comment", "  "), "Enter a comment")
	a.wants(a.posted("/batches/"+batch+"/send-back", "comment", "Leave out <Ada>."), "Sent back to "+asker.name)
	back, err := approval.New(s.Ledger).ListSentBack(t.Context())
	if s.must(err); len(back) != 1 || back[0].By != a.name {
		t.Fatalf("%+v", back)
	}
	path := "/sheets/" + back[0].Upload
	asker.wants(asker.page("/"), "was sent back: Leave out &lt;Ada&gt;.", `href="`+path+`"`)
	_, body := asker.get(path)
	asker.wants(body, "Leave out &lt;Ada&gt;.", "sent it back", "Continue to approval")
	again := asker.submit(path, body)
	a.wants(a.page("/batches/"+again+"/approve"), "Leave out &lt;Ada&gt;.", "Approve ")

	a.wants(a.posted("/batches/"+again+"/reject", "comment", "The client left."), "Rejected. 3 rows canceled",
		"The client left.")
	a.post("/batches/"+again+"/approve", "plan", s.plan(again))
	if b, err := s.Ledger.Batch(t.Context(), again); err != nil || !b.Canceled ||
		b.Approval.State == ledger.ApprovalGiven {
		t.Errorf("%+v, %v", b, err)
	}
	asker.wants(asker.page("/batches/"+again+"/approve"), "rejected it", "The client left.", "Canceled")
	asker.wants(asker.page("/batches/"+again+"/results.csv"),
		"not approved by "+a.name+", nothing was sent: The client left.")
	if acts := s.acts(1, audit.Query{What: "reject"}); acts[0].By != a.name {
		t.Errorf("%+v", acts)
	}
}

// Operators set where links and messages to people go.
func TestEmailIsSet(t *testing.T) {
	s := newSite(t)
	o, a := s.as(account.Operator), s.as(account.Approver)
	path := "/settings/accounts/" + mustAccount(s, a.name).ID + "/email"
	o.answers(http.StatusUnprocessableEntity, path, "email", "not an address")
	o.wants(o.posted(path, "email", "vera@example.com"), `value="vera@example.com"`)
	if got := mustAccount(s, a.name); got.Email != "vera@example.com" {
		t.Errorf("%+v", got)
	}
}

// waitsAt has a row wait for the approval of a cost that is so much higher.
func (s *testSite) waitsAt(row ledger.Row, more money.Cents) {
	s.Helper()
	row.Cost.Amount += more
	begun, err := s.Ledger.Begin(s.Context(), ledger.Intent{Row: row.ID, LastAttempt: row.LastAttempt, Cost: row.Cost})
	if s.must(err); !begun.Dearer {
		s.Fatalf("%+v", begun)
	}
}

// The forms of a new cost are for the rows and the costs that were shown: the same
// number of rows with the same sum is shown again.
func TestANewCostIsApprovedAsShown(t *testing.T) {
	s, _, batch := wantsApproval(t)
	v := s.as(account.Approver)
	path := "/batches/" + batch
	v.wants(v.posted(path+"/approve-costs", "plan", "", "rows", "0", "cents", "0"), "Nothing here waits for approval")
	v.post(path+"/approve", "plan", s.plan(batch))
	v.wants(v.posted(path+"/approve-costs", "plan", "", "rows", "0", "cents", "0"), "Nothing here waits for approval")
	var rows []ledger.Row
	for row, err := range s.Ledger.Rows(t.Context(), batch) {
		if s.must(err); row.Result == filing.Ready {
			rows = append(rows, row)
		}
	}
	s.waitsAt(rows[0], 100_00)
	_, shown := v.get(path + "/approve")
	looked := need(approval.New(s.Ledger).CostIncrease(t.Context(), batch))(s)
	v.wants(v.posted(path+"/approve-costs", "plan", looked.Plan), "Approved 1 row for")
	s.waitsAt(rows[1], 100_00) // as many rows at the same sum
	now, err := approval.New(s.Ledger).CostIncrease(t.Context(), batch)
	if s.must(err); now.Rows != looked.Rows || now.Cost != looked.Cost {
		t.Fatalf("%+v, was %+v", now, looked)
	}
	form := regexp.MustCompile(`(?s)/approve-costs".*?</form>`).FindString(shown)
	stale := []string{
		"plan", hidden(form, "plan"), "rows", strconv.Itoa(now.Rows),
		"cents", strconv.FormatInt(int64(now.Cost.Amount), 10),
	}
	v.wants(v.posted(path+"/approve-costs", stale...), "The rows or the cost changed", "nothing was approved")
	if same, err := approval.New(s.Ledger).CostIncrease(t.Context(), batch); err != nil || same != now {
		t.Errorf("%+v, %v", same, err)
	}
	form = regexp.MustCompile(`(?s)/approve-costs".*?</form>`).FindString(v.page(path + "/approve"))
	v.wants(v.posted(path+"/approve-costs", "plan", hidden(form, "plan")), "Approved 1 row for")
}

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
	w.one, w.second, w.helper = w.as(account.Roles...), w.as(account.Approver), w.as(account.Preparer)
	w.place()
	return w
}

// drain waits until what may be placed is.
func (w *walk) drain() {
	w.Helper()
	ctx := w.Context()
	w.until("what may be placed is", func() bool {
		ids := need(w.Ledger.Backlog().ListSendable(ctx, "", 1))(w)
		batches, err := w.Ledger.Batches(ctx)
		w.must(err)
		placing := 0
		for _, b := range batches {
			counts := need(w.Ledger.Figures(ctx, b.ID))(w).Counts
			placing += counts[filing.Placing]
		}
		return len(ids)+placing == 0
	})
}

// sent is how many orders the service was sent.
func (w *walk) sent() int { return w.service.Books().Requests["POST /orders"] }

func (w *walk) policy(p approval.Policy) { w.must(approval.New(w.Ledger).ChangePolicy(w.Context(), p)) }

// approves has someone approve all that waits.
func (w *walk) approves(v *visitor) {
	w.Helper()
	batches := need(w.Ledger.Batches(w.Context()))(w)
	for _, b := range batches {
		all := need(intake.ListWarnings(w.Context(), w.Ledger, b, 0))(w)
		v.post("/batches/"+b.ID+"/approve", "plan", w.plan(b.ID), "warnings", all.Hash)
		c := need(approval.New(w.Ledger).CostIncrease(w.Context(), b.ID))(w)
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
			const fix = `{"id":"%s","cells":[{"row":2,"column":2,"text":"2026","was":"26"}]}`
			for _, change := range []string{fix, `{"id":"%s","undo":0}`, fix} {
				w.one.change(path, change)
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
			rows, err := w.Ledger.Resolutions().UncertainRows(w.Context(), "")
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
	policy := approval.Policy{Second: true, From: money.Cents(1)}
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

// If the balance is short, the person who approves chooses which orders go first. The sequence that
// avoids the most late fees is proposed.
func TestApproval_ChoosesWhichOrdersGoFirst(t *testing.T) {
	for first, want := range map[string]string{"": "4", "late-fees": "4", "due-date": "2"} {
		s := newSite(t)
		s.must(s.Ledger.Entries().RecordDeposit(t.Context(), 200_00, ""))
		v := s.as(account.Preparer)
		year := strconv.Itoa(time.Now().Year() + 1)
		path, body := v.sheet("a.csv", "Company ID,Entity Type,Formation State,Filing State,Filing Year,User Email\n"+
			"comp_1,LLC,AR,AR,"+year+",ana@example.com\ncomp_2,LLC,AR,AR,"+year+",ana@example.com\n"+
			"comp_3,LLC,FL,FL,"+year+",ana@example.com\n")
		v.wants(body, "Insufficient funds; you need $323.75 more.", "Which orders go first?",
			`name="first" value="late-fees" checked`, "$200 files 1 of 3; this order avoids $400 in late fees.",
			"$200 files 1 of 3; this order avoids $25 in late fees.",
			"FL LLC: $400.00 from May 2, "+year+" (a copy of dos.fl.gov)")
		fields := []string{"version", hidden(body, "version"), "plan", hidden(body, "plan"), "warnings",
			checkbox(t, body, "warnings")}
		v.wants(v.posted(path+"/submit", append(fields, "first", first)...), "Submitted. The orders are being placed.")
		b := need(s.Ledger.Batch(t.Context(), ""))(s)
		for row, err := range s.Ledger.Rows(t.Context(), b.ID) {
			if s.must(err); (row.BlockedOn == "") != (strconv.Itoa(row.Number) == want) {
				t.Errorf("first %q: row %d waits for %q", first, row.Number, row.BlockedOn)
			}
		}
	}
}
