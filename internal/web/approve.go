package web

import (
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

// approve approves a batch as it was shown. The current cost is recorded even if the
// approval fails.
func (s *Site) approve(v *request, b ledger.Batch) error {
	if b.Approval.State == ledger.ApprovalNeeded {
		if err := s.checkedWarnings(v, b); err != nil {
			return err
		}
	}
	p, err := pricing.Propose(v.ctx(), s.Ledger, s.Ask, b.ID)
	if err == nil {
		err = p.Matches(v.r.PostForm.Get("plan"))
	}
	if err != nil {
		return err
	}
	note := fmt.Sprintf("%s, %s, plan %s", count(p.Figures.Orders, "order"), p.Total, p.Hash)
	err = p.Approve(v.withAudit("approve", b.ID, note), s.Ledger, v.who())
	return v.done(err, "/batches/"+b.ID, "Approved %s for %s. The orders are being placed.",
		count(p.Figures.Orders, "order"), p.Total)
}

// approveCosts approves the cost of rows that cost more than was approved, if it is
// still the cost that the form showed.
func (s *Site) approveCosts(v *request, b ledger.Batch) error {
	shown, err := s.findShownIncrease(v, b.ID)
	if err != nil {
		return err
	}
	note := fmt.Sprintf("%s for %s, %s approved before, plan %s", count(shown.Rows, "row"), shown.Cost,
		shown.Approved.Dollars(), shown.Plan)
	err = s.Ledger.Approvals().ApproveCosts(v.withAudit("approve-costs", b.ID, note), b.ID, shown)
	return v.done(err, "/batches/"+b.ID, "Approved %s for %s. The orders are being placed.", count(shown.Rows, "row"),
		shown.Cost)
}
