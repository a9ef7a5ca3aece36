package web

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

var homeRoutes = []route{
	{pattern: "GET /{$}", may: self, serve: (*Site).home},
}

// homePage is the first page. It lists the actions and the batches.
type homePage struct {
	Templates []filing.Product
	Uploads   []ledger.Upload
	Actions   []action
	Batches   []listedBatch
	Filter    batchFilter
	Tabs      tabs
	// Clients are the choices of the filter.
	Clients []string
	// Any reports whether there are any batches, regardless of the filter.
	Any bool
	// Starred reports whether a cost of the table is an estimate.
	Starred bool
	// Partial reports whether a cost of the table lacks a state fee.
	Partial bool
	Pager   pager
	// MaxUpload is the maximum size of an upload in MiB.
	MaxUpload int64
}

// listedBatch is a row of the table of batches.
type listedBatch struct {
	ledger.Batch
	batchStatus
	Stack   stack
	Charged money.Cost
	// Cost is the sum of charged, reserved and upcoming costs.
	Cost    money.Cost
	Changed time.Time
}

// batchFilter is the filter of the batches.
type batchFilter struct {
	// Show is "", "mine" or "action".
	Show   string
	Client string
	// Search is searched for in the file names and the IDs of the batches.
	Search string
}

// batchShows are the tabs of the table of batches.
var batchShows = []struct{ name, title string }{{"mine", "Mine"}, {"", "All"}, {"action", "Needs action"}}

func (v *request) batchFilter() batchFilter {
	ask := v.r.URL.Query()
	return batchFilter{
		Show:   ask.Get("show"),
		Client: shortened(ask.Get("client"), 200),
		Search: strings.TrimSpace(shortened(ask.Get("q"), 200)),
	}
}

// path returns the address of the table with the filter and another tab.
func (f batchFilter) path(show string) string {
	return address("/", "show", show, "client", f.Client, "q", f.Search) + "#batches"
}

// Filtered reports whether the filter may hide batches.
func (f batchFilter) Filtered() bool { return f != batchFilter{} }

// matches reports whether a batch matches the search. It ignores the tab and the client.
func (f batchFilter) matches(b ledger.Batch) bool {
	return f.Search == "" || strings.HasPrefix(b.ID, f.Search) ||
		strings.Contains(strings.ToLower(b.File), strings.ToLower(f.Search))
}

func (s *Site) home(v *request) error {
	if !v.session.Account.HasRole() {
		// An account without a role sees only its sessions.
		return v.redirect("/sessions")
	}
	p := homePage{Templates: importer.Templates(), MaxUpload: s.MaxUpload >> 20, Filter: v.batchFilter()}
	var batches []ledger.Batch
	err := errors.Join(
		load(&p.Uploads)(s.Ledger.Uploads().List(v.ctx())),
		load(&p.Actions)(s.listActions(v)),
		load(&batches)(s.Ledger.Batches(v.ctx())),
		load(&p.Clients)(s.Ledger.Companies().Clients(v.ctx(), "", listedClients)))
	// Batches that are not open are listed as uploads, and corrections as part of the batch that
	// they correct.
	batches = slices.DeleteFunc(batches, func(b ledger.Batch) bool { return !b.Open })
	p.Any = len(batches) > 0
	if err == nil && s.asksForSetup(v, len(p.Uploads), len(batches)) {
		return v.redirect("/setup")
	}
	if err := errors.Join(err, s.listBatches(v, &p, batches)); err != nil {
		return err
	}
	return v.show("home.html", "Home", p)
}

