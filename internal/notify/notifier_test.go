package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
)

// inbox is a target that keeps what it is told.
type inbox struct {
	mu   sync.Mutex
	told []outbox.Notification
	fail error
}

func (b *inbox) target(id string) *Target {
	return &Target{
		id:   id,
		name: id,
		send: func(_ context.Context, m outbox.Notification) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.fail == nil {
				b.told = append(b.told, m)
			}
			return b.fail
		},
	}
}

func (b *inbox) set(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = err
}

// take returns the subjects told since the last time, without their beginning.
func (b *inbox) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var subjects []string
	for _, m := range b.told {
		_, subject, _ := strings.Cut(m.Subject, ": ")
		subjects = append(subjects, subject)
	}
	b.told = nil
	return subjects
}

// bodies returns the texts told since the last time, by kind and batch.
func (b *inbox) bodies() map[string]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make(map[string]string)
	for _, m := range b.told {
		all[string(m.Kind)+" "+m.Batch] = m.Body
	}
	return all
}

// message returns the first message told since the last time.
func (b *inbox) message() outbox.Notification {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.told[0]
}

func (b *inbox) want(t *testing.T, subjects ...string) {
	t.Helper()
	if got := b.take(); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", subjects) {
		t.Fatalf("told %q, want %q", got, subjects)
	}
}

// season is a ledger with what the placer does to it.
type season struct {
	*testing.T
	*ledger.Ledger
}

func openLedger(t *testing.T, c ledger.Config) *season {
	t.Helper()
	return &season{t, ledgertest.Open(t, c)}
}

func (s *season) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

const cost = money.Cents(7500)

// add opens a batch of n annual reports.
func (s *season) add(id string, n int) []ledger.Row {
	s.Helper()
	return s.addAt(money.Cost{Amount: cost}, id, n)
}

// addAt opens a batch of n annual reports that cost as much each.
func (s *season) addAt(each money.Cost, id string, n int) []ledger.Row {
	s.Helper()
	var rows []ledger.Row
	for i := range n {
		rows = append(rows, ledger.Row{
			Number: i + 2,
			Cells:  []byte(`["x"]`),
			Result: filing.Ready,
			Cost:   each,
			Request: &filing.Request{
				Product: filing.AnnualReport,
				Company: filing.CompanyRef{
					Ref:   fmt.Sprintf("comp_%s%d", id, i),
					Sheet: filing.Company{LegalName: fmt.Sprintf("Acme %d LLC", i)},
				},
				Order: filing.Order{FilingState: "DE", AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}},
			},
		})
	}
	b := ledger.Batch{ID: id, File: "/home/me/" + id + ".xlsx", Product: filing.AnnualReport}
	return ledgertest.Submit(s, s.Ledger, b, rows...)
}

// answer sends a row and settles it with an answer.
func (s *season) answer(class filing.AnswerKind, rows ...ledger.Row) {
	s.Helper()
	ctx := context.Background()
	for _, r := range rows {
		r, err := s.Row(ctx, r.ID)
		s.must(err)
		begun, err := s.Begin(ctx, ledger.Intent{
			Row:         r.ID,
			LastAttempt: r.LastAttempt,
			Cost:        r.Cost,
			Claims:      []ledger.Claim{{Product: filing.AnnualReport, Key: filing.Key(r.Request.Company.Ref)}},
		})
		s.must(err)
		if begun.Attempt == 0 {
			continue
		}
		a := filing.Answer{Kind: class, Message: "said the service"}
		out := ledger.Outcome{
			Row:     r.ID,
			Attempt: begun.Attempt,
			Answer:  a,
			Message: "no answer came in 30 s",
			Cost:    r.Cost,
		}
		if class == filing.Accepted {
			out.Items = []ledger.Item{
				{
					Product: filing.AnnualReport,
					OrderID: fmt.Sprintf("order_%d_%d", r.ID, begun.Attempt),
					Cost:    out.Cost,
				},
			}
		}
		s.must(s.RecordOutcome(ctx, out))
	}
}

// except gives the filings of rows an exception.
func (s *season) except(code int, rows ...ledger.Row) {
	s.Helper()
	for _, r := range rows {
		_, err := s.ExecChange(context.Background(),
			`UPDATE items SET exception = $1, exception_note = 'of 123-45-6789' WHERE row = $2`, code, r.ID)
		s.must(err)
	}
}

// still gives a test a SQLite ledger in time that passes at will, without a notifier.
func still(t *testing.T, test func(s *season, box *inbox)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := openLedger(t, ledger.Config{Clock: time.Now, Lease: 1000 * time.Hour})
		test(s, &inbox{})
		s.must(s.Close())
	})
}

