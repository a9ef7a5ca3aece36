package web

import (
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// inDoubt places a sheet whose answers are all lost, and returns its rows. What
// is sent after that is answered.
func (s *testSite) inDoubt(v *visitor, content string) (batch string, rows []ledger.Row) {
	s.Helper()
	s.service.Inject(sandbox.Fault{Kind: sandbox.FaultReset, After: true})
	batch = v.submit(v.sheet("doubts <i>.csv", content))
	s.answered(batch)
	s.service.ClearFaults()
	rows = need(s.Ledger.Resolutions().UncertainRows(s.Context(), batch))(s)
	if len(rows) == 0 {
		s.Fatal("no row is uncertain")
	}
	return batch, rows
}

// bought are the orders of a company that the service has.
func (s *testSite) bought(company string) []string {
	var ids []string
	for _, o := range s.service.Books().Orders {
		for _, i := range o.Items {
			if i.CompanyID == company {
				ids = append(ids, i.ID)
			}
		}
	}
	return ids
}

func (s *testSite) row(id int64) ledger.Row {
	s.Helper()
	row := need(s.Ledger.Row(s.Context(), id))(s)
	return row
}

// becomes waits until a row has a result.
func (s *testSite) becomes(id int64, want filing.Result) ledger.Row {
	s.Helper()
	s.until("a row is "+string(want), func() bool { return s.row(id).Result == want })
	return s.row(id)
}

func rowPath(r ledger.Row) string { return fmt.Sprintf("/uncertain/rows/%d", r.ID) }

// decide asks for the effect of a decision about a row as it stands in r.
func (v *visitor) decide(r ledger.Row, word, orders string) (int, string) {
	v.Helper()
	n := strconv.Itoa(r.Number)
	return v.post("/uncertain/batches/"+r.Batch+"/check", "row", n, "attempt-"+n, strconv.Itoa(r.LastAttempt),
		"decision-"+n, word, "orders-"+n, orders)
}

// confirm resolves the rows whose effect a page shows.
func (v *visitor) confirm(batch, page string, more ...string) string {
	v.Helper()
	return v.posted("/uncertain/batches/"+batch+"/resolve", append([]string{
		"decisions", html.UnescapeString(hidden(page, "decisions")), "plan", hidden(page, "plan"),
	}, more...)...)
}

const doubtfulClients = "Company ID,Legal Name,Filing State,Filing Year,User Email\n" +
	"comp_1,<script>alert(1)</script> LLC,DE,2026,ana@example.com\n" +
	"comp_2,=cmd|'/c calc'!A1,DE,2026,ana@example.com\n" +
	"comp_3,\u202eشركة,DE,2026,ana@example.com\n"

// A row is marked as placed by its order's id, or as not placed, to the cent;
// a form that arrives twice counts once.
func TestSettle(t *testing.T) {
	s, v := visit(t, account.Roles...)
	s.place()
	s.must(s.Ledger.Entries().RecordDeposit(t.Context(), 10_000_00, ""))
	batch, rows := s.inDoubt(v, doubtfulClients)
	before := s.book()
	held := rows[0].Reserved
	if held == 0 || before.Reserved != 3*held {
		t.Fatalf("%s of %+v", held, before)
	}
	_, body := v.get("/uncertain?batch=" + batch)
	v.wants(body, "3 rows were sent", "doubts &lt;i&gt;.csv", "annual report, DE 2026",
		"No answer: the connection broke before an answer came", held.Dollars())
	v.lacks(body, "<script>alert", "\u202e", "/dashboard/")

	for _, c := range []struct{ word, order, says string }{
		{"placed", "", "enter the order ID"},
		{"placed", "<b>12</b>", "is not an order ID"},
		{"leave", "", "is not a decision"},
	} {
		if status, body := v.decide(rows[0], c.word, c.order); status != http.StatusUnprocessableEntity ||
			!strings.Contains(body, c.says) || strings.Contains(body, "<b>12") {
			t.Errorf("%+v: %d\n%s", c, status, body)
		}
	}

	id := s.bought("comp_1")[0]
	_, page := v.decide(rows[0], "placed", " "+id+" ")
	v.wants(page, "Resolve 1 row?", "marked as placed: "+id)
	v.wants(v.confirm(batch, page, "once", "one"), "Resolved 1 row: 1 placed, "+held.Dollars()+" charged",
		"2 rows were sent")
	v.wants(v.confirm(batch, page, "once", "one"), "already resolved")
	row := s.row(rows[0].ID)
	if row.Result != filing.Placed || len(row.Items) != 1 || row.Items[0].OrderID != id ||
		!strings.Contains(row.Message, v.name+" on the page") {
		t.Errorf("%+v", row)
	}
	// One order is not that of two rows.
	if status, body := v.decide(rows[1], "placed", id); status != http.StatusUnprocessableEntity ||
		!strings.Contains(body, "an order belongs to one row") {
		t.Errorf("%d\n%s", status, body)
	}
	if book := s.book(); book.Posted != before.Posted+held || book.Reserved != 2*held {
		t.Errorf("%+v", book)
	}

	// What was never made is sent again at once.
	_, page = v.decide(rows[1], "not placed", "")
	v.wants(v.confirm(batch, page, "once", "two"), "1 not placed, "+held.Dollars()+" released")
	if row := s.becomes(rows[1].ID, filing.Placed); row.LastAttempt != rows[1].LastAttempt+1 {
		t.Errorf("%+v", row)
	}
	v.wants(v.confirm(batch, page, "once", "two"), "already resolved")
	if book := s.book(); book.Posted != before.Posted+2*held || book.Reserved != held || len(s.bought("comp_2")) != 2 {
		t.Errorf("%+v, %v", book, s.bought("comp_2"))
	}
	if acts := s.acts(2, audit.Query{What: "resolve", Of: batch}); !strings.Contains(acts[1].Note, id) ||
		!strings.Contains(acts[0].Note, "marked as not placed") {
		t.Errorf("%+v", acts)
	}
	v.wants(v.page(rowPath(rows[0])), id)
}

// A decision about an older sending resolves nothing.
func TestStaleDecision(t *testing.T) {
	s, v := visit(t, account.Roles...)
	s.place()
	batch, rows := s.inDoubt(v, doubtfulClients)
	s.service.Inject(sandbox.Fault{Kind: sandbox.FaultReset, After: true})
	_, page := v.decide(rows[0], "not placed", "")
	v.confirm(batch, page)
	s.until("the row is sent again", func() bool {
		row := s.row(rows[0].ID)
		return row.LastAttempt != rows[0].LastAttempt && row.Result == filing.Uncertain
	})
	_, body := v.decide(rows[0], "not placed", "")
	v.wants(body, "Nothing to resolve", "was already resolved, or sent again")
	v.confirm(batch, page)
	if row := s.row(rows[0].ID); row.Result != filing.Uncertain || row.LastAttempt != rows[0].LastAttempt+1 {
		t.Errorf("%+v", row)
	}
}

// Evidence is accepted by one button and a confirmation; what speaks against a decision has
// to be confirmed as it was shown.
func TestEvidenceOnThePage(t *testing.T) {
	s, v := visit(t, account.Roles...)
	s.place()
	batch, rows := s.inDoubt(v, doubtfulClients)
	id := s.bought("comp_1")[0]
	s.tell(s.service.Advance(t.Context(), id, "filed"))
	body := v.page("/uncertain?batch=" + batch)
	v.wants(body, id, "Mark as placed with this order…", "fits")
	v.lacks(body, "selected>placed")
	_, page := v.decide(rows[0], "not placed", "")
	v.wants(page, "it could be bought twice", `name="anyway"`)
	for _, yes := range []string{"1", ""} {
		v.wants(v.confirm(batch, page, "anyway", yes), `name="anyway"`)
	}
	anyway := checkbox(t, page, "anyway")
	// Something more was told since: it was not seen yet.
	s.tell(s.service.Advance(t.Context(), s.bought("comp_2")[0], "filed"))
	v.wants(v.confirm(batch, page, "anyway", anyway), `name="anyway"`)
	if row := s.row(rows[0].ID); row.Result != filing.Uncertain {
		t.Errorf("resolved against evidence: %+v", row)
	}
	_, page = v.decide(rows[0], "placed", id)
	v.wants(v.confirm(batch, page), "Resolved 1 row: 1 placed")
	s.tell(nil, nil)
	if items := s.row(rows[0].ID).Items; len(items) != 1 || items[0].OrderID != id || items[0].FilingStatus != "filed" {
		t.Errorf("%+v", items)
	}
}

// A link to a dashboard is asked for by who may, recorded, and nowhere before.
func TestDashboardLink(t *testing.T) {
	s, v := visit(t, account.Roles...)
	s.place()
	batch, rows := s.inDoubt(v, doubtfulClients)
	link := rowPath(rows[0]) + "/link"
	links := s.service.Books().Requests["POST /auth/magic-link"]
	for _, path := range []string{"/uncertain", rowPath(rows[0])} {
		v.lacks(v.page(path), "/dashboard/")
	}
	if got := s.service.Books().Requests["POST /auth/magic-link"]; got != links {
		t.Errorf("%d links were asked for by looking", got-links)
	}
	v.wants(v.posted(link), "/dashboard/", `rel="noopener noreferrer"`, "&lt;script&gt;")
	if h := v.answer.Header; !strings.HasPrefix(h.Get("Refresh"), "0; url=http") ||
		h.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("%v", h)
	}
	act := s.acts(1, audit.Query{What: "dashboard", Of: batch})[0]
	if strings.Contains(act.Note, "http") || act.By != v.name {
		t.Errorf("%+v", act)
	}
	s.service.SetOutage(sandbox.Outage503)
	v.answers(http.StatusBadGateway, link)
}

