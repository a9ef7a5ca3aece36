package jobs_test

import (
	"context"
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
	"github.com/bulkfiling/bulkfiling/internal/outbox"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// scheduledFirm is a firm with schedules, and with a clock that shows what the test says.
type scheduledFirm struct {
	*firm
	s    *schedule.Scheduler
	at   atomic.Pointer[time.Time]
	down error // why the filing service gives no prices
}

const clockLayout = "2006-01-02 15:04 MST"

func newScheduledFirm(t *testing.T, on servers, clock string) *scheduledFirm {
	f := &scheduledFirm{firm: newFirm(t, on, sandbox.Config{AutoSeed: true})}
	f.set(clock)
	f.s = f.scheduler(f.Ledger)
	return f
}

func (f *scheduledFirm) set(clock string) {
	f.Helper()
	at, err := time.Parse(clockLayout, clock)
	f.must(err)
	at = at.UTC()
	f.at.Store(&at)
}

func (f *scheduledFirm) now() time.Time { return *f.at.Load() }

// runDue runs what is due at a time.
func (f *scheduledFirm) runDue(clock string) {
	f.Helper()
	f.set(clock)
	f.must(f.s.RunDue(f.Context()))
}

// scheduler runs schedules in one process.
func (f *scheduledFirm) scheduler(l *ledger.Ledger) *schedule.Scheduler {
	f.Helper()
	quoter := f.quoter()
	return schedule.New(schedule.Config{
		Ledger: l,
		By:     "test",
		Every:  10 * time.Millisecond,
		Now:    f.now,
		Quoter: func(context.Context) (pricing.Quoter, error) { return quoter, f.down },
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

// plant keeps a schedule over a company list from now on, or gives it another one.
func (f *scheduledFirm) plant(name, lines string, o schedule.Options, approval bool) schedule.Schedule {
	f.Helper()
	if o.Zone == "" {
		o.Zone = "UTC"
	}
	f.must(o.Check())
	hash, err := schedule.NewRecords(f.Ledger).AddCompanyList(f.Context(),
		schedule.ListFile{File: "roster.csv", Content: []byte(rosterHead + lines)})
	f.must(err)
	s := schedule.Schedule{
		Name:        name,
		CompanyList: hash,
		File:        "roster.csv",
		Options:     o,
		Timing:      o.Words(),
		Since:       f.now(),
		Approval:    approval,
	}
	added, err := schedule.NewRecords(f.Ledger).Add(f.Context(), s)
	if f.must(err); !added {
		before, err := schedule.Find(f.Context(), f.Ledger, name)
		f.must(err)
		s.Version = before.Version
		f.must(schedule.NewRecords(f.Ledger).Change(f.Context(), s))
	}
	return s
}

// runs are those of a schedule that came to an end, the oldest first.
func (f *scheduledFirm) runs(name string) []schedule.Run {
	f.Helper()
	all, err := schedule.NewRecords(f.Ledger).ListRuns(f.Context(), name)
	f.must(err)
	slices.Reverse(all)
	return slices.DeleteFunc(all, func(g schedule.Run) bool { return g.State == schedule.RunBegun })
}

// last is the last run of a schedule, which has had so many.
func (f *scheduledFirm) last(name string, n int) schedule.Run {
	f.Helper()
	all := f.runs(name)
	if len(all) != n {
		f.Fatalf("%d runs, want %d: %+v", len(all), n, all)
	}
	return all[n-1]
}

func (f *scheduledFirm) notifications() []outbox.Notification {
	f.Helper()
	all, err := f.Notifications().List(f.Context(), 10)
	f.must(err)
	return all
}

func (f *scheduledFirm) planOf(g schedule.Run) *schedule.Plan {
	f.Helper()
	if g.Plan == nil {
		f.Fatalf("the run %s has no plan: %s", g.ID, g.Note)
	}
	return g.Plan
}

// due are the companies of a batch in the order of their turn.
func (f *scheduledFirm) due(batch string, results ...filing.Result) []string {
	f.Helper()
	rows := f.rows(batch)
	slices.SortStableFunc(rows, func(a, b ledger.Row) int { return int(a.Priority - b.Priority) })
	var all []string
	for _, r := range rows {
		if len(results) == 0 || slices.Contains(results, r.Result) {
			all = append(all, r.Request.Company.Ref)
		}
	}
	return all
}

var yearly = schedule.Options{At: "01-15", FilingYear: "this"}

// Five workers fire a schedule once, and its rows are placed once.
func TestScheduleRunsOnceWithFiveWorkers(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		f := newScheduledFirm(t, on, "2027-01-14 00:00 UTC")
		f.plant("de", companies(0, 40, "DE"), yearly, false)
		ctx, stop := context.WithCancel(f.Context())
		var running sync.WaitGroup
		for range 5 {
			s := f.scheduler(f.openLedger())
			running.Go(func() { s.Run(ctx) })
		}
		time.Sleep(30 * time.Millisecond) // nothing is due, at several looks
		if got := f.runs("de"); len(got) != 0 {
			t.Fatalf("%+v", got)
		}
		f.set("2027-01-15 06:00 UTC")
		f.eventually("the schedule runs", func() bool { return len(f.runs("de")) > 0 })
		time.Sleep(30 * time.Millisecond) // and no more, at several looks
		stop()
		running.Wait()
		fired := f.last("de", 1)
		batches, err := f.Batches(f.Context())
		f.must(err)
		if len(batches) != 1 || fired.ID != "de@2027-01-15" || fired.Batch != batches[0].ID ||
			!batches[0].Open || !strings.Contains(batches[0].Options, "de@2027-01-15") {
			t.Fatalf("%+v %+v", fired, batches)
		}
		p := f.planOf(fired)
		if p.Filings != 40 || p.Cost != 40*each || p.Available != nil || p.Missed != 0 ||
			p.Late != "" {
			t.Errorf("%+v", p)
		}
		f.placeRest(fired.Batch)
		f.agree(fired.Batch)
	})
}

// What was due while nothing ran runs at the start, once for all, and says so.
func TestMissedScheduleRunsOnceAtTheStart(t *testing.T) {
	f := newScheduledFirm(t, servers{}, "2027-01-01 00:00 UTC")
	f.plant("monthly", companies(0, 3, "DE"), schedule.Options{At: "18", FilingYear: "this"}, false)
	f.runDue("2027-03-19 15:00 UTC") // three runs later
	f.must(f.s.RunDue(f.Context()))
	fired := f.last("monthly", 1)
	p := f.planOf(fired)
	if fired.ID != "monthly@2027-03-18" || fired.Missed != 2 || p.Missed != 2 ||
		!strings.HasPrefix(p.Late, "2027-03-18 06:00") {
		t.Errorf("%+v, %+v", fired, p)
	}
	if text := p.Text(); !strings.Contains(text, "2 earlier runs missed while no worker was running") ||
		!strings.Contains(text, "when no worker was running") {
		t.Errorf("%s", text)
	}
	notices := f.notifications()
	if len(notices) != 1 || notices[0].Kind != outbox.KindSchedule ||
		!strings.Contains(notices[0].Body, "2 earlier runs missed") {
		t.Errorf("%+v", notices)
	}
	// A pause is no downtime: what is due in it is not made up for.
	f.must(schedule.NewRecords(f.Ledger).SetPaused(f.Context(), "monthly", true))
	f.runDue("2027-04-20 00:00 UTC")
	f.last("monthly", 1)
}

// A process that dies in the middle of a run is followed by another one, and
// the run is one batch with every row once.
func TestRunKilledInTheMiddle(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		for _, quotes := range []int{1, 150, 300} { // before anything is in, amid the import, with the last row
			f := newScheduledFirm(t, on, "2027-01-01 00:00 UTC")
			name := fmt.Sprint("de", quotes)
			f.plant(name, companies(1000*quotes, 1000*quotes+300, "DE"), yearly, false)
			f.set("2027-01-15 07:00 UTC")
			f.dieAtQuote(quotes)
			if got := f.runs(name); len(got) != 0 {
				t.Fatalf("%+v", got)
			}
			f.eventually("another process takes it over", func() bool {
				f.must(f.s.RunDue(f.Context()))
				return len(f.runs(name)) > 0
			})
			fired := f.last(name, 1)
			f.want(fired.Batch, ledger.Counts{filing.Ready: 300})
			if p := f.planOf(fired); p.Filings != 300 || p.Cost != 300*each {
				t.Errorf("%+v", p)
			}
			f.must(schedule.NewRecords(f.Ledger).Remove(f.Context(), name))
		}
	})
}

