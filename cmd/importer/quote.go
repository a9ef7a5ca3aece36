package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/lookup"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// The most lines of each part of a quote: the kinds of filings, the rows whose company differs from its
// record, and the warnings. The results name all.
const (
	shownKinds    = 25
	shownFindings = 10
	shownWarnings = 10
)

// sayReview prints the rows that are not sent because their company differs from its record. The
// other differences are among the warnings of the rows to send.
func sayReview(t *terminal, review lookup.Review) {
	if note := review.Note(); note != "" {
		t.say("%s: %s", t.yellow("Warning"), note)
	}
	held := review.HeldBack
	if len(held) == 0 {
		return
	}
	t.say("%s: %s not sent because the filing service's record of the company differs:", t.red("Warning"),
		countOf(len(held), "row is", "rows are"))
	for _, m := range held[:min(len(held), shownFindings)] {
		where := fmt.Sprintf("row %d", m.Row)
		if m.Column >= 0 {
			where = sheet.CellName(m.Column, m.Row)
		}
		t.say("  %s  %s: %s", where, m.Difference.Column.Header, m.Difference.Message)
	}
	if more := len(held) - shownFindings; more > 0 {
		t.say("  … and %d more, each at its cell in the results", more)
	}
	t.say("  Correct the spreadsheet. If a Company ID is right although the name differs, enter the filing service's " +
		"name under Confirmed Name, or run the same command with --accept-names.")
}

// sayQuote prints the cost by product, state, and entity type, with separate service fee and state
// fee, and the sources of the fees.
func sayQuote(t *terminal, q pricing.BatchQuote) {
	var b strings.Builder
	table := newTable(&b)
	fmt.Fprintln(table, "  \tfilings\tservice fee\tstate fee\ttotal")
	summary := q.Summary()
	// notes is the number of footnotes of the printed lines.
	notes := 0
	for _, l := range summary.Lines[:min(len(summary.Lines), shownKinds)] {
		notes = max(notes, l.Mark)
		fee := l.FeeText()
		if l.Count > 1 && l.HasFee() && !l.Each.IsUnknown() {
			fee += fmt.Sprintf(" (%s each)", l.Each.Amount.Dollars())
		}
		fmt.Fprintf(table, "  %s\t%d\t%s\t%s\t%s\n", l.Title(), l.Count, l.ServiceText(), fee,
			l.Total().Without(l.Who()))
	}
	if more := len(summary.Lines) - shownKinds; more > 0 {
		fmt.Fprintf(table, "  and %s more\t\t\t\t\n", count(more, "kind"))
	}
	table.Flush()
	for line := range strings.Lines(b.String()) {
		t.say("%s", strings.TrimRight(line, " \n"))
	}
	t.say("  %s %s", t.bold("total"), t.bold(q.TotalText()))
	for _, note := range summary.Footnotes[:notes] {
		t.say("  %s", note)
	}
	if begins := summary.Subscription(); begins != "" {
		t.say("  %s", begins)
	}
	for _, note := range q.Notes() {
		t.say("  %s", t.yellow(note.Text()))
	}
}

// sayEndpointWarning prints the warning that no endpoint receives the events of new orders, if any.
func sayEndpointWarning(t *terminal, warning string) {
	if warning != "" {
		t.say("%s", t.yellow("Warning: "+warning+" To register one: importer webhooks create --url "+
			"https://YOUR-HOST/webhooks/filing"))
	}
}

// sayWarnings prints which orders go first if funds are short, and the first warnings of the rows to send.
// inQuestion is their number, for the question about the orders: " (3 warnings)", or "" if there are none.
func sayWarnings(ctx context.Context, t *terminal, l *ledger.Ledger, b ledger.Batch) (inQuestion string, err error) {
	if f, err := pricing.LoadFunds(ctx, l, b); err != nil {
		return "", err
	} else if f.LateFees != nil {
		t.say("  Late fees first: %s", f.ByLateFees.Text())
		t.say("  Due date first (--due-date-first): %s", f.ByDueDate.Text())
		t.say("  Late fees are estimates: %s.", text.FirstOf(f.LateFees, text.MaxExamples))
	}
	w, err := intake.ListWarnings(ctx, l, b, shownWarnings)
	if err != nil || w.Count == 0 {
		return "", err
	}
	t.say("%s on %s to send:", t.yellow(count(w.Count, "warning")), count(w.Rows, "row"))
	for _, one := range w.First {
		t.say("  %s", legible(one.Text()))
	}
	if more := w.Count - len(w.First); more > 0 {
		t.say("  … and %d more. To see all: importer results %s -o FILE", more, b.ID)
	}
	return " (" + count(w.Count, "warning") + ")", nil
}
