package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// A schedule that would file nothing, and due dates that no running schedule
// covers, need action, and no longer once someone has seen to them.
func TestActionsOfSchedules(t *testing.T) {
	s := newSite(t)
	formed := time.Now().AddDate(-3, 0, 20) // a report is due every year at the end of that month
	_, err := schedule.Add(t.Context(), s.Ledger, schedule.NewSchedule{
		Name: "nj",
		File: "nj.csv",
		Content: fmt.Appendf(
			nil, "Company ID,Legal Name,Filing State,User ID,Entity Type,Formation State,Formation Date\n"+
				"comp_1,Ada LLC,NJ,user_1,LLC,NJ,%s\n", formed.Format(time.DateOnly)),
		By:      "somebody",
		Options: schedule.Options{Due: "30 days before", Zone: "UTC", FilingYear: "this", Product: "annual-report"},
	})
	s.must(err)
	v := s.as(ledger.Operator)
	if _, body := v.get("/"); strings.Contains(body, "no schedule") {
		t.Errorf("a schedule files it:\n%s", body)
	}
	_, body := v.get("/seasons/nj")
	v.post("/seasons/nj/pause", "version", hidden(body, "version"))
	_, body = v.get("/")
	v.wants(body, "1 due date until", "has no schedule", "NJ, Ada LLC", "See due dates</a>")
	if _, body := s.as(ledger.Auditor).get("/"); strings.Contains(body, "has no schedule") {
		t.Error("an auditor is asked to act")
	}
	_, body = v.get("/seasons/nj")
	v.post("/seasons/nj/resume", "version", hidden(body, "version"))
	if _, body := v.get("/"); strings.Contains(body, "no schedule") {
		t.Errorf("the schedule runs again:\n%s", body)
	}
	s.season("old", false, fmt.Appendf(nil, "Company ID,Legal Name,Filing State,Filing Year,User ID\n"+
		"comp_2,Bea LLC,DE,%d,user_1\n", time.Now().UTC().Year()+1)) // for January of the next year
	s.Seasons = schedule.New(schedule.Config{
		Ledger: s.Ledger,
		Quoter: s.Ask,
		Now:    func() time.Time { return time.Now().AddDate(1, 0, 0) },
	})
	s.actionFacts.Delete("")
	_, body = v.get("/balance")
	v.wants(body, "Schedule old would file nothing", `href="/seasons/old">Check schedule</a>`)
}

// Orders that no process sends need action.
func TestActionWithoutWorker(t *testing.T) {
	s := newSite(t)
	v := s.as(ledger.Preparer)
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
