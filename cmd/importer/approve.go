package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

func (a *app) approveCommand() *cobra.Command {
	var plan string
	var yes bool
	c := &cobra.Command{
		Use:   "approve BATCH",
		Short: "Approve a batch that waits for approval",
		Long: `approve shows the orders of a batch and their cost, asks, and releases the batch.
In a batch that was approved, it shows the rows that cost more than was approved.
The approval covers exactly what is shown: if the rows or their cost have changed
since, it is refused and the new plan is shown. Your name is recorded.

--plan names the plan you looked at, by the hash shown with it. It approves without
asking, and any other plan is refused.`,
		Example: "  importer approve b7k2\n  importer approve b7k2 --plan 3f9a61c0d2e4b875",
		Args:    oneBatch,
		RunE: a.onLedger(func(ctx context.Context, l *ledger.Ledger, args []string) error {
			return a.approve(ctx, l, args[0], plan, yes)
		}),
	}
	c.Flags().StringVar(&plan, "plan", "", "approve the plan with this hash, and no other")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "approve without asking")
	return c
}

func (a *app) approve(ctx context.Context, l *ledger.Ledger, id, looked string, yes bool) error {
	b, err := l.Batch(ctx, id)
	if err != nil {
		return err
	}
	increase, err := l.Approvals().CostIncrease(ctx, b.ID)
	if err != nil {
		return err
	}
	needed := b.Approval.State == ledger.ApprovalNeeded
	if !needed && increase.Rows == 0 {
		if b.Approval.State == ledger.ApprovalGiven {
			a.say("Batch %s was approved by %s on %s.", b.ID, b.Approval.By, localTime(b.Approval.At))
			return nil
		}
		return fmt.Errorf("batch %s is not waiting for approval", b.ID)
	}
	// Check this before any quote is loaded or shown.
	why, err := l.Approvals().Barred(ledger.AtTerminal(ctx, currentUser()), b.ID, currentUser())
	if err == nil && why != nil {
		err = fmt.Errorf("approve batch %s: %w", b.ID, why)
	}
	if err != nil {
		return err
	}
	if !needed {
		return a.approveCosts(ctx, l, b, looked, yes)
	}
	p, err := pricing.Propose(ctx, l, a.currentPrices(l), b.ID)
	var warnings jobs.Warnings
	if p.Hash != "" {
		var unread error
		if warnings, unread = a.showProposal(ctx, l, p); unread != nil {
			return unread
		}
	}
	switch {
	case errors.Is(err, ledger.ErrChanged):
		return fmt.Errorf("%w. The new plan is shown above. To approve it: importer approve %s", err, b.ID)
	case err != nil:
		return err
	case looked != "":
		err = p.Matches(looked)
	default:
		err = a.ask(ctx, yes, fmt.Sprintf("Approve %s, %s%s? Filings cannot be undone.",
			count(p.Figures.Orders, "order"), p.TotalText(), withWarnings(warnings)), "Nothing was approved.")
	}
	if err != nil {
		return err
	}
	audited := withAudit(ctx, "approve", b.ID, fmt.Sprintf("plan %s, for %s", p.Hash, p.Total))
	switch err := p.Approve(audited, l, currentUser()); {
	case errors.Is(err, ledger.ErrChanged):
		return fmt.Errorf("%w. To see the new plan: importer approve %s", err, b.ID)
	case err != nil:
		return err
	}
	fmt.Fprintf(a.out, "Batch %s was approved by %s.\n", b.ID, currentUser())
	return a.sayWhoPlaces(ctx, l, b, "")
}

// howToApprove explains where a batch can be approved. Under a policy that covers commands, this is
// only the page.
func howToApprove(ctx context.Context, l *ledger.Ledger, batch string) string {
	why, err := l.Approvals().Barred(ledger.AtTerminal(ctx, currentUser()), batch, currentUser())
	if err == nil && why != nil && why.Typed {
		return "An approver must sign in to the page and approve it there."
	}
	return "Approve it on the page or with importer approve " + batch + "."
}

