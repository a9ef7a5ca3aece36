package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// hand is the clock of a season's test: it shows what the test says.
type hand struct{ at atomic.Pointer[time.Time] }

func (h *hand) set(text string) {
	t, err := time.Parse("2006-01-02 15:04 MST", text)
	if err != nil {
		panic(err)
	}
	t = t.UTC()
	h.at.Store(&t)
}

func (h *hand) now() time.Time { return *h.at.Load() }

// seasons are what runs seasons in one process.
func (f *firm) seasons(l *ledger.Ledger, h *hand) *schedule.Scheduler {
	f.Helper()
	quoter, err := newQuoter(f.TempDir())
	f.must(err)
	return schedule.New(schedule.Config{
		Ledger: l,
		By:     "test",
		Every:  10 * time.Millisecond,
		Now:    h.now,
		Quoter: func(context.Context) (pricing.Quoter, error) { return quoter, nil },
	})
}

const rosterHead = "Company ID,Legal Name,Entity Type,Formation State,Formation Date,Filing State,User ID\n"

// company is a line of a company list: an LLC at home in a state.
func company(i int, state, formed string) string {
	return fmt.Sprintf("comp_%d,Company %d LLC,LLC,%s,%s,%s,user_1\n", i, i, state, formed, state)
}

func companies(from, to int, state string) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		b.WriteString(company(i, state, "2019-04-30"))
	}
	return b.String()
}

// plant keeps a season over a company list, or gives it another one.
func (f *firm) plant(l *ledger.Ledger, name, lines string, o schedule.Options, since time.Time,
	approval bool) ledger.Schedule {
	f.Helper()
	if o.Zone == "" {
		o.Zone = "UTC"
	}
	f.must(o.Check())
	hash, err := l.Schedules().AddCompanyList(f.Context(),
		ledger.CompanyList{File: "roster.csv", Content: []byte(rosterHead + lines)})
	f.must(err)
	options, err := json.Marshal(o)
	f.must(err)
	s := ledger.Schedule{
		Name:        name,
		CompanyList: hash,
		File:        "roster.csv",
		Options:     options,
		Timing:      o.String(),
		Since:       since,
		Approval:    approval,
	}
	added, err := l.Schedules().Add(f.Context(), s)
	if f.must(err); !added {
		before, err := schedule.Find(f.Context(), l, name)
		f.must(err)
		s.Version = before.Version
		f.must(l.Schedules().Change(f.Context(), s))
	}
	return s
}

// runs are those of a season that came to an end, the oldest first.
func (f *firm) firings(l *ledger.Ledger, name string) []ledger.Run {
	f.Helper()
	all, err := l.Schedules().ListRuns(f.Context(), name)
	f.must(err)
	slices.Reverse(all)
	return slices.DeleteFunc(all, func(g ledger.Run) bool { return g.State == ledger.RunBegun })
}

func (f *firm) planOf(g ledger.Run) *schedule.Plan {
	f.Helper()
	p, err := schedule.DecodePlan(g)
	f.must(err)
	if p == nil {
		f.Fatalf("the run %s has no plan: %s", g.ID, g.Note)
	}
	return p
}

// due are the companies of a batch in the order of their turn.
func (f *firm) due(l *ledger.Ledger, batch string, results ...filing.Result) []string {
	f.Helper()
	rows := f.rows(l, batch)
	slices.SortStableFunc(rows, func(a, b ledger.Row) int { return int(a.Priority - b.Priority) })
	var all []string
	for _, r := range rows {
		if len(results) == 0 || slices.Contains(results, r.Result) {
			all = append(all, r.Request.Company.Ref)
		}
	}
	return all
}

var yearly = schedule.Options{At: "0 6 15 1 *", FilingYear: "this"}

