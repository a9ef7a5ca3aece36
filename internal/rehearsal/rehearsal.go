// Package rehearsal plays a spreadsheet on a sandbox in this process: with time-outs, two crashes and
// an empty balance. It uses a temporary ledger, and neither the settings nor the real ledger.
package rehearsal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// Config configures a rehearsal.
type Config struct {
	// Read opens the spreadsheet, calls do, and closes it.
	Read func(do func(*importer.Import) error) error
	// Output is the path of the workbook, which is marked as a rehearsal.
	Output string
	// Ordered receives the number of requests for orders so far, and of orders. May be nil.
	Ordered func(requests, total int)
}

// Result is what a rehearsal found in the books of the sandbox.
type Result struct {
	Summary report.Summary `json:"-"`
	Rows    int            `json:"rows"`
	Orders  int            `json:"orders"`
	// Twice counts the filings that were bought more than once.
	Twice int `json:"twice"`
	// Unknown counts the orders that no row has.
	Unknown  int `json:"unknown"`
	TimeOuts int `json:"timeOuts"`
	Kills    int `json:"kills"`
	// NoFunds counts the orders that were refused for insufficient funds.
	NoFunds int `json:"noFunds"`
	// Resolved counts the uncertain rows that were resolved from the books.
	Resolved int `json:"resolved"`
}

// String returns the outcome: "300 rows, 300 orders, 0 twice".
func (r Result) String() string {
	return fmt.Sprintf("%s, %s, %s twice", text.Count(r.Rows, "row"), text.Count(r.Orders, "order"),
		text.Number(r.Twice))
}

// Played lists in a sentence what was played.
func (r Result) Played() string {
	played := fmt.Sprintf("%s, %s of the worker in the middle of a request, and %s refused for insufficient funds. "+
		"%s uncertain and resolved from the sandbox's records.", text.Count(r.TimeOuts, "time-out"),
		text.Count(r.Kills, "kill"), text.Count(r.NoFunds, "order"),
		text.CountOf(r.Resolved, "row was", "rows were"))
	if r.Kills < kills {
		played += " The file has too few orders for the rest."
	}
	return played
}

// Failure returns an error if a filing was bought twice, or if an order belongs to no row.
func (r Result) Failure() error {
	if r.Twice+r.Unknown == 0 {
		return nil
	}
	return fmt.Errorf("in the rehearsal, %s bought twice, and %s no row. This must never happen. Nothing was filed or "+
		"charged. Do not place this file, and report the error", text.CountOf(r.Twice, "filing was", "filings were"),
		text.CountOf(r.Unknown, "order belongs to", "orders belong to"))
}

// faults are the requests for orders that go wrong, the most important first. Tenth is the position
// among the orders of the file.
var faults = []struct {
	tenth int
	// placed reports whether the order is placed although its answer is lost.
	placed, kill bool
}{
	{1, true, false}, {4, true, true}, {6, false, true}, {2, false, false}, {3, true, false}, {5, false, false},
}

const (
	kills = 2
	// timeout is the timeout of a request.
	timeout     = 2 * time.Second
	concurrency = 8
	// maxStarts bounds the number of processes.
	maxStarts = 20
	// plenty is an amount in cents that pays for every file.
	plenty = 1e12
)

// rehearsal is a rehearsal that is being played.
type rehearsal struct {
	Config
	dir     string
	batch   string
	service *sandbox.Service
	quoter  pricing.Quoter
	// alive is the ledger of the process that places orders.
	alive atomic.Pointer[ledger.Ledger]
	// ended is why the last process ended. It is jobs.Interrupted if the process was killed.
	ended  jobs.StopReason
	result Result
	done   bool
}

// Play plays the spreadsheet, and writes its workbook.
func Play(ctx context.Context, c Config) (Result, error) {
	dir, err := os.MkdirTemp("", "bulkfiling-rehearsal-")
	if err != nil {
		return Result{}, fmt.Errorf("make a temporary folder: %w", err)
	}
	defer os.RemoveAll(dir)
	service := sandbox.New(sandbox.Config{OpeningBalance: plenty, Latency: 5 * time.Millisecond, AutoSeed: true})
	defer service.Close()
	r := &rehearsal{Config: c, dir: dir, service: service}
	err = r.run(ctx, r.submit)
	for starts := 0; err == nil && !r.done; starts++ {
		err = r.run(ctx, r.place)
		switch {
		case err != nil || r.ended == jobs.Interrupted:
		case r.ended == jobs.OutOfFunds:
			service.Deposit(plenty)
		case starts >= maxStarts:
			err = errors.New("the rehearsal does not end. Nothing was filed. Report the error")
		default:
			err = r.run(ctx, r.resolve)
		}
	}
	return r.result, err
}

