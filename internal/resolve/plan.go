package resolve

import (
	"context"
	"errors"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Decision is a person's decision on one uncertain row. Nothing of it is checked.
type Decision struct {
	Row       int // the number of the row in its batch
	Attempt   int // the uncertain attempt
	Verdict   Verdict
	OrderIDs  []string
	CompanyID string
}

// Verdict is what a person decides on a row. It is empty if the row stays uncertain.
type Verdict string

// The verdicts.
const (
	Placed    Verdict = "placed"
	NotPlaced Verdict = "not placed"
)

// Problem is an error in a field of a decision.
type Problem struct {
	Row   int
	Field Field
	Text  string
}

// Plan is the effect of decisions.
type Plan struct {
	Resolutions []*Resolution
	Left        int      // rows without a decision
	Notes       []string // rows that are resolved already
	Problems    []Problem

	orders map[int]*UncertainOrder // by row number
	rows   map[int]ledger.Row      // rows of the batch that have a decision
	owners map[string]ledger.Row   // by order ID
	given  map[string]int          // row numbers by order ID in the decisions
}

// Plan checks the decisions on a batch against each other and against the ledger.
func (s *Service) Plan(ctx context.Context, batch string, decisions []Decision) (*Plan, error) {
	p := &Plan{
		orders: make(map[int]*UncertainOrder),
		rows:   make(map[int]ledger.Row),
		owners: make(map[string]ledger.Row),
		given:  make(map[string]int),
	}
	orders, err := ListUncertain(ctx, s.Ledger, batch)
	if err != nil {
		return nil, err
	}
	for _, o := range orders {
		p.orders[o.Row.Number] = o
	}
	if err := p.loadRows(ctx, s.Ledger, batch, decisions); err != nil {
		return nil, err
	}
	var ids []string
	for _, decision := range decisions {
		r := p.check(batch, decision)
		if r == nil {
			continue
		}
		var fault *Fault
		if err := s.findCompany(ctx, r); errors.As(err, &fault) {
			p.problem(decision.Row, fault.Field, "%s", fault.Message)
			continue
		} else if err != nil {
			return nil, err
		}
		p.Resolutions = append(p.Resolutions, r)
		ids = append(ids, r.OrderIDs...)
	}
	events, err := s.Events(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, r := range p.Resolutions {
		r.Objections = r.objections(events)
	}
	return p, nil
}

// loadRows reads the rows with a decision and those that have the given
// order IDs already, in all batches.
func (p *Plan) loadRows(ctx context.Context, l *ledger.Ledger, batch string, decisions []Decision) error {
	wanted, ids := make(map[int]bool), make(map[string]bool)
	for _, d := range decisions {
		wanted[d.Row] = true
		for _, id := range d.OrderIDs {
			ids[id] = true
		}
	}
	batches, err := l.Batches(ctx)
	if err != nil {
		return err
	}
	for _, b := range batches {
		if b.ID != batch && len(ids) == 0 {
			continue
		}
		for row, err := range l.Rows(ctx, b.ID) {
			if err != nil {
				return err
			}
			if b.ID == batch && wanted[row.Number] {
				p.rows[row.Number] = row
			}
			for _, item := range row.Items {
				if ids[item.OrderID] {
					p.owners[item.OrderID] = row
				}
			}
		}
	}
	return nil
}

func (p *Plan) problem(row int, field Field, format string, args ...any) {
	p.Problems = append(p.Problems, Problem{row, field, fmt.Sprintf(format, args...)})
}

func (p *Plan) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// check turns a decision into a resolution. It returns nil if there is nothing to resolve
// or the decision has a problem.
func (p *Plan) check(batch string, d Decision) *Resolution {
	switch {
	case d.Verdict == "" && (len(d.OrderIDs) > 0 || d.CompanyID != ""):
		p.problem(d.Row, DecisionField, "choose placed, or remove the ID")
		return nil
	case d.Verdict == "":
		p.Left++
		return nil
	case d.Verdict != Placed && d.Verdict != NotPlaced:
		p.problem(d.Row, DecisionField, "%q is not a decision: choose placed or not placed", d.Verdict)
		return nil
	}
	row, known := p.rows[d.Row]
	if !known {
		p.problem(d.Row, RowField, "batch %s has no such row", batch)
		return nil
	}
	order := p.orders[d.Row]
	switch {
	case row.Result != filing.Uncertain || row.Tries != d.Attempt || order == nil:
		p.checkResolved(d, row)
		return nil
	case d.Verdict == NotPlaced:
		return p.checkNotPlaced(d, order)
	}
	return p.checkPlaced(d, order)
}

// checkResolved checks a decision on a row, or an attempt, that is resolved
// already: the same decision as before is fine.
func (p *Plan) checkResolved(d Decision, row ledger.Row) {
	switch {
	case d.Verdict == NotPlaced &&
		(row.Tries > d.Attempt || row.Result == filing.Ready || row.Result == filing.Canceled):
		p.note("Row %d was already marked as not placed and is now %s.", d.Row, row.Result)
	case row.Result == filing.Uncertain:
		p.problem(d.Row, DecisionField, "the row was sent again meanwhile: look at it again")
	case d.Verdict == Placed && IsRecorded(row, d.OrderIDs, d.CompanyID):
		p.note("Row %d was already resolved this way.", d.Row)
	default:
		p.problem(d.Row, DecisionField, "row %d is no longer uncertain: it is %s", d.Row, row.Result)
	}
}

// checkNotPlaced checks that no id stands beside a row that was not placed.
func (p *Plan) checkNotPlaced(d Decision, o *UncertainOrder) *Resolution {
	if len(d.OrderIDs) > 0 {
		p.problem(d.Row, OrderIDsField, "remove the order ID, or change the decision to placed")
	}
	if d.CompanyID != "" {
		p.problem(d.Row, CompanyIDField, "remove the company ID, or change the decision to placed")
	}
	if len(d.OrderIDs) > 0 || d.CompanyID != "" {
		return nil
	}
	return &Resolution{Order: o}
}

// checkPlaced checks the ids of a row that was placed.
func (p *Plan) checkPlaced(d Decision, o *UncertainOrder) *Resolution {
	before := len(p.Problems)
	r := &Resolution{Order: o, CompanyID: d.CompanyID}
	for _, id := range d.OrderIDs {
		first, twice := p.given[id]
		owner, taken := p.owners[id]
		switch {
		case twice && first == d.Row:
			continue // entered twice in one field
		case twice:
			p.problem(d.Row, OrderIDsField, "%s is already entered for row %d: an order belongs to one row",
				id, first)
		case taken:
			p.problem(d.Row, OrderIDsField,
				"%s is the order of row %d of batch %s: an order belongs to one row", id, owner.Number,
				owner.Batch)
		}
		p.given[id] = d.Row
		r.OrderIDs = append(r.OrderIDs, id)
	}
	var fault *Fault
	switch creating := o.Row.Creating; {
	case creating && r.CompanyID == "":
		p.problem(d.Row, CompanyIDField, "enter the ID of the company that was created (comp_…)")
	case !creating && len(r.OrderIDs) == 0:
		p.problem(d.Row, OrderIDsField, "enter the order ID (order_…)")
	case errors.As(r.fault(), &fault):
		p.problem(d.Row, fault.Field, "%s", fault.Message)
	}
	if len(p.Problems) > before {
		return nil
	}
	return r
}

// Effect is what resolutions do to rows and to money.
type Effect struct {
	Placed, Created, NotPlaced int         // rows: with an order, with only a company, with neither
	Spent, Released            money.Cents // of what was reserved
}

// EffectOf sums up resolutions.
func EffectOf(resolutions []*Resolution) Effect {
	var e Effect
	for _, r := range resolutions {
		switch held := r.Order.Row.Reserved; {
		case !r.IsPlaced():
			e.NotPlaced, e.Released = e.NotPlaced+1, e.Released+held
		case r.Order.Row.Creating && len(r.OrderIDs) == 0:
			e.Created, e.Released = e.Created+1, e.Released+held
		default:
			e.Placed, e.Spent = e.Placed+1, e.Spent+held
		}
	}
	return e
}