// approveCosts shows the rows of a batch that cost more than approved, and asks for approval of the
// new cost.
func (a *app) approveCosts(ctx context.Context, l *ledger.Ledger, b ledger.Batch, looked string,
	yes bool) error {
	increase, err := l.Approvals().CostIncrease(ctx, b.ID)
	if err != nil || increase.Rows == 0 {
		return err
	}
	before := ""
	if increase.Approved > 0 && increase.Cost.Amount > increase.Approved {
		before = fmt.Sprintf("; %s was approved", increase.Approved.Dollars())
	}
	a.say("Waiting for approval: %s of batch %s cost %s%s.", count(increase.Rows, "row"), b.ID,
		increase.Cost, before)
	a.say("Plan %s", increase.Plan)
	if looked != "" {
		err = increase.Matches(looked)
	} else {
		err = a.ask(ctx, yes, fmt.Sprintf("Approve %s, %s? Filings cannot be undone.",
			count(increase.Rows, "order"), increase.Cost), "Nothing was approved.")
	}
	if err != nil {
		return err
	}
	note := fmt.Sprintf("%s for %s, %s approved before, plan %s", count(increase.Rows, "row"), increase.Cost,
		increase.Approved.Dollars(), increase.Plan)
	if err := l.Approvals().ApproveCosts(withAudit(ctx, "approve-costs", b.ID, note), b.ID, increase); err != nil {
		return err
	}
	a.say("Approved: %s for %s.", count(increase.Rows, "row"), increase.Cost)
	return nil
}

// currentPrices returns the source of current prices. If the filing service does
// not answer for this ledger, the prices of the plan apply.
func (a *app) currentPrices(l *ledger.Ledger) pricing.Source {
	return func(ctx context.Context) (pricing.Quoter, error) {
		client, err := a.env.Client()
		if err != nil {
			a.say("Current prices are not available, so the prices of the plan apply: %v", err)
			return nil, nil
		}
		defer client.Close()
		quoter, err := a.env.PriceSource(l, client)(ctx)
		if _, unanswered := errors.AsType[*filingapi.Error](err); unanswered || errors.Is(err, ledger.ErrMode) ||
			errors.Is(err, ledger.ErrOrganization) || errors.Is(err, config.ErrUndecided) {
			a.say("Current prices are not available, so the prices of the plan apply: %v", err)
			return nil, nil
		}
		return quoter, err
	}
}

// showProposal prints the batch to approve.
func (a *app) showProposal(ctx context.Context, l *ledger.Ledger, p pricing.Proposal) (jobs.Warnings, error) {
	b := p.Batch
	fmt.Fprintf(a.out, "Batch %s (%s), submitted by %s on %s\n", b.ID, b.File, b.CreatedBy,
		localTime(b.CreatedAt))
	plan, err := schedule.LoadPlanOfBatch(ctx, l, p.Batch.ID)
	if err != nil {
		return jobs.Warnings{}, err
	}
	if plan != nil {
		fmt.Fprint(a.out, plan.Text())
	}
	if p.Quote != nil {
		a.sayQuote(*p.Quote)
	}
	available := "not known"
	if p.Balance.HasDeposit {
		available = p.Balance.Available().Dollars()
	}
	fmt.Fprintf(a.out, "rows %s\ncost %s\navailable %s\nplan %s\n", report.BatchState(b, p.Figures.Counts),
		p.TotalText(), available, p.Hash)
	return a.sayWarnings(ctx, l, b)
}

// sayWhoPlaces explains why a submitted batch waits, or that its orders are being placed. file is
// the spreadsheet of importer run. It is empty for other commands.
func (a *app) sayWhoPlaces(ctx context.Context, l *ledger.Ledger, b ledger.Batch, file string) error {
	facts, err := a.sayHolds(ctx, l, b.ID)
	if err != nil || facts.Batch.Approval.State == ledger.ApprovalNeeded {
		return err
	}
	// A run places only the orders of its batch.
	placed := slices.ContainsFunc(facts.Processes,
		func(p ledger.Process) bool { return p.Alive && p.Places && p.What != "run" })
	held := slices.ContainsFunc(facts.Holds(), func(h jobs.Hold) bool { return h.Reason != jobs.HeldForWorker })
	instead := ""
	if file != "" {
		instead = ", or order from here: importer run " + file
	}
	switch {
	// A worker sends nothing before the restore is resolved.
	case facts.Halted.Reason == filing.HaltRestored:
	case !placed:
		a.say("%s. Start one with: worker%s", a.paint.yellow("No worker is running, so nothing is sent yet"), instead)
	case !held:
		a.say("The workers are placing the orders. To follow them: importer status %s --watch", b.ID)
	}
	return nil
}
