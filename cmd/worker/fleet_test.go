//go:build unix

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/nettest"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// proof is a fleet on PostgreSQL and a Redis server of its own.
type proof struct {
	*fleet
	database string
	ledger   *ledger.Ledger // the test's own access, past every link
	queue    *redis.Client
	workers  []*member
	rows     int
}

// member is a place where one worker runs after another. The others cannot see the
// folder of a far one: only its lease tells them whether it lives.
type member struct {
	*process
	dir                      string
	far, away                bool
	vars                     []string
	service, queue, database *link
}

// applicationName is the name of the workers' connections to the database. The test's own have none.
const applicationName = "worker under test"

// TestFleet places two batches with four workers while processes are killed, Redis is
// emptied and connections break. Then the ledger must agree with the service's books,
// and again after a person has resolved the uncertain rows.
//
// FLEET_ROWS is the number of rows, 1,500 by default. Whatever it is, the rate lets them
// last for half a minute, so that the faults find orders to disturb.
func TestFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a test of many processes in short mode")
	}
	p := newProof(t)
	p.fillBatch(p.ledger, "season", p.rows, mixed)
	p.fillBatch(p.ledger, "again", p.rows/20, mixed) // the same purchases, from another spreadsheet
	for _, m := range p.workers {
		p.run(m)
	}
	p.disturb()
	p.finish()
	counts := p.check()
	p.Logf("%v; faults: %v", counts, p.service.Books().Faults)
	if counts[filing.Placed]+counts[filing.Uncertain] != p.rows {
		p.Errorf("%v, want %d rows placed or uncertain", counts, p.rows)
	}
	p.resolve()
	p.finish()
	counts = p.check()
	books := p.service.Books()
	balance, err := p.ledger.Balance(t.Context())
	p.must(err)
	orders := len(books.Items())
	if counts[filing.Placed] != p.rows || counts[filing.Exists] != p.rows/20 || orders != p.rows ||
		balance.Posted != money.Cents(books.Charged) || balance.Reserved != 0 {
		p.Errorf("%v by %d orders for %s; the ledger spent %s and reserves %s", counts, orders,
			money.Cents(books.Charged), balance.Posted, balance.Reserved)
	}
	for _, m := range p.workers {
		m.end()
	}
}

func newProof(t *testing.T) *proof {
	t.Helper()
	rows, err := strconv.Atoi(cmp.Or(os.Getenv("FLEET_ROWS"), "1500"))
	p := &proof{fleet: newFleet(t, 0), database: ledgertest.Database(t, ledgertest.Server(t)), rows: rows}
	p.must(err)
	p.service = sandbox.New(sandbox.Config{
		Keys:           []string{secretKey},
		OpeningBalance: 1e12,
		AutoSeed:       true,
		Latency:        50 * time.Millisecond,
		HangLimit:      5 * time.Second,
		Fees:           []sandbox.Fee{{Product: "annual_report", EntityType: "LLC", Cents: 300_00}},
	})
	p.open()
	fees := filepath.Join(p.dir, "fees.csv")
	p.must(os.WriteFile(fees, []byte("product,state,entityType,amount\nannual-report,,LLC,300.00\n"), 0o600))
	seal := strings.Repeat("5ea1", 16)
	p.ledger, err = ledger.Open(t.Context(), ledger.Config{
		Dir:         p.dir,
		DatabaseURL: p.database,
		SealKey:     seal,
		Gate:        approval.Gate{},
	})
	p.must(err)
	t.Cleanup(func() { p.ledger.Close() })
	queue := startRedis(t)
	p.queue = redis.NewClient(&redis.Options{Addr: queue})
	t.Cleanup(func() { p.queue.Close() })
	p.eventually("Redis answers", func() error { return p.queue.Ping(t.Context()).Err() })
	for i := range 4 {
		m := &member{
			dir:      t.TempDir(),
			far:      i >= 2,
			service:  newLink(t, hostOf(p.base)),
			queue:    newLink(t, queue),
			database: newLink(t, hostOf(p.database)),
		}
		m.vars = []string{
			"FILING_DATA_DIR=" + m.dir, "FILING_SEAL_KEY=" + seal, "FILING_FEES=" + fees, "FILING_TIMEOUT=3s",
			"PGAPPNAME=" + applicationName, "WORKER_CONCURRENCY=16", fmt.Sprint("FILING_RATE=", rows/12),
			"FILING_BASE_URL=http://" + m.service.Addr().String() + "/v1",
			"REDIS_URL=redis://" + m.queue.Addr().String() + "/0",
			"DATABASE_URL=" + strings.Replace(p.database, hostOf(p.database), m.database.Addr().String(), 1),
		}
		p.workers = append(p.workers, m)
	}
	return p
}

