package ledger_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// checked is a ledger that is backed up, used, and restored.
type checked struct {
	*store
	l *ledger.Ledger
}

// onBackedUp gives a ledger with a batch of which the first row is placed.
func onBackedUp(t *testing.T, test func(r *checked, rows []ledger.Row)) {
	onBothDatabases(t, func(s *store) {
		r := &checked{s, s.open()}
		s.must(r.l.RecordDeposit(s.Context(), 1_000_000, ""))
		rows := s.add(r.l, "a", reports("a", 6)...)
		s.place(r.l, rows[0])
		test(r, rows)
		s.must(r.l.Audit(s.Context()))
	})
}

// backup copies the ledger.
func (r *checked) backup() *copied {
	r.Helper()
	c, err := export(r.Context(), r.l, nil)
	r.must(err)
	return c
}

// restore puts a copy in the ledger's place, and lets orders be sent again.
func (r *checked) restore(c *copied) {
	r.Helper()
	r.must(r.l.Close())
	c.load(r.store, ledger.Location{Dir: r.config.Dir, DatabaseURL: r.config.DatabaseURL})
	r.l = r.open()
	r.must(r.l.Fleet().EndRestored(r.Context()))
	r.exec(`UPDATE control SET settling_until = 0`)
}

// isHeld tries to send a row, which is not sent, and stays out of the queue from then on.
func (r *checked) isHeld(row ledger.Row) {
	r.Helper()
	row = r.row(r.l, row.ID)
	if begun := r.begin(r.l, intent(row)); begun.Try != 0 || !begun.Unchecked && !begun.Lost {
		r.Errorf("row %d of batch %s goes out: %+v", row.Number, row.Batch, begun)
	}
	if ids, err := r.l.Sendable(r.Context(), row.Batch, 100); err != nil || slices.Contains(ids, row.ID) {
		r.Errorf("row %d of batch %s is sendable: %v, %v", row.Number, row.Batch, ids, err)
	}
	if left, err := r.l.Unfinished(r.Context(), row.Batch); err != nil || left.Checks == 0 || left.Keys != 0 {
		r.Errorf("%+v, %v", left, err)
	}
}

// notOrdered has a person say that n rows of a batch were not ordered.
func (r *checked) notOrdered(batch string, n int) error {
	return r.l.Restores().MarkNotOrdered(ledger.AtTerminal(r.Context(), "ana"), batch, n)
}

// The rows that the backup has as ready are not sent when orders are sent again, until a
// person says that they were not ordered meanwhile, for as many rows as the person saw.
func TestRestoredRowsAreHeld(t *testing.T) {
	onBackedUp(t, func(r *checked, rows []ledger.Row) {
		c := r.backup()
		r.place(r.l, rows[1])
		r.restore(c)
		for _, row := range rows[1:3] {
			r.isHeld(row)
		}
		if err := r.notOrdered("a", 4); !errors.Is(err, ledger.ErrStale) {
			r.Errorf("of another number of rows: %v", err)
		}
		r.isHeldFor("a", 5)
		r.must(r.notOrdered("a", 5))
		r.isHeldFor("a", 0)
		r.place(r.l, r.row(r.l, rows[2].ID))
		r.place(r.l, r.row(r.l, rows[5].ID))
	})
}

// isHeldFor compares how many rows of a batch are held.
func (r *checked) isHeldFor(batch string, want int) {
	r.Helper()
	if n, err := r.l.Restores().Unchecked(r.Context(), batch); err != nil || n != want {
		r.Errorf("%d rows of batch %s are held, %v; want %d", n, batch, err, want)
	}
}

// Another row has bought what a held row orders. The held row keeps its message when the
// rows of its batch are marked as not ordered.
func TestHeldRowIsThereAlready(t *testing.T) {
	onBackedUp(t, func(r *checked, rows []ledger.Row) {
		c := r.backup()
		r.restore(c)
		r.isHeld(rows[1])
		const message = "bought before in batch b"
		row := r.row(r.l, rows[1].ID)
		r.must(r.l.Defer(r.Context(), ledger.Deferral{Row: row.ID, Next: filing.Exists, Message: message}))
		r.must(r.notOrdered("a", 4))
		if row := r.row(r.l, row.ID); row.Result != filing.Exists || row.Message != message {
			r.Errorf("row %d is %s: %q", row.Number, row.Result, row.Message)
		}
	})
}

