package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
)

// shownKinds is the number of filing kinds that a quote lists. The last line has the sum of the
// rest.
const shownKinds = 25

// sayQuote prints the cost by product, state, and entity type, with separate service fee and state
// fee, and the sources of the fees.
func (a *app) sayQuote(q pricing.BatchQuote) {
	var b strings.Builder
	table := newTable(&b)
	fmt.Fprintln(table, "  \tfilings\tservice fee\tstate fee\ttotal")
	summary := q.Summary()
	// notes is the number of footnotes of the printed lines.
	notes := 0
	for i, l := range summary.Lines {
		if i == shownKinds {
			fmt.Fprintf(table, "  and %s more\t\t\t\t\n", count(len(summary.Lines)-i, "kind"))
			break
		}
		notes = max(notes, l.Mark)
		fee := l.FeeText()
		if l.Count > 1 && l.HasFee() && !l.Each.IsUnknown() {
			fee += fmt.Sprintf(" (%s each)", l.Each.Amount.Dollars())
		}
		fmt.Fprintf(table, "  %s\t%d\t%s\t%s\t%s\n", l.Title(), l.Count, l.ServiceText(), fee,
			l.Total().Without(l.Who()))
	}
	table.Flush()
	for line := range strings.Lines(b.String()) {
		a.say("%s", strings.TrimRight(line, " \n"))
	}
	a.say("  %s %s", a.paint.bold("total"), a.paint.bold(q.TotalText()))
	for _, note := range summary.Footnotes[:notes] {
		a.say("  %s", note)
	}
	if begins := summary.Subscription(); begins != "" {
		a.say("  %s", begins)
	}
	for _, note := range q.Notes() {
		a.say("  %s", a.paint.yellow(fmt.Sprintf("%s %s:", count(note.Count, "row"), note.About)))
		for _, name := range note.Names[:min(len(note.Names), 10)] {
			a.say("    %s", name)
		}
		if more := note.Count - 10; more > 0 {
			a.say("    … and %d more", more)
		}
	}
}

// showQuote prints the cost and the available balance, if one is recorded.
func (a *app) showQuote(q pricing.BatchQuote, balance ledger.Balance) {
	a.sayQuote(q)
	if !balance.HasDeposit {
		return
	}
	a.say("  available %s", balance.Available().Dollars())
	if short := balance.Missing(q.Total.Amount); short > 0 {
		a.say("  %s", a.paint.yellow(
			fmt.Sprintf(
				"Insufficient funds: you need %s more. Orders are sent as far as the balance allows; the rest wait.",
				short.Dollars())))
	}
}

// sayEndpoint prints the warning that no endpoint receives the events of new orders, if any.
func (a *app) sayEndpoint(warning string) {
	if warning != "" {
		a.say("%s", a.paint.yellow("Warning: "+warning+" To register one: importer webhooks create --url "+
			"https://YOUR-HOST/webhooks/filing"))
	}
}

// shownWarnings is the number of warnings printed before a question.
const shownWarnings = 10

// sayWarnings prints the first warnings of the rows to send.
func (a *app) sayWarnings(ctx context.Context, l *ledger.Ledger, b ledger.Batch) (jobs.Warnings, error) {
	w, err := jobs.ListWarnings(ctx, l, b, shownWarnings)
	if err != nil || w.Count == 0 {
		return w, err
	}
	a.say("%s on %s to send:", a.paint.yellow(count(w.Count, "warning")), count(w.Rows, "row"))
	for _, one := range w.First {
		a.say("  %s", legible(one.Text()))
	}
	if more := w.Count - len(w.First); more > 0 {
		a.say("  … and %d more. To see all: importer results %s -o FILE", more, b.ID)
	}
	return w, nil
}

// withWarnings adds the number of warnings to a question.
func withWarnings(w jobs.Warnings) string {
	if w.Count == 0 {
		return ""
	}
	return " (" + count(w.Count, "warning") + ")"
}
