package schedule

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/balance"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// selection is the selection of rows that a run files, and their order.
type selection struct {
	// whole reports whether all rows get a result, including those without a company.
	whole bool
	// rows are the selected rows by number.
	rows map[int]importer.RunRow
	// undated are the rows without a known due date.
	undated []season.Row
	// notDue are filed although no report is due under the rules.
	notDue []season.Row
	// beyond counts the rows that are not due now, or are already filed.
	beyond int
}

func newSelection() *selection {
	return &selection{rows: make(map[int]importer.RunRow)}
}

// find returns the selected row with a number. It returns false if the row is not filed.
func (s *selection) find(number int) (importer.RunRow, bool) {
	row, ok := s.rows[number]
	return row, ok || s.whole
}

// selectRows selects the rows of a run: all rows for a schedule at a time, or the rows near their
// due dates for a schedule ahead of them.
func (rc *runContext) selectRows(ctx context.Context) (*selection, error) {
	if rc.options.Due == "" {
		return rc.selectWhole(), nil
	}
	return rc.selectByCalendar(ctx)
}

// selectWhole selects every row.
func (rc *runContext) selectWhole() *selection {
	selected := newSelection()
	selected.whole = true
	for _, row := range rc.companyList.Rows {
		r := importer.RunRow{Priority: balance.Undated}
		if rc.companyList.Product == filing.AnnualReport {
			due := rc.companyList.due(row, rc.options, rc.on)
			r.Priority = balance.Priority(due)
			if due.Verdict == season.NotThisYear || due.Verdict == season.NotRequired {
				selected.notDue = append(selected.notDue, row)
			}
		}
		selected.rows[row.Number] = r
	}
	return selected
}

// selectByCalendar selects the rows whose due date is near and that no earlier run has filed. Of
// several reports of a row it selects the earliest. The next run files the next one.
func (rc *runContext) selectByCalendar(ctx context.Context) (*selection, error) {
	filed, err := rc.loadFiled(ctx)
	if err != nil {
		return nil, err
	}
	reports, err := rc.listReports(rc.companyList.CompanyList, !rc.run.IsManual())
	if err != nil {
		return nil, err
	}
	if reports, err = rc.dropInherited(ctx, reports); err != nil {
		return nil, err
	}
	selected := newSelection()
	for _, report := range reports {
		n := report.Row.Number
		if _, known := selected.rows[n]; known {
			continue
		}
		row, err := rc.newRunRow(report)
		if err != nil {
			return nil, err
		}
		year := cmp.Or(row.FilingYear, strconv.Itoa(rc.companyList.years[n]))
		if !filed.has(report, year) {
			selected.rows[n] = row
		}
	}
	rc.addUnselected(selected)
	return selected, nil
}

// newRunRow returns the row of a run that files a report.
func (rc *runContext) newRunRow(report season.Entry) (importer.RunRow, error) {
	row := importer.RunRow{Priority: balance.Priority(report.Due)}
	if rc.options.FilingYear == "" {
		return row, nil
	}
	year, err := season.FilingYear(rc.options.FilingYear, report.Due.Date)
	row.FilingYear = strconv.Itoa(year)
	return row, err
}

// addUnselected adds the rows that are not selected. It lists those without a known due date by
// name, and counts the others.
func (rc *runContext) addUnselected(selected *selection) {
	for _, row := range rc.companyList.Rows {
		if _, ok := selected.rows[row.Number]; ok {
			continue
		}
		if d, _ := rc.companyList.Rules.Next(row.Facts, rc.on); d.Verdict == season.AskState {
			selected.undated = append(selected.undated, row)
		} else {
			selected.beyond++
		}
	}
}

// listReports lists the reports that are near on the day of the run, the earliest due first. With
// missed it adds those that came near, or even fell due, since the previous run at the schedule's
// times.
func (rc *runContext) listReports(list season.CompanyList, missed bool) ([]season.Entry, error) {
	lead, err := season.ParseLead(rc.options.Due)
	if err != nil {
		return nil, err
	}
	near := lead.Ready(list, season.Date{}, rc.on)
	if missed {
		near = append(lead.Ready(list, rc.lastRunDate(), rc.on), near...)
	}
	slices.SortStableFunc(near, season.EarliestFirst)
	return near, nil
}