// What was submitted after the backup is held when it is submitted again, by anybody, for
// as long as a person has not ended the check; and so is a batch that the backup has and
// that was submitted after it, and a row that was canceled at the backup.
func TestRowsSubmittedAfterTheRestoreAreHeld(t *testing.T) {
	onBackedUp(t, func(r *checked, rows []ledger.Row) {
		ctx := r.Context()
		_, err := r.l.CancelBatch(ctx, "a")
		r.must(err)
		_, err = r.l.CreateBatch(ctx, ledger.Batch{ID: "draft", File: "draft.csv", Product: filing.AnnualReport})
		r.must(err)
		draft := reports("draft", 2)
		draft[0].Number, draft[1].Number = 2, 3
		r.must(r.l.AddRows(ctx, "draft", draft))
		r.must(r.l.PrepareBatch(ctx, "draft"))
		c := r.backup()
		lost := r.add(r.l, "lost", reports("lost", 2)...)
		r.place(r.l, lost[0])
		r.restore(c)
		if n, _, err := r.l.ReviveBatch(ctx, "a"); err != nil || n != 5 {
			r.Fatalf("%d, %v", n, err)
		}
		r.must(r.l.OpenBatch(ctx, "draft"))
		again := r.add(r.l, "lost", reports("lost", 2)...)
		for _, row := range []ledger.Row{rows[1], r.rows(r.l, "draft")[0], again[0]} {
			r.isHeld(row)
		}
		all, err := r.l.Restores().Batches(ctx)
		r.must(err)
		if len(all) != 3 || all[0].New || all[0].Unchecked != 5 || !all[2].New || all[2].ID != "lost" ||
			all[2].Unchecked != 2 {
			r.Errorf("%+v", all)
		}
		if err := r.l.Restores().EndCheck(ctx); !errors.Is(err, ledger.ErrUnchecked) {
			r.Errorf("the check ends: %v", err)
		}
		r.isHeld(again[0])
		for batch, n := range map[string]int{"a": 5, "draft": 2, "lost": 2} {
			r.must(r.notOrdered(batch, n))
		}
		later := r.add(r.l, "later", reports("later", 1)...)
		r.isHeld(later[0])
		r.must(r.notOrdered("later", 1))
		r.must(r.l.Restores().EndCheck(ledger.AtTerminal(ctx, "ana")))
		last, err := r.l.Restores().Last(ctx)
		if r.must(err); last.Checking() || last.CheckEndedBy != "ana" || !last.Resumed() || last.By != "ana" {
			r.Errorf("%+v", last)
		}
		r.place(r.l, r.add(r.l, "free", reports("free", 1)...)[0])
	})
}

// A row that may have been sent is not canceled: it would say that it was not sent.
func TestUncheckedRowsAreNotCanceled(t *testing.T) {
	onBackedUp(t, func(r *checked, rows []ledger.Row) {
		r.restore(r.backup())
		if _, err := r.l.CancelBatch(r.Context(), "a"); !errors.Is(err, ledger.ErrUnchecked) {
			r.Errorf("the batch is canceled: %v", err)
		}
		r.isHeld(rows[1])
		r.must(r.notOrdered("a", 5))
		if n, err := r.l.CancelBatch(r.Context(), "a"); err != nil || n != 5 {
			r.Errorf("%d rows are canceled, %v", n, err)
		}
	})
}

