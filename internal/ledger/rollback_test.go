package ledger_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
)

// onRestorable runs a suite on a ledger that can be taken back in time.
func onRestorable(t *testing.T, test func(*suite, *ledgertest.Restorable)) {
	ledgertest.OnBothRestorable(t, func(t *testing.T, r *ledgertest.Restorable) {
		s := &suite{
			T: t,
			config: ledger.Config{
				Dir:          r.Dir,
				DatabaseURL:  r.Database,
				RepeatAgents: true,
				Lease:        30 * time.Second,
				Timeout:      time.Nanosecond,
			},
		}
		test(s, r)
		if err := s.open().Audit(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// halted waits until the ledger can be reached, and checks that it is halted.
func (s *suite) halted(l *ledger.Ledger) {
	s.Helper()
	h, err := l.Fleet().Halt(s.Context())
	if err != nil {
		h, err = l.Fleet().Halt(s.Context()) // the connection that broke is not used again
	}
	if s.must(err); h.Reason != filing.HaltRestored || !strings.Contains(h.Note, "commits") {
		s.Fatalf("%+v", h)
	}
}

// A ledger that went back in time under living processes sends nothing before a
// person ends that, and gets back what the processes know.
func TestLedgerThatWentBackInTime(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		ctx := s.Context()
		one, two := s.open(), s.open()
		rows := s.add(one, "a", append(reports("a", 6), agentOrder("comp_x"))...)
		s.must(one.Entries().RecordDeposit(ctx, 100_000, ""))
		s.place(one, rows[0])
		place.Keep()
		s.await(one)
		s.await(two)
		s.place(one, rows[1])
		s.send(one, rows[2]) // whose answer is out
		s.place(two, rows[3])
		s.send(two, rows[4])
		s.answer(two, rows[4], filing.NoAnswer)
		s.send(two, rows[6])
		s.answer(two, rows[6], filing.NoAnswer)
		s.send(two, rows[6])
		s.answer(two, rows[6], filing.Accepted)
		place.Restore()

		for _, l := range []*ledger.Ledger{one, two} {
			for _, r := range []ledger.Row{rows[1], rows[2], rows[3], rows[4], rows[5], rows[6]} {
				begun, err := l.Begin(ctx, intent(r))
				for attempts := 0; err != nil && attempts < 20; attempts++ { // its connections have to break first
					begun, err = l.Begin(ctx, intent(r))
				}
				if s.must(err); begun.Attempt != 0 {
					s.Fatalf("row %d goes out: %+v", r.ID, begun)
				}
			}
		}
		s.halted(one)
		s.must(one.Entries().RecordDeposit(ctx, 1, ""))
		s.must(two.Fleet().AllowProbe(ctx))
		s.must(two.Fleet().RecordKeyAccepted(ctx))
		s.halted(two)

		s.want(one, rows[0], filing.Placed, 0)
		s.want(one, rows[1], filing.Placed, 0)
		s.want(one, rows[2], filing.Placing, cost)
		s.want(one, rows[3], filing.Placed, 0)
		s.want(one, rows[4], filing.Uncertain, cost)
		s.want(one, rows[5], filing.Ready, 0)
		if r := s.want(one, rows[6], filing.Placed, 0); r.LastAttempt != 2 {
			s.Errorf("%d attempts of the row that was sent twice", r.LastAttempt)
		}
		s.answer(one, rows[2], filing.Accepted)
		s.want(two, rows[2], filing.Placed, 0)

		late := s.open() // a process that starts meanwhile
		if begun := s.begin(late, intent(rows[5])); begun.Halted.Reason != filing.HaltRestored {
			s.Errorf("%+v", begun)
		}
		s.must(one.Restores().EndUnsent(ctx))
		s.exec(`UPDATE control SET restart_wait_until = 0`)
		s.send(two, rows[5])
		s.answer(two, rows[5], filing.Accepted)
		if n := s.sweep(late); n != 0 {
			s.Errorf("%d orphans", n)
		}
	})
}

// The process of an order crashes, and the repetition of the order is answered that the
// company has the item. The ledger loses both attempts. The living process knows that there
// was an attempt before its own, which bought the item.
func TestLostAttemptBeforeOneThatIsWrittenBack(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		s.config.Lease = 24 * time.Hour // nothing renews it, and so nothing compares
		one, two := s.open(), s.open()
		row := s.add(one, "a", agentOrder("comp_x"))[0]
		place.Keep()
		s.await(one)
		s.await(two)
		s.send(one, row)
		s.answer(one, row, filing.NoAnswer)
		s.must(one.Close())
		s.send(two, row)
		s.answer(two, row, filing.HasItem)
		s.want(two, row, filing.Placed, 0)
		place.Restore()
		s.await(two)
		s.halted(two)
		s.want(two, row, filing.Placed, 0)
	})
}

