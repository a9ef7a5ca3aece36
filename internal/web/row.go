package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

var rowRoutes = []route{
	{pattern: "GET /batches/{batch}/rows/{number}", may: viewer, serve: ofBatch((*Site).rowPage)},
}

// rowPage is all there is to know of a row.
type rowPage struct {
	Batch      ledger.Batch
	Row        listedRow
	Cost       rowCost
	Understood []fact
	Items      []rowItem
	Attempts   []rowAttempt
	Events     []rowEvent
	Documents  []ledger.Document
	Entries    []ledger.Entry
	More       bool   // there are more entries than are shown
	Prev, Next string // the rows beside it; "" at an end
	Company    string // the page of its company; "" where there is none yet
	Corrected  string // the page of the correction whose result is shown; "" if there is none
	Pending    string // the page of a correction that is not approved
}

// fact is something that the row was read as.
type fact struct{ Name, Text string }

type rowItem struct {
	ledger.Item
	Exception filing.Exception // what stops the filing, where the code is known
}

// FiledAt is the filing date as a moment, where the service gave one; the zero
// time where it gave something else.
func (i rowItem) FiledAt() time.Time {
	at, _ := time.Parse(time.RFC3339, i.FilingDate)
	return at
}

type rowAttempt struct {
	ledger.Attempt
	Answer string
	Class  string
}

// Took is how long the answer was waited for.
func (a rowAttempt) Took() string {
	if a.Supposed || a.EndedAt.IsZero() {
		return ""
	}
	if d := a.EndedAt.Sub(a.StartedAt); d < time.Minute {
		return d.Round(time.Millisecond).String()
	}
	return report.Spell(a.EndedAt.Sub(a.StartedAt))
}

type rowEvent struct {
	ledger.Event
	Body string
}

// eventWords are the states of an event, with their CSS classes.
var eventWords = map[ledger.EventState]struct{ meaning, tone string }{
	ledger.EventNew:        {"not processed yet", "ready"},
	ledger.EventApplied:    {"applied", "placed"},
	ledger.EventStale:      {"older than the known status", "off"},
	ledger.EventUnknown:    {"for an order without a row", "uncertain"},
	ledger.EventIgnored:    {"no effect here", "off"},
	ledger.EventUnreadable: {"unreadable", "rejected"},
}

func (e rowEvent) Meaning() string { return eventWords[e.State].meaning }
func (e rowEvent) Tone() string    { return eventWords[e.State].tone }

// Field is what a column was read as; "" where it was not used.
func (p rowPage) Field(column int) string {
	if column < len(p.Batch.Fields) {
		return p.Batch.Fields[column]
	}
	return ""
}

// rowCost is an amount of a row and its name.
type rowCost struct {
	Name string
	money.Cost
}

// costOf returns what a row costs: the expected cost while its order can still be sent, and what
// was charged once nothing more of it is sent.
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

func (s *Site) rowPage(v *request, b ledger.Batch) error {
	ctx := v.ctx()
	number, err := strconv.Atoi(v.r.PathValue("number"))
	if err != nil {
		return ledger.ErrNotFound
	}
	find := s.Ledger.RowNumbered
	if v.r.URL.Query().Has("uploaded") {
		find = s.Ledger.UploadedRow
	}
	row, err := find(ctx, b.ID, number)
	if err != nil {
		return err
	}
	p := rowPage{Batch: b, Cost: costOf(row), Understood: understood(row)}
	if p.Row, err = listed(b, row); err != nil {
		return err
	}
	for _, i := range row.Items {
		item := rowItem{Item: i}
		item.Exception, _ = filing.ExceptionOf(i.Exception)
		p.Items = append(p.Items, item)
	}
	var attempts []ledger.Attempt
	var events []ledger.Event
	var company string
	err = errors.Join(
		s.addCorrection(v, &p, row),
		load(&company)(s.Ledger.CompanyOfRow(ctx, row.ID)),
		load(&attempts)(s.Ledger.Attempts(ctx, row.ID)),
		load(&events)(s.Ledger.Events().ListOf(ctx, row.ID)),
		load(&p.Entries)(s.Ledger.Entries().OfRow(ctx, row.ID, entriesOfRow+1)),
		load(&p.Prev)(s.rowBeside(v, b, number, -1)),
		load(&p.Next)(s.rowBeside(v, b, number, +1)))
	if err != nil {
		return err
	}
	if company != "" {
		p.Company = companyPath(company)
	}
	for _, a := range attempts {
		p.Attempts = append(p.Attempts, rowAttempt{a, text.Capital(report.AnswerText(a)), toneOf(a.Class)})
	}
	for _, e := range events {
		p.Events = append(p.Events, rowEvent{e, legibleBody(e.Body)})
	}
	for d, err := range s.Ledger.Documents().OfRow(ctx, row.ID) {
		if err != nil {
			return err
		}
		p.Documents = append(p.Documents, d)
	}
	p.Entries, p.More = firstOf(p.Entries, entriesOfRow)
	return v.show("row.html", fmt.Sprintf("Row %d of %s", number, b.File), p)
}

// addCorrection adds where the row was corrected, and what it was before.
func (s *Site) addCorrection(v *request, p *rowPage, row ledger.Row) (err error) {
	if c := row.Correction; c != nil {
		p.Corrected = fmt.Sprintf("/batches/%s/rows/%d", c.Batch, c.Number)
	}
	pending, err := s.Ledger.FindPendingCorrection(v.ctx(), ledger.BatchRow{Batch: p.Batch.ID, Number: row.Number})
	if pending != "" {
		p.Pending = "/batches/" + pending // leads to its draft or its approval
	}
	return err
}

// rowBeside is the address of the row before or after another; "" where there is none.
// There may be lines that are no rows between them.
func (s *Site) rowBeside(v *request, b ledger.Batch, number, step int) (string, error) {
	q := ledger.RowQuery{Batch: b.ID, After: number, Limit: 1, Uncounted: true}
	if step < 0 {
		if number <= 1 {
			return "", nil
		}
		q.After, q.Upto = 0, number-1
	}
	rows, _, err := s.Ledger.ListRows(v.ctx(), q)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return fmt.Sprintf("/batches/%s/rows/%d", b.ID, rows[0].Number), nil
}

// understood is what a row was read as.
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

// attemptTones are the looks of attempts by what came of them; others are refused.
var attemptTones = map[filing.AnswerKind]string{
	filing.Accepted: "placed", filing.Unreadable: "uncertain", filing.NoAnswer: "uncertain",
	filing.ServerError: "uncertain",
	filing.NotSent:     "off", filing.Busy: "off", filing.NoFunds: "paused", filing.HasItem: "exists",
}

func toneOf(c filing.AnswerKind) string {
	if tone := attemptTones[c]; tone != "" {
		return tone
	}
	return "rejected"
}

// legibleBody is the body of an event for a reader, without Social Security
// numbers.
func legibleBody(body []byte) string {
	body = filing.HideSSNsInBody(body)
	var pretty bytes.Buffer
	if json.Indent(&pretty, body, "", "  ") != nil {
		return legible(string(body))
	}
	return legible(pretty.String())
}
