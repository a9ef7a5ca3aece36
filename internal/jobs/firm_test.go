package jobs_test

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// Wholesale prices. Source: sandbox.DefaultPrices.
const (
	priceTier1  = 75_00
	priceTier2  = 105_00
	priceEIN    = 40_00
	priceAgent  = 50_00
	priceReport = 25_00
	priceFQ     = 60_00
)

// Fees that the service and we both know. No two sums of them are alike by chance.
const (
	feeLLC      = 300_00
	feeCorp     = 225_00
	feeFormLLC  = 110_10
	feeFormCorp = 109_01
	feeFQ       = 200_25
	expedited   = 51_13 // the service charge that the spec does not show
)

var fees = []sandbox.Fee{
	{Product: "annual_report", EntityType: "LLC", Cents: feeLLC},
	{Product: "annual_report", EntityType: "CORP", Cents: feeCorp},
	{Product: "formation", EntityType: "LLC", Cents: feeFormLLC},
	{Product: "formation", EntityType: "CORP", Cents: feeFormCorp},
	{Product: "foreign_qualification", EntityType: "LLC", Cents: feeFQ},
	{Product: "foreign_qualification", EntityType: "CORP", Cents: 245_07},
}

const (
	rich = 1_000_000_00         // a balance that covers every test
	each = priceReport + feeLLC // what an annual report costs

	flying = 8 // orders in flight

	// resendAfter is how long a row without an answer waits until its order may be sent
	// again.
	resendAfter = slowdown * time.Second
)

func TestMain(m *testing.M) {
	// The tests wait for answers and leases more than they compute.
	_ = flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0)))
	os.Exit(m.Run())
}

// firm is a whole installation against a sandbox over HTTP. The embedded ledger is the
// test's own, and that of each worker that is given no other.
type firm struct {
	testing.TB
	*ledger.Ledger
	servers servers
	dir     string
	service *sandbox.Service
	url     string
	patch   func(*jobs.Config) // changes every worker
	// timeout bounds an answer for workers. Zero is longer than any machine takes.
	timeout time.Duration
}

// know puts a company on the service's record as user_1's. Without agents of its own it
// has one in every state.
func (f *firm) know(c sandbox.Company) {
	if c.Agents == nil {
		c.Agents = make(map[string]sandbox.Agent)
		for _, s := range filing.States() {
			c.Agents[string(s)] = sandbox.ActiveService
		}
	}
	c.UserID = "user_1"
	f.service.AddUser(sandbox.User{ID: c.UserID})
	f.service.AddCompany(c)
}

// newFirm returns a firm that orders every product. Its balance is rich unless the
// sandbox is configured with another.
func newFirm(t testing.TB, on servers, c sandbox.Config) *firm {
	f := &firm{TB: t, servers: on, dir: cmp.Or(on.dir, ledgertest.Dir(t))}
	c.Fees, c.ExpeditedService = fees, expedited
	c.OpeningBalance = cmp.Or(c.OpeningBalance, rich)
	f.service = sandbox.New(c)
	server := httptest.NewServer(f.service.Handler())
	t.Cleanup(server.Close)
	f.url = server.URL + "/v1"
	f.Ledger = f.openLedger()
	return f
}

// seen counts the requests of a method that reached endpoints.
func (f *firm) seen(method, path string) (n int) {
	for endpoint, times := range f.service.Books().Requests {
		if strings.HasPrefix(endpoint, method+" "+path) {
			n += times
		}
	}
	return n
}

// posts counts the POST requests that reached an endpoint.
func (f *firm) posts(path string) int { return f.seen(http.MethodPost, path) }

// wantPosts checks how many POST requests have reached an endpoint.
func (f *firm) wantPosts(path string, want int) {
	f.Helper()
	if n := f.posts(path); n != want {
		f.Errorf("%d requests were sent to %s, want %d", n, path, want)
	}
}

func (f *firm) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// approve approves a batch as it is now, at its stored quotes.
func (f *firm) approve(batch, by string) {
	f.Helper()
	p, err := pricing.Propose(f.Context(), f.Ledger, func(context.Context) (pricing.Quoter, error) { return nil, nil },
		batch)
	f.must(err)
	f.must(p.Approve(f.Context(), f.Ledger, by))
}