// Five workers fire a season once, and its rows are placed once.
func TestScheduleRunsOnceWithFiveWorkers(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		f := newFirm(t, on, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
		var h hand
		h.set("2027-01-14 00:00 UTC")
		l := f.openLedger()
		f.plant(l, "de", companies(0, 40, "DE"), yearly, h.now(), false)
		ctx, stop := context.WithCancel(f.Context())
		var running sync.WaitGroup
		for range 5 {
			s := f.seasons(f.openLedger(), &h)
			running.Go(func() { s.Run(ctx) })
		}
		time.Sleep(30 * time.Millisecond) // nothing is due, at several looks
		if got := f.firings(l, "de"); len(got) != 0 {
			t.Fatalf("%+v", got)
		}
		h.set("2027-01-15 06:00 UTC")
		f.eventually("the season runs", func() bool { return len(f.firings(l, "de")) > 0 })
		time.Sleep(30 * time.Millisecond) // and no more, at several looks
		stop()
		running.Wait()
		fired := f.firings(l, "de")
		batches, err := l.Batches(f.Context())
		f.must(err)
		if len(fired) != 1 || len(batches) != 1 || fired[0].ID != "de@2027-01-15" || fired[0].Batch != batches[0].ID ||
			!batches[0].Open || !strings.Contains(batches[0].Options, "de@2027-01-15") {
			t.Fatalf("%+v %+v", fired, batches)
		}
		p := f.planOf(fired[0])
		if p.New.Count != 40 || p.Filings != 40 || p.Cost != 40*each || p.Available != nil || p.Missed != 0 ||
			p.Late != "" {
			t.Errorf("%+v", p)
		}
		f.run(l, fired[0].Batch, patient)
		f.want(l, fired[0].Batch, ledger.Counts{filing.Placed: 40})
		f.agree(l, fired[0].Batch)
		for _, r := range f.rows(l, fired[0].Batch) {
			if r.Request.Order.AnnualReport.FilingYear != "2027" {
				t.Errorf("%+v", r.Request.Order)
			}
		}
	})
}

// What was due while nothing ran runs at the start, once for all, and says so.
func TestMissedScheduleRunsOnceAtTheStart(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{})
	var h hand
	l := f.openLedger()
	h.set("2027-01-01 00:00 UTC")
	f.plant(l, "weekly", companies(0, 3, "DE"), schedule.Options{At: "0 6 * * 1", FilingYear: "this"}, h.now(), false)
	h.set("2027-01-19 15:00 UTC") // three Mondays later
	s := f.seasons(l, &h)
	f.must(s.RunDue(f.Context()))
	f.must(s.RunDue(f.Context()))
	fired := f.firings(l, "weekly")
	if len(fired) != 1 || fired[0].ID != "weekly@2027-01-18" || fired[0].Missed != 2 {
		t.Fatalf("%+v", fired)
	}
	p := f.planOf(fired[0])
	if p.Missed != 2 || !strings.HasPrefix(p.Late, "2027-01-18 06:00") {
		t.Errorf("%+v", p)
	}
	if text := p.Text(); !strings.Contains(text, "2 earlier runs missed while no worker was running") ||
		!strings.Contains(text, "when no worker was running") {
		t.Errorf("%s", text)
	}
	notices, err := l.Notifications().List(f.Context(), 10)
	f.must(err)
	if len(notices) != 1 || notices[0].Kind != ledger.NotifySchedule ||
		!strings.Contains(notices[0].Body, "2 earlier runs missed") {
		t.Errorf("%+v", notices)
	}
	// A pause is no downtime: what is due in it is not made up for.
	f.must(l.Schedules().SetPaused(f.Context(), "weekly", true))
	h.set("2027-02-10 00:00 UTC")
	f.must(s.RunDue(f.Context()))
	if len(f.firings(l, "weekly")) != 1 {
		t.Error("a paused season ran")
	}
}

// A process that dies in the middle of a run is followed by another one, and
// the run is one batch with every row once.
func TestRunKilledInTheMiddle(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		for _, quotes := range []int{1, 150, 300} { // before anything is in, amid the import, with the last row
			f := newFirm(t, on, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
			name := fmt.Sprint("de", quotes)
			var h hand
			h.set("2027-01-01 00:00 UTC")
			l := f.openLedger()
			f.plant(l, name, companies(1000*quotes, 1000*quotes+300, "DE"), yearly, h.now(), false)
			h.set("2027-01-15 07:00 UTC")
			f.killedAtQuote(h.now(), quotes)
			if got := f.firings(l, name); len(got) != 0 {
				t.Fatalf("%+v", got)
			}
			s := f.seasons(l, &h)
			f.eventually("another process takes it over", func() bool {
				f.must(s.RunDue(f.Context()))
				return len(f.firings(l, name)) > 0
			})
			fired := f.firings(l, name)
			if len(fired) != 1 {
				t.Fatalf("%+v", fired)
			}
			f.want(l, fired[0].Batch, ledger.Counts{filing.Ready: 300})
			if p := f.planOf(fired[0]); p.Filings != 300 || p.Cost != 300*each {
				t.Errorf("%+v", p)
			}
			f.must(l.Schedules().Remove(f.Context(), name))
		}
	})
}

