package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// decisionSheet gives the uncertain rows of a batch as a workbook to fill in,
// without links to dashboards.
func (s *Site) decisionSheet(v *request) error {
	return s.giveDecisions(v, func(orders []*resolve.UncertainOrder) error {
		for _, o := range orders {
			o.NoDashboard = "not requested"
		}
		return s.recordDownload(v, v.r.PathValue("batch"), count(len(orders), "uncertain row"))
	})
}

// linkedSheet sends the workbook with dashboard links, which sign in anyone who
// has the workbook.
func (s *Site) linkedSheet(v *request) error {
	return s.giveDecisions(v, func(orders []*resolve.UncertainOrder) error {
		// A link for each company and user takes its time.
		if err := v.extendDeadline(); err != nil {
			return err
		}
		if err := v.resolver().LinkDashboards(v.ctx(), orders); err != nil {
			return err
		}
		return s.Ledger.AuditLog().Record(v.ctx(), ledger.AuditEvent{
			By:   v.who(),
			From: v.from(),
			What: "dashboard",
			Of:   v.r.PathValue("batch"),
			Note: count(len(orders), "uncertain row") + " in a workbook with links that sign in as the users",
		})
	})
}

func (s *Site) giveDecisions(v *request, link func([]*resolve.UncertainOrder) error) error {
	b, err := s.findBatch(v)
	if err != nil {
		return err
	}
	orders, err := resolve.ListUncertain(v.ctx(), s.Ledger, b.ID)
	if err != nil {
		return err
	}
	if len(orders) == 0 {
		return badRequest("%s has no uncertain rows any more.", b.File)
	}
	if err := link(orders); err != nil {
		return err
	}
	return v.download(baseName(b.File)+".uncertain.xlsx",
		func(path string) error { return report.WriteUncertain(b, orders, path) })
}

// decisionsPage shows what a sheet of decisions comes to, before it is done.
type decisionsPage struct {
	Batch       ledger.Batch
	File        string
	Plan        *resolve.Plan
	Effect      resolve.Effect
	Problems    []string            // each at its cell
	Resolutions []plannedResolution // the first of them
	Rest        int
	Objections  []string
	After       ledger.Balance

	Decisions string // the sheet, read
	Name      string // of all this: a plan that is another one by now is shown again
}

type plannedResolution struct {
	*resolve.Resolution
	What string
}

// Limits of a sheet of decisions.
const (
	maxDecisions     = 8 << 20 // bytes of the file
	maxDecided       = 1 << 20 // bytes of decisions, which the confirmation page carries
	resolutionsShown = 200
)

// checkWorkbook reads a completed workbook and shows its effect.
// It is small, and read where it arrives: nothing of it is on a disk.
func (s *Site) checkWorkbook(v *request) error {
	file, err := v.file(maxDecisions)
	if err != nil {
		return err
	}
	defer file.Close()
	if ending := strings.ToLower(filepath.Ext(file.name)); ending != ".xlsx" && ending != ".csv" {
		return badRequest("%s is not the workbook of uncertain rows. Upload an .xlsx or .csv file. "+
			"No row was resolved.", file.name)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxDecisions+1))
	if err != nil {
		return file.readError(err)
	}
	if len(content) > maxDecisions {
		return file.readError(&http.MaxBytesError{Limit: maxDecisions})
	}
	leave, err := sheet.AcquireReader(v.ctx())
	if err != nil {
		return err
	}
	defer leave()
	decisions, err := report.ReadDecisionsFrom(file.name, bytes.NewReader(content), int64(len(content)))
	var format *sheet.FormatError
	switch {
	case errors.As(err, &format):
		return badRequest("%s. No row was resolved.", strings.TrimRight(err.Error(), "."))
	case errors.Is(err, report.ErrNoDecisions):
		return badRequest(
			"%s is not the workbook of uncertain rows. No row was resolved. Download the workbook, fill in the "+
				"column %s and the IDs beside it, then upload it.", file.name, resolve.DecisionField)
	case err != nil:
		return err
	}
	return s.showDecisions(v, decisions)
}

func (s *Site) showDecisions(v *request, decisions *report.DecisionSheet) error {
	p, err := s.decided(v, decisions)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if len(p.Plan.Problems) > 0 {
		status = http.StatusUnprocessableEntity
	}
	return v.showStatus(status, "uncertain-workbook.html", "Resolve with a workbook", p)
}

