package simulate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// requestTimeout is the time after which a process stops waiting for an answer.
const requestTimeout = 30 * time.Second

// key is the API key of the firm.
const key = "sk_test_firm"

// lease is longer than in life, because a story may skip a day at once.
const lease = 24 * time.Hour

// step is one act of a story. Its dice decide the details, so that a story stays much the same if
// other steps are left out.
type step struct {
	act  *act
	dice uint64
}

// world is one firm and its filing service.
type world struct {
	dir     string
	service *sandbox.Service
	network *network
	// office is the process in which people work.
	office    *process
	workers   []*process
	companies []*company
	sheets    []*sheet
	fees      []sandbox.Fee
	rates     *pricing.Fees
	// repriced reports whether fees have changed.
	repriced bool
	// deliveredLate has the times at which requests arrived whose clients had left.
	deliveredLate map[time.Time]bool
	backups       []backupFile
	// marked has the names of the rows that a person marked as placed.
	marked map[string]bool
	// allowed has what people approved, by what the filing service would make.
	allowed map[string][]allowance
	// ended has the times at which orders or their subscriptions were canceled.
	ended map[string]time.Time
	// events counts the events of the filing service that have arrived.
	events int
	// deeds are what people did. A restored ledger lacks those from lostFrom on.
	deeds    []deed
	lostFrom int

	// dice belong to the present step.
	dice  *rand.Rand
	began time.Time
	// story has a line for each step. faults counts the steps that are faults.
	story  []string
	faults int
	wrong  string
	// did counts the steps that happened by act.
	did map[string]int
}

// company is a company at the filing service.
type company struct {
	id, name string
	// ein is set if the company has an EIN from the beginning.
	ein string
	// names are the names that it has had, the present one last.
	names []naming
	// confirmed has the names of sheets that a person accepted for a name of the company.
	confirmed map[[2]string]bool
}

// naming is a name and the time from which a company has had it.
type naming struct {
	name  string
	since time.Time
}

// setName gives a company a name.
func (c *company) setName(name string) {
	c.name = name
	c.names = append(c.names, naming{name, time.Now()})
}

// hadName reports whether a sheet's name meant the company at some time of a period: it was the
// company's name, or a person accepted it for the name that the company had.
func (c *company) hadName(name string, from, to time.Time) bool {
	for i, n := range c.names {
		ended := i+1 < len(c.names) && c.names[i+1].since.Before(from)
		if !ended && !n.since.After(to) && (n.name == name || c.confirmed[[2]string{name, n.name}]) {
			return true
		}
	}
	return false
}

// companyWith returns the company with an ID, or nil.
func (w *world) companyWith(id string) *company {
	for _, c := range w.companies {
		if c.id == id {
			return c
		}
	}
	return nil
}

// allowance is what a person approved: the highest cost, for a company named as in the sheet.
type allowance struct {
	cents int64
	at    time.Time
	name  string
	// recorded is the time when the sheet was recorded. Its companies are looked up after it.
	recorded time.Time
}

// backupFile is a backup and the number of deeds that it has.
type backupFile struct {
	path  string
	deeds int
}

// process is a process of the firm. It ends when its ledger is closed.
type process struct {
	name    string
	ledger  *ledger.Ledger
	client  *filingapi.Client
	ctx     context.Context
	kill    context.CancelFunc
	placing sync.WaitGroup
}

// outcome is what became of a world.
type outcome struct {
	story  []string
	faults int
	wrong  string
	did    map[string]int
}

// play plays a story in a new world.
func play(t *testing.T, dir string, seed uint64, steps []step) (o outcome) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(dir, seed)
		defer func() {
			w.close()
			o = outcome{w.story, w.faults, w.wrong, w.did}
		}()
		defer func() {
			if p := recover(); p != nil {
				w.fail("%v", p)
			}
		}()
		w.open()
		for i, s := range steps {
			w.dice = rand.New(rand.NewPCG(seed, s.dice))
			w.take(i, s.act)
			if w.wrong != "" {
				return
			}
		}
		w.settle()
	})
	return o
}

// take takes a step.
func (w *world) take(i int, a *act) {
	said := a.do(w)
	if said == "" {
		return
	}
	synctest.Wait()
	w.did[a.name]++
	if a.fault {
		w.faults++
	}
	w.say("%3d  %s", i+1, said)
	w.audit()
	time.Sleep(time.Second)
	synctest.Wait()
}

