package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/cache"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// answered waits until every row of a batch is answered.
func (s *testSite) answered(batch string) (counts ledger.Counts) {
	s.Helper()
	s.until("every row has its answer", func() bool {
		counts = need(s.Ledger.Figures(s.Context(), batch))(s).Counts
		return counts[filing.Ready]+counts[filing.Placing] == 0
	})
	return counts
}

// tell stores and applies events of the service.
func (s *testSite) tell(events []sandbox.Event, err error) {
	s.Helper()
	s.must(err)
	for _, told := range events {
		e := need(filing.ParseEvent(told.Body))(s)
		_, err = s.Ledger.Events().Keep(s.Context(), e, told.Body)
		s.must(err)
	}
	for {
		done := need(s.Ledger.Events().Apply(s.Context()))(s)
		if done == 0 {
			return
		}
	}
}

const someClients = "Company ID,Legal Name,Filing State,Filing Year,User Email\n" +
	"comp_1,<script>alert(1)</script> LLC,DE,2026,ana@example.com\n" +
	"comp_2,=cmd|'/c calc'!A1,DE,2026,ana@example.com\n" +
	"comp_3,شركة,DE,2026,ana@example.com\n" +
	"comp_4,Fourth,DE,26,ana@example.com\n"

// The page of a batch says how it stands, why nothing moves, and what there is
// to do at its end.
func TestBatchPage(t *testing.T) {
	s, v := visit(t, account.Preparer)
	batch := v.submit(v.sheet("clients.csv", someClients))
	v.wants(v.page("/batches/"+batch), "clients.csv", "No worker", "No worker is running",
		"0 of 4 placed, 3 waiting (no worker), 1 needs attention",
		">Pause batch<")
	v.lacks(v.page("/batches/"+batch), "Next year's spreadsheet")
	status, body := v.get("/batches/" + batch + "/next-year.xlsx")
	if status != http.StatusConflict {
		t.Errorf("next year's spreadsheet of an unfinished batch: %d", status)
	}
	v.wants(body, "No spreadsheet for next year", "after every row has a result. Nothing was written.")
	s.place()
	s.answered(batch)
	body = v.soon("/batches/"+batch, "3 of 4 placed, 1 needs attention")
	v.wants(body, "Needs attention", `class="partial"`, "&lt;script&gt;alert(1)&lt;/script&gt;",
		"Correct 1 row</button>", "results.xlsx",
		`href="/batches/`+batch+`/next-year.xlsx" download>Next year's spreadsheet</a>`,
		"<b>3</b> placed")
	v.lacks(body, ">Pause batch<", "<script>alert")
	v.gives(http.StatusNotFound, "/batches/"+batch[:4])
	orders := s.orders(batch)
	s.tell(s.service.Raise(t.Context(), orders[0], 482))
	s.tell(s.service.Advance(t.Context(), orders[1], "filed"))
	body = v.soon("/batches/"+batch+"?show=exceptions", "Check 1 row with a filing exception")
	v.wants(body, "1</b> <bdi>filed", "Download 1 document", "exception 482")
}

// orders are the ids of a batch's orders, by row.
func (s *testSite) orders(batch string) []string {
	s.Helper()
	var all []string
	for row, err := range s.Ledger.Rows(s.Context(), batch) {
		s.must(err)
		for _, i := range row.Items {
			all = append(all, i.OrderID)
		}
	}
	return all
}

// What the service answers to a batch without funds, or to a refused key, is
// said on its page with what to do.
func TestBatchHolds(t *testing.T) {
	for _, c := range []struct {
		status  int
		deposit money.Cents
		says    []string
	}{
		{402, 0, []string{
			"prepaid balance is too low", "No row is lost. Add funds at the filing service, then resume the batch.",
			`/resume"><input`, "Resume batch",
		}},
		{402, 1000_00, []string{"prepaid balance is too low", "Top up at the filing service", "Correct the balance"}},
		{401, 0, []string{"key refused", "refuses the API key", "An operator must correct the API key"}},
	} {
		s := newSite(t)
		v := s.as(account.Preparer)
		batch := v.submit(v.sheet("clients.csv", someClients))
		s.service.Inject(sandbox.Fault{Kind: sandbox.FaultStatus, Status: c.status})
		if c.deposit > 0 {
			s.must(s.Ledger.Entries().RecordDeposit(t.Context(), c.deposit, ""))
		}
		s.place()
		s.until("the fleet stops", func() bool {
			h := need(s.Ledger.Fleet().Halt(t.Context()))(s)
			return h.Reason != filing.NoHalt
		})
		_, body := v.get("/batches/" + batch)
		v.wants(body, c.says...)
		if c.deposit > 0 {
			_, balance := s.as(account.Operator).get("/balance")
			v.wants(balance, "The recorded balance is "+c.deposit.Dollars()+", but the filing service says that its "+
				"balance is too low: the two disagree", "record the difference as an adjustment")
		}
		if deposits := strings.Contains(body, "record the deposit"); c.status == 402 && deposits != (c.deposit > 0) {
			t.Errorf("with %s deposited, a deposit is advised: %t", c.deposit, deposits)
		}
	}
}

