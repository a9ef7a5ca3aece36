package web

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// addWaiting adds to the page of a batch what it waits to have approved.
func (s *Site) addWaiting(v *request, p *batchPage) (err error) {
	p.Waits = true
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

var approvalRoutes = []route{
	{pattern: "GET /sheets/{sheet}/approve", may: viewer, serve: ofUpload((*Site).draftApproval)},
	{pattern: "GET /batches/{batch}/approve", may: viewer, serve: ofBatch((*Site).batchApproval)},
	{pattern: "POST /batches/{batch}/approve", may: approver, serve: ofBatch((*Site).approve)},
	{pattern: "POST /batches/{batch}/approve-costs", may: approver, serve: ofBatch((*Site).approveCosts)},
	{pattern: "POST /batches/{batch}/send-back", may: approver, serve: ofBatch((*Site).sendBack)},
	{pattern: "POST /batches/{batch}/reject", may: approver, serve: ofBatch((*Site).reject)},
	{pattern: "POST /batches/{batch}/reject-costs", may: approver, serve: ofBatch((*Site).rejectCosts)},
}

// approvalPage is the page on which a batch is submitted, approved or refused.
type approvalPage struct {
	Batch ledger.Batch
	// Draft is the upload before it is submitted, or nil for a batch.
	Draft   *ledger.Upload
	Path    string // of the rows: "/sheets/…" or "/batches/…"
	Steps   []step
	Orders  int
	Quote   pricing.BatchQuote
	Summary pricing.Summary
	Problem string // why there is no cost
	Plan    string // names what is approved
	Balance ledger.Balance
	Funds   pricing.Funds
	Excluded
	Warnings jobs.Warnings
	Season   *schedule.Plan // of the run that made the batch; nil if none did
	Notes    []string
	History  []ledger.ApprovalEvent
	Was      string // the orders and cost when the batch was submitted; "" where they are the same
	Asks     bool   // a second person has to approve it
	approvers
	Waits    bool // waiting for approval
	SendBack bool // there is a draft to send it back to
	// Again are the rows that need a new approval of their cost, or nil.
	Again    *costApproval
	Charged  money.Cost // so far, of a batch that was approved
	Expected money.Cost // charged, reserved and still to come
	Firms    []string   // the names of the organization, for the printed page
}

// Excluded counts the rows of the spreadsheet that are not ordered.
type Excluded struct {
	Invalid  int
	Held     int // of them those that differ from the filing service's record
	Skipped  int
	Before   int // ordered before, or covered by a subscription
	Canceled int
}

// Any reports whether there are any.
func (e Excluded) Any() bool { return e.Invalid+e.Skipped+e.Before+e.Canceled > 0 }

// Amount is the cost on the button.
func (p *approvalPage) Amount() string { return p.Quote.TotalText() }

// Reviewed is the label of the box that confirms the warnings, with their rows.
func (p *approvalPage) Reviewed() string { return reviewed(p.Warnings) }

// reviewedRows is how many rows of warnings a box names.
const reviewedRows = 5

func reviewed(w jobs.Warnings) string {
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

// Refusal is the newest step if an approver refused the batch in it; nil otherwise.
func (p *approvalPage) Refusal() *ledger.ApprovalEvent { return refusalOf(p.History) }

func refusalOf(history []ledger.ApprovalEvent) *ledger.ApprovalEvent {
	if len(history) == 0 || history[len(history)-1].Comment == "" {
		return nil
	}
	return &history[len(history)-1]
}

// stepText is a step of an approval in a reader's words.
func stepText(e ledger.ApprovalEvent) string {
	orders := fmt.Sprintf("%s, %s", count(e.Orders, "order"), e.Cost)
	switch e.What {
	case ledger.StepSubmitted:
		return "submitted " + orders
	case ledger.StepApproved:
		return "approved " + orders
	case ledger.StepSentBack:
		return "sent it back"
	case ledger.StepRejected:
		return "rejected it"
	case ledger.StepCostsApproved:
		return "approved the new cost of " + orders
	case ledger.StepCostsRejected:
		return "rejected the new cost of " + orders
	}
	return string(e.What)
}

// patience is how long a page waits for the cost of a spreadsheet that is being read.
const patience = 1500 * time.Millisecond

// draftApproval shows what a draft costs, for its preparer to submit.
func (s *Site) draftApproval(v *request, u ledger.Upload) error {
	ctx := v.ctx()
	u, err := s.queue.wait(ctx, u, patience)
	if err != nil {
		return err
	}
	if u.Batch == "" || len(u.Quote) == 0 {
		return v.redirect("/sheets/" + u.ID) // it is being read, or cannot be
	}
	b, err := s.Ledger.Batch(ctx, u.Batch)
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
		Batch:   b,
		Draft:   &u,
		Path:    "/sheets/" + u.ID,
		Steps:   steps(2),
		Orders:  q.Rows,
		Quote:   q.BatchQuote,
		Problem: q.Problem,
		Plan:    q.Plan,
		Notes:   q.Notes,
	}
	if err := errors.Join(
		load(&p.History)(s.Ledger.Approvals().DraftHistory(ctx, u.ID)),
		s.fillApproval(v, p)); err != nil {
		return err
	}
	return v.show("approve.html", "Approve "+u.File, p)
}

// printedWarnings is how many warnings the page lists, and so its printed record.
const printedWarnings = 500

// fillApproval adds the parts that drafts and batches have in common.
func (s *Site) fillApproval(v *request, p *approvalPage) error {
	ctx, batch := v.ctx(), p.Batch.ID
	p.Summary = p.Quote.Summary()
	var firms []ledger.Organization
	var f ledger.Figures
	err := errors.Join(
		load(&firms)(s.Ledger.Organizations().List(ctx)),
		load(&f)(s.Ledger.Figures(ctx, batch)),
		load(&p.Balance)(s.Ledger.Balance(ctx)),
		load(&p.Funds)(pricing.LoadFunds(ctx, s.Ledger, p.Batch)),
		load(&p.Warnings)(jobs.ListWarnings(ctx, s.Ledger, p.Batch, printedWarnings)),
		load(&p.Asks)(s.Ledger.Approvals().NeedsSecond(ctx, batch)),
		load(&p.Season)(schedule.LoadPlanOfBatch(ctx, s.Ledger, batch)))
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

// batchApproval shows what a batch costs to its approver, and the record of it
// afterwards.
func (s *Site) batchApproval(v *request, b ledger.Batch) error {
	ctx := v.ctx()
	if !b.Open && !b.Canceled {
		if at, err := s.sheetOf(ctx, b.ID); err != nil {
			return err
		} else if at != "" {
			return v.redirect("/sheets/" + at + "/approve")
		}
	}
	f, err := s.Ledger.Figures(ctx, b.ID)
	if err != nil {
		return err
	}
	p := &approvalPage{
		Batch:   b,
		Path:    "/batches/" + b.ID,
		Steps:   steps(3),
		Orders:  f.Orders,
		Plan:    b.Approval.Hash,
		Waits:   b.Approval.State == ledger.ApprovalNeeded && b.Open && !b.Canceled,
		Charged: f.Spent,
	}
	if p.Quote, _, err = pricing.LoadBatchQuote(ctx, s.Ledger, b.ID); err != nil {
		return err
	}
	if p.History, err = s.Ledger.Approvals().History(ctx, b.ID); err != nil {
		return err
	}
	for _, note := range p.Quote.Notes() {
		p.Notes = append(p.Notes, note.Text())
	}
	err = errors.Join(load(&p.Was)(p.submittedCost()), s.fillApproval(v, p))
	if p.Waits {
		p.Steps, p.Orders = steps(2), p.Quote.Rows
		err = errors.Join(err,
			load(&p.SendBack)(s.Ledger.Approvals().CanSendBack(ctx, b.ID)),
			load(&p.approvers)(s.approvers(v, b.ID)))
	} else {
		dearer, costsErr := s.Ledger.Approvals().CostIncrease(ctx, b.ID)
		err = errors.Join(err, costsErr,
			load(&p.Expected)(f.Cost()),
			load(&p.Again)(s.loadCostApproval(v, b.ID, dearer)))
	}
	if err != nil {
		return err
	}
	return v.show("approve.html", "Approve "+b.File, p)
}

// submittedCost returns the orders and cost that were submitted, where they have changed.
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

// Submitted is the newest submission; nil where none was recorded.
func (p *approvalPage) Submitted() *ledger.ApprovalEvent {
	for _, e := range slices.Backward(p.History) {
		if e.What == ledger.StepSubmitted {
			return &e
		}
	}
	return nil
}

// By is who submitted the batch.
func (p *approvalPage) By() string { return cmp.Or(p.Batch.Approval.AskedBy, p.Batch.CreatedBy) }

// sendBack returns a batch to its preparer, with a comment.
func (s *Site) sendBack(v *request, b ledger.Batch) error {
	comment := v.r.PostForm.Get("comment")
	err := s.Ledger.Approvals().SendBack(v.withAudit("send-back", b.ID, shortened(comment, noteLength)), b.ID,
		v.who(), comment)
	return v.done(err, "/", "Sent back to %s. Nothing was sent to the filing service.",
		cmp.Or(b.Approval.AskedBy, "the preparer"))
}

// reject cancels a batch that waits for approval, with a reason.
func (s *Site) reject(v *request, b ledger.Batch) error {
	reason := v.r.PostForm.Get("comment")
	rows, err := s.Ledger.Approvals().Reject(v.withAudit("reject", b.ID, shortened(reason, noteLength)), b.ID, v.who(),
		reason)
	return v.done(err, "/batches/"+b.ID+"/approve", "Rejected. %s canceled, and nothing was sent for them.",
		count(rows, "row"))
}

// rejectCosts cancels the rows of a batch that cost more than was approved.
func (s *Site) rejectCosts(v *request, b ledger.Batch) error {
	shown, err := s.findShownIncrease(v, b.ID)
	if err != nil {
		return err
	}
	reason := v.r.PostForm.Get("comment")
	err = s.Ledger.Approvals().RejectCosts(v.withAudit("reject-costs", b.ID, shortened(reason, noteLength)), b.ID,
		shown, v.who(), reason)
	return v.done(err, "/batches/"+b.ID+"/approve", "Rejected. %s canceled. The other rows go on.",
		count(shown.Rows, "row"))
}

// noteLength is how much of a comment the audit log repeats.
const noteLength = 200

// findShownIncrease finds the rows that wait for a new approval. It fails if they are
// not those that the form showed.
func (s *Site) findShownIncrease(v *request, batch string) (ledger.CostIncrease, error) {
	shown, err := s.Ledger.Approvals().CostIncrease(v.ctx(), batch)
	if err == nil {
		err = shown.Matches(v.r.PostForm.Get("plan"))
	}
	return shown, err
}

// sentBackActions are for the drafts that an approver sent back.
func (s *Site) sentBackActions(v *request) (all []action, err error) {
	if !v.may(ledger.Preparer) {
		return nil, nil
	}
	back, err := s.Ledger.Approvals().ListSentBack(v.ctx())
	for _, b := range back {
		all = append(all, action{
			Class:  "warn",
			Text:   fmt.Sprintf("%s was sent back: %s", b.File, shortened(b.Comment, noteLength)),
			Note:   "by " + b.By,
			Button: "Correct",
			Path:   "/sheets/" + b.Upload,
		})
	}
	return all, err
}
