package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

func (n *Notifier) fundsOut(ctx context.Context, reportable ledger.Reportable) (outbox.Notification, error) {
	rows, cost, err := n.c.Ledger.Backlog().Total(ctx)
	if err != nil {
		return outbox.Notification{}, err
	}
	book, err := n.c.Ledger.Balance(ctx)
	if err != nil {
		return outbox.Notification{}, err
	}
	out := outbox.Notification{
		Kind:    outbox.KindFunds,
		Lasts:   true,
		Subject: fmt.Sprintf("insufficient funds, %s", text.CountOf(rows, "row waits", "rows wait")),
	}
	why := "The recorded balance does not cover the next order."
	if reportable.Halt == filing.HaltFunds {
		why = "The filing service refused an order because of insufficient funds" + since(reportable.HaltSince) +
			quote(reportable.HaltNote) + "."
	}
	next := "Add funds at the filing service, then record the deposit: importer deposit AMOUNT"
	if book.Contradicts(reportable.Halt) {
		next = "The recorded balance and the filing service disagree. Check the balance at the filing service, then " +
			"record the difference: importer deposit --adjust --note REASON -- AMOUNT\n" + next
	}
	out.Body = lines(why, fmt.Sprintf("Waiting: %s, %s. Available: %s.", text.Count(rows, "row"), cost,
		available(book)), next)
	return out, nil
}

func (n *Notifier) fundsBack(ctx context.Context) (outbox.Notification, error) {
	book, err := n.c.Ledger.Balance(ctx)
	return outbox.Notification{
		Kind: outbox.KindFunds, Ends: true, Subject: "funds are sufficient again",
		Body: lines("No rows are waiting for funds.", "Available: "+available(book)+"."),
	}, err
}

// available describes the recorded balance, because the filing service reports none.
func available(book ledger.Balance) string {
	if !book.HasDeposit {
		return "not known, no deposit is recorded"
	}
	available := book.Available().Dollars() + " of the recorded balance"
	switch {
	// Some costs are unknown.
	case book.Unsure():
		available = "at most " + available
	case book.Certainty == money.Estimated:
		available = "about " + available
	}
	return available
}

func (n *Notifier) keyRefused(reportable ledger.Reportable) outbox.Notification {
	return outbox.Notification{
		Kind: outbox.KindKey, Lasts: true, Subject: "the API key is refused",
		Body: lines("The filing service refuses the API key"+since(reportable.HaltSince)+quote(reportable.HaltNote)+
			". No orders are sent.",
			"Correct FILING_API_KEY, then run the same command again, or restart the workers."),
	}
}

// batchEnded reports the end of a batch. A batch that ended before oldest is not reported.
func (n *Notifier) batchEnded(ctx context.Context, id string, oldest time.Time) (outbox.Notification, error) {
	out := outbox.Notification{Kind: outbox.KindBatch, Batch: id, Lasts: true}
	f, err := n.c.Ledger.Figures(ctx, id)
	if err != nil || f.Changed.Before(oldest) && !f.Changed.IsZero() {
		return out, err
	}
	b, err := n.c.Ledger.Batch(ctx, id)
	if err != nil {
		return out, err
	}
	var counts []string
	for _, r := range filing.Results {
		if f.Counts[r] > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", f.Counts[r], r))
		}
	}
	next := fmt.Sprintf("Download the results: importer results %s -o FILE", id)
	if f.Counts[filing.Uncertain] > 0 {
		next += "\nResolve the uncertain rows: importer resolve " + id
	}
	out.Subject = fmt.Sprintf("%s is finished: %d of %s placed", filepath.Base(b.File), f.Counts[filing.Placed],
		text.Count(f.Counts.Total(), "row"))
	out.Body = lines(fmt.Sprintf("Batch %s: %s.", id, strings.Join(counts, ", ")),
		fmt.Sprintf("Spent: %s.", f.Spent), next)
	return out, nil
}

// shown is the number of rows that a message names. It counts the others.
const shown = 5