// A row that was checked after one restore is held again after the next one, whether the
// backup is newer than the check or older.
func TestRestoredTwice(t *testing.T) {
	onBackedUp(t, func(r *checked, rows []ledger.Row) {
		older := r.backup()
		r.restore(older)
		r.must(r.notOrdered("a", 5))
		newer := r.backup()
		r.place(r.l, r.row(r.l, rows[1].ID))
		r.restore(newer)
		r.isHeld(rows[1])
		r.must(r.notOrdered("a", 5))
		r.place(r.l, r.row(r.l, rows[2].ID))
		r.restore(older)
		r.isHeld(rows[1])
		r.isHeld(rows[2])
	})
}

// A row that was made uncertain, or was uncertain at the backup, is sent again once a
// person has marked it as not placed; and one that a person has marked as placed never.
func TestResolvedRowsAreChecked(t *testing.T) {
	onBackedUp(t, func(r *checked, rows []ledger.Row) {
		ctx := r.Context()
		r.send(r.l, rows[1]) // its answer is out at the backup
		r.send(r.l, rows[2])
		r.answer(r.l, rows[2], filing.NoAnswer)
		c := r.backup()
		r.restore(c)
		for _, b := range r.suppose(r.l, c.At, r.row(r.l, rows[3].ID), r.row(r.l, rows[4].ID)) {
			if b.Try == 0 {
				r.Fatalf("%+v", b)
			}
		}
		r.isHeldFor("a", 1)
		for _, row := range rows[1:4] {
			row = r.want(r.l, row, filing.Uncertain, cost)
			r.must(r.l.Resolutions().MarkNotPlaced(ctx, row.ID, row.Tries, "Ana looked"))
			r.place(r.l, r.row(r.l, row.ID))
		}
		r.must(r.l.Resolutions().MarkPlaced(ctx, rows[4].ID, 0, []string{"order_x"}, "Ana saw it"))
		r.want(r.l, rows[4], filing.Placed, 0)
		r.isHeld(rows[5])
	})
}

// A process of before the restore has an order out. Its rows are marked before it has
// ended: its answer counts all the same, nothing that it sent is sent again, and where a
// person was wrong about it, both rows say so.
func TestMarkedBeforeTheFormerProcessEnded(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		ctx := s.Context()
		s.config.Clock, s.config.Lease = nil, 0
		r := &checked{s, s.open()}
		former := r.l
		s.must(former.RecordDeposit(ctx, 1_000_000, ""))
		rows := s.add(former, "a", reports("a", 3)...)
		c := r.backup()
		tries := []int{s.send(former, rows[0]), s.send(former, rows[1])}
		s.silence(former)
		c.load(s, ledger.Location{Dir: s.config.Dir, DatabaseURL: s.config.DatabaseURL})
		r.l = s.open()
		s.must(r.l.Fleet().EndRestored(ctx))
		s.exec(`UPDATE control SET settling_until = 0`)

		s.suppose(r.l, c.At, s.row(r.l, rows[0].ID), s.row(r.l, rows[1].ID))
		s.must(r.l.Resolutions().MarkNotPlaced(ctx, rows[1].ID, 0, "Ana was wrong"))
		s.place(r.l, s.row(r.l, rows[1].ID))
		for i, try := range tries {
			out := outcome(rows[i], try, filing.Accepted)
			out.Items[0].OrderID += "-former"
			s.must(former.RecordOutcome(ctx, out))
		}
		s.want(r.l, rows[0], filing.Placed, 0)
		if begun := s.begin(former, intent(rows[2])); begun.Try != 0 {
			s.Errorf("the former process sends: %+v", begun)
		}
		s.exec(`UPDATE control SET settling_until = 0`)
		r.isHeld(rows[2])
		if twice := s.row(r.l, rows[1].ID); len(twice.Items) != 2 || !strings.Contains(twice.Message, "bought twice") {
			s.Errorf("%q, %+v", twice.Message, twice.Items)
		}
		s.must(r.l.Audit(ctx))
		_ = former.Close()
	})
}