// openLedger opens the ledger as another process does.
func (f *firm) openLedger(change ...func(*ledger.Config)) *ledger.Ledger {
	f.Helper()
	c := ledger.Config{
		Dir:          f.dir,
		DatabaseURL:  f.servers.database,
		RepeatAgents: true,
		Timeout:      resendAfter,
		Gate:         approval.Gate{},
	}
	if c.DatabaseURL != "" { // a key file does on one machine
		c.SealKey = strings.Repeat("0d", 32)
	}
	for _, do := range change {
		do(&c)
	}
	l, err := ledger.Open(f.Context(), c)
	f.must(err)
	f.Cleanup(func() { l.Close() })
	return l
}

// reopen closes the ledger and opens it again.
func (f *firm) reopen(change ...func(*ledger.Config)) {
	f.Helper()
	f.must(f.Close())
	f.Ledger = f.openLedger(change...)
}

func (f *firm) openQueue() *jobs.Queue {
	f.Helper()
	q, err := jobs.OpenQueue(f.servers.redis)
	f.must(err)
	f.Cleanup(func() { q.Close() })
	return q
}

// client is the real client, less patient than in life.
func (f *firm) client() *filingapi.Client {
	f.Helper()
	client, err := filingapi.New(filingapi.Config{
		BaseURL:     f.url,
		Key:         "sk_test_firm",
		Concurrency: 2 * flying,
		Timeout:     cmp.Or(f.timeout, time.Minute),
		Breaker:     filingapi.BreakerLimits{Open: 50 * time.Millisecond, Longest: 200 * time.Millisecond},
	})
	f.must(err)
	f.Cleanup(client.Close)
	return client
}

// quoter has the service's prices, without a request, and the fees that both sides know.
func (f *firm) quoter() *pricing.Rates {
	f.Helper()
	var prices []filing.Price
	for _, p := range sandbox.DefaultPrices() {
		prices = append(prices, filing.Price{
			Type:            p.Type,
			WholesaleAmount: money.Cents(p.Wholesale).String(),
			Enabled:         true,
		})
	}
	book, err := pricing.NewPriceBook(prices, "")
	f.must(err)
	var lines bytes.Buffer
	fmt.Fprintf(&lines, "product,state,entityType,amount\nexpedited-service,,,%s\n", money.Cents(expedited))
	for _, fee := range fees {
		fmt.Fprintf(&lines, "%s,,%s,%s\n", strings.ReplaceAll(fee.Product, "_", "-"), fee.EntityType,
			money.Cents(fee.Cents))
	}
	path := filepath.Join(f.TempDir(), "fees.csv")
	f.must(os.WriteFile(path, lines.Bytes(), 0o600))
	table, err := pricing.LoadFees(path)
	f.must(err)
	return pricing.NewRates(book, table)
}

// option changes the configuration of a worker.
type option = func(*jobs.Config)

// start runs a worker until the end of the test, or until it is stopped.
func (f *firm) start(options ...option) *jobs.Worker {
	f.Helper()
	c := jobs.Config{
		Service:      f.client(),
		Ledger:       f.Ledger,
		Quoter:       f.quoter(),
		Concurrency:  flying,
		DrainTimeout: 10 * time.Second,
	}
	if f.patch != nil {
		f.patch(&c)
	}
	for _, o := range options {
		o(&c)
	}
	if c.Queue == nil {
		c.Queue = f.openQueue()
	}
	w, err := jobs.Start(f.Context(), c)
	f.must(err)
	f.Cleanup(w.Stop)
	return w
}

// over gives a worker another process's ledger.
func over(l *ledger.Ledger) option { return func(c *jobs.Config) { c.Ledger = l } }

// sharing gives a worker another worker's queue.
func sharing(q *jobs.Queue) option { return func(c *jobs.Config) { c.Queue = q } }

// placing puts a function in the way of orders. It is given what sends them.
func placing(place func(send func() filing.Answer) filing.Answer) option {
	return func(c *jobs.Config) {
		service := c.Service
		c.Service = &orderService{service, func(ctx context.Context, o *filing.Order) filing.Answer {
			return place(func() filing.Answer { return service.PlaceOrder(ctx, o) })
		}}
	}
}

// orderService is a service whose orders go through a function.
type orderService struct {
	jobs.Service
	place func(context.Context, *filing.Order) filing.Answer
}

func (s *orderService) PlaceOrder(ctx context.Context, o *filing.Order) filing.Answer {
	return s.place(ctx, o)
}

// after does something once, when the workers have placed n orders.
func after(n int32, do func()) option {
	var sent atomic.Int32
	return placing(func(send func() filing.Answer) filing.Answer {
		a := send()
		if sent.Add(1) == n {
			do()
		}
		return a
	})
}

