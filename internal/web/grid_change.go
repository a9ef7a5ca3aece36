package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
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

// changedCell is an edit of a cell before and after a change. Before or After is nil if the cell
// has the text of the file.
type changedCell struct {
	// Edit has an empty text.
	importer.Edit
	Before *string `json:"before,omitempty"`
	After  *string `json:"after,omitempty"`
}

// size returns the bytes that the texts of a change take.
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

// changedInclude is a row that was excluded or included, or a remark on it that a person overruled.
type changedInclude struct {
	At importer.RowAt `json:"at"`
	// Before and After are the people who excluded the row, before and after the change. Empty
	// means included.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// These limit the stored edits and changes.
const (
	maxChanges = 200
	// maxChangedCells applies to one change, and to all stored changes together.
	maxChangedCells = 100_000
	// maxEditBytes applies to the edits of an upload, and separately to its stored changes.
	maxEditBytes = 8 << 20
	// perEdit is the size of an edit in bytes without its text.
	perEdit = 20
)

// gridRequest is the body of a change of an upload. A preview applies the change to
// the draft and reverts it.
type gridRequest struct {
	ID      string     `json:"id"`
	Cells   []gridCell `json:"cells"`
	Exclude []int      `json:"exclude"`
	Include []int      `json:"include"`
	Bulk    *gridBulk  `json:"bulk"`
	// Undo is the number of the change to undo. Zero means the person's own last change.
	Undo    *int  `json:"undo"`
	Preview bool  `json:"preview"`
	Shown   []int `json:"shown"`
}

// gridCell is a cell and its new text.
type gridCell struct {
	Row int `json:"row"`
	// Column is -1 if the file lacks the column. Header names it then.
	Column int     `json:"column"`
	Header string  `json:"header"`
	Text   string  `json:"text"`
	Was    *string `json:"was"`
}

// UnmarshalJSON decodes a cell. A previous value that is not a text belongs to a hidden cell and is
// not compared.
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

	// Names are the names to confirm. They replace Rows.
	Names []shownName `json:"names"`
}

// shownName is a name that differs at the filing service, as a person reviewed it.
type shownName struct {
	Row int `json:"row"`
	// Company is the reference to the company in the sheet, such as its ID.
	Company     string `json:"company"`
	Name        string `json:"name"`
	ServiceName string `json:"serviceName"`
}

// gridConflict is a cell that someone else changed after the page showed it.
type gridConflict struct {
	Row    int    `json:"row"`
	Column int    `json:"column"`
	Cell   string `json:"cell"`
	Yours  string `json:"yours"`
	Theirs string `json:"theirs"`
	By     string `json:"by"`
	// Hidden reports whether a text is masked because it may hold a Social Security number.
	Hidden bool `json:"hidden,omitempty"`
	// Review reports whether the row has changed since a person reviewed its name. The name is not
	// confirmed then.
	Review bool `json:"review,omitempty"`
}

type gridSample struct {
	Row  int    `json:"row"`
	Cell string `json:"cell"`
	From string `json:"from"`
	To   string `json:"to"`
}

