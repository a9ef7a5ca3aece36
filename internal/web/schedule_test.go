package web

import (
	"bytes"
	"html"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// companyListOf is a sheet of annual reports of these companies.
func companyListOf(names ...string) []byte {
	var b bytes.Buffer
	b.WriteString("Company ID,Legal Name,Filing State,User ID,Entity Type,Formation State\n")
	for _, name := range names {
		b.WriteString("comp_" + strings.ToLower(strings.Trim(strings.Map(letter, name), "_")) + `,"` +
			strings.ReplaceAll(name, `"`, `""`) + "\",DE,user_1,LLC,DE\n")
	}
	return b.Bytes()
}

func letter(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return '_'
}

// addSchedule adds a schedule that runs once a year and places at once.
func (s *testSite) addSchedule(name string, approval bool, companies []byte) {
	s.Helper()
	_, err := schedule.Add(s.Context(), s.Ledger, schedule.NewSchedule{
		Name:     name,
		File:     "companies.csv",
		Content:  companies,
		Approval: approval,
		By:       "somebody",
		Options:  schedule.Options{At: "01-15", Zone: "UTC", FilingYear: "this", Product: "annual-report"},
	})
	s.must(err)
}

func (s *testSite) runs(name string) []schedule.Run {
	s.Helper()
	all := need(schedule.NewRecords(s.Ledger).ListRuns(s.Context(), name))(s)
	return all
}

// Without a schedule the page says what schedules are for, and leads an operator to the
// form; no one else.
func TestScheduleList_Empty(t *testing.T) {
	s, v := visit(t, account.Operator)
	v.wants(v.page("/schedules"), "No schedules yet", `href="/schedules/new"`)
	v.lacks(s.as(account.Preparer).page("/schedules"), "/schedules/new")
}

// A schedule is added by a form; its errors are shown at their fields, and
// nothing of it is kept.
func TestAddSchedule(t *testing.T) {
	s, v := visit(t, account.Operator)
	good := map[string]string{"name": "de", "when": "date", "month": "1", "day": "15",
		"zone": "America/New_York", "year": "this", "approval": "yes"}
	send := func(status int, companies []byte, file string, change map[string]string) string {
		t.Helper()
		form := maps.Clone(good)
		maps.Copy(form, change)
		var fields []string
		for name, value := range form {
			fields = append(fields, name, value)
		}
		return v.upload(status, "/schedules", file, companies, fields...)
	}
	for _, c := range []struct {
		what, companies, file string
		change                map[string]string
		at, says              string
	}{
		{"a name with a blank", "", "r.csv", map[string]string{"name": "a b"}, "name", "Enter a name"},
		{"the name of the form", "", "r.csv", map[string]string{"name": "new"}, "name", "Enter a name"},
		{"does not have that day", "", "r.csv", map[string]string{"month": "2", "day": "30"}, "day",
			"does not have that day"},
		{"no number", "", "r.csv", map[string]string{"day": "x"}, "day", "1 to 31"},
		{"too early", "", "r.csv", map[string]string{"when": "ahead", "number": "400"}, "number", "0 to 364"},
		{"no zone", "", "r.csv", map[string]string{"zone": "Mars"}, "file", "Mars"},
		{"no year", "", "r.csv", map[string]string{"year": "soon"}, "file", "soon"},
		{"no state", "", "r.csv", map[string]string{"state": "XX"}, "file", "XX"},
		{"no file", "", "", nil, "file", "Choose the company list"},
		{"no company list", "a,b\n1,2\n", "r.csv", nil, "file", "header"},
		{"no row that can be filed", "Company ID,Legal Name,Filing State,User " +
			"ID\ncomp_1,<script>alert(1)</script> LLC,Dela,user_1\n", "r.csv", map[string]string{
			"product": "annual-report",
		}, "file", "no row of r.csv can be filed"},
	} {
		t.Run(c.what, func(t *testing.T) {
			companies := []byte(c.companies)
			if c.companies == "" {
				companies = companyListOf("Ada LLC")
			}
			body := send(http.StatusUnprocessableEntity, companies, c.file, c.change)
			_, at, found := strings.Cut(body, `id="`+c.at+`-error">`)
			at, _, _ = strings.Cut(at, "<")
			if !found || !strings.Contains(strings.ToLower(at), strings.ToLower(c.says)) {
				t.Errorf("at %s %q; want %q", c.at, at, c.says)
			}
			v.wants(body, "choose the file again")
			v.lacks(body, "<script>alert")
			if all, err := schedule.NewRecords(s.Ledger).List(t.Context()); err != nil || len(all) != 0 {
				t.Errorf("kept %+v, %v", all, err)
			}
		})
	}
	body := send(http.StatusUnprocessableEntity,
		[]byte("Company ID,Legal Name,Filing State,User ID\ncomp_1,X,Dela,user_1\n"), "r.csv",
		map[string]string{"product": "annual-report"})
	v.wants(body, ">C2</th>", "Dela")
	checkAddedSchedule(s, v, send)
	send(http.StatusOK, companyListOf("Cy LLC"), "Florida LLCs.csv", map[string]string{"name": "", "when": ""})
	found, err := schedule.Find(t.Context(), s.Ledger, "florida-llcs") // by the file's name
	if err != nil || found.File != "Florida LLCs.csv" {
		t.Errorf("%+v, %v", found, err)
	}
}

// checkAddedSchedule adds a schedule, and another one of the same name.
func checkAddedSchedule(s *testSite, v *visitor, send func(int, []byte, string, map[string]string) string) {
	t := s.T
	t.Helper()
	send(http.StatusOK, companyListOf("Ada LLC", "Bea LLC"), "clients.csv", nil)
	se := need(schedule.Find(t.Context(), s.Ledger, "de"))(s)
	o := se.Options
	if !se.Approval || se.CreatedBy != v.name || o.At != "01-15" || o.Zone != "America/New_York" ||
		o.FilingYear != "this" {
		t.Errorf("%+v %+v", se, o)
	}
	v.wants(v.page("/schedules"), "every year on January 15, America/New_York", "clients.csv",
		"each run waits for approval")
	v.wants(send(http.StatusUnprocessableEntity, companyListOf("Cid LLC"), "other.csv", nil),
		"A schedule with this name")
	acts := s.acts(-1, audit.Query{What: "schedule-add", Of: "de"})
	if len(acts) == 0 || acts[len(acts)-1].By != v.name {
		t.Errorf("%+v", acts)
	}
}

// What a schedule does is said by its own batch: what it orders, and for how much.
func TestAScheduleSaysWhetherItsBatchWaits(t *testing.T) {
	s := newSite(t)
	s.addSchedule("de", false, companyListOf("Ada LLC"))
	v := s.as(account.Operator)
	for _, c := range []struct {
		policy approval.Policy
		waits  bool
	}{
		{approval.Policy{}, false},
		{approval.Policy{Second: true, From: 1}, true},
		{approval.Policy{Second: true, From: 10_000_000}, false},
	} {
		s.must(approval.New(s.Ledger).ChangePolicy(t.Context(), c.policy))
		if _, body := v.get("/schedules/de/run"); strings.Contains(body, "Place 1 order</button>") == c.waits {
			t.Errorf("%s: it says the contrary", c.policy.Words())
		}
	}
}

// A schedule runs by hand once, however often the form arrives, and only as it was
// shown.
func TestRunSchedule_ByHandOnce(t *testing.T) {
	s := newSite(t)
	s.addSchedule("de", true, companyListOf("Ada LLC", "Bea LLC"))
	v := s.as(account.Operator)
	_, body := v.get("/schedules/de/run")
	v.wants(body, "Run 2 filings", "Nothing is sent before it is approved")
	look, once := html.UnescapeString(hidden(body, "look")), hidden(body, "once")
	if len(s.runs("de")) != 0 {
		t.Fatal("looking fires")
	}
	if _, body := v.post("/schedules/de/run", "look",
		"something else"); !strings.Contains(body, "The plan changed") || len(s.runs("de")) != 0 {
		t.Fatalf("ran without a preview:\n%s", body)
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { v.post("/schedules/de/run", "once", once, "look", look) })
	}
	both.Wait()
	ran := s.runs("de")
	batches := need(s.Ledger.Batches(t.Context()))(s)
	acts := s.acts(-1, audit.Query{What: "schedule-run"})
	if len(ran) != 1 || ran[0].State != schedule.RunDone || len(batches) != 1 || len(acts) != 1 ||
		acts[0].By != v.name {
		t.Fatalf("ran %+v, batches %+v, acts %+v", ran, batches, acts)
	}
	if batches[0].Approval.State != ledger.ApprovalNeeded {
		t.Errorf("%+v", batches[0].Approval)
	}
	v.wants(v.page("/schedules/de/run"), "already ran by hand today", "/batches/"+ran[0].Batch)
	v.wants(v.page("/schedules/de"), "waits for approval", "by hand")
}

