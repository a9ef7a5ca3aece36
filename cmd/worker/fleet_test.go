//go:build unix

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// fleetFlying is how many orders each worker of the proof may have in flight.
const fleetFlying = 16

// proof is a whole fleet: four workers as processes, each behind proxies of its
// own, one Redis, one PostgreSQL, and the service.
type proof struct {
	*fleet
	random   *rand.Rand
	ledger   *ledger.Ledger // the test's own way in, past every proxy
	sql      *sql.DB        // the same
	quoter   *pricing.Rates
	redis    *server
	flush    *redis.Client
	postgres *server
	machines []*machine
	rows     int
	kills    int
	pending  []*time.Timer // what mends what was broken
}

// TestFleet places a batch by a fleet to which everything happens that may
// happen to one, and then holds the ledger against the service's books order by
// order and cent by cent; and once more when a person has settled what is
// uncertain.
//
// FLEET_ROWS is the size of the batch, FLEET_SEED the order of what happens.
func TestFleet(t *testing.T) {
	p := newProof(t, number(t, "FLEET_SEED", uint64(time.Now().UnixNano())))
	p.rows = int(number(t, "FLEET_ROWS", 1500))
	began := time.Now()
	batches := []string{"season", "again"}
	p.fill("season", p.rows)
	p.fill("again", p.rows/20) // the same purchases once more, by another sheet
	for _, m := range p.machines {
		m.start()
	}
	p.suffer()
	p.calm()
	p.finish(batches...)
	took := time.Since(began)
	counts := p.compare(batches...)
	p.Logf("%d rows in %s under %d kills: %v; faults that fired: %v", p.rows, took.Round(time.Second), p.kills, counts,
		p.service.Books().Faults)
	if counts[filing.Placed]+counts[filing.Uncertain] != p.rows {
		p.Errorf("%v, want %d rows placed or uncertain", counts, p.rows)
	}

	p.resolve(batches...)
	p.finish(batches...)
	if counts := p.compare(batches...); counts[filing.Placed] != p.rows {
		p.Errorf("%v, want all %d placed once the uncertain are settled", counts, p.rows)
	}
	for _, m := range p.machines {
		if status := m.end(syscall.SIGTERM); status != exitDone {
			p.Errorf("%s was asked to end, and its exit status is %d: %s", m.name, status, m.last)
		}
	}
}

// number is a variable of the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

func newProof(t *testing.T, seed uint64) *proof {
	t.Helper()
	bin := needServers(t)
	t.Logf("FLEET_SEED=%d", seed)
	p := &proof{fleet: newFleet(t, 0), random: rand.New(rand.NewPCG(seed, 0))}
	p.service = sandbox.New(sandbox.Config{
		Keys:             []string{secretKey},
		OpeningBalance:   1e12,
		AutoSeed:         true,
		Seed:             seed,
		Fees:             fleetFees,
		ExpeditedService: 51_13,
		Latency:          20 * time.Millisecond,
		Jitter:           60 * time.Millisecond,
		HangLimit:        5 * time.Second,
	})
	p.open()
	p.redis, p.flush = startRedis(t)
	var url string
	p.postgres, url = startPostgres(t, bin)
	fees := filepath.Join(p.dir, "fees.csv")
	p.must(writeFees(fees))
	p.quoter = p.newQuoter(fees)
	seal := strings.Repeat("5ea1", 16)
	l, err := ledger.Open(t.Context(), ledger.Config{Dir: p.dir, DatabaseURL: url, SealKey: seal})
	p.must(err)
	t.Cleanup(func() { l.Close() })
	p.ledger = l
	p.sql, err = sql.Open("pgx", url)
	p.must(err)
	t.Cleanup(func() { p.sql.Close() })
	for i := range 4 {
		p.machines = append(p.machines,
			newMachine(t, fmt.Sprintf("worker%d", i+1), i >= 2, strings.TrimPrefix(p.base, "http://"), p.redis.addr,
				p.postgres.addr,
				"FILING_SEAL_KEY="+seal, "FILING_FEES="+fees, "FILING_TIMEOUT=3s",
				fmt.Sprintf("WORKER_CONCURRENCY=%d", fleetFlying), "FILING_RATE=600"))
	}
	t.Cleanup(func() {
		for _, timer := range p.pending {
			timer.Stop()
		}
	})
	return p
}

