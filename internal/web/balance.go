package web

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/cache"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// balanceHandler handles the recorded balance and its entries.
type balanceHandler struct {
	*Config
	// found is keyed by the ledger's version and the filter.
	found *cache.Cache[string, foundEntries]
}

func (h *balanceHandler) routes() []route {
	return []route{
		{pattern: "GET /balance", may: viewer, serve: h.balance},
		{pattern: "GET /balance.csv", may: exporter, serve: h.balanceFile},
		{pattern: "POST /balance/entries", may: operator, serve: h.recordEntry},
		{pattern: "GET /balance/forecast", may: viewer, serve: h.forecast},
	}
}

// balancePage is the recorded balance.
type balancePage struct {
	Balance ledger.Balance
	// Halt describes the fleet halt for insufficient funds. Empty if there is no such halt.
	Halt string
	// Against is the text that the filing service disagrees with the recorded balance.
	Against string
	// Asking reports whether an order is being sent to check for funds.
	Asking bool
	// Rows counts the rows that wait to be placed.
	Rows int
	// Queued is the cost of those rows.
	Queued money.Cost
	// Short is the part of that cost that exceeds the balance.
	Short money.Cents

	Filter *balanceFilter
	// Lines are sorted from newest to oldest.
	Lines []report.EntryLine
	// Sums are the sums of all entries that match the filter.
	Sums  ledger.LineSums
	Pager pager
	CSV   string
}

// Left returns the balance that remains after the queued rows.
func (p *balancePage) Left() money.Cents { return p.Balance.Available() - p.Queued.Amount }

func (h *balanceHandler) balance(v *request) error {
	ctx := v.ctx()
	p := new(balancePage)
	var halt ledger.Halted
	err := errors.Join(
		load(&p.Balance)(h.Ledger.Balance(ctx)),
		load(&halt)(h.Ledger.Fleet().Halt(ctx)),
		h.loadLines(v, p))
	if err == nil {
		p.Rows, p.Queued, err = h.Ledger.Backlog().Total(ctx)
	}
	if err != nil {
		return err
	}
	if halt.Reason == filing.HaltFunds {
		p.Halt, p.Against = jobs.FleetHold(halt).Text, report.DisagreeText(halt, p.Balance)
		p.Asking = !halt.Until.After(h.Ledger.Now())
	}
	if p.Balance.HasDeposit {
		p.Short = p.Balance.Missing(p.Queued.Amount)
	}
	return v.show(nil, "balance.html", "Balance", p)
}

// maxEntry is the largest plausible amount. A larger one is a typing error.
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
func (h *balanceHandler) recordEntry(v *request) error {
	kind, amount, note, err := parseEntry(v.r.PostForm)
	if err != nil {
		return err
	}
	enter, act := h.Ledger.Entries().RecordDeposit, "deposit"
	if kind == ledger.Adjustment {
		enter, act = h.Ledger.Entries().Adjust, "adjust"
	}
	said := amount.Dollars()
	if note != "" {
		said += ", " + note
	}
	err = enter(v.withAudit(act, "", said), amount, note)
	return v.done(err, "/balance", "Recorded the %s of %s.", kind, amount.Dollars())
}

// balanceFilter is the filter of the entries.
type balanceFilter struct {
	Kind, Search string
	// From and To are the first and last day, as typed.
	From, To string
	// zone is the time zone of the days.
	zone *time.Location

	query ledger.LineQuery
}

// These kinds select groups of lines in the filter. All other values are kinds of entries.
const (
	// kindMoney selects all lines that change the balance.
	kindMoney = ""
	// kindAll includes released reservations.
	kindAll = "all"
	// kindDeposits selects deposits and adjustments.
	kindDeposits = "declared"
)

// entryKinds are the choices of the filter.
var entryKinds = []choice{{kindMoney, "All that change the balance"}, {kindDeposits, "Deposits and adjustments"},
	{string(ledger.Posted), "Charged"}, {string(ledger.Reserve), "Reserved"},
	{string(ledger.Voided), "Released, nothing charged"}, {kindAll, "All"}}

// Kinds returns the choices of the filter.
func (f *balanceFilter) Kinds() []choice { return entryKinds }

// Filters reports whether the filter hides any entries other than released reservations.
func (f *balanceFilter) Filters() bool {
	return f.Kind != kindMoney && f.Kind != kindAll || f.Search != "" || f.From != "" || f.To != ""
}

