package resolve

import (
	"context"
	"errors"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Decision is a person's unchecked decision on an uncertain row.
type Decision struct {
	// Row is the number of the row in its batch.
	Row int
	// Attempt is the uncertain attempt.
	Attempt   int
	Verdict   Verdict
	OrderIDs  []string
	CompanyID string
}

// Verdict is the result of a person's decision on a row. It is empty if the row stays uncertain.
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
	// Left counts the rows without a decision.
	Left int
	// Notes describe the rows that are already resolved.
	Notes    []string
	Problems []Problem
}

// Plan checks the decisions on a batch against each other and against the ledger.
func (s *Service) Plan(ctx context.Context, batch string, decisions []Decision) (*Plan, error) {
	orders, err := ListUncertain(ctx, s.Ledger, batch)
	if err != nil {
		return nil, err
	}
	uncertain := make(map[int]*UncertainOrder, len(orders))
	for _, o := range orders {
		uncertain[o.Row.Number] = o
	}
	p, given := new(Plan), make(map[string]int)
	for _, d := range decisions {
		r, err := s.checkDecision(ctx, uncertain[d.Row], d, given)
		fault, faulty := errors.AsType[*Fault](err)
		switch {
		case faulty:
			p.Problems = append(p.Problems, Problem{d.Row, fault.Field, fault.Message})
		case err != nil:
			return nil, err
		case r != nil:
			p.Resolutions = append(p.Resolutions, r)
		case d.Verdict == "":
			p.Left++
		default:
			p.Notes = append(p.Notes, fmt.Sprintf("Row %d was already resolved, or sent again.", d.Row))
		}
	}
	return p, nil
}

// checkDecision turns a decision into a resolution. It returns nil if the row stays uncertain or
// the attempt is no longer uncertain. It returns a *Fault for an invalid field. given has the rows
// of the order IDs so far.
func (s *Service) checkDecision(ctx context.Context, o *UncertainOrder, d Decision,
	given map[string]int) (*Resolution, error) {
	entered := len(d.OrderIDs) > 0 || d.CompanyID != ""
	switch {
	case d.Verdict == "" && entered:
		return nil, &Fault{DecisionField, "choose placed, or remove the ID"}
	case d.Verdict == "":
		return nil, nil
	case d.Verdict != Placed && d.Verdict != NotPlaced:
		return nil, &Fault{DecisionField, fmt.Sprintf("%q is not a decision: choose placed or not placed", d.Verdict)}
	case o == nil || o.Row.LastAttempt != d.Attempt:
		return nil, nil
	case d.Verdict == NotPlaced && entered:
		return nil, &Fault{OrderIDsField, "remove the ID, or change the decision to placed"}
	case d.Verdict == Placed && o.Row.Creating && d.CompanyID == "":
		return nil, &Fault{CompanyIDField, "enter the ID of the company that was created (comp_…)"}
	case d.Verdict == Placed && !o.Row.Creating && len(d.OrderIDs) == 0:
		return nil, &Fault{OrderIDsField, "enter the order ID (order_…)"}
	}
	for _, id := range d.OrderIDs {
		if first, twice := given[id]; twice {
			return nil, &Fault{OrderIDsField, fmt.Sprintf("%s is already entered for row %d: an order belongs to "+
				"one row", id, first)}
		}
		given[id] = d.Row
	}
	r := &Resolution{Order: o, OrderIDs: d.OrderIDs, CompanyID: d.CompanyID}
	return r, s.Check(ctx, r)
}

// Effect is the effect of resolutions on rows and money.
type Effect struct {
	// Placed counts rows with an order, Created rows with only a company, and NotPlaced rows with
	// neither.
	Placed, Created, NotPlaced int
	// Spent and Released are parts of the reserved money.
	Spent, Released money.Cents
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