// After a restore, a person assumed an attempt and decided on it. It has the number of the
// lost attempt, which stays apart and makes the row uncertain.
func TestLostAttemptBesideADecidedOne(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		s.config.Lease = 24 * time.Hour // nothing renews it, and so nothing compares
		one, two, three := s.open(), s.open(), s.open()
		row := s.add(one, "a", agentOrder("comp_x"))[0]
		place.Keep()
		s.await(one)
		s.await(two)
		s.await(three)
		s.send(one, row)
		s.answer(one, row, filing.NoAnswer)
		s.must(one.Close())
		s.send(two, row)
		s.answer(two, row, filing.NotSent)
		place.Restore()
		s.await(three)
		s.suppose(three, s.clock(), s.row(three, row.ID))
		s.must(three.Resolutions().MarkNotPlaced(s.Context(), row.ID, 1, "not there"))
		s.await(two)
		s.want(two, row, filing.Uncertain, cost)
		attempts, err := two.Attempts(s.Context(), row.ID)
		if s.must(err); len(attempts) != 3 || attempts[0].Number != -1 {
			s.Errorf("%+v", attempts)
		}
	})
}

// A suspended process has bought something that the ledger lost. A person says that nothing
// was ordered, and another process buys the same in an attempt of the same number. The
// first purchase is not lost: the row has bought it twice.
func TestWrittenBackBesideAnotherAttemptOfItsNumber(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		s.config.Lease = 24 * time.Hour // nothing renews it, and so nothing compares
		ctx := s.Context()
		one, two := s.open(), s.open()
		row := s.add(one, "a", report("comp_1", "2026"))[0]
		place.Keep()
		s.await(one)
		s.await(two)
		s.place(one, row)
		s.must(two.Fleet().AllowProbe(ctx))
		place.Restore()
		s.await(two)
		s.halted(two)
		s.must(two.Restores().EndUnsent(ctx))
		s.exec(`UPDATE control SET restart_wait_until = 0`)
		bought := outcome(row, s.send(two, row), filing.Accepted)
		bought.Items[0].OrderID = "order_of_two"
		s.must(two.RecordOutcome(ctx, bought))
		s.want(two, row, filing.Placed, 0)
		s.await(one)
		s.must(one.Fleet().AllowProbe(ctx))
		if r := s.want(two, row, filing.Placed, 0); r.Spent.Amount != 2*cost ||
			!strings.Contains(r.Message, "bought twice") {
			s.Errorf("%s: %s", r.Spent, r.Message)
		}
	})
}

// creationOf is the intent to create the company One of a row.
func creationOf(row ledger.Row) ledger.Intent {
	return ledger.Intent{
		Row:      row.ID,
		Creating: true,
		Claims:   []ledger.Claim{{Product: filing.CompanyRecord, Key: "company|One"}},
	}
}

// createdBy is the outcome of that attempt: the company is comp_1.
func createdBy(in ledger.Intent, attempt int) ledger.Outcome {
	return ledger.Outcome{
		Row:     in.Row,
		Attempt: attempt,
		Creates: true,
		Claims:  in.Claims,
		Company: "comp_1",
		Answer:  filing.Answer{Kind: filing.Accepted, CompanyID: "comp_1"},
		Made:    &ledger.MadeCompany{Ref: "company|One", Record: filing.Company{ID: "comp_1"}},
	}
}

