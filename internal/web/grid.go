package web

import (
	"cmp"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// gridHandler serves the rows of an upload to the grid and applies its edits.
type gridHandler struct{ queue *prepareQueue }

func (h *gridHandler) routes() []route {
	return []route{
		{pattern: "GET /sheets/{sheet}/grid/rows", may: viewer, serve: h.gridRows, json: true},
		{pattern: "POST /sheets/{sheet}/grid/changes", may: preparer, serve: h.changeGrid, json: true},
	}
}

// gridAnswer is the answer to requests for rows and for changes. It has the current state of the
// spreadsheet and some rows of one sheet.
type gridAnswer struct {
	// Version increases when someone changes the rows, and Learned when look-ups add company
	// records.
	Version int          `json:"version"`
	Learned int          `json:"learned"`
	Counts  gridCounts   `json:"counts"`
	Columns []gridColumn `json:"columns"`
	Groups  []gridGroup  `json:"groups"`
	State   gridState    `json:"state"`
	Cost    gridCost     `json:"cost"`
	Rows    []gridRow    `json:"rows"`

	// Total is the number of rows that match the request. From is the index of the first returned
	// row.
	Total int `json:"total"`
	From  int `json:"from"`

	// Change is the number of the change, or zero if nothing was changed.
	Change int `json:"change"`
	// Changed counts the changed cells and rows.
	Changed   int            `json:"changed"`
	Label     string         `json:"label,omitempty"`
	Conflicts []gridConflict `json:"conflicts"`

	// Sample and ErrorsBefore are set for a preview. Its counts are those after the change.
	Sample       []gridSample `json:"sample,omitempty"`
	ErrorsBefore int          `json:"errorsBefore,omitempty"`
}

// gridCounts counts rows by result. Ready includes rows with warnings. It excludes rows that were
// bought before.
type gridCounts struct {
	All      int `json:"all"`
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Ready    int `json:"ready"`
	Skipped  int `json:"skipped"`
	Bought   int `json:"bought"`
}

// gridColumn is a column with its name for messages. Ours reports whether it is read as one of our
// columns. The header identifies an added column, because its index may change.
type gridColumn struct {
	importer.DraftColumn
	Label string `json:"label"`
	Ours  bool   `json:"ours"`
}

type gridRow struct {
	shownName
	Result      filing.Result `json:"result"`
	Message     string        `json:"message,omitempty"`
	NameDiffers bool          `json:"nameDiffers"`
	Excluded    bool          `json:"excluded"`
	// Cells are texts or secretCell.
	Cells    []any         `json:"cells"`
	Problems []gridProblem `json:"problems"`
}

// secretCell stands for a cell that holds a Social Security number.
var secretCell = map[string]bool{"secret": true}

type gridProblem struct {
	importer.Problem
	// Column is -1 if the sheet lacks the column. Header names it then.
	Column  int      `json:"column"`
	Header  string   `json:"header,omitempty"`
	Suggest []string `json:"suggest"`
	Confirm bool     `json:"confirm"`
}

// gridState is the state of the background preparation.
type gridState struct {
	Stage   string `json:"stage"`
	Done    int    `json:"done"`
	Total   int    `json:"total"`
	Busy    bool   `json:"busy"`
	Problem string `json:"problem"`
}

type gridCost struct {
	Text string `json:"text"`
	Rows int    `json:"rows"`
}

// These limit the rows of one answer.
const (
	gridRowsUsual = 200
	gridRowsMost  = 1000
)

// gridQuery selects the rows of an answer.
type gridQuery struct {
	show, group, search, sort string
	// column is -1 for all columns.
	column      int
	descending  bool
	from, limit int
	bought      map[int]bool
}

func parseGridQuery(v *request) gridQuery {
	return gridQuery{
		show:       v.query("show"),
		group:      v.query("group"),
		search:     strings.ToLower(v.search("q")),
		sort:       v.query("sort"),
		descending: v.query("dir") == "desc",
		column:     v.number("column", -1),
		from:       max(0, v.number("from", 0)),
		limit:      min(max(1, v.number("limit", gridRowsUsual)), gridRowsMost),
	}
}

// gridRows returns rows of an upload.
func (h *gridHandler) gridRows(v *request) error {
	q := parseGridQuery(v)
	return h.answer(v, func(d *heldDraft, u intake.Upload) (gridAnswer, error) {
		h.queue.prepare(u)
		groups := groupProblems(d.draft)
		answer := d.describe(u, h.queue.state(u), groups)
		q.bought = d.bought
		found := findRows(d.draft, groups, q)
		answer.From, answer.Total = q.from, len(found)
		for _, i := range found[min(q.from, len(found)):min(q.from+q.limit, len(found))] {
			answer.Rows = append(answer.Rows, gridRowOf(d.draft, d.draft.At(i), q.bought))
		}
		return answer, nil
	})
}

// answer sends the answer of f about the draft of the request's upload. It turns errors about the
// format into messages that a reader can act on.
func (h *gridHandler) answer(v *request, f func(*heldDraft, intake.Upload) (gridAnswer, error)) error {
	var answer gridAnswer
	err := h.queue.useDraft(v.ctx(), v.r.PathValue("sheet"), func(d *heldDraft, u intake.Upload) (err error) {
		answer, err = f(d, u)
		return err
	})
	format := new(sheet.FormatError)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return errNoSheet
	case errors.Is(err, importer.ErrDraftTooLarge):
		return &httpError{http.StatusRequestEntityTooLarge, "The spreadsheet is too large for the grid",
			"Nothing was changed. Correct its errors in your file, then upload it again."}
	case errors.As(err, &format):
		return badRequest("%s Nothing was changed.", sentence(err.Error()))
	case err != nil:
		return err
	}
	return v.sendJSON(http.StatusOK, answer)
}

