package schedule

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

const (
	remindFrom  = 8 // the hour of the firm's day from which reminders are written
	summaryDays = 2 // a summary that is later than this is left out
	namedDues   = 10
	namedDays   = 8
	aheadDays   = 30 // of due dates in a summary
)

// remindBefore are how many days before a due date reminders are sent, the nearest
// first.
var remindBefore = []int{7, 30, 60}

// Remind writes the reminders of due dates and the summary of the week, if it is
// time. Any number of processes may call it: the ledger keeps each from being
// written twice. Days are those of the firm's zone.
func (s *Scheduler) Remind(ctx context.Context) error {
	zone, err := FirmZone(ctx, s.c.Ledger)
	if err != nil {
		return err
	}
	now := s.c.Now().In(zone)
	if now.Hour() < remindFrom {
		return nil
	}
	if err := s.remindOfDueDates(ctx, season.DateOf(now)); err != nil {
		return fmt.Errorf("remind of due dates: %w", err)
	}
	if err := s.remindOfFunds(ctx, season.DateOf(now)); err != nil {
		return fmt.Errorf("remind of the funds that are needed: %w", err)
	}
	if err := s.summarizeWeek(ctx, now); err != nil {
		return fmt.Errorf("summarize the week: %w", err)
	}
	return nil
}

// remind calls Remind once an hour.
func (s *Scheduler) remind(ctx context.Context) {
	hour := s.c.Now().Truncate(time.Hour)
	if hour.Equal(s.reminded) {
		return
	}
	if err := s.Remind(ctx); err != nil {
		if ctx.Err() == nil {
			s.c.Log.Error("reminders postponed", "err", err)
		}
		return
	}
	s.reminded = hour
}

// openReports lists the reports that fall due in a span and are not placed. A
// company list that cannot be read is left out: its schedule has a Problem.
func (s *Scheduler) openReports(ctx context.Context, from, to season.Date) ([]CalendarEntry, error) {
	schedules, err := s.c.Ledger.Schedules().List(ctx)
	if err != nil || len(schedules) == 0 {
		return nil, err
	}
	c, err := s.Calendar(ctx, schedules, from, to)
	if err != nil {
		return nil, err
	}
	bought, err := FindBought(ctx, s.c.Ledger, c.Due)
	if err != nil {
		return nil, err
	}
	var open []CalendarEntry
	for i, e := range c.Due {
		if _, held := bought[i]; !held {
			open = append(open, e)
		}
	}
	return open, nil
}

// dueDay is the reports of one day that are not placed.
type dueDay struct {
	date    season.Date
	days    int // until then
	entries []CalendarEntry
}

// byDay groups entries, which are in the order of their dates.
func byDay(entries []CalendarEntry, today season.Date) (days []dueDay) {
	for _, e := range entries {
		if n := len(days); n == 0 || days[n-1].date != e.Due.Date {
			days = append(days, dueDay{date: e.Due.Date, days: daysUntil(e.Due.Date, today)})
		}
		day := &days[len(days)-1]
		day.entries = append(day.entries, e)
	}
	return days
}

// reminder identifies the reminder of a day, so many days before it.
func (d dueDay) reminder() ledger.Pending { return reminderOf(ledger.NotifyDueSoon, d.date, d.days) }

// reminderOf identifies the reminder of something on a day, some days before it.
func reminderOf(kind ledger.NotificationKind, on season.Date, left int) ledger.Pending {
	before := remindBefore[len(remindBefore)-1]
	for _, days := range remindBefore {
		if left <= days {
			before = days
			break
		}
	}
	return ledger.Pending{Kind: kind, Ref: midnight(on).Unix() / (24 * 60 * 60), Mark: int64(before)}
}

// daysUntil is how many days a day is after another.
func daysUntil(on, today season.Date) int {
	return int(midnight(on).Sub(midnight(today)) / (24 * time.Hour))
}

// remindOfDueDates writes one message about all due dates that came within 60, 30 or
// 7 days. A reminder that was missed while nothing was running is sent later.
func (s *Scheduler) remindOfDueDates(ctx context.Context, today season.Date) error {
	open, err := s.openReports(ctx, today, today.AddDays(remindBefore[len(remindBefore)-1]))
	if err != nil || len(open) == 0 {
		return err
	}
	reported, err := s.c.Ledger.Notifications().ListReported(ctx, ledger.NotifyDueSoon)
	if err != nil {
		return err
	}
	var days []dueDay
	var pending []ledger.Pending
	reports := 0
	for _, day := range byDay(open, today) {
		if r := day.reminder(); !reported[r] {
			days, pending, reports = append(days, day), append(pending, r), reports+len(day.entries)
		}
	}
	if len(days) == 0 {
		return nil
	}
	subject := fmt.Sprintf("%s due %s, not placed yet", text.Count(reports, "report"), within(days))
	lines := []string{"These filings are due and not placed:"}
	for _, day := range days {
		lines = append(lines, day.lines(namedDues)...)
	}
	lines = append(lines, "", "Upload their spreadsheet, or run their schedule: importer season run-now NAME",
		"All due dates: on the page, under Schedules, Due dates")
	return s.addReminder(ctx, ledger.Notification{Kind: ledger.NotifyDueSoon, Pending: pending}, subject, lines)
}

