package main

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

// all settles rows by a sheet that a person filled in: everything in it is
// checked before anything is settled.
func (r *resolver) all(ctx context.Context) error {
	decisions, err := report.ReadDecisions(r.flags.from)
	if err != nil {
		return err
	}
	p, err := r.plan(ctx, decisions)
	if err != nil {
		return err
	}
	if len(p.problems) > 0 {
		for _, problem := range p.problems {
			fmt.Fprintln(r.out, problem)
		}
		r.say("Nothing was settled: %s to correct in %s.", count(len(p.problems), "cell"), r.flags.from)
		return exit(exitCorrect)
	}
	for _, note := range p.notes {
		r.say("%s", note)
	}
	if len(p.settlements) == 0 {
		fmt.Fprintln(r.out, "Nothing to settle.")
		return nil
	}
	before, err := r.ledger.Book(ctx)
	if err != nil {
		return err
	}
	if err := r.preview(ctx, p, before); err != nil {
		return err
	}
	if !r.flags.yes {
		yes, err := r.confirm(fmt.Sprintf("Settle %s?", count(len(p.settlements), "row")))
		if err != nil || !yes {
			return err
		}
	}
	for _, s := range p.settlements {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := r.settle(ctx, s); err != nil {
			return fmt.Errorf("%w; the rows before it are settled, and the same command goes on", err)
		}
	}
	after, err := r.ledger.Book(ctx)
	if err == nil {
		fmt.Fprintln(r.out, moved(before, after))
	}
	return err
}

// plan is what a sheet of decisions comes to.
type plan struct {
	settlements []settlement
	left        int      // rows without a decision
	notes       []string // rows that are settled already
	problems    []string // each at its cell

	decisions *report.Decisions
	doubts    map[int]report.Doubt // by row number
	rows      map[int]ledger.Row   // of the batch, those that are decided on
	owners    map[string]ledger.Row
	seen      map[int]int    // the line that decides on a row
	given     map[string]int // the line that gives an order id
}

