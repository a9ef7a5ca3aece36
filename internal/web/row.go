package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// rowHandler handles the lists of rows and the page of a row.
type rowHandler struct{ *Config }

func (h *rowHandler) routes() []route {
	return []route{{pattern: "GET /batches/{batch}/rows/{number}", may: viewer, serve: ofBatch(h.row)}}
}

// rowPage is the page of a row.
type rowPage struct {
	Batch      ledger.Batch
	Row        listedRow
	Cost       rowCost
	Understood []fact
	Attempts   []ledger.Attempt
	Events     []ledger.Event
	Documents  []ledger.Document
	Entries    []ledger.Entry
	// More reports whether there are more entries than shown.
	More bool
	// Prev and Next are the addresses of the adjacent rows. Empty if there is none.
	Prev, Next string
	// Company is the address of the company's page. Empty if the company is not known yet.
	Company string
	// Corrected is the address of the correction whose result is shown. Empty if there is none.
	Corrected string
	// Pending is the address of a correction that is not approved yet. Empty if there is none.
	Pending string
}

// fact is a value that the importer read from the row.
type fact struct{ Name, Text string }

// filedAt returns the filing date as a time. It returns zero if the filing service's text is not a
// date.
func filedAt(i ledger.Item) time.Time {
	at, _ := time.Parse(time.RFC3339, i.FilingDate)
	return at
}

// exceptionOf returns the exception that stopped a filing, or the zero value if the code is
// unknown.
func exceptionOf(code int) filing.Exception {
	e, _ := filing.ExceptionOf(code)
	return e
}

// timeTaken returns how long the filing service took to answer, or "" if it did not answer.
func timeTaken(a ledger.Attempt) string {
	if a.Supposed || a.EndedAt.IsZero() {
		return ""
	}
	if d := a.EndedAt.Sub(a.StartedAt); d < time.Minute {
		return d.Round(time.Millisecond).String()
	}
	return report.Spell(a.EndedAt.Sub(a.StartedAt))
}

// stateWords are a state in words and its CSS class.
type stateWords struct{ Text, Class string }

var eventStates = map[ledger.EventState]stateWords{
	ledger.EventNew:        {"not processed yet", "ready"},
	ledger.EventApplied:    {"applied", "placed"},
	ledger.EventStale:      {"older than the known status", "off"},
	ledger.EventUnknown:    {"for an order without a row", "uncertain"},
	ledger.EventIgnored:    {"no effect here", "off"},
	ledger.EventUnreadable: {"unreadable", "rejected"},
}

// rowCost is an amount of a row and its label.
type rowCost struct {
	Name string
	money.Cost
}

// costOf returns the cost of a row. It is the expected cost while the order can still be sent, and
// the charged amount afterwards.
func costOf(r ledger.Row) rowCost {
	switch r.Result {
	case filing.Placing, filing.Uncertain:
		return rowCost{"Reserved", r.Cost}
	case filing.Ready, filing.Invalid:
		return rowCost{"Expected cost", r.Cost}
	}
	return rowCost{"Charged", r.Spent}
}

const entriesOfRow = 200

