package web

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

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
	short  int
	faults []schedule.Problem
	// unscheduled are the reports that fall due and that no schedule files.
	unscheduled schedule.Unscheduled
	silence     schedule.Silence
	backups     backupFacts
}

// actionsMax is the maximum time that the facts are cached. Every page shows them.
const actionsMax = 10 * time.Second

// actionsTTL returns how long facts are cached, given the time it took to load them.
func actionsTTL(took time.Duration) time.Duration { return min(sharedTTL(took), actionsMax) }

// silenceTTL returns how long silent orders are cached. They change from hour to hour.
func silenceTTL(took time.Duration) time.Duration { return min(10*sharedTTL(took), 10*time.Minute) }

// facts returns the data for the actions.
func (o *overview) facts(ctx context.Context) (actionFacts, error) {
	return o.shared.Get(ctx, "", o.loadFacts)
}

func (o *overview) loadFacts(ctx context.Context) (f actionFacts, err error) {
	var all []ledger.Batch
	err = errors.Join(
		load(&f.at)(o.Ledger.Attention().CountByBatch(ctx)),
		load(&all)(o.Ledger.Batches(ctx)),
		load(&f.backups)(loadBackups(o.Settings, o.Ledger.Now())),
		load(&f.fleet)(o.loadFleet(ctx)),
		load(&f.silence)(o.silence.Get(ctx, "", func(ctx context.Context) (schedule.Silence, error) {
			return schedule.FindSilence(ctx, o.Ledger, "")
		})),
		load(&f.unscheduled)(o.Scheduler.FindUnscheduled(ctx)),
		load(&f.faults)(o.Scheduler.Problems(ctx)))
	for _, b := range all {
		_, waits := f.at[b.ID]
		if b.Open && (waits || b.Approval.State == ledger.ApprovalNeeded && !b.Canceled) {
			f.batches = append(f.batches, b)
			f.short += f.at[b.ID].Short
		}
	}
	if err == nil && (f.short > 0 || f.fleet.halted.Reason == filing.HaltFunds || !f.fleet.sends()) {
		f.rows, f.queued, err = o.Ledger.Backlog().Total(ctx)
	}
	return f, err
}

// sends reports whether a live process sends orders.
func (f *fleetFacts) sends() bool {
	return slices.ContainsFunc(f.processes, func(p ledger.Process) bool { return p.Alive && p.Places })
}

// actionList are the actions of a reader.
type actionList struct {
	v   *request
	all []action
}

// add adds an action if the reader has one of the roles.
func (l *actionList) add(roles []account.Role, a action) {
	if slices.ContainsFunc(roles, l.v.may) {
		l.all = append(l.all, a)
	}
}

// actions returns the actions that the reader has a role for, the most urgent first.
func (o *overview) actions(v *request) ([]action, error) {
	if !v.session.Account.HasRole() {
		return nil, nil
	}
	f, err := o.facts(v.ctx())
	if err != nil {
		return nil, err
	}
	l := &actionList{v: v}
	l.addHalt(&f)
	l.addFunds(&f)
	if err := errors.Join(o.addApprovals(l, &f), o.addSentBack(l)); err != nil {
		return nil, err
	}
	l.addUncertain(&f)
	l.addRows(&f)
	l.addSilence(&f)
	if f.backups.Late {
		l.add(operator, action{
			Class:  "warn",
			Text:   "The last backup of the ledger is of " + f.backups.Last.UTC().Format("Jan 2, 15:04 UTC"),
			Button: "See backups",
			Path:   "/settings#backups",
		})
	}
	l.addSchedules(&f)
	return l.all, nil
}

// restoredSteps are the instructions for ending the check of a ledger that went back in time.
const restoredSteps = "Submit the spreadsheets of that time again, then run importer resolve restored on the server " +
	"and follow its steps."

// addHalt adds actions for a halt of all batches that only an operator can end, and for rows that
// wait while no worker is running.
func (l *actionList) addHalt(f *actionFacts) {
	a := action{Class: "bad", Text: jobs.FleetHold(f.fleet.halted).Text}
	switch f.fleet.halted.Reason {
	case filing.HaltKey:
		a.Note, a.Button, a.Path = "Nothing is sent until the API key is corrected.", "Correct the API key", "/settings"
		l.add(operator, a)
	case filing.HaltRestored:
		a.Note, a.Button, a.Path = restoredSteps, "Uncertain rows", "/uncertain"
		l.add(operator, a)
	}
	if f.rows > 0 && !f.fleet.sends() {
		l.add(hands, action{
			Class:  "bad",
			Text:   count(f.rows, "order") + " " + plural(f.rows, "waits", "wait") + ": no worker is running",
			Note:   "Nothing is sent until a worker is started: importer serve, or worker.",
			Button: "See workers",
			Path:   "/workers",
		})
	}
}