// plan checks the decisions against each other and against the ledger.
func (r *resolver) plan(ctx context.Context, decisions *report.Decisions) (*plan, error) {
	p := &plan{
		decisions: decisions, doubts: make(map[int]report.Doubt), rows: make(map[int]ledger.Row),
		owners: make(map[string]ledger.Row), seen: make(map[int]int), given: make(map[string]int),
	}
	doubts, err := r.doubts(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range doubts {
		p.doubts[d.Row.Number] = d
	}
	if err := r.recall(ctx, p); err != nil {
		return nil, err
	}
	for _, d := range decisions.All {
		s := p.check(r.batch.ID, d)
		if s == nil {
			continue
		}
		s.by = "with importer resolve --from " + decisions.File
		var fault *columnFault
		if err := r.prepare(ctx, s); errors.As(err, &fault) {
			p.problem(d, fault.column, "%s", fault.message)
			continue
		} else if err != nil {
			return nil, err
		}
		p.settlements = append(p.settlements, *s)
	}
	return p, nil
}

// recall reads the rows that are decided on and those that have the orders
// already, whatever batch they are of.
func (r *resolver) recall(ctx context.Context, p *plan) error {
	wanted, ids := make(map[int]bool), make(map[string]bool)
	for _, d := range p.decisions.All {
		wanted[d.Row] = true
		for _, id := range d.OrderIDs {
			ids[id] = true
		}
	}
	batches, err := r.ledger.Batches(ctx)
	if err != nil {
		return err
	}
	for _, b := range batches {
		if b.ID != r.batch.ID && len(ids) == 0 {
			continue
		}
		for row, err := range r.ledger.Rows(ctx, b.ID) {
			if err != nil {
				return err
			}
			if b.ID == r.batch.ID && wanted[row.Number] {
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
func (p *plan) problem(d report.Decision, column, format string, args ...any) {
	where := p.decisions.Cell(d, column)
	if p.decisions.Sheet != "" {
		where = p.decisions.Sheet + "!" + where
	}
	p.problems = append(p.problems, fmt.Sprintf("%s  %s  %s: %s", p.decisions.File, where, column, fmt.Sprintf(format, args...)))
}

func (p *plan) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// check says what a decision comes to: nil where there is nothing to settle, or
// where something is wrong with it.
func (p *plan) check(batch string, d report.Decision) *settlement {
	before := len(p.problems)
	verdict := d.Verdict()
	switch {
	case verdict == "":
		p.problem(d, report.DecisionColumn, "%q is no decision: write placed, not placed or leave", d.Word)
		return nil
	case d.Word == "" && (len(d.OrderIDs) > 0 || d.CompanyID != ""):
		p.problem(d, report.DecisionColumn, "the decision is missing beside the id")
		return nil
	case verdict == report.DecidedLeave:
		p.left++
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
		p.problem(d, report.AttemptColumn, "the number that was here is missing: it tells which attempt the decision is about")
	}
	if len(p.problems) > before {
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
func (p *plan) settled(d report.Decision, verdict string, row ledger.Row) {
	switch {
	case verdict == report.DecidedNotPlaced && (row.Tries > d.Attempt || row.Result == filing.Ready || row.Result == filing.Canceled):
		p.note("Row %d was settled as not placed before, and is %s now.", d.Row, row.Result)
	case row.Result == filing.Uncertain:
		p.problem(d, report.AttemptColumn, "the row was sent again since this sheet was written: write it anew")
	case verdict == report.DecidedPlaced && sameAnswer(d.OrderIDs, d.CompanyID, row):
		p.note("Row %d was settled so before.", d.Row)
	default:
		p.problem(d, report.DecisionColumn, "row %d is no longer uncertain: it is %s", d.Row, row.Result)
	}
}

// sameAnswer reports whether a row has the ids that were found for it.
func sameAnswer(orders []string, company string, row ledger.Row) bool {
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
func (p *plan) doubted(d report.Decision, verdict string) *settlement {
	before := len(p.problems)
	s := &settlement{doubt: p.doubts[d.Row]}
	if verdict == report.DecidedNotPlaced {
		if len(d.OrderIDs) > 0 {
			p.problem(d, report.OrderIDsColumn, "an order was found, and yet the row is said not to be placed")
		}
		if d.CompanyID != "" {
			p.problem(d, report.CompanyIDColumn, "a company was found, and yet the row is said not to be placed")
		}
		if len(p.problems) > before {
			return nil
		}
		return s
	}
	s.company = d.CompanyID
	for _, id := range d.OrderIDs {
		first, twice := p.given[id]
		owner, taken := p.owners[id]
		switch {
		case twice && first == d.Line:
			continue // written twice in one cell
		case twice:
			p.problem(d, report.OrderIDsColumn, "%s is given in line %d already: one order cannot be that of two rows", id, first)
		case taken:
			p.problem(d, report.OrderIDsColumn, "%s is the order of row %d of batch %s: one order cannot be that of two rows", id, owner.Number, owner.Batch)
		}
		p.given[id] = d.Line
		s.orders = append(s.orders, id)
	}
	creating := s.doubt.Row.Creating
	switch {
	case creating && s.company == "":
		p.problem(d, report.CompanyIDColumn, "the id of the company that was created is missing (comp_…)")
	case !creating && len(s.orders) == 0:
		p.problem(d, report.OrderIDsColumn, "the order's id is missing (order_…)")
	default:
		var fault *columnFault
		if errors.As(s.fault(), &fault) {
			p.problem(d, fault.column, "%s", fault.message)
		}
	}
	if len(p.problems) > before {
		return nil
	}
	return s
}

// preview says what the settlements will do to the money, and what speaks
// against them.
func (r *resolver) preview(ctx context.Context, p *plan, book ledger.Book) error {
	told, err := r.told(ctx)
	if err != nil {
		return err
	}
	var placed, created, never int
	var spent, free money.Cents
	for i := range p.settlements {
		s := &p.settlements[i]
		for _, why := range s.against(told) {
			r.say("%s %s", r.paint.yellow("Careful:"), why)
		}
		switch held := s.doubt.Row.Held; {
		case !s.placed():
			never, free = never+1, free+held
		case s.doubt.Row.Creating:
			created, free = created+1, free+held
		default:
			placed, spent = placed+1, spent+held
		}
	}
	r.say("%s: %d placed, %s is spent; %d never made, %s is set free.", count(len(p.settlements), "row"), placed, spent.Dollars(), never, free.Dollars())
	if created > 0 {
		r.say("Beside them %s that were created.", count(created, "company record"))
	}
	if p.left > 0 {
		r.say("%s without a decision: left as they are.", count(p.left, "row"))
	}
	after := book
	after.Reserved -= spent + free
	after.Posted += spent
	r.say("%s", moved(book, after))
	return nil
}