// begin runs a notifier until end is called.
func (s *season) begin(box *inbox) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		New(Config{Ledger: s.Ledger, Targets: []*Target{box.target("box")}}).Run(ctx)
	}()
	time.Sleep(time.Second) // off the beat of the looks
	return func() {
		cancel()
		<-done
	}
}

// story runs a notifier over a SQLite ledger in time that passes at will.
func story(t *testing.T, tell func(*season, *inbox)) {
	t.Helper()
	still(t, func(s *season, box *inbox) {
		end := s.begin(box)
		tell(s, box)
		end()
	})
}

func TestFundsOutAndBack(t *testing.T) {
	story(t, func(s *season, box *inbox) {
		ctx := context.Background()
		rows := s.add("b", 3)
		time.Sleep(time.Minute)
		box.want(s.T)
		s.answer(filing.NoFunds, rows[0])
		time.Sleep(2 * checkInterval)
		want := "The filing service refused an order because of insufficient funds at 00:01 UTC on January 1: " +
			"\"said the service\".\nWaiting: 3 rows, $225.00. Available: not known, no deposit is recorded.\n" +
			"Add funds at the filing service, then record the deposit: importer deposit AMOUNT"
		if body := box.message().Body; body != want {
			s.Errorf("%s", body)
		}
		box.want(s.T, "insufficient funds, 3 rows wait")
		time.Sleep(6 * time.Minute) // it lasts: no word more
		box.want(s.T)
		s.must(s.Entries().RecordDeposit(ctx, cost, ""))
		time.Sleep(time.Minute) // a deposit is no proof: the service is asked first
		box.want(s.T)
		s.answer(filing.Accepted, rows[0])
		time.Sleep(2 * checkInterval)
		box.want(s.T) // not yet: those that were woken may wait again
		s.answer(filing.Accepted, rows[1])
		time.Sleep(6 * time.Minute)
		box.want(s.T) // the book is empty: still the same want
		s.must(s.Entries().RecordDeposit(ctx, 10*cost, ""))
		s.answer(filing.Accepted, rows[1:]...)
		time.Sleep(sufficientFor + 2*checkInterval)
		box.want(s.T, "b.xlsx is finished: 3 of 3 rows placed", "funds are sufficient again")
	})
}

func TestKeyRefusedIsToldOnceEachTime(t *testing.T) {
	story(t, func(s *season, box *inbox) {
		ctx := context.Background()
		rows := s.add("b", 2)
		s.answer(filing.NoFunds, rows[0])
		time.Sleep(2 * checkInterval)
		box.want(s.T, "insufficient funds, 2 rows wait")
		s.must(s.Fleet().RecordKeyRefused(ctx, "no such key: sk_test_hushhush"))
		time.Sleep(2 * checkInterval)
		if body := box.message().Body; strings.Contains(body, "hush") || !strings.Contains(body, "no such key") {
			s.Errorf("%s", body)
		}
		box.want(s.T, "the API key is refused")
		time.Sleep(6 * time.Minute) // nor is it told that funds suffice: nobody knows
		box.want(s.T)
		s.must(s.Fleet().RecordKeyAccepted(ctx))
		time.Sleep(time.Minute)
		box.want(s.T, "funds are sufficient again")
		s.must(s.Fleet().RecordKeyRefused(ctx, "no such key"))
		time.Sleep(2 * checkInterval)
		box.want(s.T, "the API key is refused")
	})
}

func TestBatchThatGoesOnEndsAgain(t *testing.T) {
	story(t, func(s *season, box *inbox) {
		ctx := context.Background()
		s.must(s.Organizations().Bind(ctx, "test"))
		rows := s.add("b", 3)
		s.answer(filing.Accepted, rows[:2]...)
		time.Sleep(time.Minute)
		box.want(s.T)
		s.answer(filing.Refused, rows[2])
		time.Sleep(2 * checkInterval)
		if m := box.message(); m.Batch != "b" || m.Kind != outbox.KindBatch ||
			!strings.HasPrefix(m.Subject, "Bulkfiling (test): ") ||
			m.Body != "Batch b: 2 placed, 1 rejected.\nSpent: $150.00.\n"+
				"Download the results: importer results b -o FILE" {
			s.Errorf("%+v", m)
		}
		box.want(s.T, "b.xlsx is finished: 2 of 3 rows placed")
		time.Sleep(6 * time.Minute)
		box.want(s.T)
		_, err := s.RetryBatch(ctx, "b")
		s.must(err)
		time.Sleep(2 * checkInterval)
		s.answer(filing.Accepted, rows[2])
		time.Sleep(2 * checkInterval)
		box.want(s.T, "b.xlsx is finished: 3 of 3 rows placed")
	})
}

