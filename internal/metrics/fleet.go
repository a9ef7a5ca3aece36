package metrics

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Ledger is the part of the ledger that Fleet reads.
type Ledger interface {
	Batches(context.Context) ([]ledger.Batch, error)
	Figures(ctx context.Context, batch string) (ledger.Figures, error)
	Balance(context.Context) (ledger.Balance, error)
}

// Attention counts what needs the attention of a person.
type Attention interface {
	Count(context.Context) (ledger.AttentionCounts, error)
}

// Halts reports why the fleet is halted and until when this process counts as alive.
type Halts interface {
	Halt(context.Context) (ledger.Halted, error)
	Lease(context.Context) (time.Time, error)
}

// Breaker is the order breaker of this process.
type Breaker interface {
	// State returns "closed", "half-open" or "open".
	State() string
}

// Queue is the transport of tasks.
type Queue interface {
	// Depth counts the tasks by state.
	Depth(context.Context) (map[string]int, error)
}

// Fleet is a prometheus.Collector of the figures for the whole fleet. Every process exports the
// same values, so a query takes the maximum and not the sum.
type Fleet struct {
	ledger    Ledger
	attention Attention
	halts     Halts
	breaker   Breaker
	queue     Queue

	// mu allows one scrape at a time.
	mu sync.Mutex
	// finished has the counts of batches whose rows no longer change.
	finished map[string]batchCount
}

// batchCount is the count of a batch.
type batchCount struct {
	open bool
	// created differs if an import starts again.
	created time.Time
	ledger.Counts
}

// ledgerReading has the values of one scrape from the ledger.
type ledgerReading struct {
	// rows counts rows by state, without the ready rows in held.
	rows map[filing.Result]int
	// held counts the ready rows whose batch is being imported, waits for approval or is paused.
	held int
	// waits counts the rows in rows[filing.Ready] that wait, by the reason.
	waits     map[string]int
	batches   map[string]int
	book      ledger.Balance
	halted    ledger.Halted
	attention ledger.AttentionCounts
	lease     time.Time
}

// NewFleet returns a Fleet that reads from all of them during a scrape.
func NewFleet(l Ledger, a Attention, h Halts, b Breaker, q Queue) *Fleet {
	return &Fleet{
		ledger:    l,
		attention: a,
		halts:     h,
		breaker:   b,
		queue:     q,
		finished:  make(map[string]batchCount),
	}
}

// readingTimeout limits the reading of each of the two sources. It is shorter than the scrape
// timeout of Prometheus, which is 10 s.
const readingTimeout = 4 * time.Second

// read reads a source within readingTimeout.
func read[T any](source func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readingTimeout)
	defer cancel()
	return source(ctx)
}

func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("bulkfiling_"+name, help, labels, nil)
}

var (
	ledgerUp = gauge("ledger_up", "1 if the ledger answered; the metrics read from it are missing if it did not.")
	rows     = gauge(
		"rows", "Rows of all batches, by state. Ready rows of a batch that is not open, is paused or lacks its "+
			"approval count as waiting.", "state")
	waiting = gauge("rows_waiting",
		"Of the ready rows, those that wait: for funds, for an approval of their cost, or for another row's "+
			"order.", "for")
	batches = gauge("batches",
		"Batches: under import; waiting for approval; open, with rows to place; paused or canceled by a "+
			"person; done, with nothing left to place.", "state")
	dollars = gauge("money_dollars",
		"The recorded balance, in dollars. Available is missing until a deposit is recorded.", "kind")
	declared = gauge("money_declared",
		"1 if a deposit is recorded: then orders are sent only if the recorded balance covers them.")
	atLeast = gauge("money_at_least", "1 if some recorded costs are known only in part.")
	halted  = gauge(
		"halted", "1 while the fleet is halted, by reason: funds (402), key (401, 403), rate (429, 503).",
		"reason")
	haltedSince = gauge("halted_since_timestamp_seconds",
		"When the fleet was halted for funds or a key; 0 if it is not.")
	haltedUntil = gauge("halted_until_timestamp_seconds",
		"When the fleet tries again; 0 if it is not halted, or if a person has to act.")
	attention = gauge("attention",
		"What a person has to act on: orders with an exception, unknown events, batches to approve; and events "+
			"that are not applied yet.", "for")
	lease = gauge("lease_until_timestamp_seconds",
		"Until when this process counts as alive without a renewal: then others sweep its rows.")
	queueUp    = gauge("queue_up", "1 if Redis answered.")
	queueTasks = gauge("queue_tasks", "Tasks on the queue, by state. A task carries up to 16 rows.", "state")
	breaker    = gauge("breaker_state", "1 for the state of this process's order breaker.", "state")
)

