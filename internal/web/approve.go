package web

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// approvalHandler handles the approval of batches and of higher costs.
type approvalHandler struct {
	*Config
	approvals  *approval.Approvals
	queue      *prepareQueue
	rehearsals *rehearsalHandler
}

func (h *approvalHandler) routes() []route {
	return []route{
		{pattern: "GET /sheets/{sheet}/approve", may: viewer, serve: of(h.queue.findUpload, h.draftApproval)},
		{pattern: "GET /batches/{batch}/approve", may: viewer, serve: ofBatch(h.batchApproval)},
		{pattern: "POST /batches/{batch}/approve", may: approver, serve: ofBatch(h.approve)},
		{pattern: "POST /batches/{batch}/approve-costs", may: approver, serve: ofBatch(h.approveCosts)},
		{pattern: "POST /batches/{batch}/send-back", may: approver, serve: ofBatch(h.sendBack)},
		{pattern: "POST /batches/{batch}/reject", may: approver, serve: ofBatch(h.reject)},
	}
}

// approvers are the people who may approve a batch, and whether the reader is one of them.
type approvers struct {
	// Second reports whether the batch needs a second person's approval.
	Second bool
	// Barred is the reason why the reader may not approve, or nil if the reader may.
	Barred *approval.SecondError
	// Who are the people who may approve as the second person.
	Who []string
}

func findApprovers(v *request, all *approval.Approvals, batch string) (a approvers, err error) {
	err = errors.Join(
		load(&a.Second)(all.NeedsSecond(v.ctx(), batch)),
		load(&a.Barred)(all.Barred(v.ctx(), batch, v.who())))
	if err == nil && a.Second {
		a.Who, err = all.ListApprovers(v.ctx(), batch)
	}
	return a, err
}

// costApproval describes the rows of a batch that need a separate approval of their cost.
type costApproval struct {
	approvers
	Increase approval.CostIncrease
	// More reports whether they cost more than was approved.
	More bool
}

func loadCostApproval(v *request, all *approval.Approvals, batch string,
	c approval.CostIncrease) (*costApproval, error) {
	if c.Rows == 0 {
		return nil, nil
	}
	who, err := findApprovers(v, all, batch)
	return &costApproval{who, c, c.Approved > 0 && c.Cost.Amount > c.Approved}, err
}

