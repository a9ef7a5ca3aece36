package resolve

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/money"
	"bulkfiling/internal/report"
)

// Plan is what a sheet of decisions comes to.
type Plan struct {
	Settlements []*Settlement
	Left        int      // rows without a decision
	Notes       []string // rows that are settled already
	Problems    []string // each at its cell

	decisions *report.Decisions
	doubts    map[int]report.Doubt // by row number
	rows      map[int]ledger.Row   // of the batch, those that are decided on
	owners    map[string]ledger.Row
	seen      map[int]int    // the line that decides on a row
	given     map[string]int // the line that gives an order id
}

// Orders are those that the sheet gives to its rows.
func (p *Plan) Orders() (all []string) {
	for _, s := range p.Settlements {
		all = append(all, s.Orders...)
	}
	return all
}

// Plan checks the decisions on a batch against each other and against the ledger.
func (d *Desk) Plan(ctx context.Context, batch string, decisions *report.Decisions) (*Plan, error) {
	p := &Plan{
		decisions: decisions,
		doubts:    make(map[int]report.Doubt),
		rows:      make(map[int]ledger.Row),
		owners:    make(map[string]ledger.Row),
		seen:      make(map[int]int),
		given:     make(map[string]int),
	}
	doubts, err := report.Uncertain(ctx, d.Ledger, batch)
	if err != nil {
		return nil, err
	}
	for _, doubt := range doubts {
		p.doubts[doubt.Row.Number] = doubt
	}
	if err := p.recall(ctx, d.Ledger, batch); err != nil {
		return nil, err
	}
	for _, decision := range decisions.All {
		s := p.check(batch, decision)
		if s == nil {
			continue
		}
		var fault *Fault
		if err := d.find(ctx, s); errors.As(err, &fault) {
			p.problem(decision, fault.Column, "%s", fault.Message)
			continue
		} else if err != nil {
			return nil, err
		}
		p.Settlements = append(p.Settlements, s)
	}
	return p, nil
}

