package web

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	ics "github.com/arran4/golang-ical"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// dueList is a company list of annual reports that are due ahead of time.
func (s *testSite) dueList(name string, list []byte) {
	s.Helper()
	_, err := schedule.Add(s.Context(), s.Ledger, schedule.NewSchedule{
		Name:    name,
		File:    "list.csv",
		Content: list,
		By:      "Ana",
		Options: schedule.Options{Due: "30 days before", Zone: "America/Chicago", FilingYear: "this"},
	})
	s.must(err)
}

// A calendar program reads due dates at a secret address, without a session, until it
// is revoked. No cookie is set, no number of a person is in it, and its lines are
// those of RFC 5545.
func TestCalendarFeed(t *testing.T) {
	s := newSite(t)
	s.dueList("de", companyListOf("Ada LLC",
		"A name, with; signs\\ and that is so long that its line has to be folded LLC"))
	v := s.as(ledger.Approver)
	_, body := v.post("/calendar/feeds")
	link := html.UnescapeString(regexp.MustCompile(`<code id="link">([^<]+)</code>`).FindStringSubmatch(body)[1])
	path := strings.TrimPrefix(link, s.url)
	if !regexp.MustCompile(`^/calendar/feed/[\w-]{43}\.ics$`).MatchString(path) {
		t.Fatal(link)
	}
	anyone := s.nobody()
	answer, err := anyone.client.Get(s.url + path)
	s.must(err)
	answer.Body.Close()
	status, feed := anyone.get(path)
	if status != http.StatusOK || answer.Header.Get("Content-Type") != "text/calendar; charset=utf-8" ||
		len(answer.Cookies()) > 0 {
		t.Fatalf("%d %v\n%s", status, answer.Header, feed)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(feed, "\r\n"), "\r\n") {
		if len(line) > 75 || strings.Contains(line, "\n") {
			t.Errorf("a line of %d octets: %q", len(line), line)
		}
	}
	cal, err := ics.ParseCalendar(strings.NewReader(feed))
	s.must(err)
	events := cal.Events()
	if len(events) < 2 {
		t.Fatalf("%d events\n%s", len(events), feed)
	}
	found := false
	for _, e := range events {
		at, err := e.GetAllDayStartAt()
		if summary := e.GetProperty(ics.ComponentPropertySummary).Value; strings.Contains(summary, "A name") {
			found = found || summary == "Annual tax due: A name, with; signs\\ and that is so long that its line "+
				"has to be folded LLC (DE)"
		}
		if err != nil || at.Month() != time.June || at.Day() != 1 { // an LLC of Delaware
			t.Errorf("%v, %v: %s", at, err, e.Id())
		}
	}
	if !found {
		t.Errorf("the name was not read back\n%s", feed)
	}
	if _, again := anyone.get(path); again != feed {
		t.Error("the feed changes without a change of its dates")
	}
	if status, _ := anyone.get(strings.Replace(path, ".ics", "x.ics", 1)); status != http.StatusNotFound {
		t.Error("another secret: ", status)
	}
	_, body = v.get("/calendar")
	v.wants(body, "Last used", "Revoke", "America/Chicago")
	revoke := regexp.MustCompile(`action="(/calendar/feeds/[^"]+)"`).FindStringSubmatch(body)[1]
	s.as(ledger.Operator).post(revoke)
	if status, _ := anyone.get(path); status != http.StatusOK {
		t.Error("another person revoked it")
	}
	v.post(revoke)
	if status, _ := anyone.get(path); status != http.StatusNotFound {
		t.Error("it is revoked, and still read: ", status)
	}
	for range feedBurst {
		status, _ = anyone.get(path)
	}
	if status != http.StatusTooManyRequests {
		t.Error("it is asked for without end: ", status)
	}
}

// Many reports of a day are one event; an event's identifier outlives a change of its
// date.
func TestFeedEvents(t *testing.T) {
	day := season.Date{Year: 2027, Month: time.March, Day: 1}
	entry := func(id string, day season.Date) schedule.CalendarEntry {
		e := schedule.CalendarEntry{Year: 2027}
		e.Row.CompanyID, e.Row.Facts.State = id, "DE"
		e.Due = season.Due{Verdict: season.Dated, What: "annual report", Date: day}
		return e
	}
	read := func(entries []schedule.CalendarEntry, bought map[int]ledger.PriorPurchase) []*ics.VEvent {
		t.Helper()
		cal, err := ics.ParseCalendar(strings.NewReader(schedule.Feed("Due dates", entries, bought, day, "")))
		if err != nil {
			t.Fatal(err)
		}
		return cal.Events()
	}
	first := read([]schedule.CalendarEntry{entry("comp_1", day)}, nil)
	moved := read([]schedule.CalendarEntry{entry("comp_1", day.AddDays(30))}, nil)
	if len(first) != 1 || len(moved) != 1 || first[0].Id() != moved[0].Id() {
		t.Errorf("%v, %v", first, moved)
	}
	named := entry("comp_1", day)
	named.Row.LegalName = "Person 078-05-1120 LLC"
	if feed := schedule.Feed("Due dates", []schedule.CalendarEntry{named}, nil, day, ""); strings.Contains(feed,
		"078-05-1120") || !strings.Contains(feed, "Person ") {
		t.Error(feed)
	}
	var many []schedule.CalendarEntry
	for range 800 {
		many = append(many, entry("comp_1", day))
	}
	together := read(many, map[int]ledger.PriorPurchase{3: {Bought: true}, 4: {}})
	if len(together) != 1 ||
		together[0].GetProperty(ics.ComponentPropertySummary).Value != "800 reports due, 1 placed" {
		t.Errorf("%v", together)
	}
}

// A month is a page of weeks with what is due on each day, and a list of each day.
func TestCalendarMonth(t *testing.T) {
	s := newSite(t)
	s.dueList("de", companyListOf("Ada LLC", "Bea LLC", "Cid LLC", "Dov LLC"))
	v := s.as(ledger.Approver)
	year := time.Now().Year() + 1
	status, body := v.get("/calendar?view=month&month=" +
		season.Date{Year: year, Month: time.June, Day: 1}.String()[:7])
	v.wants(body, "4 reports due", "4 not placed", "Ada LLC", "and 1 more", "Sunday", "Previous month",
		"view=month")
	if status != http.StatusOK || strings.Count(body, "<tr>") > 7 {
		t.Error(status, strings.Count(body, "<tr>"))
	}
	_, body = v.get("/calendar")
	v.wants(body, "Jun 1, ", ">Month</a>", "Create calendar link")
	if strings.Contains(body, "/calendar/zone") {
		t.Error("an approver sets the time zone")
	}
	o := s.as(ledger.Operator)
	_, body = o.post("/calendar/zone", "zone", "America/Denver")
	o.wants(body, "use the time zone America/Denver")
	if status, _ := o.post("/calendar/zone", "zone", "Mars"); status != http.StatusUnprocessableEntity {
		t.Error(status)
	}
}
