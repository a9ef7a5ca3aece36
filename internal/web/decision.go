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
	"time"

	"bulkfiling/internal/ledger"
	"bulkfiling/internal/report"
	"bulkfiling/internal/resolve"
	"bulkfiling/internal/sheet"
)

// decisionSheet gives the uncertain rows of a batch as a workbook to fill in,
// without links to dashboards.
func (s *Site) decisionSheet(v *visit) error {
	return s.giveDecisions(v, func(doubts []report.Doubt) error {
		for i := range doubts {
			doubts[i].NoLink = "no link was asked for"
		}
		return s.fetched(v, v.r.PathValue("batch"), count(len(doubts), "uncertain row"))
	})
}

// linkedSheet gives it with them: whoever has the workbook is signed in by it.
func (s *Site) linkedSheet(v *visit) error {
	return s.giveDecisions(v, func(doubts []report.Doubt) error {
		// A link for each company and user takes its time.
		if err := http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(15 * time.Minute)); err != nil {
			return fmt.Errorf("wait for the links: %w", err)
		}
		if err := v.desk().Link(v.ctx(), doubts); err != nil {
			return err
		}
		return s.Ledger.KeepAct(v.ctx(), ledger.Act{
			By:   v.who(),
			From: v.from(),
			What: "dashboard",
			Of:   v.r.PathValue("batch"),
			Note: count(len(doubts), "uncertain row") + " in a workbook, with links that sign in as their users",
		})
	})
}

func (s *Site) giveDecisions(v *visit, link func([]report.Doubt) error) error {
	b, err := s.theBatch(v)
	if err != nil {
		return err
	}
	doubts, err := report.Uncertain(v.ctx(), s.Ledger, b.ID)
	if err != nil {
		return err
	}
	if len(doubts) == 0 {
		return wrong("No row of %s is uncertain any more.", b.File)
	}
	if err := link(doubts); err != nil {
		return err
	}
	return v.download(baseName(b.File)+".uncertain.xlsx",
		func(path string) error { return report.WriteUncertain(b, doubts, path) })
}

// decisionsPage shows what a sheet of decisions comes to, before it is done.
type decisionsPage struct {
	Batch       ledger.Batch
	File        string
	Plan        *resolve.Plan
	Effect      resolve.Effect
	Settlements []plannedSettlement // the first of them
	Rest        int
	Against     objection
	After       ledger.Book

	Decisions string // the sheet, read
	Name      string // of all this: a plan that is another one by now is shown again
}

type plannedSettlement struct {
	*resolve.Settlement
	What string
}

// Limits of a sheet of decisions.
const (
	maxDecisions     = 8 << 20 // bytes of the file
	maxDecided       = 1 << 20 // bytes of what was decided: it stands in the page that asks once more
	settlementsShown = 200
)

// takeDecisions reads a workbook that was filled in and shows what it comes to.
// It is small, and read where it arrives: nothing of it is on a disk.
func (s *Site) takeDecisions(v *visit) error {
	file, err := v.file(maxDecisions)
	if err != nil {
		return err
	}
	defer file.Close()
	if ending := strings.ToLower(filepath.Ext(file.name)); ending != ".xlsx" && ending != ".csv" {
		return wrong("%s is not the workbook to fill in: that is an .xlsx, or a .csv.", file.name)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxDecisions+1))
	if err != nil {
		return file.trouble(err)
	}
	if len(content) > maxDecisions {
		return file.trouble(&http.MaxBytesError{Limit: maxDecisions})
	}
	leave, err := sheet.Enter(v.ctx())
	if err != nil {
		return err
	}
	defer leave()
	decisions, err := report.ReadDecisionsFrom(file.name, bytes.NewReader(content), int64(len(content)))
	var format *sheet.FormatError
	switch {
	case errors.As(err, &format):
		return wrong("%s. Nothing was settled.", strings.TrimRight(err.Error(), "."))
	case errors.Is(err, report.ErrNoDecisions):
		return wrong(
			"%s is not the workbook to fill in: download it, fill in the column %s and the ids beside it, and send "+
				"it back. Nothing was settled.", file.name, report.DecisionColumn)
	case err != nil:
		return err
	}
	return s.showDecisions(v, decisions)
}

func (s *Site) showDecisions(v *visit, decisions *report.Decisions) error {
	p, err := s.decided(v, decisions)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if len(p.Plan.Problems) > 0 {
		status = http.StatusUnprocessableEntity
	}
	return v.showStatus(status, "decisions.html", "Settle by a workbook", p)
}

