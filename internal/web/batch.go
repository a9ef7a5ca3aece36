package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

var batchRoutes = []route{
	{pattern: "GET /batches/{batch}", may: viewer, serve: ofBatch((*Site).batchPage)},
	{pattern: "GET /batches/{batch}/live", may: viewer, serve: ofBatch((*Site).batchProgress), json: true},
	{pattern: "POST /batches/{batch}/pause", may: hands, serve: ofBatch((*Site).pauseBatch)},
	{pattern: "POST /batches/{batch}/resume", may: hands, serve: ofBatch((*Site).resumeBatch)},
	{pattern: "POST /batches/{batch}/cancel", may: hands, serve: ofBatch((*Site).cancelBatch)},
	{pattern: "POST /batches/{batch}/retry", may: hands, serve: ofBatch((*Site).retryBatch)},
	{pattern: "POST /batches/{batch}/dismiss", may: preparer, serve: ofBatch((*Site).dismissRows)},
}

// batchPage is the page of a batch.
type batchPage struct {
	Batch  ledger.Batch
	Panel  *panel
	Mark   string // of what the page was made for: see mark
	Steps  []step
	Waits  bool          // an approval is waited for
	Amount string        // what they cost
	Record bool          // there is an approval to look at
	Again  *costApproval // rows that wait for an approval of their own
	Given  bool          // a second person approved it

	Original    *ledger.Batch  // the batch that it corrects, or nil
	Corrections []ledger.Batch // whose rows are among the results

	Hands bool // the reader may pause it
	Back  int  // rows that a cancellation takes back, as far as is known
	Stay  int  // rows that it cannot
	List  *rowList
}

// findBatch finds the batch of an address. A part of an id, which the commands
// take, is none here: what one meant could become another's.
func (s *Site) findBatch(v *request) (ledger.Batch, error) {
	id := v.r.PathValue("batch")
	b, err := s.Ledger.Batch(v.ctx(), id)
	if err == nil && b.ID != id {
		err = ledger.ErrNotFound
	}
	return b, err
}

func (s *Site) batchPage(v *request, b ledger.Batch) error {
	if !b.Open {
		if at, err := s.sheetOf(v.ctx(), b.ID); err != nil {
			return err
		} else if at != "" {
			return v.redirect("/sheets/" + at)
		}
	}
	p := &batchPage{Batch: b, Steps: steps(3)}
	var err error
	if p.Panel, err = s.loadPanel(v.ctx(), b); err != nil {
		return err
	}
	p.Mark = mark(p.Panel)
	c := p.Panel.Counts
	p.Back = c[filing.Ready]
	p.Stay = c[filing.Placing] + c[filing.Placed] + c[filing.Uncertain]
	p.Given = b.Approval.State == ledger.ApprovalGiven && b.Approval.By != b.CreatedBy
	p.Hands = slices.ContainsFunc(hands, v.may)
	p.Record = b.Approval.State != ledger.NoApproval
	err = errors.Join(
		load(&p.Again)(s.loadCostApproval(v, b.ID, p.Panel.Increase)),
		load(&p.Corrections)(s.Ledger.Corrections(v.ctx(), b.ID)),
		load(&p.List)(s.listRows(v, b, c)))
	if b.Approval.State == ledger.ApprovalNeeded && !b.Canceled {
		p.Steps = steps(2)
		err = errors.Join(err, s.addWaiting(v, p))
	} else if p.Panel.Done() {
		p.Steps = steps(4)
		last := &p.Steps[len(p.Steps)-1]
		last.Partial = p.Panel.Uncertain()+p.Panel.ToCorrect()+p.Panel.Summary.Filings.Exceptions > 0
		last.Done = !last.Partial
		last.Current = last.Partial
	}
	if b.Corrects != "" {
		original, findErr := s.Ledger.Batch(v.ctx(), b.Corrects)
		if findErr == nil {
			p.Original = &original
		} else if !errors.Is(findErr, ledger.ErrNotFound) {
			err = errors.Join(err, findErr)
		}
	}
	if err != nil {
		return err
	}
	return v.show("batch.html", b.File, p)
}

// sheetOf finds the upload that a batch was prepared from. It is empty if the upload is gone.
func (s *Site) sheetOf(ctx context.Context, batch string) (string, error) {
	uploads, err := s.Ledger.Uploads().List(ctx)
	if i := slices.IndexFunc(uploads, func(u ledger.Upload) bool { return u.Batch == batch }); i >= 0 {
		return uploads[i].ID, err
	}
	return "", err
}