func startRedis(t *testing.T) (address string) {
	t.Helper()
	address = nettest.Free()
	_, port, _ := net.SplitHostPort(address)
	server := exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--dir", t.TempDir())
	if err := server.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") == "" {
			t.Skip("redis-server is not installed")
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	return address
}

// hostOf returns the host and port of an address.
func hostOf(address string) string {
	_, after, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(after[strings.LastIndex(after, "@")+1:], "/")
	return host
}

func (p *proof) eventually(what string, attempt func() error) {
	p.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		err := attempt()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			p.Fatalf("not within %s: %s: %v", patience, what, err)
		}
	}
}

// mixed orders an annual report, an agent, or an EIN, which may be ordered again. Each row
// is for a company of its own.
func mixed(i int) *filing.Request {
	r := request(i)
	switch i % 5 {
	case 3:
		r.Product, r.Order.AnnualReport = filing.AgentChange, nil
		r.Order.RegisteredAgent = &filing.RegisteredAgentItem{IsChangeOfAgent: true}
	case 4:
		r.Product, r.Order.AnnualReport = filing.EIN, nil
		r.Order.EIN = &filing.EINItem{
			BusinessCategory:            "Retail",
			BusinessPurpose:             "Selling bread",
			ApplicationReason:           "Banking purposes",
			ResponsiblePartyFirstName:   "Grace",
			ResponsiblePartyLastName:    "Okafor",
			ResponsiblePartyTitle:       "CEO",
			ResponsiblePartySSN:         "078051120",
			ResponsiblePartyPhoneNumber: "+12125550101",
		}
	}
	return r
}

func (p *proof) run(m *member) { m.process = p.start(m.vars) }

// replace ends a worker and starts another in its place.
func (p *proof) replace(m *member, by syscall.Signal) {
	p.Helper()
	m.signal(by)
	if by == syscall.SIGKILL {
		<-m.ended
		m.hide()
	} else {
		m.exits(exitDone)
	}
	p.run(m)
}

// hide removes the lock of a far worker, which the others would see on this machine.
func (m *member) hide() {
	locks, _ := filepath.Glob(filepath.Join(m.dir, "locks", "*"))
	for _, lock := range locks {
		if m.far {
			_ = os.Remove(lock)
		}
	}
}

// any returns a worker that has its database.
func (p *proof) any() *member {
	for {
		if m := p.workers[rand.IntN(len(p.workers))]; !m.away {
			return m
		}
	}
}

// disturb lets what may go wrong with a fleet go wrong, spread over the rows.
func (p *proof) disturb() {
	lost := p.workers[3]
	lost.await("it places", func() bool { return strings.Contains(lost.said(), `"result":"placed"`) })
	lost.hide()
	lost.database.cut()
	lost.away = true
	back := time.Now().Add(33 * time.Second) // its lease is over, and others have its rows
	p.loseTransaction()
	blows, begun := p.blows(), len(p.service.Books().Orders)
	for i, b := range blows {
		due := begun + (p.rows*3/4-begun)*(i+1)/len(blows)
		for end := time.Now().Add(3 * time.Second); len(p.service.Books().Orders) < due && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond) // between two looks
		}
		p.Logf("%5d orders: %s", len(p.service.Books().Orders), b.name)
		b.fall()
	}
	time.Sleep(time.Until(back))
	lost.away = false
	p.service.ClearFaults()
	for _, m := range p.workers {
		m.service.mend()
		m.queue.mend()
		m.database.mend()
	}
}

type blow struct {
	name string
	fall func()
}

