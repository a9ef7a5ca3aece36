package web

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/cache"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// batchStatus is the state of a batch. The first page, the batch's page and the list of actions all
// show the same state.
type batchStatus struct {
	Word, Class string
	Headline    report.Headline
	report.Progress
	Holds []jobs.Hold
	Stack stack

	// facts are the facts that determine the state.
	facts jobs.BatchFacts
}

// overview knows the state of all batches and of the fleet. It shares what takes the database a
// while between all readers.
type overview struct {
	*Config
	// figures and filings are keyed by batch.
	figures *cache.Cache[string, ledger.Figures]
	filings *cache.Cache[string, ledger.Filings]
	shared  *cache.Cache[string, actionFacts]
	silence *cache.Cache[string, schedule.Silence]
	meters  meters
}

func newOverview(c *Config) *overview {
	return &overview{
		Config:  c,
		figures: cache.New[string](cache.Options[ledger.Figures]{TTL: sharedTTL, Max: maxSummaries}),
		filings: cache.New[string](cache.Options[ledger.Filings]{TTL: sharedTTL, Max: maxSummaries}),
		shared:  cache.New[string](cache.Options[actionFacts]{TTL: actionsTTL}),
		silence: cache.New[string](cache.Options[schedule.Silence]{TTL: silenceTTL}),
	}
}

// forget drops the cached data of a batch and of all actions, so that the next page shows a change.
func (o *overview) forget(batch string) {
	o.shared.Delete("")
	o.figures.Delete(batch)
	o.filings.Delete(batch)
}

// fleetFacts are the state of the fleet and the balance. All batches share them.
type fleetFacts struct {
	halted    ledger.Halted
	balance   ledger.Balance
	processes []ledger.Process
}

func (o *overview) loadFleet(ctx context.Context) (f fleetFacts, err error) {
	err = errors.Join(
		load(&f.halted)(o.Ledger.Fleet().Halt(ctx)),
		load(&f.balance)(o.Ledger.Balance(ctx)),
		load(&f.processes)(o.Ledger.Fleet().Processes(ctx)))
	return f, err
}

// status returns the state of a batch.
func (o *overview) status(ctx context.Context, b ledger.Batch, facts actionFacts) (batchStatus, error) {
	f, err := o.loadFigures(ctx, b.ID)
	if err != nil {
		return batchStatus{}, err
	}
	return o.statusOf(ctx, b, f, facts.at[b.ID].Exceptions, facts.fleet)
}

// statusOf returns the state of a batch, given the figures of its rows.
func (o *overview) statusOf(ctx context.Context, b ledger.Batch, f ledger.Figures, exceptions int,
	fleet fleetFacts) (st batchStatus, err error) {
	st.facts = jobs.BatchFacts{
		Batch:     b,
		Figures:   f,
		Halted:    fleet.halted,
		Balance:   fleet.balance,
		Processes: fleet.processes,
	}
	if f.Increased > 0 {
		if st.facts.Increase, err = approval.New(o.Ledger).CostIncrease(ctx, b.ID); err != nil {
			return st, err
		}
	}
	st.Holds = st.facts.Holds()
	st.Headline = report.Headline{Figures: f, Exceptions: exceptions}
	// If all rows wait for funds or for an approval, later holds do not matter yet.
	if i := slices.IndexFunc(st.Holds, stopsAll); i == 0 || i > 0 && st.Headline.Moving() > 0 {
		st.Headline.Held = st.Holds[i].Words()
	}
	moves := b.Open && st.Headline.Held == "" && st.Headline.Moving() > 0
	st.Progress = o.meters.read(b.ID, f, fleet.halted, moves)
	st.Headline.Remaining = st.Remaining
	st.Word, st.Class = statusWord(b, st.Headline, moves)
	st.Stack = stackOf(st.Headline.String(), f.Counts)
	return st, nil
}

// stopsAll reports whether a hold stops all rows of the batch, rather than some.
func stopsAll(h jobs.Hold) bool {
	switch h.Reason {
	case jobs.HeldForCost, jobs.HeldForBalance:
		return false
	}
	return true
}

