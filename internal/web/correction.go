package web

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// corrections are the new values of cells of an upload. They may be Social
// Security numbers: the batch's ID contains a hash of them, and the salt prevents
// guessing numbers from it.
type corrections struct {
	Salt     string              `json:"salt"`
	Edits    []importer.Edit     `json:"edits"`
	Excluded importer.Exclusions `json:"excluded,omitempty"`
	Of       string              `json:"of,omitempty"`   // the batch whose rows are corrected
	Rows     []int               `json:"rows,omitempty"` // their numbers there
	// why rows of the corrected batch were refused, by number there
	Refused map[int]string `json:"refused,omitempty"`
	Changes []gridChange   `json:"changes,omitempty"` // in the grid, the oldest first
	Last    int            `json:"last,omitempty"`    // the number of the last change
}

func correctionsOf(u ledger.Upload) (corrections, error) {
	c := corrections{Salt: rand.Text()}
	if len(u.Edits) == 0 {
		return c, nil
	}
	if err := json.Unmarshal(u.Edits, &c); err != nil {
		return c, fmt.Errorf("read the corrections of the spreadsheet %s: %w", u.File, err)
	}
	return c, nil
}

// correct saves new values of cells. A field is named
// cell-ROW-COLUMN, or new-ROW-HEADER for a column that the sheet lacks; officer-
// and newofficer- are those of the sheet of officers. What others have changed
// meanwhile stays, unless it is the same cell.
func (s *Site) correct(v *request) error {
	cells := correctedCells(v.r.PostForm)
	if len(cells) == 0 {
		v.flash("note", "Nothing was changed. Enter a value first.")
		return v.redirect(v.backToRows())
	}
	var saved, wrong int
	var conflicts []gridConflict
	err := s.useDraft(v, func(h *heldDraft, u ledger.Upload) error {
		e := &gridEditor{draft: h.draft, by: v.who()}
		err := s.keepChange(v, h, u, e, func(e *gridEditor) error { return e.apply(&gridRequest{Cells: cells}) })
		saved, conflicts = len(e.change.Cells), e.conflicts
		for _, c := range e.change.Cells {
			if e.isWrong(c.Edit) {
				wrong++
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	kind, said := savedText(saved, wrong, conflicts)
	v.flash(kind, "%s", said)
	return v.redirect(v.backToRows())
}

// correctedCells are the cells of a form whose values are others than before.
func correctedCells(form url.Values) []gridCell {
	var cells []gridCell
	for name, values := range form {
		e, ok := editOf(name)
		if !ok {
			continue
		}
		was := form.Get("was-" + name)
		typed := slices.IndexFunc(values,
			func(text string) bool { return strings.TrimSpace(text) != was }) // two rows may share an officer
		if typed < 0 {
			continue // left as it was
		}
		c := gridCell{Row: e.Row, Column: e.Column, Header: e.Header, Text: strings.TrimSpace(values[typed])}
		if form.Has("was-" + name) {
			c.Was = &was
		}
		if isOfficers(name) {
			c.Sheet = form.Get("officers")
		}
		cells = append(cells, c)
	}
	slices.SortFunc(cells, func(a, b gridCell) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Header, b.Header))
	})
	return cells
}

// isWrong reports whether a cell still has an error.
func (e *gridEditor) isWrong(place importer.Edit) bool {
	r := e.draft.Find(place.Row)
	if r == nil || place.Sheet != e.draft.Sheet() {
		return false
	}
	column := place.Column
	if column < 0 {
		column = e.draft.ColumnOf(place.Header)
	}
	return slices.ContainsFunc(r.Problems, func(p importer.Problem) bool {
		return p.Severity == importer.Error &&
			(p.ColumnIndex == column || p.ColumnIndex < 0 && p.Column == place.Header)
	})
}

// savedText says what became of corrections.
func savedText(saved, wrong int, conflicts []gridConflict) (kind, said string) {
	var parts []string
	kind = "ok"
	switch {
	case saved > 0 && wrong == 0:
		parts = append(parts, count(saved, "cell")+" saved.")
	case saved == 1:
		kind, parts = "warn", append(parts, "1 cell saved, still an error.")
	case saved > 0:
		kind, parts = "warn", append(parts, fmt.Sprintf("%s saved, %d still with an error.", count(saved, "cell"),
			wrong))
	case len(conflicts) == 0:
		return "note", "Nothing was changed. The cells already have these values."
	}
	if n := len(conflicts); n > 0 {
		var names []string
		for _, c := range conflicts {
			names = append(names, cmp.Or(c.Cell, fmt.Sprintf("row %d", c.Row)))
		}
		kind = "warn"
		parts = append(parts, fmt.Sprintf("Not saved: %s, because %s changed the same %s. Check the new values.",
			text.FirstOf(names, 10), conflicts[0].By, map[bool]string{true: "cell", false: "cells"}[n == 1]))
	}
	return kind, strings.Join(append(parts, "Your own file does not change."), " ")
}

// backToRows is the page that a form of rows stood on, at its rows.
func (v *request) backToRows() string { return v.back() + "#rows" }

// correction is an edit as its page shows it.
type correction struct {
	Number      int // of the edits
	Where, Text string
}

// shownEdits lists corrections by their cells. Numbers that may be someone's
// Social Security number are not shown again.
func shownEdits(edits []importer.Edit) []correction {
	all := make([]correction, len(edits))
	for i, e := range edits {
		all[i] = correction{
			Number: i,
			Where:  fmt.Sprintf("%s of row %d", e.Header, e.Row),
			Text:   filing.HideSSNs(e.Text),
		}
		if e.Column >= 0 {
			all[i].Where = sheet.CellName(e.Column, e.Row)
		}
		if e.Sheet != "" {
			all[i].Where += " of " + e.Sheet
		}
	}
	return all
}

// undoCorrection takes one correction back, or all of them.
func (s *Site) undoCorrection(v *request) error {
	u, c, err := s.findCorrections(v)
	if err != nil {
		return err
	}
	note := "all corrections undone"
	if one := v.r.PostForm.Get("edit"); one == "all" {
		c.Edits = nil
	} else {
		i, err := strconv.Atoi(one)
		if err != nil || i < 0 || i >= len(c.Edits) {
			return ledger.ErrStale
		}
		note = shownEdits(c.Edits)[i].Where + " undone"
		c.Edits = slices.Delete(c.Edits, i, i+1)
	}
	return s.saveCorrections(v, u, c, note, "Undone. The value from your file is used again.")
}

// findCorrections finds the upload that a form corrects, and its corrections so
// far.
func (s *Site) findCorrections(v *request) (ledger.Upload, corrections, error) {
	u, err := s.findUnchanged(v)
	if err != nil {
		return u, corrections{}, err
	}
	c, err := correctionsOf(u)
	return u, c, err
}

// saveCorrections puts c in place of an upload's corrections. note is for the
// audit log, said for who did it.
func (s *Site) saveCorrections(v *request, u ledger.Upload, c corrections, note, said string) (err error) {
	if u.Edits, err = json.Marshal(c); err != nil {
		return fmt.Errorf("keep the corrections: %w", err)
	}
	if err := s.Ledger.Uploads().Change(v.withAudit("correct", u.File, note), u); err != nil {
		return err
	}
	v.flash("ok", "%s", said)
	return v.redirect("/sheets/" + u.ID)
}

// lastColumn is the last one that a sheet can have.
const lastColumn = 16_383

func editOf(name string) (importer.Edit, bool) {
	kind, rest, _ := strings.Cut(name, "-")
	number, column, found := strings.Cut(rest, "-")
	row, err := strconv.Atoi(number)
	if !found || err != nil || row < 1 {
		return importer.Edit{}, false
	}
	switch kind {
	case "cell", "officer":
		index, err := strconv.Atoi(column)
		return importer.Edit{Row: row, Column: index}, err == nil && index >= 0 && index <= lastColumn
	case "new", "newofficer":
		return importer.Edit{Row: row, Column: -1, Header: column}, column != ""
	}
	return importer.Edit{}, false
}

func isOfficers(name string) bool {
	return strings.HasPrefix(name, "officer-") || strings.HasPrefix(name, "newofficer-")
}
