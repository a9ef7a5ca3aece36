package web

import (
	"context"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// balanceFilter is what of the entries is asked for.
type balanceFilter struct {
	Kind, Search string
	From, To     string // as they were typed
	Zone         string // of the days

	query ledger.LineQuery
}

// Names of the kinds of lines in the filter; others are kinds of entries.
const (
	kindMoney    = ""         // what changes the balance
	kindAll      = "all"      // released reservations, too
	kindDeposits = "declared" // deposits and adjustments
)

// entryKinds are the kinds of lines to choose from.
var entryKinds = []choice{{kindMoney, "All that change the balance"}, {kindDeposits, "Deposits and adjustments"},
	{string(ledger.Posted), "Charged"}, {string(ledger.Reserve), "Reserved"},
	{string(ledger.Voided), "Released, nothing charged"}, {kindAll, "All"}}

// Kinds lists the kinds of lines to choose from.
func (f *balanceFilter) Kinds() []choice { return entryKinds }

// Filters reports whether the filter leaves anything out but released reservations.
func (f *balanceFilter) Filters() bool {
	return f.Kind != kindMoney && f.Kind != kindAll || f.Search != "" || f.From != "" || f.To != ""
}

// balanceFilter reads the filter from the address.
func (s *Site) balanceFilter(v *request) (*balanceFilter, error) {
	zone, err := schedule.FirmZone(v.ctx(), s.Ledger)
	if err != nil {
		return nil, err
	}
	ask := v.r.URL.Query()
	f := &balanceFilter{
		Kind:   ask.Get("kind"),
		Search: shortened(strings.TrimSpace(ask.Get("q")), maxSearch),
		From:   ask.Get("from"),
		To:     ask.Get("to"),
		Zone:   zone.String(),
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

const maxSearch = 200

// dayIn returns the start of the day in a zone, some days later; the zero time for
// no day.
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

// path returns the address of a page with the filter; before is empty for the newest entries.
func (f *balanceFilter) path(page, before string) string {
	return address(page, "kind", f.Kind, "q", f.Search, "from", f.From, "to", f.To, "before", before)
}

const linesOnPage = 25

// loadLines loads the page of entries that the address asks for.
func (s *Site) loadLines(v *request, p *balancePage) error {
	ctx := v.ctx()
	f, err := s.balanceFilter(v)
	if err != nil {
		return err
	}
	p.Filter = f
	version, err := s.Ledger.Fleet().Version(ctx)
	if err != nil {
		return err
	}
	before, _ := strconv.ParseInt(v.r.URL.Query().Get("before"), 10, 64)
	found, err := s.entries.Get(ctx, version+" "+f.path("", strconv.FormatInt(before, 10)),
		func(ctx context.Context) (foundEntries, error) { return s.findEntries(ctx, f, before) })
	if err != nil {
		return err
	}
	p.Sums = found.sums
	lines, more := firstOf(found.lines, linesOnPage)
	if more {
		p.Older = f.path("/balance", strconv.FormatInt(lines[linesOnPage-1].Last, 10)) + "#entries"
	}
	if before > 0 {
		p.Newest = f.path("/balance", "") + "#entries"
	}
	p.CSV = f.path("/balance.csv", "")
	p.Lines, err = report.DescribeEntries(ctx, s.Ledger, lines)
	return err
}

// foundEntries is what a filter of the balance selects.
type foundEntries struct {
	sums  ledger.LineSums
	lines []ledger.EntryLine // one more than a page shows where there are more
}

// findEntries reads what a filter selects, which takes the database seconds for a
// hundred thousand orders.
func (s *Site) findEntries(ctx context.Context, f *balanceFilter, before int64) (found foundEntries, err error) {
	if found.sums, err = s.Ledger.Entries().SumLines(ctx, f.query); err != nil {
		return found, err
	}
	q := f.query
	q.Before, q.Limit = before, linesOnPage+1
	for line, err := range s.Ledger.Entries().Lines(ctx, q) {
		if err != nil {
			return found, err
		}
		found.lines = append(found.lines, line)
	}
	return found, nil
}

// signed is an amount with its sign.
func signed(c money.Cents) template.HTML {
	if c > 0 {
		return template.HTML("+" + c.Dollars()) // as text its sign would be escaped
	}
	return template.HTML(c.Dollars())
}

// balanceFile sends the entries that the filter selects as CSV, the oldest first,
// so that each balance is the one before plus the amount.
func (s *Site) balanceFile(v *request) error {
	f, err := s.balanceFilter(v)
	if err != nil {
		return err
	}
	zone, err := season.LoadZone(f.Zone)
	if err != nil {
		return err
	}
	return v.export("", "balance", "balance.csv", func(path string) error {
		return report.WriteEntries(v.ctx(), s.Ledger, path, f.query, zone)
	})
}