// dieAtQuote lets a process run what is due, until it dies at its nth quote.
func (f *scheduledFirm) dieAtQuote(n int) {
	f.Helper()
	l := f.openLedger()
	ctx, die := context.WithCancel(f.Context())
	defer die()
	q := &dying{f.quoter(), n, die}
	err := schedule.New(schedule.Config{
		Ledger: l,
		Now:    f.now,
		Quoter: func(context.Context) (pricing.Quoter, error) { return q, nil },
	}).RunDue(ctx)
	if !errors.Is(err, context.Canceled) {
		f.Fatal(err)
	}
	f.must(l.Close())
}

// dying is a quoter whose process dies at its nth quote.
type dying struct {
	pricing.Quoter
	left int
	die  func()
}

func (q *dying) Quote(o *filing.Order, c pricing.Facts) pricing.Quote {
	if q.left--; q.left == 0 {
		q.die()
	}
	return q.Quoter.Quote(o, c)
}

// Next year's run orders nothing for those whose subscription files them.
func TestRunAgainstTheRunBefore(t *testing.T) {
	f := newScheduledFirm(t, servers{}, "2027-01-01 00:00 UTC")
	f.plant("de", companies(0, 10, "DE"), yearly, false)
	f.runDue("2027-01-15 06:00 UTC")
	f.placeRest(f.last("de", 1).Batch)

	// Another schedule of the list has nothing left to order.
	other := f.plant("other", companies(0, 10, "DE"), yearly, false)
	hand, err := f.s.ManualRun(other)
	f.must(err)
	none, err := f.s.Plan(f.Context(), other, hand)
	if f.must(err); none.Filings != 0 || none.Bought.Count != 10 || none.Cost != 0 {
		t.Errorf("%+v", none)
	}

	// Two new ones, one gone, one with another user.
	lines := strings.Replace(companies(1, 12, "DE"), "2019-04-30,DE,user_1", "2019-04-30,DE,user_2", 1)
	f.plant("de", lines, yearly, false)
	f.runDue("2028-01-15 06:00 UTC")
	fired := f.last("de", 2)
	p := f.planOf(fired)
	if p.Covered.Count != 9 || p.Filings != 2 || p.Cost != 2*each {
		t.Errorf("%+v", p)
	}
	f.run(fired.Batch)
	f.want(fired.Batch, ledger.Counts{filing.Placed: 2, filing.Skipped: 9})
	for _, r := range f.rows(fired.Batch) {
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
		f := newScheduledFirm(t, on, "2027-01-01 12:00 UTC")
		o := schedule.Options{Due: "30 days before", FilingYear: "this"}
		// Due on the 1st of the month.
		wyoming := func(i int, month string) string { return company(i, "WY", "2019-"+month+"-20") }
		lines := wyoming(0, "03") + wyoming(1, "03") + wyoming(2, "04") + wyoming(3, "06") + wyoming(4, "07")
		f.plant("wy", lines, o, false)
		fires := func(clock string, want ...string) {
			f.Helper()
			n := len(f.runs("wy"))
			f.runDue(clock)
			f.must(f.s.RunDue(f.Context()))
			fired := f.runs("wy")[n:]
			if len(want) == 0 && len(fired) == 0 {
				return
			}
			if len(fired) != 1 || fmt.Sprint(f.due(fired[0].Batch)) != fmt.Sprint(want) {
				t.Fatalf("%s: %+v", clock, fired)
			}
			f.placeRest(fired[0].Batch)
		}
		fires("2027-01-29 23:00 UTC")
		fires("2027-01-30 06:00 UTC", "comp_0", "comp_1")
		fires("2027-03-01 12:00 UTC")
		fires("2027-03-03 06:00 UTC", "comp_2")
		// Down through the day of comp_3. A roster that changed, with one more
		// that is near.
		f.plant("wy", lines+wyoming(5, "06"), o, false)
		fires("2027-05-20 08:00 UTC", "comp_3", "comp_5")
		fires("2027-06-02 06:00 UTC", "comp_4")
		f.wantPosts("/orders", 6)
	})
}

