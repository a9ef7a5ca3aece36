package jobs_test

import (
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// everyFault is each way in which an answer goes wrong, before and after the
// order is made, each for a share of the orders, and a few for look-ups.
func everyFault(rate float64) []sandbox.Fault {
	faults := []sandbox.Fault{
		{
			Kind:       sandbox.FaultStatus,
			Status:     429,
			RetryAfter: time.Second,
			Rate:       rate,
			Times:      1,
		},
		{Kind: sandbox.FaultStatus, Status: 503, Rate: rate, Times: 1},
		{Kind: sandbox.FaultStatus, Status: 500, Endpoint: "GET *", Rate: rate},
		{Kind: sandbox.FaultReset, Endpoint: "GET *", Rate: rate},
		{Kind: sandbox.FaultGarbage, Endpoint: "GET *", Rate: rate},
	}
	for _, kind := range []sandbox.Kind{
		sandbox.FaultTimeout, sandbox.FaultReset, sandbox.FaultEOF, sandbox.FaultHalfBody, sandbox.FaultGarbage,
		sandbox.FaultHTML, sandbox.FaultEmpty, sandbox.FaultNoOrderIDs, sandbox.FaultStatus,
	} {
		for _, after := range []bool{false, true} {
			faults = append(faults, sandbox.Fault{Kind: kind, Status: 502, After: after, Rate: rate})
		}
	}
	return append(faults, sandbox.Fault{Kind: sandbox.FaultSlowBody, For: 100 * time.Millisecond, Rate: rate})
}

// All faults at once: every row gets an answer, nothing is bought twice, every
// placed row is in the books, and what a person finds out settles the rest.
func TestEveryFault(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		f := newFirm(t, on, sandbox.Config{AutoSeed: true, Seed: 7, Faults: everyFault(0.01)})
		f.timeout = resendAfter
		f.add("a", requests(300, report, reportAndAgent, reportWithAgent, agentChange)...)
		f.finish("a")
		if counts := f.counts("a"); counts[filing.Placed]+counts[filing.Uncertain] != 300 ||
			counts[filing.Uncertain] == 0 {
			t.Errorf("%v", counts)
		}
		f.agree("a")
		made := make(map[string]string)
		for _, i := range f.service.Books().Items() {
			made[i.CompanyID] = i.ID
		}
		for _, r := range f.uncertain("a") {
			if f.Repeatable(r.Request.Order.Products()) {
				t.Errorf("row %d may be sent twice and was left to a person: %s", r.Number, r.Message)
			}
			if id := made[r.Request.Company.Ref]; id != "" {
				f.must(f.Resolutions().MarkPlaced(t.Context(), r.ID, 0, []string{id}, "seen on the dashboard"))
			} else {
				f.must(f.Resolutions().MarkNotPlaced(t.Context(), r.ID, 0, "not on the dashboard"))
			}
		}
		f.service.ClearFaults()
		f.placeRest("a")
		f.agree("a")
	})
}