// unconfirmed are the faults that leave an order without a usable answer.
var unconfirmed = []sandbox.Kind{
	sandbox.FaultTimeout, sandbox.FaultReset, sandbox.FaultEOF, sandbox.FaultHalfBody, sandbox.FaultGarbage,
	sandbox.FaultHTML, sandbox.FaultEmpty, sandbox.FaultNoOrderIDs, sandbox.FaultStatus,
}

// blows returns faults in a random order.
func (p *proof) blows() []blow {
	sever := func(l *link) {
		l.cut()
		time.AfterFunc(rand.N(4*time.Second), l.mend)
	}
	all := []blow{
		{"a worker drains", func() { p.replace(p.any(), syscall.SIGTERM) }},
		{"the database ends its connections", func() {
			p.eventually("connections are ended", func() error { // with none, it divides by zero
				return ledgertest.Exec(p.Context(), p.database, `SELECT 1/COUNT(pg_terminate_backend(pid))
					FROM pg_stat_activity
					WHERE datname = current_database() AND application_name = '`+applicationName+`'`)
			})
		}},
		{"a worker is cut off from the service", func() { sever(p.any().service) }},
		{"a worker is cut off from Redis", func() { sever(p.any().queue) }},
		{"a worker is cut off from the database", func() { sever(p.any().database) }},
		{"connections to the service are forgotten", func() { p.forget(func(m *member) *link { return m.service }) }},
		{"connections to Redis are forgotten", func() { p.forget(func(m *member) *link { return m.queue }) }},
		{"connections to the database are forgotten", func() { p.forget(func(m *member) *link { return m.database }) }},
	}
	for range 3 {
		all = append(all, blow{"orders are made or not, and their answers lost", func() {
			for _, kind := range unconfirmed {
				for _, made := range []bool{true, true, false} {
					p.service.Inject(sandbox.Fault{
						Kind:     kind,
						Status:   502,
						After:    made,
						Endpoint: "POST *",
						Times:    1,
					})
				}
			}
		}}, blow{"Redis is flushed", func() { p.must(p.queue.FlushAll(p.Context()).Err()) }})
	}
	for range 4 {
		all = append(all, blow{"a worker is killed", func() { p.replace(p.any(), syscall.SIGKILL) }})
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// forget leaves the present connections of all workers open and dead, as a database does
// that failed over: without new ones the fleet cannot finish.
func (p *proof) forget(which func(*member) *link) {
	for _, m := range p.workers {
		which(m).forget()
	}
}

// loseTransaction takes workers out of reach while a transaction holds the row that all
// of them lock. Nobody must wait for it for long.
func (p *proof) loseTransaction() {
	p.eventually("a transaction is out of reach", func() error {
		p.forget(func(m *member) *link { return m.database })
		time.Sleep(200 * time.Millisecond) // for the database to see that it waits
		return ledgertest.Exec(p.Context(), p.database, `SELECT 1/COUNT(*) FROM pg_stat_activity
			WHERE datname = current_database() AND state = 'idle in transaction'
				AND clock_timestamp() - state_change > interval '0.1 s'`)
	})
}

// finish waits until nothing more can be done: no answer is open, and rows that are ready
// wait for an uncertain one. A row that waits for another batch may go on between two
// looks, so it looks twice.
func (p *proof) finish() {
	p.Helper()
	quiet := 0
	p.eventually("both batches are done", func() error {
		quiet++
		for _, batch := range []string{"season", "again"} {
			left, err := p.ledger.Figures(p.Context(), batch)
			p.must(err)
			moving, err := p.ledger.Backlog().WaitsForPlacing(p.Context(), batch)
			p.must(err)
			if left.Left() != left.Behind+left.Increased || moving {
				quiet = 0
				return fmt.Errorf("%s: %+v", batch, left)
			}
		}
		if quiet < 3 {
			return errors.New("not yet seen at rest")
		}
		return nil
	})
}

// each calls f with every row of both batches.
func (p *proof) each(f func(r *ledger.Row)) {
	p.Helper()
	for _, batch := range []string{"season", "again"} {
		for r, err := range p.ledger.Rows(p.Context(), batch) {
			p.must(err)
			f(&r)
		}
	}
}

// check holds the ledger against the service's books: nothing was bought twice, every row
// has a result with a message, a placed row's orders are its own company's and no other
// row's, and the books charged what is spent and at most what is reserved.
func (p *proof) check() ledger.Counts {
	p.Helper()
	p.must(p.ledger.Audit(p.Context()))
	books := p.service.Books()
	if twice := books.Duplicates(); len(twice) > 0 {
		p.Errorf("bought twice: %+v", twice)
	}
	for _, v := range p.service.Violations() {
		if !v.Hidden {
			p.Errorf("%s", v)
		}
	}
	companies := make(map[string]string) // by order id
	for _, i := range books.Items() {
		companies[i.ID] = i.CompanyID
	}
	counts := make(ledger.Counts)
	p.each(func(r *ledger.Row) {
		counts[r.Result]++
		if r.Message == "" {
			p.Errorf("row %d of %s is %s without a message", r.Number, r.Batch, r.Result)
		}
		if r.Result != filing.Placed {
			return
		}
		for _, i := range r.Items {
			if i.OrderID != "" && companies[i.OrderID] != r.Company {
				p.Errorf("row %d of %s is for %s and has the order %s of %q", r.Number, r.Batch, r.Company, i.OrderID,
					companies[i.OrderID])
			}
			delete(companies, i.OrderID)
		}
	})
	balance, err := p.ledger.Balance(p.Context())
	p.must(err)
	if charged := money.Cents(books.Charged); charged < balance.Posted || charged > balance.Posted+balance.Reserved {
		p.Errorf("the ledger spent %s and reserves %s; the service charged %s", balance.Posted, balance.Reserved,
			charged)
	}
	return counts
}

// resolve decides the uncertain rows like a person who looks at each company's dashboard.
func (p *proof) resolve() {
	p.Helper()
	orders := make(map[string][]string)
	for _, i := range p.service.Books().Items() {
		orders[i.CompanyID] = append(orders[i.CompanyID], i.ID)
	}
	decide := p.ledger.Resolutions()
	p.each(func(r *ledger.Row) {
		if r.Result != filing.Uncertain {
			return
		}
		const why = "seen on the dashboard"
		var err error
		if ids := orders[r.Request.Company.Ref]; len(ids) > 0 {
			err = decide.MarkPlaced(p.Context(), r.ID, 0, ids, why)
		} else {
			err = decide.MarkNotPlaced(p.Context(), r.ID, 0, why)
		}
		if !errors.Is(err, ledger.ErrTransition) { // a late answer was faster
			p.must(err)
		}
	})
}

// link forwards connections between a worker and a server that it needs.
type link struct {
	net.Listener
	to string

	mu    sync.Mutex
	down  bool
	pairs []*pair
}

// pair is one forwarded connection. A forgotten one stays open and forwards nothing.
type pair struct {
	near, far net.Conn
	forgotten atomic.Bool
}

func newLink(t *testing.T, to string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{Listener: listener, to: to}
	go l.serve()
	t.Cleanup(func() {
		l.Close()
		l.cut()
	})
	return l
}

func (l *link) serve() {
	for {
		near, err := l.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", l.to)
		if err != nil {
			near.Close()
			continue
		}
		c := &pair{near: near, far: far}
		l.mu.Lock()
		if l.pairs = append(l.pairs, c); l.down {
			c.end()
		}
		l.mu.Unlock()
		go c.forward(near, far)
		go c.forward(far, near)
	}
}

func (c *pair) forward(from, to net.Conn) {
	_, _ = io.Copy(writerFunc(func(b []byte) (int, error) {
		if c.forgotten.Load() {
			return len(b), nil
		}
		return to.Write(b)
	}), from)
	if !c.forgotten.Load() {
		c.end()
	}
}

// end resets both ends: data on its way is lost.
func (c *pair) end() {
	for _, conn := range []net.Conn{c.near, c.far} {
		_ = conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// cut resets all connections, and new ones until mend.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	for _, c := range l.pairs {
		c.end()
	}
	l.pairs = nil
}

func (l *link) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}

// forget forwards nothing more on the present connections and leaves them open.
func (l *link) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.pairs {
		c.forgotten.Store(true)
	}
}
