package report

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// EntryLine is a line of the balance with its company and orders.
type EntryLine struct {
	ledger.EntryLine
	Company string
	// Orders are the IDs of the row's orders.
	Orders []string
	// Requests is the number of order requests that money was reserved for.
	Requests int
	// Entries are the entries of a row with several requests, newest first. Hidden is the number of
	// older entries that are left out.
	Entries []ledger.Entry
	Hidden  int
}

// DescribeEntries adds the companies of lines, and the entries of rows with several requests.
func DescribeEntries(ctx context.Context, l *ledger.Ledger, lines []ledger.EntryLine) ([]EntryLine, error) {
	var ids, repeated []int64
	for _, line := range lines {
		if line.Row != 0 {
			ids = append(ids, line.Row)
		}
		// A single request has two entries, one that reserves and one that charges or releases.
		if line.Count > 2 {
			repeated = append(repeated, line.Row)
		}
	}
	rows, err := l.RowsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	names, err := l.Companies().NamesOf(ctx, slices.Collect(maps.Values(rows)))
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
	entries, err := l.Entries().ListOfRows(ctx, repeated)
	if err != nil {
		return nil, err
	}
	all := make([]EntryLine, len(lines))
	for i, line := range lines {
		d := EntryLine{EntryLine: line, Company: names[line.Row], Orders: orders[line.Row]}
		for _, e := range entries[line.Row] {
			if e.Kind == ledger.Reserve {
				d.Requests++
			}
		}
		if d.Requests > 1 {
			d.Entries = entries[line.Row]
			slices.Reverse(d.Entries)
			d.Hidden = max(0, len(d.Entries)-shownEntries)
			d.Entries = d.Entries[:len(d.Entries)-d.Hidden]
		}
		all[i] = d
	}
	return all, nil
}

const (
	// shownEntries limits the entries shown for a row with many requests.
	shownEntries = 20
	// describedAtOnce is the number of lines whose companies one query reads.
	describedAtOnce = 500
)

// WriteEntries writes the entries that a query selects, as CSV if the file name ends in .csv and as
// a workbook otherwise. The oldest entry is first, so that each balance is the previous one plus
// the amount.
func WriteEntries(ctx context.Context, l *ledger.Ledger, path string, q ledger.LineQuery, zone *time.Location) error {
	balance, err := l.Balance(ctx)
	if err != nil {
		return err
	}
	table, err := createTable(path, "Entries", []float64{12, 12, 14, 32, 32, 8, 18, 30, 40, 8, 14, 14},
		"Date", "Time ("+zone.String()+")", "Entry", "Company", "File", "Row", "Batch", "Order IDs", "Note", "Requests",
		"Amount", "Balance")
	if err != nil {
		return err
	}
	defer table.abort()
	q.Oldest = true
	// Read the lines before the companies, because a reader holds a database connection.
	var lines []ledger.EntryLine
	for line, err := range l.Entries().Lines(ctx, q) {
		if err != nil {
			return err
		}
		lines = append(lines, line)
	}
	for some := range slices.Chunk(lines, describedAtOnce) {
		described, err := DescribeEntries(ctx, l, some)
		if err != nil {
			return err
		}
		for _, d := range described {
			if err := table.row(entryCells(d, zone, balance.HasDeposit)...); err != nil {
				return fmt.Errorf("write the entries of the balance: %w", err)
			}
		}
	}
	return table.save()
}

// entryCells returns the cells of a line. Before the first deposit the balance is unknown.
func entryCells(d EntryLine, zone *time.Location, known bool) []sheet.OutCell {
	at := d.At.In(zone)
	var row, requests, balance sheet.OutCell
	if d.Row != 0 {
		row, requests = sheet.Int(int64(d.Number)), sheet.Int(int64(max(1, d.Requests)))
	}
	if known {
		balance = sheet.Money(int64(d.Balance))
	}
	return []sheet.OutCell{sheet.Str(at.Format(time.DateOnly)), sheet.Str(at.Format(time.TimeOnly)),
		sheet.Str(EntryText(d.Kind)), sheet.Str(text.Line(d.Company)), sheet.Str(text.Line(d.File)), row,
		sheet.Str(d.Batch), sheet.Str(strings.Join(d.Orders, ", ")), sheet.Str(text.Line(d.Note)), requests,
		sheet.Money(int64(d.Amount)), balance}
}