// Pausing twice does not move the time from which a schedule counts; a schedule that
// is removed leaves its batches.
func TestSchedule_PausedResumedAndRemoved(t *testing.T) {
	s := newSite(t)
	s.addSchedule("de", false, companyListOf("Ada LLC"))
	v := s.as(account.Operator)
	v.post("/schedules/de/pause")
	se, err := schedule.Find(t.Context(), s.Ledger, "de")
	if s.must(err); !se.Paused {
		t.Fatal("not paused")
	}
	v.post("/schedules/de/pause")
	if again, err := schedule.Find(t.Context(), s.Ledger, "de"); err != nil || !again.Since.Equal(se.Since) {
		t.Errorf("%v, %v", again.Since, err)
	}
	v.wants(v.page("/schedules/de"), "Resume", "after you resume it")
	v.post("/schedules/de/resume")
	_, body := v.get("/schedules/de/run")
	v.post("/schedules/de/run", "look", html.UnescapeString(hidden(body, "look")))
	v.wants(v.posted("/schedules/de/remove"), "Deleted the schedule de", "No schedules yet")
	v.gives(http.StatusNotFound, "/schedules/de")
	if batches, err := s.Ledger.Batches(t.Context()); err != nil || len(batches) != 1 {
		t.Errorf("%+v, %v", batches, err)
	}
}