// killedAtQuote lets a process fire what is due and kills it while it asks for
// its nth quote.
func (f *firm) killedAtQuote(now time.Time, n int) {
	f.Helper()
	cmd, said := f.spawn(child{
		Dir:      f.dir,
		Database: f.servers.database,
		Redis:    f.servers.redis,
		URL:      f.url,
		Firing:   now,
		Quotes:   n,
	})
	for line := range said {
		if line == "reached" {
			f.must(cmd.Process.Kill())
		} else {
			f.Fatalf("it said %q", line)
		}
	}
	_ = cmd.Wait()
}

// halting is a quoter that stands still at its nth quote.
type halting struct {
	pricing.Quoter
	left int
}

func (q *halting) Quote(o *filing.Order, c pricing.Facts) pricing.Quote {
	if q.left--; q.left == 0 {
		halt()
	}
	return q.Quoter.Quote(o, c)
}

// A process that dies while it places leaves nothing that is bought twice, and a
// run that is over is not begun anew.
func TestRunKilledWhilePlacing(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
	var h hand
	h.set("2027-01-01 00:00 UTC")
	l := f.openLedger()
	f.plant(l, "de", companies(0, 30, "DE"), yearly, h.now(), false)
	h.set("2027-01-15 07:00 UTC")
	f.must(f.seasons(l, &h).RunDue(f.Context()))
	batch := f.firings(l, "de")[0].Batch
	cmd, said := f.process(batch, beforeSettle)
	for line := range said {
		if line == "reached" {
			f.must(cmd.Process.Kill())
			break
		}
	}
	_ = cmd.Wait()
	f.must(f.seasons(l, &h).RunDue(f.Context()))
	f.run(l, batch, patient)
	counts, err := l.Counts(f.Context(), batch)
	f.must(err)
	if counts[filing.Placed]+counts[filing.Uncertain] != 30 || counts[filing.Uncertain] == 0 ||
		len(f.firings(l, "de")) != 1 {
		t.Errorf("%v", counts)
	}
	if twice := f.service.Books().Duplicates(); len(twice) > 0 {
		t.Errorf("bought twice: %+v", twice)
	}
}

// Two seasons over one company list never buy twice: what the first bought, or is to
// buy, the second has as bought before.
func TestTwoSchedulesOverOneCompanyList(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		f := newFirm(t, on, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
		var h hand
		h.set("2027-01-01 00:00 UTC")
		l := f.openLedger()
		for _, name := range []string{"a", "b"} {
			f.plant(l, name, companies(0, 50, "DE"), yearly, h.now(), false)
		}
		h.set("2027-01-15 06:00 UTC")
		f.must(f.seasons(l, &h).RunDue(f.Context()))
		a, b := f.firings(l, "a")[0], f.firings(l, "b")[0]
		queue := f.openQueue()
		w := f.start(l, queue) // both at once
		f.await(w, a.Batch, patient)
		f.await(w, b.Batch, patient)
		w.Stop()
		var bought int
		for _, batch := range []string{a.Batch, b.Batch} {
			counts, err := l.Counts(f.Context(), batch)
			f.must(err)
			bought += counts[filing.Placed]
			if counts[filing.Placed]+counts[filing.Exists] != 50 {
				t.Errorf("%v", counts)
			}
		}
		if books := f.service.Books(); bought != 50 || len(books.Orders) != 50 || len(books.Duplicates()) > 0 {
			t.Errorf("%d bought, %d orders", bought, len(books.Orders))
		}
		// A third one knows before it sends anything, and reserves nothing.
		third := f.plant(l, "c", companies(0, 50, "DE"), yearly, h.now(), false)
		s := f.seasons(l, &h)
		hand, err := s.ManualRun(third)
		f.must(err)
		p, err := s.Plan(f.Context(), third, hand)
		f.must(err)
		if p.Filings != 0 || p.Bought.Count != 50 || p.Cost != 0 {
			t.Errorf("%+v", p)
		}
	})
}

