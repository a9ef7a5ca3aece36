package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

func (s *testSite) book() ledger.Balance {
	s.Helper()
	book := need(s.Ledger.Balance(s.Context()))(s)
	s.must(s.Ledger.Audit(s.Context()))
	return book
}

// A deposit is entered once however often the form arrives, and recorded.
func TestDeposit(t *testing.T) {
	s, v := visit(t, account.Operator)
	_, body := v.get("/balance")
	v.wants(body, "unknown", "No deposit is recorded", "No entries yet")
	sure := []string{"once", hidden(body, "once"), "kind", "deposit", "amount", "$2,500.50", "note", "wire <b>"}
	v.wants(v.posted("/balance/entries", sure...), "Recorded the deposit of $2,500.50", "<dd>$2,500.50</dd>",
		"wire &lt;b&gt;")
	v.wants(v.posted("/balance/entries", sure...), "This was already done")
	if book := s.book(); book.Deposits != 2500_50 {
		t.Errorf("%+v", book)
	}
	if act := s.acts(1, audit.Query{What: "deposit"})[0]; act.By != v.name || !strings.Contains(act.Note, "$2,500.50") {
		t.Errorf("%+v", act)
	}
	v.wants(v.posted("/balance/entries", "kind", "adjustment", "amount", "-0.50", "note", "a fee"),
		"Recorded the adjustment of -$0.50", "<dd>$2,500.00</dd>")
	v.wants(v.page("/balance?kind=declared"), "-$0.50", "+$2,500.50", ">$2,500.00</td>")
}

// What cannot be an amount is refused with the reason.
func TestNoDeposit(t *testing.T) {
	s, v := visit(t, account.Operator)
	for _, c := range []struct{ kind, amount, note, says string }{
		{"deposit", "", "", "Enter the amount"},
		{"deposit", "12,50", "", "Not an amount"},
		{"deposit", "1.005", "", "Not an amount"},
		{"deposit", "\"><script>", "", "Not an amount"},
		{"deposit", "-5", "", "more than $0.00"},
		{"deposit", "99999999999999", "", "billion dollars"},
		{"adjustment", "0", "", "cannot be $0.00"},
		{"adjustment", "5", " ", "Enter the reason"},
		{"deposit", "5", strings.Repeat("x", 301), "at most 300"},
	} {
		body := v.answers(http.StatusUnprocessableEntity, "/balance/entries", "kind", c.kind, "amount", c.amount,
			"note", c.note)
		v.wants(body, c.says)
		v.lacks(body, "\"><script>")
	}
	v.answers(http.StatusForbidden, "/balance/entries", "kind", "post", "amount", "5")
	if book := s.book(); book.Deposits != 0 || book.Adjustments != 0 {
		t.Errorf("%+v", book)
	}
}

// The page says what the queued rows take, and what a deposit means for them.
func TestBalanceOfAQueue(t *testing.T) {
	s, v := visit(t, account.Preparer, account.Operator)
	s.must(s.Ledger.Entries().RecordDeposit(t.Context(), 30_00, ""))
	path, body := v.sheet("a.csv", someClients)
	v.wants(body, "Annual report, DE ", "estimated", "Service fee", "checked Nov 2026")
	v.submit(path, body)
	v.wants(v.page("/balance"), "Insufficient funds; you need", "3 queued rows", "about $1,")
	v.wants(v.posted("/balance/entries", "kind", "deposit", "amount", "2000"), "The balance covers the queued rows")
	// Charges before the first deposit count.
	below := ledger.Balance{HasDeposit: true, Deposits: 10_00, Adjustments: -110_00}
	if got := below.Missing(50_00); got != 150_00 {
		t.Errorf("%s is missing", got)
	}
}

