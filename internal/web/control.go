package web

import (
	"strconv"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// pauseBatch keeps the rest of a batch back.
func (s *Site) pauseBatch(v *request, b ledger.Batch) error {
	err := s.Ledger.PauseBatch(v.withAudit("pause", b.ID, ""), b.ID)
	return v.done(err, "/batches/"+b.ID, "The batch is paused. No more rows are sent until someone resumes it. "+
		"Rows already sent get their result.")
}

// resumeBatch lets a batch go on, and asks again where funds were out.
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

// dismissRows takes rows that no one will correct off the list of what needs
// action.
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

// retryBatch lets what the service refused be sent again.
func (s *Site) retryBatch(v *request, b ledger.Batch) error {
	n, err := s.Ledger.RetryBatch(v.withAudit("retry", b.ID, ""), b.ID)
	return v.done(err, "/batches/"+b.ID, "Ready to send again: %s.", count(n, "rejected row"))
}