// An order is written back to a row that was assumed to have been sent. The person who then
// finds the row's company was not asked about the order, so it stays uncertain.
func TestCompanyFoundBesideAnOrderThatIsWrittenBack(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		s.config.Lease = 24 * time.Hour // nothing renews it, and so nothing compares
		one, two := s.open(), s.open()
		forming := report("", "2026")
		forming.Request.Company.Sheet.LegalName = "One"
		row := s.add(one, "a", forming)[0]
		place.Keep()
		s.await(two)
		s.send(two, row)
		s.answer(two, row, filing.NoAnswer)
		place.Restore()
		s.await(one)
		creation := creationOf(row)
		creation.Cost = money.Cost{Amount: cost}
		said, err := one.Resolutions().AssumeSent(s.Context(), []ledger.Intent{creation}, s.clock(), "")
		if s.must(err); said[0].Attempt != 1 {
			s.Fatalf("%+v", said)
		}
		s.await(two)
		r := s.row(one, row.ID)
		attempts, err := one.Attempts(s.Context(), row.ID)
		if err != nil || len(attempts) != 2 || r.Result != filing.Uncertain {
			s.Fatalf("%s: %+v, %v", r.Result, attempts, err)
		}
		s.must(one.Resolutions().MarkCreated(s.Context(), row.ID, r.LastAttempt, filing.Company{ID: "comp_1"}, "found"))
		if got := s.row(one, row.ID); got.Result != filing.Uncertain || got.Company != "comp_1" || got.Creating {
			s.Errorf("%+v", got)
		}
		s.must(one.Resolutions().MarkNotPlaced(s.Context(), row.ID, r.LastAttempt, "no order"))
		s.want(one, row, filing.Ready, 0)
	})
}

// A row that exists names the order of the row that bought it. If the ledger lost that
// purchase, the order can still be entered for the row that bought it.
func TestOrderOfALostPurchaseThatAnotherRowNames(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		one, two := s.open(), s.open()
		buyer := s.add(one, "a", report("comp_x", "2026"))[0]
		later := s.add(one, "b", report("comp_x", "2026"))[0]
		s.send(one, buyer)
		s.answer(one, buyer, filing.NoAnswer)
		place.Keep()
		s.await(two)
		s.must(two.Resolutions().MarkPlaced(s.Context(), buyer.ID, 0, []string{"order_1"}, "seen"))
		if begun := s.begin(two, intent(later)); len(begun.Taken) != 1 || !begun.Taken[0].Bought {
			s.Fatalf("%+v", begun)
		}
		named := s.row(two, buyer.ID).Items
		place.Restore()
		s.await(two)
		s.want(two, buyer, filing.Uncertain, cost)
		s.must(two.Defer(s.Context(), ledger.Deferral{Row: later.ID, Next: filing.Exists, Items: named}))
		s.want(two, later, filing.Exists, 0)
		s.must(two.Resolutions().MarkPlaced(s.Context(), buyer.ID, 0, []string{"order_1"}, "seen"))
		s.want(two, buyer, filing.Placed, 0)
	})
}

// A person assumes that the company of a row was created, and the answer to the creation
// comes late. It says nothing about the order, so the row is held once more.
func TestAssumedCreationIsAnsweredLate(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		s.config.Lease = 24 * time.Hour // nothing renews it, and so nothing compares
		ctx, l := s.Context(), s.open()
		forming := report("", "2026")
		forming.Request.Company.Sheet.LegalName = "One"
		row := s.add(l, "a", forming)[0]
		place.Keep()
		s.await(l)
		in := creationOf(row)
		created := createdBy(in, s.begin(l, in).Attempt)
		for range 10 { // more commits than the next process makes before it compares
			s.must(l.Entries().RecordDeposit(ctx, 1, ""))
		}
		lineage, commits := l.Fleet().Commits()
		place.Restore()
		elsewhere := s.open()
		elsewhere.Fleet().RecordCommit(lineage, commits)
		s.await(elsewhere)
		said, err := elsewhere.Resolutions().AssumeSent(ctx, []ledger.Intent{in}, s.clock(), "says Ana")
		if s.must(err); said[0].Attempt != 1 {
			s.Fatalf("%+v", said)
		}
		s.wantErr(elsewhere.Restores().End(ctx), ledger.ErrUncertainCompany)
		if err := l.RecordOutcome(ctx, created); err != nil { // of the connection that broke
			s.must(l.RecordOutcome(ctx, created))
		}
		got := s.row(elsewhere, row.ID)
		if got.Result != filing.Ready || got.Company != "comp_1" {
			s.Fatalf("%+v", got)
		}
		s.wantErr(elsewhere.Restores().End(ctx), ledger.ErrUnchecked)
	})
}

