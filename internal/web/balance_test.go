package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"bulkfiling/internal/ledger"
	"bulkfiling/internal/money"
)

func (s *testSite) book() ledger.Book {
	s.Helper()
	book, err := s.Ledger.Book(s.T.Context())
	s.must(err)
	s.must(s.Ledger.Audit(s.T.Context()))
	return book
}

// A deposit is asked for once more, named, entered once however often the form
// arrives, and recorded.
func TestDeposit(t *testing.T) {
	s := newSite(t)
	v := s.as(ledger.Operator)
	_, body := v.get("/balance")
	v.wants(body, "not known", "No deposit was ever entered", "No entry yet")
	_, body = v.post("/balance/entries", "kind", "deposit", "amount", "$2,500.50", "note", "wire <b>")
	v.wants(body, "Enter a deposit of $2,500.50?", "This is the first deposit", "wire &lt;b&gt;")
	if s.book().Declared {
		t.Fatal("entered before it was confirmed")
	}
	sure := []string{"once", hidden(body, "once"), "kind", hidden(body, "kind"), "amount", hidden(body, "amount"), "note", "wire <b>", "sure", "1"}
	_, body = v.post("/balance/entries", sure...)
	v.wants(body, "The deposit of $2,500.50 is entered", "$2,500.50 is available", "wire &lt;b&gt;", "Funds over time")
	_, body = v.post("/balance/entries", sure...)
	v.wants(body, "That was done already")
	if book := s.book(); book.Deposits != 2500_50 {
		t.Errorf("%+v", book)
	}
	acts, err := s.Ledger.Acts(t.Context(), ledger.ActQuery{What: "deposit"})
	if err != nil || len(acts) != 1 || acts[0].By != v.name || !strings.Contains(acts[0].Note, "$2,500.50") {
		t.Errorf("%+v, %v", acts, err)
	}
	_, body = v.post("/balance/entries", "kind", "adjustment", "amount", "-0.50", "sure", "1")
	v.wants(body, "The adjustment of -$0.50 is entered", "$2,500.00 is available")
	_, body = v.get("/balance?show=declared")
	v.wants(body, "-$0.50", "$2,500.50")
}

// What cannot be an amount is said at its field, and what was typed stays.
func TestNoDeposit(t *testing.T) {
	s := newSite(t)
	v := s.as(ledger.Operator)
	for _, c := range []struct{ kind, amount, note, says string }{
		{"deposit", "", "", "Type the amount"},
		{"deposit", "12,50", "", "not an amount"},
		{"deposit", "1.005", "", "not an amount"},
		{"deposit", "\"><script>", "", "not an amount"},
		{"deposit", "-5", "", "more than nothing"},
		{"deposit", "99999999999999", "", "surely a slip"},
		{"adjustment", "0", "", "changes nothing"},
		{"deposit", "5", strings.Repeat("x", 301), "At most 300"},
	} {
		status, body := v.post("/balance/entries", "kind", c.kind, "amount", c.amount, "note", c.note, "sure", "1")
		if status != http.StatusUnprocessableEntity || !strings.Contains(body, c.says) || strings.Contains(body, "\"><script>") || c.amount == "12,50" && !strings.Contains(body, `value="12,50"`) {
			t.Errorf("%+v: %d\n%s", c, status, body)
		}
	}
	if status, _ := v.post("/balance/entries", "kind", "post", "amount", "5", "sure", "1"); status != http.StatusForbidden {
		t.Errorf("an entry of another kind: %d", status)
	}
	if book := s.book(); book.Deposits != 0 || book.Adjustments != 0 {
		t.Errorf("%+v", book)
	}
}

// The page says what the queued rows take, and what a deposit means for them.
func TestBalanceOfAQueue(t *testing.T) {
	s := newSite(t)
	v := s.as(ledger.Preparer, ledger.Operator)
	s.must(s.Ledger.Deposit(t.Context(), 30_00, ""))
	path, body := v.sheet("a.csv", someClients)
	v.handIn(path, body)
	_, body = v.get("/balance")
	v.wants(body, "too little", "3 queued rows", "at least $75.00", "queue placed", `class="ahead"`)
	_, body = v.post("/balance/entries", "kind", "deposit", "amount", "10")
	v.wants(body, "too little for what is queued")
	_, body = v.post("/balance/entries", "kind", "deposit", "amount", "100", "sure", "1")
	v.wants(body, "It pays for the 3 queued rows")
}

// Entries are read by pages, the newest first.
func TestEntriesInPages(t *testing.T) {
	s := newSite(t)
	for i := range entriesOnPage + 5 {
		s.must(s.Ledger.Deposit(t.Context(), money.Cents(100+i), ""))
	}
	v := s.as(ledger.Approver)
	_, body := v.get("/balance")
	v.wants(body, "$1.54", "$1.05", "Older →")
	if strings.Contains(body, "<form method=\"post\" action=\"/balance") || strings.Contains(body, "$1.04<") {
		t.Error("an approver may enter a deposit, or the page is too long")
	}
	older := strings.ReplaceAll(strings.Split(strings.SplitAfter(body, `href="/balance?before=`)[1], "#")[0], "&amp;", "&")
	_, body = v.get("/balance?before=" + older)
	v.wants(body, "$1.04", "$1.00", "The newest")
	if strings.Contains(body, "Older →") {
		t.Error("there is nothing older")
	}
}

// A fleet that is paused for funds asks again when somebody says so.
func TestAskForFunds(t *testing.T) {
	s := newSite(t)
	v := s.as(ledger.Operator)
	if status, body := v.post("/balance/ask"); status != http.StatusOK || !strings.Contains(body, "asks the service at once") {
		t.Errorf("%d\n%s", status, body)
	}
	if acts, err := s.Ledger.Acts(t.Context(), ledger.ActQuery{What: "ask"}); err != nil || len(acts) != 1 {
		t.Errorf("%v, %v", acts, err)
	}
}

// The plot has room for whatever there was.
func TestPlotOfFunds(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		available []money.Cents
		rows      int
		queued    money.Cents
	}{
		"nothing": {[]money.Cents{0}, 0, 0}, "a cent": {[]money.Cents{0, 1}, 0, 0}, "below nothing": {[]money.Cents{-5, -700_00}, 3, 1},
		"much": {[]money.Cents{1e14, 3}, 1, 1e14}, "short": {[]money.Cents{100_00, 50_00}, 2, 80_00},
	} {
		var history []ledger.Funds
		for i, a := range c.available {
			history = append(history, ledger.Funds{Until: now.Add(time.Duration(i) * time.Hour), Available: a})
		}
		p := plotFunds(history, historySpans[0], c.rows, money.Cost{Amount: c.queued})
		if len(p.Y) < 2 || len(p.Y) > 7 || (len(p.X) == 6) != (c.rows > 0) {
			t.Errorf("%s: %+v", name, p)
		}
		for _, path := range p.Paths {
			if strings.Contains(path.D, "NaN") || strings.Contains(path.D, "Inf") || strings.Contains(path.D, "-") {
				t.Errorf("%s: %s", name, path.D)
			}
		}
	}
}
