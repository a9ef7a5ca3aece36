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

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

// batchHandler handles the page of a batch.
type batchHandler struct {
	*Config
	overview *overview
	rows     *rowHandler
}

func (h *batchHandler) routes() []route {
	return []route{
		{pattern: "GET /batches/{batch}", may: viewer, serve: ofBatch(h.batchPage)},
		{pattern: "GET /batches/{batch}/live", may: viewer, serve: ofBatch(h.batchProgress), json: true},
		{pattern: "POST /batches/{batch}/pause", may: hands, serve: ofBatch(h.pauseBatch)},
		{pattern: "POST /batches/{batch}/resume", may: hands, serve: ofBatch(h.resumeBatch)},
		{pattern: "POST /batches/{batch}/cancel", may: hands, serve: ofBatch(h.cancelBatch)},
		{pattern: "POST /batches/{batch}/retry", may: hands, serve: ofBatch(h.retryBatch)},
		{pattern: "POST /batches/{batch}/dismiss", may: preparer, serve: ofBatch(h.dismissRows)},
	}
}

// batchPage is the page of a batch.
type batchPage struct {
	Batch ledger.Batch
	Panel *panel
	// Mark identifies the state that the page was made for (see mark).
	Mark  string
	Steps []step
	// Waits reports whether the batch waits for an approval.
	Waits bool
	// Amount is the cost of the rows that wait.
	Amount string
	// Record reports whether the batch has an approval to show.
	Record bool
	// Again are the rows that need a separate approval, or nil.
	Again *costApproval
	// Given reports whether a second person approved the batch.
	Given bool

	// Original is the batch that this one corrects, or nil.
	Original *ledger.Batch
	// Corrections are the batches of corrections whose rows the results show.
	Corrections []ledger.Batch

	// Hands reports whether the reader may pause the batch.
	Hands bool
	// Back estimates the rows that a cancellation stops.
	Back int
	// Stay counts the rows that a cancellation cannot stop.
	Stay int
	List *rowList
}

func (h *batchHandler) batchPage(v *request, b ledger.Batch) error {
	if !b.Open {
		at, err := sheetOf(v.ctx(), intake.NewUploads(h.Ledger), b.ID)
		if err != nil {
			return err
		}
		if at != "" {
			return v.redirect("/sheets/" + at)
		}
	}
	p := &batchPage{Batch: b, Steps: steps(3)}
	var err error
	if p.Panel, err = h.loadPanel(v.ctx(), b); err != nil {
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
		load(&p.Again)(loadCostApproval(v, approval.New(h.Ledger), b.ID, p.Panel.facts.Increase)),
		load(&p.Corrections)(h.Ledger.Corrections().List(v.ctx(), b.ID)),
		load(&p.List)(h.rows.list(v, b, c)))
	if b.Approval.State == ledger.ApprovalNeeded && !b.Canceled {
		p.Steps, p.Waits = steps(2), true
		q, _, quoteErr := pricing.LoadBatchQuote(v.ctx(), h.Ledger, b.ID)
		p.Amount = p.Panel.Summary.Needed.Without(q.Missing())
		err = errors.Join(err, quoteErr)
	} else if p.Panel.Done() {
		p.Steps = steps(4)
		last := &p.Steps[len(p.Steps)-1]
		last.Partial = p.Panel.Uncertain()+p.Panel.ToCorrect()+p.Panel.Summary.Filings.Exceptions > 0
		last.Done = !last.Partial
		last.Current = last.Partial
	}
	if b.Corrects != "" {
		original, findErr := h.Ledger.Batch(v.ctx(), b.Corrects)
		if findErr == nil {
			p.Original = &original
		} else if !errors.Is(findErr, ledger.ErrNotFound) {
			err = errors.Join(err, findErr)
		}
	}
	return v.show(err, "batch.html", b.File, p)
}

