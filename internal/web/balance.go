package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

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
	Wrong   string         // why the entries do not add up
	Halt    string         // the fleet halt for insufficient funds
	Against string         // that the filing service disagrees
	Asking  bool           // an order is sent now, to learn whether there are funds again
	Rows    int            // that wait to be placed
	Queued  money.Cost     // what they take
	Short   money.Cents    // what the balance does not cover
	Pace    money.Cents    // spent in the last hour
	Lasts   string         // how long the funds last at that
	Plot    *plot          // nil before the first deposit
	Spans   string         // the length of one: "hour"
	History []ledger.Funds // the newest first

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
	if p.Wrong, err = s.audited.load(ctx); err != nil {
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
		if err := s.showHistory(v, p); err != nil {
			return err
		}
	}
	if err := s.loadLines(v, p); err != nil {
		return err
	}
	if p.Filter.FromError+p.Filter.ToError != "" {
		status = http.StatusUnprocessableEntity
	}
	return v.showStatus(status, "balance.html", "Balance", p)
}

// historySpan is a part of the history of the balance.
type historySpan struct {
	upto   time.Duration // the age of the first deposit
	length time.Duration
	name   string
	how    string // its times are shown
}

// historySpans divide the history of the balance, by its age.
var historySpans = []historySpan{
	{time.Hour, time.Minute, "minute", "time"},
	{8 * time.Hour, 10 * time.Minute, "ten minutes", "time"},
	{72 * time.Hour, time.Hour, "hour", "datetime"},
	{90 * 24 * time.Hour, 24 * time.Hour, "day", "date"},
	{10 * 365 * 24 * time.Hour, 7 * 24 * time.Hour, "week", "date"},
}

// mostSpans are as many as a plot has room for: what is older is left out.
const mostSpans = 110

// showHistory adds the history of the balance, and how long it lasts.
func (s *Site) showHistory(v *request, p *balancePage) error {
	first, err := s.Ledger.Entries().FirstDeposit(v.ctx()) // before it the balance was unknown
	if err != nil {
		return err
	}
	now := time.Now()
	age := now.Sub(first)
	cut := historySpans[len(historySpans)-1]
	if at := slices.IndexFunc(historySpans, func(s historySpan) bool { return age <= s.upto }); at >= 0 {
		cut = historySpans[at]
	}
	n := min(int(age/cut.length)+1, mostSpans) // that of the first deposit is whole
	p.Spans = cut.name
	history, err := s.Ledger.Entries().History(v.ctx(), now.Add(-time.Duration(n)*cut.length), now, n)
	if err != nil {
		return err
	}
	p.Plot = plotFunds(history, cut, p.Rows, p.Queued)
	p.History = history
	slices.Reverse(p.History)
	hour, err := s.Ledger.Entries().History(v.ctx(), now.Add(-time.Hour), now, 1)
	if err != nil || len(hour) == 0 {
		return err
	}
	p.Pace = hour[0].Posted
	if p.Short > 0 && p.Pace > 0 && p.Balance.Available() > 0 {
		p.Lasts = lasting(time.Duration(float64(p.Balance.Available()) / float64(p.Pace) * float64(time.Hour)))
	}
	return nil
}

// lasting is a length of time, roughly.
func lasting(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return "a minute"
	case d < 2*time.Hour:
		return count(int(d.Round(time.Minute)/time.Minute), "minute")
	case d < 48*time.Hour:
		return count(int(d.Round(time.Hour)/time.Hour), "hour")
	}
	return count(int(d.Round(24*time.Hour)/(24*time.Hour)), "day")
}

// plot is a drawing of lines in a space of 1000 by 1000.
type plot struct {
	Title string
	Y     []string // from the top
	X     []any    // from the left
	Paths []plotPath
	Key   []plotKey
}

type plotPath struct{ Class, D string }

type plotKey struct{ Class, Name string }