// An open page asks for the panel and for how many rows each tab has, and is told when the
// page is another one. Tabs that are empty yet are there. Someone who may no longer see
// the page is refused.
func TestBatchProgress(t *testing.T) {
	s, v := visit(t, account.Preparer)
	batch := v.submit(v.sheet("clients.csv", someClients))
	type answer struct {
		Panel, Say string
		Tally      map[string]int
		Gone       bool
	}
	read := func(address string) (int, string) {
		r := need(http.NewRequest(http.MethodGet, s.url+address, nil))(s)
		return v.do(r)
	}
	open := func() (ask func() answer) {
		_, body := v.get("/batches/" + batch + "?show=ready")
		v.wants(body, `<li data-tally=""><a`, `<li data-tally="problems"><a`, `<li data-tally="ready"><a`,
			`<li data-tally="placed" hidden><a`, `<li data-tally="uncertain" hidden><a`)
		_, at, _ := strings.Cut(body, `data-live="`)
		address, _, _ := strings.Cut(at, `"`)
		return func() (a answer) {
			status, body := read(address)
			if status != http.StatusOK {
				t.Fatalf("%d %s", status, body)
			}
			s.must(json.Unmarshal([]byte(body), &a))
			return a
		}
	}
	ask := open()
	got := ask()
	if got.Gone || !strings.Contains(got.Panel, "0 of 4 placed") || !strings.Contains(got.Say, "0 of 4 placed") ||
		!maps.Equal(got.Tally, map[string]int{"": 4, "problems": 1, "ready": 3, "placed": 0, "exists": 0,
			"uncertain": 0, "skipped": 0, "canceled": 0}) {
		t.Errorf("%+v", got)
	}
	v.wants(v.posted("/batches/"+batch+"/pause"), "The batch is paused.")
	if !ask().Gone {
		t.Error("the page of a batch that is paused now is not out of date")
	}
	v.post("/batches/" + batch + "/resume")
	ask = open()
	s.service.Inject(sandbox.Fault{Kind: sandbox.FaultReset, After: true, Company: "comp_3"})
	s.place()
	if got := s.answered(batch); got[filing.Placed] != 2 {
		t.Errorf("%v", got)
	}
	if got = ask(); !got.Gone || got.Tally["placed"] != 2 || got.Tally["uncertain"] != 1 {
		t.Errorf("%+v", got)
	}
	v.post("/leave")
	if status, body := read("/batches/" + batch + "/live"); status != http.StatusUnauthorized ||
		!strings.Contains(body, `"title":"You are not signed in"`) {
		t.Errorf("%d %s", status, body)
	}
}

// A batch is held back, let go, taken back; what each does is said.
func TestControl(t *testing.T) {
	s := newSite(t)
	// What a form changes is seen at once, however long sums are kept.
	s.server.overview.figures = cache.New[string](cache.Options[ledger.Figures]{})
	v := s.as(account.Preparer)
	batch := v.submit(v.sheet("clients.csv", someClients))
	at := "/batches/" + batch
	v.wants(v.posted(at+"/pause"), "No more rows are sent until someone resumes it", "This batch is paused.",
		">Resume batch<")
	v.wants(v.posted(at+"/resume"), "The batch is resumed.", ">Pause batch<", "<b>3 rows</b> are canceled")
	v.wants(v.posted(at+"/cancel"), "Canceled 3 rows. Placed orders stay placed",
		`<span class="badge canceled">Canceled</span>`)
	for _, what := range []string{"pause", "resume", "cancel"} {
		s.acts(1, audit.Query{What: what, Of: batch, By: v.name})
	}
}

// What the service refused goes again when someone says so, once however often
// the form arrives.
func TestRetry(t *testing.T) {
	s, v := visit(t, account.Operator, account.Preparer)
	batch := v.submit(v.sheet("clients.csv", someClients))
	s.service.Inject(sandbox.Fault{Kind: sandbox.FaultStatus, Status: 422, Company: "comp_1"})
	s.place()
	if counts := s.answered(batch); counts[filing.Rejected] != 1 {
		t.Fatal(counts)
	}
	v.wants(v.page("/batches/"+batch), "Send 1 rejected row again",
		"1 rejected by the filing service, 1 invalid and not sent")
	s.service.ClearFaults()
	v.wants(v.posted("/batches/"+batch+"/retry", "once", "this one"), "Ready to send again: 1 rejected row.")
	v.wants(v.posted("/batches/"+batch+"/retry", "once", "this one"), "This was already done")
	if counts := s.answered(batch); counts[filing.Placed] != 3 {
		t.Error(counts)
	}
}

