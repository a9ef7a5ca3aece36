package web

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"bulkfiling/internal/ledger"
	"bulkfiling/internal/resolve"
)

// restoreForm asks for what of a batch may have been sent after the backup that
// the ledger was restored from.
type restoreForm struct {
	Check *resolve.RestoreCheck // nil before somebody asks
	Text  string                // since when, as it was typed
	Error string
}

// sinceForms are the ways to write a moment. It is one of UTC unless it says
// otherwise: a server does not know its reader's zone.
var sinceForms = []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05",
	"2006-01-02T15:04", time.DateOnly}

var errSince = errors.New("write the moment of the backup such as 2026-03-01 02:00, in UTC")

func parseSince(text string) (time.Time, error) {
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "UTC"))
	for _, form := range sinceForms {
		at, err := time.Parse(form, text)
		switch {
		case err != nil:
		case at.After(time.Now()):
			return at, errors.New("that moment is still to come")
		default:
			return at, nil
		}
	}
	return time.Time{}, errSince
}

// restoreForm lists what may have been sent, where the address asks for it.
func (s *Site) restoreForm(v *visit, b ledger.Batch) (*restoreForm, error) {
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
func (s *Site) markUncertain(v *visit) error {
	b, err := s.theBatch(v)
	if err != nil {
		return err
	}
	since, err := parseSince(v.r.PostForm.Get("since"))
	if err != nil {
		return wrong("%s Nothing was changed.", sentence(err.Error()))
	}
	if err := http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(15 * time.Minute)); err != nil {
		return fmt.Errorf("wait for what is looked up: %w", err)
	}
	found, err := v.resolver().CheckRestore(v.ctx(), b, nil, since)
	if errors.Is(err, resolve.ErrNotSubmitted) {
		return wrong("The batch is not handed in: nothing of it can have been sent from this ledger.")
	}
	if err != nil {
		return err
	}
	if len(found.Rows) == 0 {
		v.say("note", "No ready row is left to suppose anything of.")
		return v.goTo("/uncertain?batch=" + b.ID)
	}
	note := fmt.Sprintf("supposes that %s were sent since %s", count(len(found.Rows), "row"),
		since.Format("2006-01-02 15:04 UTC"))
	did, err := v.resolver().MarkUncertain(v.acting("doubt", b.ID, note), found)
	if err != nil {
		return err
	}
	kind, said := "ok", fmt.Sprintf("%s uncertain now: nothing of them is sent before it is settled.",
		isAre(did.Uncertain, "row"))
	for _, left := range []struct {
		rows int
		why  string
	}{
		{did.Bought, "left: bought before"}, {did.Waiting, "left: another row in doubt has the same purchase"},
		{did.Absent, "left: the service knows no such company or user"}, {did.Gone, "left: not ready any more"},
	} {
		if left.rows > 0 {
			said += fmt.Sprintf(" %s %s.", count(left.rows, "row"), left.why)
		}
	}
	if n := len(did.Failed); n > 0 {
		kind = "bad"
		said += fmt.Sprintf(
			" %s could not be looked up and may still be sent: pause the batch and do it again until none is left. "+
				"The first: %s.", count(n, "row"), did.Failed[0])
	}
	v.say(kind, "%s", said)
	return v.goTo("/uncertain?batch=" + b.ID)
}
