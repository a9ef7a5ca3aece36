package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

func is(err, want error) bool { return errors.Is(err, want) && (err == nil) == (want == nil) }

func TestSchedules(t *testing.T) { onBothDatabases(t, testSchedules) }

func testSchedules(s *suite) {
	s.config.SealKey = strings.Repeat("0b", 32)
	l, ctx := s.open(), s.Context()
	content := []byte("Company ID\ncomp_1\n\x00\xff")
	hash, err := schedule.NewRecords(l).AddCompanyList(ctx,
		schedule.ListFile{File: "roster.csv", Content: content, CreatedBy: "Ana"})
	s.must(err)
	if again, err := schedule.NewRecords(l).AddCompanyList(ctx,
		schedule.ListFile{File: "other.csv", Content: content}); err != nil ||
		again != hash {
		s.Error(again, err)
	}
	r, err := schedule.NewRecords(l).FindCompanyList(ctx, hash)
	if err != nil || string(r.Content) != string(content) ||
		r.File != "roster.csv" ||
		r.CreatedBy != "Ana" {
		s.Errorf("%+v %v", r, err)
	}
	s.wantErr(second(schedule.NewRecords(l).FindCompanyList(ctx, "none")), ledger.ErrNotFound)
	for _, want := range []bool{true, false} {
		if added, err := schedule.NewRecords(l).Add(ctx,
			schedule.Schedule{Name: "de", CompanyList: hash}); err != nil ||
			added != want {
			s.Errorf("added %v, %v; want %v", added, err, want)
		}
	}
	all, err := schedule.NewRecords(l).List(ctx)
	if s.must(err); len(all) != 1 || all[0].File != "roster.csv" ||
		!reflect.DeepEqual(all[0].Options, schedule.Options{}) ||
		all[0].Approval || all[0].Paused || !all[0].Since.Equal(s.clock()) || all[0].Version != 1 {
		s.Errorf("%+v", all)
	}
	change := all[0]
	change.Options, change.Timing, change.Approval = schedule.Options{State: "DE"}, "0 6 1 3 *", true
	s.must(schedule.NewRecords(l).Change(ctx, change))
	if all, err = schedule.NewRecords(l).List(ctx); err != nil || all[0].Options.State != "DE" ||
		all[0].Timing != "0 6 1 3 *" || !all[0].Approval || !all[0].Since.Equal(s.clock()) ||
		all[0].Version != 2 {
		s.Errorf("%+v, %v", all, err)
	}
	since := s.clock()
	s.pass(time.Hour)
	other, err := schedule.NewRecords(l).AddCompanyList(ctx, schedule.ListFile{File: "other.csv", Content: []byte("y")})
	s.must(err)
	change = all[0]
	change.CompanyList = other
	s.must(schedule.NewRecords(l).Change(ctx, change))
	if all, err = schedule.NewRecords(l).List(ctx); err != nil || all[0].CompanyList != other ||
		!all[0].Since.Equal(since) ||
		!all[0].Changed.Equal(s.clock()) {
		s.Errorf("%+v, %v", all, err)
	}
	s.must(schedule.NewRecords(l).SetPaused(ctx, "de", true))
	if all, _ = schedule.NewRecords(l).List(ctx); !all[0].Paused || !all[0].Since.Equal(s.clock()) {
		s.Errorf("%+v", all)
	}
	s.wantErr(schedule.NewRecords(l).SetPaused(ctx, "fl", true), ledger.ErrNotFound)
	s.must(schedule.NewRecords(l).Remove(ctx, "de"))
	s.wantErr(schedule.NewRecords(l).Remove(ctx, "de"), ledger.ErrNotFound)
	if added, err := schedule.NewRecords(l).Add(ctx,
		schedule.Schedule{Name: "de", CompanyList: hash}); err != nil || !added {
		s.Errorf("added anew: %v, %v", added, err)
	}
}

// A company list is kept only where every machine that may run its schedule can
// open it: over a shared database, under a key that was given.
func TestCompanyListsNeedASharedKey(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		list := schedule.ListFile{File: "roster.csv", Content: []byte("Company ID\ncomp_1\n")}
		_, err := schedule.NewRecords(s.open()).AddCompanyList(s.Context(), list)
		if s.config.DatabaseURL == "" {
			s.must(err)
			return
		}
		if n := s.count(`SELECT COUNT(*) FROM company_lists`); !errors.Is(err, schedule.ErrNoSharedKey) ||
			!strings.Contains(err.Error(), "FILING_SEAL_KEY") || n != 0 {
			s.Errorf("%d lists, %v", n, err)
		}
		s.config.SealKey = strings.Repeat("0b", 32)
		hash, err := schedule.NewRecords(s.open()).AddCompanyList(s.Context(), list)
		s.must(err)
		s.config.Dir = s.TempDir() // another machine
		if r, err := schedule.NewRecords(s.open()).FindCompanyList(s.Context(), hash); err != nil ||
			string(r.Content) != string(list.Content) {
			s.Error(r, err)
		}
	})
}