// Next year's run says what changed in the company list, and orders nothing for
// those whose subscription files them.
func TestRunAgainstTheRunBefore(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
	var h hand
	h.set("2027-01-01 00:00 UTC")
	l := f.openLedger()
	f.plant(l, "de", companies(0, 10, "DE"), yearly, h.now(), false)
	h.set("2027-01-15 06:00 UTC")
	s := f.seasons(l, &h)
	f.must(s.RunDue(f.Context()))
	f.run(l, f.firings(l, "de")[0].Batch, patient)

	// Two new ones, one gone, one with another user.
	lines := strings.Replace(companies(1, 12, "DE"), "2019-04-30,DE,user_1", "2019-04-30,DE,user_2", 1)
	f.plant(l, "de", lines, yearly, h.now(), false)
	h.set("2028-01-15 06:00 UTC")
	f.must(s.RunDue(f.Context()))
	fired := f.firings(l, "de")
	if len(fired) != 2 {
		t.Fatalf("%+v", fired)
	}
	p := f.planOf(fired[1])
	if p.New.Count != 2 || p.Changed.Count != 1 || p.Missing.Count != 1 || p.Unchanged != 8 || p.Covered.Count != 9 ||
		p.Filings != 2 || p.Cost != 2*each || p.Before != "de@2027-01-15" {
		t.Errorf("%+v", p)
	}
	if !strings.Contains(p.Missing.Names[0], "comp_0") || !strings.Contains(p.Changed.Names[0], "comp_1") {
		t.Errorf("%+v", p)
	}
	f.run(l, fired[1].Batch, patient)
	f.want(l, fired[1].Batch, ledger.Counts{filing.Placed: 2, filing.Skipped: 9})
	for _, r := range f.rows(l, fired[1].Batch) {
		if r.Result == filing.Skipped && !strings.Contains(r.Message, "subscription") {
			t.Error(r.Message)
		}
	}
}

// Ahead of the due dates each company is filed once, on its day: those of a
// fixed date together, the others by their anniversaries, also over a downtime
// and a change of the company list.
func TestScheduleAheadOfTheDueDates(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		f := newFirm(t, on, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
		var h hand
		h.set("2027-01-01 12:00 UTC")
		l := f.openLedger()
		o := schedule.Options{Due: "30 days before", FilingYear: "this"}
		wyoming := func(i int, month string) string {
			return company(i, "WY", "2019-"+month+"-20")
		} // due on the 1st of the month
		lines := wyoming(0, "03") + wyoming(1, "03") + wyoming(2, "04") + wyoming(3, "06") + wyoming(4, "07")
		f.plant(l, "wy", lines, o, h.now(), false)
		s := f.seasons(l, &h)
		fires := func(clock string, want ...string) {
			f.Helper()
			n := len(f.firings(l, "wy"))
			h.set(clock)
			f.must(s.RunDue(f.Context()))
			f.must(s.RunDue(f.Context()))
			fired := f.firings(l, "wy")[n:]
			if len(want) == 0 && len(fired) == 0 {
				return
			}
			if len(fired) != 1 || fmt.Sprint(f.due(l, fired[0].Batch)) != fmt.Sprint(want) {
				t.Fatalf("%s: %+v", clock, fired)
			}
			f.run(l, fired[0].Batch, patient)
			f.want(l, fired[0].Batch, ledger.Counts{filing.Placed: len(want)})
		}
		fires("2027-01-29 23:00 UTC")
		fires("2027-01-30 00:00 UTC", "comp_0", "comp_1")
		fires("2027-03-01 12:00 UTC")
		fires("2027-03-03 00:00 UTC", "comp_2")
		// Down through the day of comp_3. A roster that changed, with one more
		// that is near.
		changed := f.plant(l, "wy", lines+wyoming(5, "06"), o, h.now(), false)
		fires("2027-05-20 08:00 UTC", "comp_3", "comp_5")
		fires("2027-06-02 00:00 UTC", "comp_4")
		for _, r := range f.rows(l, f.firings(l, "wy")[3].Batch) {
			if r.Request.Order.AnnualReport.FilingYear != "2027" {
				t.Errorf("%+v", r.Request.Order.AnnualReport)
			}
		}
		// By hand nothing is near that was not filed.
		h.set("2027-06-03 00:00 UTC")
		today, err := s.ManualRun(changed)
		f.must(err)
		today, fired, err := s.Execute(f.Context(), changed, today)
		f.must(err)
		if !fired || today.State != ledger.RunDone || today.Batch != "" ||
			!strings.Contains(today.Note, "nothing is due") {
			t.Errorf("%+v", today)
		}
		if _, again, err := s.Execute(f.Context(), changed, today); again || err != nil {
			t.Error(again, err)
		}
		if twice := f.service.Books().Duplicates(); len(twice) > 0 || len(f.service.Books().Orders) != 6 {
			t.Errorf("bought twice: %+v", twice)
		}
	})
}

