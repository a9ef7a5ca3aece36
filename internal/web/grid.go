package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/bulkfiling/bulkfiling/internal/cache"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// gridRoutes serve the rows of an upload to the grid and apply its edits.
var gridRoutes = []route{
	{pattern: "GET /sheets/{sheet}/grid/rows", may: viewer, serve: (*Site).gridRows, json: true},
	{pattern: "POST /sheets/{sheet}/grid/changes", may: preparer, serve: (*Site).changeGrid, json: true},
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

type gridColumn struct {
	Index    int    `json:"index"`
	Header   string `json:"header"`
	Label    string `json:"label"`
	Ours     bool   `json:"ours"`
	Required bool   `json:"required"`
	Secret   bool   `json:"secret"`
	// Added reports whether corrections added the column. Its header identifies it, because its
	// index may change.
	Added   bool     `json:"added,omitempty"`
	Choices []string `json:"choices,omitempty"`
}

type gridRow struct {
	Row     int           `json:"row"`
	Result  filing.Result `json:"result"`
	Message string        `json:"message,omitempty"`
	// Company is the reference to the company in the sheet, such as its ID.
	Company     string `json:"company"`
	Name        string `json:"name"`
	ServiceName string `json:"serviceName"`
	NameDiffers bool   `json:"nameDiffers"`
	Excluded    bool   `json:"excluded"`
	// Cells are texts or secretCell.
	Cells    []any         `json:"cells"`
	Problems []gridProblem `json:"problems"`
}

// secretCell stands for a cell that holds a Social Security number.
var secretCell = map[string]bool{"secret": true}

type gridProblem struct {
	Row int `json:"row"`
	// Column is -1 if the sheet lacks the column.
	Column   int               `json:"column"`
	Header   string            `json:"header,omitempty"`
	Cell     string            `json:"cell,omitempty"`
	Severity importer.Severity `json:"severity"`
	Rule     string            `json:"rule"`
	Message  string            `json:"message"`
	Suggest  []string          `json:"suggest"`
	Confirm  bool              `json:"confirm"`
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
	ask := v.r.URL.Query()
	q := gridQuery{
		show:       ask.Get("show"),
		group:      ask.Get("group"),
		search:     strings.ToLower(shortened(strings.TrimSpace(ask.Get("q")), 200)),
		sort:       ask.Get("sort"),
		descending: ask.Get("dir") == "desc",
		column:     -1,
		limit:      gridRowsUsual,
	}
	if n, err := strconv.Atoi(ask.Get("column")); err == nil {
		q.column = n
	}
	if n, err := strconv.Atoi(ask.Get("from")); err == nil {
		q.from = max(0, n)
	}
	if n, err := strconv.Atoi(ask.Get("limit")); err == nil {
		q.limit = min(max(1, n), gridRowsMost)
	}
	return q
}

// gridRows returns rows of an upload.
func (s *Site) gridRows(v *request) error {
	q := parseGridQuery(v)
	var answer gridAnswer
	err := s.useDraft(v, func(h *heldDraft, u ledger.Upload) error {
		s.queue.prepareIfIdle(u)
		groups := groupProblems(h.draft)
		answer = s.describeDraft(h, u, groups)
		q.bought = h.bought
		found := findRows(h.draft, groups, q)
		answer.From, answer.Total = q.from, len(found)
		for _, i := range found[min(q.from, len(found)):min(q.from+q.limit, len(found))] {
			answer.Rows = append(answer.Rows, gridRowOf(h.draft, h.draft.At(i), q.bought))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return v.sendJSON(http.StatusOK, answer)
}

// describeDraft returns the answer about the current state of an upload, without rows.
func (s *Site) describeDraft(h *heldDraft, u ledger.Upload, groups []*problemGroup) gridAnswer {
	q, err := quoteOf(u)
	if err == nil && q != nil {
		h.bought = make(map[int]bool, len(q.Bought))
		for _, row := range q.Bought {
			h.bought[row] = true
		}
	}
	answer := gridAnswer{
		Version:   h.version,
		Learned:   h.learned,
		Counts:    countRows(h.draft, h.bought),
		Columns:   gridColumnsOf(h.draft),
		Groups:    shownGroups(groups),
		State:     s.gridState(u),
		Rows:      []gridRow{},
		Conflicts: []gridConflict{},
	}
	if err == nil && q != nil && q.Problem == "" {
		answer.Cost = gridCost{q.TotalText(), q.Rows}
	}
	return answer
}

// useDraft calls f with the draft of the request's upload. It turns errors about the format into
// messages that a reader can act on.
func (s *Site) useDraft(v *request, f func(*heldDraft, ledger.Upload) error) error {
	err := s.withDraft(v.ctx(), v.r.PathValue("sheet"), f)
	format := new(sheet.FormatError)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return errNoSheet
	case errors.Is(err, importer.ErrDraftTooLarge):
		return &httpError{http.StatusRequestEntityTooLarge, "The spreadsheet is too large for the grid",
			"Nothing was changed. Correct its errors in your file, then upload it again."}
	case errors.As(err, &format):
		return badRequest("%s Nothing was changed.", sentence(err.Error()))
	}
	return err
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

// gridState returns the state of the preparation of an upload.
func (s *Site) gridState(u ledger.Upload) gridState {
	if u.Batch != "" && len(u.Quote) > 0 {
		q, err := quoteOf(u)
		if err == nil && q != nil && q.Problem != "" {
			return gridState{Stage: "The cost is not known", Problem: q.Problem}
		}
		return gridState{Stage: "Ready"}
	}
	now := s.queue.current(u)
	if now == nil {
		return gridState{Stage: string(stageWaits), Busy: true}
	}
	select {
	case <-now.done:
		if now.err != nil {
			return gridState{Stage: "Not prepared", Problem: sentence(now.err.Error())}
		}
	default:
	}
	at := now.progress.Load().(progress)
	return gridState{Stage: string(at.stage), Busy: true, Done: at.done, Total: at.total}
}

// findRows returns the indexes of the rows that match a query.
func findRows(d *importer.Draft, groups []*problemGroup, q gridQuery) []int {
	var only map[int]bool
	if q.group != "" {
		only = make(map[int]bool)
		if at := slices.IndexFunc(groups, func(g *problemGroup) bool { return g.Key == q.group }); at >= 0 {
			for _, row := range groups[at].rows {
				only[row] = true
			}
		}
	}
	var found []int
	for i := range d.Len() {
		r := d.At(i)
		if only != nil && !only[r.Number] || !shownIn(r, q.show, q.bought) {
			continue
		}
		if q.search != "" && !rowHas(d, r, q) {
			continue
		}
		if q.search == "" && q.column >= 0 && !slices.ContainsFunc(r.Problems,
			func(p importer.Problem) bool { return p.ColumnIndex == q.column }) {
			continue
		}
		found = append(found, i)
	}
	sortRows(d, found, q)
	return found
}

// shownIn reports whether a row belongs to a tab of the grid.
func shownIn(r *importer.DraftRow, show string, bought map[int]bool) bool {
	switch show {
	case "warnings":
		return r.Warned()
	case "errors", "ready", "skipped", "bought":
		return resultIn(r, bought) == gridResults[show]
	}
	return true
}

var gridResults = map[string]filing.Result{
	"errors": filing.Invalid, "ready": filing.Ready, "skipped": filing.Skipped, "bought": filing.Exists,
}

// rowHas reports whether a row contains the search text.
func rowHas(d *importer.Draft, r *importer.DraftRow, q gridQuery) bool {
	if q.column < 0 && (strconv.Itoa(r.Number) == q.search ||
		strings.Contains(strings.ToLower(r.ServiceName), q.search)) {
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
	by := func(a, b int) int { return cmp.Compare(a, b) }
	if column, err := strconv.Atoi(q.sort); err == nil {
		texts := make(map[int]string, len(found))
		for _, i := range found {
			if cells := d.Masked(d.At(i)); column >= 0 && column < len(cells) {
				texts[i] = strings.ToLower(cells[column].Text)
			}
		}
		by = func(a, b int) int { return cmp.Or(strings.Compare(texts[a], texts[b]), cmp.Compare(a, b)) }
	} else if q.sort == "result" {
		by = func(a, b int) int {
			return cmp.Or(resultOrder[d.At(a).Result]-resultOrder[d.At(b).Result], cmp.Compare(a, b))
		}
	}
	slices.SortFunc(found, func(a, b int) int {
		if q.descending {
			return by(b, a)
		}
		return by(a, b)
	})
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

// gridRowOf returns a row as the grid shows it.
func gridRowOf(d *importer.Draft, r *importer.DraftRow, bought map[int]bool) gridRow {
	columns, cells := d.Columns(), d.Masked(r)
	row := gridRow{
		Row:         r.Number,
		Result:      resultIn(r, bought),
		Message:     r.Message,
		Company:     filing.HideSSNs(r.Ref),
		Name:        filing.HideSSNs(r.Name),
		ServiceName: r.ServiceName,
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
	shown := gridProblem{
		Row:      p.Row,
		Column:   p.ColumnIndex,
		Cell:     p.Cell,
		Severity: p.Severity,
		Rule:     p.Rule,
		Message:  p.Message,
		Suggest:  p.Suggest,
		Confirm:  p.Confirm,
	}
	if shown.Suggest == nil {
		shown.Suggest = []string{}
	}
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

const (
	// maxDraftsHeld is the size of the cache of drafts in bytes.
	maxDraftsHeld = 512 << 20
	// companiesAtOnce is the maximum number of rows whose companies are loaded before the first
	// answer.
	companiesAtOnce = 5000
)

// heldDraft is a cached draft of an upload and the version of the upload that it has. mu is held
// while the draft is used.
type heldDraft struct {
	mu    sync.Mutex
	draft *importer.Draft
	// options are the encoded options of the upload.
	options string
	version int
	// learned counts how often company records were added.
	learned int
	// bought are the rows that were bought before, according to the last quote.
	bought map[int]bool
}

// newDrafts returns the cache of the drafts that people edit.
func newDrafts() *cache.Cache[string, *heldDraft] {
	return cache.New[string](cache.Options[*heldDraft]{
		Max:  maxDraftsHeld,
		Cost: func(h *heldDraft) int { return int(h.draft.Size()) },
	})
}

// draftKey returns the cache key of an upload's draft. Other options mean another draft.
func draftKey(u ledger.Upload) string { return u.ID + " " + string(u.Options) }

// withDraft calls f with the draft of an upload at its current version or a later one. f has
// exclusive use of the draft.
func (s *Site) withDraft(ctx context.Context, id string, f func(*heldDraft, ledger.Upload) error) error {
	u, err := s.Ledger.Uploads().Find(ctx, id)
	if err != nil {
		return err
	}
	h, err := s.drafts.Get(ctx, draftKey(u), func(ctx context.Context) (*heldDraft, error) {
		return s.readDraft(ctx, u)
	})
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.applyEdits(u); err != nil {
		return err
	}
	return f(h, u)
}

// applyEdits updates the draft to the version of the upload.
func (h *heldDraft) applyEdits(u ledger.Upload) error {
	if u.Version <= h.version {
		return nil
	}
	c, err := correctionsOf(u)
	if err != nil {
		return err
	}
	if err := h.draft.Set(c.Edits, c.Excluded); err != nil {
		return err
	}
	h.version = u.Version
	return nil
}

// readDraft reads an upload as a draft.
func (s *Site) readDraft(ctx context.Context, u ledger.Upload) (*heldDraft, error) {
	h := &heldDraft{options: string(u.Options), version: u.Version}
	err := s.readUpload(ctx, u, func(content []byte, o importer.Options) (err error) {
		h.draft, err = importer.OpenDraft(u.File, content, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	kept, err := correctionsOf(u)
	if err != nil {
		return nil, err
	}
	h.draft.SetRefused(kept.Refused)
	if h.draft.Len() <= companiesAtOnce {
		s.addKnownCompanies(s.queue.ctx, h)
	} else {
		s.queue.running.Go(func() { s.addKnownCompanies(s.queue.ctx, h) })
	}
	return h, nil
}

// learnCompanies adds newly looked-up companies to the draft of an upload, if it is being edited.
func (s *Site) learnCompanies(ctx context.Context, u ledger.Upload) {
	if h, ok := s.drafts.Peek(draftKey(u)); ok {
		s.addKnownCompanies(ctx, h)
	}
}

// addKnownCompanies adds the company records of earlier look-ups to a draft.
func (s *Site) addKnownCompanies(ctx context.Context, h *heldDraft) {
	h.mu.Lock()
	refs := h.draft.Refs()
	h.mu.Unlock()
	known, err := s.Ledger.Companies().Find(ctx, refs)
	if err != nil {
		if ctx.Err() == nil {
			s.Log.Warn("recalling companies failed", "err", err)
		}
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draft.SetRecords(known) {
		h.learned++
	}
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