// hooked lets a test act at the next reading of the database's clock: within a
// change, or in the middle of a sweep.
func (s *suite) hooked() (next func(do func())) {
	s.now = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	s.config.Lease = 24 * time.Hour // nothing renews it, and so nothing else reads the clock
	var hook atomic.Pointer[func()]
	s.config.Clock = func() time.Time {
		if do := hook.Swap(nil); do != nil {
			(*do)()
		}
		return s.clock()
	}
	return func(do func()) { hook.Store(&do) }
}

// A sweep that read a row before its answer finds nothing out any more, and calls
// the attempt unsent. The ledger has the answer by then, and so does the memory of
// it: a ledger that goes back in time gets the answer back, and not the sweep's
// guess.
func TestSweepBesideAnAnswerThatTheLedgerLoses(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		next := s.hooked()
		l := s.open()
		row := s.add(l, "a", reports("a", 1)...)[0]
		place.Keep()
		s.await(l)
		s.send(l, row)
		answered := false
		next(func() { // the sweep has read the rows, and asks which processes live
			s.answer(l, row, filing.Accepted)
			answered = true
		})
		if n := s.sweep(l); n != 0 || !answered {
			s.Fatalf("%d orphans; answered: %v", n, answered)
		}
		s.want(l, row, filing.Placed, 0)
		place.Restore()
		s.await(l)
		s.halted(l)
		s.want(l, row, filing.Placed, 0)
	})
}

// A process finds an orphaned attempt just before the ledger goes back in time and loses the
// attempt. The attempt may have bought what it ordered: the row is uncertain, with the key
// and the money of its order.
func TestOrphanOfALedgerThatWentBackInTime(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		one, two := s.open(), s.open()
		rows := s.add(one, "a", report("comp_1", "2026"), report("comp_1", "2026"))
		place.Keep()
		s.await(one)
		s.await(two)
		s.send(two, rows[0])
		s.must(two.Close())
		orphans, err := one.Fleet().CollectOrphans(s.Context())
		if s.must(err); len(orphans) != 1 {
			s.Fatalf("%+v", orphans)
		}
		place.Restore()
		s.await(one)
		s.halted(one)
		s.want(one, rows[0], filing.Ready, 0)
		s.must(one.RecordOutcome(s.Context(), ledger.Outcome{
			Row:     rows[0].ID,
			Of:      rows[0].InBatch(),
			Attempt: orphans[0].LastAttempt,
			Owner:   orphans[0].Owner,
			Answer:  filing.Answer{Kind: filing.NoAnswer},
			Claims:  orphans[0].Claims,
			Cost:    money.Cost{Amount: orphans[0].Reserved},
			Message: "its process ended",
		}))
		s.want(one, rows[0], filing.Uncertain, cost)
		s.must(one.Restores().EndUnsent(s.Context()))
		s.exec(`UPDATE control SET restart_wait_until = 0`)
		if begun := s.begin(one, intent(rows[1])); len(begun.Taken) != 1 {
			s.Errorf("another row may buy it: %+v", begun)
		}
	})
}

// A row is written back while another row has its key, and its process crashes before the
// answer. What the row ordered is still known.
func TestOrphanThatWasWrittenBackBesideARival(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		one, two := s.open(), s.open()
		rows := s.add(one, "a", report("comp_1", "2026"), report("comp_1", "2026"))
		s.lost(two, rows[1])
		place.Keep()
		s.await(one)
		s.await(two)
		s.must(two.Resolutions().MarkNotPlaced(s.Context(), rows[1].ID, 0, "not there"))
		s.send(one, rows[0])
		place.Restore()
		s.await(one)
		s.want(one, rows[0], filing.Placing, cost)
		s.must(one.Close()) // without the answer
		s.await(two)
		orphans, err := two.Fleet().CollectOrphans(s.Context())
		if s.must(err); len(orphans) != 1 {
			s.Fatalf("%+v", orphans)
		}
		o := outcome(orphans[0].Row, orphans[0].LastAttempt, filing.NoAnswer)
		o.Claims = orphans[0].Claims
		s.must(two.RecordOutcome(s.Context(), o))
		s.want(two, rows[0], filing.Uncertain, cost)
		s.must(two.Resolutions().MarkNotPlaced(s.Context(), rows[1].ID, 0, "not there"))
		s.must(two.Resolutions().MarkPlaced(s.Context(), rows[0].ID, 0, []string{"order_7"}, "there"))
	})
}

