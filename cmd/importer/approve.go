package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// approveOptions are the options of approve.
type approveOptions struct {
	// plan is the hash of the only plan to approve. Empty approves the plan that is shown.
	plan              string
	yes, dueDateFirst bool
}

func newApproveCommand(g *global) *cobra.Command {
	var o approveOptions
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
		RunE: onBatch(g, func(ctx context.Context, l openLedger, b ledger.Batch) error {
			return runApprove(ctx, o, g.terminal, l, b)
		}),
	}
	c.Flags().StringVar(&o.plan, "plan", "", "approve the plan with this hash, and no other")
	addYesFlag(c, &o.yes, "approve without asking")
	c.Flags().BoolVar(&o.dueDateFirst, "due-date-first", false, "if funds are short, place by due date, not late fees")
	return c
}

func runApprove(ctx context.Context, o approveOptions, t *terminal, l openLedger, b ledger.Batch) error {
	increase, err := approval.New(l.Ledger).CostIncrease(ctx, b.ID)
	if err != nil {
		return err
	}
	needed := b.Approval.State == ledger.ApprovalNeeded
	switch {
	case needed || increase.Rows > 0:
	case b.Approval.State == ledger.ApprovalGiven:
		t.say("Batch %s was approved by %s on %s.", b.ID, b.Approval.By, localTime(b.Approval.At))
		return nil
	default:
		return fmt.Errorf("batch %s is not waiting for approval", b.ID)
	}
	// Check this before any quote is loaded or shown.
	why, err := approval.New(l.Ledger).Barred(audit.AtTerminal(ctx, currentUser()), b.ID, currentUser())
	if err == nil && why != nil {
		err = fmt.Errorf("approve batch %s: %w", b.ID, why)
	}
	if err != nil {
		return err
	}
	if !needed {
		return approveCosts(ctx, o, t, l.Ledger, b)
	}
	p, changed := pricing.Propose(ctx, l.Ledger, currentPrices(t, l), b.ID)
	var warnings string
	if p.Hash != "" {
		if warnings, err = printProposal(ctx, t, l.Ledger, p); err != nil {
			return err
		}
	}
	switch {
	case errors.Is(changed, approval.ErrChanged):
		return fmt.Errorf("%w. The new plan is shown above. To approve it: importer approve %s", changed, b.ID)
	case changed != nil:
		return changed
	case o.plan != "":
		err = p.Matches(o.plan)
	default:
		err = t.ask(ctx, o.yes, fmt.Sprintf("Approve %s, %s%s? Filings cannot be undone.",
			count(p.Figures.Orders, "order"), p.TotalText(), warnings), "Nothing was approved.")
	}
	if err != nil {
		return err
	}
	if err := pricing.ChooseOrder(ctx, l.Ledger, p.Batch, o.dueDateFirst); err != nil {
		return err
	}
	audited := withAudit(ctx, "approve", b.ID, fmt.Sprintf("plan %s, for %s", p.Hash, p.Total))
	switch err := p.Approve(audited, l.Ledger, currentUser()); {
	case errors.Is(err, approval.ErrChanged):
		return fmt.Errorf("%w. To see the new plan: importer approve %s", err, b.ID)
	case err != nil:
		return err
	}
	t.print("Batch %s was approved by %s.", b.ID, currentUser())
	return sayWhoPlaces(ctx, t, l.Ledger, b.ID)
}

// howToApprove explains where a batch can be approved. Under a policy that covers commands, this is
// only the page.
func howToApprove(ctx context.Context, l *ledger.Ledger, batch string) string {
	why, err := approval.New(l).Barred(audit.AtTerminal(ctx, currentUser()), batch, currentUser())
	if err == nil && why != nil && why.Typed {
		return "An approver must sign in to the page and approve it there."
	}
	return "Approve it on the page or with importer approve " + batch + "."
}