// With an approval nothing is sent before somebody approves. A process that dies with its
// batch opened and nothing else written down is followed by one that only writes it down.
func TestRunWithAnApproval_KilledAfterTheOpening(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		f := newScheduledFirm(t, on, "2027-01-01 12:00 UTC")
		first := f.openLedger()
		f.plant("de", companies(0, 3, "DE"), yearly, true)
		f.set("2027-01-15 06:00 UTC")
		f.must(f.scheduler(first).RunDue(f.Context()))
		fired := f.runs("de")[0]
		f.stops(jobs.NotApproved, fired.Batch)
		f.wantPosts("/orders", 0)
		b, err := f.Batch(f.Context(), fired.Batch)
		f.must(err)
		if b.Approval.State != ledger.ApprovalNeeded || b.Approval.Plan != f.planOf(fired).Approval || !b.Open {
			t.Fatalf("%+v", b)
		}
		if plan, err := schedule.LoadPlanOfBatch(f.Context(), f.Ledger, b.ID); err != nil || plan == nil {
			t.Errorf("%+v, %v", plan, err)
		}
		f.approve(b.ID, "Ana")
		fired.State = schedule.RunBegun
		f.must(schedule.NewRecords(first).EndRun(f.Context(), fired))
		f.must(first.Close())
		f.must(f.s.RunDue(f.Context()))
		again := f.last("de", 1)
		batches, err := f.Batches(f.Context())
		f.must(err)
		told := f.notifications() // the newest first; the second process adds none again
		if len(told) != 2 || told[0].Kind != outbox.KindApproved || told[1].Kind != outbox.KindApprovalNeeded ||
			!strings.Contains(told[1].Subject, "waiting for approval: the schedule de, 3 orders, ") ||
			!strings.HasPrefix(told[1].Body, "The schedule de submitted ") {
			t.Errorf("%+v", told)
		}
		if len(batches) != 1 || batches[0].Approval.State != ledger.ApprovalGiven || f.planOf(again).Filings != 3 {
			t.Errorf("%+v %+v", again, batches)
		}
		f.placeRest(b.ID)
	})
}