// What was run by hand is not taken in again when the schedule comes to it.
func TestRunByHandAndBySchedule(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{})
	var h hand
	h.set("2027-01-01 12:00 UTC")
	l := f.openLedger()
	wy := f.plant(l, "wy", company(1, "WY", "2019-03-20")+company(2, "WY", "2019-04-20"),
		schedule.Options{Due: "30 days before", FilingYear: "this"}, h.now(), false)
	h.set("2027-01-30 00:00 UTC")
	s := f.seasons(l, &h)
	today, err := s.ManualRun(wy)
	f.must(err)
	today, fired, err := s.Execute(f.Context(), wy, today)
	if f.must(err); !fired || fmt.Sprint(f.due(l, today.Batch)) != "[comp_1]" {
		t.Fatalf("%+v", today)
	}
	f.must(s.RunDue(f.Context()))
	all := f.firings(l, "wy")
	if len(all) != 2 || all[0].ID != "wy@2027-01-30" && all[1].ID != "wy@2027-01-30" ||
		all[0].Batch != "" && all[1].Batch != "" {
		t.Errorf("%+v", all)
	}
	h.set("2027-03-02 00:00 UTC")
	f.must(s.RunDue(f.Context()))
	if all = f.firings(l, "wy"); len(all) != 3 || fmt.Sprint(f.due(l, all[2].Batch)) != "[comp_2]" {
		t.Errorf("%+v", all)
	}
}

// A process that dies with its batch opened and nothing else written down is
// followed by one that only writes it down.
func TestRunKilledAfterTheOpening(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		f := newFirm(t, on, sandbox.Config{})
		var h hand
		h.set("2027-01-01 12:00 UTC")
		first, l := f.openLedger(), f.openLedger()
		f.plant(l, "de", companies(0, 3, "DE"), yearly, h.now(), true)
		h.set("2027-01-15 06:00 UTC")
		f.must(f.seasons(first, &h).RunDue(f.Context()))
		fired := f.firings(l, "de")[0]
		f.approve(l, fired.Batch, "Ana")
		fired.State = ledger.RunBegun
		f.must(first.Schedules().EndRun(f.Context(), fired))
		f.must(first.Close())
		f.must(f.seasons(l, &h).RunDue(f.Context()))
		again := f.firings(l, "de")
		batches, err := l.Batches(f.Context())
		f.must(err)
		notices, err := l.Notifications().List(f.Context(), 10)
		f.must(err)
		var kinds []ledger.NotificationKind // the newest first; the second process adds none again
		for _, n := range notices {
			kinds = append(kinds, n.Kind)
		}
		want := []ledger.NotificationKind{ledger.NotifyApproved, ledger.NotifyApprovalNeeded}
		if len(again) != 1 || len(batches) != 1 || batches[0].Approval.State != ledger.ApprovalGiven ||
			!slices.Equal(kinds, want) || f.planOf(again[0]).Filings != 3 {
			t.Errorf("%+v %+v %v", again, batches, kinds)
		}
	})
}

// A report due in January is the new year's, though it is filed in December.
func TestRunFilesForTheYearOfTheDueDate(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{})
	var h hand
	h.set("2027-10-01 12:00 UTC")
	l := f.openLedger()
	f.plant(l, "wy", company(1, "WY", "2019-01-20")+company(2, "WY", "2019-12-20"),
		schedule.Options{Due: "60 days before", FilingYear: "this"}, h.now(), false)
	h.set("2027-11-20 00:00 UTC")
	f.must(f.seasons(l, &h).RunDue(f.Context()))
	years := make(map[string]string)
	for _, r := range f.rows(l, f.firings(l, "wy")[0].Batch) {
		years[r.Request.Company.Ref] = r.Request.Order.AnnualReport.FilingYear
	}
	if years["comp_1"] != "2028" || years["comp_2"] != "2027" {
		t.Errorf("%v", years)
	}
}

