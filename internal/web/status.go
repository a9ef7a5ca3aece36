package web

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/cache"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// batchStatus is the state of a batch. The first page, the batch's page and the list of actions all
// show the same state.
type batchStatus struct {
	Word, Class string
	Headline    report.Headline
	report.Progress
	Holds []jobs.Hold
}

// fleetFacts are the state of the fleet and the balance. All batches share them.
type fleetFacts struct {
	halted    ledger.Halted
	balance   ledger.Balance
	processes []ledger.Process
}

func (s *Site) loadFleet(ctx context.Context) (f fleetFacts, err error) {
	err = errors.Join(
		load(&f.halted)(s.Ledger.Fleet().Halt(ctx)),
		load(&f.balance)(s.Ledger.Balance(ctx)),
		load(&f.processes)(s.Ledger.Fleet().Processes(ctx)))
	return f, err
}

// loadStatus returns the state of a batch.
func (s *Site) loadStatus(ctx context.Context, b ledger.Batch) (batchStatus, error) {
	facts, err := s.actionFacts.Get(ctx, "", s.loadActionFacts)
	if err != nil {
		return batchStatus{}, err
	}
	f, err := s.loadFigures(ctx, b.ID)
	if err != nil {
		return batchStatus{}, err
	}
	st, _, err := s.statusOf(ctx, b, f, facts.at[b.ID].Exceptions, facts.fleet)
	return st, err
}

// statusOf returns the state of a batch, given the figures of its rows.
func (s *Site) statusOf(ctx context.Context, b ledger.Batch, f ledger.Figures, exceptions int,
	fleet fleetFacts) (batchStatus, jobs.BatchFacts, error) {
	facts := jobs.BatchFacts{
		Batch:     b,
		Figures:   f,
		Halted:    fleet.halted,
		Balance:   fleet.balance,
		Processes: fleet.processes,
	}
	if f.Increased > 0 {
		var err error
		if facts.Increase, err = s.Ledger.Approvals().CostIncrease(ctx, b.ID); err != nil {
			return batchStatus{}, facts, err
		}
	}
	st := batchStatus{Holds: facts.Holds()}
	st.Headline = report.Headline{Figures: f, Exceptions: exceptions}
	// If all rows wait for funds or for an approval, later holds do not matter yet.
	if i := slices.IndexFunc(st.Holds, stopsAll); i == 0 || i > 0 && st.Headline.Moving() > 0 {
		st.Headline.Held = st.Holds[i].Words()
	}
	moves := b.Open && st.Headline.Held == "" && st.Headline.Moving() > 0
	st.Progress = s.meters.read(b.ID, f, fleet.halted, moves)
	st.Headline.Remaining = st.Remaining
	st.Word, st.Class = statusWord(b, st.Headline, moves)
	return st, facts, nil
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

func newSummaries[T any]() *cache.Cache[string, T] {
	return cache.New[string](cache.Options[T]{TTL: sharedTTL, Max: maxSummaries})
}

// loadFigures returns the figures of a batch's rows.
func (s *Site) loadFigures(ctx context.Context, batch string) (ledger.Figures, error) {
	return s.figures.Get(ctx, batch, func(ctx context.Context) (ledger.Figures, error) {
		return s.Ledger.ResultFigures(ctx, batch)
	})
}

// loadFilings returns the state of a batch's orders at the filing service.
func (s *Site) loadFilings(ctx context.Context, batch string) (ledger.Filings, error) {
	return s.filings.Get(ctx, batch, func(ctx context.Context) (ledger.Filings, error) {
		return s.Ledger.Filings(ctx, batch)
	})
}
