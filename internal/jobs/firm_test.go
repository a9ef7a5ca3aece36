package jobs_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// fees are those that the service and we both know.
const (
	feeLLC  = 300_00
	feeCorp = 225_00
	feeFile = "product,state,entityType,amount\nannual-report,,LLC,300\nannual-report,,CORP,225\n"
)

// firm is a whole installation against a sandbox over HTTP.
type firm struct {
	*testing.T
	servers servers
	dir     string
	service *sandbox.Service
	url     string
	patch   func(*jobs.Config) // changes every worker
	// timeout bounds an answer for workers. Zero is clientTimeout.
	timeout time.Duration

	mu       sync.Mutex
	requests []request
}

// request is one that reached the service.
type request struct {
	method, path    string
	arrived, answer time.Time
	status          int
}

func newFirm(t *testing.T, on servers, c sandbox.Config) *firm {
	f := &firm{T: t, servers: on, dir: ledgertest.Dir(t)}
	c.Fees = []sandbox.Fee{{Product: "annual_report", EntityType: "LLC", Cents: feeLLC},
		{Product: "annual_report", EntityType: "CORP", Cents: feeCorp}}
	f.service = sandbox.New(c)
	server := httptest.NewServer(f.record(f.service.Handler()))
	t.Cleanup(server.Close)
	f.url = server.URL + "/v1"
	return f
}

// record notes each request and when it was answered.
func (f *firm) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := request{method: r.Method, path: r.URL.Path, arrived: time.Now(), status: http.StatusOK}
		defer func() {
			q.answer = time.Now()
			f.mu.Lock()
			f.requests = append(f.requests, q)
			f.mu.Unlock()
		}()
		next.ServeHTTP(&statusWriter{w, &q.status}, r)
	})
}

// statusWriter keeps the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status *int
}

func (w *statusWriter) WriteHeader(status int) {
	*w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// seen lists the requests of one kind so far.
func (f *firm) seen(method, prefix string) []request {
	f.mu.Lock()
	defer f.mu.Unlock()
	var some []request
	for _, q := range f.requests {
		if q.method == method && strings.HasPrefix(q.path, prefix) {
			some = append(some, q)
		}
	}
	return some
}

func (f *firm) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// approve approves a batch as it is now, at its stored quotes.
func (f *firm) approve(l *ledger.Ledger, batch, by string) {
	f.Helper()
	p, err := pricing.Propose(f.Context(), l, func(context.Context) (pricing.Quoter, error) { return nil, nil }, batch)
	f.must(err)
	f.must(p.Approve(f.Context(), l, by))
}

func (f *firm) openLedger() *ledger.Ledger {
	f.Helper()
	l, err := ledger.Open(f.Context(), ledger.Config{
		Dir:          f.dir,
		DatabaseURL:  f.servers.database,
		SealKey:      sealKey(f.servers.database),
		RepeatAgents: true,
		Timeout:      clientTimeout,
	})
	f.must(err)
	f.Cleanup(func() { l.Close() })
	return l
}

func (f *firm) openQueue() *jobs.Queue {
	f.Helper()
	q, err := jobs.OpenQueue(f.servers.redis)
	f.must(err)
	f.Cleanup(func() { q.Close() })
	return q
}

const flying = 8 // orders in flight

// clientTimeout bounds an answer of the service, and with it how long a row of a
// killed process waits until its order may be sent again.
const clientTimeout = slowdown * time.Second

// newClient is the real client, less patient than in life.
func newClient(url string, timeout time.Duration) (*filingapi.Client, error) {
	return filingapi.New(filingapi.Config{
		BaseURL:     url,
		Key:         "sk_test_firm",
		Concurrency: 2 * flying,
		Timeout:     timeout,
		Breaker:     filingapi.BreakerLimits{Open: 50 * time.Millisecond, Longest: 200 * time.Millisecond},
	})
}

// newQuoter takes the service's prices, by a client that no fault or breaker
// has touched, and the fees that both sides know.
func newQuoter(dir string) (*pricing.Rates, error) {
	var prices []filing.Price
	for _, p := range sandbox.DefaultPrices() {
		prices = append(prices, filing.Price{
			Type:            p.Type,
			WholesaleAmount: money.Cents(p.Wholesale).String(),
			Enabled:         true,
		})
	}
	book, err := pricing.NewPriceBook(prices, "")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "fees.csv")
	if err := os.WriteFile(path, []byte(feeFile), 0o600); err != nil {
		return nil, err
	}
	fees, err := pricing.LoadFees(path)
	if err != nil {
		return nil, err
	}
	return pricing.NewRates(book, fees), nil
}

