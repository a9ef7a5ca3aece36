package web

import (
	"context"
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// balanceLine is a line of the list of entries.
type balanceLine struct {
	ledger.EntryLine
	Company string
	Orders  []string       // ids of its orders
	Tries   int            // of its order
	Entries []ledger.Entry // of an order that was tried several times, the newest first
	Hidden  int            // older entries that Entries leaves out
}

// balanceFilter is what of the entries is asked for.
type balanceFilter struct {
	Kind, Batch, Search string
	From, To            string // as they were typed
	FromError, ToError  string
	Zone                string // of the days

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
	return f.Kind != kindMoney && f.Kind != kindAll || f.Batch != "" || f.Search != "" || f.From != "" || f.To != ""
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
		Batch:  ask.Get("batch"),
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
	f.query.Batch, f.query.Search = f.Batch, f.Search
	if f.query.From, err = dayIn(f.From, zone, 0); err != nil {
		f.FromError = badDay
	}
	if f.query.To, err = dayIn(f.To, zone, 1); err != nil {
		f.ToError = badDay
	}
	return f, nil
}

const (
	maxSearch = 200
	badDay    = "Enter a date, such as 2026-04-15."
)

// dayIn returns the start of the day in a zone, some days later; the zero time for
// no day.
func dayIn(day string, zone *time.Location, later int) (time.Time, error) {
	if day == "" {
		return time.Time{}, nil
	}
	d, err := season.ParseDate(day)
	if err != nil {
		return time.Time{}, err
	}
	return time.Date(d.Year, d.Month, d.Day+later, 0, 0, 0, 0, zone), nil
}

// path returns the address of a page with the filter.
func (f *balanceFilter) path(page string, more ...string) string {
	ask := make(url.Values)
	for i := 0; i+1 < len(more); i += 2 {
		ask.Set(more[i], more[i+1])
	}
	for name, value := range map[string]string{"kind": f.Kind, "batch": f.Batch, "q": f.Search, "from": f.From,
		"to": f.To} {
		if value != "" {
			ask.Set(name, value)
		}
	}
	if len(ask) == 0 {
		return page
	}
	return page + "?" + ask.Encode()
}

const (
	linesOnPage  = 25
	shownEntries = 20 // of an order that was tried often
	shownBatches = 100
)

// loadLines loads the page of entries that the address asks for.
func (s *Site) loadLines(v *request, p *balancePage) error {
	ctx := v.ctx()
	f, err := s.balanceFilter(v)
	if err != nil {
		return err
	}
	p.Filter = f
	if f.FromError+f.ToError != "" {
		return nil
	}
	version, err := s.Ledger.Fleet().Version(ctx)
	if err != nil {
		return err
	}
	before, _ := strconv.ParseInt(v.r.URL.Query().Get("before"), 10, 64)
	found, err := s.entries.Get(ctx, version+" "+f.path("", "before", strconv.FormatInt(before, 10)),
		func(ctx context.Context) (foundEntries, error) { return s.findEntries(ctx, f, before) })
	if err != nil {
		return err
	}
	p.Batches, p.Sums, p.Released = slices.Clip(found.batches), found.sums, found.released
	if f.Batch != "" && !slices.ContainsFunc(p.Batches, func(b ledger.BatchOfEntries) bool { return b.ID == f.Batch }) {
		p.Batches = append(p.Batches, ledger.BatchOfEntries{ID: f.Batch, File: "batch " + f.Batch})
	}
	if f.Kind == kindMoney {
		all := *f
		all.Kind = kindAll
		p.ShowReleased = all.path("/balance") + "#entries"
	}
	lines := found.lines
	if len(lines) > linesOnPage {
		lines = lines[:linesOnPage]
		p.Older = f.path("/balance", "before", strconv.FormatInt(lines[linesOnPage-1].Last, 10)) + "#entries"
	}
	if before > 0 {
		p.Newest = f.path("/balance") + "#entries"
	}
	p.CSV = f.path("/balance.csv")
	p.Lines, err = s.describeLines(ctx, lines)
	return err
}

// foundEntries is what a filter of the balance selects.
type foundEntries struct {
	batches  []ledger.BatchOfEntries
	sums     ledger.LineSums
	released int
	lines    []ledger.EntryLine // one more than a page shows where there are more
}

// findEntries reads what a filter selects, which takes the database seconds for a
// hundred thousand orders.
func (s *Site) findEntries(ctx context.Context, f *balanceFilter, before int64) (found foundEntries, err error) {
	if found.batches, err = s.Ledger.Entries().ListBatches(ctx, shownBatches); err != nil {
		return found, err
	}
	if found.sums, err = s.Ledger.Entries().SumLines(ctx, f.query); err != nil {
		return found, err
	}
	if f.Kind == kindMoney {
		released := f.query
		released.Kinds = []ledger.EntryKind{ledger.Voided}
		sums, err := s.Ledger.Entries().SumLines(ctx, released)
		if err != nil {
			return found, err
		}
		found.released = sums.Lines
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

// describeLines adds the companies of lines, and the entries of orders that were
// tried several times.
func (s *Site) describeLines(ctx context.Context, lines []ledger.EntryLine) ([]balanceLine, error) {
	var ids, tried []int64
	for _, line := range lines {
		if line.Row != 0 {
			ids = append(ids, line.Row)
		}
		if line.Count > 2 { // one is reserved, then charged or released
			tried = append(tried, line.Row)
		}
	}
	rows, err := s.Ledger.RowsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	names, err := s.Ledger.CompanyNames(ctx, slices.Collect(maps.Values(rows)))
	if err != nil {
		return nil, err
	}
	orders := make(map[int64][]string, len(rows))
	for _, row := range rows {
		if names[row.ID] == "" {
			names[row.ID] = row.CompanyRef()
		}
		for _, item := range row.Items {
			if item.OrderID != "" && !slices.Contains(orders[row.ID], item.OrderID) {
				orders[row.ID] = append(orders[row.ID], item.OrderID)
			}
		}
	}
	entries, err := s.Ledger.Entries().ListOfRows(ctx, tried)
	if err != nil {
		return nil, err
	}
	all := make([]balanceLine, len(lines))
	for i, line := range lines {
		l := balanceLine{EntryLine: line, Company: names[line.Row], Orders: orders[line.Row]}
		for _, e := range entries[line.Row] {
			if e.Kind == ledger.Reserve {
				l.Tries++
			}
		}
		if l.Tries > 1 {
			l.Entries = entries[line.Row]
			slices.Reverse(l.Entries)
			l.Hidden = max(0, len(l.Entries)-shownEntries)
			l.Entries = l.Entries[:len(l.Entries)-l.Hidden]
		}
		all[i] = l
	}
	return all, nil
}

// signed is an amount with its sign.
func signed(c money.Cents) template.HTML {
	if c > 0 {
		return template.HTML("+" + c.Dollars()) // as text its sign would be escaped
	}
	return template.HTML(c.Dollars())
}

// describedAtOnce is how many lines get their companies at a time.
const describedAtOnce = 500

// balanceFile sends the entries that the filter selects as CSV, the oldest first,
// so that each balance is the one before plus the amount.
func (s *Site) balanceFile(v *request) error {
	f, err := s.balanceFilter(v)
	if err != nil {
		return err
	}
	if f.FromError+f.ToError != "" {
		return badRequest("%s", badDay)
	}
	zone, err := season.LoadZone(f.Zone)
	if err != nil {
		return err
	}
	if err := s.recordDownload(v, f.Batch, "balance"); err != nil {
		return err
	}
	name := "balance"
	if f.From != "" {
		name += "-from-" + f.From
	}
	if f.To != "" {
		name += "-to-" + f.To
	}
	return v.download(name+".csv", func(path string) error { return s.writeLines(v.ctx(), path, f, zone) })
}

func (s *Site) writeLines(ctx context.Context, path string, f *balanceFilter, zone *time.Location) error {
	book, err := s.Ledger.Balance(ctx)
	if err != nil {
		return err
	}
	file, err := sheet.CreateCSV(path)
	if err != nil {
		return err
	}
	defer file.Abort()
	header := []string{"Date", "Time (" + f.Zone + ")", "Entry", "Company", "File", "Row", "Batch", "Order IDs", "Note",
		"Tries", "Amount", "Balance"}
	if err := file.Row(textCells(header)...); err != nil {
		return err
	}
	q := f.query
	q.Oldest = true
	var lines []ledger.EntryLine // read before the companies are: a reader holds one connection at a time
	for line, err := range s.Ledger.Entries().Lines(ctx, q) {
		if err != nil {
			return err
		}
		lines = append(lines, line)
	}
	for some := range slices.Chunk(lines, describedAtOnce) {
		described, err := s.describeLines(ctx, some)
		if err != nil {
			return err
		}
		for _, l := range described {
			if err := file.Row(lineCells(l, zone, book.HasDeposit)...); err != nil {
				return fmt.Errorf("write the entries of the balance: %w", err)
			}
		}
	}
	return file.Save()
}

func textCells(texts []string) []sheet.OutCell {
	cells := make([]sheet.OutCell, len(texts))
	for i, t := range texts {
		cells[i] = sheet.Str(t)
	}
	return cells
}

// lineCells returns a line of the CSV. Before the first deposit the balance is not
// known.
func lineCells(l balanceLine, zone *time.Location, declared bool) []sheet.OutCell {
	at := l.At.In(zone)
	row, tries := "", ""
	if l.Row != 0 {
		row, tries = strconv.Itoa(l.Number), strconv.Itoa(max(1, l.Tries))
	}
	cells := textCells([]string{at.Format(time.DateOnly), at.Format(time.TimeOnly), entryName(l.Kind),
		legible(l.Company), legible(l.File), row, l.Batch, strings.Join(l.Orders, ", "), legible(l.Note), tries})
	balance := sheet.OutCell{}
	if declared {
		balance = sheet.Money(int64(l.Balance))
	}
	return append(cells, sheet.Money(int64(l.Amount)), balance)
}
