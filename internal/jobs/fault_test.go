package jobs_test

import (
	"testing"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/jobs"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/sandbox"
)

// everyFault is each way in which an answer goes wrong, before and after the
// order is made, each for a share of the orders, and a few for look-ups.
func everyFault(rate float64) []sandbox.Fault {
	faults := []sandbox.Fault{
		{Kind: sandbox.FaultStatus, Status: 429, RetryAfter: time.Second, Rate: rate / 2},
		{Kind: sandbox.FaultStatus, Status: 503, Rate: rate / 4},
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
		f := newFirm(t, on, sandbox.Config{OpeningBalance: rich, AutoSeed: true, Seed: 7, Faults: everyFault(0.01)})
		l := f.openLedger()
		f.add(l, "a", requests(300, report, reportAndAgent, reportWithAgent, agentChange)...)
		if end := f.run(l, "a", patient); end.Reason != jobs.Finished {
			t.Fatalf("%+v", end)
		}
		counts, err := l.Counts(t.Context(), "a")
		f.must(err)
		if counts[filing.Placed]+counts[filing.Uncertain] != 300 || counts[filing.Uncertain] == 0 {
			t.Errorf("%v", counts)
		}
		f.agree(l, "a")
		made := make(map[string]string)
		for _, i := range f.service.Books().Items() {
			made[i.CompanyID] = i.ID
		}
		uncertain, err := l.UncertainRows(t.Context(), "a")
		f.must(err)
		for _, r := range uncertain {
			if r.Request.Order.Repeatable() {
				t.Errorf("row %d may be sent twice and was left to a person: %s", r.Number, r.Message)
			}
			if id := made[r.Request.Company.Ref]; id != "" {
				f.must(l.ResolvePlaced(t.Context(), r.ID, []string{id}, "seen on the dashboard"))
			} else {
				f.must(l.ResolveNotPlaced(t.Context(), r.ID, "not on the dashboard"))
			}
		}
		f.service.ClearFaults()
		f.run(l, "a", patient)
		f.want(l, "a", ledger.Counts{filing.Placed: 300})
		f.agree(l, "a")
	})
}

// Each fault by itself, on an order that must not be sent twice and on one that
// may, ends as the table of answers says.
func TestEachFault(t *testing.T) {
	once := map[bool]filing.Result{false: filing.Uncertain, true: filing.Uncertain}
	for _, c := range []struct {
		fault  sandbox.Fault
		result map[bool]filing.Result // by whether the order was made first
	}{
		{sandbox.Fault{Kind: sandbox.FaultTimeout}, once},
		{sandbox.Fault{Kind: sandbox.FaultReset}, once},
		{sandbox.Fault{Kind: sandbox.FaultEOF}, once},
		{sandbox.Fault{Kind: sandbox.FaultHalfBody}, once},
		{sandbox.Fault{Kind: sandbox.FaultGarbage}, once},
		{sandbox.Fault{Kind: sandbox.FaultHTML}, once},
		{sandbox.Fault{Kind: sandbox.FaultEmpty}, once},
		{sandbox.Fault{Kind: sandbox.FaultNoOrderIDs}, once},
		{sandbox.Fault{Kind: sandbox.FaultStatus, Status: 500}, once},
		{sandbox.Fault{Kind: sandbox.FaultStatus, Status: 504}, once},
		{sandbox.Fault{Kind: sandbox.FaultStatus, Status: 400}, map[bool]filing.Result{false: filing.Rejected}},
		{sandbox.Fault{Kind: sandbox.FaultStatus, Status: 409}, map[bool]filing.Result{false: filing.Rejected}},
		{sandbox.Fault{Kind: sandbox.FaultStatus, Status: 422}, map[bool]filing.Result{false: filing.Rejected}},
		{sandbox.Fault{Kind: sandbox.FaultSlowBody, For: 50 * time.Millisecond}, map[bool]filing.Result{true: filing.Placed}},
	} {
		for after, result := range c.result {
			c.fault.After, c.fault.Nth = after, 1
			t.Run(c.fault.String(), func(t *testing.T) {
				t.Parallel()
				f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
				l := f.openLedger()
				for i, kind := range []func(int) *filing.Request{report, agentChange} {
					fault := c.fault
					fault.Company = kind(i).Company.Ref
					f.service.Inject(fault)
					f.add(l, string(rune('a'+i)), kind(i))
					f.run(l, string(rune('a'+i)), patient)
				}
				f.want(l, "a", ledger.Counts{result: 1})
				if result == filing.Uncertain {
					result = filing.Placed // sent again
				}
				f.want(l, "b", ledger.Counts{result: 1})
				f.agree(l, "a", "b")
			})
		}
	}
}