// Warnings are listed beside the quote. The preparer and the approver each confirm
// that they reviewed them.
func TestWarningsAreConfirmed(t *testing.T) {
	s := newSite(t)
	s.must(approval.New(s.Ledger).ChangePolicy(t.Context(), approval.Policy{Second: true}))
	v := s.as(account.Preparer)
	path, body := v.sheet("a.csv", "Company ID,Legal Name,Entity Type,Formation State,Filing State,Filing Year,"+
		"User Email\ncomp_1,A LLC,LLC,DE,OH,2026,ana@example.com\ncomp_2,B LLC,LLC,DE,DE,2026,ana@example.com\n")
	v.wants(body, "Ohio asks no annual report of an LLC", "E2", "I reviewed 1 warning (row 2)",
		`href="`+path+`?show=notes#rows"`)
	v.wants(v.posted(path+"/submit", "version", hidden(body, "version"), "plan", hidden(body, "plan")),
		"confirms that you reviewed 1 warning")
	confirmed := checkbox(t, body, "warnings")
	for _, other := range []string{"1", confirmed[:len(confirmed)-1] + "x"} { // as many, and not these
		_, after := v.post(path+"/submit", "version", hidden(body, "version"), "plan", hidden(body, "plan"),
			"warnings", other)
		v.wants(after, "Nothing was sent. The warnings changed since you reviewed them")
	}
	_, after := v.post(path+"/submit", "version", hidden(body, "version"), "plan", hidden(body, "plan"),
		"warnings", confirmed)
	v.wants(after, "Nothing is sent before it is approved")
	b := need(s.Ledger.Batch(t.Context(), ""))(s)
	other := s.as(account.Approver)
	_, body = other.get("/batches/" + b.ID + "/approve")
	other.wants(body, "Ohio asks no annual report of an LLC", "I reviewed 1 warning (row 2)",
		`href="/batches/`+b.ID+`?show=notes#rows"`, "Annual report, DE LLC", "estimated")
	other.wants(other.posted("/batches/"+b.ID+"/approve", "plan", b.Approval.Plan),
		"confirms that you reviewed 1 warning")
	if b, err := s.Ledger.Batch(t.Context(), b.ID); err != nil || b.Approval.State != ledger.ApprovalNeeded {
		t.Errorf("%+v, %v", b.Approval, err)
	}
	other.post("/batches/"+b.ID+"/approve", "plan", b.Approval.Plan, "warnings", checkbox(t, body, "warnings"))
	if b, err := s.Ledger.Batch(t.Context(), b.ID); err != nil || b.Approval.State != ledger.ApprovalGiven {
		t.Errorf("%+v, %v", b.Approval, err)
	}
}

// checkbox is the value of a box on a page.
func checkbox(t *testing.T, body, name string) string {
	t.Helper()
	_, rest, found := strings.Cut(body, `<input type="checkbox" name="`+name+`" value="`)
	value, _, _ := strings.Cut(rest, `"`)
	if !found || value == "" {
		t.Fatalf("no box %s", name)
	}
	return value
}

// Entries are read by pages, the newest first.
func TestEntriesInPages(t *testing.T) {
	s := newSite(t)
	for i := range linesOnPage + 5 {
		s.must(s.Ledger.Entries().RecordDeposit(t.Context(), money.Cents(100+i), ""))
	}
	v := s.as(account.Approver)
	_, body := v.get("/balance")
	v.wants(body, "+$1.29", "+$1.05", "Next →</a>")
	v.lacks(body, "<form method=\"post\" action=\"/balance", "+$1.04<")
	older := strings.ReplaceAll(strings.Split(strings.SplitAfter(body, `href="/balance?before=`)[1], "#")[0],
		"&amp;", "&")
	_, body = v.get("/balance?before=" + older)
	v.wants(body, "+$1.04", "+$1.00", "First page</a>")
	v.lacks(body, "Next →</a>")
}

// However often an order is tried, the page shows it as one line that opens; the
// lines are filtered, and the CSV has what is filtered, with the same balances.
func TestBalanceOfRetries(t *testing.T) {
	s, v := visit(t, account.Preparer, account.Operator)
	s.must(s.Ledger.Entries().RecordDeposit(t.Context(), 5000_00, "=wire"))
	batch := v.submit(v.sheet("a.csv", someClients))
	var first ledger.Row
	for row, err := range s.Ledger.Rows(t.Context(), batch) {
		if s.must(err); row.Result == filing.Ready && first.ID == 0 {
			first = row
		}
	}
	answer := func(a filing.Answer) {
		t.Helper()
		row := need(s.Ledger.Row(t.Context(), first.ID))(s)
		in := ledger.Intent{Row: row.ID, LastAttempt: row.LastAttempt, Cost: row.Cost}
		begun, err := s.Ledger.Begin(t.Context(), in)
		s.must(err)
		s.must(s.Ledger.RecordOutcome(t.Context(), ledger.Outcome{
			Row: row.ID, Attempt: begun.Attempt, Answer: a, Cost: row.Cost, Message: "said",
		}))
		s.must(s.Ledger.Fleet().AllowProbe(t.Context()))
	}
	for range 2 {
		answer(filing.Answer{Kind: filing.NoFunds, Status: http.StatusPaymentRequired})
	}
	_, body := v.get("/balance")
	v.wants(body, "Checking the funds")
	v.lacks(body, "2 requests", "The balance covers the queued rows")
	v.wants(v.page("/balance?kind=all"), "2 requests", "Released", "+"+first.Cost.Amount.Dollars(), "row 2 of")
	answer(filing.Answer{Kind: filing.Refused, Status: http.StatusUnprocessableEntity})
	v.wants(v.page("/balance?kind=void"), "3 requests", "1 entry")
	for _, none := range []string{"kind=post", "kind=all&q=no+such+company"} {
		v.wants(v.page("/balance?"+none), "No entries match")
	}
	v.wants(v.gives(http.StatusUnprocessableEntity, "/balance?from=April"), "Enter a date, such as 2026-04-15.")
	csv := v.page("/balance.csv?kind=all")
	zone := need(schedule.FirmZone(t.Context(), s.Ledger))(s)
	if lines := strings.Split(strings.TrimSpace(csv), "\n"); len(lines) != 3 ||
		!strings.HasPrefix(lines[0], "Date,Time ("+zone.String()+"),Entry,") || !strings.Contains(lines[1], "'=wire") {
		t.Error(csv)
	}
	v.lacks(v.page("/balance.csv?kind=declared"), "Released")
	s.acts(2, audit.Query{What: "download"})
}

