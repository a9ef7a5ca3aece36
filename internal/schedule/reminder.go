package schedule

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/outbox"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

const (
	// remindFrom is the hour of the firm's day from which reminders are written.
	remindFrom = 8
	namedDues  = 10
)

// remindBefore are the numbers of days before a due date at which reminders are sent, the nearest
// first.
var remindBefore = []int{7, 30, 60}

// Remind writes the reminders of due dates, of the funds they need, and of silent orders, if it is
// time. Any number of processes may call it, because the ledger writes each reminder once. Days are
// in the firm's zone.
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
	if err := s.remindOfSilence(ctx, zone); err != nil {
		return fmt.Errorf("remind of silent orders: %w", err)
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

// dueDay has the reports of one day that are not placed.
type dueDay struct {
	date season.Date
	// days is the number of days until the date.
	days    int
	reports []*dueReport
}

// byDay groups reports, which are sorted by date.
func byDay(reports []*dueReport, today season.Date) (days []dueDay) {
	for _, r := range reports {
		if n := len(days); n == 0 || days[n-1].date != r.Due.Date {
			days = append(days, dueDay{date: r.Due.Date, days: r.Due.Date.DaysSince(today)})
		}
		day := &days[len(days)-1]
		day.reports = append(day.reports, r)
	}
	return days
}

// reminderOf identifies a reminder by its kind, the day that it is about, and the days before that
// day.
func reminderOf(kind outbox.Kind, on season.Date, left int) outbox.Pending {
	before := remindBefore[len(remindBefore)-1]
	for _, days := range remindBefore {
		if left <= days {
			before = days
			break
		}
	}
	epoch := season.Date{Year: 1970, Month: time.January, Day: 1}
	return outbox.Pending{Kind: kind, Ref: int64(on.DaysSince(epoch)), Mark: int64(before)}
}

// remindOfDueDates writes one message about all due dates that came within 60, 30 or 7 days. A
// reminder that was missed because no worker was running is sent later.
func (s *Scheduler) remindOfDueDates(ctx context.Context, today season.Date) error {
	all, err := s.listDueReports(ctx, today, today.AddDays(remindBefore[len(remindBefore)-1]))
	if err != nil {
		return err
	}
	open, err := removeBought(ctx, s.c.Ledger, all)
	if err != nil || len(open) == 0 {
		return err
	}
	reported, err := s.c.Ledger.Notifications().ListReported(ctx, outbox.KindDueSoon)
	if err != nil {
		return err
	}
	var days []dueDay
	var pending []outbox.Pending
	reports := 0
	for _, day := range byDay(open, today) {
		if r := reminderOf(outbox.KindDueSoon, day.date, day.days); !reported[r] {
			days, pending, reports = append(days, day), append(pending, r), reports+len(day.reports)
		}
	}
	if len(days) == 0 {
		return nil
	}
	subject := fmt.Sprintf("%s due %s, not placed yet", text.Count(reports, "report"), within(days))
	lines := []string{"These filings are due and not placed:"}
	for _, day := range days {
		lines = append(lines, day.lines()...)
	}
	lines = append(lines, "", "Upload their spreadsheet, or run their schedule: importer schedule run-now NAME",
		"All due dates of a schedule: importer schedule show NAME --csv")
	return s.addReminder(ctx, outbox.Notification{Kind: outbox.KindDueSoon, Pending: pending}, subject, lines)
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
func (d dueDay) lines() []string {
	all := []string{fmt.Sprintf("%s (in %s): %s", d.date.American(), text.Count(d.days, "day"),
		text.Count(len(d.reports), "report"))}
	for i, r := range d.reports {
		if i == namedDues {
			all = append(all, fmt.Sprintf("  and %s more", text.Number(len(d.reports)-namedDues)))
			break
		}
		who := cmp.Or(r.Row.LegalName, r.Row.CompanyID, fmt.Sprintf("row %d", r.Row.Number))
		how := "no schedule files it"
		if len(r.schedules) > 0 {
			how = "schedule " + strings.Join(r.schedules, ", ")
		}
		all = append(all, fmt.Sprintf("  %s, %s, %s (%s)", text.Shorten(who, 80), r.Row.Facts.State, r.Due.What, how))
	}
	return all
}

// addReminder adds a notification, unless another process has added it.
func (s *Scheduler) addReminder(ctx context.Context, n outbox.Notification, subject string, lines []string) error {
	n.Subject = subject
	n.Body = strings.Join(lines, "\n") + "\n"
	_, err := s.c.Ledger.Notifications().Add(ctx, n)
	return err
}