// balanceFilter reads the filter from the address.
func (h *balanceHandler) balanceFilter(v *request) (*balanceFilter, error) {
	zone, err := schedule.FirmZone(v.ctx(), h.Ledger)
	if err != nil {
		return nil, err
	}
	f := &balanceFilter{
		Kind:   v.query("kind"),
		Search: v.search("q"),
		From:   v.query("from"),
		To:     v.query("to"),
		zone:   zone,
	}
	switch f.Kind {
	case kindMoney:
		f.query.Kinds = []ledger.EntryKind{ledger.Deposit, ledger.Adjustment, ledger.Posted, ledger.Reserve}
	case kindDeposits:
		f.query.Kinds = []ledger.EntryKind{ledger.Deposit, ledger.Adjustment}
	case string(ledger.Posted), string(ledger.Reserve), string(ledger.Voided):
		f.query.Kinds = []ledger.EntryKind{ledger.EntryKind(f.Kind)}
	default:
		f.Kind = kindAll
	}
	f.query.Search = f.Search
	if f.query.From, err = dayIn(f.From, zone, 0); err != nil {
		return nil, err
	}
	f.query.To, err = dayIn(f.To, zone, 1)
	return f, err
}

// dayIn returns the start of a day in a zone, shifted by a number of days. It returns the zero time
// if day is empty.
func dayIn(day string, zone *time.Location, later int) (time.Time, error) {
	if day == "" {
		return time.Time{}, nil
	}
	d, err := season.ParseDate(day)
	if err != nil {
		return time.Time{}, badRequest("Enter a date, such as 2026-04-15.")
	}
	return time.Date(d.Year, d.Month, d.Day+later, 0, 0, 0, 0, zone), nil
}

const linesOnPage = 25

// loadLines loads the page of entries that the address asks for.
func (h *balanceHandler) loadLines(v *request, p *balancePage) error {
	ctx := v.ctx()
	f, err := h.balanceFilter(v)
	if err != nil {
		return err
	}
	p.Filter = f
	version, err := h.Ledger.Fleet().Version(ctx)
	if err != nil {
		return err
	}
	before, _ := strconv.ParseInt(v.query("before"), 10, 64)
	found, err := h.found.Get(ctx, version+" "+v.r.URL.RawQuery,
		func(ctx context.Context) (foundEntries, error) { return h.findEntries(ctx, f.query, before) })
	if err != nil {
		return err
	}
	p.Sums = found.sums
	var lines []ledger.EntryLine
	p.Pager, lines = keyset(v, "before", found.lines, linesOnPage,
		func(l ledger.EntryLine) any { return l.Last }, "#entries")
	p.CSV = v.with("/balance.csv", "before", "", "seen", "")
	p.Lines, err = report.DescribeEntries(ctx, h.Ledger, lines)
	return err
}

// foundEntries are the entries that match a filter of the balance.
type foundEntries struct {
	sums ledger.LineSums
	// lines has one entry more than a page shows if further pages follow.
	lines []ledger.EntryLine
}

// findEntries reads the entries that match a filter. This takes the database seconds for a hundred
// thousand orders.
func (h *balanceHandler) findEntries(ctx context.Context, q ledger.LineQuery, before int64) (found foundEntries,
	err error) {
	page := q
	page.Before, page.Limit = before, linesOnPage+1
	err = errors.Join(
		load(&found.sums)(h.Ledger.Entries().SumLines(ctx, q)),
		load(&found.lines)(collect(h.Ledger.Entries().Lines(ctx, page))))
	return found, err
}

// signed formats an amount with its sign.
func signed(c money.Cents) template.HTML {
	if c > 0 {
		// A template would escape the sign of a plain string.
		return template.HTML("+" + c.Dollars())
	}
	return template.HTML(c.Dollars())
}

// balanceFile sends the entries that match the filter as CSV. The oldest come first, so that each
// balance is the previous one plus the amount.
func (h *balanceHandler) balanceFile(v *request) error {
	f, err := h.balanceFilter(v)
	if err != nil {
		return err
	}
	return v.export("", "balance", "balance.csv", func(path string) error {
		return report.WriteEntries(v.ctx(), h.Ledger, path, f.query, f.zone)
	})
}

// forecastSpans are the numbers of days that the page offers.
var forecastSpans = []int{30, schedule.ForecastDays, 180, 365}

// forecastPage shows how much of the balance the schedules and renewals will need.
type forecastPage struct {
	*schedule.Forecast
	Days    int
	Spans   []int
	LeftOut int
}

func (h *balanceHandler) forecast(v *request) error {
	days := schedule.ForecastDays
	if text := v.query("days"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > schedule.MaxForecastDays {
			return badRequest("Choose a number of days from 1 to %d.", schedule.MaxForecastDays)
		}
		days = n
	}
	f, err := h.Scheduler.Forecast(v.ctx(), days)
	if err != nil {
		return err
	}
	p := forecastPage{Forecast: f, Days: days, Spans: forecastSpans}
	for _, r := range f.Runs {
		p.LeftOut += r.LeftOut
	}
	return v.show(nil, "forecast.html", "Forecast", p)
}
