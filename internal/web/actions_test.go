package web

import (
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// A schedule that would file nothing needs action.
func TestActionsOfSchedules(t *testing.T) {
	s := newSite(t)
	s.season("old", false, companyListOf("Ada LLC"))
	v := s.as(ledger.Operator)
	if _, body := v.get("/balance"); strings.Contains(body, "Check schedule") {
		t.Error("a schedule that files everything needs action")
	}
	s.must(s.Ledger.Companies().Remember(t.Context(), "comp_ada_llc",
		filing.Company{ID: "comp_ada_llc", LegalName: "Bea LLC"}))
	s.Seasons = schedule.New(schedule.Config{Ledger: s.Ledger, Quoter: s.Ask})
	s.actionFacts.Delete("")
	v.wants(v.page("/balance"), "Schedule old would file nothing", `href="/seasons/old">Check schedule</a>`)
	if _, body := s.as(ledger.Auditor).get("/"); strings.Contains(body, "Check schedule") {
		t.Error("an auditor is asked to act")
	}
}

// Orders that no process sends need action.
func TestActionWithoutWorker(t *testing.T) {
	s, v := visit(t, ledger.Preparer)
	path, body := v.sheet("clients.csv", someClients)
	v.submit(path, body)
	_, body = v.get("/")
	v.wants(body, "3 orders wait: no worker is running", `href="/fleet">See workers</a>`)
	s.place()
	for deadline := time.Now().Add(2 * time.Minute); strings.Contains(body,
		"no worker is running"); _, body = v.get("/") {
		if time.Now().After(deadline) {
			t.Fatal("a worker runs, and the page does not say so")
		}
		time.Sleep(50 * time.Millisecond)
	}
}