// lastRunDate returns the day of the last run at the schedule's times before this run, or else the
// day the schedule was added.
func (rc *runContext) lastRunDate() season.Date {
	last := rc.companyList.Since
	for _, run := range rc.previous {
		if d, err := run.Date(); err == nil && !run.IsManual() && d.After(last) && d.Before(rc.on) {
			last = d
		}
	}
	return last
}

// joinedRow is a row of a company that an earlier list does not have.
type joinedRow struct {
	list   string
	number int
}

// dropInherited removes reports that were due before the company was on the list, because another
// firm was responsible for them.
func (rc *runContext) dropInherited(ctx context.Context, entries []season.Entry) ([]season.Entry, error) {
	rows := make(map[string][]season.Row)
	for _, e := range entries {
		if list := rc.listWhenDue(e.Due.Date); list != rc.run.CompanyList {
			rows[list] = append(rows[list], e.Row)
		}
	}
	joined := make(map[joinedRow]bool)
	for list, due := range rows {
		old, err := rc.read(ctx, list, rc.options, rc.on)
		if err != nil {
			return nil, fmt.Errorf("read an earlier company list of the schedule: %w", err)
		}
		for _, row := range season.Added(due, old.Rows) {
			joined[joinedRow{list, row.Number}] = true
		}
	}
	return slices.DeleteFunc(entries, func(e season.Entry) bool {
		return joined[joinedRow{rc.listWhenDue(e.Due.Date), e.Row.Number}]
	}), nil
}

// listWhenDue returns the company list that the schedule had on the day of a report, or its first
// one if the report was due before. It never returns a later list than the run's.
func (rc *runContext) listWhenDue(due season.Date) string {
	if !due.Before(rc.companyList.Changed) {
		return rc.run.CompanyList
	}
	list := ""
	for _, v := range rc.lists {
		if list == "" || !due.Before(season.DateOf(v.Since.In(rc.zone))) {
			list = v.CompanyList
		}
	}
	return cmp.Or(list, rc.run.CompanyList)
}

// filedReports are the reports that earlier runs of a schedule have filed, or that a person has
// kept them from filing. Rows of the same company list are keyed by number and due date. Rows of
// other lists are keyed by company, state and filing year.
type filedReports map[string]bool

func rowKey(row int, priority int64) string {
	return fmt.Sprintf("row %d %s", row, balance.DueDate(priority))
}

// has reports whether a report is filed. A row that needed attention or was canceled is not filed
// again while the list stays the same. A new list files it again, but a canceled one only if it is
// due after the list changed.
func (f filedReports) has(e season.Entry, year string) bool {
	return f[rowKey(e.Row.Number, balance.Priority(e.Due))] || (e.Row.CompanyID != "" && f[e.Row.Key()+"|"+year])
}

// filedFor is the maximum age of a run whose reports may still be in the window.
const filedFor = 400 * 24 * time.Hour

// loadFiled loads the rows of the batches of earlier runs.
func (rc *runContext) loadFiled(ctx context.Context) (filedReports, error) {
	filed := make(filedReports)
	for _, run := range rc.previous {
		if run.Batch == "" || rc.run.Due.Sub(run.Due) > filedFor {
			continue
		}
		for row, err := range rc.ledger.Results(ctx, run.Batch) {
			switch {
			case err != nil:
				return nil, err
			case run.CompanyList == rc.run.CompanyList:
				filed[rowKey(row.Number, row.Priority)] = true
			case row.Result == filing.Invalid, row.Result == filing.Rejected,
				row.Result == filing.Canceled && !balance.DueDate(row.Priority).Before(rc.companyList.Changed):
			case row.Request != nil && row.Request.Order.AnnualReport != nil:
				filed[season.Row{
					CompanyID: cmp.Or(row.Company, row.Request.Company.Ref),
					Facts:     season.Facts{State: row.Request.Order.FilingState},
				}.Key()+"|"+row.Request.Order.AnnualReport.FilingYear] = true
			}
		}
	}
	return filed, nil
}