// A report due in January is the new year's, though it is filed in December.
func TestRunFilesForTheYearOfTheDueDate(t *testing.T) {
	f := newScheduledFirm(t, servers{}, "2027-10-01 12:00 UTC")
	f.plant("wy", company(1, "WY", "2019-01-20")+company(2, "WY", "2019-12-20"),
		schedule.Options{Due: "60 days before", FilingYear: "this"}, false)
	f.runDue("2027-11-20 06:00 UTC")
	years := make(map[string]string)
	for _, r := range f.rows(f.runs("wy")[0].Batch) {
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
		f := newScheduledFirm(t, on, "2027-01-01 12:00 UTC")
		// Those later in the sheet are due earlier; one is due on nobody knows what day.
		var lines strings.Builder
		lines.WriteString(company(99, "WY", ""))
		for i := range 12 {
			lines.WriteString(company(i, "WY", fmt.Sprintf("2019-%02d-20", 12-i)))
		}
		f.must(f.Entries().RecordDeposit(f.Context(), 5*each, "")) // for five of thirteen
		f.plant("wy", lines.String(), yearly, false)
		f.runDue("2027-01-15 06:00 UTC")
		fired := f.runs("wy")[0]
		p := f.planOf(fired)
		if p.Filings != 13 || *p.Available != 5*each || p.Short != 8 || p.ShortBy != 8*each ||
			p.ShortDue[len(p.ShortDue)-1].Rows != 1 {
			t.Errorf("%+v", p)
		}
		// Without a formation date the earliest it can be is January: comp_99 is as early
		// as comp_11.
		placed := func(want ...string) {
			t.Helper()
			f.stops(jobs.OutOfFunds, fired.Batch)
			got := f.due(fired.Batch, filing.Placed)
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Fatalf("%v, want %v", got, want)
			}
		}
		placed("comp_10", "comp_11", "comp_8", "comp_9", "comp_99")
		f.must(f.Entries().RecordDeposit(f.Context(), 3*each, ""))
		placed("comp_10", "comp_11", "comp_5", "comp_6", "comp_7", "comp_8", "comp_9", "comp_99")
		f.agree(fired.Batch)
	})
}

