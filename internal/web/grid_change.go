package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// gridChange is a change that a person made in the grid.
type gridChange struct {
	Number int              `json:"n"`
	By     string           `json:"by"`
	At     time.Time        `json:"at"`
	Label  string           `json:"label"`
	Undone bool             `json:"undone,omitempty"`
	Cells  []changedCell    `json:"cells,omitempty"`
	Rows   []changedInclude `json:"rows,omitempty"`
}

// changedCell is an edit of a cell before and after a change; nil for the cell
// as the file has it.
type changedCell struct {
	importer.Edit         // without its text
	Before        *string `json:"before,omitempty"`
	After         *string `json:"after,omitempty"`
}

// size is how many bytes the texts of a change take.
func (c *gridChange) size() (n int) {
	for i := range c.Cells {
		for _, text := range []*string{c.Cells[i].Before, c.Cells[i].After} {
			if text != nil {
				n += len(*text)
			}
		}
	}
	return n
}

// changedInclude is a row that was excluded or included.
type changedInclude struct {
	Sheet  string `json:"sheet,omitempty"` // empty in a CSV
	Row    int    `json:"row"`
	Before string `json:"before,omitempty"` // who had excluded it; empty for no one
	After  string `json:"after,omitempty"`
}

// What is kept of the changes.
const (
	maxChanges      = 200
	maxChangedCells = 100_000 // of all changes, and of one
	maxEditBytes    = 8 << 20 // of the texts of an upload, and of those of its changes
	perEdit         = 20      // bytes that an edit takes beside its text
)

// gridRequest is the body of a change.
type gridRequest struct {
	ID      string     `json:"id"`
	Version int        `json:"version"`
	Cells   []gridCell `json:"cells"`
	Exclude []int      `json:"exclude"`
	Include []int      `json:"include"`
	Bulk    *gridBulk  `json:"bulk"`
	Preview bool       `json:"preview"`
	Shown   []int      `json:"shown"`
	Change  int        `json:"change"` // to undo
}

type gridCell struct {
	Sheet  string  `json:"sheet"`
	Row    int     `json:"row"`
	Column int     `json:"column"`
	Header string  `json:"header"`
	Text   string  `json:"text"`
	Was    *string `json:"was"`
}

// UnmarshalJSON reads a cell. A previous value that is no text is that of a cell
// whose content is not shown: there is nothing to compare it with.
func (c *gridCell) UnmarshalJSON(content []byte) error {
	type plain gridCell
	in := struct {
		*plain
		Was any `json:"was"`
	}{plain: (*plain)(c)}
	if err := json.Unmarshal(content, &in); err != nil {
		return err
	}
	c.Was = nil
	if was, ok := in.Was.(string); ok {
		c.Was = &was
	}
	return nil
}

// gridBulk changes many cells at once.
type gridBulk struct {
	Op      string `json:"op"` // "group", "set" or "replace"
	Group   string `json:"group"`
	Fix     int    `json:"fix"`
	Column  int    `json:"column"`
	Header  string `json:"header"`
	Text    string `json:"text"`
	Show    string `json:"show"`
	Rows    []int  `json:"rows"`
	Find    string `json:"find"`
	Replace string `json:"replace"`
	Whole   bool   `json:"whole"`
	Case    bool   `json:"case"`

	Names []shownName `json:"names"` // to confirm, instead of rows
}

// shownName is a name that differs at the filing service, as a person reviewed it.
type shownName struct {
	Row         int    `json:"row"`
	Company     string `json:"company"`
	Name        string `json:"name"`
	ServiceName string `json:"serviceName"`
}

// gridConflict is a cell that someone else has changed meanwhile.
type gridConflict struct {
	Row    int    `json:"row"`
	Column int    `json:"column"`
	Cell   string `json:"cell"`
	Yours  string `json:"yours"`
	Theirs string `json:"theirs"`
	By     string `json:"by"`
	Hidden bool   `json:"hidden,omitempty"` // a text is not whole: it may hold a Social Security number
	Review bool   `json:"review,omitempty"` // of a name that is not confirmed: the row is not the one reviewed
}

