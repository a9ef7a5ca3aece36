package web

import (
	"bytes"
	"context"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// progress is how far the preparation of an upload has come.
type progress struct{ Stages []progressStage }

// progressStage is a stage and how much of it is done.
type progressStage struct {
	Name        stage
	State       string // "done", "current" or "next"
	Done, Total int    // rows; Total is 0 where it is not known
}

// Percent is how much of the stage is done. It is 100 only when all of it is.
func (s progressStage) Percent() int {
	if s.Total == 0 {
		return 0
	}
	return 100 * s.Done / s.Total
}

// Text is the present stage for a screen reader.
func (p progress) Text() string {
	for _, s := range p.Stages {
		if s.State == "current" {
			return string(s.Name)
		}
	}
	return ""
}

// stages are the stages in their order. The file has arrived before the first.
var stages = []stage{stageReads, stageLooksUp, stageQuotes}

// progress returns the stages with the numbers of the present one.
func (p *preparation) progress() progress {
	at := p.stage.Load().(stage)
	all := progress{Stages: []progressStage{{Name: "Upload", State: "done"}}}
	if at == stageWaits {
		all.Stages = append(all.Stages, progressStage{Name: stageWaits, State: "current"})
	}
	state := "done"
	if at == stageWaits {
		state = "next"
	}
	for _, name := range stages {
		s := progressStage{Name: name, State: state}
		if name == at {
			s.State, state = "current", "next"
			s.Done, s.Total = p.counts(at)
		}
		all.Stages = append(all.Stages, s)
	}
	return all
}

// counts returns how many rows of a stage are done, of how many.
func (p *preparation) counts(at stage) (done, total int) {
	switch at {
	case stageReads:
		done, total = int(p.rows.Load()), int(p.total.Load())
	case stageLooksUp:
		done, total = int(p.looked.Load()), int(p.toLook.Load())
	}
	if total > 0 {
		done = min(done, total)
	}
	return done, total
}

// countRows counts the rows of an upload, so that the progress of reading them has
// a total. Where that fails, the total is unknown.
func (p *prepareQueue) countRows(ctx context.Context, u ledger.Upload, now *preparation) {
	survey, err := p.survey(ctx, u)
	if err != nil || survey.Err != nil {
		return
	}
	if survey.Rows >= 0 {
		now.total.Store(int64(survey.Rows))
		return
	}
	leave, err := sheet.AcquireReader(sheet.WithUnlimitedWait(ctx))
	if err != nil {
		return
	}
	defer leave()
	content, err := p.site.Ledger.Uploads().LoadContent(ctx, u.ID)
	if err != nil {
		return
	}
	f, err := sheet.OpenReader(u.File, bytes.NewReader(content), int64(len(content)), sheet.Limits{})
	if err != nil {
		return
	}
	defer f.Close()
	n := int64(0)
	err = f.EachRow(survey.Sheet, func(row *sheet.Row) error {
		if row.Number > survey.HeaderRow {
			n++
		}
		return ctx.Err()
	})
	if err == nil {
		now.total.Store(n)
	}
}