// An event of an order whose row is lost clears that row when its spreadsheet is
// submitted again and its rows are marked as uncertain.
func TestEventsOfLostRows(t *testing.T) {
	onBackedUp(t, func(r *checked, _ []ledger.Row) {
		c := r.backup()
		lost := r.add(r.l, "lost", reports("lost", 2)...)
		r.place(r.l, lost[0])
		r.restore(c)
		r.pass(time.Minute)
		r.tell(r.l, "evt_1", "order_lost", "annual_report", "submitted", r.clock(), "companyId", "comp_lost0",
			"filingState", "DE")
		again := r.add(r.l, "lost", reports("lost", 2)...)
		r.isHeld(again[0])
		r.suppose(r.l, c.At, r.row(r.l, again[0].ID), r.row(r.l, again[1].ID))
		r.pass(time.Minute)
		if settled := r.apply(r.l); len(settled) != 1 || settled[0].Row != again[0].ID {
			r.Errorf("%+v", settled)
		}
		if row := r.want(r.l, again[0], filing.Placed, 0); len(row.Items) != 1 || row.Items[0].OrderID != "order_lost" {
			r.Errorf("%+v", row.Items)
		}
		r.want(r.l, again[1], filing.Uncertain, cost)
	})
}

// A person who knows that nothing was ordered ends the halt and the check at once.
func TestNothingOrdered(t *testing.T) {
	onBackedUp(t, func(r *checked, rows []ledger.Row) {
		ctx := context.WithoutCancel(r.Context())
		r.restore(r.backup())
		r.isHeld(rows[1])
		r.must(r.l.Restores().NothingOrdered(ctx))
		r.place(r.l, r.row(r.l, rows[1].ID))
		r.place(r.l, r.add(r.l, "b", reports("b", 1)...)[0])
		if checking, err := r.l.Restores().Checking(ctx); err != nil || checking {
			r.Errorf("%v, %v", checking, err)
		}
	})
}

// former runs a test on a ledger that was restored while a process from before the restore
// waits for the answer to the order of the first row.
func former(t *testing.T, n int, test func(s *store, before, after *ledger.Ledger, rows []ledger.Row)) {
	onBothDatabases(t, func(s *store) {
		ctx := s.Context()
		// A process that renews its lease would write back what it knows too early.
		s.config.Clock, s.config.Lease = nil, time.Hour
		before := s.open()
		s.must(before.RecordDeposit(ctx, 1_000_000, ""))
		var same []ledger.Row
		for range n {
			same = append(same, report("comp_1", "2026"))
		}
		rows := s.add(before, "a", same...)
		c, err := export(ctx, before, nil)
		s.must(err)
		s.send(before, rows[0])
		s.silence(before)
		c.load(s, ledger.Location{Dir: s.config.Dir, DatabaseURL: s.config.DatabaseURL})
		after := s.open()
		s.must(after.Fleet().EndRestored(ctx))
		s.exec(`UPDATE control SET settling_until = 0`)
		test(s, before, after, rows)
		s.must(after.Audit(ctx))
		_ = before.Close()
	})
}

// A row whose order the restore lost is marked as placed while another row has the key. It
// gets the key, and the other row is not sent.
func TestPlacedBesideARivalOfARestore(t *testing.T) {
	former(t, 2, func(s *store, before, after *ledger.Ledger, rows []ledger.Row) {
		for _, b := range s.suppose(after, s.clock(), s.row(after, rows[1].ID)) {
			if b.Try == 0 {
				s.Fatalf("%+v", b)
			}
		}
		s.must(before.RecordOutcome(s.Context(), outcome(rows[0], 1, filing.NoAnswer)))
		s.want(after, rows[0], filing.Uncertain, cost)
		s.must(after.Resolutions().MarkPlaced(s.Context(), rows[0].ID, 0, []string{"order_x"}, "Ana saw it"))
		s.must(after.Audit(s.Context()))
		s.must(after.Resolutions().MarkNotPlaced(s.Context(), rows[1].ID, 0, "Ana looked"))
		s.must(after.Fleet().EndRestored(s.Context()))
		s.exec(`UPDATE control SET settling_until = 0`)
		if begun := s.begin(after, intent(s.row(after, rows[1].ID))); len(begun.Taken) != 1 || !begun.Taken[0].Bought {
			s.Errorf("it is bought again: %+v", begun)
		}
	})
}