const twoRefused = "Company ID,Sitz,Filing Year,User Email\n" +
	"comp_1,DE,2026,ana@example.com\ncomp_2,DE,2026,ana@example.com\ncomp_3,DE,26,ana@example.com\n"

// refused submits a sheet with a mapped column, of which one row is rejected and one is invalid.
func (s *testSite) refused(v *visitor) (batch string) {
	s.Helper()
	path, body := v.sheet("clients.csv", twoRefused)
	body = v.posted(path+"/columns", "version", hidden(body, "version"), "product", "annual-report", "column-1",
		"Filing State")
	batch = v.submit(path, v.prepared(path, body))
	s.service.Inject(sandbox.Fault{Kind: sandbox.FaultStatus, Status: 422, Company: "comp_2"})
	s.place()
	s.answered(batch)
	s.service.ClearFaults()
	return batch
}

// Rows are corrected in one upload, read as the batch was, however often the button is pressed and
// by whom; a row and its correction lead to each other.
func TestCorrectOnce(t *testing.T) {
	s, v := visit(t, account.Preparer)
	batch := s.refused(v)
	v.wants(v.posted("/batches/"+batch+"/correct"), "clients.needs-attention.xlsx", "as a new upload")
	v.wants(s.as(account.Preparer).posted("/batches/"+batch+"/correct"), "opened these rows before")
	path := "/sheets/" + s.uploaded().ID
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
	body := v.prepared(path, gridMark)
	v.wants(v.page("/batches/"+batch+"/rows/4"), "A correction of this row is not approved yet.")
	correction := v.submit(path, body)
	s.answered(correction)
	v.wants(v.page("/batches/"+batch), `href="/batches/`+correction+`"`, "<b>3</b> placed")
	v.wants(v.page("/batches/"+correction), `href="/batches/`+batch+`"`, "<b>2</b> placed")
	v.wants(v.page("/batches/"+batch+"/rows/4"), "This row was corrected.", `href="/batches/`+correction+`/rows/`,
		`href="?uploaded"`)
	v.wants(v.page("/batches/"+batch+"/rows/4?uploaded"), "two digits")
	v.lacks(v.page("/batches/"+batch+"/rows/2"), "corrected")
	v.wants(v.posted("/batches/"+batch+"/correct"), "This batch has no rows that need attention.")
	s.uploads(0)
}

// Rows that no one will correct are dismissed: they need no action any more, keep
// their reason, and are not sent again.
func TestDismissRows(t *testing.T) {
	s, v := visit(t, account.Preparer, account.Operator)
	batch := s.refused(v)
	v.wants(v.page("/batches/"+batch), "Dismiss 2 rows</button>")
	v.answers(http.StatusConflict, "/batches/"+batch+"/dismiss", "rows", "1")
	v.wants(v.posted("/batches/"+batch+"/dismiss", "rows", "2"),
		"Dismissed 2 rows. The results show them as skipped, and nothing is ordered.")
	if _, body := v.get("/"); strings.Contains(body, "attention") && strings.Contains(body, "Correct 2 rows") {
		t.Errorf("they still need action:\n%s", body)
	}
	figures, err := s.Ledger.Figures(t.Context(), batch)
	if s.must(err); figures.Counts[filing.Skipped] != 2 || figures.Counts[filing.Placed] != 1 {
		t.Errorf("%v", figures.Counts)
	}
	for number, reason := range map[int]string{3: "422", 4: "two digits"} {
		v.wants(v.page(fmt.Sprintf("/batches/%s/rows/%d", batch, number)), "dismissed by "+v.name, reason)
	}
	v.post("/batches/" + batch + "/retry")
	if figures, err = s.Ledger.Figures(t.Context(), batch); err != nil || figures.Counts[filing.Skipped] != 2 {
		t.Errorf("%v, %v", figures.Counts, err)
	}
}

// Where a correction of dismissed rows is open, the page does not say that nothing is
// ordered for them: it may be.
func TestDismissRowsWithAnOpenCorrection(t *testing.T) {
	s, v := visit(t, account.Preparer)
	batch := s.refused(v)
	v.post("/batches/" + batch + "/correct")
	v.prepared("/sheets/"+s.uploaded().ID, gridMark)
	_, body := v.post("/batches/"+batch+"/dismiss", "rows", "2")
	v.wants(body, "A correction of this batch is still open: what is ready in it is ordered when it is approved.")
	v.lacks(body, "nothing is ordered")
}