// decided finds out what a sheet of decisions comes to.
func (s *Site) decided(v *visit, decisions *report.Decisions) (*decisionsPage, error) {
	b, err := s.theBatch(v)
	if err != nil {
		return nil, err
	}
	plan, err := v.desk().Plan(v.ctx(), b.ID, decisions)
	if err != nil {
		_, _, other := faultText(err)
		return nil, errors.Join(other) // never a fault: those are problems of the plan
	}
	told, err := v.desk().Told(v.ctx(), plan.Orders())
	if err != nil {
		return nil, err
	}
	p := &decisionsPage{Batch: b, File: decisions.File, Plan: plan, Effect: plan.Effect()}
	if p.After, err = s.Ledger.Book(v.ctx()); err != nil {
		return nil, err
	}
	p.After.Reserved -= p.Effect.Spent + p.Effect.Free
	p.After.Posted += p.Effect.Spent
	var why []string
	var name strings.Builder
	for _, one := range plan.Settlements {
		why = append(why, told.Against(one)...)
		what := settledText(one.Doubt.Row, one)
		fmt.Fprintln(&name, one.Doubt.Row.ID, one.Doubt.Row.Tries, int64(one.Doubt.Row.Held), what)
		if len(p.Settlements) < settlementsShown {
			p.Settlements = append(p.Settlements, plannedSettlement{one, what})
		} else {
			p.Rest++
		}
	}
	p.Against = object(why)
	p.Name = fingerprint(name.String() + p.Against.Name)
	// Rows that were left need no second look.
	kept := *decisions
	kept.All = nil
	for _, d := range decisions.All {
		if d.Verdict() != report.DecidedLeave {
			kept.All = append(kept.All, d)
		}
	}
	body, err := json.Marshal(kept)
	if err != nil {
		return nil, fmt.Errorf("keep the decisions: %w", err)
	}
	if len(body) > maxDecided {
		return nil, wrong(
			"%s decides on too many rows at once: leave the decisions of some thousand rows for a second sheet, or "+
				"use the command importer resolve --from. Nothing was settled.", decisions.File)
	}
	p.Decisions = string(body)
	return p, nil
}

// settleAll settles rows by a sheet of decisions that was looked at.
func (s *Site) settleAll(v *visit) error {
	form := v.r.PostForm
	var decisions report.Decisions
	if err := json.Unmarshal([]byte(form.Get("decisions")), &decisions); err != nil {
		return errForm
	}
	p, err := s.decided(v, &decisions)
	if err != nil {
		return err
	}
	if len(p.Plan.Settlements) == 0 && len(p.Plan.Problems) == 0 {
		v.say("note", "All of it is settled already.")
		return v.goTo("/uncertain?batch=" + p.Batch.ID)
	}
	if len(p.Plan.Problems) > 0 || p.Name != form.Get("plan") || p.Against.Name != form.Get("anyway") {
		return s.showDecisions(v, &decisions)
	}
	if err := http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(15 * time.Minute)); err != nil {
		return fmt.Errorf("wait for the settlements: %w", err)
	}
	done := resolve.Plan{}
	quicker := 0
	for _, one := range p.Plan.Settlements {
		act := ledger.Act{
			By:   v.who(),
			From: v.from(),
			What: "resolve",
			Of:   p.Batch.ID,
			Note: settledText(one.Doubt.Row, one) + ", by " + p.File,
		}
		if v.once != "" {
			act.ID = fmt.Sprintf("%s-%d", v.once, one.Doubt.Row.ID)
		}
		_, err := v.desk().Settle(ledger.Acting(v.ctx(), act), one)
		switch {
		case errors.Is(err, ledger.ErrTransition), errors.Is(err, ledger.ErrStale), errors.Is(err, ledger.ErrDone):
			quicker++
		case err != nil:
			return fmt.Errorf("settle rows by a sheet, after %d of them: %w", len(done.Settlements), err)
		default:
			done.Settlements = append(done.Settlements, one)
		}
	}
	e := done.Effect()
	said := fmt.Sprintf("%s settled: %d placed, %s is spent; %d never made, %s is set free.",
		count(len(done.Settlements), "row"), e.Placed, e.Spent.Dollars(), e.Never, e.Free.Dollars())
	if e.Created > 0 {
		said += fmt.Sprintf(" Beside them %s that were created.", count(e.Created, "company record"))
	}
	if quicker > 0 {
		said += fmt.Sprintf(" %s settled by somebody else, or by an event, meanwhile.", isAre(quicker, "row"))
	}
	available, err := s.availableText(v)
	if err != nil {
		return err
	}
	v.say("ok", "%s%s", said, available)
	return v.goTo("/uncertain?batch=" + p.Batch.ID)
}