// A part of a cost that is not known is never told as known.
func TestSumsThatAreTheLeastSaySo(t *testing.T) {
	story(t, func(s *season, box *inbox) {
		ctx := context.Background()
		least := money.Cost{Amount: cost, Certainty: money.Unknown}
		s.must(s.Entries().RecordDeposit(ctx, 10*cost, ""))
		known, not := s.add("known", 2), s.addAt(least, "not", 2)
		s.answer(filing.NoAnswer, known[0], not[0])
		s.answer(filing.Accepted, known[1], not[1])
		time.Sleep(gatherFor + 2*checkInterval)
		waits := s.addAt(least, "waits", 1)
		s.answer(filing.NoFunds, waits[0])
		time.Sleep(2 * checkInterval)
		told := box.bodies()
		for of, want := range map[string]string{
			"batch known": "Spent: $75.00.", "uncertain known": "Reserved: $75.00.",
			"batch not": "Spent: at least $75.00.", "uncertain not": "Reserved: at least $75.00.",
			"funds ": "Waiting: 1 row, at least $75.00. Available: at most $450.00 of the recorded balance.",
		} {
			if !strings.Contains(told[of], want) {
				s.Errorf("%s: %q is not in %q", of, want, told[of])
			}
		}
	})
}

func TestUncertainRowsAreGathered(t *testing.T) {
	story(t, func(s *season, box *inbox) {
		rows := s.add("b", 20)
		s.answer(filing.NoAnswer, rows[0])
		time.Sleep(gatherFor / 2)
		s.answer(filing.NoAnswer, rows[1:8]...)
		box.want(s.T)
		time.Sleep(gatherFor)
		want := `Sent, but the filing service did not confirm them. They may have been bought. Reserved: $600.00.
  row 2  Acme 0 LLC: no answer came in 30 s
  row 3  Acme 1 LLC: no answer came in 30 s
  row 4  Acme 2 LLC: no answer came in 30 s
  row 5  Acme 3 LLC: no answer came in 30 s
  row 6  Acme 4 LLC: no answer came in 30 s
  and 3 more
Check the dashboard, then resolve them: importer resolve b`
		if body := box.message().Body; body != want {
			s.Errorf("%s", body)
		}
		box.want(s.T, "8 rows are uncertain in b.xlsx")
		s.answer(filing.NoAnswer, rows[8:10]...)
		time.Sleep(time.Minute)
		s.answer(filing.NoAnswer, rows[10])
		time.Sleep(minSpacing - 2*time.Minute)
		box.want(s.T) // not so soon after the other
		time.Sleep(2 * time.Minute)
		box.want(s.T, "3 rows are uncertain in b.xlsx")
		s.answer(filing.NoAnswer, rows[11])
		time.Sleep(time.Second) // and the process ends: its last look waits for nothing
	})
}

func TestExceptionsAreGatheredByBatch(t *testing.T) {
	story(t, func(s *season, box *inbox) {
		a, b := s.add("a", 3), s.add("b", 1)
		s.answer(filing.Accepted, append(a, b...)...)
		time.Sleep(2 * checkInterval)
		box.take()
		s.except(482, a[0], a[2])
		s.except(484, b[0])
		time.Sleep(gatherFor + 2*checkInterval)
		const exception = "exception 482: a report of an earlier year has a problem (of ***-**-6789); cure " +
			"the earlier year's report first\n"
		if body := box.bodies()["exceptions a"]; body != "These filings wait until they are corrected.\n"+
			"  row 2  Acme 0 LLC: "+exception+"  row 4  Acme 2 LLC: "+exception+
			"See all of them on the sheet Needs Attention: importer results a -o FILE.xlsx" {
			s.Errorf("%s", body)
		}
		got := box.take()
		if slices.Sort(got); !slices.Equal(got, []string{"1 filing needs correction in b.xlsx",
			"2 filings need correction in a.xlsx"}) {
			s.Errorf("%q", got)
		}
		time.Sleep(6 * time.Minute)
		s.except(0, a[0])
		time.Sleep(6 * time.Minute)
		box.want(s.T)
		s.except(482, a[0])
		time.Sleep(6 * time.Minute)
		box.want(s.T, "1 filing needs correction in a.xlsx")
	})
}