// statusWord returns the state of a batch in a few words, and its CSS class.
func statusWord(b ledger.Batch, h report.Headline, moves bool) (word, class string) {
	c := h.Counts
	left := h.Left()
	switch {
	case !b.Open:
		return "Not submitted", "prepared"
	case b.Canceled && left == 0 && c[filing.Uncertain] > 0:
		return "Canceled, " + number(c[filing.Uncertain]) + " uncertain", "uncertain"
	case b.Canceled && left == 0:
		return "Canceled", "canceled"
	case b.Approval.State == ledger.ApprovalNeeded && left > 0:
		return "Waiting for approval", "waiting"
	case moves && h.Remaining > 0:
		return "Placing, " + report.Spell(h.Remaining) + " left", "running"
	case moves:
		return "Placing", "running"
	case left > 0 && h.Held != "":
		return text.Capital(h.Held), "paused"
	case h.Short > 0:
		return "Waiting for funds", "paused"
	case h.Increased > 0:
		return "Waiting for approval", "waiting"
	case left > 0:
		return "Placing", "running"
	case c[filing.Uncertain] > 0:
		return number(c[filing.Uncertain]) + " uncertain", "uncertain"
	case c[filing.Invalid]+c[filing.Rejected] > 0:
		return "Needs attention", "attention"
	case h.Exceptions > 0:
		return "Filing exception", "attention"
	}
	return "Done", "finished"
}

// stack is a bar chart of the results of rows.
type stack struct {
	Label string
	Parts []stackPart
}

type stackPart struct {
	Class    string
	X, Width float64
}

// stackOf returns the bar chart of a batch's rows.
func stackOf(label string, c ledger.Counts) stack {
	s := stack{Label: label}
	total := c.Total()
	if total == 0 {
		return s
	}
	x := 0.0
	for _, r := range []filing.Result{filing.Placed, filing.Exists, filing.Placing, filing.Ready, filing.Uncertain,
		filing.Rejected, filing.Invalid, filing.Skipped, filing.Canceled} {
		if n := c[r]; n > 0 {
			width := 100 * float64(n) / float64(total)
			s.Parts = append(s.Parts, stackPart{Class: string(r), X: x, Width: width})
			x += width
		}
	}
	return s
}

// meters measure how fast the rows of batches are placed, shared by all pages.
type meters struct {
	mu sync.Mutex
	of map[string]*report.Meter
}

// read returns the progress of a batch. The meter restarts while no rows move, so that idle time
// does not count toward the speed.
func (m *meters) read(batch string, now ledger.Figures, halted ledger.Halted, moves bool) report.Progress {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := time.Now()
	meter := m.of[batch]
	if meter == nil || !moves {
		meter = report.NewMeter(now, at)
	}
	if m.of == nil {
		m.of = make(map[string]*report.Meter)
	}
	if m.of[batch] = meter; !moves {
		delete(m.of, batch)
	}
	return meter.Read(now, halted, at)
}

// Computing the figures of a large batch takes the database a while. All readers share the result,
// which is recomputed for at most one part in loadShare of the time. A result that takes less than
// instant is not cached.
const (
	loadShare    = 20
	instant      = 10 * time.Millisecond
	maxSummaries = 200
)

// sharedTTL returns the TTL of a value, given the time it took to load.
func sharedTTL(took time.Duration) time.Duration {
	if took <= instant {
		return 0
	}
	return loadShare * took
}

// loadFigures returns the figures of a batch's rows.
func (o *overview) loadFigures(ctx context.Context, batch string) (ledger.Figures, error) {
	return o.figures.Get(ctx, batch, func(ctx context.Context) (ledger.Figures, error) {
		return o.Ledger.ResultFigures(ctx, batch)
	})
}

// loadFilings returns the state of a batch's orders at the filing service.
func (o *overview) loadFilings(ctx context.Context, batch string) (ledger.Filings, error) {
	return o.filings.Get(ctx, batch, func(ctx context.Context) (ledger.Filings, error) {
		return o.Ledger.Filings(ctx, batch)
	})
}