type gridAnswer struct {
	Version   int            `json:"version"`
	Change    int            `json:"change"` // 0 if nothing was changed
	Changed   int            `json:"changed"`
	Label     string         `json:"label,omitempty"`
	Counts    gridCounts     `json:"counts"`
	Columns   []gridColumn   `json:"columns"`
	Groups    []gridGroup    `json:"groups"`
	State     gridState      `json:"state"`
	Cost      gridCost       `json:"cost"`
	Rows      []gridRow      `json:"rows"`
	Conflicts []gridConflict `json:"conflicts"`
}

type gridPreview struct {
	Cells        int            `json:"cells"`
	Rows         int            `json:"rows"`
	Sample       []gridSample   `json:"sample"`
	ErrorsBefore int            `json:"errorsBefore"`
	ErrorsAfter  int            `json:"errorsAfter"`
	Conflicts    []gridConflict `json:"conflicts"`
}

type gridSample struct {
	Row  int    `json:"row"`
	Cell string `json:"cell"`
	From string `json:"from"`
	To   string `json:"to"`
}

// Limits of one request and its answer.
const (
	maxGridBody   = 2 << 20
	maxGridText   = 32_767 // characters of a cell
	maxBulkText   = 1000   // characters that many cells are set to
	maxGridSample = 20
	maxGridShown  = 500
)

// parseGridRequest reads the body of a change.
func parseGridRequest(v *request) (*gridRequest, error) {
	kind, _, _ := strings.Cut(v.r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		return nil, errForm
	}
	body, err := io.ReadAll(http.MaxBytesReader(v.w, v.r.Body, maxGridBody))
	if large := new(http.MaxBytesError); errors.As(err, &large) {
		return nil, &httpError{http.StatusRequestEntityTooLarge, "Too many cells at once",
			"Nothing was changed. Change fewer cells at a time."}
	}
	r := new(gridRequest)
	if err != nil || json.Unmarshal(body, r) != nil {
		return nil, errForm
	}
	if r.ID == "" && !r.Preview || len(r.ID) > maxOnce || !clean(r.ID) {
		return nil, errForm
	}
	v.once = r.ID
	return r, nil
}

// changeGrid changes cells and exclusions, or says what a change would do.
func (s *Site) changeGrid(v *request) error {
	r, err := parseGridRequest(v)
	if err != nil {
		return err
	}
	if r.Preview {
		return s.previewChange(v, r)
	}
	return s.applyChange(v, r, func(e *gridEditor) error { return e.apply(r) })
}