// The page has what was charged, for a month and a client, and so do its files.
func TestChargesPage(t *testing.T) {
	s := newSite(t)
	v, reader := s.as(account.Preparer, account.Operator), s.as(account.Auditor)
	v.wants(v.page("/charges"), "No charges yet")
	path, body := v.sheet("clients.csv", clientsOfTwo+"comp_3,Quay LLC,DE,2026,ana@example.com,\n")
	batch := v.submit(path, body)
	s.place()
	s.answered(batch)
	v.wants(reader.page("/charges"), "Acme", "Harbor Light", "No client", "&lt;b&gt;Birch&lt;/b&gt; Inc",
		"Annual report 2026",
		"/batches/"+batch+"/rows/2", `about `+s.book().Posted.Dollars())
	_, body = v.get("/charges?client=ACME")
	v.wants(body, "Birch")
	s.lacks(body, "Quay LLC")
	v.wants(v.page("/charges?client=Nobody"), "No charges for this client")

	s.times(4, reader.page("/charges.csv?month=all"), "\n")
	for _, path := range []string{"/charges?month=March", "/charges.csv?month=2020-01", "/charges.xlsx"} {
		reader.gives(http.StatusNotFound, path)
	}
}

// The forecast names what to have available and when, and the runs that need it.
func TestForecast(t *testing.T) {
	s, v := visit(t, account.Operator)
	v.wants(v.page("/balance/forecast"), "No schedule places an order and no subscription renews until",
		"Nothing to pay for")
	_, err := schedule.Add(t.Context(), s.Ledger, schedule.NewSchedule{
		Name: "florida",
		File: "list.csv",
		Content: []byte("Company ID,Legal Name,Filing State,User ID,Entity Type,Formation State\n" +
			"comp_1,Ada LLC,FL,user_1,LLC,DE\ncomp_2,Bea LLC,FL,user_1,LLC,DE\n"),
		By:      "Ana",
		Options: schedule.Options{Due: "60 days before", Zone: "America/New_York", FilingYear: "this"},
	})
	s.must(err)
	s.must(s.Ledger.Entries().RecordDeposit(t.Context(), 100_00, ""))
	v.wants(v.page("/balance"), `href="/balance/forecast"`)
	v.wants(v.page("/balance/forecast?days=365"), "Have about $327.50 available by", "$227.50 more than now",
		">florida</bdi>",
		`href="/schedules/florida"`, `<option value="365" selected>`)
	for _, days := range []string{"0", "367", "x"} {
		v.gives(http.StatusUnprocessableEntity, "/balance/forecast?days="+days)
	}
}

// The forecast has the renewal of a placed report a year later, as an estimate, and no schedule's order of what the
// subscription covers.
func TestForecastOfRenewals(t *testing.T) {
	s, v := visit(t, account.Preparer, account.Operator)
	batch := v.submit(v.sheet("florida.csv", "Company ID,Legal Name,Filing State,Filing Year,User Email\n"+
		"comp_3,Cal LLC,FL,2026,ana@example.com\n"))
	s.place()
	s.answered(batch)
	_, err := schedule.Add(t.Context(), s.Ledger, schedule.NewSchedule{
		Name: "florida",
		File: "list.csv",
		Content: []byte("Company ID,Legal Name,Filing State,User ID,Entity Type,Formation State\n" +
			"comp_1,Ada LLC,FL,user_1,LLC,DE\ncomp_3,Cal LLC,FL,user_1,LLC,DE\n"),
		By:      "Ana",
		Options: schedule.Options{Due: "60 days before", Zone: "America/New_York", FilingYear: "this"},
	})
	s.must(err)
	body := v.page("/balance/forecast?days=366")
	v.wants(body, ">florida</bdi>", "Annual report renewals in ", "(estimate)")
	s.times(2, body, `<td data-label="Orders" class="num">1</td>`)
	v.lacks(v.page("/balance/forecast?days=300"), "renewals in ")
}