// When money is short the earliest due are filed, exactly as far as it goes, and
// the plan said so.
func TestRunShortOfMoneyFilesTheEarliestDue(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		f := newFirm(t, on, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
		var h hand
		h.set("2027-01-01 12:00 UTC")
		l := f.openLedger()
		// Those later in the sheet are due earlier; one is due on nobody knows what day.
		var lines strings.Builder
		lines.WriteString(company(99, "WY", ""))
		for i := range 12 {
			lines.WriteString(company(i, "WY", fmt.Sprintf("2019-%02d-20", 12-i)))
		}
		f.must(l.RecordDeposit(f.Context(), 5*each, "")) // for five of thirteen
		f.plant(l, "wy", lines.String(), yearly, h.now(), false)
		h.set("2027-01-15 06:00 UTC")
		s := f.seasons(l, &h)
		f.must(s.RunDue(f.Context()))
		fired := f.firings(l, "wy")[0]
		p := f.planOf(fired)
		if p.Filings != 13 || *p.Available != 5*each || p.Short != 8 || p.ShortBy != 8*each ||
			p.ShortDue[len(p.ShortDue)-1].Rows != 1 {
			t.Errorf("%+v", p)
		}
		if end := f.run(l, fired.Batch, patient); end.Reason != jobs.OutOfFunds || end.Short != 8 {
			t.Fatalf("%+v", end)
		}
		placed := f.due(l, fired.Batch, filing.Placed)
		slices.Sort(placed)
		// Without a formation date the earliest it can be is January: it is as
		// early as comp_11.
		want := []string{"comp_10", "comp_11", "comp_8", "comp_9", "comp_99"}
		if !slices.Equal(placed, want) {
			t.Fatalf("%v, want %v", placed, want)
		}
		f.must(l.RecordDeposit(f.Context(), 3*each, ""))
		f.run(l, fired.Batch, patient)
		placed = f.due(l, fired.Batch, filing.Placed)
		slices.Sort(placed)
		if want = []string{"comp_10", "comp_11", "comp_5", "comp_6", "comp_7", "comp_8", "comp_9",
			"comp_99"}; !slices.Equal(placed, want) {
			t.Fatalf("%v, want %v", placed, want)
		}
		f.agree(l, fired.Batch)
	})
}

// With an approval nothing is sent before somebody's yes to exactly this.
//
//nolint:gocognit // one run, told in its order
func TestRunWaitsForItsApproval(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		f := newFirm(t, on, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
		var h hand
		h.set("2027-01-01 12:00 UTC")
		l := f.openLedger()
		f.plant(l, "de", companies(0, 5, "DE"), yearly, h.now(), true)
		h.set("2027-01-15 06:00 UTC")
		f.must(f.seasons(l, &h).RunDue(f.Context()))
		fired := f.firings(l, "de")[0]
		p := f.planOf(fired)
		b, err := l.Batch(f.Context(), fired.Batch)
		f.must(err)
		if b.Approval.State != ledger.ApprovalNeeded || b.Approval.Hash != p.Approval || !b.Open {
			t.Fatalf("%+v", b)
		}
		notices, err := l.Notifications().List(f.Context(), 9)
		f.must(err)
		if len(notices) != 1 || notices[0].Kind != ledger.NotifyApprovalNeeded ||
			!strings.Contains(notices[0].Subject, "waiting for approval: the schedule de, 5 orders, ") ||
			!strings.HasPrefix(notices[0].Body, "The schedule de submitted ") {
			t.Errorf("%+v", notices)
		}
		if end := f.run(l, b.ID, patient); end.Reason != jobs.NotApproved || len(f.seen("POST", "/v1/orders")) != 0 {
			t.Fatalf("%+v", end)
		}
		// It costs more by now: what was looked at is not what would be placed, and
		// from now on a yes is waited for to what would.
		rows := f.rows(l, b.ID)
		f.must(l.KeepQuotes(f.Context(), []ledger.RowQuote{{Row: rows[0].ID, Cost: money.Cost{Amount: 2 * each}}}))
		stands := func(context.Context) (pricing.Quoter, error) { return nil, nil }
		approve := func(hash string) (pricing.Proposal, error) {
			p, err := pricing.Propose(f.Context(), l, stands, b.ID)
			if err == nil {
				err = p.Matches(hash)
			}
			if err == nil {
				err = p.Approve(f.Context(), l, "Ana")
			}
			return p, err
		}
		now, err := approve(p.Approval)
		if !errors.Is(err, ledger.ErrChanged) || now.Hash == p.Approval || now.Total.Amount != 6*each ||
			now.Counts[filing.Ready] != 5 {
			t.Errorf("%+v, %v", now, err)
		}
		if plan, err := schedule.LoadPlanOfBatch(f.Context(), l, b.ID); err != nil || plan == nil {
			t.Errorf("%+v, %v", plan, err)
		}
		if _, err := approve(p.Approval); !errors.Is(err, ledger.ErrChanged) {
			t.Error(err)
		}
		_, err = approve(now.Hash)
		f.must(err)
		if given, err := approve(now.Hash); !errors.Is(err, ledger.ErrNoApprovalNeeded) ||
			given.Batch.Approval.By != "Ana" {
			t.Errorf("%+v, %v", given.Batch, err)
		}
		f.run(l, b.ID, patient)
		f.want(l, b.ID, ledger.Counts{filing.Placed: 5})
	})
}