func (p *proof) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// fleetFees are those that the service and we both know. No two sums of them are
// alike by chance.
var fleetFees = []sandbox.Fee{
	{Product: "annual_report", EntityType: "LLC", Cents: 300_00},
	{Product: "annual_report", EntityType: "CORP", Cents: 225_01},
	{Product: "formation", EntityType: "LLC", Cents: 110_10}, {Product: "formation", EntityType: "CORP", Cents: 109_01},
	{Product: "foreign_qualification", EntityType: "LLC", Cents: 200_25},
	{Product: "foreign_qualification", EntityType: "CORP", Cents: 245_07},
}

func writeFees(path string) error {
	var lines strings.Builder
	lines.WriteString("product,state,entityType,amount\n")
	for _, fee := range fleetFees {
		fmt.Fprintf(&lines, "%s,,%s,%s\n", strings.ReplaceAll(fee.Product, "_", "-"), fee.EntityType,
			money.Cents(fee.Cents))
	}
	return os.WriteFile(path, []byte(lines.String()), 0o600)
}

func (p *proof) newQuoter(fees string) *pricing.Rates {
	p.Helper()
	var prices []filing.Price
	for _, price := range sandbox.DefaultPrices() {
		prices = append(prices, filing.Price{
			Type:            price.Type,
			WholesaleAmount: money.Cents(price.Wholesale).String(),
			Enabled:         true,
		})
	}
	book, err := pricing.NewPriceBook(prices, "")
	p.must(err)
	table, err := pricing.LoadFees(fees)
	p.must(err)
	return pricing.NewRates(book, table)
}

// fill puts a batch of every kind of filing into the ledger.
func (p *proof) fill(batch string, n int) {
	p.Helper()
	_, err := p.ledger.CreateBatch(p.Context(),
		ledger.Batch{ID: batch, File: batch + ".csv", Product: filing.AnnualReport})
	p.must(err)
	var rows []ledger.Row
	for i := range n {
		rows = append(rows, ledger.Row{
			Number:  i + 2,
			Cells:   []byte(`["x"]`),
			Result:  filing.Ready,
			Request: request(i),
		})
	}
	p.must(p.ledger.AddRows(p.Context(), batch, rows))
	p.must(p.ledger.OpenBatch(p.Context(), batch))
}

// described begins the name of each company that the service does not know and
// the sheet describes.
const described = "Larkspur"

// request is what row i asks for. Each row is for a company of its own.
func request(i int) *filing.Request {
	address := &filing.Address{
		Line1:      "12 Market Street",
		City:       "Springfield",
		State:      "DE",
		PostalCode: "19801",
		Country:    "US",
	}
	officer := filing.Officer{
		Type:      filing.Person,
		FirstName: "Ana",
		LastName:  "Silva",
		Title:     "Member",
		Address:   address,
		IsPrimary: true,
	}
	ana := filing.UserRef{
		Email: fmt.Sprintf("ana%d@example.com", i%25),
		Name:  "Ana Silva",
		Phone: fmt.Sprintf("+1302555%04d", i%25),
	}
	r := &filing.Request{
		Product: filing.AnnualReport,
		User:    filing.UserRef{ID: "user_1"},
		Company: filing.CompanyRef{Ref: fmt.Sprintf("comp_fleet%d", i)},
		Order:   filing.Order{FilingState: "DE"},
	}
	switch kind := i % 20; {
	case kind < 10:
		r.Order.AnnualReport = &filing.AnnualReportItem{FilingYear: "2026"}
	case kind < 12:
		r.Order.AnnualReport, r.Order.RegisteredAgent = &filing.AnnualReportItem{
			FilingYear: "2026",
		}, &filing.RegisteredAgentItem{}
	case kind < 15:
		r.Product, r.Order.RegisteredAgent = filing.AgentChange, &filing.RegisteredAgentItem{IsChangeOfAgent: true}
	case kind < 16:
		r.Product, r.Order.EIN = filing.EIN, ein()
	case kind < 17:
		r.Product, r.Order.EIN, r.Order.RegisteredAgent = filing.EIN, ein(), &filing.RegisteredAgentItem{}
	case kind < 19:
		r.Product, r.User, r.Company = filing.Formation, ana, filing.CompanyRef{}
		r.Order.RegisteredAgent = &filing.RegisteredAgentItem{}
		r.Order.Formation = &filing.FormationItem{Company: filing.Company{
			LegalName:        fmt.Sprintf("Tern & Tide %d LLC", i),
			EntityType:       filing.LLC,
			StructureType:    "MEMBER",
			PrincipalAddress: address,
			MailingAddress:   address,
			Officers:         []filing.Officer{officer},
		}}
		if kind == 18 {
			r.Order.EIN = ein()
		}
	default:
		r.User, r.Company = ana, filing.CompanyRef{Sheet: filing.Company{
			LegalName:        fmt.Sprintf("%s %d LLC", described, i),
			EntityType:       filing.LLC,
			FormationState:   "DE",
			FormationDate:    "2021-05-04",
			PrincipalAddress: address,
			MailingAddress:   address,
			Officers:         []filing.Officer{officer},
		}}
		r.Order.AnnualReport = &filing.AnnualReportItem{FilingYear: "2026", RegisteredAgent: &filing.Agent{
			Type:      filing.Person,
			FirstName: "Grace",
			LastName:  "Okafor",
			Street:    "1 Main St",
			City:      "Dover",
			State:     "DE",
			ZIP:       "19901",
		}}
	}
	return r
}