// A process remembers for an hour what it sent. A row that it was sending when an
// older copy was made may have been bought: it is not called unsent.
func TestRestoredRowThatItsProcessHasForgotten(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		s.hooked()
		l := s.open()
		rows := s.add(l, "a", reports("a", 2)...)
		s.send(l, rows[0])
		place.Keep()
		s.await(l)
		s.answer(l, rows[0], filing.Accepted)
		s.pass(2 * time.Hour)
		s.place(l, rows[1]) // from then on the first is forgotten
		place.Restore()
		s.await(l)
		s.halted(l)
		s.want(l, rows[1], filing.Placed, 0)
		s.sweep(l)
		s.want(l, rows[0], filing.Uncertain, cost)
	})
}

// An SQLite file that is replaced while an intent is written: the commit goes to
// the file that is gone. The order is not sent, and the row is as the new file has
// it.
func TestFileIsReplacedWhileAnIntentIsWritten(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		if place.Database != "" {
			return // a server ends its connections
		}
		next := s.hooked()
		l := s.open()
		rows := s.add(l, "a", reports("a", 2)...)
		place.Keep()
		s.place(l, rows[0])
		replaced := false
		next(func() { // the transaction has begun
			place.Restore()
			replaced = true
		})
		begun, err := l.Begin(s.Context(), intent(rows[1]))
		if err == nil || begun.Attempt != 0 || !replaced {
			s.Fatalf("row %d goes out: %+v, %v; replaced: %v", rows[1].ID, begun, err, replaced)
		}
		if begun := s.begin(l, intent(rows[1])); begun.Halted.Reason != filing.HaltRestored {
			s.Errorf("%+v", begun)
		}
		s.halted(l)
		s.want(l, rows[0], filing.Placed, 0)
		s.want(l, rows[1], filing.Ready, 0)

		// The same with nothing else lost: nothing has to halt but for a while.
		s.must(l.Restores().EndUnsent(s.Context()))
		place.Keep()
		next(place.Restore)
		if begun, err := l.Begin(s.Context(), intent(rows[1])); err == nil || begun.Attempt != 0 {
			s.Fatalf("row %d goes out: %+v, %v", rows[1].ID, begun, err)
		}
		s.await(l)
		s.place(l, rows[1])
	})
}

// await makes a ledger notice that its connections were broken.
func (s *suite) await(l *ledger.Ledger) {
	s.Helper()
	for attempts := 0; ; attempts++ {
		if err := l.Fleet().AllowProbe(s.Context()); err == nil || attempts > 20 {
			s.must(err)
			s.exec(`UPDATE control SET restart_wait_until = 0`)
			return
		}
	}
}

// A process that starts on a ledger older than those before it have seen finds
// that out by the number that they have left in the data folder.
func TestProcessThatStartsOnARestoredLedger(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		before := s.open()
		rows := s.add(before, "a", reports("a", 3)...)
		place.Keep()
		s.await(before)
		s.place(before, rows[0])
		s.must(before.Close())
		place.Restore()
		after := s.open()
		s.halted(after)
		if begun := s.begin(after, intent(rows[0])); begun.Halted.Reason != filing.HaltRestored {
			s.Errorf("%+v", begun)
		}
		s.must(after.Restores().EndUnsent(s.Context()))
		if h, err := s.open().Fleet().Halt(s.Context()); err != nil || h.Reason == filing.HaltRestored {
			s.Errorf("found restored once more: %+v, %v", h, err)
		}
		// The same backup once more.
		place.Restore()
		s.await(after)
		s.halted(after)
	})
}

