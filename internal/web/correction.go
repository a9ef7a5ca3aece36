package web

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/importer"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/sheet"
)

// corrections are the new values of cells of an upload. They may be Social
// Security numbers: the batch's ID contains a hash of them, and the salt prevents
// guessing numbers from it.
type corrections struct {
	Salt     string          `json:"salt"`
	Edits    []importer.Edit `json:"edits"`
	Excluded map[int]string  `json:"excluded,omitempty"` // rows, by number, with who excluded them
	Changes  []gridChange    `json:"changes,omitempty"`  // in the grid, the oldest first
	Last     int             `json:"last,omitempty"`     // the number of the last change
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
// and newofficer- are those of the sheet of officers.
func (s *Site) correct(v *request) error {
	u, c, err := s.theCorrections(v)
	if err != nil {
		return err
	}
	if u.Batch == "" {
		return ledger.ErrStale
	}
	b, err := s.Ledger.Batch(v.ctx(), u.Batch)
	if err != nil {
		return err
	}
	n := 0
	for name, values := range v.r.PostForm {
		e, ok := editOf(name)
		if !ok {
			continue
		}
		if e.Sheet = b.Sheet; isOfficers(name) { // another one may be read later, and its cells are not meant
			e.Sheet = v.r.PostForm.Get("officers")
		}
		was := v.r.PostForm.Get("was-" + name)
		typed := slices.IndexFunc(values,
			func(text string) bool { return strings.TrimSpace(text) != was }) // two rows may share an officer
		if typed < 0 {
			continue // left as it was
		}
		e.Text = strings.TrimSpace(values[typed])
		c.Edits = slices.DeleteFunc(c.Edits, func(old importer.Edit) bool {
			return old.Sheet == e.Sheet && old.Row == e.Row && old.Column == e.Column && old.Header == e.Header
		})
		c.Edits = append(c.Edits, e)
		n++
	}
	if n == 0 {
		v.flash("note", "Nothing was changed. Enter a value first.")
		return v.redirect(v.back())
	}
	slices.SortFunc(c.Edits, func(a, b importer.Edit) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Header, b.Header))
	})
	return s.keepCorrections(v, u, c, count(n, "cell"), count(n, "cell")+" corrected. Your own file does not change.")
}

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

// takeBack takes one correction back, or all of them.
func (s *Site) takeBack(v *request) error {
	u, c, err := s.theCorrections(v)
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
	return s.keepCorrections(v, u, c, note, "Undone. The value from your file is used again.")
}

// theCorrections finds the upload that a form corrects, and its corrections so
// far.
func (s *Site) theCorrections(v *request) (ledger.Upload, corrections, error) {
	u, err := s.findUnchanged(v)
	if err != nil {
		return u, corrections{}, err
	}
	c, err := correctionsOf(u)
	return u, c, err
}

// keepCorrections puts c in place of an upload's corrections. note is for the
// audit log, said for who did it.
func (s *Site) keepCorrections(v *request, u ledger.Upload, c corrections, note, said string) (err error) {
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