// describe returns the answer about the current state of an upload, without rows.
func (h *heldDraft) describe(u intake.Upload, state gridState, groups []*problemGroup) gridAnswer {
	q, err := quoteOf(u)
	if err == nil && q != nil {
		h.bought = rowSet(q.Bought)
	}
	answer := gridAnswer{
		Version:   h.version,
		Learned:   h.learned,
		Counts:    countRows(h.draft, h.bought),
		Columns:   gridColumnsOf(h.draft),
		Groups:    shownGroups(groups),
		State:     state,
		Rows:      []gridRow{},
		Conflicts: []gridConflict{},
	}
	if err == nil && q != nil && q.Problem == "" {
		answer.Cost = gridCost{q.TotalText(), q.Rows}
	}
	return answer
}

func countRows(d *importer.Draft, bought map[int]bool) gridCounts {
	t, warned := d.Tally()
	c := gridCounts{All: t.Rows, Errors: t.Invalid, Warnings: warned, Ready: t.Ready, Skipped: t.Skipped}
	for i := range d.Len() {
		if bought != nil && resultIn(d.At(i), bought) == filing.Exists {
			c.Ready, c.Bought = c.Ready-1, c.Bought+1
		}
	}
	return c
}

// resultIn returns the result of a row. A ready row that was bought before counts as existing.
func resultIn(r *importer.DraftRow, bought map[int]bool) filing.Result {
	if r.Result == filing.Ready && bought[r.Number] {
		return filing.Exists
	}
	return r.Result
}

// findRows returns the indexes of the rows that match a query.
func findRows(d *importer.Draft, groups []*problemGroup, q gridQuery) []int {
	var only map[int]bool
	if q.group != "" {
		only = make(map[int]bool)
		if at := slices.IndexFunc(groups, func(g *problemGroup) bool { return g.Key == q.group }); at >= 0 {
			only = rowSet(groups[at].rows)
		}
	}
	var found []int
	for i := range d.Len() {
		r := d.At(i)
		if (only == nil || only[r.Number]) && shownIn(r, q.show, q.bought) && rowHas(d, r, q) {
			found = append(found, i)
		}
	}
	sortRows(d, found, q)
	return found
}

// shownIn reports whether a row belongs to a tab of the grid.
func shownIn(r *importer.DraftRow, show string, bought map[int]bool) bool {
	if show == "warnings" {
		return r.Warned()
	}
	result, ok := gridResults[show]
	return !ok || resultIn(r, bought) == result
}

var gridResults = map[string]filing.Result{
	"errors": filing.Invalid, "ready": filing.Ready, "skipped": filing.Skipped, "bought": filing.Exists,
}

// rowHas reports whether a row contains the search text. Without a text, it reports whether the
// column has a problem.
func rowHas(d *importer.Draft, r *importer.DraftRow, q gridQuery) bool {
	switch {
	case q.search == "":
		return q.column < 0 || slices.ContainsFunc(r.Problems,
			func(p importer.Problem) bool { return p.ColumnIndex == q.column })
	case q.column < 0 && (strconv.Itoa(r.Number) == q.search ||
		strings.Contains(strings.ToLower(r.ServiceName), q.search)):
		return true
	}
	for i, cell := range d.Masked(r) {
		if (q.column < 0 || q.column == i) && strings.Contains(strings.ToLower(cell.Text), q.search) {
			return true
		}
	}
	return false
}