// listBatches adds the batches that match the filter.
func (s *Site) listBatches(v *request, p *homePage, batches []ledger.Batch) error {
	batches = slices.DeleteFunc(batches, func(b ledger.Batch) bool { return !p.Filter.matches(b) })
	if p.Filter.Client != "" {
		of, err := s.Ledger.Companies().BatchesOfClient(v.ctx(), p.Filter.Client)
		if err != nil {
			return err
		}
		batches = slices.DeleteFunc(batches, func(b ledger.Batch) bool { return !of[b.ID] })
	}
	facts, err := s.actionFacts.Get(v.ctx(), "", s.loadActionFacts)
	if err != nil {
		return err
	}
	waits := make(map[string]bool)
	for _, b := range facts.batches {
		at := facts.at[b.ID]
		waits[b.ID] = !b.Canceled || at.Uncertain+at.Exceptions > 0
	}
	shown := make(map[string][]ledger.Batch)
	for _, b := range batches {
		shown[""] = append(shown[""], b)
		if b.CreatedBy == v.who() {
			shown["mine"] = append(shown["mine"], b)
		}
		if waits[b.ID] {
			shown["action"] = append(shown["action"], b)
		}
	}
	p.Tabs.Label = "Batches"
	known := false
	for _, one := range batchShows {
		p.Tabs.Tabs = append(p.Tabs.Tabs, tab{
			Path:    p.Filter.path(one.name),
			Name:    one.title,
			Count:   len(shown[one.name]),
			Current: one.name == p.Filter.Show,
		})
		known = known || one.name == p.Filter.Show
	}
	if !known {
		return errNoPage
	}
	page := shown[p.Filter.Show]
	p.Pager, page = paged(v, page, batchesOnPage)
	for _, b := range page {
		one, err := s.listedBatch(v, b, facts)
		if err != nil {
			return err
		}
		p.Starred = p.Starred || one.Cost.Certainty == money.Estimated
		p.Partial = p.Partial || one.Cost.IsUnknown() || one.Charged.IsUnknown()
		p.Batches = append(p.Batches, one)
	}
	return nil
}

func (s *Site) listedBatch(v *request, b ledger.Batch, facts actionFacts) (listedBatch, error) {
	f, err := s.loadFigures(v.ctx(), b.ID)
	if err != nil {
		return listedBatch{}, err
	}
	st, _, err := s.statusOf(v.ctx(), b, f, facts.at[b.ID].Exceptions, facts.fleet)
	if err != nil {
		return listedBatch{}, err
	}
	one := listedBatch{
		Batch:       b,
		batchStatus: st,
		Stack:       stackOf(st.Headline.String(), f.Counts),
		Charged:     f.Spent,
		Changed:     f.Changed,
	}
	one.Cost, err = f.Cost()
	return one, err
}

const batchesOnPage = 25

// listedClients is the maximum number of clients in the filter. The search finds all of them.
const listedClients = 200

// stack is a bar chart of the results of rows.
type stack struct {
	Label string
	Parts []stackPart
}

type stackPart struct {
	Class    string
	X, Width float64
}

// stackOf returns the bar chart of a batch's rows.
func stackOf(label string, c ledger.Counts) stack {
	s := stack{Label: label}
	total := c.Total()
	if total == 0 {
		return s
	}
	x := 0.0
	for _, r := range []filing.Result{filing.Placed, filing.Exists, filing.Placing, filing.Ready, filing.Uncertain,
		filing.Rejected, filing.Invalid, filing.Skipped, filing.Canceled} {
		if n := c[r]; n > 0 {
			width := 100 * float64(n) / float64(total)
			s.Parts = append(s.Parts, stackPart{Class: string(r), X: x, Width: width})
			x += width
		}
	}
	return s
}

// shortCost formats a cost for a table column: "$325.00*" for an estimate, and "$25.00+" if a state
// fee is missing. The page explains the marks.
func shortCost(c money.Cost) string {
	switch {
	case c.IsUnknown():
		return c.Amount.Dollars() + "+"
	case c.Certainty == money.Estimated:
		return c.Amount.Dollars() + "*"
	}
	return c.Amount.Dollars()
}

// action is a task for a person, with one button.
type action struct {
	// Class is the CSS class.
	Class string
	// Text describes the task, with the number of rows.
	Text string
	// Note names the batch or the consequence.
	Note   string
	Button string
	// Path is the target of the button.
	Path string
	// Post reports whether the button sends a form.
	Post bool
	// Batch is the ID of the batch, or "" if the action concerns none or several.
	Batch string
}

// actionFacts is the data behind the actions of all readers.
type actionFacts struct {
	at map[string]ledger.BatchAttention
	// batches are the open batches that need attention or wait for approval.
	batches []ledger.Batch
	fleet   fleetFacts
	// rows counts the ready rows of open batches. Counted only if funds are short or no worker is
	// running.
	rows int
	// queued is the cost of those rows.
	queued money.Cost
	// short counts the rows that wait for funds.
	short   int
	faults  []schedule.Problem
	backups backupFacts
}

