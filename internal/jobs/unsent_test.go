package jobs_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// mostAttempts bounds the attempts of a process in the two seconds that a test
// waits. With pauses that grow to 3 s there are 20; without, some hundreds.
const mostAttempts = 60

// announced is a worker at work, and how often it has announced an order.
type announced struct {
	client   *filingapi.Client // waits 30 s for an answer
	attempts func() int
}

func (f *firm) announce(all ...*filing.Request) *announced {
	f.Helper()
	l := f.openLedger()
	f.add(l, "a", all...)
	client, err := filingapi.New(filingapi.Config{
		BaseURL: f.url,
		Key:     "sk_test_firm",
		Timeout: 30 * time.Second,
		Breaker: filingapi.BreakerLimits{Open: 300 * time.Millisecond},
	})
	f.must(err)
	f.Cleanup(client.Close)
	w := f.start(l, f.openQueue(), func(c *jobs.Config) { c.Service = client })
	f.Cleanup(w.Stop)
	return &announced{client: client, attempts: func() (n int) {
		for _, r := range f.rows(l, "a") {
			n += r.Tries
		}
		return n
	}}
}

// While the one order that the breaker lets through waits for its answer, no other
// row is announced again and again: each attempt costs two commits.
func TestRowsRestWhileTheSingleOrderIsOut(t *testing.T) {
	t.Parallel()
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
	single, end := make(chan struct{}), make(chan struct{})
	out := sync.OnceFunc(func() { close(single) })
	started := make(chan *announced, 1)
	worker := sync.OnceValue(func() *announced { return <-started })
	inner := f.record(f.service.Handler())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/orders") {
			inner.ServeHTTP(w, r)
			return
		}
		if hold := worker().client.BreakerState(); !hold.Since.IsZero() && time.Now().After(hold.Until) {
			out()
			<-end
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(server.Close)
	f.url = server.URL + "/v1"
	w := f.announce(requests(300, report)...)
	t.Cleanup(func() { close(end) }) // before the worker stops
	started <- w
	<-single
	before := w.attempts()
	time.Sleep(2 * time.Second)
	if n := w.attempts() - before; n > mostAttempts {
		t.Errorf("%d attempts while one order is out", n)
	}
}

// The same where the filing service fails for creations of companies alone.
func TestRowsRestWhileCreationsFail(t *testing.T) {
	t.Parallel()
	f := newEnvironment(t, servers{}, sandbox.Config{AutoSeed: true, Faults: []sandbox.Fault{
		{Kind: sandbox.FaultStatus, Status: 500, Endpoint: "POST /companies"},
	}})
	var all []*filing.Request
	for i := range 60 {
		all = append(all, everything(i)...)
	}
	w := f.announce(all...)
	f.eventually("a single creation fails", func() bool { return f.posts("/v1/companies") > 12 })
	before := w.attempts()
	time.Sleep(2 * time.Second)
	if n := w.attempts() - before; n > mostAttempts {
		t.Errorf("%d attempts while creations fail", n)
	}
}