func (h *rowHandler) row(v *request, b ledger.Batch) error {
	ctx := v.ctx()
	number, err := strconv.Atoi(v.r.PathValue("number"))
	if err != nil {
		return ledger.ErrNotFound
	}
	find := h.Ledger.RowNumbered
	if v.r.URL.Query().Has("uploaded") {
		find = h.Ledger.UploadedRow
	}
	row, err := find(ctx, b.ID, number)
	if err != nil {
		return err
	}
	p := rowPage{Batch: b, Cost: costOf(row), Understood: understood(row)}
	if c := row.Correction; c != nil {
		p.Corrected = batchRowPath(c.Batch, c.Number)
	}
	var company, pending string
	err = errors.Join(
		load(&p.Row)(listed(b, row)),
		load(&pending)(h.Ledger.Corrections().FindPending(ctx, ledger.BatchRow{Batch: b.ID, Number: row.Number})),
		load(&company)(h.Ledger.Companies().KeyOf(ctx, row.ID)),
		load(&p.Attempts)(h.Ledger.Attempts(ctx, row.ID)),
		load(&p.Events)(h.Ledger.Events().ListOf(ctx, row.ID)),
		load(&p.Documents)(collect(h.Ledger.Documents().OfRow(ctx, row.ID))),
		load(&p.Entries)(h.Ledger.Entries().OfRow(ctx, row.ID, entriesOfRow+1)),
		load(&p.Prev)(h.rowBeside(v, b, number, -1)),
		load(&p.Next)(h.rowBeside(v, b, number, +1)))
	if err != nil {
		return err
	}
	if company != "" {
		p.Company = companyPath(company)
	}
	if pending != "" {
		// The address leads to the draft or to the approval.
		p.Pending = "/batches/" + pending
	}
	p.Entries, p.More = firstOf(p.Entries, entriesOfRow)
	return v.show(nil, "row.html", fmt.Sprintf("Row %d of %s", number, b.File), p)
}

// batchRowPath returns the address of a row's page.
func batchRowPath(batch string, number int) string {
	return fmt.Sprintf("/batches/%s/rows/%d", batch, number)
}

// rowBeside returns the address of the previous or the next row, or "" if there is none. It skips
// lines that are not rows.
func (h *rowHandler) rowBeside(v *request, b ledger.Batch, number, step int) (string, error) {
	q := ledger.RowQuery{Batch: b.ID, After: number, Limit: 1, Uncounted: true}
	if step < 0 {
		if number <= 1 {
			return "", nil
		}
		q.After, q.Upto = 0, number-1
	}
	rows, _, err := h.Ledger.ListRows(v.ctx(), q)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return batchRowPath(b.ID, rows[0].Number), nil
}

// understood lists the values that the importer read from a row.
func understood(row ledger.Row) []fact {
	r := row.Request
	if r == nil {
		return nil
	}
	var facts []fact
	add := func(name, text string) {
		if text = strings.TrimSpace(text); text != "" {
			facts = append(facts, fact{name, text})
		}
	}
	add("Filing type", text.Capital(r.Product.Title()))
	add("Company", r.LegalName())
	add("Company at the filing service", row.CompanyRef())
	if r.CreatesCompany() && row.Company == "" {
		add("Company at the filing service", "none yet; the company is created first")
	}
	add("User", r.User.Ref())
	add("Filing state", string(r.Order.FilingState))
	if r.Order.AnnualReport != nil {
		add("Filing year", r.Order.AnnualReport.FilingYear)
	}
	return facts
}

// attemptTones are the CSS classes of attempts by their answers. All other answers are rejections.
var attemptTones = map[filing.AnswerKind]string{
	filing.Accepted: "placed", filing.Unreadable: "uncertain", filing.NoAnswer: "uncertain",
	filing.ServerError: "uncertain",
	filing.NotSent:     "off", filing.Busy: "off", filing.NoFunds: "paused", filing.HasItem: "exists",
}

func toneOf(a ledger.Attempt) string { return cmp.Or(attemptTones[a.Outcome], "rejected") }

// legibleBody formats the body of an event for a reader. It masks Social Security numbers.
func legibleBody(body []byte) string {
	body = filing.HideSSNsInBody(body)
	var pretty bytes.Buffer
	if json.Indent(&pretty, body, "", "  ") != nil {
		return legible(string(body))
	}
	return legible(pretty.String())
}

// rowList is a page of a batch's rows.
type rowList struct {
	// Base is the address of the page that has the list.
	Base   string
	Show   string
	Search string
	Tabs   tabs
	// Columns are the headers.
	Columns []string
	Rows    []listedRow
	Pager   pager
}

