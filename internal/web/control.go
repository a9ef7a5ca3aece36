package web

import (
	"bulkfiling/internal/filing"
)

// pauseBatch keeps the rest of a batch back.
func (s *Site) pauseBatch(v *visit) error {
	b, err := s.theBatch(v)
	if err != nil {
		return err
	}
	if err := s.Ledger.PauseBatch(v.acting("pause", b.ID, ""), b.ID); err != nil {
		return err
	}
	s.sights.forget(b.ID)
	v.say("ok", "The batch is paused. No more rows are sent until someone resumes it. Rows already sent get "+
		"their result.")
	return v.goTo("/batches/" + b.ID)
}

// resumeBatch lets a batch go on, and asks again where funds were out.
func (s *Site) resumeBatch(v *visit) error {
	b, err := s.theBatch(v)
	if err != nil {
		return err
	}
	if err := s.Ledger.ResumeBatch(v.acting("resume", b.ID, ""), b.ID); err != nil {
		return err
	}
	s.sights.forget(b.ID)
	v.say("ok", "The batch is resumed.")
	return v.goTo("/batches/" + b.ID)
}

// cancelBatch takes back what was not sent.
func (s *Site) cancelBatch(v *visit) error {
	b, err := s.theBatch(v)
	if err != nil {
		return err
	}
	n, err := s.Ledger.CancelBatch(v.acting("cancel", b.ID, ""), b.ID)
	if err != nil {
		return err
	}
	s.sights.forget(b.ID)
	counts, err := s.Ledger.Counts(v.ctx(), b.ID)
	if err != nil {
		return err
	}
	text := "Canceled " + count(n, "row") + ". Placed orders stay placed and charged."
	if out := counts[filing.Ready] + counts[filing.Placing]; out > 0 {
		text += " Sent, without a result yet: " + count(out, "row") + "."
	}
	v.say("ok", "%s", text)
	return v.goTo("/batches/" + b.ID)
}

// retryBatch lets what the service refused be sent again.
func (s *Site) retryBatch(v *visit) error {
	b, err := s.theBatch(v)
	if err != nil {
		return err
	}
	n, err := s.Ledger.RetryBatch(v.acting("retry", b.ID, ""), b.ID)
	if err != nil {
		return err
	}
	s.sights.forget(b.ID)
	v.say("ok", "Ready to send again: %s.", count(n, "rejected row"))
	return v.goTo("/batches/" + b.ID)
}