// Of several who change a season at once, having seen the same, one does; the
// others are told so. What was seen before it was paused, or removed, is not
// changed either.
func TestAScheduleIsChangedAsItWasSeen(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		s.config.SealKey = strings.Repeat("0b", 32)
		processes, ctx := []*ledger.Ledger{s.open(), s.open()}, s.Context()
		l := processes[0]
		hash, err := schedule.NewRecords(l).
			AddCompanyList(ctx, schedule.ListFile{File: "roster.csv", Content: []byte("x")})
		s.must(err)
		_, err = schedule.NewRecords(l).
			Add(ctx, schedule.Schedule{Name: "de", CompanyList: hash})
		s.must(err)
		seen := func() schedule.Schedule {
			all, err := schedule.NewRecords(l).List(ctx)
			s.must(err)
			return all[0]
		}
		before := seen()
		var changed, late atomic.Int32
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				mine := before
				mine.Timing = fmt.Sprint(i)
				switch err := schedule.NewRecords(processes[i%2]).Change(ctx, mine); {
				case err == nil:
					changed.Add(1)
				case errors.Is(err, ledger.ErrStale):
					late.Add(1)
				default:
					s.Error(err)
				}
			})
		}
		all.Wait()
		if changed.Load() != 1 || late.Load() != 5 || seen().Version != 2 {
			s.Errorf("%d changed it, %d were late: %+v", changed.Load(), late.Load(), seen())
		}
		before = seen()
		s.must(schedule.NewRecords(l).SetPaused(ctx, "de", true))
		if err := schedule.NewRecords(l).Change(audit.With(ctx, audit.Event{What: "schedule-update"}),
			before); !is(err, ledger.ErrStale) || !seen().Paused {
			s.Errorf("%v: %+v", err, seen())
		}
		if acts, err := l.AuditLog().List(ctx, audit.Query{}); err != nil || len(acts) != 0 {
			s.Errorf("what was not done is in the log: %+v, %v", acts, err)
		}
		before = seen()
		s.must(schedule.NewRecords(l).Remove(ctx, "de"))
		s.wantErr(schedule.NewRecords(l).Change(ctx, before), ledger.ErrStale)
		if left, err := schedule.NewRecords(l).List(ctx); err != nil || len(left) != 0 {
			s.Errorf("%+v, %v", left, err)
		}
	})
}

// A firing is carried out once, whatever the number of processes, and by
// another one where the first died over it.
func TestARunIsClaimedOnce(t *testing.T) { onBothDatabases(t, testARunIsClaimedOnce) }

func testARunIsClaimedOnce(s *suite) {
	ctx := s.Context()
	f := schedule.Run{
		ID:          "de|2026-03-01",
		Schedule:    "de",
		Due:         s.clock(),
		CompanyList: "x",
		Missed:      2,
	}
	processes := []*ledger.Ledger{s.open(), s.open(), s.open()}
	var claims atomic.Int32
	var by atomic.Pointer[ledger.Ledger]
	var all sync.WaitGroup
	for _, l := range processes {
		for range 3 {
			all.Go(func() {
				claimed, err := schedule.NewRecords(l).ClaimRun(ctx, f)
				if err != nil {
					s.Error(err)
				}
				if claimed {
					claims.Add(1)
					by.Store(l)
				}
			})
		}
	}
	all.Wait()
	if claims.Load() != 1 {
		s.Fatalf("claimed %d times", claims.Load())
	}
	s.must(by.Load().Close()) // it dies over it
	heir := processes[0]
	if heir == by.Load() {
		heir = processes[1]
	}
	if claimed, err := schedule.NewRecords(heir).ClaimRun(ctx, f); !claimed || err != nil {
		s.Fatal(claimed, err)
	}
	f.State, f.Batch, f.Plan, f.Note = schedule.RunDone, "b1", &schedule.Plan{Filings: 3}, "done"
	s.must(schedule.NewRecords(heir).EndRun(ctx, f))
	if claimed, err := schedule.NewRecords(s.open()).ClaimRun(ctx, f); claimed || err != nil {
		s.Error(claimed, err)
	}
	list, err := schedule.NewRecords(heir).ListRuns(ctx, "de")
	if s.must(err); len(list) != 1 || list[0].Batch != "b1" || list[0].Missed != 2 ||
		list[0].State != schedule.RunDone || list[0].Plan.Filings != 3 || !list[0].Due.Equal(f.Due) {
		s.Errorf("%+v", list)
	}
}

// What others hold is known before anything is sent: the same purchase, one whose
// answer is out, and a subscription of an earlier year until it is canceled.
func TestHoldings(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", report("comp_bought", "2026"), report("comp_out", "2026"), report("comp_free", "2026"))
		s.place(l, rows[0])
		s.send(l, rows[1])
		claims := func(company, year string) ledger.Claim { return intent(report(company, year)).Claims[0] }
		same, out, free := claims("comp_bought", "2026"), claims("comp_out", "2026"), claims("comp_free", "2026")
		next, before, never := claims("comp_bought", "2027"), claims("comp_bought", "2025"), claims("comp_out", "2027")
		held, err := l.FindPriorPurchases(ctx, []ledger.Claim{same, out, free, next, before, never})
		s.must(err)
		want := map[filing.Key]ledger.PriorPurchase{
			same.Key: {Batch: "a", Root: "a", Number: 2, Row: rows[0].ID, Bought: true},
			out.Key:  {Batch: "a", Root: "a", Number: 3, Row: rows[1].ID},
			next.Key: {
				Batch:  "a",
				Root:   "a",
				Number: 2,
				Row:    rows[0].ID,
				Bought: true,
				Covers: true,
				Order:  s.row(l, rows[0].ID).Items[0].OrderID,
			},
		}
		if !maps.Equal(held, want) {
			s.Errorf("%+v, want %+v", held, want)
		}
		if held, err := l.FindPriorPurchases(ctx, nil); err != nil || len(held) != 0 {
			s.Errorf("%+v %v", held, err)
		}
	})
}