type tabs struct {
	Label string
	Tabs  []tab
}

// add adds a tab.
func (t *tabs) add(path, name string, count int, current bool) {
	t.Tabs = append(t.Tabs, tab{Path: path, Name: name, Count: count, Current: current})
}

type tab struct {
	Path, Name, Class string
	Count             int
	Current           bool

	// Show identifies a tab whose count is updated live.
	Show    string
	Follows bool
	// Hidden reports whether the tab is hidden while its count is zero.
	Hidden bool
}

// pager has the addresses of other pages of a list. They are empty if there is no such page.
type pager struct {
	From, To, Total     int
	First, Newer, Older string
}

// listedRow is a row in a list.
type listedRow struct {
	ledger.Row
	Cells []listedCell
	// Absent are the problems of columns that the sheet lacks.
	Absent []absence
	// Text describes the result and the next step.
	Text string
	// Name is the company's name or reference in the sheet. Empty if the sheet has neither.
	Name   string
	Orders []string
}

type listedCell struct {
	Text   string
	Header string
	// Field is the field that the column was mapped to. Empty if the column is not used.
	Field   string
	Letter  string
	Secret  bool
	Fault   string
	Warning bool
}

type absence struct{ Header, Fault string }

const rowsOnPage = 50

// rowShow is a tab of a batch's rows.
type rowShow struct {
	name, title string
	query       ledger.RowQuery
}

var shows = []rowShow{
	{"", "All", ledger.RowQuery{}},
	{"problems", "Needs attention", ledger.RowQuery{Results: []filing.Result{filing.Invalid, filing.Rejected}}},
	{"ready", "Ready", ledger.RowQuery{Results: []filing.Result{filing.Ready, filing.Placing}}},
	{"placed", "Placed", ledger.RowQuery{Results: []filing.Result{filing.Placed}}},
	{"exists", "Exists", ledger.RowQuery{Results: []filing.Result{filing.Exists}}},
	{"uncertain", "Uncertain", ledger.RowQuery{Results: []filing.Result{filing.Uncertain}}},
	{"skipped", "Skipped", ledger.RowQuery{Results: []filing.Result{filing.Skipped}}},
	{"canceled", "Canceled", ledger.RowQuery{Results: []filing.Result{filing.Canceled}}},
	{"before", "Ready, ordered before", ledger.RowQuery{Before: true}},
	{"notes", "Warnings", ledger.RowQuery{Warned: true}},
	{"exceptions", "Filing exceptions", ledger.RowQuery{Exceptions: true}},
}

// list loads the rows that the address selects.
func (h *rowHandler) list(v *request, b ledger.Batch, counts ledger.Counts) (*rowList, error) {
	list := &rowList{
		Base:    "/batches/" + b.ID,
		Show:    v.query("show"),
		Search:  shortened(v.query("q"), maxSearch),
		Columns: b.Columns,
	}
	at := slices.IndexFunc(shows, func(one rowShow) bool { return one.name == list.Show })
	if at < 0 {
		return nil, errNoPage
	}
	count, err := h.addTabs(v, list, b, counts)
	if err != nil {
		return nil, err
	}
	q := shows[at].query
	q.Batch, q.Search, q.Uncounted = b.ID, list.Search, true
	q.Limit = rowsOnPage + 1 // one more row shows whether another page follows
	q.After = v.number("after", 0)
	var rows []ledger.Row
	// Skip the query if the tab is empty. It would read all rows to find none.
	if list.Search != "" || count > 0 {
		if rows, _, err = h.Ledger.ListRows(v.ctx(), q); err != nil {
			return nil, err
		}
	}
	list.Pager, rows = keyset(v, "after", rows, rowsOnPage, func(r ledger.Row) any { return r.Number }, "#rows")
	for _, r := range rows {
		listed, err := listed(b, r)
		if err != nil {
			return nil, err
		}
		list.Rows = append(list.Rows, listed)
	}
	switch {
	case list.Search == "":
		list.Pager.Total = count
	// The total is known on the last page. Counting earlier takes as long as finding all rows.
	case list.Pager.Older == "":
		list.Pager.Total = list.Pager.To
	}
	return list, nil
}

