package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/metrics"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// answering is a service that answers every order with the next of its answers,
// and every other call with err, each after a while.
type answering struct {
	jobs.Service
	answers []filing.Answer
	err     error
	after   time.Duration
}

func (s *answering) PlaceOrder(context.Context, *filing.Order) filing.Answer {
	time.Sleep(s.after)
	a := s.answers[0]
	s.answers = s.answers[1:]
	return a
}

func (s *answering) CreateCompany(ctx context.Context, _ filing.NewCompany) filing.Answer {
	return s.PlaceOrder(ctx, nil)
}

func (s *answering) Company(context.Context, string) (filing.Company, error) {
	time.Sleep(s.after)
	return filing.Company{}, s.err
}

func (s *answering) User(context.Context, string) (filing.User, error) {
	return filing.User{}, s.err
}

// standing is a ledger that says what it is told to.
type standing struct {
	batches  []ledger.Batch
	progress map[string]ledger.Figures
	book     ledger.Balance
	halted   ledger.Halted
	err      error
	hang     bool           // until the reader gives up
	asked    map[string]int // by batch
}

func (s *standing) Halt(ctx context.Context) (ledger.Halted, error) {
	if s.hang {
		<-ctx.Done()
		return s.halted, ctx.Err()
	}
	return s.halted, s.err
}

func (s *standing) Batches(context.Context) ([]ledger.Batch, error) {
	return s.batches, s.err
}

func (s *standing) Figures(_ context.Context, batch string) (ledger.Figures, error) {
	s.asked[batch]++
	return s.progress[batch], s.err
}

func (s *standing) Balance(context.Context) (ledger.Balance, error) { return s.book, s.err }

func (s *standing) Count(context.Context) (ledger.AttentionCounts, error) {
	return ledger.AttentionCounts{Exceptions: 3, NewEvents: 1, UnknownEvents: 2, Approvals: 4}, s.err
}

func (s *standing) Lease(context.Context) (time.Time, error) {
	return time.Unix(1_900_000_000, 0), s.err
}

type breaker string

func (b breaker) State() string { return string(b) }

type queue struct{}

func (queue) Depth(context.Context) (map[string]int, error) {
	return map[string]int{"pending": 7, "active": 2}, nil
}

func newStanding() *standing {
	return &standing{
		batches: []ledger.Batch{
			{ID: "a", Open: true}, {ID: "b", Open: true}, {ID: "c", Open: true, Paused: true},
			{ID: "d", CreatedAt: time.Now()},
			{ID: "dry", CreatedAt: time.Now().Add(-time.Hour)}, {ID: "sheet", Prepared: true, CreatedAt: time.Now()},
			{ID: "unapproved", Open: true, Approval: ledger.Approval{State: ledger.ApprovalNeeded}},
			{ID: "paused", Open: true, Paused: true}, {ID: "canceled", Open: true, Canceled: true},
		},
		progress: map[string]ledger.Figures{
			"a": {Counts: ledger.Counts{filing.Placed: 40, filing.Exists: 2}},
			"b": {Counts: ledger.Counts{filing.Placed: 1, filing.Ready: 5, filing.Uncertain: 3}, Behind: 1, Short: 3},
			"c": {Counts: ledger.Counts{filing.Rejected: 1}},
			"d": {Counts: ledger.Counts{filing.Ready: 100}},

			"dry":        {Counts: ledger.Counts{filing.Ready: 200}},
			"sheet":      {Counts: ledger.Counts{filing.Ready: 300}},
			"unapproved": {Counts: ledger.Counts{filing.Ready: 400}},
			"paused":     {Counts: ledger.Counts{filing.Ready: 500}, Behind: 10, Short: 40},
			"canceled":   {Counts: ledger.Counts{filing.Ready: 1, filing.Canceled: 7}},
		},
		asked: make(map[string]int),
	}
}

func (s *standing) fleet(state string) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(metrics.NewFleet(s, s, s, breaker(state), queue{}))
	return r
}

// text is what a scrape shows, without comments.
func text(t *testing.T, r *prometheus.Registry) string {
	t.Helper()
	w := httptest.NewRecorder()
	metrics.Handler(r, slog.New(slog.DiscardHandler)).ServeHTTP(w,
		httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("a scrape is answered %d: %s", w.Code, w.Body)
	}
	var lines []string
	for line := range strings.Lines(w.Body.String()) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func wantLines(t *testing.T, got string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+got, "\n"+line+"\n") {
			t.Errorf("the scrape lacks %q", line)
		}
	}
}

func TestEveryAnswerIsCountedByItsClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &answering{after: 200 * time.Millisecond}
		for _, class := range []filing.AnswerKind{filing.Accepted, filing.Accepted, filing.NoFunds, filing.NotSent,
			filing.NoAnswer} {
			inner.answers = append(inner.answers, filing.Answer{Kind: class})
		}
		registry := prometheus.NewRegistry()
		s := metrics.Observe(inner, registry)
		order := &filing.Order{EIN: &filing.EINItem{}, AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}}
		for range 5 {
			s.PlaceOrder(t.Context(), order)
		}
		inner.answers = []filing.Answer{{Kind: filing.Refused}}
		s.CreateCompany(t.Context(), filing.NewCompany{})
		wantLines(t, text(t, registry),
			`bulkfiling_orders_total{class="accepted"} 2`,
			`bulkfiling_orders_total{class="no-funds"} 1`,
			`bulkfiling_orders_total{class="not-sent"} 1`,
			`bulkfiling_orders_total{class="no-answer"} 1`,
			`bulkfiling_orders_total{class="refused"} 0`,
			`bulkfiling_company_creations_total{class="refused"} 1`,
			`bulkfiling_order_items_total{product="ein"} 2`,
			`bulkfiling_order_items_total{product="annual-report"} 2`,
			`bulkfiling_order_duration_seconds_count 4`, // not the one that was not sent, nor the creation
			`bulkfiling_order_duration_seconds_bucket{le="0.1"} 0`,
			`bulkfiling_order_duration_seconds_bucket{le="0.25"} 4`,
			`bulkfiling_orders_in_flight 0`,
		)
	})
}

func TestEveryLookUpIsCountedByItsOutcome(t *testing.T) {
	for name, err := range map[string]error{
		"ok": nil, "not_found": filingapi.ErrNotFound, "conflict": filingapi.ErrConflict,
		"refused": filingapi.ErrRefused,
		"busy":    filingapi.ErrBusy, "key_refused": filingapi.ErrKeyRefused, "unavailable": filingapi.ErrUnavailable,
		"other": context.Canceled,
	} {
		if err != nil {
			err = fmt.Errorf("look up company comp_1: %w", err)
		}
		registry := prometheus.NewRegistry()
		s := metrics.Observe(&answering{err: err}, registry)
		if _, got := s.Company(t.Context(), "comp_1"); !errors.Is(got, err) {
			t.Errorf("%s: the error became %v", name, got)
		}
		if _, got := s.User(t.Context(), "ada@example.com"); !errors.Is(got, err) {
			t.Errorf("%s: the error became %v", name, got)
		}
		got := text(t, registry)
		wantLines(t, got,
			fmt.Sprintf(`bulkfiling_lookups_total{call="company",outcome=%q} 1`, name),
			fmt.Sprintf(`bulkfiling_lookups_total{call="user",outcome=%q} 1`, name),
			`bulkfiling_lookup_duration_seconds_count{call="company"} 1`)
		if strings.Contains(got, "comp_1") || strings.Contains(got, "ada@") {
			t.Errorf("an id stands in a label:\n%s", got)
		}
	}
}

func TestFleetIsReadFromTheLedger(t *testing.T) {
	s := newStanding()
	s.book = ledger.Balance{
		HasDeposit:  true,
		Deposits:    1000_00,
		Adjustments: -50,
		Posted:      300_25,
		Reserved:    100_00,
		Certainty:   money.Unknown,
	}
	since, until := time.Unix(1_800_000_000, 0), time.Unix(1_800_000_060, 500_000_000)
	s.halted = ledger.Halted{Reason: filing.HaltFunds, Note: "Acme LLC has no money", Since: since, Until: until}
	got := text(t, s.fleet("half-open"))
	wantLines(t, got,
		`bulkfiling_ledger_up 1`,
		`bulkfiling_rows{state="placed"} 41`, `bulkfiling_rows{state="ready"} 6`,
		`bulkfiling_rows{state="uncertain"} 3`, `bulkfiling_rows{state="canceled"} 7`,
		`bulkfiling_rows{state="waiting"} 1500`,
		`bulkfiling_rows_waiting{for="funds"} 3`, `bulkfiling_rows_waiting{for="row"} 1`,
		`bulkfiling_batches{state="open"} 1`, `bulkfiling_batches{state="paused"} 1`,
		`bulkfiling_batches{state="importing"} 1`,
		`bulkfiling_batches{state="waiting"} 3`, `bulkfiling_batches{state="canceled"} 1`,
		`bulkfiling_batches{state="done"} 2`,
		`bulkfiling_money_dollars{kind="available"} 599.25`, `bulkfiling_money_dollars{kind="reserved"} 100`,
		`bulkfiling_money_dollars{kind="posted"} 300.25`,
		`bulkfiling_money_declared 1`, `bulkfiling_money_at_least 1`,
		`bulkfiling_halted{reason="funds"} 1`, `bulkfiling_halted{reason="key"} 0`,
		`bulkfiling_halted{reason="rate"} 0`,
		`bulkfiling_attention{for="exception"} 3`, `bulkfiling_attention{for="new-event"} 1`,
		`bulkfiling_attention{for="unknown-event"} 2`, `bulkfiling_attention{for="approval"} 4`,
		`bulkfiling_lease_until_timestamp_seconds 1.9e+09`, `bulkfiling_halted_since_timestamp_seconds 1.8e+09`,
		`bulkfiling_halted_until_timestamp_seconds 1.8000000605e+09`,
		`bulkfiling_breaker_state{state="closed"} 0`, `bulkfiling_breaker_state{state="half-open"} 1`,
		`bulkfiling_queue_up 1`, `bulkfiling_queue_tasks{state="pending"} 7`,
	)
	if strings.Contains(got, "Acme") {
		t.Error("the service's words stand in the metrics")
	}
}