// A company list that no key of the machine opens ends its run with the reason
// and a notice. Where the due dates themselves are in it, a notice a day says that
// the schedule is put off, and it runs when the key is there.
func TestRunWithoutItsKey(t *testing.T) {
	f := newScheduledFirm(t, servers{}, "2027-01-01 12:00 UTC")
	f.plant("yearly", companies(0, 3, "DE"), yearly, false)
	f.plant("due", companies(3, 6, "DE"), schedule.Options{Due: "30 days before", FilingYear: "this"},
		false)
	keys := filepath.Join(f.dir, "sealing.key")
	was, err := os.ReadFile(keys)
	f.must(err)
	useKey := func(key []byte) {
		f.must(os.WriteFile(keys, key, 0o600))
		f.reopen()
		f.s = f.scheduler(f.Ledger)
	}
	useKey([]byte(strings.Repeat("0a", 32)))
	notices := func() (subjects []string) {
		for _, n := range f.notifications() {
			if subjects = append(subjects, n.Subject); !strings.Contains(n.Body, "FILING_SEAL_KEY") {
				t.Errorf("%s: %s", n.Subject, n.Body)
			}
		}
		slices.Sort(subjects)
		return subjects
	}
	f.set("2027-02-01 06:00 UTC")
	for range 2 {
		err := f.s.RunDue(f.Context())
		if !errors.Is(err, schedule.ErrCompanyList) || !errors.Is(err, store.ErrSealed) {
			t.Error(err)
		}
	}
	fired := f.last("yearly", 1)
	if fired.State != schedule.RunFailed || !strings.Contains(fired.Note, "FILING_SEAL_KEY") {
		t.Errorf("%+v", fired)
	}
	told := []string{"Bulkfiling: the schedule due is postponed", "Bulkfiling: the schedule yearly failed"}
	if got := notices(); !slices.Equal(got, told) {
		t.Errorf("%q", got)
	}
	due, err := schedule.Find(f.Context(), f.Ledger, "due")
	f.must(err)
	if line, err := f.s.Summary(f.Context(), due); err != nil || !strings.Contains(line.State, "FILING_SEAL_KEY") {
		t.Errorf("%+v, %v", line, err)
	}
	f.set("2027-02-02 06:00 UTC")
	if err := f.s.RunDue(f.Context()); !errors.Is(err, schedule.ErrCompanyList) {
		t.Error(err)
	}
	if got := notices(); len(got) != 3 {
		t.Errorf("%q", got)
	}
	useKey(was)
	f.runDue("2027-05-03 06:00 UTC")
	if fired := f.last("due", 1); fired.State != schedule.RunDone {
		t.Errorf("%+v", fired)
	}
}

// A service that gives no prices puts a run off, and nothing is lost. The run files the
// list that replaced its own meanwhile.
func TestRunWaitsForTheFilingService(t *testing.T) {
	f := newScheduledFirm(t, servers{}, "2027-01-01 12:00 UTC")
	f.plant("de", companies(0, 3, "DE"), yearly, false)
	f.down = errors.New("down")
	f.set("2027-01-15 06:00 UTC")
	for range 3 {
		if err := f.s.RunDue(f.Context()); err == nil || !strings.Contains(err.Error(), "down") {
			t.Error(err)
		}
	}
	now := f.plant("de", companies(2, 4, "DE"), yearly, false)
	f.down = nil
	f.must(f.s.RunDue(f.Context()))
	if fired := f.last("de", 1); fired.State != schedule.RunDone ||
		fired.CompanyList != now.CompanyList || fmt.Sprint(f.due(fired.Batch)) != "[comp_2 comp_3]" {
		t.Errorf("%+v", fired)
	}
}