// decided finds out what a sheet of decisions comes to.
func (s *Site) decided(v *request, decisions *report.DecisionSheet) (*decisionsPage, error) {
	b, err := s.findBatch(v)
	if err != nil {
		return nil, err
	}
	plan, err := v.resolver().Plan(v.ctx(), b.ID, decisions.Decisions)
	if err != nil {
		_, _, other := faultText(err)
		return nil, errors.Join(other) // never a fault: those are problems of the plan
	}
	p := &decisionsPage{
		Batch:    b,
		File:     decisions.File,
		Plan:     plan,
		Problems: decisions.Problems(plan.Problems),
		Effect:   resolve.EffectOf(plan.Resolutions),
	}
	if p.After, err = s.Ledger.Balance(v.ctx()); err != nil {
		return nil, err
	}
	p.After.Reserved -= p.Effect.Spent + p.Effect.Released
	p.After.Posted += p.Effect.Spent
	var name strings.Builder
	for _, r := range plan.Resolutions {
		p.Objections = append(p.Objections, r.Objections...)
		row := r.Order.Row
		what := resolutionText(row, r)
		fmt.Fprintln(&name, row.ID, row.Tries, int64(row.Reserved), what)
		if len(p.Resolutions) < resolutionsShown {
			p.Resolutions = append(p.Resolutions, plannedResolution{r, what})
		} else {
			p.Rest++
		}
	}
	p.Name = fingerprint(name.String() + confirmation(p.Objections))
	// Rows that were left need no second look.
	kept := *decisions
	kept.Decisions = nil
	for _, d := range decisions.Decisions {
		if d.Verdict() != resolve.Leave {
			kept.Decisions = append(kept.Decisions, d)
		}
	}
	body, err := json.Marshal(kept)
	if err != nil {
		return nil, fmt.Errorf("keep the decisions: %w", err)
	}
	if len(body) > maxDecided {
		return nil, badRequest(
			"%s has too many decisions. No row was resolved. Split it into two workbooks, or use the command "+
				"importer resolve import.", decisions.File)
	}
	p.Decisions = string(body)
	return p, nil
}

// resolveByWorkbook resolves rows by a workbook that was checked.
func (s *Site) resolveByWorkbook(v *request) error {
	form := v.r.PostForm
	var decisions report.DecisionSheet
	if err := json.Unmarshal([]byte(form.Get("decisions")), &decisions); err != nil {
		return errForm
	}
	p, err := s.decided(v, &decisions)
	if err != nil {
		return err
	}
	if len(p.Plan.Resolutions) == 0 && len(p.Plan.Problems) == 0 {
		v.flash("note", "All rows in this workbook are already resolved.")
		return v.redirect("/uncertain?batch=" + p.Batch.ID)
	}
	if len(p.Plan.Problems) > 0 || p.Name != form.Get("plan") || confirmation(p.Objections) != form.Get("anyway") {
		return s.showDecisions(v, &decisions)
	}
	if err := v.extendDeadline(); err != nil {
		return err
	}
	var done []*resolve.Resolution
	quicker := 0
	for _, one := range p.Plan.Resolutions {
		act := ledger.AuditEvent{
			By:   v.who(),
			From: v.from(),
			What: "resolve",
			Of:   p.Batch.ID,
			Note: resolutionText(one.Order.Row, one) + ", by " + p.File,
		}
		if v.once != "" {
			act.ID = fmt.Sprintf("%s-%d", v.once, one.Order.Row.ID)
		}
		_, err := v.resolver().Resolve(ledger.WithAudit(v.ctx(), act), one)
		switch {
		case errors.Is(err, ledger.ErrTransition), errors.Is(err, ledger.ErrStale), errors.Is(err, ledger.ErrDone):
			quicker++
		case err != nil:
			return fmt.Errorf("resolve rows by a workbook, after %d of them: %w", len(done), err)
		default:
			done = append(done, one)
		}
	}
	e := resolve.EffectOf(done)
	said := fmt.Sprintf("Resolved %s: %d placed, %s charged; %d not placed, %s released.",
		count(len(done), "row"), e.Placed, e.Spent.Dollars(), e.NotPlaced, e.Released.Dollars())
	if e.Created > 0 {
		said += fmt.Sprintf(" Also saved %s that were created.", count(e.Created, "company record"))
	}
	if quicker > 0 {
		said += fmt.Sprintf(" %s already resolved by someone else or by an event.", isAre(quicker, "row"))
	}
	available, err := s.availableText(v)
	if err != nil {
		return err
	}
	v.flash("ok", "%s%s", said, available)
	return v.redirect("/uncertain?batch=" + p.Batch.ID)
}