// Limits of one request and its answer.
const (
	maxGridBody = 2 << 20
	// maxGridText is the maximum length of a cell in characters.
	maxGridText = 32_767
	// maxBulkText is the maximum length, in characters, of a text that is set in many cells.
	maxBulkText   = 1000
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

// changeGrid changes cells and exclusions, or previews a change.
func (h *gridHandler) changeGrid(v *request) error {
	r, err := parseGridRequest(v)
	if err != nil {
		return err
	}
	return h.answer(v, func(d *heldDraft, u intake.Upload) (gridAnswer, error) {
		e := &gridEditor{request: r, draft: d.draft, by: v.who(), errors: countRows(d.draft, nil).Errors}
		if r.Preview {
			defer e.restore()
			_, err = e.make(u, time.Now())
		} else if err = h.keepChange(v, d, u, e); err == nil {
			u, err = h.queue.uploads.Find(v.ctx(), u.ID)
		}
		if err != nil && (!r.Preview || !errors.Is(err, errUnchanged) && !errors.Is(err, errNoGroup)) {
			return gridAnswer{}, err
		}
		answer := d.describe(u, h.queue.state(u), groupProblems(d.draft))
		e.describe(&answer, d.bought)
		return answer, nil
	})
}

// errUnchanged aborts a transaction that would change nothing.
var errUnchanged = errors.New("nothing changes")

// keepChange applies and saves a change within a transaction. It applies the change to the latest
// version of the upload, which may include changes of other people.
func (h *gridHandler) keepChange(v *request, d *heldDraft, u intake.Upload, e *gridEditor) error {
	now := time.Now().UTC()
	after, err := h.queue.uploads.Edit(v.withAudit("correct", u.File, ""), u.ID,
		func(u intake.Upload) ([]byte, string, error) {
			if string(u.Options) != d.options {
				// The options have changed since the draft was read.
				return nil, "", ledger.ErrStale
			}
			// The transaction may run again.
			e.restore()
			if err := d.applyEdits(u); err != nil {
				return nil, "", err
			}
			edits, err := e.make(u, now)
			return edits, e.change.Label, err
		})
	if err != nil {
		e.restore()
	}
	switch {
	case errors.Is(err, errUnchanged):
		return nil
	case errors.Is(err, audit.ErrDone):
		// The request arrived twice. It counts once.
		e.gridResult = gridResult{}
		return nil
	case err != nil:
		return err
	}
	d.version = after.Version
	h.queue.prepareAgain(after)
	return nil
}

// gridEditor applies the change of a request to the corrections of an upload.
type gridEditor struct {
	request *gridRequest
	draft   *importer.Draft
	by      string
	// errors counts the rows of the sheet that had errors before the change.
	errors int
	// revert returns the draft to its state before the change. It is nil if the draft is in that
	// state.
	revert func()

	gridResult
	// kept are the corrections of the upload. The change modifies them in place.
	kept corrections
	// of maps the place of each edit to its index.
	of map[importer.Edit]int
	// size and was are the bytes of the edits, now and before the change.
	size, was int
}

// gridResult is what a request changed.
type gridResult struct {
	change    gridChange
	conflicts []gridConflict
	sample    []gridSample
}

// make applies the change to the corrections of an upload and to the draft. It returns the encoded
// corrections, or errUnchanged.
func (e *gridEditor) make(u intake.Upload, now time.Time) (edits []byte, err error) {
	if err := e.begin(u); err != nil {
		return nil, err
	}
	if e.request.Undo != nil {
		err = e.undo(*e.request.Undo)
	} else {
		err = e.apply(e.request)
	}
	if err != nil {
		return nil, err
	}
	if len(e.change.Cells)+len(e.change.Rows) == 0 {
		return nil, errUnchanged
	}
	if e.request.Preview {
		e.takeSample()
	}
	if err := e.check(); err != nil {
		return nil, err
	}
	if e.request.Undo == nil {
		e.record(now)
	}
	return encodeStored(e.kept)
}

// describe adds the change to an answer, and the shown rows, which the change may affect.
func (e *gridEditor) describe(answer *gridAnswer, bought map[int]bool) {
	answer.Changed, answer.Label = len(e.change.Cells)+len(e.change.Rows), e.change.Label
	if answer.Changed > 0 {
		answer.Change = e.change.Number
	}
	answer.Conflicts = append(answer.Conflicts, e.conflicts...)
	answer.Sample, answer.ErrorsBefore = e.sample, e.errors
	for _, n := range e.request.Shown[:min(len(e.request.Shown), maxGridShown)] {
		if r := e.draft.Find(n); r != nil {
			answer.Rows = append(answer.Rows, gridRowOf(e.draft, r, bought))
		}
	}
}

// begin reads the corrections of an upload and drops an earlier result.
func (e *gridEditor) begin(u intake.Upload) (err error) {
	if e.kept, err = correctionsOf(u); err != nil {
		return err
	}
	e.gridResult, e.size = gridResult{}, 0
	e.of = make(map[importer.Edit]int, len(e.kept.Edits))
	for i := range e.kept.Edits {
		e.of[placeOf(e.kept.Edits[i])] = i
		e.size += perEdit + len(e.kept.Edits[i].Text)
	}
	e.was = e.size
	if e.kept.Excluded == nil {
		e.kept.Excluded = make(importer.Exclusions)
	}
	return nil
}

// check applies the corrections to the draft, which validates them.
func (e *gridEditor) check() error {
	e.kept.Edits = slices.DeleteFunc(e.kept.Edits, func(edit importer.Edit) bool { return edit.Row == 0 })
	before, excluded := e.draft.Edits(), e.draft.Excluded()
	if err := e.draft.Set(e.kept.Edits, e.kept.Excluded); err != nil {
		return err
	}
	// It cannot fail, because the draft had these edits before.
	e.revert = func() { _ = e.draft.Set(before, excluded) }
	return nil
}

// restore reverts the draft to its state before the change.
func (e *gridEditor) restore() {
	if e.revert != nil {
		e.revert()
		e.revert = nil
	}
}

// placeOf returns the edit without its text, as a key for the edited cell.
func placeOf(e importer.Edit) importer.Edit {
	e.Text = ""
	return e
}

// apply applies the change of a request.
func (e *gridEditor) apply(r *gridRequest) error {
	cells := r.Cells
	if r.Bulk != nil {
		more, err := e.bulkCells(r.Bulk)
		if err != nil {
			return err
		}
		cells = append(slices.Clone(cells), more...)
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

// typeInto sets the text of a cell. If someone else has changed the cell, it adds a conflict
// instead.
func (e *gridEditor) typeInto(c *gridCell) error {
	place, err := e.place(c)
	if err != nil {
		return err
	}
	if utf8.RuneCountInString(c.Text) > maxGridText {
		return badRequest("The text for row %d is longer than a cell can be. Nothing was changed.", c.Row)
	}
	to := sheet.TypedCell(c.Text).Text
	present, secret := e.present(place)
	if c.Was != nil && !secret && *c.Was != present && present != to {
		e.addConflict(place, c.Text)
		return nil
	}
	if column, _ := e.at(place); present == to && (!secret || column < 0) {
		return nil
	}
	e.put(place, &to)
	return nil
}

// place returns the key of an edit of a cell. An added column has only its header in the key,
// because its index changes when other columns are added or removed.
func (e *gridEditor) place(c *gridCell) (importer.Edit, error) {
	if e.draft.Find(c.Row) == nil {
		return importer.Edit{}, badRequest("Row %d is not a row of the spreadsheet. Nothing was changed.", c.Row)
	}
	place := importer.Edit{Sheet: e.draft.Sheet(), Row: c.Row, Column: c.Column}
	if c.Column < 0 {
		place.Header = c.Header
		if at, known := columnAt(e.draft.Columns(), e.draft.ColumnOf(c.Header)); known && !at.Added {
			place.Column, place.Header = at.Index, ""
		}
		return place, nil
	}
	if at, known := columnAt(e.draft.Columns(), c.Column); !known || at.Added {
		return place, badRequest("Row %d has no such column. Nothing was changed.", c.Row)
	}
	return place, nil
}

// at returns the column of an edit. The index is -1 if the sheet lacks the column, or if the edit is
// of a sheet that is not being read.
func (e *gridEditor) at(place importer.Edit) (index int, c importer.DraftColumn) {
	if place.Sheet != e.draft.Sheet() {
		return -1, c
	}
	if index = place.Column; index < 0 {
		index = e.draft.ColumnOf(place.Header)
	}
	c, _ = columnAt(e.draft.Columns(), index)
	return index, c
}

// present returns the current text of a cell as the grid shows it. The text is empty and secret is
// true for a secret column or a sheet that is not being read.
func (e *gridEditor) present(place importer.Edit) (text string, secret bool) {
	column, c := e.at(place)
	r := e.draft.Find(place.Row)
	switch {
	case c.Secret || place.Sheet != e.draft.Sheet():
		return "", true
	case column < 0 || r == nil || column >= len(r.Cells):
		return "", column < 0 && filing.IsSSNHeader(place.Header)
	}
	return e.draft.Masked(r)[column].Text, false
}

// shown returns the text that a person typed into a cell, masked as on the page.
func (e *gridEditor) shown(place importer.Edit, text string) string {
	_, c := e.at(place)
	return filing.HideSSNsUnder(cmp.Or(c.Header, place.Header), text)
}

// fileText returns the text of a cell in the file, without edits.
func (e *gridEditor) fileText(place importer.Edit) string {
	column, _ := e.at(place)
	return e.draft.FileText(place.Row, column)
}

// addConflict adds a conflict for a cell that someone else has changed. The cell keeps their text.
func (e *gridEditor) addConflict(place importer.Edit, yours string) {
	c := gridConflict{Row: place.Row, Column: place.Column}
	c.By = e.changedBy(func(cell changedCell) bool { return cell.Edit == place })
	if column, _ := e.at(place); column >= 0 {
		c.Column = column
	}
	if c.Column >= 0 {
		c.Cell = sheet.CellName(c.Column, c.Row)
	}
	theirs, secret := e.present(place)
	if c.Hidden = secret; !secret {
		c.Theirs, c.Yours = theirs, e.shown(place, yours)
		c.Hidden = c.Yours != yours
	}
	e.conflicts = append(e.conflicts, c)
}

// changedBy returns the person who last changed a cell that matches.
func (e *gridEditor) changedBy(is func(changedCell) bool) string {
	for _, c := range slices.Backward(e.kept.Changes) {
		if !c.Undone && slices.ContainsFunc(c.Cells, is) {
			return c.By
		}
	}
	return "someone else"
}

// put replaces the edit of a cell. It removes the edit if to is nil.
func (e *gridEditor) put(place importer.Edit, to *string) {
	before := e.edited(place)
	if to != nil && before != nil && place.Column >= 0 && *to == e.fileText(place) {
		to = nil
	}
	if sameText(before, to) {
		return
	}
	// Added columns appear in the order of their first edits.
	if before == nil {
		e.size += perEdit
		e.of[place] = len(e.kept.Edits)
		e.kept.Edits = append(e.kept.Edits, place)
	}
	edit := &e.kept.Edits[e.of[place]]
	e.size -= len(edit.Text)
	if to != nil {
		edit.Text = *to
		e.size += len(edit.Text)
	} else {
		e.size -= perEdit
		// check removes edits with row zero.
		edit.Row = 0
		delete(e.of, place)
	}
	e.change.Cells = append(e.change.Cells, changedCell{Edit: place, Before: before, After: to})
}

// isFull reports whether the change makes the edits larger than allowed. The limit exists because
// edits are read, written and sealed as a whole while writers wait.
func (e *gridEditor) isFull() bool { return e.size > maxEditBytes && e.size > e.was }

// setExcluded excludes a row in a person's name, or includes it if by is empty.
func (e *gridEditor) setExcluded(row int, by string) error {
	if e.draft.Find(row) == nil {
		return badRequest("Row %d is not a row of the spreadsheet. Nothing was changed.", row)
	}
	e.excludeAt(importer.RowAt{Sheet: e.draft.Sheet(), Row: row}, by)
	return nil
}

// excludeAt excludes a row of any sheet in a person's name, or overrules a remark on it. If by is
// empty, it reverts that.
func (e *gridEditor) excludeAt(at importer.RowAt, by string) {
	before := e.kept.Excluded[at]
	if (before == "") == (by == "") {
		return
	}
	if by != "" {
		e.kept.Excluded[at] = by
	} else {
		delete(e.kept.Excluded, at)
	}
	e.change.Rows = append(e.change.Rows, changedInclude{at, before, by})
}

// record adds the change to the stored changes, and drops the oldest beyond the limits.
func (e *gridEditor) record(now time.Time) {
	e.kept.Last++
	e.change.Number, e.change.By, e.change.At = e.kept.Last, e.by, now
	e.change.Label = filing.HideSSNs(e.label())
	e.kept.Changes = append(e.kept.Changes, e.change)
	all := e.kept.Changes
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

// label describes a change for the audit log and for its notice. It contains no values, because
// they may be Social Security numbers.
func (e *gridEditor) label() string {
	n, rows := len(e.change.Cells), len(e.change.Rows)
	switch {
	case n == 0 && e.change.Rows[0].At.Remark != "":
		return count(rows, "row") + " to be filed anyway"
	case n == 0 && e.change.Rows[0].After == "":
		return count(rows, "row") + " included"
	case n == 0:
		return count(rows, "row") + " excluded"
	case e.request.Bulk != nil && len(e.request.Bulk.Names) > 0:
		return count(n, "name") + " confirmed"
	}
	first := e.change.Cells[0]
	c, ok := columnAt(e.draft.Columns(), first.Column)
	if !ok {
		c.Index = first.Column
	}
	name := cmp.Or(first.Header, columnName(c))
	elsewhere := func(c changedCell) bool {
		return c.Sheet != first.Sheet || c.Column != first.Column || c.Header != first.Header
	}
	switch {
	case n == 1:
		return fmt.Sprintf("%s of row %d changed", name, first.Row)
	case slices.ContainsFunc(e.change.Cells, elsewhere):
		return count(n, "cell") + " changed"
	}
	return fmt.Sprintf("%s: %s changed", name, count(n, "cell"))
}

// takeSample collects some of the changed cells. It runs before the draft has the change.
func (e *gridEditor) takeSample() {
	for _, c := range e.change.Cells[:min(len(e.change.Cells), maxGridSample)] {
		one := gridSample{Row: c.Row, To: e.fileText(c.Edit)}
		if column, _ := e.at(c.Edit); column >= 0 {
			one.Cell = sheet.CellName(column, c.Row)
		}
		if c.After != nil {
			one.To = *c.After
		}
		from, secret := e.present(c.Edit)
		if one.From, one.To = from, e.shown(c.Edit, one.To); secret {
			one.From, one.To = "", ""
		}
		e.sample = append(e.sample, one)
	}
}

var errNothingToUndo = badRequest("There is nothing to undo.")

// undo reverts the change with the number, or the person's own last change if the number is zero. A
// cell that was changed later keeps its text and becomes a conflict.
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
	c := &e.kept.Changes[at]
	for _, cell := range c.Cells {
		if !sameText(e.edited(cell.Edit), cell.After) {
			yours := e.fileText(cell.Edit)
			if cell.Before != nil {
				yours = *cell.Before
			}
			e.addConflict(cell.Edit, yours)
			continue
		}
		if e.put(cell.Edit, cell.Before); e.isFull() {
			return errManyEdits
		}
	}
	for _, row := range c.Rows {
		if e.kept.Excluded[row.At] == row.After {
			e.excludeAt(row.At, row.Before)
		}
	}
	c.Undone = true
	e.change.Number, e.change.Label = c.Number, "undone: "+c.Label
	return nil
}

// edited returns the text of the current edit of a cell, or nil.
func (e *gridEditor) edited(place importer.Edit) *string {
	at, ok := e.of[place]
	if !ok {
		return nil
	}
	text := e.kept.Edits[at].Text
	return &text
}

func sameText(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