// resultOrder sorts rows that need work first.
var resultOrder = map[filing.Result]int{filing.Invalid: 0, filing.Ready: 1, filing.Skipped: 2}

func sortRows(d *importer.Draft, found []int, q gridQuery) {
	if column, err := strconv.Atoi(q.sort); err == nil {
		texts := make(map[int]string, len(found))
		for _, i := range found {
			if cells := d.Masked(d.At(i)); column >= 0 && column < len(cells) {
				texts[i] = strings.ToLower(cells[column].Text)
			}
		}
		slices.SortStableFunc(found, func(a, b int) int { return strings.Compare(texts[a], texts[b]) })
	} else if q.sort == "result" {
		order := func(i int) int { return resultOrder[d.At(i).Result] }
		slices.SortStableFunc(found, func(a, b int) int { return order(a) - order(b) })
	}
	if q.descending {
		slices.Reverse(found)
	}
}

func gridColumnsOf(d *importer.Draft) []gridColumn {
	var all []gridColumn
	for _, c := range d.Columns() {
		all = append(all, gridColumn{c, columnName(c), c.Label != ""})
	}
	return all
}

// gridRowOf returns a row as the grid shows it.
func gridRowOf(d *importer.Draft, r *importer.DraftRow, bought map[int]bool) gridRow {
	columns, cells := d.Columns(), d.Masked(r)
	row := gridRow{
		shownName:   shownName{r.Number, filing.HideSSNs(r.Ref), filing.HideSSNs(r.Name), r.ServiceName},
		Result:      resultIn(r, bought),
		Message:     r.Message,
		NameDiffers: r.NameDiffers,
		Excluded:    r.Excluded,
		Cells:       make([]any, max(len(columns), len(cells))),
		Problems:    make([]gridProblem, 0, len(r.Problems)),
	}
	for i := range row.Cells {
		row.Cells[i] = ""
		if i >= len(cells) {
			continue
		}
		if c, _ := columnAt(columns, i); c.Secret && cells[i].Text != "" {
			row.Cells[i] = secretCell
			continue
		}
		row.Cells[i] = cells[i].Text
	}
	for i := range r.Problems {
		row.Problems = append(row.Problems, gridProblemOf(&r.Problems[i]))
	}
	return row
}

func gridProblemOf(p *importer.Problem) gridProblem {
	shown := gridProblem{Problem: *p, Column: p.ColumnIndex, Suggest: p.Suggest, Confirm: p.Confirm}
	if p.ColumnIndex < 0 {
		shown.Header = p.Column
	}
	return shown
}

// corrections are the edits of an upload. Their texts may be Social Security numbers. The batch's
// ID contains a hash of them, and the salt prevents guessing numbers from it.
type corrections struct {
	Salt     string              `json:"salt"`
	Edits    []importer.Edit     `json:"edits"`
	Excluded importer.Exclusions `json:"excluded,omitempty"`
	// Of is the batch whose rows are corrected, and Rows are their numbers there.
	Of   string `json:"of,omitempty"`
	Rows []int  `json:"rows,omitempty"`
	// Refused maps rows of that batch to the filing service's reasons for refusing them.
	Refused map[int]string `json:"refused,omitempty"`
	// Changes are the changes in the grid, oldest first. Last is the number of the newest.
	Changes []gridChange `json:"changes,omitempty"`
	Last    int          `json:"last,omitempty"`
}

func correctionsOf(u intake.Upload) (corrections, error) {
	c := corrections{Salt: rand.Text()}
	err := decodeStored(u, u.Edits, &c)
	return c, err
}

// columnAt returns a column of the draft by its index.
func columnAt(all []importer.DraftColumn, i int) (importer.DraftColumn, bool) {
	if i < 0 || i >= len(all) {
		return importer.DraftColumn{}, false
	}
	return all[i], true
}

// columnName returns the name of a column for messages: our label if it has one, otherwise its
// header.
func columnName(c importer.DraftColumn) string {
	return cmp.Or(c.Label, c.Header, "Column "+sheet.ColumnName(c.Index))
}
