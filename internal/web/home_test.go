package web

import (
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// Home lists what needs action for the role of its reader, and the batches with
// their state, their numbers and their money; filters leave others out.
func TestHome(t *testing.T) {
	s := newSite(t)
	paula := s.as(account.Preparer)
	batch := paula.submit(paula.sheet("clients.csv", someClients))
	s.service.Inject(sandbox.Fault{Kind: sandbox.FaultReset, After: true, Company: "comp_2", Times: 1})
	s.place()
	s.answered(batch)
	body := paula.soon("/", "2 of 4 placed, 1 uncertain, 1 needs attention")
	paula.wants(body, `<span class="n">2</span> actions needed`, "1 row needs attention", "Correct 1 row</button>",
		"1 uncertain order",
		"See orders", `<span class="badge uncertain">1 uncertain</span>`, "Charged")
	olive := s.as(account.Operator)
	_, body = olive.get("/balance") // the actions are on every page
	olive.wants(body, `<span class="n">1</span> action needed`, `href="/uncertain?batch=`+batch+`">Resolve</a>`)
	vera := s.as(account.Auditor)
	vera.wants(vera.page("/"), "No action needed")
	for ask, found := range map[string]bool{
		"q=CLIENTS": true, "q=other": false, "show=mine": true, "show=action": true, "q=" + batch[:5]: true,
	} {
		_, body := paula.get("/?" + ask)
		if got := strings.Contains(body, `href="/batches/`+batch+`"><bdi>clients.csv`); got != found {
			t.Errorf("%s: found %t, want %t", ask, got, found)
		}
	}
	olive.wants(olive.page("/?show=mine"), "No batches match")
	paula.gives(404, "/?show=nothing")
}

// A batch that waits for money says so on home and in the actions, and a canceled
// one does not hide an order that may have been placed.
func TestStatusOfBatches(t *testing.T) {
	s, v := visit(t, account.Preparer, account.Operator)
	s.must(s.Ledger.Entries().RecordDeposit(t.Context(), 1_00, ""))
	batch := v.submit(v.sheet("clients.csv", someClients))
	s.place()
	v.soon("/", `<span class="badge paused">Waiting for funds</span>`)
	body := v.soon("/", "3 orders wait for funds, short by about $")
	v.wants(body, "Record deposit</a>", "0 of 4 placed, 1 needs attention, 3 waiting for funds")
	c := ledger.Counts{filing.Uncertain: 2, filing.Canceled: 1}
	b := need(s.Ledger.Batch(t.Context(), batch))(s)
	b.Canceled = true
	st, err := s.server.overview.statusOf(t.Context(), b, ledger.Figures{Counts: c}, 0, fleetFacts{})
	if s.must(err); st.Word != "Canceled, 2 uncertain" {
		t.Errorf("%q", st.Word)
	}
}

// Orders that no process sends need action.
func TestActionWithoutWorker(t *testing.T) {
	s, v := visit(t, account.Preparer)
	v.submit(v.sheet("clients.csv", someClients))
	v.wants(v.page("/"), "3 orders wait: no worker is running", `href="/workers">See workers</a>`)
	s.place()
	s.until("a worker runs", func() bool { return !strings.Contains(v.page("/"), "no worker is running") })
}