// approveCosts shows the rows of a batch that cost more than approved, if any, and asks for approval
// of the new cost.
func approveCosts(ctx context.Context, o approveOptions, t *terminal, l *ledger.Ledger, b ledger.Batch) error {
	increase, err := approval.New(l).CostIncrease(ctx, b.ID)
	if err != nil || increase.Rows == 0 {
		return err
	}
	before := ""
	if increase.Approved > 0 && increase.Cost.Amount > increase.Approved {
		before = fmt.Sprintf("; %s was approved", increase.Approved.Dollars())
	}
	rows := count(increase.Rows, "row")
	t.say("Waiting for approval: %s of batch %s cost %s%s.\nPlan %s", rows, b.ID, increase.Cost, before, increase.Plan)
	if o.plan != "" {
		err = increase.Matches(o.plan)
	} else {
		err = t.ask(ctx, o.yes, fmt.Sprintf("Approve %s, %s? Filings cannot be undone.",
			count(increase.Rows, "order"), increase.Cost), "Nothing was approved.")
	}
	if err != nil {
		return err
	}
	note := fmt.Sprintf("%s for %s, %s approved before, plan %s", rows, increase.Cost, increase.Approved.Dollars(),
		increase.Plan)
	if err := approval.New(l).ApproveCosts(withAudit(ctx, "approve-costs", b.ID, note), b.ID, increase); err != nil {
		return err
	}
	t.say("Approved: %s for %s.", rows, increase.Cost)
	return nil
}

// currentPrices returns the source of current prices. If the filing service does not answer for
// this ledger, the prices of the plan apply.
func currentPrices(t *terminal, l openLedger) pricing.Source {
	return func(ctx context.Context) (quoter pricing.Quoter, err error) {
		client, err := l.env.Client()
		if err == nil {
			defer client.Close()
			quoter, err = l.env.PriceSource(l.Ledger, client)(ctx)
			if _, unanswered := errors.AsType[*filingapi.Error](err); !unanswered && !errors.Is(err, ledger.ErrMode) &&
				!errors.Is(err, ledger.ErrOrganization) && !errors.Is(err, config.ErrUndecided) {
				return quoter, err
			}
		}
		t.say("Current prices are not available, so the prices of the plan apply: %v", err)
		return nil, nil
	}
}

// printProposal prints the batch to approve, and returns its warnings like sayWarnings.
func printProposal(ctx context.Context, t *terminal, l *ledger.Ledger,
	p pricing.Proposal) (warnings string, err error) {
	b := p.Batch
	t.print("Batch %s (%s), submitted by %s on %s", b.ID, b.File, b.CreatedBy, localTime(b.CreatedAt))
	plan, err := schedule.LoadPlanOfBatch(ctx, l, b.ID)
	if err != nil {
		return "", err
	}
	if plan != nil {
		fmt.Fprint(t, plan.Text())
	}
	if p.Quote != nil {
		sayQuote(t, *p.Quote)
	}
	available := "not known"
	if p.Balance.HasDeposit {
		available = p.Balance.Available().Dollars()
	}
	t.print("rows %s\ncost %s\navailable %s\nplan %s", report.BatchState(b, p.Figures.Counts), p.TotalText(),
		available, p.Hash)
	return sayWarnings(ctx, t, l, b)
}

// sayWhoPlaces explains why a submitted batch waits, or that its orders are being placed.
func sayWhoPlaces(ctx context.Context, t *terminal, l *ledger.Ledger, batch string) error {
	facts, err := sayHolds(ctx, t, l, batch)
	if err != nil || facts.Batch.Approval.State == ledger.ApprovalNeeded {
		return err
	}
	// A run places only the orders of its batch.
	placed := slices.ContainsFunc(facts.Processes,
		func(p ledger.Process) bool { return p.Alive && p.Places && p.What != "run" })
	held := slices.ContainsFunc(facts.Holds(), func(h jobs.Hold) bool { return h.Reason != jobs.HeldForWorker })
	switch {
	// A worker sends nothing before the restore is resolved.
	case facts.Halted.Reason == filing.HaltRestored:
	case !placed:
		t.say("%s. Start one with: worker", t.yellow("No worker is running, so nothing is sent yet"))
	case !held:
		t.say("The workers are placing the orders. To follow them: importer status %s --watch", batch)
	}
	return nil
}