// start runs a worker until the end of the test, or until it is stopped.
func (f *firm) start(l *ledger.Ledger, q *jobs.Queue, options ...func(*jobs.Config)) *jobs.Worker {
	f.Helper()
	client, err := newClient(f.url, cmp.Or(f.timeout, clientTimeout))
	f.must(err)
	f.Cleanup(client.Close)
	quoter, err := newQuoter(f.TempDir())
	f.must(err)
	c := jobs.Config{
		Service:      client,
		Ledger:       l,
		Queue:        q,
		Quoter:       quoter,
		Concurrency:  flying,
		DrainTimeout: 10 * time.Second,
	}
	if f.patch != nil {
		f.patch(&c)
	}
	for _, o := range options {
		o(&c)
	}
	w, err := jobs.Start(f.Context(), c)
	f.must(err)
	f.Cleanup(w.Stop)
	return w
}

// run is one run of a batch to its end, with a worker of its own.
func (f *firm) run(l *ledger.Ledger, batch string, p jobs.WaitLimits, change ...func(*jobs.Config)) jobs.Outcome {
	f.Helper()
	queue := f.openQueue()
	w := f.start(l, queue, append(change, func(c *jobs.Config) { c.Batch = batch })...)
	end := f.await(w, batch, p)
	w.Stop()
	return end
}

var patient = jobs.WaitLimits{Silence: 30 * time.Second}

func (f *firm) await(w *jobs.Worker, batch string, p jobs.WaitLimits) jobs.Outcome {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 3*time.Minute)
	defer cancel()
	end, err := w.Await(ctx, batch, p)
	f.must(err)
	if end.Reason == jobs.Interrupted {
		f.Fatal("it did not end within three minutes")
	}
	return end
}

// add records a batch and opens it.
func (f *firm) add(l *ledger.Ledger, id string, requests ...*filing.Request) {
	f.Helper()
	created, err := l.CreateBatch(f.Context(), ledger.Batch{ID: id, File: id + ".csv", Product: requests[0].Product})
	if err != nil || !created {
		f.Fatal(created, err)
	}
	rows := make([]ledger.Row, len(requests))
	for i, r := range requests {
		rows[i] = ledger.Row{Number: i + 2, Cells: []byte(`["x"]`), Result: filing.Ready, Request: r}
	}
	f.must(l.AddRows(f.Context(), id, rows))
	f.must(l.OpenBatch(f.Context(), id))
}

func (f *firm) rows(l *ledger.Ledger, batch string) []ledger.Row {
	f.Helper()
	var rows []ledger.Row
	for r, err := range l.Rows(f.Context(), batch) {
		f.must(err)
		rows = append(rows, r)
	}
	return rows
}

// want checks how many rows of a batch are in each state.
func (f *firm) want(l *ledger.Ledger, batch string, want ledger.Counts) {
	f.Helper()
	got, err := l.Counts(f.Context(), batch)
	f.must(err)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		shown := 0
		for _, r := range f.rows(l, batch) {
			if want[r.Result] == 0 && shown < 5 {
				shown++
				f.Logf("row %d is %s: %s", r.Number, r.Result, r.Message)
			}
		}
		f.Fatalf("batch %s: %v, want %v", batch, got, want)
	}
}