// held keeps every order back: it says on reached that it has one, and sends it once
// answer is closed.
func held() (hold option, reached, answer chan struct{}) {
	reached, answer = make(chan struct{}, 100), make(chan struct{})
	return placing(func(send func() filing.Answer) filing.Answer {
		reached <- struct{}{}
		<-answer
		return send()
	}), reached, answer
}

// logged keeps what a worker says, at the level that a log shows.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
	return len(line), nil
}

func (l *logged) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(strings.Join(l.lines, ""), part)
}

func (l *logged) to() option {
	return func(c *jobs.Config) { c.Log = slog.New(slog.NewTextHandler(l, nil)) }
}

var patient = jobs.WaitLimits{Silence: 30 * time.Second}

// run is one run of a batch to its end, with a worker of its own.
func (f *firm) run(batch string, options ...option) jobs.RunResult {
	f.Helper()
	return f.runFor(batch, patient, options...)
}

func (f *firm) runFor(batch string, p jobs.WaitLimits, options ...option) jobs.RunResult {
	f.Helper()
	w := f.start(append(options, func(c *jobs.Config) { c.Batch = batch })...)
	end := f.await(w, batch, p)
	w.Stop()
	return end
}

// finish is a run that has nothing left to do.
func (f *firm) finish(batch string, options ...option) {
	f.Helper()
	f.stops(jobs.Finished, batch, options...)
}

// stops is a run that ends for a reason.
func (f *firm) stops(want jobs.StopReason, batch string, options ...option) jobs.RunResult {
	f.Helper()
	end := f.run(batch, options...)
	if end.Reason != want {
		f.Fatalf("%+v, want %s", end, want)
	}
	return end
}

// halt waits until the fleet is halted for a reason.
func (f *firm) halt(want filing.Halt) (held ledger.Halted) {
	f.Helper()
	f.eventually("halted: "+string(want), func() bool {
		var err error
		held, err = f.Fleet().Halt(f.Context())
		f.must(err)
		return held.Reason == want
	})
	return held
}

// place adds a batch, all of which is placed.
func (f *firm) place(batch string, requests ...*filing.Request) {
	f.Helper()
	f.add(batch, requests...)
	f.placeRest(batch)
}

// placeRest runs a batch, all of which is placed then.
func (f *firm) placeRest(batch string, options ...option) {
	f.Helper()
	f.finish(batch, options...)
	f.want(batch, ledger.Counts{filing.Placed: len(f.rows(batch))})
}