func (w *world) say(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf("%12s  ", time.Since(w.began).Truncate(time.Second))+
		fmt.Sprintf(format, args...))
}

// fail records what is wrong. Only the first one counts.
func (w *world) fail(format string, args ...any) {
	if w.wrong == "" {
		w.wrong = fmt.Sprintf(format, args...)
		w.say("WRONG: %s", w.wrong)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func newWorld(dir string, seed uint64) *world {
	w := &world{
		dir:     dir,
		began:   time.Now(),
		allowed: make(map[string][]allowance),
		did:     make(map[string]int),
		ended:   make(map[string]time.Time),
		marked:  make(map[string]bool),

		deliveredLate: make(map[time.Time]bool),
		lostFrom:      math.MaxInt,
	}
	w.fees = []sandbox.Fee{
		{Product: "annual_report", Cents: 300_00},
		{Product: "formation", Cents: 110_10},
		{Product: "foreign_qualification", Cents: 200_25},
	}
	w.service = sandbox.New(sandbox.Config{
		Keys:             []string{key},
		OpeningBalance:   []int64{1_500_00, 20_000_00}[seed%2],
		Fees:             w.fees,
		ExpeditedService: 51_13,
		Seed:             seed,
	})
	w.network = &network{
		service: w.service,
		handler: w.service.Handler(),
		merged:  make(map[string]string),
		partial: seed%3 == 0,
		lost:    make(map[string]time.Time),
		fail:    w.fail,
	}
	w.service.AddUser(sandbox.User{ID: "user_1"})
	for i := range 6 {
		c := &company{id: fmt.Sprintf("comp_%d", i), confirmed: make(map[[2]string]bool)}
		c.setName(fmt.Sprintf("Plover %d LLC", i))
		agents := map[string]sandbox.Agent{"DE": sandbox.ActiveService}
		if i%2 == 0 {
			agents["NV"] = sandbox.ActiveService
		}
		if i == int(seed%6) {
			c.ein = "12-3456789"
		}
		w.service.AddCompany(sandbox.Company{
			ID:             c.id,
			EIN:            c.ein,
			LegalName:      c.name,
			EntityType:     "LLC",
			FormationState: "DE",
			UserID:         "user_1",
			Agents:         agents,
		})
		w.companies = append(w.companies, c)
	}
	return w
}

func (w *world) open() {
	w.writeFees()
	w.office = w.start("the office")
	for _, name := range []string{"worker A", "worker B"} {
		w.workers = append(w.workers, w.start(name))
	}
}

// close ends all processes.
func (w *world) close() {
	for _, p := range w.processes() {
		w.end(p)
	}
	w.service.Close()
	synctest.Wait()
}

func (w *world) processes() []*process {
	if w.office == nil {
		return w.workers
	}
	return append([]*process{w.office}, w.workers...)
}

// start starts a process. Processes start at different times, so that their timers do not fire at
// once.
func (w *world) start(name string) *process {
	time.Sleep(7 * time.Millisecond)
	p := &process{name: name}
	p.ctx, p.kill = context.WithCancel(context.Background())
	var err error
	p.ledger, err = ledger.Open(p.ctx, ledger.Config{
		Dir:     w.dir,
		Now:     time.Now,
		Clock:   time.Now,
		Lease:   lease,
		Timeout: requestTimeout,
		Gate:    approval.Gate{},
	})
	must(err)
	p.client, err = filingapi.New(filingapi.Config{
		BaseURL:   "https://filing.example/v1",
		Key:       key,
		Timeout:   requestTimeout,
		Transport: &transport{w.network, p},
	})
	must(err)
	return p
}

// end ends a process wherever it is. Its requests arrive at the filing service or do not.
func (w *world) end(p *process) (lost []string) {
	_ = p.ledger.Close()
	for _, r := range w.network.of(p) {
		what := "had reached the filing service"
		if r.answer == nil && w.dice != nil && w.dice.IntN(2) == 0 {
			w.network.deliver(r)
		} else if r.answer == nil {
			what = "never arrived"
		}
		lost = append(lost, fmt.Sprintf("%s %s", r, what))
		w.network.lose(r, errReset)
	}
	p.kill()
	p.placing.Wait()
	p.client.Close()
	return lost
}

// of returns the waiting requests of a process.
func (n *network) of(p *process) (all []*request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.waiting {
		if p == nil || r.process == p {
			all = append(all, r)
		}
	}
	return all
}

// place has a worker place a row, as far as the network lets it.
func (w *world) place(p *process, row int64) error {
	quoter, err := w.quoter(p)(p.ctx)
	if err != nil {
		return err
	}
	placer := jobs.NewPlacer(jobs.Config{
		Service:     p.client,
		Ledger:      p.ledger,
		Quoter:      quoter,
		Concurrency: 4,
	})
	p.placing.Go(func() { placer.Place(p.ctx, []int64{row}) })
	synctest.Wait()
	return nil
}

// quoter returns the source of the present prices and fees.
func (w *world) quoter(p *process) pricing.Source {
	return func(ctx context.Context) (pricing.Quoter, error) {
		prices, err := pricing.FetchPrices(ctx, p.client, p.ledger)
		if err != nil {
			return nil, err
		}
		book, err := pricing.NewPriceBook(prices, "")
		return pricing.NewRates(book, w.rates), err
	}
}

// writeFees writes the firm's table of fees, which are those of the filing service.
func (w *world) writeFees() {
	lines := []string{"product,state,entityType,amount", "expedited-service,,,51.13"}
	for _, f := range w.fees {
		product := strings.ReplaceAll(f.Product, "_", "-")
		lines = append(lines, fmt.Sprintf("%s,,,%s", product, money.Cents(f.Cents)))
	}
	path := filepath.Join(w.dir, "fees.csv")
	must(writeFile(path, []byte(strings.Join(lines, "\n")+"\n")))
	var err error
	w.rates, err = pricing.LoadFees(path)
	must(err)
}

// resolver returns the resolver of a person in the office.
func (w *world) resolver() *resolve.Service {
	return &resolve.Service{
		Ledger: w.office.ledger,
		Client: func() (*filingapi.Client, error) { return w.office.client, nil },
		Prices: w.quoter(w.office),
		By:     "ana",
	}
}

// audit proves the ledger.
func (w *world) audit() {
	report, err := w.office.ledger.Verify(context.Background())
	must(err)
	for _, wrong := range append(report.Wrong, report.Twice...) {
		w.fail("audit: %s", wrong)
	}
	books := w.service.Books()
	for _, twice := range books.Duplicates() {
		// The events of a renewal do not say of which report it is.
		ours := slices.DeleteFunc(slices.Clone(twice.OrderIDs),
			func(order string) bool { return isRenewal(books, order) })
		if len(ours) > 1 {
			w.fail("bought twice: %s, as %s", twice.Key, strings.Join(ours, " and "))
		}
	}
	for _, v := range w.service.Violations() {
		if !v.Hidden {
			w.fail("%s", v)
		}
	}
	for _, s := range w.recorded() {
		var spent money.Cents
		for _, r := range w.rows(s.batch) {
			spent += r.Spent.Amount
		}
		f, err := w.office.ledger.Figures(context.Background(), s.batch)
		must(err)
		if f.Spent.Amount != spent {
			w.fail("%s is said to have spent %s, and its rows spent %s", s.name, f.Spent, spent)
		}
	}
}

// isRenewal reports whether the filing service placed an order itself, under a subscription.
func isRenewal(books sandbox.Books, order string) bool {
	return slices.ContainsFunc(books.Orders, func(o sandbox.Order) bool {
		return o.Renewal && slices.ContainsFunc(o.Items, func(i sandbox.Item) bool { return i.ID == order })
	})
}

// rows returns the rows of a batch.
func (w *world) rows(batch string) (rows []ledger.Row) {
	for r, err := range w.office.ledger.Rows(context.Background(), batch) {
		must(err)
		rows = append(rows, r)
	}
	return rows
}

// pick picks one of several.
func pick[T any](w *world, from []T) (T, bool) {
	if len(from) == 0 {
		var none T
		return none, false
	}
	return from[w.dice.IntN(len(from))], true
}

// halted reports whether the fleet is halted for a reason.
func (w *world) halted(reason filing.Halt) bool {
	h, err := w.office.ledger.Fleet().Halt(context.Background())
	must(err)
	return h.Reason == reason
}