// The end of a run is told by the run: the last look waits for nothing.
func TestLastLookWaitsForNothing(t *testing.T) {
	still(t, func(s *season, box *inbox) {
		rows := s.add("b", 2)
		end := s.begin(box)
		s.answer(filing.Accepted, rows[0])
		s.answer(filing.NoAnswer, rows[1])
		end()
		box.want(s.T, "b.xlsx is finished: 1 of 2 rows placed", "1 row is uncertain in b.xlsx")
	})
}

// A target that is away is tried again, less and less often, for a day; one
// that has the message gets it no second time.
func TestTargetThatIsAwayIsTriedForADay(t *testing.T) {
	still(t, func(s *season, box *inbox) {
		ctx := context.Background()
		here, away := box, &inbox{fail: errors.New("no route")}
		var log strings.Builder
		n := New(Config{
			Ledger:  s.Ledger,
			Targets: []*Target{here.target("here"), away.target("away")},
			Log:     slog.New(slog.NewTextHandler(&log, nil)),
		})
		pass := func(d time.Duration) {
			const step = 10 * time.Minute // as often as every few seconds would take long
			for range d / step {
				s.must(n.check(ctx, false))
				time.Sleep(step)
			}
		}
		keep := func(subject string) {
			_, err := s.Notifications().Add(ctx, outbox.Notification{Kind: outbox.KindSchedule, Subject: subject})
			s.must(err)
		}
		keep("one")
		pass(time.Hour)
		here.want(s.T, "one")
		away.set(nil)
		pass(time.Hour)
		away.want(s.T, "one")
		here.want(s.T)

		before := strings.Count(log.String(), "kind="+string(outbox.KindSchedule))
		away.set(errors.New("no route"))
		keep("two")
		pass(retryFor + time.Hour)
		away.set(nil)
		pass(time.Hour)
		away.want(s.T)
		here.want(s.T, "two")
		if attempts := strings.Count(log.String(), "kind="+string(outbox.KindSchedule)) - before; attempts < 50 ||
			attempts > 150 {
			t.Errorf("tried %d times", attempts)
		}
		if strings.Count(log.String(), "notifications dropped") != 1 {
			t.Errorf("%s", log.String()[max(0, log.Len()-500):])
		}
	})
}

func TestWhatIsNotWantedIsNotTold(t *testing.T) {
	still(t, func(s *season, box *inbox) {
		rows := s.add("b", 2)
		s.answer(filing.NoAnswer, rows[0])
		s.answer(filing.NoFunds, rows[1])
		kinds, err := ParseKinds("Uncertain, schedule")
		s.must(err)
		n := New(Config{Ledger: s.Ledger, Targets: []*Target{box.target("box")}, On: kinds})
		s.must(n.check(context.Background(), true))
		box.want(s.T, "1 row is uncertain in b.xlsx")
	})
}

// Notifications that are switched on do not begin with every batch of years past.
func TestEndsOfLongAgoAreNoNews(t *testing.T) {
	still(t, func(s *season, box *inbox) {
		for i := range 105 {
			s.answer(filing.Accepted, s.add(fmt.Sprintf("old%d", i), 1)...)
		}
		time.Sleep(2 * retryFor)
		s.answer(filing.Accepted, s.add("new", 1)...)
		n := New(Config{Ledger: s.Ledger, Targets: []*Target{box.target("box")}})
		for range 3 {
			s.must(n.check(context.Background(), false))
		}
		box.want(s.T, "new.xlsx is finished: 1 of 1 row placed")
		reportable, err := s.Attention().FindReportable(context.Background())
		if err != nil || len(reportable.Ended) > 0 {
			t.Errorf("%v, %v", reportable.Ended, err)
		}
	})
}

func TestKinds(t *testing.T) {
	for text, want := range map[string]int{"": 16, "all": 16, "funds": 1, "funds, KEY,batch": 3, "funds all": 16} {
		if kinds, err := ParseKinds(text); err != nil || len(kinds) != want {
			t.Errorf("%q: %v, %v", text, kinds, err)
		}
	}
	if _, err := ParseKinds("funds, founds"); !errors.Is(err, ErrKind) || !strings.Contains(err.Error(), `"founds"`) {
		t.Errorf("%v", err)
	}
}