func (f *firm) await(w *jobs.Worker, batch string, p jobs.WaitLimits) jobs.RunResult {
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
func (f *firm) add(id string, requests ...*filing.Request) {
	f.Helper()
	rows := make([]ledger.Row, len(requests))
	for i, r := range requests {
		rows[i] = ledger.Row{Number: i + 2, Cells: []byte(`["x"]`), Result: filing.Ready, Request: r}
	}
	ledgertest.Submit(f, f.Ledger, ledger.Batch{ID: id, File: id + ".csv", Product: requests[0].Product}, rows...)
}

func (f *firm) rows(batch string) []ledger.Row {
	f.Helper()
	var rows []ledger.Row
	for r, err := range f.Rows(f.Context(), batch) {
		f.must(err)
		rows = append(rows, r)
	}
	return rows
}

func (f *firm) counts(batch string) ledger.Counts {
	f.Helper()
	figures, err := f.Figures(f.Context(), batch)
	f.must(err)
	return figures.Counts
}

// behind counts the rows of a batch that wait for another row.
func (f *firm) behind(batch string) int {
	f.Helper()
	figures, err := f.Figures(f.Context(), batch)
	f.must(err)
	return figures.Behind
}

func (f *firm) uncertain(batch string) []ledger.Row {
	f.Helper()
	rows, err := f.Resolutions().UncertainRows(f.Context(), batch)
	f.must(err)
	return rows
}

// want checks how many rows of a batch are in each state.
func (f *firm) want(batch string, want ledger.Counts) {
	f.Helper()
	if got := f.counts(batch); fmt.Sprint(got) != fmt.Sprint(want) {
		shown := 0
		for _, r := range f.rows(batch) {
			if want[r.Result] == 0 && shown < 5 {
				shown++
				f.Logf("row %d is %s: %s", r.Number, r.Result, r.Message)
			}
		}
		f.Fatalf("batch %s: %v, want %v", batch, got, want)
	}
}

// wantOneAttempt checks that no row of a batch was sent, or announced, more than once.
func (f *firm) wantOneAttempt(batch string) {
	f.Helper()
	for _, r := range f.rows(batch) {
		if r.LastAttempt != 1 {
			f.Errorf("row %d took %d attempts", r.Number, r.LastAttempt)
		}
	}
}

// agree holds the ledger against the service's books: nothing was bought twice, no
// request broke a rule, every placed row's orders are in the books under its own
// company, each order is of one row, and what each company was charged is what its
// rows cost, to the cent, or what its uncertain row reserves.
func (f *firm) agree(batches ...string) {
	f.Helper()
	books := f.soundBooks()
	charged, spent, doubt := make(map[string]money.Cents), make(map[string]money.Cents), make(map[string]money.Cents)
	bought := make(map[string]string) // companies, by order id; of an order that bought nothing, none
	for _, o := range books.Orders {
		charged[o.CompanyID] += money.Cents(o.Total)
		for _, i := range o.Items {
			bought[i.ID] = map[bool]string{false: o.CompanyID}[i.Existing]
		}
	}
	var reserved, uncertain money.Cents
	for _, batch := range batches {
		for _, r := range f.rows(batch) {
			company := cmp.Or(r.Company, r.Request.Company.Ref)
			spent[company] += f.checkOrders(r, bought)
			if r.Result == filing.Uncertain {
				doubt[company] += r.Reserved
				reserved += r.Reserved
			} else if r.Reserved != 0 {
				f.Errorf("row %d of %s is %s and reserves %s", r.Number, batch, r.Result, r.Reserved)
			}
			if r.Message == "" && r.Result != filing.Ready {
				f.Errorf("row %d of %s is %s without a word", r.Number, batch, r.Result)
			}
		}
	}
	for company, cents := range charged {
		rest := cents - spent[company]
		if rest != 0 && rest != doubt[company] {
			f.Errorf("%s was charged %s and the ledger spent %s (uncertain: %s)", company, cents, spent[company],
				doubt[company])
		}
		uncertain += rest
		delete(spent, company)
	}
	for company, cents := range spent {
		if cents != 0 {
			f.Errorf("the ledger spent %s on %s, which the books do not know", cents, company)
		}
	}
	book, err := f.Balance(f.Context())
	f.must(err)
	if book.Posted+uncertain != money.Cents(books.Charged) || book.Reserved != reserved {
		f.Errorf("the ledger spent %s and reserves %s, uncertain rows %s, of which %s was charged; the books say %s",
			book.Posted, book.Reserved, reserved, uncertain, money.Cents(books.Charged))
	}
}

// soundBooks returns the service's books. Nothing in them may be bought twice, no
// request may have broken a rule, and the ledger's sums must be its entries.
func (f *firm) soundBooks() sandbox.Books {
	f.Helper()
	f.must(f.Audit(f.Context()))
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

// checkOrders checks a placed row against the orders in the books, by their ids, and
// returns what it cost. The order of an uncertain row that was resolved has no id until
// an event brings it.
func (f *firm) checkOrders(r ledger.Row, bought map[string]string) money.Cents {
	f.Helper()
	if r.Result != filing.Placed {
		return 0
	}
	resolved := len(r.Items) > 0 && r.Items[0].OrderType == "" // by a person, who knows no prices
	if r.Cost.Certainty != certaintyOf(r) && !resolved {
		f.Errorf("row %d of %s: its cost is %s", r.Number, r.Batch, r.Cost)
	}
	var items money.Cents
	for _, i := range r.Items {
		items += i.Cost.Amount
		if i.OrderID == "" {
			continue
		}
		if company, known := bought[i.OrderID]; !known || (company != "" && company != r.Company) {
			f.Errorf("row %d of %s is for %s and has the order %s, which the books have for %q", r.Number, r.Batch,
				r.Company, i.OrderID, company)
		}
		bought[i.OrderID] = "the order of another row"
	}
	if len(r.Items) > 0 && !resolved && items != r.Cost.Amount {
		f.Errorf("row %d of %s cost %s and its items %s", r.Number, r.Batch, r.Cost, items)
	}
	return r.Cost.Amount
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

// certaintyOf is that of a placed row's cost: whether an existing company has the service's
// agent already, which is not charged again, cannot be looked up.
func certaintyOf(r ledger.Row) money.Certainty {
	if r.Request.Order.Formation == nil && slices.ContainsFunc(r.Items, func(i ledger.Item) bool {
		return i.Product == filing.RegisteredAgent || i.Product == filing.AgentChange
	}) {
		return money.Estimated
	}
	return money.Known
}
