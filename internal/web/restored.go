package web

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// The page leads through what has to be done after the ledger was restored from a
// backup, or went back in time in another way, in its order. Nothing on it is sent before the last steps.

var restoredRoutes = []route{
	{pattern: "GET /restore", may: viewer, serve: (*Site).restored},
	{pattern: "POST /restore/mark-uncertain", may: operator, serve: (*Site).markAllUncertain},
	{pattern: "POST /restore/batches/{batch}/not-ordered", may: operator, serve: (*Site).markNotOrdered},
	{pattern: "POST /restore/resume", may: operator, serve: (*Site).resumeRestored},
	{pattern: "POST /restore/end-check", may: operator, serve: (*Site).endRestoreCheck},
}

// restoredPage is what the page shows.
type restoredPage struct {
	Restore   *ledger.Restore // nil for a ledger that never went back in time
	Halted    bool            // nothing is sent
	Note      string          // why
	Batches   []ledger.RestoredBatch
	Unchecked int // of all batches
	Ready     int
	Uncertain int
	Placing   int
	New       int // batches that were submitted since
	Schedules []pausedSchedule
	Backups   backupFacts
}

// pausedSchedule is a schedule that the restore paused.
type pausedSchedule struct {
	Name, Path string
	Paused     bool // still
}

// Checking reports whether rows are held until they are checked.
func (p *restoredPage) Checking() bool { return p.Restore != nil && p.Restore.Checking() }

func (s *Site) restored(v *request) error {
	p, err := s.loadRestored(v)
	if err != nil {
		return err
	}
	return v.show("restored.html", "Restored ledger", p)
}

func (s *Site) loadRestored(v *request) (*restoredPage, error) {
	ctx, p := v.ctx(), &restoredPage{}
	halted, err := s.Ledger.Fleet().Halt(ctx)
	if err != nil {
		return nil, err
	}
	p.Halted, p.Note = halted.Reason == filing.HaltRestored, halted.Note
	last, err := s.Ledger.Restores().Last(ctx)
	switch {
	case err == nil:
		p.Restore = &last
	case !errors.Is(err, ledger.ErrNotFound):
		return nil, err
	}
	if p.Restore == nil && !p.Halted {
		p.Backups, err = s.loadBackups(ctx)
		return p, err
	}
	if p.Batches, err = s.Ledger.Restores().Batches(ctx); err != nil {
		return nil, err
	}
	for _, b := range p.Batches {
		p.Unchecked += b.Unchecked
		p.Ready += b.Ready
		p.Uncertain += b.Uncertain
		p.Placing += b.Placing
		if b.New {
			p.New++
		}
	}
	if p.Restore == nil {
		return p, nil
	}
	for _, name := range p.Restore.Schedules {
		found, err := schedule.Find(ctx, s.Ledger, name)
		if errors.Is(err, ledger.ErrNotFound) {
			continue // it was deleted since
		}
		if err != nil {
			return nil, err
		}
		p.Schedules = append(p.Schedules, pausedSchedule{Name: name, Path: schedulePath(name), Paused: found.Paused})
	}
	return p, nil
}

// restoredAnchor is where the page lists the rows.
const restoredAnchor = "/restore#rows"

// markAllUncertain makes every row uncertain that may have been ordered: those of all
// batches, the oldest first, which has the purchase.
func (s *Site) markAllUncertain(v *request) error {
	if err := v.extendDeadline(); err != nil {
		return err
	}
	last, err := s.Ledger.Restores().Last(v.ctx())
	if errors.Is(err, ledger.ErrNotFound) {
		return badRequest("The ledger never went back in time. Nothing was changed.")
	}
	if err != nil {
		return err
	}
	batches, err := s.Ledger.Restores().Batches(v.ctx())
	if err != nil {
		return err
	}
	only := v.r.PostForm.Get("batch") // "" for all
	ctx := v.withAudit("mark-uncertain", only, "may have been ordered "+last.Window())
	var all resolve.Marked
	for _, b := range batches {
		if b.Unchecked == 0 || only != "" && b.ID != only {
			continue
		}
		batch, err := s.Ledger.Batch(v.ctx(), b.ID)
		if err != nil {
			return err
		}
		found, err := v.resolver().CheckRestore(v.ctx(), batch, nil, last.BackupAt)
		if err != nil {
			return err
		}
		did, err := v.resolver().MarkUncertain(ctx, found)
		if err != nil {
			return err
		}
		all.Add(did)
		s.summaries.forget(b.ID)
	}
	v.flash(markedText(all))
	return v.redirect(restoredAnchor)
}

