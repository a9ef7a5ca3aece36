package web

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bulkfiling/bulkfiling/internal/importer"
)

// errNoGroup is returned for a group that is no longer there.
var errNoGroup = badRequest("These rows have changed since. Nothing was changed. Refresh the page, then try again.")

// errNoColumn is returned for an added column that was taken back.
var errNoColumn = badRequest("This column is no longer there. Nothing was changed. Refresh the page, then try again.")

var (
	errLongBulkText = badRequest(
		"The text is longer than 1,000 characters, the most that many cells can be set to at " +
			"once. Nothing was changed. Enter a shorter text, or change the cells one by one.")
	errManyCells = badRequest("The change is for more than 100,000 cells. Nothing was changed. Change fewer rows or " +
		"columns at a time.")
	errManyEdits = badRequest("The corrections of this spreadsheet would take more than 8 MB. Nothing was changed. " +
		"Correct the cells in your own file, then upload it again.")
)

// bulkCells are the cells that a change of many sets.
func (e *gridEditor) bulkCells(b *gridBulk) ([]gridCell, error) {
	if utf8.RuneCountInString(b.Text) > maxBulkText || utf8.RuneCountInString(b.Replace) > maxBulkText {
		return nil, errLongBulkText
	}
	switch b.Op {
	case "group":
		return e.groupCells(b)
	case "set":
		return e.columnCells(b)
	case "replace":
		return e.replacedCells(b)
	}
	return nil, errForm
}

// groupCells are the cells of a group with one of its corrections. With a text,
// all of them get that.
func (e *gridEditor) groupCells(b *gridBulk) (cells []gridCell, err error) {
	for _, g := range groupProblems(e.on) {
		if g.Key != b.Group {
			continue
		}
		fix := gridFix{Text: b.Text}
		if b.Text == "" {
			if b.Fix < 0 || b.Fix >= len(g.Fixes) {
				return nil, errNoGroup
			}
			fix = g.Fixes[b.Fix]
		}
		if g.Kind == "name" {
			return e.confirmedCells(g, b.Names), nil
		}
		return e.fixedCells(g, fix, rowSet(b.Rows)), nil
	}
	return nil, errNoGroup
}

// fixedCells are the cells of a group with a correction, in the chosen rows; nil for all.
func (e *gridEditor) fixedCells(g *problemGroup, fix gridFix, chosen map[int]bool) (cells []gridCell) {
	for _, c := range g.cells {
		to := fix.Text
		if fix.Each && len(c.suggest) > 0 {
			to = c.suggest[0]
		}
		switch {
		case chosen != nil && !chosen[c.row], fix.Each && len(c.suggest) == 0:
		case fix.LeaveOut, fix.FileAnyway:
			e.decide(c, fix)
		default:
			cells = append(cells, e.cellAt(c.row, c.column, c.header, to))
		}
	}
	return cells
}

// decide leaves the row of a cell out, or has it filed in spite of the remark.
func (e *gridEditor) decide(c groupCell, fix gridFix) {
	at := importer.RowAt{Sheet: e.on.Sheet(), Row: c.row}
	if fix.FileAnyway {
		at.Remark = c.remark
	}
	e.excludeAt(at, e.by)
}

// cellAt is a cell of a request, by the index of its column; the header is that of one that
// the sheet lacks.
func (e *gridEditor) cellAt(row, column int, header, text string) gridCell {
	if c, ok := columnAt(e.on.Columns(), column); ok && c.Added {
		column, header = -1, c.Header
	}
	return gridCell{Row: row, Column: column, Header: header, Text: text}
}