// A process that saw none of the lost commits may be the first to find an older copy in
// the ledger's place. It waits until the processes that saw them have compared.
func TestReplacedLedgerSendsNothingAtOnce(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		s.config.Lease = 24 * time.Hour // no process compares by itself
		one, two := s.open(), s.open()
		row := s.add(two, "a", reports("a", 1)...)[0]
		place.Keep()
		s.await(one)
		s.send(one, row)
		place.Restore()
		// The other writes of the process notice nothing, so they must not hide the copy either. The
		// connection of a server broke, so the first of them may fail.
		_ = two.Fleet().Announce(s.Context(), "worker", true)
		s.must(two.Fleet().Announce(s.Context(), "worker", true))
		s.must(two.Notifications().End(s.Context(), outbox.KindKey, ""))
		if _, err := two.Accounts().Add(s.Context(), "ana", []account.Role{account.Operator}); err != nil {
			s.Error(err)
		}
		begun, err := two.Begin(s.Context(), intent(row))
		if err != nil { // of the connection that broke
			begun = s.begin(two, intent(row))
		}
		if begun.Halted.Reason != filing.HaltRate || begun.Halted.Until.Before(s.clock().Add(7*time.Hour)) {
			s.Errorf("%+v", begun)
		}
		s.await(one)
		s.halted(one)
		if begun := s.begin(two, intent(row)); begun.Attempt != 0 {
			s.Errorf("%+v", begun)
		}
	})
}

// After the ledger lost commits of one process, another process makes more commits than were lost.
// The first process still finds out.
func TestLostCommitsAreOutnumbered(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		s.config.Lease = 24 * time.Hour // no process compares by itself
		one, two := s.open(), s.open()
		rows := s.add(two, "a", reports("a", 2)...)
		s.send(one, rows[0])
		place.Keep()
		s.await(one)
		s.answer(one, rows[0], filing.Accepted)
		s.place(one, rows[1])
		place.Restore()
		s.await(two)
		for range 10 {
			s.must(two.Entries().RecordDeposit(s.Context(), 1, ""))
		}
		s.await(one)
		if h, err := two.Fleet().Halt(s.Context()); err != nil || h.Reason != filing.HaltRestored {
			s.Fatalf("%+v, %v", h, err)
		}
		s.want(two, rows[0], filing.Placed, 0)
		s.want(two, rows[1], filing.Placed, 0)
	})
}

// The machine's clock was set back after a replaced file was noticed. Nothing was lost.
func TestRestartNoticedInTheFuture(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.exec(`UPDATE control SET restarted_at = 99999999999999, restart_commits = 1`)
		after := s.open()
		for range 3 {
			s.must(after.Entries().RecordDeposit(ctx, 1, ""))
		}
		if h, err := after.Fleet().Halt(ctx); err != nil || h.Reason != filing.NoHalt {
			s.Fatalf("%+v, %v", h, err)
		}
	})
}

// A ledger that goes back in time, past the check of an earlier restore, lacks that check.
func TestLostRestoreCheck(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		s.config.Lease = 24 * time.Hour // no process compares by itself
		one, two := s.open(), s.open()
		place.Keep()
		s.await(one)
		s.must(one.Restores().Begin(s.Context(), s.clock()))
		s.must(one.Restores().EndUnsent(s.Context()))
		s.await(two)
		place.Restore()
		s.await(two)
		if h, err := two.Fleet().Halt(s.Context()); err != nil || h.Reason != filing.HaltRestored {
			s.Fatalf("%+v, %v", h, err)
		}
	})
}

