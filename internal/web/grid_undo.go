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

var (
	errNothingToUndo = badRequest("There is nothing to undo.")
	errNothingToRedo = badRequest("There is nothing to redo.")
)

func (s *Site) undoInGrid(v *request) error { return s.revert(v, true) }
func (s *Site) redoInGrid(v *request) error { return s.revert(v, false) }

// revert undoes or redoes a change.
func (s *Site) revert(v *request, undo bool) error {
	r, err := parseGridRequest(v)
	if err != nil {
		return err
	}
	return s.applyChange(v, r, func(e *gridEditor) error { return e.revert(r.Change, undo) })
}

// revert undoes or redoes a change: the one with the number, or one's own last.
// A cell that has been changed since is a conflict, and stays as it is.
func (e *gridEditor) revert(number int, undo bool) error {
	at := e.changeToRevert(number, undo)
	if at < 0 && undo {
		return errNothingToUndo
	}
	if at < 0 {
		return errNothingToRedo
	}
	e.kept.Changes = slices.Clone(e.kept.Changes)
	c := &e.kept.Changes[at]
	for _, cell := range c.Cells {
		from, to := cell.Before, cell.After
		if undo {
			from, to = to, from
		}
		if now := e.edited(cell); !sameText(now, from) {
			e.conflict(cell, to)
			continue
		}
		e.set(cell.Edit, to)
		if e.isFull() {
			return errManyEdits
		}
	}
	for _, row := range c.Rows {
		from, to := row.Before, row.After
		if undo {
			from, to = to, from
		}
		at := importer.RowAt{Sheet: row.Sheet, Row: row.Row}
		if at.Sheet == "" { // of a CSV, or from before exclusions had a sheet
			at = e.draft.Place(row.Row)
		}
		if e.kept.Excluded.By(at.Sheet, at.Row) == from {
			e.excludeAt(at, to)
		}
	}
	c.Undone, e.silent = undo, true
	e.change.Number, e.change.Label = c.Number, "undone: "+c.Label
	if !undo {
		e.change.Label = "redone: " + c.Label
	}
	return nil
}

// changeToRevert is the index of the change to undo or redo; -1 for none. Without
// a number, a change that was undone before one's last change is not redone.
func (e *gridEditor) changeToRevert(number int, undo bool) int {
	if number != 0 {
		return slices.IndexFunc(e.kept.Changes,
			func(c gridChange) bool { return c.Number == number && c.Undone != undo })
	}
	redo := -1
	for i, c := range slices.Backward(e.kept.Changes) {
		switch {
		case c.By != e.by:
		case !c.Undone && undo:
			return i
		case !c.Undone:
			return redo
		default:
			redo = i
		}
	}
	if undo {
		return -1
	}
	return redo
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
