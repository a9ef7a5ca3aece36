package jobs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
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
			if r.Request.Order.Repeatable(true) {
				t.Errorf("row %d may be sent twice and was left to a person: %s", r.Number, r.Message)
			}
			if id := made[r.Request.Company.Ref]; id != "" {
				f.must(l.Resolutions().MarkPlaced(t.Context(), r.ID, 0, []string{id}, "seen on the dashboard"))
			} else {
				f.must(l.Resolutions().MarkNotPlaced(t.Context(), r.ID, 0, "not on the dashboard"))
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
	if testing.Short() {
		t.Skip("skipping a long test in short mode")
	}
	type hit struct {
		fault  sandbox.Fault
		result filing.Result // of an annual report
	}
	hits := []hit{
		{sandbox.Fault{Kind: sandbox.FaultStatus, Status: 400}, filing.Rejected},
		{sandbox.Fault{Kind: sandbox.FaultStatus, Status: 409}, filing.Rejected},
		{sandbox.Fault{Kind: sandbox.FaultStatus, Status: 422}, filing.Rejected},
		{sandbox.Fault{Kind: sandbox.FaultSlowBody, For: 50 * time.Millisecond}, filing.Placed},
	}
	for _, fault := range []sandbox.Fault{
		{Kind: sandbox.FaultTimeout}, {Kind: sandbox.FaultReset}, {Kind: sandbox.FaultEOF},
		{Kind: sandbox.FaultHalfBody},
		{Kind: sandbox.FaultGarbage}, {Kind: sandbox.FaultHTML}, {Kind: sandbox.FaultEmpty},
		{Kind: sandbox.FaultNoOrderIDs},
		{Kind: sandbox.FaultStatus, Status: 500}, {Kind: sandbox.FaultStatus, Status: 502},
		{Kind: sandbox.FaultStatus, Status: 504},
	} {
		hits = append(hits, hit{fault, filing.Uncertain})
		fault.After = true
		hits = append(hits, hit{fault, filing.Uncertain})
	}
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
	var once, twice []*filing.Request
	for i, h := range hits {
		for j, kind := range []func(int) *filing.Request{report, agentChange} {
			r := kind(2*i + j)
			h.fault.Company, h.fault.Times = r.Company.Ref, 1
			f.service.Inject(h.fault)
			if j == 0 {
				once = append(once, r)
			} else {
				twice = append(twice, r)
			}
		}
	}
	l := f.openLedger()
	f.add(l, "once", once...)
	f.add(l, "twice", twice...)
	for _, batch := range []string{"once", "twice"} {
		f.run(l, batch, patient)
		for i, r := range f.rows(l, batch) {
			want, attempts := hits[i].result, 1
			if batch == "twice" && want == filing.Uncertain {
				want, attempts = filing.Placed, 2 // sent again
			}
			if r.Result != want || r.Attempts != attempts {
				t.Errorf("%s, %s: %s after %d attempts (%s), want %s after %d", batch, hits[i].fault, r.Result,
					r.Attempts, r.Message, want, attempts)
			}
		}
	}
	f.agree(l, "once", "twice")
}

// What became of an order is told in plain words; what the network itself said is
// in the log and beside the attempt.
func TestABrokenConnectionIsToldInPlainWords(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{
		OpeningBalance: rich,
		AutoSeed:       true,
		Faults:         []sandbox.Fault{{Kind: sandbox.FaultEOF, Endpoint: "POST /orders"}},
	})
	l := f.openLedger()
	f.add(l, "a", requests(1, report)...)
	var said logged
	f.run(l, "a", patient, said.to())
	row := f.rows(l, "a")[0]
	const message = "sent, but the filing service did not confirm it: the connection was closed before an answer " +
		"came. The order may or may not have been placed. Check"
	if row.Result != filing.Uncertain || !strings.HasPrefix(row.Message, message) ||
		strings.Contains(row.Message, "EOF") {
		t.Errorf("%s: %s", row.Result, row.Message)
	}
	attempts, err := l.Attempts(t.Context(), row.ID)
	if f.must(err); len(attempts) != 1 || attempts[0].Message != "the connection was closed before an answer came" ||
		attempts[0].Detail != "EOF" {
		t.Errorf("%+v", attempts)
	}
	if said.count("detail=EOF") != 1 {
		t.Errorf("the log says %q", said.lines)
	}
}
