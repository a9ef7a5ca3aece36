package web

import (
	"context"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// way is one way on the page to an order. Before has what other people have done
// when one person, who has every role, begins; it may leave orders behind. One is
// what that person does, beyond which they try everything that lets a batch go.
type way struct {
	name   string
	uses   []string // the routes that are on it
	before func(*walk)
	one    func(*walk)
}

// walk is a site on which one person alone tries to have an order sent.
type walk struct {
	*testSite
	later  time.Duration // what the schedules' clock is ahead
	one    *visitor      // has every role
	second *visitor      // an approver
	helper *visitor      // a preparer
	posts  int           // orders that the service was sent before
}

func newWalk(t *testing.T) *walk {
	w := &walk{}
	w.testSite = newSite(t, func(c *Config) {
		c.Seasons = schedule.New(schedule.Config{
			Ledger: c.Ledger,
			Quoter: c.Ask,
			By:     "a schedule",
			Log:    c.Log,
			Now:    func() time.Time { return time.Now().Add(w.later) },
		})
	})
	w.one, w.second, w.helper = w.as(ledger.Roles...), w.as(ledger.Approver), w.as(ledger.Preparer)
	return w
}

// drain places what may be placed.
func (w *walk) drain() {
	w.Helper()
	ctx := w.Context()
	queue, err := jobs.OpenQueue("")
	w.must(err)
	quoter, err := w.Ask(ctx)
	w.must(err)
	worker, err := jobs.Start(ctx, jobs.Config{
		Service:      w.client,
		Ledger:       w.Ledger,
		Queue:        queue,
		Quoter:       quoter,
		Concurrency:  8,
		DrainTimeout: 10 * time.Second,
		Log:          slog.New(slog.DiscardHandler),
	})
	w.must(err)
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		ids, err := w.Ledger.Sendable(ctx, "", 1)
		w.must(err)
		batches, err := w.Ledger.Batches(ctx)
		w.must(err)
		placing := 0
		for _, b := range batches {
			counts, err := w.Ledger.Counts(ctx, b.ID)
			w.must(err)
			placing += counts[filing.Placing]
		}
		if len(ids)+placing == 0 {
			break
		}
		if time.Now().After(deadline) {
			w.Fatal("it does not come to an end")
		}
	}
	worker.Stop()
	w.must(queue.Close())
}

// sent is how many orders the service was sent.
func (w *walk) sent() int { return w.service.Books().Requests["POST /orders"] }

func (w *walk) policy(p ledger.Policy) { w.must(w.Ledger.Approvals().ChangePolicy(w.Context(), p)) }

// approves has someone approve all that waits, by every form there is for it.
func (w *walk) approves(v *visitor) {
	w.Helper()
	batches, err := w.Ledger.Batches(w.Context())
	w.must(err)
	for _, b := range batches {
		v.post("/batches/"+b.ID+"/approve", "plan", w.plan(b.ID), "warnings", w.warnings(b))
		c, err := w.Ledger.Approvals().CostIncrease(w.Context(), b.ID)
		w.must(err)
		v.post("/batches/"+b.ID+"/approve-costs", "plan", c.Plan)
	}
}

func (w *walk) warnings(b ledger.Batch) string {
	all, err := jobs.ListWarnings(w.Context(), w.Ledger, b, 0)
	w.must(err)
	return all.Hash
}

// tries has one person use all that may let a batch go.
func (w *walk) tries(v *visitor) {
	w.Helper()
	batches, err := w.Ledger.Batches(w.Context())
	w.must(err)
	w.approves(v)
	for _, what := range []string{"retry", "pause", "resume"} {
		for _, b := range batches {
			v.post("/batches/" + b.ID + "/" + what)
		}
	}
	v.post("/balance/ask")
	v.post("/settings/firm") // a weaker policy lets nothing go that waits
	w.approves(v)
}

// sheet has someone upload and submit a spreadsheet of one filing.
func (w *walk) submits(v *visitor, company string) string {
	w.Helper()
	path, body := v.sheet(company+".csv",
		"Company ID,Filing State,Filing Year,User Email\n"+company+",DE,2026,ana@example.com\n")
	return v.submit(path, body)
}

