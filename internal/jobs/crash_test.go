package jobs_test

import (
	"context"
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

func TestMain(m *testing.M) {
	// The tests wait for answers and leases more than they compute.
	_ = flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0)))
	os.Exit(m.Run())
}

// A process that dies at each boundary of the placer: what was not sent is sent, what
// may have been is sent again only where that is harmless, and nothing is bought twice.
func TestDeadAtEachBoundary(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		intent, ordered bool          // what the process did before it died
		once            filing.Result // what becomes of an annual report
		attempts        int           // of the order that may be sent again
	}{
		{"before the intent", false, false, filing.Placed, 1},
		{"after the intent", true, false, filing.Uncertain, 2},
		{"after the order is made", true, true, filing.Uncertain, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onBothTransports(t, func(t *testing.T, on servers) {
				f := newFirm(t, on, sandbox.Config{AutoSeed: true})
				for batch, kind := range map[string]*filing.Request{"a": report(1), "b": agentChange(2)} {
					f.add(batch, kind)
					if c.intent {
						f.die(batch, kind.Order, false)
					}
					if c.ordered {
						order := kind.Order
						order.UserID, order.CompanyID = kind.User.ID, kind.Company.Ref
						f.client().PlaceOrder(context.Background(), &order)
					}
					f.finish(batch)
				}
				f.want("a", ledger.Counts{c.once: 1})
				f.want("b", ledger.Counts{filing.Placed: 1})
				if r := f.rows("b")[0]; r.LastAttempt != c.attempts || r.Uncertain {
					t.Errorf("%+v", r)
				}
				f.agree("a", "b")
			})
		})
	}
}