// sheetOf returns the ID of the upload that a batch was prepared from, or "" if it no longer
// exists.
func sheetOf(ctx context.Context, kept *intake.Uploads, batch string) (string, error) {
	uploads, err := kept.List(ctx)
	if i := slices.IndexFunc(uploads, func(u intake.Upload) bool { return u.Batch == batch }); i >= 0 {
		return uploads[i].ID, err
	}
	return "", err
}

// mark identifies the state that determines the forms on the page of a batch. A page with another
// mark has to be reloaded.
func mark(p *panel) string {
	b := p.Batch
	sum := sha256.Sum256(fmt.Append(nil, b.Open, b.Paused, b.Canceled, b.Approval.State, b.Approval.Plan,
		p.facts.Increase, p.OutOfFunds, p.Done()))
	return hex.EncodeToString(sum[:4])
}

// panel is the part of the page of a batch that updates live. It is the same for every reader.
type panel struct {
	batchStatus
	Batch    ledger.Batch
	Summary  report.Summary
	Statuses []report.FilingStatus
	Balance  ledger.Balance
	Holds    []hold
	// OutOfFunds reports whether the rows wait for funds at the filing service itself. Someone adds
	// funds there, then resumes the batch.
	OutOfFunds bool
}

// hold is a reason why rows are not sent now.
type hold struct {
	Class, What, Do string
	// Path and Name are the address and the name of the page that can end the hold, or "" if no
	// page can.
	Path, Name string
	// Until is the time at which the hold ends automatically. Zero if unknown.
	Until time.Time
}

// loadPanel loads the current state of a batch.
func (h *batchHandler) loadPanel(ctx context.Context, b ledger.Batch) (*panel, error) {
	var f ledger.Figures
	var filings ledger.Filings
	var fleet fleetFacts
	err := errors.Join(
		load(&f)(h.overview.loadFigures(ctx, b.ID)),
		load(&filings)(h.overview.loadFilings(ctx, b.ID)),
		load(&fleet)(h.overview.loadFleet(ctx)))
	if err != nil {
		return nil, err
	}
	st, err := h.overview.statusOf(ctx, b, f, filings.Exceptions, fleet)
	p := &panel{
		batchStatus: st,
		Batch:       b,
		Summary:     report.Summary{Batch: b.ID, Figures: f, Filings: filings},
		Statuses:    report.FilingStatuses(filings),
		Balance:     fleet.balance,
	}
	for _, h := range st.Holds {
		p.Holds = append(p.Holds, adviseHold(h, st.facts))
		p.OutOfFunds = p.OutOfFunds || (h.Reason == jobs.HeldForFunds && !fleet.balance.HasDeposit)
	}
	return p, err
}

// adviseHold adds advice to a hold: the action that ends it, and the page for it.
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
		shown.Class, shown.Path, shown.Name = "bad", "/workers", "Workers"
		shown.Do = "No row is lost. Sending starts again automatically when Redis is back."
	case jobs.HeldForCost:
		shown.Do = "No order is placed for them before an approver approves the cost."
	case jobs.HeldForRow:
		shown.Do = "They are sent, or get their result, when that row has its own."
	case jobs.HeldForWorker:
		shown.Do, shown.Path, shown.Name = "No row is lost. An operator must start a worker.", "/workers", "Workers"
	}
	return shown
}

// addFunds and topUp are the advice for insufficient funds, without and with a recorded deposit.
// Recording a first deposit would make the recorded balance the limit.
const addFunds = "No row is lost. Add funds at the filing service, then resume the batch."

const topUp = "No row is lost. Top up at the filing service, then record the deposit: sending starts again right away."

// Say returns the panel as one text for screen readers.
func (p *panel) Say() string {
	text := p.Word + ": " + p.Headline.String()
	for _, h := range p.Holds {
		text += ". " + h.What
	}
	return text
}

// Done reports whether every row has a result.
func (p *panel) Done() bool { return p.Left() == 0 }

// Placing counts the rows with an in-flight request.
func (p *panel) Placing() int { return p.Counts[filing.Placing] }

