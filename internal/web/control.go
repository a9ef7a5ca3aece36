package web

import (
	"strconv"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// pauseBatch keeps the rest of a batch back.
func (s *Site) pauseBatch(v *request) error {
	b, err := s.findBatch(v)
	if err != nil {
		return err
	}
	if err := s.Ledger.PauseBatch(v.withAudit("pause", b.ID, ""), b.ID); err != nil {
		return err
	}
	s.summaries.forget(b.ID)
	v.flash("ok", "The batch is paused. No more rows are sent until someone resumes it. Rows already sent get "+
		"their result.")
	return v.redirect("/batches/" + b.ID)
}

// resumeBatch lets a batch go on, and asks again where funds were out.
func (s *Site) resumeBatch(v *request) error {
	b, err := s.findBatch(v)
	if err != nil {
		return err
	}
	if err := s.Ledger.ResumeBatch(v.withAudit("resume", b.ID, ""), b.ID); err != nil {
		return err
	}
	s.summaries.forget(b.ID)
	v.flash("ok", "The batch is resumed.")
	return v.redirect("/batches/" + b.ID)
}

// cancelBatch cancels the rows that were not sent.
func (s *Site) cancelBatch(v *request) error {
	b, err := s.findBatch(v)
	if err != nil {
		return err
	}
	n, err := s.Ledger.CancelBatch(v.withAudit("cancel", b.ID, ""), b.ID)
	if err != nil {
		return err
	}
	s.summaries.forget(b.ID)
	counts, err := s.Ledger.Counts(v.ctx(), b.ID)
	if err != nil {
		return err
	}
	text := "Canceled " + count(n, "row") + ". Placed orders stay placed and charged."
	if out := counts[filing.Ready] + counts[filing.Placing]; out > 0 {
		text += " Sent, without a result yet: " + count(out, "row") + "."
	}
	v.flash("ok", "%s", text)
	return v.redirect("/batches/" + b.ID)
}

// dismissRows takes rows that no one will correct off the list of what needs
// action.
func (s *Site) dismissRows(v *request) error {
	b, err := s.findBatch(v)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(v.r.PostForm.Get("rows"))
	if err != nil || n < 1 {
		return errForm
	}
	if err := s.Ledger.DismissRows(v.withAudit("dismiss", b.ID, count(n, "row")), b.ID, v.who(), n); err != nil {
		return err
	}
	s.summaries.forget(b.ID)
	v.flash("ok", "Dismissed %s. Nothing is ordered for them, and they are skipped in the results.", count(n, "row"))
	return v.redirect("/batches/" + b.ID)
}

// retryBatch lets what the service refused be sent again.
func (s *Site) retryBatch(v *request) error {
	b, err := s.findBatch(v)
	if err != nil {
		return err
	}
	n, err := s.Ledger.RetryBatch(v.withAudit("retry", b.ID, ""), b.ID)
	if err != nil {
		return err
	}
	s.summaries.forget(b.ID)
	v.flash("ok", "Ready to send again: %s.", count(n, "rejected row"))
	return v.redirect("/batches/" + b.ID)
}