// markedText says how many rows that may have been ordered are uncertain now.
func markedText(did resolve.Marked) (kind, format, said string) {
	kind, said = "ok", fmt.Sprintf("%s now uncertain and not sent before they are resolved.",
		isAre(did.Uncertain, "row"))
	if did.Uncertain == 0 {
		kind, said = "note", "No row was marked as uncertain."
	}
	for _, unchanged := range did.Unchanged() {
		said += " " + unchanged
	}
	if n := len(did.Failed); n > 0 {
		kind = "bad"
		said += fmt.Sprintf(" %s could not be looked up. Repeat this until none is left. First error: %s.",
			count(n, "row"), did.Failed[0])
	}
	return kind, "%s", said
}

// markNotOrdered lets the rows of a batch be sent: the reader knows that they were not
// ordered between the backup and the restore.
func (s *Site) markNotOrdered(v *request) error {
	b, err := s.findBatch(v)
	if err != nil {
		return err
	}
	rows, err := strconv.Atoi(v.r.PostForm.Get("rows"))
	if err != nil || rows < 1 {
		return errForm
	}
	if v.r.PostForm.Get("sure") == "" {
		return badRequest("Select the box that you checked the rows. Nothing was changed.")
	}
	last, err := s.Ledger.Restores().Last(v.ctx())
	if err != nil {
		return err
	}
	err = s.Ledger.Restores().MarkNotOrdered(v.withAudit("not-ordered", b.ID,
		count(rows, "row")+" not ordered "+last.Window()), b.ID, rows)
	switch {
	case errors.Is(err, ledger.ErrStale):
		return &httpError{http.StatusConflict, "The rows have changed",
			"Another number of rows waits for the check now. Open the page again and check them. Nothing was changed."}
	case err != nil:
		return err
	}
	s.summaries.forget(b.ID)
	v.flash("ok", "Marked as not ordered: %s. They are sent as soon as orders are sent.", count(rows, "row"))
	return v.redirect(restoredAnchor)
}

// resumeRestored lets orders be sent again.
func (s *Site) resumeRestored(v *request) error {
	if v.r.PostForm.Get("sure") == "" {
		return badRequest("Select the box that you understand the risk. Nothing was changed.")
	}
	halted, err := s.Ledger.Fleet().Halt(v.ctx())
	if err != nil {
		return err
	}
	if halted.Reason != filing.HaltRestored {
		v.flash("note", "Orders are already sent again.")
		return v.redirect("/restore")
	}
	if err := s.Ledger.Fleet().EndRestored(v.withAudit("end-restored", "", halted.Note)); err != nil {
		return err
	}
	v.flash("ok", "Orders are sent again. Rows that are not checked stay held.")
	return v.redirect("/restore")
}

// endRestoreCheck ends the check of rows that are new in the ledger.
func (s *Site) endRestoreCheck(v *request) error {
	if v.r.PostForm.Get("sure") == "" {
		return badRequest("Select the box that all spreadsheets of that time are here. Nothing was changed.")
	}
	err := s.Ledger.Restores().EndCheck(v.withAudit("end-check", "", ""))
	if errors.Is(err, ledger.ErrUnchecked) {
		return &httpError{http.StatusConflict, "Rows are left to check",
			"First mark the rows in step 3 as uncertain or as not ordered. Nothing was changed."}
	}
	if errors.Is(err, ledger.ErrUncertainCompany) {
		return &httpError{http.StatusConflict, "Some companies are uncertain",
			"The companies of some rows may have been created before the restore. Nothing was changed. " +
				"Resolve these rows under Uncertain first."}
	}
	if err != nil {
		return err
	}
	v.flash("ok", "New rows are sent without the check from now on.")
	return v.redirect("/restore")
}