// recall reads the rows that are decided on and those that have the orders
// already, whatever batch they are of.
func (p *Plan) recall(ctx context.Context, l *ledger.Ledger, batch string) error {
	wanted, ids := make(map[int]bool), make(map[string]bool)
	for _, d := range p.decisions.All {
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

// problem notes what is wrong with one of a decision's cells.
func (p *Plan) problem(d report.Decision, column, format string, args ...any) {
	where := p.decisions.Cell(d, column)
	if p.decisions.Sheet != "" {
		where = p.decisions.Sheet + "!" + where
	}
	p.Problems = append(p.Problems, fmt.Sprintf("%s  %s  %s: %s", p.decisions.File, where, column,
		fmt.Sprintf(format, args...)))
}

func (p *Plan) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// check says what a decision comes to: nil where there is nothing to settle, or
// where something is wrong with it.
func (p *Plan) check(batch string, d report.Decision) *Settlement {
	before := len(p.Problems)
	verdict := d.Verdict()
	switch {
	case verdict == "":
		p.problem(d, report.DecisionColumn, "%q is no decision: write placed, not placed or leave", d.Word)
		return nil
	case d.Word == "" && (len(d.OrderIDs) > 0 || d.CompanyID != ""):
		p.problem(d, report.DecisionColumn, "the decision is missing beside the id")
		return nil
	case verdict == report.DecidedLeave:
		p.Left++
		return nil
	}
	row, known := p.rows[d.Row]
	first, twice := p.seen[d.Row]
	switch {
	case d.Batch != batch:
		p.problem(d, report.BatchColumn, "the row is of batch %q, and not of %s", d.Batch, batch)
	case !known:
		p.problem(d, report.RowColumn, "batch %s has no such row", batch)
	case twice:
		p.problem(d, report.RowColumn, "row %d is decided on in line %d already", d.Row, first)
	case d.Attempt <= 0:
		p.problem(d, report.AttemptColumn,
			"the number that was here is missing: it tells which attempt the decision is about")
	}
	if len(p.Problems) > before {
		return nil
	}
	p.seen[d.Row] = d.Line
	if row.Result != filing.Uncertain || row.Tries != d.Attempt {
		p.settled(d, verdict, row)
		return nil
	}
	return p.doubted(d, verdict)
}

// settled deals with a decision on a row, or an attempt, that is no longer in
// doubt: the same decision as before is fine.
func (p *Plan) settled(d report.Decision, verdict string, row ledger.Row) {
	switch {
	case verdict == report.DecidedNotPlaced &&
		(row.Tries > d.Attempt || row.Result == filing.Ready || row.Result == filing.Canceled):
		p.note("Row %d was settled as not placed before, and is %s now.", d.Row, row.Result)
	case row.Result == filing.Uncertain:
		p.problem(d, report.AttemptColumn, "the row was sent again since this sheet was written: write it anew")
	case verdict == report.DecidedPlaced && SettledSo(row, d.OrderIDs, d.CompanyID):
		p.note("Row %d was settled so before.", d.Row)
	default:
		p.problem(d, report.DecisionColumn, "row %d is no longer uncertain: it is %s", d.Row, row.Result)
	}
}

// SettledSo reports whether a row has the ids that were found for it.
func SettledSo(row ledger.Row, orders []string, company string) bool {
	for _, id := range orders {
		if !slices.ContainsFunc(row.Items, func(i ledger.Item) bool { return i.OrderID == id }) {
			return false
		}
	}
	if company != "" && company != row.Company {
		return false
	}
	return len(orders) > 0 || company != ""
}

// doubted checks a decision on a row that is in doubt.
func (p *Plan) doubted(d report.Decision, verdict string) *Settlement {
	before := len(p.Problems)
	s := &Settlement{Doubt: p.doubts[d.Row]}
	if verdict == report.DecidedNotPlaced {
		if len(d.OrderIDs) > 0 {
			p.problem(d, report.OrderIDsColumn, "an order was found, and yet the row is said not to be placed")
		}
		if d.CompanyID != "" {
			p.problem(d, report.CompanyIDColumn, "a company was found, and yet the row is said not to be placed")
		}
		if len(p.Problems) > before {
			return nil
		}
		return s
	}
	s.Company = d.CompanyID
	for _, id := range d.OrderIDs {
		first, twice := p.given[id]
		owner, taken := p.owners[id]
		switch {
		case twice && first == d.Line:
			continue // written twice in one cell
		case twice:
			p.problem(d, report.OrderIDsColumn, "%s is given in line %d already: one order cannot be that of two rows",
				id, first)
		case taken:
			p.problem(d, report.OrderIDsColumn,
				"%s is the order of row %d of batch %s: one order cannot be that of two rows", id, owner.Number,
				owner.Batch)
		}
		p.given[id] = d.Line
		s.Orders = append(s.Orders, id)
	}
	creating := s.Doubt.Row.Creating
	switch {
	case creating && s.Company == "":
		p.problem(d, report.CompanyIDColumn, "the id of the company that was created is missing (comp_…)")
	case !creating && len(s.Orders) == 0:
		p.problem(d, report.OrderIDsColumn, "the order's id is missing (order_…)")
	default:
		var fault *Fault
		if errors.As(s.fault(), &fault) {
			p.problem(d, fault.Column, "%s", fault.Message)
		}
	}
	if len(p.Problems) > before {
		return nil
	}
	return s
}

// Effect is what settlements do to rows and to money.
type Effect struct {
	Placed, Created, Never int         // rows: with an order, with a company to go on with, not made
	Spent, Free            money.Cents // of what was held
}

// Effect sums the settlements of a plan up.
func (p *Plan) Effect() Effect {
	var e Effect
	for _, s := range p.Settlements {
		switch held := s.Doubt.Row.Held; {
		case !s.placed():
			e.Never, e.Free = e.Never+1, e.Free+held
		case s.Doubt.Row.Creating && len(s.Orders) == 0:
			e.Created, e.Free = e.Created+1, e.Free+held
		default:
			e.Placed, e.Spent = e.Placed+1, e.Spent+held
		}
	}
	return e
}