// applyChange makes a change, keeps it, and answers with what it has changed.
func (s *Site) applyChange(v *request, r *gridRequest, change func(*gridEditor) error) error {
	var answer gridAnswer
	err := s.useDraft(v, func(h *heldDraft, u ledger.Upload) error {
		e := &gridEditor{draft: h.draft, by: v.who()}
		err := s.keepChange(v, h, u, e, change)
		if errors.Is(err, ledger.ErrDone) {
			e.reset() // the request arrived twice and counted once
			err = nil
		}
		if err != nil {
			return err
		}
		now, err := s.Ledger.Uploads().Find(v.ctx(), u.ID)
		if err != nil {
			return err
		}
		answer = gridAnswer{
			Version:   h.version,
			Changed:   len(e.change.Cells) + len(e.change.Rows),
			Label:     e.change.Label,
			Counts:    countRows(h.draft),
			Columns:   gridColumnsOf(h.draft),
			Groups:    shownGroups(groupProblems(h.draft)),
			State:     s.gridState(now),
			Cost:      gridCostOf(now),
			Rows:      e.shownRows(r.Shown),
			Conflicts: e.conflicts,
		}
		if answer.Changed > 0 {
			answer.Change = e.change.Number
		}
		if answer.Conflicts == nil {
			answer.Conflicts = []gridConflict{}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return v.sendJSON(http.StatusOK, answer)
}

// errUnchanged ends a transaction in which nothing is to be changed.
var errUnchanged = errors.New("nothing changes")

// keepChange makes a change within a transaction: it is made to what others have
// made of the upload meanwhile.
func (s *Site) keepChange(v *request, h *heldDraft, u ledger.Upload, e *gridEditor,
	change func(*gridEditor) error) error {
	now := time.Now().UTC()
	ctx := v.withAudit("correct", u.File, "")
	after, err := s.Ledger.Uploads().Edit(ctx, u.ID, func(u ledger.Upload) ([]byte, string, error) {
		if string(u.Options) != h.options {
			return nil, "", ledger.ErrStale // it is read in another way now
		}
		if err := h.applyEdits(u); err != nil {
			return nil, "", err
		}
		edits, err := e.make(u, now, change)
		return edits, e.change.Label, err
	})
	if err != nil {
		e.restore()
		if errors.Is(err, errUnchanged) {
			return nil
		}
		return err
	}
	h.version = after.Version
	s.queue.scheduleRestart(u.ID, after.Batch)
	return nil
}

// make makes a change to the corrections of an upload, and returns those.
func (e *gridEditor) make(u ledger.Upload, now time.Time, change func(*gridEditor) error) (edits []byte, err error) {
	e.reset()
	if e.kept, err = correctionsOf(u); err != nil {
		return nil, err
	}
	e.begin()
	if err := change(e); err != nil {
		return nil, err
	}
	if len(e.change.Cells)+len(e.change.Rows) == 0 {
		return nil, errUnchanged
	}
	if err := e.check(); err != nil {
		return nil, err
	}
	e.record(now)
	if edits, err = json.Marshal(e.kept); err != nil {
		err = fmt.Errorf("keep the corrections: %w", err)
	}
	return edits, err
}

// gridEditor makes a change to the corrections of an upload.
type gridEditor struct {
	draft *importer.Draft
	by    string

	kept       corrections // what is kept with the upload; changed in place
	change     gridChange
	conflicts  []gridConflict
	silent     bool                  // no change of its own is recorded: one is undone
	of         map[importer.Edit]int // the index of each edit, by its place
	before     []importer.Edit       // the edits of the draft
	excluded   importer.Exclusions
	size, was  int          // bytes of the edits, now and before the change
	masked     []sheet.Cell // of the row maskedRow
	maskedRow  int
	columns    []importer.DraftColumn
	restorable bool
}

// reset forgets a change that was not kept.
func (e *gridEditor) reset() {
	e.restore()
	*e = gridEditor{draft: e.draft, by: e.by}
}

func (e *gridEditor) begin() {
	e.before, e.excluded, e.restorable = e.draft.Edits(), e.draft.Excluded(), false
	e.columns = e.draft.Columns()
	e.kept.Edits = slices.Clone(e.kept.Edits)
	e.of = make(map[importer.Edit]int, len(e.kept.Edits))
	for i := range e.kept.Edits {
		e.of[placeOf(e.kept.Edits[i])] = i
		e.size += perEdit + len(e.kept.Edits[i].Text)
	}
	e.was = e.size
	e.kept.Excluded = maps.Clone(e.kept.Excluded)
	if e.kept.Excluded == nil {
		e.kept.Excluded = make(importer.Exclusions)
	}
}

// check checks the change: the draft then has it.
func (e *gridEditor) check() error {
	e.kept.Edits = slices.DeleteFunc(e.kept.Edits, func(edit importer.Edit) bool { return edit.Row == 0 })
	if err := e.draft.Set(e.kept.Edits, e.kept.Excluded); err != nil {
		return err
	}
	e.restorable = true
	return nil
}

// restore takes the change out of the draft.
func (e *gridEditor) restore() {
	if e.restorable {
		_ = e.draft.Set(e.before, e.excluded) // it had them a moment ago
		e.restorable = false
	}
}

// placeOf is an edit without its text: what it is an edit of.
func placeOf(e importer.Edit) importer.Edit {
	e.Text = ""
	return e
}

// apply makes the change of a request.
func (e *gridEditor) apply(r *gridRequest) error {
	cells := r.Cells
	if r.Bulk != nil {
		more, label, err := e.bulkCells(r.Bulk)
		if err != nil {
			return err
		}
		cells, e.change.Label = append(slices.Clone(cells), more...), label
	}
	if len(cells) > maxChangedCells {
		return errManyCells
	}
	for i := range cells {
		if err := e.typeInto(&cells[i]); err != nil {
			return err
		}
		if e.isFull() {
			return errManyEdits
		}
	}
	for _, row := range r.Exclude {
		if err := e.setExcluded(row, e.by); err != nil {
			return err
		}
	}
	for _, row := range r.Include {
		if err := e.setExcluded(row, ""); err != nil {
			return err
		}
	}
	return nil
}

// typeInto types a text into a cell, unless someone else has changed it.
func (e *gridEditor) typeInto(c *gridCell) error {
	place, err := e.place(c)
	if err != nil {
		return err
	}
	if utf8.RuneCountInString(c.Text) > maxGridText {
		return badRequest("The text for row %d is longer than a cell can be. Nothing was changed.", c.Row)
	}
	to := sheet.TypedCell(c.Text).Text
	present, secret := e.present(place, c.Column)
	if c.Was != nil && !secret && *c.Was != present && present != to {
		e.conflicts = append(e.conflicts, gridConflict{
			Row:    c.Row,
			Column: c.Column,
			Cell:   e.cellName(place, c.Column),
			Yours:  c.Text,
			Theirs: present,
			By:     e.changedBy(place),
		})
		return nil
	}
	missing := c.Column < 0 && place.Sheet == e.draft.Sheet()
	if present == to && (!secret || missing) {
		return nil
	}
	e.set(place, &to)
	return nil
}

// place returns what an edit of a cell is an edit of.
func (e *gridEditor) place(c *gridCell) (importer.Edit, error) {
	if c.Sheet != "" && c.Sheet != e.draft.Sheet() {
		if c.Row < 1 || c.Column < -1 || c.Column > lastColumn || c.Column < 0 && c.Header == "" {
			return importer.Edit{}, errForm
		}
		return importer.Edit{Sheet: c.Sheet, Row: c.Row, Column: c.Column, Header: c.Header}, nil
	}
	r := e.draft.Find(c.Row)
	if r == nil {
		return importer.Edit{}, badRequest("Row %d is not a row of the spreadsheet. Nothing was changed.", c.Row)
	}
	if c.Column < 0 || e.isElsewhere(c) {
		if c.Column = e.draft.ColumnOf(c.Header); c.Column < 0 {
			return importer.Edit{Sheet: e.draft.Sheet(), Row: c.Row, Column: -1, Header: c.Header}, nil
		}
	}
	column, known := columnAt(e.columns, c.Column)
	if !known && c.Column >= len(r.Cells) || c.Column > lastColumn {
		return importer.Edit{}, badRequest("Row %d has no such column. Nothing was changed.", c.Row)
	}
	if column.Added {
		return importer.Edit{Sheet: e.draft.Sheet(), Row: c.Row, Column: -1, Header: column.Header}, nil
	}
	return importer.Edit{Sheet: e.draft.Sheet(), Row: c.Row, Column: c.Column}, nil
}

// isElsewhere reports whether the column that a cell names by its header is an
// added one that is not at its index: others were added or taken back since the
// page was shown.
func (e *gridEditor) isElsewhere(c *gridCell) bool {
	at, known := columnAt(e.columns, c.Column)
	if c.Header == "" || known && at.Header == c.Header {
		return false
	}
	named, _ := columnAt(e.columns, e.draft.ColumnOf(c.Header))
	return !known || at.Added || named.Added
}

// present is the text of a cell as the grid shows it. That of a secret cell is
// not shown.
func (e *gridEditor) present(place importer.Edit, column int) (text string, secret bool) {
	if place.Sheet != e.draft.Sheet() {
		if at, edited := e.of[place]; edited {
			return e.kept.Edits[at].Text, true
		}
		return "", true
	}
	if c, _ := columnAt(e.columns, column); c.Secret {
		return "", true
	}
	if column < 0 {
		return "", filing.IsSSNHeader(place.Header)
	}
	if e.maskedRow != place.Row {
		e.maskedRow, e.masked = place.Row, e.draft.Masked(e.draft.Find(place.Row))
	}
	if column >= len(e.masked) {
		return "", false
	}
	return e.masked[column].Text, false
}

// headerOf is the header of a cell of the present sheet.
func (e *gridEditor) headerOf(place importer.Edit, column int) string {
	if c, ok := columnAt(e.columns, column); ok {
		return c.Header
	}
	return place.Header
}

func (e *gridEditor) cellName(place importer.Edit, column int) string {
	if column < 0 {
		return ""
	}
	return sheet.CellName(column, place.Row)
}

// changedBy is who last changed a cell.
func (e *gridEditor) changedBy(place importer.Edit) string {
	for _, c := range slices.Backward(e.kept.Changes) {
		if !c.Undone && slices.ContainsFunc(c.Cells, func(cell changedCell) bool { return cell.Edit == place }) {
			return c.By
		}
	}
	return "someone else"
}

// set puts an edit in place of the present one; nil for none.
func (e *gridEditor) set(place importer.Edit, to *string) {
	var before *string
	at, edited := e.of[place]
	if edited {
		was := e.kept.Edits[at].Text
		before = &was
	}
	if to != nil && edited && place.Column >= 0 && place.Sheet == e.draft.Sheet() &&
		*to == e.draft.FileText(place.Row, place.Column) {
		to = nil // as the file has it
	}
	if before == nil && to == nil || before != nil && to != nil && *before == *to {
		return
	}
	if before != nil {
		e.size -= perEdit + len(*before)
	}
	if to != nil {
		e.size += perEdit + len(*to)
	}
	switch {
	case to == nil:
		e.kept.Edits[at].Row = 0 // dropped at the end
		delete(e.of, place)
	case edited:
		e.kept.Edits[at].Text = *to
	default:
		edit := place
		edit.Text = *to
		e.of[place] = len(e.kept.Edits)
		e.kept.Edits = append(e.kept.Edits, edit)
	}
	e.change.Cells = append(e.change.Cells, changedCell{Edit: place, Before: before, After: to})
}

// isFull reports whether the change makes the edits larger than they may be. They
// are read, written and sealed as a whole, while no one else can write.
func (e *gridEditor) isFull() bool { return e.size > maxEditBytes && e.size > e.was }

// setExcluded excludes a row in someone's name, or includes it.
func (e *gridEditor) setExcluded(row int, by string) error {
	if e.draft.Find(row) == nil {
		return badRequest("Row %d is not a row of the spreadsheet. Nothing was changed.", row)
	}
	e.excludeAt(e.draft.Place(row), by)
	return nil
}

// excludeAt excludes a row of any sheet in someone's name, or includes it.
func (e *gridEditor) excludeAt(at importer.RowAt, by string) {
	before := e.kept.Excluded.By(at.Sheet, at.Row)
	if (before == "") == (by == "") {
		return
	}
	if by != "" {
		e.kept.Excluded[at] = by
	} else {
		delete(e.kept.Excluded, at)
		delete(e.kept.Excluded, importer.RowAt{Row: at.Row})
	}
	e.change.Rows = append(e.change.Rows, changedInclude{at.Sheet, at.Row, before, by})
}

// record adds the change to those that are kept.
func (e *gridEditor) record(now time.Time) {
	if e.silent {
		return
	}
	e.kept.Last++
	e.change.Number, e.change.By, e.change.At = e.kept.Last, e.by, now
	if e.change.Label == "" {
		e.change.Label = e.label()
	}
	e.change.Label = filing.HideSSNs(e.change.Label)
	all := append(slices.Clone(e.kept.Changes), e.change)
	cells, size := 0, 0
	keep := len(all)
	for keep > 0 && len(all)-keep < maxChanges {
		cells += len(all[keep-1].Cells) + len(all[keep-1].Rows)
		size += all[keep-1].size()
		if keep < len(all) && (cells > maxChangedCells || size > maxEditBytes) {
			break
		}
		keep--
	}
	e.kept.Changes = all[keep:]
}

// label says what a change is, for the list of changes and the audit log. It
// names no values: they may be Social Security numbers.
func (e *gridEditor) label() string {
	n, rows := len(e.change.Cells), len(e.change.Rows)
	switch {
	case n == 0 && e.change.Rows[0].After == "":
		return text.Count(rows, "row") + " included"
	case n == 0:
		return text.Count(rows, "row") + " excluded"
	case n == 1 && rows == 0:
		return e.where(e.change.Cells[0].Edit) + " changed"
	case rows == 0 && e.inOneColumn():
		return fmt.Sprintf("%s: %s changed", e.nameOf(e.change.Cells[0].Edit), text.Count(n, "cell"))
	case rows == 0:
		return text.Count(n, "cell") + " changed"
	}
	return fmt.Sprintf("%s and %s changed", text.Count(n, "cell"), text.Count(rows, "row"))
}

func (e *gridEditor) inOneColumn() bool {
	first := e.change.Cells[0]
	return !slices.ContainsFunc(e.change.Cells, func(c changedCell) bool {
		return c.Sheet != first.Sheet || c.Column != first.Column || c.Header != first.Header
	})
}

func (e *gridEditor) nameOf(place importer.Edit) string {
	if place.Header != "" {
		return place.Header
	}
	if c, ok := columnAt(e.columns, place.Column); ok && place.Sheet == e.draft.Sheet() {
		return filing.HideSSNs(columnName(c))
	}
	return "Column " + sheet.ColumnName(place.Column)
}

func (e *gridEditor) where(place importer.Edit) string {
	return fmt.Sprintf("%s of row %d", e.nameOf(place), place.Row)
}

// shownRows are the rows that the reader shows and that may have changed.
func (e *gridEditor) shownRows(numbers []int) []gridRow {
	columns := e.draft.Columns()
	rows := make([]gridRow, 0, min(len(numbers), maxGridShown))
	for _, n := range numbers[:min(len(numbers), maxGridShown)] {
		if r := e.draft.Find(n); r != nil {
			rows = append(rows, gridRowOf(e.draft, columns, r))
		}
	}
	return rows
}

func gridColumnsOf(d *importer.Draft) []gridColumn {
	var all []gridColumn
	for _, c := range d.Columns() {
		all = append(all, gridColumn{
			Index:    c.Index,
			Header:   c.Header,
			Label:    columnName(c),
			Ours:     c.Label != "",
			Required: c.Required,
			Secret:   c.Secret,
			Added:    c.Added,
			Choices:  c.Choices,
		})
	}
	return all
}

// previewChange says what a change would do.
func (s *Site) previewChange(v *request, r *gridRequest) error {
	var p gridPreview
	err := s.useDraft(v, func(h *heldDraft, u ledger.Upload) error {
		e := &gridEditor{draft: h.draft, by: v.who()}
		defer e.restore()
		var err error
		if e.kept, err = correctionsOf(u); err != nil {
			return err
		}
		e.begin()
		p.ErrorsBefore = countRows(h.draft).Errors
		if err := e.apply(r); errors.Is(err, errNoGroup) {
			p.Sample, p.ErrorsAfter = []gridSample{}, p.ErrorsBefore // someone has corrected the group meanwhile
			return nil
		} else if err != nil {
			return err
		}
		p.Sample, p.Conflicts = e.sample(), e.conflicts
		if err := e.check(); err != nil {
			return err
		}
		p.Cells, p.Rows, p.ErrorsAfter = len(e.change.Cells), e.rows(), countRows(h.draft).Errors
		return nil
	})
	if err != nil {
		return err
	}
	return v.sendJSON(http.StatusOK, p)
}

// rows is how many rows the change touches.
func (e *gridEditor) rows() int {
	touched := make([]int, 0, len(e.change.Cells)+len(e.change.Rows))
	for _, c := range e.change.Cells {
		touched = append(touched, c.Row)
	}
	for _, r := range e.change.Rows {
		touched = append(touched, r.Row)
	}
	return len(sortedRows(touched))
}

// sample is some of what the change does. The draft does not have it yet.
func (e *gridEditor) sample() []gridSample {
	all := []gridSample{}
	for _, c := range e.change.Cells {
		if len(all) == maxGridSample {
			break
		}
		column := c.Column
		if column < 0 {
			column = e.draft.ColumnOf(c.Header)
		}
		one := gridSample{Row: c.Row, Cell: e.cellName(c.Edit, column)}
		var secret bool
		one.From, secret = e.present(c.Edit, column)
		if c.After != nil {
			one.To = *c.After
		} else {
			one.To = e.draft.FileText(c.Row, column)
		}
		if one.To = filing.HideSSNsUnder(e.headerOf(c.Edit, column), one.To); secret {
			one.From, one.To = "", ""
		}
		all = append(all, one)
	}
	return all
}
