package web

import (
	"errors"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
)

// restoreForm asks for what of a batch may have been sent after the backup that
// the ledger was restored from.
type restoreForm struct {
	Check *resolve.RestoreCheck // nil before it is asked for
	Text  string                // since when, as it was typed
	Error string
}

var errSince = errors.New("enter the time of the backup in UTC, such as 2026-03-01 02:00")

// parseSince reads a time of UTC unless it says otherwise: a server does not know its
// reader's zone.
func parseSince(text string) (time.Time, error) {
	at, err := resolve.ParseSince(text, time.UTC, time.Now())
	switch {
	case errors.Is(err, resolve.ErrFuture):
		return at, errors.New("this time is in the future; enter the time of the backup")
	case err != nil, at.IsZero():
		return at, errSince
	}
	return at, nil
}

// restoreForm lists what may have been sent, where the address asks for it.
func (s *Site) restoreForm(v *request, b ledger.Batch) (*restoreForm, error) {
	if !b.Open {
		return nil, nil
	}
	ask := v.r.URL.Query()
	p := &restoreForm{Text: shortened(ask.Get("since"), 100)}
	if !ask.Has("since") {
		return p, nil
	}
	since, err := parseSince(p.Text)
	if err != nil {
		p.Error = sentence(err.Error())
		return p, nil
	}
	p.Check, err = v.resolver().CheckRestore(v.ctx(), b, nil, since)
	return p, err
}

// markUncertain makes the ready rows of a batch uncertain: they may have been sent
// without the ledger knowing of it.
func (s *Site) markUncertain(v *request) error {
	b, err := s.findBatch(v)
	if err != nil {
		return err
	}
	since, err := parseSince(v.r.PostForm.Get("since"))
	if err != nil {
		return badRequest("%s Nothing was changed.", sentence(err.Error()))
	}
	if err := v.extendDeadline(); err != nil {
		return err
	}
	found, err := v.resolver().CheckRestore(v.ctx(), b, nil, since)
	if errors.Is(err, resolve.ErrNotSubmitted) {
		return badRequest("This batch was not submitted, so none of its rows was sent. Nothing was changed.")
	}
	if err != nil {
		return err
	}
	if len(found.Rows) == 0 {
		v.flash("note", "No ready rows are left that may have been sent.")
		return v.redirect("/uncertain?batch=" + b.ID)
	}
	note := fmt.Sprintf("%s may have been sent since %s", count(len(found.Rows), "row"),
		since.Format("2006-01-02 15:04 UTC"))
	did, err := v.resolver().MarkUncertain(v.withAudit("mark-uncertain", b.ID, note), found)
	if err != nil {
		return err
	}
	v.flash(markedText(did))
	return v.redirect("/uncertain?batch=" + b.ID)
}