// plotFunds draws what was available, and on from now what the queued rows leave
// of it: rows that it does not cover are not sent, so it ends at zero.
func plotFunds(history []ledger.Funds, cut historySpan, rows int, queued money.Cost) *plot {
	if len(history) == 0 {
		return nil
	}
	now := history[len(history)-1].Available
	covered := min(queued.Amount, max(0, now))
	ahead := now - covered
	low, high := min(0, now), max(0, now)
	for _, f := range history {
		low, high = min(low, f.Available), max(high, f.Available)
	}
	present := 1000.0 // where now is, from the left
	if rows > 0 {
		low, present = min(low, ahead), 800
	}
	bottom, step := scale(low, high)
	top := bottom + max(1, (high-bottom+step-1)/step)*step
	y := func(c money.Cents) float64 { return 1000 * float64(top-c) / float64(top-bottom) }
	x := func(i int) float64 { return present * float64(i) / float64(len(history)) }

	p := &plot{Key: []plotKey{{"note", "available"}}}
	for c := top; c >= bottom; c -= step {
		p.Y = append(p.Y, dollars(c))
		p.Paths = append(p.Paths, plotPath{"line", fmt.Sprintf("M0 %.1fH1000", y(c))})
	}
	var line strings.Builder
	for i, f := range history { // each as a step: it holds for its whole span
		to := "V"
		if i == 0 {
			to = "M0 "
		}
		fmt.Fprintf(&line, "%s%.1fH%.1f", to, y(f.Available), x(i+1))
	}
	p.Paths = append(p.Paths,
		plotPath{"area", fmt.Sprintf("%sV%.1fH0Z", line.String(), y(0))},
		plotPath{"", line.String()})
	if bottom < 0 {
		p.Paths = append(p.Paths, plotPath{"zero", fmt.Sprintf("M0 %.1fH1000", y(0))})
	}
	// Four distances up to now, and one beyond it.
	const parts = 4
	end := history[len(history)-1].Until
	for i := range parts + 1 {
		back := cut.length * time.Duration(len(history)*(parts-i)) / parts
		p.X = append(p.X, timeElement(end.Add(-back), cut.how))
	}
	p.X[1], p.X[3], p.X[parts] = "", "", "now" // a phone has room for these
	p.Title = fmt.Sprintf("Available: %s now", now.Dollars())
	if rows > 0 {
		p.X = append(p.X, "queue done")
		p.Paths = append(p.Paths, plotPath{"now", fmt.Sprintf("M%.1f 0V1000", present)},
			plotPath{"ahead", fmt.Sprintf("M%.1f %.1fL1000 %.1f", present, y(now), y(ahead))})
		after := "after " + count(rows, "queued row")
		if covered < queued.Amount {
			after = "after the queued rows that it covers"
		}
		p.Key = append(p.Key, plotKey{"ahead", after})
		p.Title += fmt.Sprintf(", %s %s", leftText(ahead, queued.IsUnknown()), after)
	}
	return p
}

func leftText(c money.Cents, most bool) string {
	if most {
		return "at most " + c.Dollars()
	}
	return c.Dollars()
}

func isAre(n int, thing string) string {
	if n == 1 {
		return "1 " + thing + " is"
	}
	return count(n, thing) + " are"
}

// scale cuts a range of money into at most five even steps of a round length:
// bottom is a multiple of step.
func scale(low, high money.Cents) (bottom, step money.Cents) {
	for base := money.Cents(100); ; base *= 10 {
		for _, factor := range []money.Cents{1, 2, 5} {
			step = base * factor
			bottom = floor(low, step)
			if (high-bottom+step-1)/step <= 5 {
				return bottom, step
			}
		}
	}
}

func floor(c, step money.Cents) money.Cents {
	if c < 0 {
		return (c - step + 1) / step * step
	}
	return c / step * step
}

// dollars is a round amount without its cents.
func dollars(c money.Cents) string { return strings.TrimSuffix(c.Dollars(), ".00") }

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
	v.flash("ok", "Recorded the %s of %s. %s", d.Kind, d.cents.Dollars(), said)
	return v.redirect("/balance")
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
	v.flash("ok", "One row is sent now. If the filing service accepts it, the other rows follow.")
	return v.redirect("/balance")
}