// A roster that cannot be filed ends its run with the reason, once, and
// somebody is told.
func TestRunThatFails(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{})
	var h hand
	h.set("2027-01-01 12:00 UTC")
	l := f.openLedger()
	hash, err := l.Schedules().AddCompanyList(f.Context(),
		ledger.CompanyList{File: "roster.csv", Content: []byte("Not,A,Roster\n1,2,3\n")})
	f.must(err)
	options, err := json.Marshal(yearly)
	f.must(err)
	_, err = l.Schedules().Add(f.Context(),
		ledger.Schedule{Name: "bad", CompanyList: hash, Options: options, Since: h.now()})
	f.must(err)
	h.set("2027-02-01 00:00 UTC")
	s := f.seasons(l, &h)
	f.must(s.RunDue(f.Context()))
	f.must(s.RunDue(f.Context()))
	fired := f.firings(l, "bad")
	notices, err := l.Notifications().List(f.Context(), 10)
	f.must(err)
	if len(fired) != 1 || fired[0].State != ledger.RunFailed || !strings.Contains(fired[0].Note, "header") ||
		len(notices) != 1 || !strings.Contains(notices[0].Subject, "failed") {
		t.Errorf("%+v %+v", fired, notices)
	}
}

// A company list that no key of the machine opens ends its run with the reason
// and a notice. Where the due dates themselves are in it, a notice a day says that
// the season is put off, and it runs when the key is there.
func TestRunWithoutItsKey(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{})
	var h hand
	h.set("2027-01-01 12:00 UTC")
	l := f.openLedger()
	f.plant(l, "yearly", companies(0, 3, "DE"), yearly, h.now(), false)
	f.plant(l, "due", companies(3, 6, "DE"), schedule.Options{Due: "30 days before", FilingYear: "this"},
		h.now(), false)
	f.must(l.Close())
	keys := filepath.Join(f.dir, "sealing.key")
	was, err := os.ReadFile(keys)
	f.must(err)
	f.must(os.WriteFile(keys, []byte(strings.Repeat("0a", 32)), 0o600))
	l = f.openLedger()
	notices := func() []string {
		all, err := l.Notifications().List(f.Context(), 10)
		f.must(err)
		var subjects []string
		for _, n := range all {
			if subjects = append(subjects, n.Subject); !strings.Contains(n.Body, "FILING_SEAL_KEY") {
				t.Errorf("%s: %s", n.Subject, n.Body)
			}
		}
		slices.Sort(subjects)
		return subjects
	}
	h.set("2027-02-01 00:00 UTC")
	s := f.seasons(l, &h)
	for range 2 {
		if err := s.RunDue(f.Context()); !errors.Is(err, schedule.ErrCompanyList) || !errors.Is(err, ledger.ErrSealed) {
			t.Error(err)
		}
	}
	fired := f.firings(l, "yearly")
	if len(fired) != 1 || fired[0].State != ledger.RunFailed || !strings.Contains(fired[0].Note, "FILING_SEAL_KEY") {
		t.Errorf("%+v", fired)
	}
	told := []string{"Bulkfiling: the schedule due is postponed", "Bulkfiling: the schedule yearly failed"}
	if got := notices(); !slices.Equal(got, told) {
		t.Errorf("%q", got)
	}
	due, err := schedule.Find(f.Context(), l, "due")
	f.must(err)
	if line, err := s.Summary(f.Context(), due); err != nil || !strings.Contains(line.State, "FILING_SEAL_KEY") {
		t.Errorf("%+v, %v", line, err)
	}
	h.set("2027-02-02 00:00 UTC")
	if err := s.RunDue(f.Context()); !errors.Is(err, schedule.ErrCompanyList) {
		t.Error(err)
	}
	if got := notices(); len(got) != 3 {
		t.Errorf("%q", got)
	}
	f.must(l.Close())
	f.must(os.WriteFile(keys, was, 0o600))
	l = f.openLedger()
	h.set("2027-05-03 00:00 UTC")
	f.must(f.seasons(l, &h).RunDue(f.Context()))
	if fired := f.firings(l, "due"); len(fired) != 1 || fired[0].State != ledger.RunDone {
		t.Errorf("%+v", fired)
	}
}