func ein() *filing.EINItem {
	return &filing.EINItem{
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

// A worker that is out of reach in the middle of a transaction must not keep the
// record from the others for long: it holds the row that all of them lock.
func TestOutOfReachInTheMiddleOfATransaction(t *testing.T) {
	p := newProof(t, 1)
	p.fill("a", 3000)
	m := p.machines[0]
	m.start()
	p.machines[1].start()
	p.eventually("it is out of reach within a transaction", func() error {
		m.database.stall()
		time.Sleep(200 * time.Millisecond) // for the database to see that it waits
		var n int
		err := p.sql.QueryRowContext(t.Context(),
			`SELECT COUNT(*) FROM pg_stat_activity
			WHERE state = 'idle in transaction' AND clock_timestamp() - state_change > interval '0.1 s'`).Scan(&n)
		if err == nil && n == 0 {
			m.database.reconnect()
			err = errors.New("it is not")
		}
		return err
	})
	p.eventually("the other goes on", p.orders(4*fleetFlying))
}

// A worker whose connections lead nowhere any more, and do not break, makes new
// ones: a database that failed over leaves no other trace.
func TestForgottenConnections(t *testing.T) {
	p := newProof(t, 1)
	p.fill("a", 3000)
	m := p.machines[0]
	m.start()
	for _, w := range []*faultProxy{m.database, m.queue, m.service} {
		p.eventually("it places", p.orders(fleetFlying))
		w.forget()
		began := time.Now()
		p.eventually("it goes on", p.orders(8*fleetFlying))
		t.Logf("it took %s", time.Since(began).Round(100*time.Millisecond))
	}
}

// orders waits for so many more of them.
func (p *proof) orders(more int) func() error {
	before := len(p.service.Books().Orders)
	return func() error {
		if n := len(p.service.Books().Orders); n < before+more {
			return fmt.Errorf("%d more orders were made", n-before)
		}
		return nil
	}
}

// blow is something that happens to a fleet, so many times among its rows.
type blow struct {
	name  string
	times int
	fall  func(*proof)
}

var blows = []blow{
	{"a worker is killed", 5, func(p *proof) { p.replace(p.any(), syscall.SIGKILL) }},
	{"two workers are killed", 1, func(p *proof) {
		for _, m := range p.two() {
			p.replace(m, syscall.SIGKILL)
		}
	}},
	{"a worker drains and is replaced", 2, func(p *proof) { p.replace(p.any(), syscall.SIGTERM) }},
	{"Redis is flushed", 3, func(p *proof) {
		_ = p.flush.FlushAll(context.Background()).Err() // it may be away just now
	}},
	{"Redis is killed, and comes back empty", 2, func(p *proof) {
		p.redis.stop(syscall.SIGKILL)
		time.Sleep(p.upTo(time.Second)) // its absence
		p.redis.start()
	}},
	{"PostgreSQL restarts, fast", 2, func(p *proof) { p.restart(syscall.SIGINT) }},
	{"PostgreSQL restarts, immediately", 2, func(p *proof) { p.restart(syscall.SIGQUIT) }},
	{"the balance is out", 2, (*proof).empty},
	{"429", 1, func(p *proof) {
		p.service.Inject(sandbox.Fault{
			Kind:       sandbox.FaultStatus,
			Status:     429,
			Endpoint:   "*",
			RetryAfter: time.Second,
			Times:      10,
		})
	}},
	{"503", 1, func(p *proof) { p.away(sandbox.Outage503) }},
	{"the service refuses connections", 1, func(p *proof) { p.away(sandbox.OutageRefuse) }},
	{"orders are made, and their answers lost", 2, func(p *proof) {
		for _, kind := range []sandbox.Kind{sandbox.FaultReset, sandbox.FaultEOF, sandbox.FaultHalfBody,
			sandbox.FaultGarbage, sandbox.FaultNoOrderIDs, sandbox.FaultTimeout} {
			p.service.Inject(sandbox.Fault{Kind: kind, After: true, Endpoint: "POST *", Times: 2})
		}
	}},
	{"requests are lost", 1, func(p *proof) {
		for _, kind := range []sandbox.Kind{sandbox.FaultReset, sandbox.FaultHalfBody, sandbox.FaultStatus} {
			p.service.Inject(sandbox.Fault{Kind: kind, Status: 502, Endpoint: "*", Times: 3})
		}
	}},
	{"a worker is cut off from the service", 2, func(p *proof) { p.sever(p.any().service) }},
	{"a worker is cut off from Redis", 2, func(p *proof) { p.sever(p.any().queue) }},
	{"a worker is cut off from the database", 2, func(p *proof) { p.sever(p.any().database) }},
	{"a worker's way to the service stands still", 1,
		func(p *proof) { p.stall(p.any().service, p.upTo(5*time.Second)) }},
	{"a worker's way to Redis stands still", 1, func(p *proof) { p.stall(p.any().queue, p.upTo(5*time.Second)) }},
	{"a worker's way to the database stands still", 1,
		func(p *proof) { p.stall(p.any().database, p.upTo(5*time.Second)) }},
	{"a worker's way to the database is slow", 1, func(p *proof) {
		w := p.any().database
		w.slow(30 * time.Millisecond)
		p.later(3*time.Second, w.reconnect)
	}},
	{"a worker's connections to the service are forgotten", 1, func(p *proof) { p.any().service.forget() }},
	{"a worker's connections to Redis are forgotten", 1, func(p *proof) { p.any().queue.forget() }},
	{"a worker's connections to the database are forgotten", 2, func(p *proof) { p.any().database.forget() }},
}

// any is a worker that is not away.
func (p *proof) any() *machine { return p.two()[0] }

func (p *proof) two() []*machine {
	var there []*machine
	for _, i := range p.random.Perm(len(p.machines)) {
		if m := p.machines[i]; !m.away {
			there = append(there, m)
		}
	}
	return there[:2]
}

func (p *proof) upTo(d time.Duration) time.Duration { return time.Duration(p.random.Int64N(int64(d))) }

func (p *proof) later(d time.Duration, do func()) {
	p.pending = append(p.pending, time.AfterFunc(d, do))
}

func (p *proof) replace(m *machine, by syscall.Signal) {
	p.Helper()
	if by == syscall.SIGKILL {
		p.kills++
	}
	if status := m.end(by); by == syscall.SIGTERM && status != exitDone {
		p.Errorf("%s was asked to end, and its exit status is %d: %s", m.name, status, m.last)
	}
	m.start()
}

func (p *proof) restart(by syscall.Signal) {
	p.postgres.stop(by)
	time.Sleep(p.upTo(time.Second)) // its absence
	p.postgres.start()
}

func (p *proof) away(how sandbox.Outage) {
	p.service.SetOutage(how)
	p.later(p.upTo(2*time.Second), func() { p.service.SetOutage(sandbox.OutageNone) })
}

func (p *proof) sever(w *faultProxy) {
	w.cut()
	p.later(p.upTo(4*time.Second), w.reconnect)
}

func (p *proof) stall(w *faultProxy, d time.Duration) {
	w.stall()
	p.later(d, w.reconnect)
}

// empty takes all the money away, until somebody was refused for it.
func (p *proof) empty() {
	books := p.service.Books()
	p.service.Deposit(-books.Balance)
	for end := time.Now().Add(5 * time.Second); p.service.Books().Refused[402] == books.Refused[402] &&
		time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond) // between two looks
	}
	p.service.Deposit(books.Balance)
	if p.random.IntN(2) == 0 { // otherwise the next probe finds it
		p.eventually("the fleet is told of the money", func() error { return p.ledger.Fleet().ProbeNow(p.Context()) })
	}
}

