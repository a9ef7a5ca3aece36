package web

import (
	"bytes"
	"context"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

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
