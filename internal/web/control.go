package web

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
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

// errUncheckedRows is the answer to canceling rows that may have been ordered.
var errUncheckedRows = &httpError{http.StatusConflict, "Some rows need checking",
	"Some rows in this batch may have been ordered before the restore. Nothing was changed. " +
		"An operator has to check them first: importer resolve restored."}

// cancelBatch cancels the rows that were not sent.
func (s *Site) cancelBatch(v *request) error {
	b, err := s.findBatch(v)
	if err != nil {
		return err
	}
	n, err := s.Ledger.CancelBatch(v.withAudit("cancel", b.ID, ""), b.ID)
	if errors.Is(err, ledger.ErrUnchecked) {
		return errUncheckedRows
	}
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
	corrected, err := s.Ledger.CountPendingCorrections(v.ctx(), b.ID)
	if err != nil {
		return err
	}
	v.flash("ok", "%s", dismissedText(n, corrected))
	return v.redirect("/batches/" + b.ID)
}

// dismissedText says what is ordered for dismissed rows. Some may also be in a
// correction that someone has opened, which takes their places when it is approved.
func dismissedText(rows, corrected int) string {
	text := fmt.Sprintf("Dismissed %s. The results show %s as skipped", count(rows, "row"), plural(rows, "it", "them"))
	if corrected == 0 {
		return text + ", and nothing is ordered."
	}
	return fmt.Sprintf("%s. A correction of %s is still open: what is ready in it is ordered when it is approved.",
		text,
		count(corrected, "dismissed row"))
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
