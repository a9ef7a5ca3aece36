package web

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

var balanceRoutes = []route{
	{pattern: "GET /balance", may: viewer, serve: (*Site).balance},
	{pattern: "GET /balance.csv", may: exporter, serve: (*Site).balanceFile},
	{pattern: "POST /balance/entries", may: operator, serve: (*Site).recordEntry},
	{pattern: "POST /balance/ask", may: operator, serve: (*Site).askForFunds},
}

// balancePage is the recorded balance.
type balancePage struct {
	Balance ledger.Balance
	Halt    string      // the fleet halt for insufficient funds
	Against string      // that the filing service disagrees
	Asking  bool        // an order is sent now, to learn whether there are funds again
	Rows    int         // that wait to be placed
	Queued  money.Cost  // what they take
	Short   money.Cents // what the balance does not cover

	Filter *balanceFilter
	Lines  []report.EntryLine // the newest first
	Sums   ledger.LineSums    // of all that the filter selects
	Newest string
	Older  string
	CSV    string
}

// Left is what remains after the queued rows.
func (p *balancePage) Left() money.Cents { return p.Balance.Available() - p.Queued.Amount }

func (s *Site) balance(v *request) error {
	ctx := v.ctx()
	p := new(balancePage)
	var halt ledger.Halted
	err := errors.Join(
		load(&p.Balance)(s.Ledger.Balance(ctx)),
		load(&halt)(s.Ledger.Fleet().Halt(ctx)),
		s.loadLines(v, p))
	if err == nil {
		p.Rows, p.Queued, err = s.Ledger.Backlog(ctx)
	}
	if err != nil {
		return err
	}
	if halt.Reason == filing.HaltFunds {
		p.Halt, p.Against = jobs.FleetHold(halt).Text, report.DisagreeText(halt, p.Balance)
		p.Asking = !halt.Until.After(s.Ledger.Now())
	}
	if p.Balance.HasDeposit {
		p.Short = p.Balance.Missing(p.Queued.Amount)
	}
	return v.show("balance.html", "Balance", p)
}

// maxEntry is more than anyone deposits: a larger amount is a slip.
const maxEntry money.Cents = 1_000_000_000_00

const maxNote = 300

// parseEntry reads the form of a deposit or an adjustment.
func parseEntry(form url.Values) (kind ledger.EntryKind, amount money.Cents, note string, err error) {
	kind, note = ledger.EntryKind(form.Get("kind")), strings.TrimSpace(form.Get("note"))
	typed := strings.TrimSpace(form.Get("amount"))
	amount, err = money.Parse(typed)
	problem := ""
	switch {
	case kind != ledger.Deposit && kind != ledger.Adjustment:
		return kind, 0, "", errForm
	case typed == "":
		problem = "Enter the amount in dollars, such as 2500 or 1,250.50."
	case err != nil:
		problem = "Not an amount in dollars and cents. Enter it like 2500 or 1,250.50."
	case kind == ledger.Deposit && amount <= 0:
		problem = "A deposit must be more than $0.00. To subtract money, record an adjustment."
	case amount == 0:
		problem = "An adjustment cannot be $0.00. Enter a positive or negative amount."
	case amount > maxEntry || amount < -maxEntry:
		problem = "More than a billion dollars. Check the amount."
	case kind == ledger.Adjustment && note == "":
		problem = "Enter the reason for the adjustment."
	case len([]rune(note)) > maxNote:
		problem = fmt.Sprintf("Enter at most %d characters in the note.", maxNote)
	default:
		return kind, amount, note, nil
	}
	return kind, 0, "", badRequest("%s Nothing was recorded.", problem)
}

// recordEntry records a deposit or an adjustment.
func (s *Site) recordEntry(v *request) error {
	kind, amount, note, err := parseEntry(v.r.PostForm)
	if err != nil {
		return err
	}
	enter, act := s.Ledger.RecordDeposit, "deposit"
	if kind == ledger.Adjustment {
		enter, act = s.Ledger.Adjust, "adjust"
	}
	said := amount.Dollars()
	if note != "" {
		said += ", " + note
	}
	err = enter(v.withAudit(act, "", said), amount, note)
	return v.done(err, "/balance", "Recorded the %s of %s.", kind, amount.Dollars())
}

func entryName(k ledger.EntryKind) string { return report.EntryText(k) }

// askForFunds sends one row now, to learn whether there are funds again.
func (s *Site) askForFunds(v *request) error {
	err := s.Ledger.Fleet().ProbeNow(v.withAudit("ask", "", "the filing service for available funds"))
	return v.done(err, "/balance", "One row is sent now. If the filing service accepts it, the other rows follow.")
}