// Uncertain, Invalid and Refused count rows by their results. ToCorrect counts the rows that need
// corrected cells.
func (p *panel) Uncertain() int { return p.Counts[filing.Uncertain] }
func (p *panel) Invalid() int   { return p.Counts[filing.Invalid] }
func (p *panel) Refused() int   { return p.Counts[filing.Rejected] }
func (p *panel) ToCorrect() int { return p.Invalid() + p.Refused() }

// ToDo reports whether a person has to do something.
func (p *panel) ToDo() bool {
	return p.Uncertain()+p.ToCorrect()+p.Summary.Filings.Exceptions+p.Summary.Filings.Documents > 0
}

// batchProgress returns the current panel of a batch to its open page, as JSON.
func (h *batchHandler) batchProgress(v *request, b ledger.Batch) error {
	p, err := h.loadPanel(v.ctx(), b)
	if err != nil {
		return err
	}
	answer := struct {
		// Panel is HTML.
		Panel string `json:"panel"`
		// Tally is the number of rows per tab.
		Tally map[string]int `json:"tally"`
		// Say is the text for screen readers.
		Say string `json:"say"`
		// Gone reports whether the page is outdated and has to be reloaded.
		Gone bool `json:"gone"`
	}{Tally: tallyOf(p.Counts), Say: p.Say(), Gone: mark(p) != v.query("mark")}
	var html strings.Builder
	if err := templates()["batch.html"].ExecuteTemplate(&html, "panel", p); err != nil {
		return fmt.Errorf("make the panel of a batch: %w", err)
	}
	answer.Panel = html.String()
	return v.sendJSON(http.StatusOK, answer)
}

// pauseBatch stops sending the rows of a batch.
func (h *batchHandler) pauseBatch(v *request, b ledger.Batch) error {
	err := h.Ledger.PauseBatch(v.withAudit("pause", b.ID, ""), b.ID)
	return v.done(err, "/batches/"+b.ID, "The batch is paused. No more rows are sent until someone resumes it. "+
		"Rows already sent get their result.")
}

// resumeBatch resumes a paused batch. It also retries if funds were insufficient.
func (h *batchHandler) resumeBatch(v *request, b ledger.Batch) error {
	err := h.Ledger.ResumeBatch(v.withAudit("resume", b.ID, ""), b.ID)
	return v.done(err, "/batches/"+b.ID, "The batch is resumed.")
}

// cancelBatch cancels the rows that were not sent.
func (h *batchHandler) cancelBatch(v *request, b ledger.Batch) error {
	n, err := h.Ledger.CancelBatch(v.withAudit("cancel", b.ID, ""), b.ID)
	if err != nil {
		return err
	}
	f, err := h.Ledger.ResultFigures(v.ctx(), b.ID)
	if err != nil {
		return err
	}
	text := "Canceled " + count(n, "row") + ". Placed orders stay placed and charged."
	if out := f.Left(); out > 0 {
		text += " Sent, without a result yet: " + count(out, "row") + "."
	}
	return v.done(nil, "/batches/"+b.ID, "%s", text)
}

// dismissRows skips the rows that need attention and will not be corrected.
func (h *batchHandler) dismissRows(v *request, b ledger.Batch) error {
	n, err := strconv.Atoi(v.form("rows"))
	if err != nil || n < 1 {
		return errForm
	}
	err = h.Ledger.Corrections().DismissRows(v.withAudit("dismiss", b.ID, count(n, "row")), b.ID, v.who(), n)
	if err != nil {
		return err
	}
	pending, err := h.Ledger.Corrections().FindPending(v.ctx(), ledger.BatchRow{Batch: b.ID})
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
func (h *batchHandler) retryBatch(v *request, b ledger.Batch) error {
	n, err := h.Ledger.RetryBatch(v.withAudit("retry", b.ID, ""), b.ID)
	return v.done(err, "/batches/"+b.ID, "Ready to send again: %s.", count(n, "rejected row"))
}