// adds has someone add a schedule on the page.
func (w *walk) adds(v *visitor, name string, roster []byte) {
	w.Helper()
	status, body, _ := v.upload("/seasons", "roster.csv", roster, "name", name, "when", "date",
		"month", "1", "day", "15", "time", "06:00", "zone", "UTC",
		"year", "this", "product", "annual-report", "approval", "no")
	if status != http.StatusOK {
		w.Fatalf("%d\n%s", status, body)
	}
}

// clock has a year go by, and the schedules run.
func (w *walk) clock() {
	w.Helper()
	w.later += 366 * 24 * time.Hour
	w.must(w.Seasons.RunDue(w.Context()))
}

// link makes a sign-in link on the page and returns its secret.
func (w *walk) link(v *visitor, name string) string {
	w.Helper()
	account, err := w.Ledger.Accounts().Find(w.Context(), name)
	w.must(err)
	_, body := v.post("/settings/accounts/" + account.ID + "/link")
	_, link, found := strings.Cut(body, "/enter?link=")
	if !found {
		w.Fatalf("no link\n%s", body)
	}
	secret, _, _ := strings.Cut(link, "<")
	return html.UnescapeString(secret)
}

// enters comes by a link.
func (w *walk) enters(secret string) *visitor {
	w.Helper()
	v := w.nobody()
	v.send("/enter", url.Values{"link": {secret}})
	return v
}

// sentBack has a person send a batch back.
func (w *walk) sentBack(batch string, v *visitor) {
	w.Helper()
	v.post("/batches/"+batch+"/send-back", "comment", "Check the year.")
	if b, err := w.Ledger.Batch(w.Context(), batch); err != nil || b.Open {
		w.Fatalf("%+v was not sent back: %v", b, err)
	}
}