// Decisions on many rows are checked, shown, and resolve the rows; one with an error
// resolves none.
func TestResolveManyRows(t *testing.T) {
	s, v := visit(t, account.Roles...)
	s.place()
	batch, rows := s.inDoubt(v, doubtfulClients)
	before := s.book()
	at := "/uncertain/batches/" + batch
	first := s.bought("comp_1")[0]
	_, err := s.Ledger.Events().Keep(t.Context(), filing.Event{
		ID:           "evt_named",
		Type:         filing.StatusChanged,
		CreatedAt:    time.Now(),
		OrderID:      first,
		OrderType:    "annual_report",
		FilingStatus: "submitted",
		CompanyID:    "comp_1",
	}, nil)
	s.must(err)
	s.tell(nil, nil)
	_, body := v.get("/uncertain?batch=" + batch)
	v.wants(body, "Resolve many rows at once", "Show the effect",
		fmt.Sprintf(`<option selected>placed</option><option>not placed</option></select></td>
        <td data-label="IDs"><input name="orders-%d" value="%s"`, rows[0].Number, first))
	s.times(1, body, "selected>placed")
	decide := func(rest string, decisions ...string) (int, string) {
		form := []string{"rest", rest}
		for i, d := range decisions {
			n := strconv.Itoa(rows[i].Number)
			word, id, _ := strings.Cut(d, " as ")
			form = append(form, "row", n, "attempt-"+n, strconv.Itoa(rows[i].LastAttempt), "decision-"+n, word,
				"orders-"+n, id)
		}
		return v.post(at+"/check", form...)
	}
	status, body := decide("", "placed as "+first, "placed", "perhaps")
	v.wants(body, "No row was resolved", "correct 2 fields", fmt.Sprintf("Row %d, Order IDs", rows[1].Number),
		fmt.Sprintf("Row %d, Decision", rows[2].Number))
	if status != 422 {
		t.Errorf("%d", status)
	}
	if _, body = decide("not placed", "placed as "+first, "not placed", ""); !strings.Contains(body, "Resolve 3 rows") {
		t.Error("rows without a decision stay uncertain")
	}
	_, body = decide("", "placed as "+first, "not placed", "")
	v.wants(body, "Resolve 2 rows?", "charged</small>", "marked as placed: "+first, "marked as not placed",
		"&lt;script&gt;")
	if book := s.book(); book != before {
		t.Errorf("looking changed the book: %+v", book)
	}
	v.wants(v.posted(at+"/resolve", "decisions", html.UnescapeString(hidden(body, "decisions"))),
		"Resolve 2 rows?") // not the plan that was looked at
	v.wants(v.confirm(batch, body, "once", "many"),
		"Resolved 2 rows: 1 placed, "+rows[0].Reserved.Dollars()+" charged; 1 not placed, "+
			rows[1].Reserved.Dollars()+" released")
	s.becomes(rows[1].ID, filing.Placed)
	if book := s.book(); s.row(rows[0].ID).Items[0].OrderID != first || book.Reserved != rows[2].Reserved ||
		book.Posted != before.Posted+rows[0].Reserved+rows[1].Reserved {
		t.Errorf("%+v", book)
	}
	v.wants(v.confirm(batch, body, "once", "many"), "already resolved")
	s.acts(2, audit.Query{What: "resolve", Of: batch})
}

// While a restored ledger is checked, the page says that nothing is sent, and its unchecked
// rows are not canceled.
func TestRestoredLedger(t *testing.T) {
	s, v := visit(t, account.Roles...)
	batch := v.submit(v.sheet("a.csv", doubtfulClients))
	s.must(s.Ledger.Restores().Begin(t.Context(), time.Now().Add(-time.Hour)))
	v.wants(v.page("/"), "The ledger went back in time", "run importer resolve restored on the server")
	v.wants(v.page("/batches/"+batch), "An operator has to check the rows that may have been ordered since")
	v.wants(v.answers(http.StatusConflict, "/batches/"+batch+"/cancel"), "may have been ordered before the restore")
}