// A service that gives no prices puts a run off, and nothing is lost. The run files the
// list that replaced its own meanwhile.
func TestRunWaitsForTheFilingService(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{})
	var h hand
	h.set("2027-01-01 12:00 UTC")
	l := f.openLedger()
	f.plant(l, "de", companies(0, 3, "DE"), yearly, h.now(), false)
	quoter, err := newQuoter(t.TempDir())
	f.must(err)
	var up bool
	s := schedule.New(schedule.Config{Ledger: l, Now: h.now, Quoter: func(context.Context) (pricing.Quoter, error) {
		if !up {
			return nil, errors.New("down")
		}
		return quoter, nil
	}})
	h.set("2027-01-15 06:00 UTC")
	for range 3 {
		if err := s.RunDue(f.Context()); err == nil || !strings.Contains(err.Error(), "down") {
			t.Error(err)
		}
	}
	up = true
	now := f.plant(l, "de", companies(2, 4, "DE"), yearly, h.now(), false)
	f.must(s.RunDue(f.Context()))
	if fired := f.firings(l, "de"); len(fired) != 1 || fired[0].State != ledger.RunDone ||
		fired[0].CompanyList != now.CompanyList || fmt.Sprint(f.due(l, fired[0].Batch)) != "[comp_2 comp_3]" {
		t.Errorf("%+v", fired)
	}
}

// An hour that the clock leaves out runs when it goes on, one that comes twice
// runs once.
func TestScheduleOverAChangeOfTheClock(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{})
	var h hand
	l := f.openLedger()
	h.set("2027-03-13 12:00 UTC")
	f.plant(l, "spring", companies(0, 1, "DE"),
		schedule.Options{At: "30 2 14 3 *", Zone: "America/New_York", FilingYear: "this"}, h.now(), false)
	f.plant(l, "autumn", companies(0, 1, "DE"),
		schedule.Options{At: "30 1 7 11 *", Zone: "America/New_York", FilingYear: "this"}, h.now(), false)
	s := f.seasons(l, &h)
	for _, c := range []struct {
		clock          string
		spring, autumn int
	}{
		{"2027-03-14 06:59 UTC", 0, 0}, // 01:59 EST; 02:30 does not come
		{"2027-03-14 07:00 UTC", 1, 0}, // 03:00 EDT
		{"2027-03-14 07:30 UTC", 1, 0},
		{"2027-11-07 05:29 UTC", 1, 0}, // 01:29 EDT
		{"2027-11-07 05:30 UTC", 1, 1},
		{"2027-11-07 06:30 UTC", 1, 1}, // 01:30 EST, the second time
	} {
		h.set(c.clock)
		f.must(s.RunDue(f.Context()))
		if spring, autumn := len(f.firings(l, "spring")), len(f.firings(l, "autumn")); spring != c.spring ||
			autumn != c.autumn {
			t.Errorf("%s: %d and %d runs, want %d and %d", c.clock, spring, autumn, c.spring, c.autumn)
		}
	}
}

// What a company list says of its companies is not left behind in a folder.
func TestRunLeavesNoFile(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{})
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	var h hand
	h.set("2027-01-01 12:00 UTC")
	l := f.openLedger()
	f.plant(l, "de", companies(0, 3, "DE"), yearly, h.now(), false)
	h.set("2027-01-15 06:00 UTC")
	f.must(f.seasons(l, &h).RunDue(f.Context()))
	left, err := filepath.Glob(filepath.Join(dir, "bulkfiling-roster-*"))
	f.must(err)
	if len(left) != 0 || len(f.firings(l, "de")) != 1 {
		t.Error(left, os.TempDir())
	}
}