// run runs do as a process with the ledger and the sandbox. It ends after the sandbox has handled
// every request, so that its books are final.
func (r *rehearsal) run(ctx context.Context,
	do func(context.Context, *ledger.Ledger, *filingapi.Client) error) error {
	l, err := ledger.Open(ctx, ledger.Config{Dir: r.dir, Timeout: timeout})
	if err != nil {
		return err
	}
	defer l.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("start the sandbox: %w", err)
	}
	server := &http.Server{Handler: r.service.Handler(), ReadHeaderTimeout: timeout}
	go func() { _ = server.Serve(listener) }()
	client, err := filingapi.New(filingapi.Config{
		BaseURL:     "http://" + listener.Addr().String() + "/v1",
		Key:         "sk_test_rehearsal",
		Timeout:     timeout,
		Concurrency: 2 * concurrency,
	})
	if err == nil {
		err = do(ctx, l, client)
		client.Close()
	}
	return errors.Join(err, server.Shutdown(context.WithoutCancel(ctx)))
}

// submit records the rows, looks up the companies, sets up the faults, and submits the batch.
func (r *rehearsal) submit(ctx context.Context, l *ledger.Ledger, client *filingapi.Client) error {
	err := r.Read(func(im *importer.Import) error {
		recorded, err := intake.Record(ctx, l, im, intake.Recording{By: "rehearsal"})
		r.batch = recorded.Batch
		return err
	})
	if err == nil {
		err = r.seedCompanies(ctx, l)
	}
	if err != nil {
		return err
	}
	all, err := pricing.FetchPrices(ctx, client, l)
	if err != nil {
		return err
	}
	book, err := pricing.NewPriceBook(all, "")
	if err != nil {
		return err
	}
	r.quoter = pricing.NewRates(book, pricing.BuiltinFees())
	quoting := intake.Quoting{
		Ledger:      l,
		Prices:      func(context.Context) (pricing.Quoter, error) { return r.quoter, nil },
		Records:     client,
		Concurrency: concurrency,
	}
	q, err := quoting.Quote(ctx, r.batch)
	if err != nil {
		return err
	}
	r.injectFaults(q.Rows)
	return l.OpenBatch(ctx, r.batch)
}

// seedCompanies puts the companies that the rows name on record, as the rows describe them.
func (r *rehearsal) seedCompanies(ctx context.Context, l *ledger.Ledger) error {
	known := make(map[string]bool)
	for row, err := range l.Rows(ctx, r.batch) {
		if err != nil {
			return err
		}
		ref := row.CompanyRef()
		if row.Request == nil || ref == "" || known[ref] {
			continue
		}
		known[ref] = true
		c := row.Request.Company.Sheet
		ending, _ := filing.ParseEntityType(c.LegalName[strings.LastIndexByte(c.LegalName, ' ')+1:])
		seed := sandbox.Company{
			LegalName:      c.LegalName,
			EntityType:     string(cmp.Or(c.EntityType, ending, filing.LLC)),
			FormationState: string(cmp.Or(c.FormationState, "DE")),
		}
		if seed.ID = ref; !filing.IsCompanyID(ref) {
			seed.ID, seed.Slug = "", ref
		}
		r.service.SeedCompany(seed)
	}
	return nil
}

// injectFaults has the sandbox lose requests and answers, and end the process that waits for them.
func (r *rehearsal) injectFaults(orders int) {
	var requests atomic.Int64
	r.service.Inject(sandbox.Fault{Match: func(*http.Request, []byte) bool {
		if n := int(requests.Add(1)); r.Ordered != nil {
			r.Ordered(min(n, orders), orders)
		}
		return false
	}})
	for i, f := range faults {
		at := int64(max(i+1, orders*f.tenth/10))
		var seen atomic.Int64
		var done atomic.Bool
		// A process that is already dead cannot be killed, so the next one is.
		r.service.Inject(sandbox.Fault{Kind: sandbox.FaultTimeout, After: f.placed,
			Match: func(*http.Request, []byte) bool {
				return seen.Add(1) >= at && !done.Load() && (!f.kill || r.kill(orders)) &&
					done.CompareAndSwap(false, true)
			}})
	}
}

// kill ends the process in the middle of a request. It returns false if the process is dead. The last
// time, it also leaves funds for a third of the remaining orders.
func (r *rehearsal) kill(orders int) bool {
	l := r.alive.Swap(nil)
	if l == nil {
		return false
	}
	// The error does not matter to a process that is killed.
	_ = l.Close()
	if r.result.Kills++; r.result.Kills == kills {
		b := r.service.Books()
		placed := int64(max(1, len(b.Orders)))
		r.service.Deposit(b.Charged/placed*max(0, int64(orders)-placed)/3 - b.Balance)
	}
	return true
}

