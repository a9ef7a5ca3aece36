package metrics

import (
	"context"
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/money"
)

// Ledger is what is read of the record.
type Ledger interface {
	Batches(context.Context) ([]ledger.Batch, error)
	Progress(ctx context.Context, batch string) (ledger.Progress, error)
	Balance(context.Context) (ledger.Balance, error)
	FleetHalt(context.Context) (ledger.Halted, error)
	Attention(context.Context) (ledger.Attention, error)
	Lease(context.Context) (time.Time, error)
}

// Breaker is the circuit breaker of this process.
type Breaker interface {
	State() string // "closed", "half-open" or "open"
}

// Queue is the transport.
type Queue interface {
	Depth(context.Context) (map[string]int, error) // tasks by their state
}

// Fleet is a prometheus.Collector of what concerns all processes at once. Every
// process tells the same of it, so a reader takes the maximum, not the sum.
type Fleet struct {
	ledger  Ledger
	breaker Breaker
	state   reading[ledgerReading]
	depth   reading[map[string]int]

	finished map[string]batchCount // batches whose rows do not change as long as they are as they were
}

// counted is what was counted of a batch.
type batchCount struct {
	open    bool
	created time.Time // an import that is begun anew is another one
	ledger.Counts
}

// record is what was read of the ledger.
type ledgerReading struct {
	rows         map[filing.Result]int // ready: only those that nothing but the service keeps
	held         int                   // the other ready ones: their batch waits or is paused
	funds, other int                   // of rows[filing.Ready], those that wait
	batches      map[string]int
	book         ledger.Balance
	halted       ledger.Halted
	attention    ledger.Attention
	lease        time.Time
}

// NewFleet makes a Fleet that reads from all three when it is scraped.
func NewFleet(l Ledger, b Breaker, q Queue) *Fleet {
	f := &Fleet{ledger: l, breaker: b, finished: make(map[string]batchCount)}
	f.state.read, f.depth.read = f.readLedger, q.Depth
	return f
}

func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("bulkfiling_"+name, help, labels, nil)
}

var (
	ledgerUp = gauge("ledger_up", "1 where the ledger answered; what is read of it is left out where it did not.")
	rows     = gauge(
		"rows", "Rows of all batches, by state. Ready rows of a batch that is not open, is paused or lacks its "+
			"approval are told as waiting.", "state")
	waiting = gauge("rows_waiting",
		"Of the rows in the state ready, those that wait: for funds, or for another row's purchase.", "for")
	batches = gauge("batches",
		"Batches: under import; waiting for somebody's yes; open, with rows to place; paused or canceled by a "+
			"person; done, with nothing left to place.", "state")
	dollars = gauge("money_dollars",
		"The book, in dollars. Available is left out where no deposit was ever declared.", "kind")
	declared = gauge("money_declared", "1 where a deposit was declared: the book then gates what is sent.")
	atLeast  = gauge("money_at_least", "1 where some costs in the book are known only in part.")
	halted   = gauge(
		"halted", "1 where the whole fleet stands still, by reason: funds (402), key (401, 403), rate (429, 503).",
		"reason")
	haltedSince = gauge("halted_since_timestamp_seconds",
		"When the fleet came to stand still for funds or a key; 0 where it does not.")
	haltedUntil = gauge("halted_until_timestamp_seconds",
		"When the fleet asks again; 0 where it does not stand still, or only a person can tell.")
	attention = gauge("attention",
		"What waits for a person: orders with an exception, unknown events, batches to approve; and events that "+
			"wait to be applied.", "for")
	lease = gauge("lease_until_timestamp_seconds",
		"Until when this process counts as alive without a renewal: then others settle its rows.")
	queueUp    = gauge("queue_up", "1 where Redis answered.")
	queueTasks = gauge("queue_tasks", "Tasks on the queue, by state. A task carries up to 16 rows.", "state")
	breaker    = gauge("breaker_state", "1 for the state of this process's circuit breaker.", "state")
)

