package reconcile

import (
	"context"
	"errors"
	"fmt"
)

// ErrDecided is returned by a Store for an uncertain order that was decided meanwhile,
// or that a statement cannot decide.
var ErrDecided = errors.New("the order is decided already")

// Store is the ledger as reconciliation needs it.
type Store interface {
	// LoadBook loads what a statement is compared with.
	LoadBook(ctx context.Context, s *Statement) (*Book, error)
	// Settle resolves an order as placed that is uncertain, or that was marked as not
	// placed. It returns ErrDecided.
	Settle(ctx context.Context, s Settlement) error
	// Record records a statement, its lines and its adjustments.
	Record(ctx context.Context, p *Plan, by string) error
}

// Audit returns a context under which the first change is recorded as an act of the
// person who reconciles.
type Audit func(ctx context.Context, what, of, note string) context.Context

// Service reconciles statements.
type Service struct {
	Store Store
	By    string // who reconciles
	Audit Audit
}

// Plan compares a statement with the ledger. It changes nothing.
func (s *Service) Plan(ctx context.Context, statement *Statement) (*Plan, error) {
	book, err := s.Store.LoadBook(ctx, statement)
	if err != nil {
		return nil, err
	}
	return NewPlan(statement, book, nil)
}

// Apply carries a plan out: it settles the uncertain orders first, each by its own act,
// and then records the statement with the adjustments that are left. It returns the
// plan as it was carried out. To apply it once more changes nothing.
func (s *Service) Apply(ctx context.Context, p *Plan) (*Plan, error) {
	settled := make(map[int64]bool)
	for _, settlement := range p.Settlements {
		row := settlement.Purchase
		err := s.Store.Settle(s.Audit(ctx, "resolve", row.Batch, fmt.Sprintf("row %d %s", row.Number, settlement.Why)),
			settlement)
		switch {
		case errors.Is(err, ErrDecided):
		case err != nil:
			return nil, err
		default:
			settled[row.Row] = true
		}
	}
	book, err := s.Store.LoadBook(ctx, p.Statement)
	if err != nil {
		return nil, err
	}
	done, err := NewPlan(p.Statement, book, settled)
	if err != nil || !done.Changes() {
		return done, err
	}
	c := done.Counts
	note := fmt.Sprintf("%s (SHA-256 %.12s): %d lines, %d agree, %d differ, %d not ours, %d not charged, %d resolved; "+
		"adjusted by %s", p.Statement.File, p.Statement.Hash, c.Lines, c.Agree, c.Differ, c.Foreign, c.Missing,
		c.Settled,
		done.Adjusted().Dollars())
	return done, s.Store.Record(s.Audit(ctx, "reconcile", p.Statement.File, note), done, s.By)
}