// agree holds the ledger against the service's books: nothing was bought twice,
// no request broke a rule, and what each row cost is what was charged for its
// company. Every row must be of a company of its own within its batch.
func (f *firm) agree(l *ledger.Ledger, batches ...string) {
	f.Helper()
	books := f.soundBooks(l)
	charged := make(map[string]money.Cents)
	orders := make(map[string]string)
	for _, o := range books.Orders {
		charged[o.CompanyID] += money.Cents(o.Total)
		for _, i := range o.Items {
			orders[i.ID] = o.CompanyID
		}
	}
	spent := make(map[string]money.Cents)
	doubt := make(map[string]money.Cents)
	for _, batch := range batches {
		for _, r := range f.rows(l, batch) {
			company := r.Request.Company.Ref
			switch r.Result {
			case filing.Placed:
				spent[company] += r.Cost.Amount
				f.ownsOrders(r, orders)
			case filing.Uncertain:
				doubt[company] = r.Reserved
			}
			if r.Message == "" && r.Result != filing.Ready {
				f.Errorf("row %d is %s without a word", r.Number, r.Result)
			}
		}
	}
	var total, uncertain money.Cents
	for company, cents := range charged {
		if rest := cents - spent[company]; rest != 0 && rest != doubt[company] {
			f.Errorf("%s was charged %s and the ledger spent %s (in doubt: %s)", company, cents, spent[company],
				doubt[company])
		} else {
			uncertain += rest
		}
		delete(spent, company)
		total += cents
	}
	for company, cents := range spent {
		f.Errorf("the ledger spent %s on %s, which the books do not know", cents, company)
	}
	book, err := l.Balance(f.Context())
	f.must(err)
	if book.Posted+uncertain != total || total != money.Cents(books.Charged) {
		f.Errorf("the ledger says %s, and %s of what is in doubt was charged; the books say %s", book.Posted,
			uncertain, total)
	}
}

// soundBooks returns the service's books. Nothing in them may be bought twice, no
// request may have broken a rule, and the ledger's sums must be its entries.
func (f *firm) soundBooks(l *ledger.Ledger) sandbox.Books {
	f.Helper()
	f.must(l.Audit(f.Context()))
	books := f.service.Books()
	if twice := books.Duplicates(); len(twice) > 0 {
		f.Errorf("bought twice: %+v", twice)
	}
	for _, v := range f.service.Violations() {
		if !v.Hidden {
			f.Errorf("%s", v)
		}
	}
	return books
}

// ownsOrders checks that the orders of a row are of its company. The order of an
// uncertain row that was resolved has no id until an event brings it.
func (f *firm) ownsOrders(r ledger.Row, orders map[string]string) {
	f.Helper()
	for _, i := range r.Items {
		if company := r.Request.Company.Ref; i.OrderID != "" && orders[i.OrderID] != company {
			f.Errorf("row %d of %s has the order %s, which the books have for %q", r.Number, company,
				i.OrderID, orders[i.OrderID])
		}
	}
}

// report is an annual report of a company whose agent is on record.
func report(i int) *filing.Request {
	return &filing.Request{
		Product: filing.AnnualReport, User: filing.UserRef{ID: "user_1"},
		Company: filing.CompanyRef{Ref: fmt.Sprintf("comp_%d", i)},
		Order:   filing.Order{FilingState: "DE", AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}},
	}
}

func reportAndAgent(i int) *filing.Request {
	r := report(i)
	r.Order.RegisteredAgent = &filing.RegisteredAgentItem{}
	return r
}

func reportWithAgent(i int) *filing.Request {
	r := report(i)
	r.Order.AnnualReport.RegisteredAgent = &filing.Agent{
		Type:      filing.Person,
		FirstName: "Grace",
		LastName:  "Okafor",
		Street:    "1 Main St",
		City:      "Dover",
		State:     "DE",
		ZIP:       "19901",
	}
	return r
}

func agentChange(i int) *filing.Request {
	r := report(i)
	r.Product = filing.AgentChange
	r.Order.AnnualReport, r.Order.RegisteredAgent = nil, &filing.RegisteredAgentItem{IsChangeOfAgent: true}
	return r
}

// requests are n of the kinds in turn, each of a company of its own.
func requests(n int, kinds ...func(int) *filing.Request) []*filing.Request {
	all := make([]*filing.Request, n)
	for i := range all {
		all[i] = kinds[i%len(kinds)](i)
	}
	return all
}

// eventually polls until something is true.
func (f *firm) eventually(what string, is func() bool) {
	f.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !is(); {
		if time.Now().After(deadline) {
			f.Fatalf("not within two minutes: %s", what)
		}
		time.Sleep(2 * time.Millisecond) // between two looks
	}
}