// Describe implements prometheus.Collector.
func (f *Fleet) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{ledgerUp, rows, waiting, batches, dollars, declared, atLeast, halted,
		haltedSince, haltedUntil, attention, lease, queueUp, queueTasks, breaker} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (f *Fleet) Collect(ch chan<- prometheus.Metric) {
	set := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	state := f.breaker.State()
	for _, s := range []string{"closed", "half-open", "open"} {
		set(breaker, boolValue(s == state), s)
	}
	f.collectQueue(set)

	r, err := f.state.get()
	set(ledgerUp, boolValue(err == nil))
	if err != nil {
		return
	}
	for _, state := range filing.Results {
		set(rows, float64(r.rows[state]), string(state))
	}
	set(rows, float64(r.held), awaiting)
	set(waiting, float64(r.funds), "funds")
	set(waiting, float64(r.other), "row")
	for state, n := range r.batches {
		set(batches, float64(n), state)
	}
	set(declared, boolValue(r.book.Declared))
	set(atLeast, boolValue(r.book.Unsure()))
	for kind, amount := range map[string]money.Cents{
		"deposits": r.book.Deposits, "adjustments": r.book.Adjustments, "posted": r.book.Posted,
		"reserved": r.book.Reserved,
	} {
		set(dollars, float64(amount)/100, kind)
	}
	if r.book.Declared {
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
	tasks, err := f.depth.get()
	set(queueUp, boolValue(err == nil))
	if err != nil {
		return
	}
	for state, n := range tasks {
		set(queueTasks, float64(n), state)
	}
}

// readRecord reads the ledger. It runs once at a time.
func (f *Fleet) readLedger(ctx context.Context) (ledgerReading, error) {
	r := ledgerReading{rows: make(map[filing.Result]int), batches: map[string]int{
		importing: 0,
		awaiting:  0,
		open:      0,
		paused:    0,
		canceled:  0,
		done:      0,
	}}
	var err error
	if r.halted, err = f.ledger.FleetHalt(ctx); err != nil {
		return r, err
	}
	if r.book, err = f.ledger.Balance(ctx); err != nil {
		return r, err
	}
	if r.attention, err = f.ledger.Attention(ctx); err != nil {
		return r, err
	}
	if r.lease, err = f.ledger.Lease(ctx); err != nil {
		return r, err
	}
	all, err := f.ledger.Batches(ctx)
	if err != nil {
		return r, err
	}
	for _, b := range all {
		last, known := f.finished[b.ID]
		p := ledger.Progress{Counts: last.Counts}
		if !known || last.open != b.Open || !last.created.Equal(b.CreatedAt) {
			if p, err = f.ledger.Progress(ctx, b.ID); err != nil {
				return r, err
			}
		}
		state := stateOf(b, p.Counts)
		r.batches[state]++
		for result, n := range p.Counts {
			if result == filing.Ready && (state == importing || state == awaiting || state == paused) {
				r.held += n
				continue
			}
			r.rows[result] += n
			if result == filing.Ready {
				r.funds += p.Short
				r.other += p.Waiting - p.Short
			}
		}
		if b.Open && isFinal(p.Counts) || !b.Open && state == awaiting {
			f.finished[b.ID] = batchCount{b.Open, b.CreatedAt, maps.Clone(p.Counts)}
		}
	}
	return r, nil
}

// The states of a batch, as it is told.
const (
	importing = "importing"
	awaiting  = "waiting"
	open      = "open"
	paused    = "paused"
	canceled  = "canceled"
	done      = "done"
)

// importTime is more than any import takes. A sheet that was taken in and never
// begun, by a dry run or at a prompt that nobody answered, differs from one
// under import by its age alone.
const importTime = 10 * time.Minute

// stateOf is the state of a batch with such rows. Ready rows of a canceled one
// have an attempt in doubt: they go by themselves.
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
	case b.Approval.State == ledger.ApprovalWanted:
		return awaiting
	case b.Paused:
		return paused
	}
	return open
}

// final reports whether no row of a batch can change its state any more: such
// batches are counted once, whatever their number. A skipped row whose report is
// renewed later is not worth counting them all anew.
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
