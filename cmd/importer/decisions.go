package main

import (
	"context"
	"fmt"

	"bulkfiling/internal/ledger"
	"bulkfiling/internal/report"
	"bulkfiling/internal/resolve"
)

// all settles rows by a sheet that a person filled in: everything in it is
// checked before anything is settled.
func (r *resolver) all(ctx context.Context) error {
	sheet, err := report.ReadDecisions(r.flags.from)
	if err != nil {
		return err
	}
	p, err := r.service.Plan(ctx, r.batch.ID, sheet.Decisions)
	if err != nil {
		return err
	}
	if len(p.Problems) > 0 {
		for _, problem := range sheet.Problems(p.Problems) {
			fmt.Fprintln(r.out, problem)
		}
		r.say("Nothing was settled: %s to correct in %s.", count(len(p.Problems), "cell"), r.flags.from)
		return exit(exitCorrect)
	}
	for _, note := range p.Notes {
		r.say("%s", note)
	}
	if len(p.Resolutions) == 0 {
		fmt.Fprintln(r.out, "Nothing to settle.")
		return nil
	}
	before, err := r.ledger.Balance(ctx)
	if err != nil {
		return err
	}
	r.preview(p, before)
	if !r.flags.yes {
		if err := r.confirm(ctx, fmt.Sprintf("Settle %s?", count(len(p.Resolutions), "row")),
			"Nothing was settled."); err != nil {
			return err
		}
	}
	for _, s := range p.Resolutions {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := r.settle(ctx, s); err != nil {
			return fmt.Errorf("%w; the rows before it are settled, and the same command goes on", err)
		}
	}
	after, err := r.ledger.Balance(ctx)
	if err == nil {
		fmt.Fprintln(r.out, moved(before, after))
	}
	return err
}

// preview says what the settlements will do to the money, and what speaks
// against them.
func (r *resolver) preview(p *resolve.Plan, book ledger.Balance) {
	for _, s := range p.Resolutions {
		r.warn(s.Objections)
	}
	e := resolve.EffectOf(p.Resolutions)
	r.say("%s: %d placed, %s is spent; %d never made, %s is set free.", count(len(p.Resolutions), "row"), e.Placed,
		e.Spent.Dollars(), e.NotPlaced, e.Released.Dollars())
	if e.Created > 0 {
		r.say("Beside them %s that were created.", count(e.Created, "company record"))
	}
	if p.Left > 0 {
		r.say("%s without a decision: left as they are.", count(p.Left, "row"))
	}
	after := book
	after.Reserved -= e.Spent + e.Released
	after.Posted += e.Spent
	r.say("%s", moved(book, after))
}
