package web

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
)

// addWaiting adds to the page of a batch what it waits to have approved.
func (s *Site) addWaiting(v *request, p *batchPage) (err error) {
	p.Waits, p.Orders = true, p.Panel.Orders
	q, _, err := pricing.LoadBatchQuote(v.ctx(), s.Ledger, p.Batch.ID)
	p.Amount = p.Panel.Summary.Needed.Without(q.Missing())
	return err
}

// approvers is who may approve what waits in a batch.
type approvers struct {
	Second bool                // it needs a second person
	Barred *ledger.SecondError // why the reader may not; nil if they may
	Who    []string            // who may, as its second person
}

func (s *Site) approvers(v *request, batch string) (a approvers, err error) {
	if a.Second, err = s.Ledger.Approvals().NeedsSecond(v.ctx(), batch); err != nil {
		return a, err
	}
	if a.Barred, err = s.Ledger.Approvals().Barred(v.ctx(), batch, v.who()); err != nil {
		return a, err
	}
	if !a.Second {
		return a, nil
	}
	a.Who, err = s.Ledger.Approvals().ListApprovers(v.ctx(), batch)
	return a, err
}

// costApproval are the rows of a batch that wait for an approval of their own.
type costApproval struct {
	approvers
	Increase ledger.CostIncrease
	More     bool // they cost more than was approved
}

func (s *Site) loadCostApproval(v *request, batch string, c ledger.CostIncrease) (*costApproval, error) {
	if c.Rows == 0 {
		return nil, nil
	}
	who, err := s.approvers(v, batch)
	return &costApproval{who, c, c.Approved > 0 && c.Cost.Amount > c.Approved}, err
}

// flashMayNotApprove tells a reader who may not approve that a second person must.
func (v *request) flashMayNotApprove(err error) {
	v.site.recordDenial(v, ledger.ErrSecondPerson.Error())
	var why *ledger.SecondError
	if errors.As(err, &why) {
		v.flash("warn", "%s Nothing was sent.",
			why.ToYou())
	} else {
		v.flash("warn", "A second person must approve. Nothing was sent.")
	}
}

// checkedWarnings refuses an approval by someone who did not confirm the warnings
// that there are: these, and not as many others.
func (s *Site) checkedWarnings(v *request, b ledger.Batch) error {
	w, err := jobs.ListWarnings(v.ctx(), s.Ledger, b, 0)
	shown := v.r.PostForm.Get("warnings")
	switch {
	case err != nil || w.Count == 0 || shown == w.Hash:
		return err
	case shown != "":
		return badRequest("Nothing was sent. The warnings changed since you reviewed them: refresh the page, and "+
			"review %s.", count(w.Count, "warning"))
	}
	return badRequest("Nothing was sent. Select the box that confirms that you reviewed %s, then try again.",
		count(w.Count, "warning"))
}

// approve approves a batch as it was shown.
func (s *Site) approve(v *request) error {
	b, err := s.findBatch(v)
	if err != nil {
		return err
	}
	if b.Approval.State == ledger.ApprovalNeeded {
		if err := s.checkedWarnings(v, b); err != nil {
			return err
		}
	}
	// The current cost is recorded even if the approval fails: the audit event is
	// the approval.
	p, err := pricing.Propose(v.ctx(), s.Ledger, s.Ask, b.ID)
	if err == nil {
		err = p.Matches(v.r.PostForm.Get("plan"))
	}
	if err == nil {
		note := fmt.Sprintf("%s, %s, plan %s", count(p.Figures.Orders, "order"), p.Total, p.Hash)
		if err = p.Approve(v.withAudit("approve", b.ID, note), s.Ledger, v.who()); errors.Is(err,
			ledger.ErrChanged) { // by another person, within this request
			p, err = pricing.Propose(v.ctx(), s.Ledger, s.Ask, b.ID)
			err = cmp.Or(err, ledger.ErrChanged)
		}
	}
	switch {
	case errors.Is(err, ledger.ErrNoApprovalNeeded):
		if b, err = s.findBatch(v); err != nil {
			return err
		}
		if b.Approval.State == ledger.ApprovalGiven {
			v.flash("note", "This batch was already approved by %s at %s.", b.Approval.By,
				b.Approval.At.UTC().Format("15:04 UTC on January 2, 2006"))
		} else {
			v.flash("note", "This batch does not wait for approval.")
		}
	case errors.Is(err, ledger.ErrChanged):
		v.flash("warn", "The rows or the cost changed: now %s for %s. Nothing was sent. Review the batch, then "+
			"approve it again.", count(p.Figures.Orders, "order"), p.Total)
		return v.redirect("/batches/" + b.ID + "/approve")
	case errors.Is(err, ledger.ErrNotOpen):
		v.flash("warn", "This batch is not submitted yet, so it cannot be approved. Nothing was sent.")
	case errors.Is(err, ledger.ErrSecondPerson):
		v.flashMayNotApprove(err)
	case err != nil:
		return err
	default:
		v.flash("ok", "Approved %s for %s. The orders are being placed.", count(p.Figures.Orders, "order"),
			p.Total)
	}
	return v.redirect("/batches/" + b.ID)
}

// What is said of costs that cannot be approved or rejected on their own.
const (
	noCostsWait = "No rows of this batch wait for the approval of a new cost. Nothing was changed."
	batchFirst  = "This batch itself waits for approval. Approve or reject the batch first. Nothing was changed."
)

// approveCosts approves the cost of rows that cost more than was approved, if it is
// still the cost that the form showed.
func (s *Site) approveCosts(v *request) error {
	b, err := s.findBatch(v)
	if err != nil {
		return err
	}
	shown, err := s.findShownIncrease(v, b.ID)
	if err == nil {
		note := fmt.Sprintf("%s for %s, %s approved before, plan %s", count(shown.Rows, "row"), shown.Cost,
			shown.Approved.Dollars(), shown.Plan)
		err = s.Ledger.Approvals().ApproveCosts(v.withAudit("approve-costs", b.ID, note), b.ID, shown)
	}
	switch {
	case errors.Is(err, ledger.ErrChanged):
		v.flash("warn", "The rows or the cost changed: now %s for %s. Nothing was approved. Review the rows, then "+
			"approve again.", count(shown.Rows, "row"), shown.Cost)
		return v.redirect("/batches/" + b.ID + "/approve")
	case errors.Is(err, ledger.ErrNoApprovalNeeded):
		v.flash("note", noCostsWait)
	case errors.Is(err, ledger.ErrApproveBatchFirst):
		v.flash("warn", batchFirst)
	case errors.Is(err, ledger.ErrSecondPerson):
		v.flashMayNotApprove(err)
	case err != nil:
		return err
	default:
		v.flash("ok", "Approved %s for %s. The orders are being placed.", count(shown.Rows, "row"), shown.Cost)
	}
	return v.redirect("/batches/" + b.ID)
}