// ways are all ways on the page to an order.
var ways = []way{
	{
		name: "upload",
		uses: []string{"POST /sheets", "POST /sheets/{sheet}/columns", "POST /sheets/{sheet}/quote",
			"POST /sheets/{sheet}/submit",
			"POST /batches/{batch}/approve", "POST /batches/{batch}/pause", "POST /batches/{batch}/resume",
			"POST /settings/firm", "POST /balance/ask"},
		one: func(w *walk) { w.submits(w.one, "comp_1") },
	},
	{
		name:   "sent back, and submitted by another",
		uses:   []string{"POST /batches/{batch}/send-back"},
		before: func(w *walk) { w.sentBack(w.submits(w.one, "comp_1"), w.second) },
		one: func(w *walk) {
			uploads, err := w.Ledger.Uploads().List(w.Context())
			w.must(err)
			path := "/sheets/" + uploads[0].ID
			_, body := w.helper.get(path)
			w.helper.submit(path, w.helper.prepared(path, body))
		},
	},
	{
		name: "sent back by oneself",
		one: func(w *walk) {
			batch := w.submits(w.one, "comp_1")
			w.sentBack(batch, w.one)
			w.policy(ledger.Policy{}) // which lets nothing go that needed an approval
			uploads, err := w.Ledger.Uploads().List(w.Context())
			w.must(err)
			path := "/sheets/" + uploads[0].ID
			_, body := w.one.get(path)
			w.one.submit(path, w.one.prepared(path, body))
		},
	},
	{
		name: "corrected by another than who uploads and submits",
		uses: []string{"POST /sheets/{sheet}/edits", "POST /sheets/{sheet}/edits/undo"},
		one: func(w *walk) {
			path, body := w.helper.sheet("a.csv",
				"Company ID,Filing State,Filing Year,User Email\ncomp_1,DE,26,ana@example.com\n")
			_, body = w.one.post(path+"/edits", "version", hidden(body, "version"), "cell-2-2", "2026",
				"was-cell-2-2", "26")
			w.helper.submit(path, w.helper.prepared(path, body))
		},
	},
	{
		name: "corrected in the grid by another than who uploads and submits",
		uses: []string{"POST /sheets/{sheet}/grid/changes", "POST /sheets/{sheet}/grid/undo"},
		one: func(w *walk) {
			path, _ := w.helper.sheet("a.csv",
				"Company ID,Filing State,Filing Year,User Email\ncomp_1,DE,26,ana@example.com\n")
			for range 2 {
				w.one.json(path+"/grid/undo", `{"id":"%s"}`, nil)
				w.one.change(path, `{"id":"%s","cells":[{"row":2,"column":2,"text":"2026","was":"26"}]}`)
			}
			w.helper.submit(path, w.helper.waitPrepared(path))
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
		name: "schedule, by the clock",
		uses: []string{"POST /seasons", "POST /seasons/{season}/pause", "POST /seasons/{season}/resume"},
		one:  func(w *walk) { w.adds(w.one, "de", companyListOf("Ada LLC")); w.clock() },
	},
	{
		name: "schedule, by hand",
		uses: []string{"POST /seasons/{season}/fire"},
		one: func(w *walk) {
			w.adds(w.one, "de", companyListOf("Ada LLC"))
			_, body := w.one.get("/seasons/de/fire")
			w.one.post("/seasons/de/fire", "look", html.UnescapeString(hidden(body, "look")))
		},
	},
	{
		name: "company list, by the clock",
		uses: []string{"POST /seasons/{season}/roster"},
		before: func(w *walk) {
			w.policy(ledger.Policy{}) // it was made when no one had to approve
			w.adds(w.as(ledger.Operator), "de", companyListOf("Ada LLC"))
			w.clock()
			w.drain()
		},
		one: func(w *walk) {
			_, body := w.one.get("/seasons/de")
			w.one.upload("/seasons/de/roster", "new.csv", companyListOf("Ada LLC", "Bea LLC"), "version",
				hidden(body, "version"))
			w.clock()
		},
	},
	{
		name: "filing years of a company list, by the clock",
		uses: []string{"POST /seasons/{season}/ignore-year"},
		before: func(w *walk) {
			w.policy(ledger.Policy{})
			w.adds(w.as(ledger.Operator), "de", companyListOf("Ada LLC"))
		},
		one: func(w *walk) {
			_, body := w.one.get("/seasons/de")
			w.one.post("/seasons/de/ignore-year", "version", hidden(body, "version"))
			w.clock()
		},
	},
	{
		name: "correction of a batch that others placed",
		uses: []string{"POST /batches/{batch}/correct"},
		before: func(w *walk) {
			path, body := w.helper.sheet("a.csv",
				"Company ID,Filing State,Filing Year,User Email\n"+
					"comp_1,DE,2026,ana@example.com\ncomp_2,DE,26,ana@example.com\n")
			w.helper.submit(path, body)
			w.approves(w.second)
			w.drain()
		},
		one: func(w *walk) {
			b, err := w.Ledger.Batch(w.Context(), "")
			w.must(err)
			_, body := w.one.post("/batches/" + b.ID + "/correct")
			uploads, err := w.Ledger.Uploads().List(w.Context())
			w.must(err)
			path := "/sheets/" + uploads[0].ID
			body = w.one.prepared(path, body)
			_, body = w.one.post(path+"/edits", "version", hidden(body, "version"), "cell-2-2", "2026",
				"was-cell-2-2", "26")
			w.one.submit(path, w.one.prepared(path, body))
		},
	},
	{
		name: "retry of their own batch",
		uses: []string{"POST /batches/{batch}/retry", "POST /batches/{batch}/dismiss"},
		before: func(w *walk) {
			w.service.Inject(sandbox.Fault{Kind: sandbox.FaultStatus, Status: 422})
			w.submits(w.one, "comp_1")
			w.approves(w.second)
			w.drain()
			w.service.ClearFaults()
		},
		one: func(w *walk) {
			b, err := w.Ledger.Batch(w.Context(), "")
			w.must(err)
			w.one.post("/batches/" + b.ID + "/retry")
			w.one.post("/batches/"+b.ID+"/dismiss", "rows", "1")
		},
	},
	{
		name: "a row marked as not placed",
		uses: []string{"POST /uncertain/rows/{row}", "POST /uncertain/batches/{batch}/check",
			"POST /uncertain/batches/{batch}/resolve"},
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
			w.one.post(rowPath(rows[0]), decide(rows[0], "not placed")...)
		},
	},
	{
		name: "a row supposed to be sent, and marked as not placed",
		uses: []string{"POST /batches/{batch}/cancel"},
		before: func(w *walk) {
			w.submits(w.one, "comp_1")
			w.approves(w.second)
		},
		one: func(w *walk) {
			rows := w.ready()
			_, err := w.Ledger.Resolutions().AssumeSent(w.Context(),
				[]ledger.Intent{{Row: rows[0].ID, Tries: rows[0].Tries, Cost: rows[0].Cost}}, time.Now(), "supposed")
			w.must(err)
			row := w.row(rows[0].ID)
			w.one.post(rowPath(row), decide(row, "not placed")...)
		},
	},
	{
		name: "a higher cost",
		uses: []string{"POST /batches/{batch}/approve-costs"},
		before: func(w *walk) {
			w.submits(w.one, "comp_1")
			w.approves(w.second)
			row := w.ready()[0]
			row.Cost.Amount += 100_00
			begun, err := w.Ledger.Begin(w.Context(), ledger.Intent{Row: row.ID, Tries: row.Tries, Cost: row.Cost})
			if w.must(err); !begun.Dearer {
				w.Fatalf("%+v", begun)
			}
		},
		one: func(*walk) {},
	},
	{
		name: "a link for a new approver",
		uses: []string{"POST /settings/accounts", "POST /settings/accounts/{account}",
			"POST /settings/accounts/{account}/link", "POST /settings/links/{link}/revoke", "POST /enter"},
		one: func(w *walk) {
			w.submits(w.one, "comp_1")
			w.one.post("/settings/accounts", "name", "nobody else", "role", "approver", "role", "preparer")
			other := w.enters(w.link(w.one, "nobody else"))
			w.approves(other)
			w.submits(other, "comp_2")
			w.approves(w.one)
		},
	},
	{
		name: "a link to an approver's account",
		before: func(w *walk) {
			for _, name := range []string{"vera", "otto"} {
				_, err := w.Ledger.Accounts().Add(w.Context(), name, []ledger.Role{ledger.Approver, ledger.Operator})
				w.must(err)
			}
		},
		one: func(w *walk) {
			w.submits(w.one, "comp_1")
			vera := w.enters(w.link(w.one, "vera"))
			w.tries(vera)
			// Through vera, who is no one's second person, there is no way to otto either.
			w.approves(w.enters(w.link(vera, "otto")))
		},
	},
	{
		name: "the address that a link is mailed to",
		uses: []string{"POST /settings/accounts/{account}/email", "POST /sign-in"},
		one: func(w *walk) {
			w.submits(w.one, "comp_1")
			vera, err := w.Ledger.Accounts().Add(w.Context(), "vera", []ledger.Role{ledger.Approver})
			w.must(err)
			w.one.post("/settings/accounts/"+vera.ID+"/email", "email", "one@example.com")
			_, secret, err := w.Ledger.Accounts().MakeMailedLink(w.Context(), "vera", "", time.Hour)
			w.must(err)
			w.approves(w.enters(secret))
		},
	},
}

