package schedule

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	ics "github.com/arran4/golang-ical"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

const (
	// daysBefore is how long a past due date stays in the feed.
	daysBefore = 31
	monthsOn   = 13
	// eventsADay is how many reports of a day have an event each; more are one event
	// together, or 800 of them would hide the calendar's other events.
	eventsADay = 10
	namesADay  = 100 // that such an event lists
)

// FeedSpan returns the days that a feed has.
func FeedSpan(today season.Date) (from, to season.Date) {
	return today.AddDays(-daysBefore), today.AddMonths(monthsOn)
}

// Feed writes due dates in the form of RFC 5545, for calendar programs. The
// identifier of an event stays the same as long as its report does, so that a
// program moves an event whose date changes. page is the address of the calendar's
// page; "" for none.
func Feed(name string, entries []CalendarEntry, bought map[int]ledger.PriorPurchase, today season.Date,
	page string) string {
	cal := ics.NewCalendarFor("Bulkfiling")
	cal.SetMethod(ics.MethodPublish)
	cal.SetName(name)
	cal.SetXWRCalName(name)
	cal.SetRefreshInterval("PT6H", ics.WithValue("DURATION"))
	cal.SetXPublishedTTL("PT6H")
	f := feed{cal: cal, stamp: midnight(today), page: page}
	for from := 0; from < len(entries); {
		to := from
		for to < len(entries) && entries[to].Due.Date == entries[from].Due.Date {
			to++
		}
		if to-from > eventsADay {
			f.addDay(entries[from:to], bought, from)
		} else {
			for i := from; i < to; i++ {
				f.addReport(entries[i], bought, i)
			}
		}
		from = to
	}
	return cal.Serialize(ics.WithNewLineWindows)
}

type feed struct {
	cal   *ics.Calendar
	stamp time.Time // the day: a feed is the same all day, unless its dates change
	page  string
}

func midnight(d season.Date) time.Time {
	return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC)
}

func (f *feed) add(id string, day season.Date, summary, description string) {
	sum := sha256.Sum256([]byte(id))
	event := f.cal.AddEvent(hex.EncodeToString(sum[:12]) + "@bulkfiling")
	event.SetDtStampTime(f.stamp)
	event.SetAllDayStartAt(midnight(day))
	event.SetAllDayEndAt(midnight(day.AddDays(1)))
	event.SetSummary(clean(summary))
	event.SetDescription(clean(description))
	event.SetTimeTransparency(ics.TransparencyTransparent) // nobody is busy because of it
	if f.page != "" {
		event.SetURL(fmt.Sprintf("%s?from=%s&to=%s#due", f.page, day, day))
	}
}

// clean removes what no calendar is to show: Social Security numbers and control
// characters.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if (r < ' ' && r != '\n') || r == 0x7f || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069) {
			return -1
		}
		return r
	}, filing.HideSSNs(s))
}

// addReport adds an event for one report.
func (f *feed) addReport(e CalendarEntry, bought map[int]ledger.PriorPurchase, i int) {
	id := fmt.Sprintf("%s|%d", e.Row.Key(), e.Year)
	if e.Row.CompanyID == "" && e.Row.LegalName == "" {
		id = fmt.Sprintf("row %d|%s|%s", e.Row.Number, e.Row.Facts.State, e.Due.Date)
	}
	who := cmp.Or(e.Row.LegalName, e.Row.CompanyID, fmt.Sprintf("row %d", e.Row.Number))
	summary := fmt.Sprintf("%s due: %s (%s)", text.Capital(e.Due.What), who, e.Row.Facts.State)
	if isPlaced(bought, i) {
		summary = "Placed: " + summary
	}
	var lines []string
	if e.Due.Estimate {
		lines = append(lines, "The date is an estimate.")
	}
	lines = append(lines, fmt.Sprintf("Filing year %d. State fee: %s.", e.Year, e.Due.Price()))
	if len(e.Seasons) > 0 {
		lines = append(lines, "Filed by: "+strings.Join(e.Seasons, ", "))
	} else {
		lines = append(lines, "No schedule files it.")
	}
	f.add(id, e.Due.Date, summary, strings.Join(lines, "\n"))
}

// addDay adds one event for all reports of a day.
func (f *feed) addDay(entries []CalendarEntry, bought map[int]ledger.PriorPurchase, from int) {
	day := entries[0].Due.Date
	placed := 0
	var names []string
	for i, e := range entries {
		name := fmt.Sprintf("%s (%s)", cmp.Or(e.Row.LegalName, e.Row.CompanyID, "no name"), e.Row.Facts.State)
		if isPlaced(bought, from+i) {
			placed++
			name += ", placed"
		}
		if i < namesADay {
			names = append(names, name)
		}
	}
	if more := len(entries) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %s more", text.Number(more)))
	}
	summary := text.Count(len(entries), "report") + " due"
	if placed > 0 {
		summary += fmt.Sprintf(", %s placed", text.Number(placed))
	}
	f.add("day|"+day.String(), day, summary, strings.Join(names, "\n"))
}

func isPlaced(bought map[int]ledger.PriorPurchase, i int) bool {
	h, held := bought[i]
	return held && (h.Bought || h.Covers)
}