func TestUndeclaredMoneyIsNotShownAsAvailable(t *testing.T) {
	s := newStanding()
	s.book = ledger.Balance{Posted: 10_00}
	got := text(t, s.fleet("closed"))
	wantLines(t, got, `bulkfiling_money_declared 0`, `bulkfiling_money_dollars{kind="posted"} 10`)
	if strings.Contains(got, `kind="available"`) {
		t.Error("the scrape shows funds that nobody declared")
	}
}

func TestFinishedBatchesAreCountedOnce(t *testing.T) {
	s := newStanding()
	r := s.fleet("closed")
	text(t, r)
	s.progress["b"] = ledger.Figures{Counts: ledger.Counts{filing.Placed: 9}}
	wantLines(t, text(t, r), `bulkfiling_rows{state="placed"} 49`, `bulkfiling_rows{state="rejected"} 1`)
	wantLines(t, text(t, r), `bulkfiling_rows{state="placed"} 49`)
	for batch, times := range map[string]int{"a": 1, "b": 2, "c": 3, "d": 3, "dry": 1, "sheet": 1,
		"unapproved": 3} { // a rejected row may be retried
		if s.asked[batch] != times {
			t.Errorf("batch %s was counted %d times, not %d", batch, s.asked[batch], times)
		}
	}
}

func TestLedgerThatFailsOrHangsHoldsNoScrapeUp(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*standing{
		"fails": {err: errors.New("down"), asked: make(map[string]int)},
		"hangs": {hang: true, asked: make(map[string]int)},
	} {
		t.Run(name, func(t *testing.T) {
			got := text(t, s.fleet("open"))
			wantLines(t, got, `bulkfiling_ledger_up 0`, `bulkfiling_breaker_state{state="open"} 1`,
				`bulkfiling_queue_up 1`)
			if strings.Contains(got, "bulkfiling_rows") || strings.Contains(got, "bulkfiling_money") {
				t.Error("the scrape shows what was not read")
			}
		})
	}
}

// A batch is counted anew once it is opened, or its import begun anew.
func TestABatchThatIsOpenedIsCountedAnew(t *testing.T) {
	s := newStanding()
	r := s.fleet("closed")
	text(t, r)
	for i, b := range s.batches {
		switch b.ID {
		case "sheet":
			s.batches[i].Open = true
		case "dry":
			s.batches[i].CreatedAt = time.Now()
		}
	}
	s.progress["sheet"] = ledger.Figures{Counts: ledger.Counts{filing.Ready: 30, filing.Placed: 270}}
	s.progress["dry"] = ledger.Figures{Counts: ledger.Counts{filing.Ready: 20}}
	wantLines(t, text(t, r), `bulkfiling_rows{state="placed"} 311`, `bulkfiling_rows{state="ready"} 36`,
		`bulkfiling_rows{state="waiting"} 1020`,
		`bulkfiling_batches{state="importing"} 2`, `bulkfiling_batches{state="open"} 2`)
}

// The names and helps follow what Prometheus recommends.
func TestNamesFollowTheConventions(t *testing.T) {
	s := newStanding()
	s.book.HasDeposit = true
	r := metrics.NewRegistry()
	metrics.Observe(&answering{}, r)
	r.MustRegister(metrics.NewFleet(s, s, s, breaker("closed"), queue{}))
	problems, err := testutil.GatherAndLint(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	// Every series is of a closed set: a new label with an open one shows here.
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := 0
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "bulkfiling_") {
			series += len(f.GetMetric())
		}
	}
	if series < 60 || series > 120 {
		t.Errorf("%d series", series)
	}
}