// checkWarnings returns an error unless the person confirmed exactly the warnings that the batch
// has now.
func checkWarnings(v *request, l *ledger.Ledger, b ledger.Batch) error {
	w, err := intake.ListWarnings(v.ctx(), l, b, 0)
	shown := v.form("warnings")
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

// approve approves a batch if its plan is the plan that the form showed. The current cost is
// recorded even if the approval fails.
func (h *approvalHandler) approve(v *request, b ledger.Batch) error {
	if b.Approval.State == ledger.ApprovalNeeded {
		if err := checkWarnings(v, h.Ledger, b); err != nil {
			return err
		}
	}
	p, err := pricing.Propose(v.ctx(), h.Ledger, h.Prices, b.ID)
	if err == nil {
		err = p.Matches(v.form("plan"))
	}
	if err != nil {
		return err
	}
	if err := pricing.ChooseOrder(v.ctx(), h.Ledger, p.Batch, v.form("first") == "due-date"); err != nil {
		return err
	}
	note := fmt.Sprintf("%s, %s, plan %s", count(p.Figures.Orders, "order"), p.Total, p.Hash)
	err = p.Approve(v.withAudit("approve", b.ID, note), h.Ledger, v.who())
	return v.done(err, "/batches/"+b.ID, "Approved %s for %s. The orders are being placed.",
		count(p.Figures.Orders, "order"), p.Total)
}

// approveCosts approves the new cost of rows that exceed the approval, if it is still the cost that
// the form showed.
func (h *approvalHandler) approveCosts(v *request, b ledger.Batch) error {
	shown, err := h.findShownIncrease(v, b.ID)
	if err != nil {
		return err
	}
	note := fmt.Sprintf("%s for %s, %s approved before, plan %s", count(shown.Rows, "row"), shown.Cost,
		shown.Approved.Dollars(), shown.Plan)
	err = h.approvals.ApproveCosts(v.withAudit("approve-costs", b.ID, note), b.ID, shown)
	return v.done(err, "/batches/"+b.ID, "Approved %s for %s. The orders are being placed.", count(shown.Rows, "row"),
		shown.Cost)
}

// approvalPage is the page on which a batch is submitted, approved or refused.
type approvalPage struct {
	Batch ledger.Batch
	// Draft is the upload until it is submitted. It is nil on the page of a batch.
	Draft *intake.Upload
	// Rehearsal is the last rehearsal of the draft on this server. It is nil if there is none.
	Rehearsal *uploadRehearsal
	// Path is the address of the rows: "/sheets/…" or "/batches/…".
	Path    string
	Steps   []step
	Orders  int
	Quote   pricing.BatchQuote
	Summary pricing.Summary
	// Problem is the reason if the cost could not be computed.
	Problem string
	// Plan is the hash of the rows and costs to approve.
	Plan    string
	Balance ledger.Balance
	Funds   pricing.Funds
	Excluded
	Warnings intake.Warnings
	// Schedule is the plan of the schedule run that made the batch, or nil if no run made it.
	Schedule *schedule.Plan
	Notes    []string
	History  []approval.Event
	// Was has the orders and the cost at submission. Empty if they have not changed.
	Was string
	// Asks reports whether a second person has to approve the batch.
	Asks bool
	approvers
	// Waits reports whether the batch is waiting for approval.
	Waits bool
	// SendBack reports whether the batch has a draft to send it back to.
	SendBack bool
	// Again are the rows that need a new approval of their cost, or nil.
	Again *costApproval
	// Charged is the amount charged so far. Set only for approved batches.
	Charged money.Cost
	// Expected is the sum of charged, reserved and upcoming costs.
	Expected money.Cost
	// Firms are the names of the organization, for the printed page.
	Firms []string
}

// Excluded counts the rows of the spreadsheet that are not ordered.
type Excluded struct {
	Invalid int
	// Held counts the rows, part of Invalid, that differ from the filing service's record.
	Held    int
	Skipped int
	// Before counts the rows that were ordered before or are covered by a subscription.
	Before   int
	Canceled int
}

// Any reports whether any row is not ordered.
func (e Excluded) Any() bool { return e.Invalid+e.Skipped+e.Before+e.Canceled > 0 }

// reviewedRows is the maximum number of rows in the label.
const reviewedRows = 5

// reviewed returns the label of the box that confirms the warnings. It lists the first rows that have
// one.
func reviewed(w intake.Warnings) string {
	var rows []string
	last := 0
	for _, one := range w.First {
		if one.Row != last && len(rows) < reviewedRows {
			rows = append(rows, number(one.Row))
		}
		last = one.Row
	}
	where := "rows " + strings.Join(rows, ", ")
	switch more := w.Rows - len(rows); {
	case w.Rows == 1 && len(rows) == 1:
		where = "row " + rows[0]
	case more > 0:
		where += " and " + number(more) + " more"
	}
	return fmt.Sprintf("I reviewed %s (%s)", count(w.Count, "warning"), where)
}

// Refusal returns the newest event of the history if an approver refused the batch with it, and nil
// otherwise.
func (p *approvalPage) Refusal() *approval.Event { return refusalOf(p.History) }

func refusalOf(history []approval.Event) *approval.Event {
	if len(history) == 0 || history[len(history)-1].Comment == "" {
		return nil
	}
	return &history[len(history)-1]
}

// stepText describes an event of an approval for readers.
func stepText(e approval.Event) string {
	orders := fmt.Sprintf("%s, %s", count(e.Orders, "order"), e.Cost)
	switch e.What {
	case approval.StepSubmitted:
		return "submitted " + orders
	case approval.StepApproved:
		return "approved " + orders
	case approval.StepSentBack:
		return "sent it back"
	case approval.StepRejected:
		return "rejected it"
	case approval.StepCostsApproved:
		return "approved the new cost of " + orders
	}
	return string(e.What)
}

// patience is the longest time that a page waits for the cost of a spreadsheet that is being read.
const patience = 1500 * time.Millisecond

// draftApproval shows the cost of a draft to its preparer, who can submit it there.
func (h *approvalHandler) draftApproval(v *request, u intake.Upload) error {
	ctx := v.ctx()
	u, err := h.queue.wait(ctx, u, patience)
	if err != nil {
		return err
	}
	if u.Batch == "" || len(u.Quote) == 0 {
		// The upload is still being read, or is unreadable.
		return v.redirect("/sheets/" + u.ID)
	}
	b, err := h.Ledger.Batch(ctx, u.Batch)
	if err != nil {
		return err
	}
	if b.Open || b.Canceled {
		return v.redirect("/batches/" + b.ID + "/approve")
	}
	q, err := quoteOf(u)
	if err != nil {
		return err
	}
	p := &approvalPage{
		Batch: b,
		Draft: &u,
		Path:  "/sheets/" + u.ID,

		Rehearsal: h.rehearsals.of(u),
		Steps:     steps(2),
		Orders:    q.Rows,
		Quote:     q.BatchQuote,
		Problem:   q.Problem,
		Plan:      q.Plan,
		Notes:     q.Notes,
	}
	err = errors.Join(load(&p.History)(h.approvals.DraftHistory(ctx, u.ID)), h.fillApproval(v, p))
	return v.show(err, "approve.html", "Approve "+u.File, p)
}

// printedWarnings is the maximum number of warnings on the page and on its printed record.
const printedWarnings = 500

// fillApproval adds the parts that drafts and batches have in common.
func (h *approvalHandler) fillApproval(v *request, p *approvalPage) error {
	ctx, batch := v.ctx(), p.Batch.ID
	p.Summary = p.Quote.Summary()
	var firms []ledger.Organization
	var f ledger.Figures
	err := errors.Join(
		load(&firms)(h.Ledger.Organizations().List(ctx)),
		load(&f)(h.Ledger.Figures(ctx, batch)),
		load(&p.Balance)(h.Ledger.Balance(ctx)),
		load(&p.Funds)(pricing.LoadFunds(ctx, h.Ledger, p.Batch)),
		load(&p.Warnings)(intake.ListWarnings(ctx, h.Ledger, p.Batch, printedWarnings)),
		load(&p.Asks)(h.approvals.NeedsSecond(ctx, batch)),
		load(&p.Schedule)(schedule.LoadPlanOfBatch(ctx, h.Ledger, batch)))
	for _, firm := range firms {
		p.Firms = append(p.Firms, firm.Label())
	}
	p.Excluded = Excluded{
		Invalid:  f.Counts[filing.Invalid],
		Held:     f.HeldBack,
		Skipped:  f.Counts[filing.Skipped],
		Before:   p.Quote.Before,
		Canceled: f.Counts[filing.Canceled],
	}
	return err
}

// batchApproval shows the cost of a batch to its approver. Afterwards it is the record of the
// approval.
func (h *approvalHandler) batchApproval(v *request, b ledger.Batch) error {
	ctx := v.ctx()
	if !b.Open && !b.Canceled {
		at, err := sheetOf(ctx, intake.NewUploads(h.Ledger), b.ID)
		if err != nil {
			return err
		}
		if at != "" {
			return v.redirect("/sheets/" + at + "/approve")
		}
	}
	f, err := h.Ledger.Figures(ctx, b.ID)
	if err != nil {
		return err
	}
	p := &approvalPage{
		Batch:   b,
		Path:    "/batches/" + b.ID,
		Steps:   steps(3),
		Orders:  f.Orders,
		Plan:    b.Approval.Plan,
		Waits:   b.Approval.State == ledger.ApprovalNeeded && b.Open && !b.Canceled,
		Charged: f.Spent,
	}
	p.Quote, _, err = pricing.LoadBatchQuote(ctx, h.Ledger, b.ID)
	if err = errors.Join(err, load(&p.History)(h.approvals.History(ctx, b.ID))); err != nil {
		return err
	}
	for _, note := range p.Quote.Notes() {
		p.Notes = append(p.Notes, note.Text())
	}
	err = errors.Join(load(&p.Was)(p.submittedCost()), h.fillApproval(v, p))
	if p.Waits {
		p.Steps, p.Orders = steps(2), p.Quote.Rows
		err = errors.Join(err,
			load(&p.SendBack)(h.approvals.CanSendBack(ctx, b.ID)),
			load(&p.approvers)(findApprovers(v, h.approvals, b.ID)))
	} else {
		dearer, costsErr := h.approvals.CostIncrease(ctx, b.ID)
		err = errors.Join(err, costsErr,
			load(&p.Expected)(f.Cost()),
			load(&p.Again)(loadCostApproval(v, h.approvals, b.ID, dearer)))
	}
	return v.show(err, "approve.html", "Approve "+b.File, p)
}

// submittedCost returns the orders and the cost at submission, or "" if they have not changed.
func (p *approvalPage) submittedCost() (string, error) {
	e := p.Submitted()
	if e == nil || len(e.Quote) == 0 {
		return "", nil
	}
	was, err := pricing.DecodeBatchQuote(e.Quote)
	if err != nil || was.Rows == p.Quote.Rows && was.Total == p.Quote.Total {
		return "", err
	}
	return text.Count(was.Rows, "order") + " for " + was.TotalText(), nil
}

// Submitted returns the newest submission, or nil if none is recorded.
func (p *approvalPage) Submitted() *approval.Event {
	for _, e := range slices.Backward(p.History) {
		if e.What == approval.StepSubmitted {
			return &e
		}
	}
	return nil
}

// By returns the person who submitted the batch.
func (p *approvalPage) By() string { return cmp.Or(p.Batch.Approval.AskedBy, p.Batch.CreatedBy) }

// sendBack returns a batch to its preparer, with a comment.
func (h *approvalHandler) sendBack(v *request, b ledger.Batch) error {
	comment := v.form("comment")
	err := h.approvals.SendBack(v.withAudit("send-back", b.ID, shortened(comment, noteLength)), b.ID,
		v.who(), comment)
	return v.done(err, "/", "Sent back to %s. Nothing was sent to the filing service.",
		cmp.Or(b.Approval.AskedBy, "the preparer"))
}

// reject cancels a batch that waits for approval. It records a reason.
func (h *approvalHandler) reject(v *request, b ledger.Batch) error {
	reason := v.form("comment")
	rows, err := h.approvals.Reject(v.withAudit("reject", b.ID, shortened(reason, noteLength)), b.ID, v.who(),
		reason)
	return v.done(err, "/batches/"+b.ID+"/approve", "Rejected. %s canceled, and nothing was sent for them.",
		count(rows, "row"))
}

// noteLength is the maximum length of a comment in the audit log, in characters.
const noteLength = 200

// findShownIncrease finds the rows that wait for a new approval. It fails if they have changed
// since the form was shown.
func (h *approvalHandler) findShownIncrease(v *request, batch string) (approval.CostIncrease, error) {
	shown, err := h.approvals.CostIncrease(v.ctx(), batch)
	if err == nil {
		err = shown.Matches(v.form("plan"))
	}
	return shown, err
}