// within names the day, or the first and the last of several.
func within(days []dueDay) string {
	first, last := days[0], days[len(days)-1]
	if first.date == last.date {
		return "on " + first.date.American()
	}
	return fmt.Sprintf("from %s to %s", first.date.American(), last.date.American())
}

// lines describes a day, with some of its reports.
func (d dueDay) lines(named int) []string {
	all := []string{fmt.Sprintf("%s (in %s): %s", d.date.American(), text.Count(d.days, "day"),
		text.Count(len(d.entries), "report"))}
	for i, e := range d.entries {
		if i == named {
			all = append(all, fmt.Sprintf("  and %s more", text.Number(len(d.entries)-named)))
			break
		}
		who := cmp.Or(e.Row.LegalName, e.Row.CompanyID, fmt.Sprintf("row %d", e.Row.Number))
		how := "no schedule files it"
		if len(e.Seasons) > 0 {
			how = "schedule " + strings.Join(e.Seasons, ", ")
		}
		all = append(all, fmt.Sprintf("  %s, %s, %s (%s)", text.Shorten(who, 80), e.Row.Facts.State, e.Due.What, how))
	}
	return all
}

// addReminder adds a notification, unless another process has.
func (s *Scheduler) addReminder(ctx context.Context, n ledger.Notification, subject string, lines []string) error {
	n.Subject = subject
	n.Body = clean(strings.Join(lines, "\n")) + "\n"
	_, err := s.c.Ledger.Notifications().Add(ctx, n)
	return err
}

// summarizeWeek writes the summary of the week on Monday, or up to summaryDays later
// where nothing was running. Where there is nothing to say, it writes none.
func (s *Scheduler) summarizeWeek(ctx context.Context, now time.Time) error {
	back := (int(now.Weekday()) + 6) % 7 // since Monday
	if back >= summaryDays {
		return nil
	}
	today := season.DateOf(now)
	monday := today.AddDays(-back)
	from := time.Date(monday.Year, monday.Month, monday.Day-7, 0, 0, 0, 0, now.Location())
	to := time.Date(monday.Year, monday.Month, monday.Day, 0, 0, 0, 0, now.Location())
	actions, err := s.listActions(ctx)
	if err != nil {
		return err
	}
	placed, err := s.c.Ledger.Entries().SumLines(ctx,
		ledger.LineQuery{From: from, To: to, Kinds: []ledger.EntryKind{ledger.Posted}})
	if err != nil {
		return err
	}
	open, err := s.openReports(ctx, today, today.AddDays(aheadDays))
	if err != nil || len(actions)+placed.Lines+len(open) == 0 {
		return err
	}
	book, err := s.c.Ledger.Balance(ctx)
	if err != nil {
		return err
	}
	available := "unknown, no deposit is recorded"
	if book.HasDeposit {
		available = book.Available().Dollars()
	}
	lines := []string{"Action needed:"}
	if len(actions) == 0 {
		lines = append(lines, "  nothing")
	}
	lines = append(lines, actions...)
	lines = append(lines, "", fmt.Sprintf("Placed from %s to %s: %s, %s charged",
		season.DateOf(from).American(), monday.AddDays(-1).American(), text.Count(placed.Lines, "order"),
		placed.Charged.Dollars()),
		fmt.Sprintf("Balance: %s available, %s reserved", available, book.Reserved.Dollars()), "",
		fmt.Sprintf("Due in the next %d days, not placed yet: %s", aheadDays, text.Count(len(open), "report")))
	for i, day := range byDay(open, today) {
		if i == namedDays {
			lines = append(lines, "  and later days")
			break
		}
		lines = append(lines, "  "+day.lines(0)[0])
	}
	return s.addReminder(ctx, ledger.Notification{
		Kind:  ledger.NotifyWeeklySummary,
		Batch: "week of " + monday.String(),
		Lasts: true, // it is sent once
	}, "summary of the week, "+monday.American(), lines)
}

// listActions lists what needs a person, a line each.
func (s *Scheduler) listActions(ctx context.Context) ([]string, error) {
	waits, err := s.c.Ledger.Attention(ctx)
	if err != nil {
		return nil, err
	}
	rows, queued, err := s.c.Ledger.Backlog(ctx)
	if err != nil {
		return nil, err
	}
	book, err := s.c.Ledger.Balance(ctx)
	if err != nil {
		return nil, err
	}
	halt, err := s.c.Ledger.Fleet().Halt(ctx)
	if err != nil {
		return nil, err
	}
	problems, err := s.Problems(ctx)
	if err != nil {
		return nil, err
	}
	var all []string
	add := func(n int, singular, plural string) {
		if n > 0 {
			all = append(all, "  "+text.CountOf(n, singular, plural))
		}
	}
	add(waits.Approvals, "batch waits for approval", "batches wait for approval")
	add(waits.Uncertain, "order is uncertain", "orders are uncertain")
	add(waits.Exceptions, "filing needs correction", "filings need correction")
	switch short := book.Missing(queued.Amount); {
	case halt.Reason == filing.HaltFunds && rows > 0:
		add(rows, "row waits for funds at the filing service", "rows wait for funds at the filing service")
	case book.HasDeposit && rows > 0 && short > 0:
		all = append(all, fmt.Sprintf("  %s; the balance is short by %s",
			text.CountOf(rows, "row is queued", "rows are queued"), short.Dollars()))
	}
	for _, p := range problems {
		all = append(all, fmt.Sprintf("  Schedule %s: %s", p.Schedule, p.Text))
	}
	return all, nil
}