// actionsMax is the maximum time that the facts are cached. Every page shows them.
const actionsMax = 10 * time.Second

// actionsTTL returns how long facts are cached, given the time it took to load them.
func actionsTTL(took time.Duration) time.Duration { return min(sharedTTL(took), actionsMax) }

// loadActionFacts loads the data for the actions.
func (s *Site) loadActionFacts(ctx context.Context) (f actionFacts, err error) {
	var all []ledger.Batch
	err = errors.Join(
		load(&f.at)(s.Ledger.ListAttention(ctx)),
		load(&all)(s.Ledger.Batches(ctx)),
		load(&f.backups)(s.loadBackups()),
		load(&f.fleet)(s.loadFleet(ctx)),
		load(&f.faults)(s.Seasons.Problems(ctx)))
	for _, b := range all {
		_, waits := f.at[b.ID]
		if b.Open && (waits || b.Approval.State == ledger.ApprovalNeeded && !b.Canceled) {
			f.batches = append(f.batches, b)
			f.short += f.at[b.ID].Short
		}
	}
	if err == nil && (f.short > 0 || f.fleet.halted.Reason == filing.HaltFunds || !f.fleet.sends()) {
		f.rows, f.queued, err = s.Ledger.Backlog(ctx)
	}
	return f, err
}

// sends reports whether a live process sends orders.
func (f *fleetFacts) sends() bool {
	return slices.ContainsFunc(f.processes, func(p ledger.Process) bool { return p.Alive && p.Places })
}

// listActions returns the actions that the reader has a role for, the most urgent first.
func (s *Site) listActions(v *request) ([]action, error) {
	if !v.session.Account.HasRole() {
		return nil, nil
	}
	f, err := s.actionFacts.Get(v.ctx(), "", s.loadActionFacts)
	if err != nil {
		return nil, err
	}
	approvals, err := s.approvalActions(v, f)
	if err != nil {
		return nil, err
	}
	back, err := s.sentBackActions(v)
	return slices.Concat(f.haltActions(v), f.workerActions(v), f.fundsActions(v), approvals, back,
		f.uncertainActions(v), f.rowActions(v), f.backupActions(v), f.scheduleActions(v)), err
}

// restoredSteps are the instructions for ending the check of a ledger that went back in time.
const restoredSteps = "Submit the spreadsheets of that time again, then run importer resolve restored on the server " +
	"and follow its steps."

// haltActions returns an action for a halt of all batches that only an operator can end.
func (f *actionFacts) haltActions(v *request) []action {
	if !v.may(ledger.Operator) {
		return nil
	}
	a := action{Class: "bad", Text: jobs.FleetHold(f.fleet.halted).Text}
	switch f.fleet.halted.Reason {
	case filing.HaltKey:
		a.Note, a.Button, a.Path = "Nothing is sent until the API key is corrected.", "Correct the API key", "/settings"
	case filing.HaltRestored:
		a.Note, a.Button, a.Path = restoredSteps, "Uncertain rows", "/uncertain"
	default:
		return nil
	}
	return []action{a}
}

// workerActions returns an action if rows wait and no worker is running.
func (f *actionFacts) workerActions(v *request) []action {
	if f.rows == 0 || f.fleet.sends() || !v.may(ledger.Operator) && !v.may(ledger.Preparer) {
		return nil
	}
	return []action{{
		Class:  "bad",
		Text:   count(f.rows, "order") + " " + plural(f.rows, "waits", "wait") + ": no worker is running",
		Note:   "Nothing is sent until a worker is started: importer serve, or worker.",
		Button: "See workers",
		Path:   "/fleet",
	}}
}

// scheduleActions returns an action for each schedule that leaves rows out or would file nothing.
func (f *actionFacts) scheduleActions(v *request) (all []action) {
	if !v.may(ledger.Operator) && !v.may(ledger.Preparer) {
		return nil
	}
	for _, p := range f.faults {
		a := action{Class: "attention", Text: "Schedule " + p.Schedule + " leaves rows out"}
		if p.Nothing {
			a = action{Class: "bad", Text: "Schedule " + p.Schedule + " would file nothing"}
		}
		a.Note, a.Button, a.Path = p.Text, "Check schedule", schedulePath(p.Schedule)
		all = append(all, a)
	}
	return all
}