// addSchedules adds an action for reports that no schedule files, and for each schedule that leaves
// rows out or would file nothing.
func (l *actionList) addSchedules(f *actionFacts) {
	if u := f.unscheduled; u.Reports > 0 {
		l.add(hands, action{
			Class: "attention",
			Text:  count(u.Reports, "report") + " due without a schedule, the first on " + u.First.American(),
			Note: "They are in your company lists, and nothing files them. Upload their spreadsheet, or add " +
				"a schedule.",
			Button: "See schedules",
			Path:   "/schedules",
		})
	}
	for _, p := range f.faults {
		a := action{Class: "attention", Text: "Schedule " + p.Schedule + " leaves rows out"}
		if p.Nothing {
			a = action{Class: "bad", Text: "Schedule " + p.Schedule + " would file nothing"}
		}
		a.Note, a.Button, a.Path = p.Text, "Check schedule", schedulePath(p.Schedule)
		l.add(hands, a)
	}
}

// addFunds adds an action if the balance does not cover all rows.
func (l *actionList) addFunds(f *actionFacts) {
	halted := f.fleet.halted.Reason == filing.HaltFunds
	if f.short == 0 && (!halted || f.rows == 0) {
		return
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
	if !l.v.may(account.Operator) {
		a.Button, a.Path = "See balance", "/balance"
	}
	l.add(viewer, a)
}

// addApprovals adds an action for each batch or raised cost that the reader may approve.
func (o *overview) addApprovals(l *actionList, f *actionFacts) error {
	if !l.v.may(account.Approver) {
		return nil
	}
	for _, b := range f.batches {
		wanted, dearer := b.Approval.State == ledger.ApprovalNeeded, f.at[b.ID].Again
		if b.Canceled || !wanted && dearer == 0 {
			continue
		}
		barred, err := approval.New(o.Ledger).Barred(l.v.ctx(), b.ID, l.v.who())
		if err != nil {
			return err
		}
		if barred != nil {
			continue
		}
		text := count(dearer, "order") + " " + plural(dearer, "needs", "need") + " a new approval of the cost"
		if wanted {
			figures, err := o.loadFigures(l.v.ctx(), b.ID)
			if err != nil {
				return err
			}
			text = fmt.Sprintf("%s, %s: approve", count(figures.Orders, "order"), figures.Needed)
		}
		l.add(approver, action{
			Class:  "note",
			Batch:  b.ID,
			Text:   text,
			Note:   b.File,
			Button: "Review",
			Path:   "/batches/" + b.ID + "/approve",
		})
	}
	return nil
}

// addSentBack adds an action for each draft that an approver sent back.
func (o *overview) addSentBack(l *actionList) error {
	if !l.v.may(account.Preparer) {
		return nil
	}
	back, err := approval.New(o.Ledger).ListSentBack(l.v.ctx())
	for _, b := range back {
		l.add(preparer, action{
			Class:  "warn",
			Text:   fmt.Sprintf("%s was sent back: %s", b.File, shortened(b.Comment, noteLength)),
			Note:   "by " + b.By,
			Button: "Correct",
			Path:   "/sheets/" + b.Upload,
		})
	}
	return err
}

// addUncertain adds an action if there are rows that only a person can resolve.
func (l *actionList) addUncertain(f *actionFacts) {
	n, in, batch, file := 0, 0, "", ""
	for _, b := range f.batches {
		if u := f.at[b.ID].Uncertain; u > 0 {
			n, in, batch, file = n+u, in+1, b.ID, b.File
		}
	}
	if n == 0 {
		return
	}
	a := action{Class: "uncertain", Text: count(n, "uncertain order"), Button: "Resolve", Path: "/uncertain"}
	if a.Note = "In " + text.CountOf(in, "batch", "batches") + "."; in == 1 {
		a.Note, a.Batch, a.Path = file, batch, "/uncertain?batch="+batch
	}
	if !l.v.may(account.Operator) {
		a.Button = "See orders"
	}
	l.add(hands, a)
}

// addSilence adds an action for each state and product with silent orders, and one if events do not
// arrive.
func (l *actionList) addSilence(f *actionFacts) {
	for _, line := range f.silence.Lines() {
		l.add(hands, action{
			Class:  "warn",
			Text:   line,
			Button: "See orders",
			Path:   "/silent",
		})
	}
}

// addRows adds the actions for rows that need a correction, and for filings that stopped.
func (l *actionList) addRows(f *actionFacts) {
	for _, b := range f.batches {
		at := f.at[b.ID]
		if at.Correct > 0 && !b.Canceled {
			l.add(preparer, action{
				Class:  "attention",
				Batch:  b.ID,
				Text:   count(at.Correct, "row") + " " + plural(at.Correct, "needs", "need") + " attention",
				Note:   b.File,
				Button: "Correct " + count(at.Correct, "row"),
				Path:   "/batches/" + b.ID + "/correct",
				Post:   true,
			})
		}
		if at.Exceptions > 0 {
			l.add(hands, action{
				Class:  "attention",
				Batch:  b.ID,
				Text:   count(at.Exceptions, "filing") + " stopped with an exception",
				Note:   b.File,
				Button: "Check",
				Path:   "/batches/" + b.ID + "?show=exceptions#rows",
			})
		}
	}
}