// A row is shown with everything that happened to it, its number masked
// wherever the service repeats one.
func TestRowPage(t *testing.T) {
	s, v := visit(t, account.Preparer)
	s.place()
	batch := v.submit(v.sheet("clients.csv", someClients))
	s.answered(batch)
	orders := s.orders(batch)
	s.tell(s.service.Advance(t.Context(), orders[0], "filed"))
	s.tell(s.service.Raise(t.Context(), orders[1], 482))
	told := fmt.Appendf(nil, `{"id":"evt_x","type":"filing.status_changed","createdAt":"2026-01-02T03:04:05Z",`+
		`"data":{"orderId":%q,"filingStatus":"<b>odd</b>","note":"of 123-45-6789"}}`, orders[2])
	e := need(filing.ParseEvent(told))(s)
	_, err := s.Ledger.Events().Keep(t.Context(), e, told)
	s.must(err)
	s.tell(nil, nil)

	_, body := v.get("/batches/" + batch + "/rows/2")
	v.wants(body, "Row 2: <bdi>&lt;script&gt;alert(1)&lt;/script&gt; LLC</bdi>", orders[0], "filed", "Accepted",
		"filing.status_changed", "document.uploaded", ">Charged<", ">Reserved<",
		"/batches/"+batch+"/documents/doc_", "annualReport.filingYear", `/rows/3" rel="next"`)
	v.lacks(body, `rel="prev"`)
	v.wants(v.page("/batches/"+batch+"/rows/3"), "The filing stopped, exception 482",
		"a report of an earlier year has a problem",
		"cure the earlier year", "=cmd|&#39;/c calc&#39;!A1")
	_, body = v.get("/batches/" + batch + "/rows/4")
	v.wants(body, "&lt;b&gt;odd&lt;/b&gt;", "6789")
	v.lacks(body, "123-45")
	v.wants(v.page("/batches/"+batch+"/rows/5"), "has two digits", "D5", "not yet", `/rows/4" rel="prev"`)
	for _, number := range []string{"1", "6", "0", "-1", "x", "99999999999999999999"} {
		v.gives(http.StatusNotFound, "/batches/"+batch+"/rows/"+number)
	}
}

// What broke is told in plain words, on the row's page and in the results; what
// the network itself said of it is folded away beside the attempt.
func TestARowTellsWhatBroke(t *testing.T) {
	s, v := visit(t, account.Roles...)
	s.place()
	batch, _ := s.inDoubt(v, doubtfulClients)
	const meaning = "sent, but the filing service did not confirm it: the connection broke before an answer came. " +
		"The order may or may not have been placed."
	_, body := v.get("/batches/" + batch + "/rows/2")
	v.wants(body, meaning, "No answer: the connection broke before an answer came", "Network error",
		"connection reset by peer")
	plain, _, _ := strings.Cut(body, "<details><summary>Network error")
	_, results := v.get("/batches/" + batch + "/results.csv")
	v.wants(results, meaning)
	v.lacks(plain+results, "read tcp", "reset by peer", "127.0.0.1")
}

// A row that the filing service refused after a part of it was bought shows what was charged, and
// not what the rest would have cost.
func TestRowPage_BoughtInPart(t *testing.T) {
	s := newSite(t)
	s.place()
	s.service.Inject(sandbox.Fault{Kind: sandbox.FaultStatus, Status: 422, Nth: 2})
	v := s.as(account.Roles...)
	batch := v.submit(v.sheet("a.csv", "Company ID,Filing State,User Email,Order Registered Agent,Order EIN,"+
		"Business Category,Business Purpose,Application Reason,Vehicle 55k Pounds,Gambling Wagering,File Form 720,"+
		"Alcohol Tobacco Firearms,File Form 944,Is W2 Expected,Responsible Party First Name,"+
		"Responsible Party Last Name,Responsible Party Title,Responsible Party SSN,Responsible Party Phone Number,"+
		"Responsible Party Is Foreign\n"+
		"comp_1,DE,ana@example.com,yes,yes,Consulting,Bookkeeping for small firms,Started a new business,"+
		"no,no,no,no,no,no,Ana,Silva,Managing Member,078-05-1120,(302) 555-0142,no\n"))
	s.answered(batch)
	row := need(s.Ledger.RowNumbered(t.Context(), batch, 2))(s)
	if row.Result != filing.Rejected || row.Spent.IsZero() || row.Spent == row.Cost {
		t.Fatalf("%+v", row)
	}
	v.wants(v.page("/batches/"+batch+"/rows/2"), "<dt>Charged</dt><dd>"+row.Spent.String()+"</dd>")
	company := need(s.Ledger.Companies().KeyOf(t.Context(), row.ID))(s)
	v.wants(v.page(companyPath(company)), `class="money">`+shortCost(row.Spent)+"</td>")
}