// Several notifiers, each with its own ledger over one database, some of whose
// targets fail at times, tell each thing once.
func TestFleetTellsOnce(t *testing.T) {
	ledgertest.OnBoth(t, func(t *testing.T, database string) {
		config := ledger.Config{Dir: ledgertest.Dir(t), DatabaseURL: database}
		s := openLedger(t, config)
		s.answer(filing.Accepted, s.add("c", 1)...)
		rows := s.add("b", 6)
		s.answer(filing.NoAnswer, rows[:4]...)
		s.answer(filing.Accepted, rows[4])
		s.except(482, rows[4])
		s.answer(filing.NoFunds, rows[5])

		r := newReceiver(t)
		const fleet = 4
		var all sync.WaitGroup
		for range fleet {
			l := openLedger(t, config)
			n := New(Config{Ledger: l.Ledger, Targets: []*Target{one(t, r.URL+"/hook")}})
			all.Go(func() {
				for range 5 {
					if err := n.check(t.Context(), true); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		told := make(map[string]int)
		for _, body := range r.got() {
			told[body]++
		}
		if len(told) != 4 || len(r.got()) != 4 {
			t.Errorf("told %d times: %v", len(r.got()), told)
		}
	})
}

// Approvers and preparers are told of an approval with a link to its page: by the
// firm's targets, and by mail where the account has an address.
func TestApprovalsAreReported(t *testing.T) {
	story(t, func(s *season, box *inbox) {
		ctx := context.Background()
		roles := map[string]account.Role{"vera@example.com": account.Approver, "paul": account.Preparer}
		for name, role := range roles {
			_, err := s.Accounts().Add(ctx, name, []account.Role{role})
			s.must(err)
		}
		paul, err := s.Accounts().Find(ctx, "paul")
		s.must(err)
		s.must(s.Accounts().SetEmail(ctx, paul.ID, "paul@example.com"))
		s.must(s.Notifications().SetPageAddress(ctx, "https://filings.example.com/"))
		s.must(approval.New(s.Ledger).ChangePolicy(ctx, approval.Policy{Second: true}))
		time.Sleep(2 * checkInterval)
		box.take()
		byPaul := audit.With(ctx, audit.Event{By: "paul", What: "submit"})
		_, err = s.CreateBatch(byPaul, ledger.Batch{ID: "b", File: "b.xlsx", Product: filing.AnnualReport,
			CreatedBy: "paul"})
		s.must(err)
		s.must(s.AddRows(ctx, "b", []ledger.Row{{Number: 2, Cells: []byte("[]"), Result: filing.Ready,
			Request: &filing.Request{}, Cost: money.Cost{Amount: cost}}}))
		s.must(s.PrepareBatch(ctx, "b"))
		_, err = approval.New(s.Ledger).Submit(byPaul, approval.Draft{Batch: "b"}, "plan", "paul")
		s.must(err)
		time.Sleep(2 * checkInterval)
		all, err := s.Notifications().List(ctx, 1)
		s.must(err)
		if got := all[0].Recipients; len(got) != 1 || got[0] != "vera@example.com" {
			s.Errorf("asked of %q", got)
		}
		if body := box.bodies()[string(outbox.KindApprovalNeeded)+" b"]; !strings.HasSuffix(body,
			"Open: https://filings.example.com/batches/b/approve\n") {
			s.Errorf("no link in %s", body)
		}
		_, err = approval.New(s.Ledger).Reject(ctx, "b", "vera@example.com", "too early")
		s.must(err)
		time.Sleep(2 * checkInterval)
		all, err = s.Notifications().List(ctx, 5)
		s.must(err)
		i := slices.IndexFunc(all, func(n outbox.Notification) bool { return n.Kind == outbox.KindRejected })
		if i < 0 || !slices.Equal(all[i].Recipients, []string{"paul@example.com"}) ||
			!strings.Contains(all[i].Body, "too early") {
			s.Errorf("%+v", all)
		}
		box.want(s.T, "waiting for approval: b.xlsx, 1 order, $75.00", "rejected: b.xlsx",
			"b.xlsx is finished: 0 of 1 row placed")
	})
}

// A recipient is reached by the mail server of the targets, once, and by none
// where there is none.
func TestRecipientsGetMail(t *testing.T) {
	targets, err := ParseTargets("smtp://user:secret@mail.example.com/?from=a@example.com&to=firm@example.com")
	if err != nil {
		t.Fatal(err)
	}
	to := outbox.Notification{Recipients: []string{"firm@example.com", "vera@example.com"}}
	var names []string
	for _, target := range New(Config{Targets: targets}).targetsOf(to) {
		names = append(names, target.String())
	}
	want := []string{"smtp://mail.example.com to firm@example.com", "smtp://mail.example.com to vera@example.com"}
	if !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	box := &inbox{}
	if got := New(Config{Targets: []*Target{box.target("box")}}).targetsOf(to); len(got) != 1 {
		t.Errorf("%v", got)
	}
}
