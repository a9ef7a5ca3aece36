package web

import (
	"errors"

	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

var workerRoutes = []route{
	{pattern: "GET /fleet", may: viewer, serve: (*Site).workers},
}

// workersPage is the state of the workers, and what keeps them from sending.
type workersPage struct {
	Processes []ledger.Process
	Placing   int // processes that place
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

// queued is how many tasks are in a state.
type queued struct {
	State string
	Tasks int
}

// taskStates are asynq's, in the order in which a task goes through them.
var taskStates = []struct{ state, words string }{
	{"pending", "waiting"}, {"active", "in progress"},
}

func (s *Site) workers(v *request) error {
	p := workersPage{Settings: s.Settings}
	ctx := v.ctx()
	err := errors.Join(
		load(&p.Processes)(s.Ledger.Fleet().Processes(ctx)),
		load(&p.Halted)(s.Ledger.Fleet().Halt(ctx)),
		load(&p.Attention)(s.Ledger.Attention(ctx)),
		load(&p.Notices)(s.Ledger.Notifications().List(ctx, 20)))
	if err != nil {
		return err
	}
	if p.Backlog, p.Needed, err = s.Ledger.Backlog(ctx); err != nil {
		return err
	}
	for _, one := range p.Processes {
		if one.Places && one.Alive {
			p.Placing++
		}
	}
	p.Halt = jobs.FleetHold(p.Halted).Text
	if s.Depth != nil {
		depth, err := s.Depth(ctx)
		if err != nil {
			p.QueueErr = err.Error() // shown on the page
		}
		for _, t := range taskStates {
			if n := depth[t.state]; n > 0 {
				p.Queue = append(p.Queue, queued{t.words, n})
			}
		}
	}
	return v.show("workers.html", "Workers", p)
}
