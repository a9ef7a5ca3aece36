package web

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// action is something that a person has to do, with the one button for it.
type action struct {
	Class  string // its tone
	Text   string // what waits, with its number
	Note   string // of which batch, or what follows from it
	Button string
	Path   string // where the button leads
	Post   bool   // the button sends a form
	Batch  string // "" where it is of none, or of several
}

// actionFacts is what the actions of every reader are made from.
type actionFacts struct {
	at      map[string]ledger.BatchAttention
	batches []ledger.Batch // the open ones of which something waits, and those that wait for approval
	fleet   fleetFacts
	rows    int        // ready, in open batches; counted only where funds are short or no one sends them
	queued  money.Cost // what they cost
	short   int        // rows that wait for funds
	faults  []schedule.Problem
	backups backupFacts
}

// actionsMax bounds how long the facts are kept: every page shows them.
const actionsMax = 10 * time.Second

// actionsTTL returns how long facts are kept by how long they took to load.
func actionsTTL(took time.Duration) time.Duration { return min(sharedTTL(took), actionsMax) }

// loadActionFacts loads what the actions are made from.
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

// sends reports whether a process is alive that sends orders.
func (f *fleetFacts) sends() bool {
	return slices.ContainsFunc(f.processes, func(p ledger.Process) bool { return p.Alive && p.Places })
}

// listActions lists the actions that the reader has a role for, the most urgent first.
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

// restoredSteps says how to end the check of a ledger that went back in time.
const restoredSteps = "Submit the spreadsheets of that time again, then run importer resolve restored on the server " +
	"and follow its steps."

// haltActions are for what stops every batch and only an operator can end.
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

// workerActions are for rows that no process sends.
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

// scheduleActions are for schedules that do not file what they should.
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

// fundsActions are for rows that the balance does not cover.
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

// approvalActions are for the batches, and the raised costs, that the reader may
// approve.
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

// uncertainActions are for rows that only a person can resolve.
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

// rowActions are for rows that a correction helps, and for filings that stopped.
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