// mark names what a page of a batch was made for: what there is to do on it. A
// page of another mark has to be reloaded.
func mark(p *panel) string {
	b := p.Batch
	sum := sha256.Sum256(fmt.Append(nil, b.Open, b.Paused, b.Canceled, b.Approval.State, b.Approval.Hash, p.Increase,
		p.OutOfFunds, p.Done()))
	return hex.EncodeToString(sum[:4])
}

// panel is the part of the page of a batch that updates live. It is the same for every reader.
type panel struct {
	batchStatus
	Batch    ledger.Batch
	Summary  report.Summary
	Statuses []report.FilingStatus
	Stack    stack
	Balance  ledger.Balance
	Holds    []hold
	Increase ledger.CostIncrease // rows that cost more than was approved
	// OutOfFunds says that the rows wait for the filing service's own balance: someone
	// adds funds there, then resumes the batch.
	OutOfFunds bool
}

// hold is a reason why rows are not sent now.
type hold struct {
	Class, What, Do string
	// Path and Name are the page where it can be ended. They are empty if no page can.
	Path, Name string
	// Until is when it ends automatically, or zero if unknown.
	Until time.Time
}

// loadPanel loads the present state of a batch.
func (s *Site) loadPanel(ctx context.Context, b ledger.Batch) (*panel, error) {
	var f ledger.Figures
	var filings ledger.Filings
	var fleet fleetFacts
	err := errors.Join(
		load(&f)(s.loadFigures(ctx, b.ID)),
		load(&filings)(s.loadFilings(ctx, b.ID)),
		load(&fleet)(s.loadFleet(ctx)))
	if err != nil {
		return nil, err
	}
	st, facts, err := s.statusOf(ctx, b, f, filings.Exceptions, fleet)
	if err != nil {
		return nil, err
	}
	p := &panel{
		batchStatus: st,
		Batch:       b,
		Summary:     report.Summary{Batch: b.ID, Figures: f, Filings: filings},
		Statuses:    report.FilingStatuses(filings),
		Stack:       stackOf(st.Headline.String(), f.Counts),
		Balance:     facts.Balance,
		Increase:    facts.Increase,
	}
	for _, h := range st.Holds {
		p.Holds = append(p.Holds, adviseHold(h, facts))
		p.OutOfFunds = p.OutOfFunds || (h.Reason == jobs.HeldForFunds && !facts.Balance.HasDeposit)
	}
	return p, nil
}

// adviseHold adds to a hold what to do about it, and where.
func adviseHold(h jobs.Hold, facts jobs.BatchFacts) hold {
	shown := hold{Class: "warn", What: h.Text}
	switch h.Reason {
	case jobs.HeldByPause:
		shown.Do = "No more rows are sent until someone resumes it. Rows already sent get their result."
	case jobs.HeldForApproval:
		shown.Do = "No order is placed before an approver approves it."
	case jobs.HeldForFunds:
		if !facts.Balance.HasDeposit {
			shown.Do = addFunds
			break
		}
		shown.Do, shown.Path, shown.Name = topUp, "/balance", "Record a deposit"
		if text := report.DisagreeText(facts.Halted, facts.Balance); text != "" {
			shown.Do = text + ". Check the balance at the filing service, then record the difference. " + topUp
			shown.Name = "Correct the balance"
		}
	case jobs.HeldForBalance:
		shown.Do, shown.Path, shown.Name = topUp, "/balance", "Record a deposit"
	case jobs.HeldForKey:
		shown.Class, shown.Path, shown.Name = "bad", "/settings", "Settings"
		shown.Do = "Nothing is sent, and no row is lost. An operator must correct the API key."
	case jobs.HeldForRestore:
		shown.Class = "bad"
		shown.Do = "An operator has to check the rows that may have been ordered since. " + restoredSteps
	case jobs.HeldForVersion:
		shown.Class = "bad"
	case jobs.HeldForRate, jobs.HeldByBreaker:
		shown.Do, shown.Until = "Sending starts again automatically.", h.Until
	case jobs.HeldByRedis:
		shown.Class, shown.Path, shown.Name = "bad", "/fleet", "Workers"
		shown.Do = "No row is lost. Sending starts again automatically when Redis is back."
	case jobs.HeldForCost:
		shown.Do = "No order is placed for them before an approver approves the cost."
	case jobs.HeldForRow:
		shown.Do = "They are sent, or get their result, when that row has its own."
	case jobs.HeldForWorker:
		shown.Do, shown.Path, shown.Name = "No row is lost. An operator must start a worker.", "/fleet", "Workers"
	}
	return shown
}

// addFunds and topUp say what to do about funds, without and with a recorded deposit.
// A first deposit would make the recorded balance the limit.
const addFunds = "No row is lost. Add funds at the filing service, then resume the batch."

const topUp = "No row is lost. Top up at the filing service, then record the deposit: sending starts again right away."

