package web

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/text"
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

	Filter       *balanceFilter
	Batches      []ledger.BatchOfEntries // to choose from
	Lines        []report.EntryLine      // the newest first
	Sums         ledger.LineSums         // of all that the filter selects
	Released     int                     // reservations that are left out
	ShowReleased string
	Newest       string
	Older        string
	CSV          string

	Form entryForm
}

// Left is what remains after the queued rows.
func (p *balancePage) Left() money.Cents { return p.Balance.Available() - p.Queued.Amount }

// entryForm is a deposit or an adjustment, as it was typed.
type entryForm struct {
	Kind, Amount, Note string
	AmountError        string
	NoteError          string

	cents money.Cents
}

func (s *Site) balance(v *request) error {
	return s.showBalance(v, http.StatusOK, entryForm{})
}

func (s *Site) showBalance(v *request, status int, form entryForm) error {
	ctx := v.ctx()
	p := &balancePage{Form: form}
	var err error
	if p.Balance, err = s.Ledger.Balance(ctx); err != nil {
		return err
	}
	halt, err := s.Ledger.Fleet().Halt(ctx)
	if err != nil {
		return err
	}
	if halt.Reason == filing.HaltFunds {
		p.Halt, p.Against = jobs.FleetHold(halt).Text, report.DisagreeText(halt, p.Balance)
		p.Asking = !halt.Until.After(s.Ledger.Now())
	}
	if p.Rows, p.Queued, err = s.Ledger.Backlog(ctx); err != nil {
		return err
	}
	if p.Balance.HasDeposit {
		p.Short = p.Balance.Missing(p.Queued.Amount)
	}
	if err := s.loadLines(v, p); err != nil {
		return err
	}
	if p.Filter.FromError+p.Filter.ToError != "" {
		status = http.StatusUnprocessableEntity
	}
	return v.showStatus(status, "balance.html", "Balance", p)
}

func isAre(n int, thing string) string {
	if n == 1 {
		return "1 " + thing + " is"
	}
	return count(n, thing) + " are"
}

// maxEntry is more than anyone deposits: a larger amount is a slip.
const maxEntry money.Cents = 1_000_000_000_00

// read parses the input, and sets the errors of its fields.
func (d *entryForm) read() bool {
	var err error
	d.cents, err = money.Parse(d.Amount)
	switch {
	case strings.TrimSpace(d.Amount) == "":
		d.AmountError = "Enter the amount in dollars, such as 2500 or 1,250.50."
	case err != nil:
		d.AmountError = "Not an amount in dollars and cents. Enter it like 2500 or 1,250.50."
	case d.Kind == string(ledger.Deposit) && d.cents <= 0:
		d.AmountError = "A deposit must be more than $0.00. To subtract money, record an adjustment."
	case d.cents == 0:
		d.AmountError = "An adjustment cannot be $0.00. Enter a positive or negative amount."
	case d.cents > maxEntry || d.cents < -maxEntry:
		d.AmountError = "More than a billion dollars. Check the amount."
	}
	switch {
	case d.Kind == string(ledger.Adjustment) && strings.TrimSpace(d.Note) == "":
		d.NoteError = "Enter the reason for the adjustment."
	case len([]rune(d.Note)) > maxNote:
		d.NoteError = fmt.Sprintf("Enter at most %d characters.", maxNote)
	}
	return d.AmountError == "" && d.NoteError == ""
}

const maxNote = 300

// confirmEntryPage asks for confirmation before an entry is made.
type confirmEntryPage struct {
	Form         entryForm
	Amount       money.Cents
	Before       ledger.Balance
	After        ledger.Balance
	Rows         int
	Queued       money.Cost
	Short        money.Cents
	First        bool // deposit: from now on orders need funds
	DoesNotCount bool // an adjustment before any deposit
}

// recordEntry records a deposit or an adjustment, after a confirmation.
func (s *Site) recordEntry(v *request) error {
	form := v.r.PostForm
	d := entryForm{
		Kind:   form.Get("kind"),
		Amount: strings.TrimSpace(form.Get("amount")),
		Note:   strings.TrimSpace(form.Get("note")),
	}
	if d.Kind != string(ledger.Deposit) && d.Kind != string(ledger.Adjustment) {
		return errForm
	}
	if !d.read() {
		return s.showBalance(v, http.StatusUnprocessableEntity, d)
	}
	if form.Get("sure") == "" {
		return s.confirmEntry(v, d)
	}
	enter, act := s.Ledger.RecordDeposit, "deposit"
	if d.Kind == string(ledger.Adjustment) {
		enter, act = s.Ledger.Adjust, "adjust"
	}
	note := d.cents.Dollars()
	if d.Note != "" {
		note += ", " + d.Note
	}
	if err := enter(v.withAudit(act, "", note), d.cents, d.Note); err != nil {
		return err
	}
	said, err := s.fundsText(v)
	if err != nil {
		return err
	}
	return v.done("/balance", "Recorded the %s of %s. %s", d.Kind, d.cents.Dollars(), said)
}

func (s *Site) confirmEntry(v *request, d entryForm) error {
	p := confirmEntryPage{Form: d, Amount: d.cents}
	var err error
	if p.Before, err = s.Ledger.Balance(v.ctx()); err != nil {
		return err
	}
	if p.Rows, p.Queued, err = s.Ledger.Backlog(v.ctx()); err != nil {
		return err
	}
	p.After = p.Before
	if d.Kind == string(ledger.Deposit) {
		p.After.Deposits += d.cents
		p.After.HasDeposit = true
		p.First = !p.Before.HasDeposit
	} else {
		p.After.Adjustments += d.cents
		p.DoesNotCount = !p.Before.HasDeposit
	}
	if p.After.HasDeposit {
		p.Short = p.After.Missing(p.Queued.Amount)
	}
	return v.show("confirm-entry.html", text.Capital(d.Kind), p)
}

// fundsText is the available balance, and whether it is enough.
func (s *Site) fundsText(v *request) (string, error) {
	book, err := s.Ledger.Balance(v.ctx())
	if err != nil {
		return "", err
	}
	rows, queued, err := s.Ledger.Backlog(v.ctx())
	if err != nil {
		return "", err
	}
	if !book.HasDeposit {
		return "It counts from the first deposit on. Until then, no order is held back.", nil
	}
	text := book.Available().Dollars() + " is available."
	halt, err := s.Ledger.Fleet().Halt(v.ctx())
	if err != nil {
		return "", err
	}
	switch short := book.Missing(queued.Amount); {
	case rows == 0:
		text += " No rows are waiting."
	case halt.Reason == filing.HaltFunds:
		text += fmt.Sprintf(" One order is sent now to check the funds at the filing service. If it is accepted, the "+
			"other queued rows follow, %s in all.", count(rows, "row"))
	case short > 0:
		text += fmt.Sprintf(
			" Insufficient funds for %s; you need %s more. The rows that it covers are sent; the rest wait.",
			count(rows, "queued row"), short.Dollars())
	default:
		text += fmt.Sprintf(" It covers %s. Rows that waited for funds are sent now.", count(rows, "queued row"))
	}
	return text, nil
}

func entryName(k ledger.EntryKind) string { return report.EntryText(k) }

// askForFunds sends one row now, to learn whether there are funds again.
func (s *Site) askForFunds(v *request) error {
	if err := s.Ledger.Fleet().ProbeNow(v.withAudit("ask", "", "the filing service for available funds")); err != nil {
		return err
	}
	return v.done("/balance", "One row is sent now. If the filing service accepts it, the other rows follow.")
}