// tallyOf counts the rows of the tabs that select rows by result, keyed by the name of the tab.
func tallyOf(counts ledger.Counts) map[string]int {
	tally := map[string]int{"": counts.Total()}
	for _, one := range shows {
		for _, r := range one.query.Results {
			tally[one.name] += counts[r]
		}
	}
	return tally
}

// addTabs adds the tabs and their counts. It omits empty tabs, except for a submitted batch, whose
// counts are updated live. It returns the count of the current tab.
func (h *rowHandler) addTabs(v *request, l *rowList, b ledger.Batch, counts ledger.Counts) (current int, err error) {
	l.Tabs.Label = "Rows by result"
	tally := tallyOf(counts)
	for _, one := range shows {
		n, told := tally[one.name]
		if !told && (one.name != "before" || !b.Open && counts[filing.Ready] > 0) {
			q := one.query
			q.Batch = b.ID
			if _, n, err = h.Ledger.ListRows(v.ctx(), q); err != nil {
				return 0, err
			}
		}
		follows, hidden := told && b.Open, n == 0 && one.name != "" && one.name != l.Show
		if hidden && !follows {
			continue
		}
		if one.name == l.Show {
			current = n
		}
		class := ""
		if len(one.query.Results) > 0 {
			class = string(one.query.Results[0])
		}
		l.Tabs.Tabs = append(l.Tabs.Tabs, tab{
			Path:    address(l.Base, "show", one.name) + "#rows",
			Name:    one.title,
			Class:   class,
			Count:   n,
			Current: one.name == l.Show,
			Show:    one.name,
			Follows: follows,
			Hidden:  hidden,
		})
	}
	return current, nil
}

// listed returns a row for a list or for its page.
func listed(b ledger.Batch, r ledger.Row) (listedRow, error) {
	cells, err := sheet.DecodeCells(r.Cells)
	if err != nil {
		return listedRow{}, fmt.Errorf("read the cells of row %d: %w", r.Number, err)
	}
	row := listedRow{Row: r, Text: report.Message(&r)}
	names := make(map[string]string) // by field
	for i := range max(len(b.Columns), len(cells)) {
		cell := listedCell{Letter: sheet.ColumnName(i)}
		if i < len(b.Columns) {
			cell.Header = b.Columns[i]
		}
		if i < len(cells) {
			cell.Text = cells[i].Text
		}
		if i < len(b.Fields) {
			cell.Field, cell.Secret = b.Fields[i], b.Fields[i] == secretField
			names[b.Fields[i]] = cell.Text
		}
		row.Cells = append(row.Cells, cell)
	}
	row.Name = cmp.Or(names["company.legalName"], names["companyId"])
	for _, f := range r.Faults {
		switch {
		case f.Column >= 0 && f.Column < len(row.Cells):
			cell := &row.Cells[f.Column]
			cell.Warning = f.Warning && (cell.Warning || cell.Fault == "")
			if cell.Fault != "" {
				cell.Fault += "; "
			}
			cell.Fault += f.Message
		case f.Header != "":
			row.Absent = append(row.Absent, absence{f.Header, f.Message})
		}
	}
	for _, i := range r.Items {
		if i.OrderID != "" {
			row.Orders = append(row.Orders, i.OrderID)
		}
	}
	return row, nil
}

// Stopped reports whether a filing of the row stopped with an exception.
func (r listedRow) Stopped() bool {
	return slices.ContainsFunc(r.Items, func(i ledger.Item) bool { return i.Exception != 0 })
}

// secretField is the filing service's field for a Social Security number.
const secretField = "ein.responsiblePartySsn"