// suffer lets every blow fall among the rows, in an order that the seed decides.
func (p *proof) suffer() {
	var all []blow
	for _, b := range blows {
		for range b.times {
			all = append(all, b)
		}
	}
	// The two that nobody sees are away for longer than their leases, with orders
	// out, so that the others take them for dead; and they come back.
	back := time.Now().Add(33 * time.Second)
	for i, m := range p.machines[2:] {
		p.eventually(m.name+" places", func() error {
			if !m.says(`"result":"placed"`) {
				return errors.New("it has placed nothing")
			}
			return nil
		})
		m.hide()
		if m.away = true; i == 0 {
			m.database.cut()
		} else {
			m.database.stall()
		}
	}
	p.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	open := p.rows
	for i, b := range all {
		// When so many orders are there, or nothing moves. The last quarter is for
		// what a blow takes to fall: a worker that drains takes seconds.
		due := p.rows * (i + 1) / len(all) * 3 / 4
		for end := time.Now().Add(3 * time.Second); len(p.service.Books().Orders) < due && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond) // between two looks
		}
		if time.Now().After(back) {
			p.comeBack()
		}
		open = p.rows - len(p.service.Books().Orders)
		p.Logf("%5d orders: %s", p.rows-open, b.name)
		b.fall(p)
	}
	time.Sleep(time.Until(back))
	if open <= 0 {
		p.Errorf("%d rows were left when the last blow fell", open)
	}
}