// fundsActions returns an action if the balance does not cover all rows.
func (f *actionFacts) fundsActions(v *request) []action {
	halted := f.fleet.halted.Reason == filing.HaltFunds
	if f.short == 0 && (!halted || f.rows == 0) {
		return nil
	}
	a := action{Class: "warn", Button: "Record deposit", Path: "/balance#entry"}
	n := f.short
	if halted {
		n, a.Note = f.rows, jobs.FleetHold(f.fleet.halted).Text
	}
	a.Text = count(n, "order") + " " + plural(n, "waits", "wait") + " for funds"
	if short := f.fleet.balance.Missing(f.queued.Amount); f.fleet.balance.HasDeposit && short > 0 {
		a.Text += ", short by " + money.Cost{Amount: short, Certainty: f.queued.Certainty}.String()
	}
	if !v.may(ledger.Operator) {
		a.Button, a.Path = "See balance", "/balance"
	}
	return []action{a}
}

// approvalActions returns an action for each batch or raised cost that the reader may approve.
func (s *Site) approvalActions(v *request, f actionFacts) (all []action, err error) {
	if !v.may(ledger.Approver) {
		return nil, nil
	}
	for _, b := range f.batches {
		wanted, dearer := b.Approval.State == ledger.ApprovalNeeded, f.at[b.ID].Again
		if b.Canceled || !wanted && dearer == 0 {
			continue
		}
		who, err := s.approvers(v, b.ID)
		if err != nil {
			return nil, err
		}
		if who.Barred != nil {
			continue
		}
		a := action{
			Class: "note", Batch: b.ID, Button: "Review", Path: "/batches/" + b.ID + "/approve", Note: b.File,
			Text: count(dearer, "order") + " " + plural(dearer, "needs", "need") + " a new approval of the cost",
		}
		if wanted {
			figures, err := s.loadFigures(v.ctx(), b.ID)
			if err != nil {
				return nil, err
			}
			a.Text = fmt.Sprintf("%s, %s: approve", count(figures.Orders, "order"), figures.Needed)
		}
		all = append(all, a)
	}
	return all, nil
}

// uncertainActions returns an action if there are rows that only a person can resolve.
func (f *actionFacts) uncertainActions(v *request) []action {
	n, in, batch, file := 0, 0, "", ""
	for _, b := range f.batches {
		if u := f.at[b.ID].Uncertain; u > 0 {
			n, in, batch, file = n+u, in+1, b.ID, b.File
		}
	}
	if n == 0 || !v.may(ledger.Operator) && !v.may(ledger.Preparer) {
		return nil
	}
	a := action{Class: "uncertain", Text: count(n, "uncertain order"), Button: "Resolve", Path: "/uncertain"}
	if a.Note = "In " + text.CountOf(in, "batch", "batches") + "."; in == 1 {
		a.Note, a.Batch, a.Path = file, batch, "/uncertain?batch="+batch
	}
	if !v.may(ledger.Operator) {
		a.Button = "See orders"
	}
	return []action{a}
}

// rowActions returns the actions for rows that need a correction, and for filings that stopped.
func (f *actionFacts) rowActions(v *request) (all []action) {
	for _, b := range f.batches {
		at := f.at[b.ID]
		if at.Correct > 0 && !b.Canceled && v.may(ledger.Preparer) {
			all = append(all, action{
				Class:  "attention",
				Batch:  b.ID,
				Text:   count(at.Correct, "row") + " " + plural(at.Correct, "needs", "need") + " attention",
				Note:   b.File,
				Button: "Correct " + count(at.Correct, "row"),
				Path:   "/batches/" + b.ID + "/correct",
				Post:   true,
			})
		}
		if at.Exceptions > 0 && (v.may(ledger.Preparer) || v.may(ledger.Operator)) {
			all = append(all, action{
				Class:  "attention",
				Batch:  b.ID,
				Text:   count(at.Exceptions, "filing") + " stopped with an exception",
				Note:   b.File,
				Button: "Check",
				Path:   "/batches/" + b.ID + "?show=exceptions#rows",
			})
		}
	}
	return all
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