// place places orders until the process is killed or nothing more can be placed.
func (r *rehearsal) place(ctx context.Context, l *ledger.Ledger, client *filingapi.Client) error {
	if err := l.Fleet().AllowProbe(ctx); err != nil {
		return err
	}
	queue, err := jobs.OpenQueue("")
	if err != nil {
		return err
	}
	defer queue.Close()
	r.alive.Store(l)
	worker, err := jobs.Start(ctx, jobs.Config{
		Service:      client,
		Ledger:       l,
		Queue:        queue,
		Quoter:       r.quoter,
		Concurrency:  concurrency,
		Batch:        r.batch,
		DrainTimeout: 5 * timeout,
	})
	if err != nil {
		return err
	}
	result, err := worker.Await(ctx, r.batch, jobs.WaitLimits{Silence: time.Minute})
	worker.Stop()
	if r.ended = result.Reason; r.alive.Swap(nil) == nil {
		// The errors do not matter to a process that was killed.
		r.ended, err = jobs.Interrupted, nil
	}
	return cmp.Or(ctx.Err(), err)
}

// resolve resolves the uncertain rows by the books of the sandbox, as a person does by the dashboard.
// If there are none, it finishes.
func (r *rehearsal) resolve(ctx context.Context, l *ledger.Ledger, client *filingapi.Client) error {
	all, err := resolve.ListUncertain(ctx, l, r.batch)
	if err != nil {
		return err
	}
	items, err := r.unknownItems(ctx, l)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return r.finish(ctx, l, len(items))
	}
	person := resolve.Service{
		Ledger: l,
		Client: func() (*filingapi.Client, error) { return client, nil },
		By:     "the rehearsal",
	}
	for _, o := range all {
		found := &resolve.Resolution{Order: o}
		if o.Row.Creating {
			c, _ := r.service.CompanyNamed(o.Row.Request.Company.Sheet.LegalName)
			found.CompanyID = c.ID
		}
		for _, p := range o.Products() {
			at := slices.IndexFunc(items, func(i sandbox.Item) bool { return isOrderOf(&o.Row, p, i) })
			if at < 0 || o.Row.Creating {
				continue
			}
			found.OrderIDs = append(found.OrderIDs, items[at].ID)
			if p == filing.Formation {
				found.CompanyID = items[at].CompanyID
			}
			items = slices.Delete(items, at, at+1)
		}
		if err := person.Check(ctx, found); err != nil {
			return err
		}
		if _, err := person.Resolve(ctx, found); err != nil {
			return err
		}
		r.result.Resolved++
	}
	return nil
}

// unknownItems lists the items in the books that no row has, with the names of their companies.
func (r *rehearsal) unknownItems(ctx context.Context, l *ledger.Ledger) ([]sandbox.Item, error) {
	var items []sandbox.Item
	for _, o := range r.service.Books().Orders {
		for _, i := range o.Items {
			if i.LegalName = o.CompanyName; !i.Existing {
				items = append(items, i)
			}
		}
	}
	for row, err := range l.Rows(ctx, r.batch) {
		if err != nil {
			return nil, err
		}
		for _, have := range row.Items {
			at := slices.IndexFunc(items, func(i sandbox.Item) bool {
				// The filing service confirms some orders without an ID.
				return i.ID == have.OrderID || have.OrderID == "" && isOrderOf(&row, have.Product, i)
			})
			if at >= 0 {
				items = slices.Delete(items, at, at+1)
			}
		}
	}
	return items, nil
}

// isOrderOf reports whether an item in the books is what a row ordered of a product.
func isOrderOf(row *ledger.Row, p filing.Product, i sandbox.Item) bool {
	order := row.Request.Order
	if p == filing.AgentChange {
		p = filing.RegisteredAgent
	}
	sameCompany := i.CompanyID == row.CompanyRef()
	if f := order.Formation; f != nil {
		sameCompany = filing.FoldLegalName(i.LegalName) == filing.FoldLegalName(f.Company.LegalName)
	}
	return sameCompany && i.Product == strings.ReplaceAll(string(p), "-", "_") &&
		i.State == string(order.FilingState) &&
		(p != filing.AnnualReport || i.Year == order.AnnualReport.FilingYear)
}

// finish writes the workbook, and reads the books.
func (r *rehearsal) finish(ctx context.Context, l *ledger.Ledger, unknown int) (err error) {
	out, b := &r.result, r.service.Books()
	if out.Summary, err = report.WriteRehearsal(ctx, l, r.batch, r.Output); err != nil {
		return err
	}
	out.Rows, out.Orders = out.Summary.Counts.Total(), len(b.Orders)
	out.Twice, out.Unknown, out.NoFunds = len(b.Duplicates()), unknown, b.Refused[http.StatusPaymentRequired]
	for _, n := range b.Faults {
		out.TimeOuts += n
	}
	out.TimeOuts -= out.Kills
	r.done = true
	return nil
}