// confirmedCells are the cells that confirm names that were reviewed. A row that
// has another company or another name by now is a conflict: it names a company
// that the person has not seen.
func (e *gridEditor) confirmedCells(g *problemGroup, reviewed []shownName) (cells []gridCell) {
	shown := make(map[int]shownName, len(reviewed))
	for _, n := range reviewed {
		shown[n.Row] = n
	}
	for _, c := range g.cells {
		was, chosen := shown[c.row]
		if !chosen || len(c.suggest) == 0 {
			continue
		}
		r := e.on.Find(c.row)
		now := gridRowOf(e.on, r, nil)
		if (shownName{now.Row, now.Company, now.Name, now.ServiceName}) == was && c.suggest[0] == was.ServiceName {
			cells = append(cells, e.cellAt(c.row, c.column, c.header, c.suggest[0]))
			continue
		}
		e.conflicts = append(e.conflicts, gridConflict{
			Row:    c.row,
			Column: c.column,
			Yours:  was.ServiceName,
			Theirs: now.ServiceName,
			By:     e.rowChangedBy(c.row),
			Review: true,
		})
	}
	return cells
}

// rowChangedBy is who last changed a cell of a row of the present sheet.
func (e *gridEditor) rowChangedBy(row int) string {
	for _, c := range slices.Backward(e.kept.Changes) {
		if !c.Undone && slices.ContainsFunc(c.Cells, func(cell changedCell) bool {
			return cell.Row == row && cell.Sheet == e.on.Sheet()
		}) {
			return c.By
		}
	}
	return "someone else"
}

func rowSet(rows []int) map[int]bool {
	if rows == nil {
		return nil
	}
	set := make(map[int]bool, len(rows))
	for _, row := range rows {
		set[row] = true
	}
	return set
}

// columnCells are the cells of a column, in all rows or in some.
func (e *gridEditor) columnCells(b *gridBulk) (cells []gridCell, err error) {
	chosen := rowSet(b.Rows)
	for i := range e.on.Len() {
		r := e.on.At(i)
		if chosen != nil && !chosen[r.Number] || chosen == nil && !shownIn(r, b.Show, nil) || r.IsNote() {
			continue
		}
		cells = append(cells, gridCell{Row: r.Number, Column: b.Column, Header: b.Header, Text: b.Text})
	}
	return cells, nil
}

// replacedCells are the cells of a column that hold a text, with another in its
// place. A column of -1 is every column that is not secret.
func (e *gridEditor) replacedCells(b *gridBulk) (cells []gridCell, err error) {
	if b.Find == "" && !b.Whole {
		return nil, badRequest("Enter the text to find. Nothing was changed.")
	}
	column := b.Column
	if b.Header != "" {
		if column = e.on.ColumnOf(b.Header); column < 0 {
			return nil, errNoColumn
		}
	}
	replace, size := replacer(b), 0
	chosen := rowSet(b.Rows)
	for i := range e.on.Len() {
		r := e.on.At(i)
		if chosen != nil && !chosen[r.Number] || chosen == nil && !shownIn(r, b.Show, nil) || r.IsNote() {
			continue
		}
		found := e.replacedIn(r, column, replace)
		for i := range found {
			size += len(found[i].Text)
		}
		switch cells = append(cells, found...); {
		case len(cells) > maxChangedCells:
			return nil, errManyCells
		case size > maxEditBytes:
			return nil, errManyEdits
		}
	}
	return cells, nil
}

func (e *gridEditor) replacedIn(r *importer.DraftRow, column int, replace func(string) (string, bool)) []gridCell {
	var cells []gridCell
	masked := e.on.Masked(r)
	for i, c := range e.on.Columns() {
		if c.Secret || column >= 0 && column != i {
			continue
		}
		present := ""
		if i < len(masked) {
			present = masked[i].Text
			if present != r.Cells[i].Text {
				continue // a part of it is hidden
			}
		}
		if to, found := replace(present); found && to != present {
			cell := e.cellAt(r.Number, i, c.Header, to)
			cell.Was = &present
			cells = append(cells, cell)
		}
	}
	return cells
}

// replacer returns what becomes of a text, and whether it has what is searched
// for.
func replacer(b *gridBulk) func(string) (string, bool) {
	if b.Whole {
		return func(s string) (string, bool) { return b.Replace, strings.EqualFold(s, b.Find) }
	}
	anyCase := regexp.MustCompile("(?i)" + regexp.QuoteMeta(b.Find))
	return func(s string) (string, bool) {
		return anyCase.ReplaceAllLiteralString(s, b.Replace), anyCase.MatchString(s)
	}
}