// A new company list is compared with the one before. Its names are text on every page.
func TestNewCompanyListShowsChanges(t *testing.T) {
	s := newSite(t)
	const script, formula, rightToLeft = `<script>alert(1)</script> LLC`, `=cmd|'/c calc'!A1`, "שלום \u202eevil"
	s.addSchedule("de", false, companyListOf("Ada LLC", "Bea LLC", "Cid LLC"))
	v := s.as(account.Preparer)
	version := hidden(v.page("/schedules/de"), "version")
	v.wants(v.upload(http.StatusOK, "/schedules/de/companies", "new.csv",
		companyListOf("Ada LLC", "Bea LLC", script, formula, "x"+rightToLeft), "version", version),
		"3 added, 1 removed", "new.csv")
	if acts := s.acts(1, audit.Query{What: "schedule-update", Of: "de"}); acts[0].By != v.name {
		t.Errorf("%+v", acts)
	}
	for _, path := range []string{"/schedules/de", "/schedules"} {
		v.lacks(v.page(path), "<script>alert", "\u202e")
	}

	// One that was chosen on the page as it was before is not taken in, nor one of
	// which nothing can be filed.
	now := need(schedule.Find(t.Context(), s.Ledger, "de"))(s)
	v.wants(v.upload(http.StatusConflict, "/schedules/de/companies", "late.csv", companyListOf("Dee LLC"), "version",
		version), "Someone else made a change")
	v.wants(v.upload(http.StatusUnprocessableEntity, "/schedules/de/companies", "bad.csv",
		[]byte("Company ID,Legal Name,Filing State,User ID\ncomp_1,X,Dela,user_1\n"), "version",
		strconv.Itoa(now.Version)), "bad.csv was not saved", ">C2</th>")
	if after, err := schedule.Find(t.Context(), s.Ledger, "de"); err != nil || after.CompanyList != now.CompanyList {
		t.Errorf("%+v, %v", after, err)
	}
}

// The firm's time zone is one of the list, and an operator sets it.
func TestFirmZone(t *testing.T) {
	s, v := visit(t, account.Operator)
	v.wants(v.posted("/settings/zone", "zone", "America/Denver"), "is America/Denver",
		"<option selected>America/Denver</option>")
	v.answers(http.StatusUnprocessableEntity, "/settings/zone", "zone", "Mars")
	s.lacks(s.as(account.Approver).page("/settings"), "/settings/zone")
}

// Reports that fall due and that no schedule files need action.
func TestReportsWithoutASchedule(t *testing.T) {
	s, v := visit(t, account.Operator)
	_, err := schedule.Add(t.Context(), s.Ledger, schedule.NewSchedule{
		Name: "monthly",
		File: "list.csv",
		Content: []byte("Company ID,Legal Name,Filing State,User ID,Entity Type,Filing Year\n" +
			"comp_1,Ada LLC,DE,user_1,LLC,2026\ncomp_2,Bea LLC,DE,user_1,LLC,2026\n"),
		By:      "Ana",
		Options: schedule.Options{At: "01", Zone: "America/New_York"},
	})
	s.must(err)
	s.config.Scheduler = schedule.New(schedule.Config{
		Ledger: s.Ledger,
		Quoter: s.config.Prices,
		Now:    func() time.Time { return time.Date(2027, time.April, 20, 12, 0, 0, 0, time.UTC) },
	})
	s.open()
	v.wants(v.page("/balance"), "2 reports due without a schedule, the first on Jun 1, 2027",
		`href="/schedules">See schedules</a>`)
}

// A schedule that was good when it was added and files nothing at its next run says so on its page,
// in the list and among the actions of those who can correct it.
func TestAScheduleThatFilesNothingLater(t *testing.T) {
	s, v := visit(t, account.Operator)
	s.addSchedule("de", false, companyListOf("Ada LLC"))
	for _, path := range []string{"/schedules/de", "/balance"} {
		s.lacks(v.page(path), "would file nothing")
	}
	s.must(s.Ledger.Companies().Remember(t.Context(), "comp_ada_llc",
		filing.Company{ID: "comp_ada_llc", LegalName: "Bea LLC"}))
	s.config.Scheduler = schedule.New(schedule.Config{Ledger: s.Ledger, Quoter: s.config.Prices})
	s.open()
	v.wants(v.page("/schedules"), "Files nothing.", "Bea LLC")
	v.wants(v.page("/schedules/de"), "This schedule would file nothing.", "Upload a corrected company list")
	v.wants(v.page("/balance"), "Schedule de would file nothing", `href="/schedules/de">Check schedule</a>`)
	s.lacks(s.as(account.Auditor).page("/"), "Check schedule")
}
