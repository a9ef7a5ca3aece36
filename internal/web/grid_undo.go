package web

import (
	"net/http"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
)

// listedChange is a change as the list of them shows it.
type listedChange struct {
	Change int       `json:"change"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Label  string    `json:"label"`
	Cells  int       `json:"cells"`
	Rows   int       `json:"rows"` // excluded or included
	Undone bool      `json:"undone"`
}

// gridChanges lists the changes of an upload, the last first.
func (s *Site) gridChanges(v *request) error {
	u, err := s.findUpload(v)
	if err != nil {
		return err
	}
	c, err := correctionsOf(u)
	if err != nil {
		return err
	}
	all := []listedChange{}
	for _, one := range slices.Backward(c.Changes) {
		label := filing.HideSSNs(one.Label)
		all = append(all, listedChange{one.Number, one.By, one.At, label, len(one.Cells), len(one.Rows), one.Undone})
	}
	return v.sendJSON(http.StatusOK, map[string]any{"changes": all})
}

var errNothingToUndo = badRequest("There is nothing to undo.")

// undoInGrid undoes a change: the one that the request names, or one's own last.
func (s *Site) undoInGrid(v *request) error {
	r, err := parseGridRequest(v)
	if err != nil {
		return err
	}
	return s.applyChange(v, r, func(e *gridEditor) error { return e.undo(r.Change) })
}

// undo undoes the change with the number, or one's own last if it is zero. A cell that
// has been changed since is a conflict, and stays as it is.
func (e *gridEditor) undo(number int) error {
	at := -1
	for i, c := range e.kept.Changes {
		if !c.Undone && (c.Number == number || number == 0 && c.By == e.by) {
			at = i
		}
	}
	if at < 0 {
		return errNothingToUndo
	}
	e.kept.Changes = slices.Clone(e.kept.Changes)
	c := &e.kept.Changes[at]
	for _, cell := range c.Cells {
		if now := e.edited(cell); !sameText(now, cell.After) {
			e.conflict(cell, cell.Before)
			continue
		}
		e.set(cell.Edit, cell.Before)
		if e.isFull() {
			return errManyEdits
		}
	}
	for _, row := range c.Rows {
		at := importer.RowAt{Sheet: row.Sheet, Row: row.Row}
		if e.kept.Excluded.By(at.Sheet, at.Row) == row.After {
			e.excludeAt(at, row.Before)
		}
	}
	c.Undone, e.silent = true, true
	e.change.Number, e.change.Label = c.Number, "undone: "+c.Label
	return nil
}

// edited is the text of the present edit of a cell; nil for none.
func (e *gridEditor) edited(cell changedCell) *string {
	if at, ok := e.of[cell.Edit]; ok {
		return &e.kept.Edits[at].Text
	}
	return nil
}

func sameText(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func (e *gridEditor) conflict(cell changedCell, to *string) {
	column := cell.Column
	if column < 0 {
		column = e.draft.ColumnOf(cell.Header)
	}
	c := gridConflict{
		Row:    cell.Row,
		Column: column,
		Cell:   e.cellName(cell.Edit, column),
		By:     e.changedBy(cell.Edit),
	}
	theirs, secret := e.present(cell.Edit, column)
	yours := e.draft.FileText(cell.Row, column)
	if to != nil {
		yours = *to
	}
	if c.Hidden = secret; !secret {
		c.Theirs, c.Yours = theirs, filing.HideSSNsUnder(e.headerOf(cell.Edit, column), yours)
		c.Hidden = c.Yours != yours
	}
	e.conflicts = append(e.conflicts, c)
}
