package web

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// answered waits until every row of a batch is answered.
func (s *testSite) answered(batch string) (counts ledger.Counts) {
	s.Helper()
	s.until("every row has its answer", func() bool {
		counts = need(s.Ledger.Counts(s.Context(), batch))(s)
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
	s, v := visit(t, ledger.Preparer)
	batch := v.submit(v.sheet("clients.csv", someClients))
	v.wants(v.page("/batches/"+batch), "clients.csv", "No worker", "No worker is running",
		"0 of 4 placed, 3 waiting (no worker), 1 needs attention",
		">Pause batch<")
	s.place()
	s.answered(batch)
	body := v.soon("/batches/"+batch, "3 of 4 placed, 1 needs attention")
	v.wants(body, "Needs attention", `class="partial"`, "&lt;script&gt;alert(1)&lt;/script&gt;",
		"Correct 1 row</button>", "results.xlsx",
		"<b>3</b> placed")
	if strings.Contains(body, ">Pause batch<") || strings.Contains(body, "<script>alert") {
		t.Error("it can be paused, or a name became markup")
	}
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
		v := s.as(ledger.Preparer)
		batch := v.submit(v.sheet("clients.csv", someClients))
		s.service.Inject(sandbox.Fault{Kind: sandbox.FaultStatus, Status: c.status})
		if c.deposit > 0 {
			s.must(s.Ledger.RecordDeposit(t.Context(), c.deposit, ""))
		}
		s.place()
		s.until("the fleet stops", func() bool {
			h := need(s.Ledger.Fleet().Halt(t.Context()))(s)
			return h.Reason != filing.NoHalt
		})
		_, body := v.get("/batches/" + batch)
		v.wants(body, c.says...)
		if c.deposit > 0 {
			_, balance := s.as(ledger.Operator).get("/balance")
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
	s, v := visit(t, ledger.Preparer)
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
	if _, body := v.post("/batches/" + batch + "/pause"); !strings.Contains(body, "The batch is paused.") {
		t.Errorf("not paused:\n%s", body)
	}
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