// comeBack ends the absence of those that were away.
func (p *proof) comeBack() {
	for _, m := range p.machines {
		if m.away {
			p.Logf("%5d orders: %s is back", len(p.service.Books().Orders), m.name)
			m.away = false
			m.database.reconnect()
		}
	}
}

// calm ends whatever is wrong.
func (p *proof) calm() {
	for _, timer := range p.pending {
		timer.Stop()
	}
	p.comeBack()
	p.service.ClearFaults()
	p.service.SetOutage(sandbox.OutageNone)
	for _, m := range p.machines {
		for _, w := range []*faultProxy{m.service, m.queue, m.database} {
			w.reconnect()
		}
	}
	p.eventually("the fleet is told of the money", func() error { return p.ledger.Fleet().ProbeNow(p.Context()) })
}

// eventually tries something again until it succeeds.
func (p *proof) eventually(what string, try func() error) {
	p.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			p.complain()
			p.Fatalf("not within %s: %s: %v", patience, what, err)
		}
	}
}

// finish waits until nothing more can be done: no answer is out, and rows that are
// ready wait for an uncertain one. It has to look twice: a row that waits for one of
// the other batch goes on when that is placed, between two looks.
func (p *proof) finish(batches ...string) {
	p.Helper()
	began := time.Now()
	for quiet := 0; quiet < 2; time.Sleep(200 * time.Millisecond) { // between two looks
		quiet++
		for _, batch := range batches {
			left, err := p.ledger.Figures(p.Context(), batch)
			p.must(err)
			moving, err := p.ledger.WaitsForMoving(p.Context(), batch)
			if p.must(err); left.Left() == left.Behind+left.Increased && !moving {
				continue
			}
			if quiet = 0; time.Since(began) > 2*time.Minute {
				halted, _ := p.ledger.Fleet().Halt(p.Context())
				p.complain()
				p.Fatalf("batch %s is not done after %s: %+v; halted: %+v", batch, time.Since(began), left, halted)
			}
		}
	}
	p.Logf("what was left took %s", time.Since(began).Round(100*time.Millisecond))
}

// complain says what the logs complain of.
func (p *proof) complain() {
	for _, m := range p.machines {
		m.mu.Lock()
		p.Logf("%s, of %d: %v; the logs are in %s", m.name, m.started, m.messages, m.logs)
		m.mu.Unlock()
	}
}