// Describe implements prometheus.Collector. The metrics are not described in advance, because those
// of a source that does not answer are missing.
func (*Fleet) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (f *Fleet) Collect(ch chan<- prometheus.Metric) {
	f.mu.Lock()
	defer f.mu.Unlock()
	set := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	state := f.breaker.State()
	for _, s := range []string{"closed", "half-open", "open"} {
		set(breaker, boolValue(s == state), s)
	}
	f.collectQueue(set)

	r, err := read(f.readLedger)
	set(ledgerUp, boolValue(err == nil))
	if err != nil {
		return
	}
	for _, state := range filing.Results {
		set(rows, float64(r.rows[state]), string(state))
	}
	set(rows, float64(r.held), awaiting)
	for reason, n := range r.waits {
		set(waiting, float64(n), reason)
	}
	for state, n := range r.batches {
		set(batches, float64(n), state)
	}
	set(declared, boolValue(r.book.HasDeposit))
	set(atLeast, boolValue(r.book.Unsure()))
	for kind, amount := range map[string]money.Cents{
		"deposits": r.book.Deposits, "adjustments": r.book.Adjustments, "posted": r.book.Posted,
		"reserved": r.book.Reserved,
	} {
		set(dollars, float64(amount)/100, kind)
	}
	if r.book.HasDeposit {
		set(dollars, float64(r.book.Available())/100, "available")
	}
	for _, reason := range []filing.Halt{filing.HaltFunds, filing.HaltKey, filing.HaltRate, filing.HaltRestored,
		filing.HaltVersion} {
		set(halted, boolValue(r.halted.Reason == reason), string(reason))
	}
	set(haltedSince, timestamp(r.halted.Since))
	set(haltedUntil, timestamp(r.halted.Until))
	set(attention, float64(r.attention.Exceptions), "exception")
	set(attention, float64(r.attention.UnknownEvents), "unknown-event")
	set(attention, float64(r.attention.NewEvents), "new-event")
	set(attention, float64(r.attention.Approvals), "approval")
	set(lease, timestamp(r.lease))
}

func (f *Fleet) collectQueue(set func(*prometheus.Desc, float64, ...string)) {
	tasks, err := read(f.queue.Depth)
	set(queueUp, boolValue(err == nil))
	if err != nil {
		return
	}
	for state, n := range tasks {
		set(queueTasks, float64(n), state)
	}
}

// readLedger reads the ledger.
func (f *Fleet) readLedger(ctx context.Context) (ledgerReading, error) {
	r := ledgerReading{
		rows:    make(map[filing.Result]int),
		waits:   map[string]int{"funds": 0, "approval": 0, "row": 0},
		batches: map[string]int{importing: 0, awaiting: 0, open: 0, paused: 0, canceled: 0, done: 0},
	}
	var err error
	if r.halted, err = f.halts.Halt(ctx); err != nil {
		return r, err
	}
	if r.book, err = f.ledger.Balance(ctx); err != nil {
		return r, err
	}
	if r.attention, err = f.attention.Count(ctx); err != nil {
		return r, err
	}
	if r.lease, err = f.halts.Lease(ctx); err != nil {
		return r, err
	}
	all, err := f.ledger.Batches(ctx)
	if err != nil {
		return r, err
	}
	for _, b := range all {
		last, known := f.finished[b.ID]
		p := ledger.Figures{Counts: last.Counts}
		if !known || last.open != b.Open || !last.created.Equal(b.CreatedAt) {
			if p, err = f.ledger.Figures(ctx, b.ID); err != nil {
				return r, err
			}
		}
		state := r.add(b, p)
		if b.Open && isFinal(p.Counts) || !b.Open && state == awaiting {
			f.finished[b.ID] = batchCount{b.Open, b.CreatedAt, maps.Clone(p.Counts)}
		}
	}
	return r, nil
}

// add counts a batch and its rows, and returns its state.
func (r *ledgerReading) add(b ledger.Batch, p ledger.Figures) string {
	state := stateOf(b, p.Counts)
	r.batches[state]++
	for result, n := range p.Counts {
		if result == filing.Ready && (state == importing || state == awaiting || state == paused) {
			r.held += n
			continue
		}
		r.rows[result] += n
		if result == filing.Ready {
			r.waits["funds"] += p.Short
			r.waits["approval"] += p.Increased
			r.waits["row"] += p.Behind
		}
	}
	return state
}

// The states of a batch in the metrics.
const (
	importing = "importing"
	awaiting  = "waiting"
	open      = "open"
	paused    = "paused"
	canceled  = "canceled"
	done      = "done"
)

// importTime exceeds the duration of any import. A dry run or an unanswered prompt leaves a batch
// that was imported and never opened. Only its age distinguishes it from a batch that is being
// imported.
const importTime = 10 * time.Minute

// stateOf returns the state of a batch with such rows. Ready rows of a canceled batch have an
// uncertain attempt and are sent again.
func stateOf(b ledger.Batch, c ledger.Counts) string {
	switch {
	case !b.Open && !b.Prepared && time.Since(b.CreatedAt) < importTime:
		return importing
	case !b.Open:
		return awaiting
	case b.Canceled:
		return canceled
	case c[filing.Ready]+c[filing.Placing] == 0:
		return done
	case b.Approval.State == ledger.ApprovalNeeded:
		return awaiting
	case b.Paused:
		return paused
	}
	return open
}

// isFinal reports whether the states of a batch's rows can no longer change. Such a batch is
// counted once. A skipped row whose report is renewed later does not justify another count.
func isFinal(c ledger.Counts) bool {
	for state, n := range c {
		if n > 0 && !state.Terminal() && state != filing.Skipped {
			return false
		}
	}
	return true
}

func boolValue(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func timestamp(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
