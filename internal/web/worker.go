package web

import (
	"context"
	"errors"

	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// workerHandler handles the page of the workers.
type workerHandler struct {
	ledger   *ledger.Ledger
	settings Settings
	// depth is nil if no queue is configured.
	depth func(context.Context) (map[string]int, error)
}

func (h *workerHandler) routes() []route {
	return []route{{pattern: "GET /fleet", may: viewer, serve: h.workers}}
}

// workersPage shows the workers and the reason if they send nothing.
type workersPage struct {
	Processes []ledger.Process
	// Placing counts the live processes that place orders.
	Placing   int
	Halted    ledger.Halted
	Halt      string
	Backlog   int
	Needed    money.Cost
	Attention ledger.Attention
	Queue     []queued
	QueueErr  string
	Notices   []ledger.Notification
	Settings  Settings
}

// queued is the number of tasks in a state.
type queued struct {
	State string
	Tasks int
}

// taskStates are asynq's states in the order of a task's life.
var taskStates = []struct{ state, words string }{
	{"pending", "waiting"}, {"active", "in progress"},
}

func (h *workerHandler) workers(v *request) error {
	p := workersPage{Settings: h.settings}
	ctx := v.ctx()
	err := errors.Join(
		load(&p.Processes)(h.ledger.Fleet().Processes(ctx)),
		load(&p.Halted)(h.ledger.Fleet().Halt(ctx)),
		load(&p.Attention)(h.ledger.Attention(ctx)),
		load(&p.Notices)(h.ledger.Notifications().List(ctx, 20)))
	if err != nil {
		return err
	}
	if p.Backlog, p.Needed, err = h.ledger.Backlog(ctx); err != nil {
		return err
	}
	for _, one := range p.Processes {
		if one.Places && one.Alive {
			p.Placing++
		}
	}
	p.Halt = jobs.FleetHold(p.Halted).Text
	if h.depth != nil {
		depth, err := h.depth(ctx)
		if err != nil {
			p.QueueErr = err.Error() // the page shows it
		}
		for _, t := range taskStates {
			if n := depth[t.state]; n > 0 {
				p.Queue = append(p.Queue, queued{t.words, n})
			}
		}
	}
	return v.show(nil, "workers.html", "Workers", p)
}
