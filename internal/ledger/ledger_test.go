package ledger_test

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// suite is one database under test, and a clock that stands still until it is
// moved.
type suite struct {
	*testing.T
	config ledger.Config

	mu     sync.Mutex
	now    time.Time
	opened int
}

// offsets are how far the clocks of a ledger's processes are off, one after the
// other: whatever a test shows must not depend on them.
var offsets = []time.Duration{0, 48 * time.Hour, -26 * time.Hour, 2 * time.Hour, -time.Hour}

// onBothDatabases runs one suite on SQLite and on PostgreSQL. After each the book
// must add up.
func onBothDatabases(t *testing.T, test func(*suite)) {
	ledgertest.OnBoth(t, func(t *testing.T, database string) {
		s := &suite{T: t, now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
		// Nothing renews a lease while the clock stands still.
		s.config = ledger.Config{
			Dir:          ledgertest.Dir(t),
			DatabaseURL:  database,
			RepeatAgents: true,
			Clock:        s.clock,
			Lease:        24 * time.Hour,
			Timeout:      time.Nanosecond, // a row may be sent again at once
			Gate:         approval.Gate{},
		}
		test(s)
		if err := s.open().Audit(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// onLedger is onBothDatabases for a suite that begins with one process.
func onLedger(t *testing.T, test func(*suite, context.Context, *ledger.Ledger)) {
	onBothDatabases(t, func(s *suite) { test(s, s.Context(), s.open()) })
}

func (s *suite) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// pass lets time go by.
func (s *suite) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// open opens the ledger as one more process.
func (s *suite) open() *ledger.Ledger {
	s.Helper()
	config := s.config
	if config.Now == nil {
		off := offsets[s.opened%len(offsets)]
		config.Now = func() time.Time { return time.Now().Add(off) }
		if config.Clock != nil {
			config.Now = func() time.Time { return s.clock().Add(off) }
		}
	}
	s.opened++
	l, err := ledger.Open(s.Context(), config)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { l.Close() })
	return l
}

// sql is a connection beside the ledger, for what no method does.
func (s *suite) sql() *sql.DB {
	s.Helper()
	driver, name := "pgx", s.config.DatabaseURL
	if name == "" {
		driver, name = "sqlite", "file:"+filepath.Join(s.config.Dir, "ledger.db")+"?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { db.Close() })
	return db
}

func (s *suite) exec(query string, args ...any) {
	s.Helper()
	if _, err := s.sql().ExecContext(s.Context(), query, args...); err != nil {
		s.Fatal(err)
	}
}

// must fails the test on an error.
func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// approve gives the approval of a plan that a test named, whatever the rows hold.
func approve(ctx context.Context, l *ledger.Ledger, batch, plan, by string) error {
	return approval.New(l).GiveApproval(ctx, batch, plan, by,
		func(iter.Seq2[ledger.ReadyRow, error]) (string, error) { return plan, nil })
}

// row reads a row as it is now.
func (s *suite) row(l *ledger.Ledger, id int64) ledger.Row {
	s.Helper()
	r, err := l.Row(s.Context(), id)
	s.must(err)
	return r
}

func (s *suite) figures(l *ledger.Ledger, batch string) ledger.Figures {
	s.Helper()
	f, err := l.Figures(s.Context(), batch)
	s.must(err)
	return f
}

func (s *suite) book(l *ledger.Ledger) ledger.Balance {
	s.Helper()
	b, err := l.Balance(s.Context())
	s.must(err)
	return b
}

// begin commits an intent and reports what the ledger said.
func (s *suite) begin(l *ledger.Ledger, in ledger.Intent) ledger.Begun {
	s.Helper()
	begun, err := l.Begin(s.Context(), in)
	s.must(err)
	return begun
}

// send is begin for a row that must be let through.
func (s *suite) send(l *ledger.Ledger, r ledger.Row) int {
	s.Helper()
	begun := s.begin(l, intent(s.row(l, r.ID)))
	if begun.Attempt == 0 {
		s.Fatalf("row %d was not let through: %+v", r.ID, begun)
	}
	return begun.Attempt
}

// answer settles the present attempt of a row.
func (s *suite) answer(l *ledger.Ledger, r ledger.Row, class filing.AnswerKind) ledger.Row {
	s.Helper()
	now := s.row(l, r.ID)
	s.must(l.RecordOutcome(s.Context(), outcome(now, now.LastAttempt, class)))
	return s.row(l, r.ID)
}

// place takes a row all the way.
func (s *suite) place(l *ledger.Ledger, r ledger.Row) ledger.Row {
	s.Helper()
	s.send(l, r)
	return s.answer(l, r, filing.Accepted)
}

// want checks a row's state and what is set aside for it.
func (s *suite) want(l *ledger.Ledger, r ledger.Row, result filing.Result, held money.Cents) ledger.Row {
	s.Helper()
	got := s.row(l, r.ID)
	if got.Result != result || got.Reserved != held {
		s.Fatalf("row %d is %s holding %s, want %s holding %s (%s)", r.ID, got.Result, got.Reserved, result, held,
			got.Message)
	}
	return got
}

// reports are n annual reports of as many companies, named after the batch.
func reports(batch string, n int) []ledger.Row {
	var rows []ledger.Row
	for i := range n {
		rows = append(rows, report(fmt.Sprintf("comp_%s%d", batch, i), "2026"))
	}
	return rows
}

func report(company, year string) ledger.Row {
	return ledger.Row{
		Cells:  []byte(`["x"]`),
		Result: filing.Ready,
		Cost:   money.Cost{Amount: cost},
		Request: &filing.Request{
			Product: filing.AnnualReport,
			Company: filing.CompanyRef{Ref: company},
			Order:   filing.Order{FilingState: "DE", AnnualReport: &filing.AnnualReportItem{FilingYear: year}},
		},
	}
}

// agentOrder is an order that may be sent twice without harm.
func agentOrder(company string) ledger.Row {
	r := report(company, "")
	r.Request.Product = filing.RegisteredAgent
	r.Request.Order.AnnualReport, r.Request.Order.RegisteredAgent = nil, &filing.RegisteredAgentItem{}
	return r
}

// cost of every row, unless a test says otherwise.
const cost = money.Cents(7500)

// add records a batch of rows and opens it.
func (s *suite) add(l *ledger.Ledger, id string, rows ...ledger.Row) []ledger.Row {
	s.Helper()
	ctx := s.Context()
	created, err := l.CreateBatch(ctx,
		ledger.Batch{ID: id, File: id + ".csv", Product: filing.AnnualReport, Columns: []string{"Company ID"}})
	if err != nil || !created {
		s.Fatalf("CreateBatch: %v, %v", created, err)
	}
	for i := range rows {
		rows[i].Number = i + 2
	}
	s.must(l.AddRows(ctx, id, rows))
	s.must(l.OpenBatch(ctx, id))
	return s.rows(l, id)
}

func (s *suite) rows(l *ledger.Ledger, batch string) []ledger.Row {
	s.Helper()
	var rows []ledger.Row
	for r, err := range l.Rows(s.Context(), batch) {
		s.must(err)
		rows = append(rows, r)
	}
	return rows
}

// sweep settles what dead processes left, as the jobs do, and reports how much.
func (s *suite) sweep(l *ledger.Ledger) int {
	s.Helper()
	orphans, err := l.Fleet().CollectOrphans(s.Context())
	s.must(err)
	for _, r := range orphans {
		o := outcome(r.Row, r.LastAttempt, filing.NoAnswer)
		o.Due = r.Due
		s.must(l.RecordOutcome(s.Context(), o))
	}
	return len(orphans)
}

func intent(r ledger.Row) ledger.Intent {
	o, rest := r.Left("", r.Request.Company.Ref).First()
	in := ledger.Intent{Row: r.ID, LastAttempt: r.LastAttempt, Cost: r.Cost, Rest: rest.Products()}
	in.Cost.Amount -= r.Spent.Amount
	keys := o.Keys()
	for _, p := range o.Products() {
		c := ledger.Claim{Product: p, Key: keys[p]}
		if p == filing.AnnualReport {
			c.Cover = "annual-report|" + o.CompanyID + "|DE"
			c.Year, _ = strconv.Atoi(o.AnnualReport.FilingYear)
		}
		in.Claims = append(in.Claims, c)
	}
	return in
}

// outcome is what the placer makes of an answer to an attempt of a row.
func outcome(r ledger.Row, attempt int, class filing.AnswerKind) ledger.Outcome {
	a := filing.Answer{Kind: class, Message: "said the service", Detail: "read tcp: reset"}
	in := intent(r)
	out := ledger.Outcome{
		Row:     r.ID,
		Attempt: attempt,
		Owner:   r.Owner,
		Answer:  a,
		Message: "it is " + string(class),
		Cost:    r.Cost,
		Claims:  in.Claims,
	}
	o, _ := r.Left("", "").First()
	out.Repeatable = !slices.ContainsFunc(o.Products(), // as with FILING_REPEAT_AGENT
		func(p filing.Product) bool { return !p.Repeatable(true) })
	share := r.Cost // the first item costs it all
	for _, p := range o.Products() {
		switch class {
		case filing.Accepted:
			i := ledger.Item{
				Product:   p,
				OrderType: string(p),
				OrderID:   fmt.Sprintf("order_%d_%d_%s", r.ID, attempt, p),
				Cost:      share,
			}
			out.Items = append(out.Items, i)
		case filing.HasItem:
			if len(out.Items) == 0 {
				out.Answer.Has, out.Answer.Ordered = p, true
				out.Items = []ledger.Item{{Product: p, Cost: share}}
			}
		}
		share.Amount = 0
	}
	return out
}