// Say is the panel in a sentence, for those who listen.
func (p *panel) Say() string {
	text := p.Word + ": " + p.Headline.String()
	for _, h := range p.Holds {
		text += ". " + h.What
	}
	return text
}

// Done reports whether every row has a result.
func (p *panel) Done() bool { return p.Left() == 0 }

// Placing counts the rows that are at the service now.
func (p *panel) Placing() int { return p.Counts[filing.Placing] }

// Uncertain, Invalid and Refused count rows by their results; ToCorrect
// are those whose cells a correction helps.
func (p *panel) Uncertain() int { return p.Counts[filing.Uncertain] }
func (p *panel) Invalid() int   { return p.Counts[filing.Invalid] }
func (p *panel) Refused() int   { return p.Counts[filing.Rejected] }
func (p *panel) ToCorrect() int { return p.Invalid() + p.Refused() }

// ToDo reports whether there is something for a person to do.
func (p *panel) ToDo() bool {
	return p.Uncertain()+p.ToCorrect()+p.Summary.Filings.Exceptions+p.Summary.Filings.Documents > 0
}

// batchProgress answers an open page of a batch that asks what has changed.
func (s *Site) batchProgress(v *request, b ledger.Batch) error {
	p, err := s.loadPanel(v.ctx(), b)
	if err != nil {
		return err
	}
	answer := struct {
		Panel string         `json:"panel"` // HTML
		Tally map[string]int `json:"tally"` // how many rows each tab has
		Say   string         `json:"say"`   // for a screen reader
		Gone  bool           `json:"gone"`  // the page has changed: it has to be reloaded
	}{Tally: tallyOf(p.Counts), Say: p.Say(), Gone: mark(p) != v.r.URL.Query().Get("mark")}
	var html strings.Builder
	if err := templates()["batch.html"].ExecuteTemplate(&html, "panel", p); err != nil {
		return fmt.Errorf("make the panel of a batch: %w", err)
	}
	answer.Panel = html.String()
	return v.sendJSON(http.StatusOK, answer)
}

// pauseBatch stops sending the rows of a batch.
func (s *Site) pauseBatch(v *request, b ledger.Batch) error {
	err := s.Ledger.PauseBatch(v.withAudit("pause", b.ID, ""), b.ID)
	return v.done(err, "/batches/"+b.ID, "The batch is paused. No more rows are sent until someone resumes it. "+
		"Rows already sent get their result.")
}

// resumeBatch sends the rows of a batch again, and tries again if funds were insufficient.
func (s *Site) resumeBatch(v *request, b ledger.Batch) error {
	err := s.Ledger.ResumeBatch(v.withAudit("resume", b.ID, ""), b.ID)
	return v.done(err, "/batches/"+b.ID, "The batch is resumed.")
}

// cancelBatch cancels the rows that were not sent.
func (s *Site) cancelBatch(v *request, b ledger.Batch) error {
	n, err := s.Ledger.CancelBatch(v.withAudit("cancel", b.ID, ""), b.ID)
	if err != nil {
		return err
	}
	f, err := s.Ledger.ResultFigures(v.ctx(), b.ID)
	if err != nil {
		return err
	}
	text := "Canceled " + count(n, "row") + ". Placed orders stay placed and charged."
	if out := f.Left(); out > 0 {
		text += " Sent, without a result yet: " + count(out, "row") + "."
	}
	return v.done(nil, "/batches/"+b.ID, "%s", text)
}

// dismissRows skips rows that need attention and that no one will correct.
func (s *Site) dismissRows(v *request, b ledger.Batch) error {
	n, err := strconv.Atoi(v.r.PostForm.Get("rows"))
	if err != nil || n < 1 {
		return errForm
	}
	if err := s.Ledger.DismissRows(v.withAudit("dismiss", b.ID, count(n, "row")), b.ID, v.who(), n); err != nil {
		return err
	}
	pending, err := s.Ledger.FindPendingCorrection(v.ctx(), ledger.BatchRow{Batch: b.ID})
	if err != nil {
		return err
	}
	next := ", and nothing is ordered."
	if pending != "" {
		next = ". A correction of this batch is still open: what is ready in it is ordered when it is approved."
	}
	return v.done(nil, "/batches/"+b.ID, "Dismissed %s. The results show %s as skipped%s", count(n, "row"),
		plural(n, "it", "them"), next)
}

// retryBatch makes the rejected rows of a batch ready to send again.
func (s *Site) retryBatch(v *request, b ledger.Batch) error {
	n, err := s.Ledger.RetryBatch(v.withAudit("retry", b.ID, ""), b.ID)
	return v.done(err, "/batches/"+b.ID, "Ready to send again: %s.", count(n, "rejected row"))
}