// rows reports rows of a batch that need a person.
func (n *Notifier) rows(ctx context.Context, kind outbox.Kind, batch string,
	of []outbox.Pending) (outbox.Notification, error) {
	out := outbox.Notification{Kind: kind, Batch: batch, Pending: of}
	b, err := n.c.Ledger.Batch(ctx, batch)
	if err != nil {
		return out, err
	}
	say := func(r ledger.Row, _ outbox.Pending) string { return r.Message }
	if kind == outbox.KindExceptions {
		say = exceptionText
	}
	named, err := n.named(ctx, of, say)
	if err != nil {
		return out, err
	}
	message := rowMessages[kind]
	why := message.why
	if kind == outbox.KindUncertain {
		var reserved money.Cost
		for _, u := range of {
			if reserved, err = reserved.Plus(u.Reserved); err != nil {
				return out, fmt.Errorf("add up the reservations of uncertain rows: %w", err)
			}
		}
		why += " Reserved: " + reserved.String() + "."
	}
	out.Subject = fmt.Sprintf("%s in %s", text.CountOf(len(of), message.one, message.many), filepath.Base(b.File))
	out.Body = lines(why, named, fmt.Sprintf(message.next, batch))
	return out, nil
}

// rowMessages are the messages about rows that need a person. one and many begin the subject, and
// next names the batch.
var rowMessages = map[outbox.Kind]struct{ one, many, why, next string }{
	outbox.KindUncertain: {"row is uncertain", "rows are uncertain",
		"Sent, but the filing service did not confirm them. They may have been bought.",
		"Check the dashboard, then resolve them: importer resolve %s"},
	outbox.KindTwice: {"filing was bought twice", "filings were bought twice",
		"A late answer shows that the same filing was bought with two orders. Ask the filing service to refund one " +
			"of them.", "See the rows: importer results %s -o FILE.xlsx"},
	outbox.KindExceptions: {"filing needs correction", "filings need correction",
		"These filings wait until they are corrected.",
		"See all of them on the sheet Needs Attention: importer results %s -o FILE.xlsx"},
}

// exceptionText describes the exception of a reported row.
func exceptionText(r ledger.Row, u outbox.Pending) string {
	for _, i := range r.Items {
		if int64(i.Exception) == u.Mark {
			return filing.ExceptionText(i.Exception, i.ExceptionNote)
		}
	}
	return filing.ExceptionText(int(u.Mark), "")
}

// named lists the first rows, one per line, and counts the others.
func (n *Notifier) named(ctx context.Context, of []outbox.Pending,
	say func(ledger.Row, outbox.Pending) string) (string, error) {
	var all []string
	for _, u := range of[:min(shown, len(of))] {
		r, err := n.c.Ledger.Row(ctx, u.Row)
		if errors.Is(err, ledger.ErrNotFound) {
			continue
		}
		if err != nil {
			return "", err
		}
		names, err := n.c.Ledger.Companies().NamesOf(ctx, []ledger.Row{r})
		if err != nil {
			return "", err
		}
		company := cmp.Or(names[r.ID], r.CompanyRef(), "company not known")
		all = append(all, fmt.Sprintf("  row %d  %s: %s", r.Number, short(company, 60), short(say(r, u), 200)))
	}
	if more := len(of) - shown; more > 0 {
		all = append(all, fmt.Sprintf("  and %d more", more))
	}
	return strings.Join(all, "\n"), nil
}

func since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(" at 15:04 UTC on January 2")
}

// quote quotes the message of the filing service, if any.
func quote(s string) string {
	if s == "" {
		return ""
	}
	return `: "` + short(s, 200) + `"`
}

// lines joins the parts that are not empty.
func lines(parts ...string) string {
	var all []string
	for _, p := range parts {
		if strings.TrimSpace(p) != "" {
			all = append(all, p)
		}
	}
	return strings.Join(all, "\n")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// short shortens a text to one line of at most limit characters.
func short(s string, limit int) string { return text.Shorten(oneLine(s), limit) }