// ready are the rows that may be sent.
func (w *walk) ready() []ledger.Row {
	w.Helper()
	ids, err := w.Ledger.Sendable(w.Context(), "", 10)
	w.must(err)
	rows, err := w.Ledger.ReadyRows(w.Context(), ids)
	if w.must(err); len(rows) == 0 {
		w.Fatal("no row may be sent")
	}
	return rows
}

// noWay are the routes that change something and bring no order nearer.
var noWay = map[string]string{
	"POST /companies/{key}/subscription":       "ends coverage; what is ordered for it is approved by itself",
	"POST /companies/{key}/renewal":            "records an order that exists",
	"POST /setup":                              "asks the filing service whose a key is",
	"POST /setup/save":                         "stores the operator's own key; a batch keeps its approval",
	"POST /setup/sample":                       "starts a ledger of its own, whose orders are not real",
	"POST /setup/sample/leave":                 "ends the sample data",
	"POST /leave":                              "ends a session",
	"POST /sessions/end":                       "ends sessions",
	"POST /settings/zone":                      "sets the time zone of reminders",
	"POST /sessions/{session}/end":             "ends a session",
	"POST /sign-in/passkey":                    "signs in the holder of the passkey",
	"POST /sign-in/passkey/challenge":          "asks for a passkey",
	"POST /security/passkeys":                  "adds a passkey to one's own account",
	"POST /security/passkeys/challenge":        "asks for a passkey",
	"POST /security/passkeys/{passkey}/remove": "removes a passkey of one's own account",
	"POST /security/provider":                  "links a company account to one's own account",
	"POST /security/provider/unlink":           "unlinks a company account",
	"POST /sheets/{sheet}/drop":                "forgets a spreadsheet",
	"POST /batches/{batch}/reject":             "cancels what waits for approval",
	"POST /batches/{batch}/reject-costs":       "cancels rows that wait for approval",
	"POST /seasons/{season}/remove":            "removes a schedule",
	"POST /settings/notices":                   "sends a test message",
	"POST /balance/entries":                    "money: what waits for approval is not sent for it",
	"POST /uncertain/rows/{row}/link":          "asks for the address of a dashboard",
	"POST /settings/mappings/{shape}/drop":     "forgets how columns are read",
	"POST /uncertain/rows/{row}/company": "names the company of a row that was placed; rows " +
		"that wait for it were approved",
	"POST /settings/accounts/{account}/sessions/{session}/end": "ends a session",
	"POST /settings/accounts/{account}/sessions/end":           "ends sessions",
}