// A row that was submitted after the ledger lost another one may get its id. The orders
// and answers of the lost row are not those of the new one.
func TestIDOfALostRow(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		ctx := s.Context()
		one := s.open()
		s.add(one, "a", reports("a", 1)...)
		place.Keep()
		s.await(one)
		lost := s.add(one, "lost", reports("b", 3)...)
		intentOf := func(r ledger.Row) ledger.Intent {
			in := intent(r)
			in.Of = r.InBatch()
			return in
		}
		begun := s.begin(one, intentOf(lost[0]))
		s.begin(one, intentOf(lost[1]))
		answered := outcome(lost[1], 1, filing.Accepted)
		answered.Of = lost[1].InBatch()
		s.must(one.RecordOutcome(ctx, answered))
		place.Restore()
		s.await(one)
		s.halted(one)
		s.must(one.Restores().EndUnsent(ctx))
		s.exec(`UPDATE control SET restart_wait_until = 0`)

		found := s.add(one, "new", reports("c", 3)...)
		if found[0].ID != lost[0].ID {
			s.Fatalf("row %d got the id %d", lost[0].ID, found[0].ID)
		}
		late := outcome(lost[0], begun.Attempt, filing.Accepted)
		late.Of = lost[0].InBatch()
		s.wantErr(one.RecordOutcome(ctx, late), ledger.ErrNotFound)
		if begun := s.begin(one, intentOf(lost[2])); !begun.Lost {
			s.Errorf("an order of a lost row goes out as row %d: %+v", found[2].ID, begun)
		}
		wrong := ledger.Deferral{Row: lost[2].ID, Of: lost[2].InBatch(), Next: filing.Rejected, Message: "not found"}
		s.wantErr(one.Defer(ctx, wrong), ledger.ErrTransition)
		s.must(one.Fleet().AllowProbe(ctx))
		for _, r := range found {
			s.want(one, r, filing.Ready, 0)
		}

		again := s.begin(one, intentOf(found[1]))
		doubt := outcome(found[1], again.Attempt, filing.NoAnswer)
		doubt.Of = found[1].InBatch()
		s.must(one.RecordOutcome(ctx, doubt))
		of, id, by := one.Resolutions().For(lost[1]), lost[1].ID, "seen by ana"
		for _, decide := range map[string]func() error{
			"not placed": func() error { return of.MarkNotPlaced(ctx, id, again.Attempt, by) },
			"placed":     func() error { return of.MarkPlaced(ctx, id, again.Attempt, []string{"order_x"}, by) },
			"a company":  func() error { return of.NameCompany(ctx, id, "comp_x", nil, by) },
		} {
			s.wantErr(decide(), ledger.ErrTransition)
		}
		s.want(one, found[1], filing.Uncertain, 7500)
	})
}

// An order is answered after the ledger lost its row. The spreadsheet is uploaded again,
// and the ledger goes back in time once more: the process still has the answer, and the
// row does not stay in flight.
func TestAnswerToALostRowThatIsUploadedAgain(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		ctx := s.Context()
		l := s.open()
		s.add(l, "a", reports("a", 1)...)
		place.Keep()
		s.await(l)
		lost := s.add(l, "lost", reports("b", 1)...)[0]
		in := intent(lost)
		in.Of = lost.InBatch()
		answer := outcome(lost, s.begin(l, in).Attempt, filing.Accepted)
		answer.Of = lost.InBatch()
		place.Restore()
		s.await(l)
		s.halted(l)
		if err := l.RecordOutcome(ctx, answer); !errors.Is(err, ledger.ErrNotFound) {
			s.Fatal(err)
		}
		if again := s.add(l, "lost", reports("b", 1)...)[0]; again.ID != lost.ID {
			s.Fatalf("row %d got the id %d", lost.ID, again.ID)
		}
		place.Keep()
		s.await(l)
		s.must(l.Entries().RecordDeposit(ctx, 1, ""))
		place.Restore()
		s.await(l)
		s.halted(l)
		s.must(l.Fleet().AllowProbe(ctx))
		s.want(l, lost, filing.Placed, 0)
	})
}

// An answer to an attempt that the ledger does not know can only mean the same.
func TestAnswerToAnAttemptThatIsLost(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", reports("a", 2)...)
		_ = l.RecordOutcome(s.Context(), outcome(rows[0], 1, filing.NoAnswer))
		h, err := l.Fleet().Halt(s.Context())
		if s.must(err); h.Reason != filing.HaltRestored || !strings.Contains(h.Note, "attempt 1 of row 1") {
			t.Errorf("%+v", h)
		}
		if begun := s.begin(s.open(), intent(rows[1])); begun.Halted.Reason != filing.HaltRestored {
			t.Errorf("%+v", begun)
		}
	})
}

// After a start of the database server nothing is sent for a while: a process
// that knows more than the ledger says so meanwhile.
func TestNothingIsSentAtOnceAfterTheServerStarted(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		if s.config.DatabaseURL == "" {
			return // it has no server
		}
		l := s.open()
		row := s.add(l, "a", reports("a", 1)...)[0]
		s.exec(`UPDATE control SET server_started = 'before'`)
		begun := s.begin(l, intent(row))
		if begun.Halted.Reason != filing.HaltRate ||
			!begun.Halted.Until.Equal(s.clock().Add(8*time.Hour)) { // a third of the lease
			s.Fatalf("%+v", begun)
		}
		s.pass(8 * time.Hour)
		s.send(l, row)
		s.answer(l, row, filing.Accepted)
	})
}