// Every route that changes something is on a way to an order that is walked below,
// or is known to be on none.
func TestEveryRouteIsOnAKnownWay(t *testing.T) {
	known := make(map[string]bool)
	for _, w := range ways {
		for _, pattern := range w.uses {
			known[pattern] = true
		}
	}
	for pattern := range noWay {
		if known[pattern] {
			t.Errorf("%s is on a way, and on none", pattern)
		}
		known[pattern] = true
	}
	for _, r := range routes {
		if r.method() != http.MethodGet && !known[r.pattern] {
			t.Errorf("%s is on no known way to an order: walk it in ways, or say in noWay why it leads to none",
				r.pattern)
		}
		delete(known, r.pattern)
	}
	for pattern := range known {
		t.Errorf("there is no route %s", pattern)
	}
}

// Under the policy one person alone, whatever roles they have, has no order sent in
// any way; with a second person it is sent.
func TestNobodyPlacesAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a long test in short mode")
	}
	for name, policy := range map[string]ledger.Policy{
		"everything":  {Second: true},
		"from a cent": {Second: true, From: money.Cents(1), Terminal: true},
	} {
		for _, way := range ways {
			t.Run(fmt.Sprintf("%s, %s", way.name, name), func(t *testing.T) {
				w := newWalk(t)
				w.policy(policy)
				if way.before != nil {
					way.before(w)
				}
				w.policy(policy)
				w.posts = w.sent()
				way.one(w)
				w.tries(w.one)
				w.drain()
				if n := w.sent() - w.posts; n != 0 {
					t.Errorf("one person alone had %d orders sent", n)
				}
				w.approves(w.second)
				w.drain()
				if n := w.sent() - w.posts; n == 0 {
					batches, err := w.Ledger.Batches(context.WithoutCancel(t.Context()))
					t.Errorf("two people had no order sent: %+v, %v", batches, err)
				}
			})
		}
	}
}

// Without the policy one person places alone: the walks above fail for nothing else.
func TestAPersonPlacesAloneWithoutThePolicy(t *testing.T) {
	for _, way := range ways {
		if slices.Contains(way.uses, "POST /uncertain/rows/{row}") || way.name == "upload" {
			t.Run(way.name, func(t *testing.T) {
				w := newWalk(t)
				if way.before != nil {
					way.before(w)
				}
				w.posts = w.sent()
				way.one(w)
				w.drain()
				if w.sent() == w.posts {
					t.Error("no order was sent")
				}
			})
		}
	}
}
