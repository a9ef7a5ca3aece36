package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

func TestBatchKeepsWhatItWasGiven(t *testing.T) { onBothDatabases(t, testBatchKeepsWhatItWasGiven) }

func testBatchKeepsWhatItWasGiven(s *suite) {
	l := s.open()
	want := ledger.Batch{
		ID:        "b1",
		File:      "Jahr’s “end”.xlsx",
		Sheet:     "Sheet 1",
		Product:   filing.AnnualReport,
		Options:   "--state DE",
		Again:     "asked for by Ana",
		Columns:   []string{"Company ID", "", "Année"},
		CreatedBy: "ana",
		CreatedAt: s.clock(),
	}
	created, err := l.CreateBatch(s.Context(), want)
	if err != nil || !created {
		s.Fatal(created, err)
	}
	rows := []ledger.Row{
		{
			Number:  3,
			Cells:   []byte(`["comp_1","ü"]`),
			Result:  filing.Ready,
			Cost:    money.Cost{Amount: 1, Certainty: money.Unknown},
			Request: report("comp_1", "2026").Request,
		},
		{
			Number:  5,
			Cells:   []byte(`[""]`),
			Result:  filing.Invalid,
			Message: "no company",
			Faults: []ledger.Fault{{Column: 0, Rule: "company.required", Message: "give one"},
				{Column: -1, Rule: "x", Warning: true}},
		},
		{
			Number:  9,
			Cells:   []byte(`["comp_1"]`),
			Result:  filing.Skipped,
			Message: "as row 3",
			Request: report("comp_1", "2026").Request,
		},
	}
	s.must(l.AddRows(s.Context(), "b1", rows[:1]))
	s.must(l.AddRows(s.Context(), "b1", rows[1:]))
	if b, err := l.Batch(s.Context(), "b1"); err != nil || b.Open || b.Rows != 0 {
		s.Fatalf("under import: %+v, %v", b, err)
	}
	s.sendable(l)
	s.must(l.OpenBatch(s.Context(), "b1"))
	want.Rows, want.Open, want.Root = 3, true, "b1"
	got, err := s.open().Batch(s.Context(), "") // another process reads the same
	if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		s.Fatalf("got  %+v, %v\nwant %+v", got, err, want)
	}
	for i, r := range s.rows(l, "b1") {
		want := rows[i]
		if r.Number != want.Number || string(r.Cells) != string(want.Cells) || r.Result != want.Result ||
			r.Message != want.Message || r.Cost != want.Cost || !slices.Equal(r.Faults, want.Faults) {
			s.Errorf("got %+v, want %+v", r, want)
		}
		if (r.Request == nil) != (want.Request == nil) ||
			r.Request != nil && r.Request.Order.AnnualReport.FilingYear != "2026" {
			s.Errorf("request of row %d: %+v", r.Number, r.Request)
		}
	}
	figures, err := l.Figures(s.Context(), "b1")
	counts := figures.Counts
	if err != nil || counts[filing.Ready] != 1 || counts[filing.Invalid] != 1 || counts[filing.Skipped] != 1 ||
		counts.Total() != 3 {
		s.Errorf("%v, %v", counts, err)
	}
}

// The same file again finds its batch; an import that a crash cut short is begun
// anew; one that a living process is at is left alone.
func TestImportIsMadeOnce(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, other := s.open(), s.open()
		ctx, b := s.Context(), ledger.Batch{ID: "b1", Product: filing.AnnualReport}
		create := func(l *ledger.Ledger) bool {
			s.Helper()
			created, err := l.CreateBatch(ctx, b)
			s.must(err)
			return created
		}
		create(l)
		s.must(l.AddRows(ctx, "b1", reports("b1", 3)))
		if _, err := other.CreateBatch(ctx, b); !errors.Is(err, ledger.ErrImporting) {
			s.Fatalf("another process is at it: %v", err)
		}
		if !create(l) {
			s.Fatal("the process itself may begin anew: its first import failed half-way")
		}
		s.must(l.AddRows(ctx, "b1", reports("b1", 2)))
		s.must(l.Close()) // the process is gone, the import not ended
		if !create(other) {
			s.Fatal("an import that a crash cut short is begun anew")
		}
		s.must(other.AddRows(ctx, "b1", reports("b1", 4)))
		s.must(other.OpenBatch(ctx, "b1"))
		if create(s.open()) || create(other) {
			s.Fatal("the same file again is the same batch")
		}
		if rows := s.rows(other, "b1"); len(rows) != 4 {
			s.Fatalf("%d rows, want 4: an earlier import shows", len(rows))
		}
	})
}

// A process that was taken for dead while it imported must not add its rows to
// the import that took its place: rows out = rows in.
func TestImportTakenOver(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		slow, next := s.open(), s.open()
		ctx, b := s.Context(), ledger.Batch{ID: "b1", Product: filing.AnnualReport}
		_, err := slow.CreateBatch(ctx, b)
		s.must(err)
		s.exec(`UPDATE processes SET host = 'elsewhere', expires_at = 0 WHERE id = (SELECT owner FROM batches)`)
		if created, err := next.CreateBatch(ctx, b); err != nil || !created {
			s.Fatal(created, err)
		}
		s.wantErr(slow.AddRows(ctx, "b1", reports("b1", 3)), ledger.ErrImport)
		s.wantErr(slow.OpenBatch(ctx, "b1"), ledger.ErrImport)
		s.must(next.AddRows(ctx, "b1", reports("b1", 3)))
		s.must(next.OpenBatch(ctx, "b1"))
		s.wantErr(next.AddRows(ctx, "b1", reports("b1", 3)), ledger.ErrImport)
		s.wantErr(next.AddRows(ctx, "none", reports("none", 1)), ledger.ErrNotFound)
		if n := len(s.rows(next, "b1")); n != 3 {
			s.Errorf("%d rows, want 3", n)
		}
	})
}

func TestBatchByTheBeginningOfItsID(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		s.wantErr(second(l.Batch(s.Context(), "")), ledger.ErrNotFound)
		for _, id := range []string{"ab", "abcd", "abce", "x%"} {
			s.add(l, id)
			s.pass(1e9)
		}
		for _, c := range []struct{ asked, found string }{
			{"", "x%"}, {"x", "x%"}, {"abcd", "abcd"}, {"ab", "ab"}, {"abc", ""}, {"a", ""}, {"y", ""}, {"%", ""},
			{"abcdef", ""}, {"AB", ""},
		} {
			b, err := l.Batch(s.Context(), c.asked)
			if b.ID != c.found || (err == nil) != (c.found != "") {
				s.Errorf("%q: %q, %v", c.asked, b.ID, err)
			}
		}
		all, err := l.Batches(s.Context())
		var ids []string
		for _, b := range all {
			ids = append(ids, b.ID)
		}
		if err != nil || !slices.Equal(ids, []string{"x%", "abce", "abcd", "ab"}) {
			s.Errorf("%v, %v", ids, err)
		}
	})
}

// Rows come out in the order in which they went in, however many pages that is
// and whatever became of them.
func TestRowsInOrder(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		s.add(l, "other", reports("other", 3)...)
		rows := s.add(l, "b1", reports("b1", 2345)...)
		if len(rows) != 2345 {
			s.Fatalf("%d rows", len(rows))
		}
		for _, i := range []int{2344, 0, 1000, 999} {
			s.place(l, rows[i])
		}
		n := 0
		for i, r := range s.rows(l, "b1") {
			if r.Number != i+2 || r.Batch != "b1" {
				s.Fatalf("row %d is number %d of %s", i, r.Number, r.Batch)
			}
			n += len(r.Items)
		}
		if n != 4 {
			s.Errorf("%d items, want 4", n)
		}
		for r, err := range l.Rows(s.Context(), "b1") { // leaving early is fine
			s.must(err)
			if r.Number > 3 {
				break
			}
		}
	})
}

// No batch waits behind another: each gets its share of what may be sent.
func TestSendableShares(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		large, small := s.add(l, "large", reports("large", 50)...), s.add(l, "small", reports("small", 2)...)
		ids, err := l.Backlog().ListSendable(s.Context(), "", 10)
		if err != nil || len(ids) > 10 || !slices.Contains(ids, small[0].ID) || !slices.Contains(ids, small[1].ID) ||
			!slices.Contains(ids, large[4].ID) {
			s.Fatalf("%v, %v", ids, err)
		}
		ids, err = l.Backlog().ListSendable(s.Context(), "large", 10)
		if err != nil || len(ids) != 10 || ids[0] != large[0].ID || ids[9] != large[9].ID {
			s.Fatalf("%v, %v", ids, err)
		}
		s.must(l.PauseBatch(s.Context(), "large"))
		if ids, err = l.Backlog().ListSendable(s.Context(), "large", 10); err != nil || len(ids) > 0 {
			s.Fatalf("of a paused batch: %v, %v", ids, err)
		}
		if ready, err := l.Backlog().LoadSendable(s.Context(),
			[]int64{large[0].ID, small[1].ID, small[0].ID, 999999}); err != nil || len(ready) != 2 ||
			ready[0].ID != small[0].ID {
			s.Fatalf("%v, %v", ready, err)
		}
		if ready, err := l.Backlog().LoadSendable(s.Context(), nil); err != nil || ready != nil {
			s.Fatal(ready, err)
		}
	})
}

func TestPauseAndResume(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		rows := s.add(l, "b1", reports("b1", 2)...)
		s.send(l, rows[0])
		s.must(l.PauseBatch(s.Context(), "b1"))
		if begun := s.begin(l, intent(rows[1])); !begun.Lost {
			s.Fatalf("a row of a paused batch: %+v", begun)
		}
		s.answer(l, rows[0], filing.Accepted) // what is out is recorded all the same
		s.want(l, rows[0], filing.Placed, 0)
		s.must(l.ResumeBatch(s.Context(), "b1"))
		s.place(l, rows[1])
		for _, err := range []error{l.PauseBatch(s.Context(), "none"), l.ResumeBatch(s.Context(), "none"),
			l.OpenBatch(s.Context(), "none")} {
			if !errors.Is(err, ledger.ErrNotFound) {
				s.Error(err)
			}
		}
	})
}

func TestCancelTakesBackWhatWasNotSent(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		rows := s.add(l, "b1", append(reports("b1", 5), agentOrder("comp_a"))...)
		placed, refused, lost, back, unsent, doubt := rows[0], rows[1], rows[2], rows[3], rows[4], rows[5]
		s.place(l, placed)
		s.send(l, doubt)
		s.answer(l, doubt, filing.NoAnswer)
		for _, r := range []ledger.Row{refused, lost, back} {
			s.send(l, r)
		}
		n, err := l.CancelBatch(s.Context(), "b1")
		if err != nil || n != 1 {
			s.Fatalf("%d rows taken back, %v; want the one that was not sent", n, err)
		}
		s.answer(l, refused, filing.Refused)
		s.answer(l, lost, filing.NoAnswer)
		s.answer(l, back, filing.NoFunds)
		s.want(l, placed, filing.Placed, 0)
		s.want(l, unsent, filing.Canceled, 0)
		s.want(l, refused, filing.Rejected, 0)
		s.want(l, lost, filing.Uncertain, cost)
		s.want(l, back, filing.Canceled, 0) // it came back unsent, to a batch that is no more
		// Sending it again would settle it, and could buy what nobody wants any more.
		s.want(l, doubt, filing.Uncertain, cost)
		s.must(l.Resolutions().MarkNotPlaced(s.Context(), lost.ID, 0, "not on the dashboard"))
		s.want(l, lost, filing.Canceled, 0)
		s.must(l.Fleet().AllowProbe(s.Context())) // for the 402 above
		if ids, err := l.Backlog().ListSendable(s.Context(), "b1", 10); err != nil || len(ids) > 0 {
			s.Errorf("%v may be sent in a canceled batch, %v", ids, err)
		}

		// Canceled again, nothing is left; a retry is a new wish.
		if n, err := l.CancelBatch(s.Context(), "b1"); err != nil || n != 0 {
			s.Error(n, err)
		}
		if n, err := l.RetryBatch(s.Context(), "b1"); err != nil || n != 1 {
			s.Fatal(n, err)
		}
		s.place(l, refused)
		s.want(l, unsent, filing.Canceled, 0)
	})
}

// What was taken back and never sent is ready again, and buys only what nobody
// has bought meanwhile. What was in doubt stays taken back.
func TestReviveMakesUnsentRowsReady(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		rows := s.add(l, "b1", reports("b1", 6)...)
		placed, refused, lost, broke, unsent, elsewhere := rows[0], rows[1], rows[2], rows[3], rows[4], rows[5]
		s.place(l, placed)
		for _, r := range []ledger.Row{refused, lost, broke} {
			s.send(l, r)
		}
		_, err := l.CancelBatch(ctx, "b1")
		s.must(err)
		s.answer(l, refused, filing.Refused)
		s.answer(l, lost, filing.NoAnswer)
		s.answer(l, broke, filing.NoFunds)
		s.must(l.Resolutions().MarkNotPlaced(ctx, lost.ID, 0, "not on the dashboard"))
		s.must(l.Fleet().AllowProbe(ctx)) // for the 402 above
		other := s.add(l, "b2", reports("b1", 6)[5])[0]
		s.place(l, other)

		if n, left, err := l.ReviveBatch(ctx, "b1"); err != nil || n != 3 || left != 1 {
			s.Fatal(n, left, err)
		}
		s.want(l, refused, filing.Rejected, 0)
		s.want(l, lost, filing.Canceled, 0)
		for _, r := range []ledger.Row{broke, unsent} {
			if got := s.want(l, r, filing.Ready, 0); got.Message != "" || got.Attempts != 0 {
				s.Errorf("%+v", got)
			}
			s.place(l, r)
		}
		if begun := s.begin(l, intent(s.row(l, elsewhere.ID))); begun.Attempt != 0 || len(begun.Taken) != 1 ||
			!begun.Taken[0].Bought {
			s.Errorf("bought twice: %+v", begun)
		}
		if n, left, err := l.ReviveBatch(ctx, "b1"); err != nil || n != 0 || left != 1 {
			s.Error(n, left, err)
		}
	})
}

// A batch that waits for its approval waits for it, too, once it is revived.
func TestReviveAsksForTheApprovalAgain(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		row := s.add(l, "b1", reports("b1", 1)...)[0]
		s.must(approval.New(l).Request(ctx, "b1", "plan"))
		_, err := l.CancelBatch(ctx, "b1")
		s.must(err)
		if n, _, err := l.ReviveBatch(ctx, "b1"); err != nil || n != 1 {
			s.Fatal(n, err)
		}
		if begun := s.begin(l, intent(s.row(l, row.ID))); !begun.Lost {
			s.Errorf("sent without its approval: %+v", begun)
		}
	})
}

func TestRetryMakesRejectedRowsReady(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		rows := s.add(l, "b1", reports("b1", 3)...)
		s.send(l, rows[0])
		s.answer(l, rows[0], filing.Refused)
		s.must(l.Defer(s.Context(),
			ledger.Deferral{Row: rows[1].ID, Next: filing.Rejected, Message: "no such company"}))
		s.place(l, rows[2])
		if n, err := l.RetryBatch(s.Context(), "b1"); err != nil || n != 2 {
			s.Fatal(n, err)
		}
		for _, r := range rows[:2] {
			if got := s.want(l, r, filing.Ready, 0); got.Attempts != 0 || got.Message != "" {
				s.Errorf("%+v", got)
			}
			s.place(l, r)
		}
	})
}

func TestFigures(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		s.must(l.Entries().RecordDeposit(s.Context(), 4*cost, ""))
		rows := s.add(l, "b1", append(reports("b1", 5), report("comp_b11", "2026"))...)
		s.place(l, rows[0])
		s.send(l, rows[1])
		s.answer(l, rows[1], filing.NoAnswer)
		s.send(l, rows[2])
		s.send(l, rows[3])
		if begun := s.begin(l, intent(rows[4])); !begun.Short {
			s.Fatalf("%+v", begun)
		}
		s.must(l.Defer(s.Context(),
			ledger.Deferral{Row: rows[5].ID, Next: filing.Ready, Wait: intent(rows[1]).Claims[0].Key}))
		f := s.figures(l, "b1")
		if f.Spent != (money.Cost{Amount: cost}) || f.Reserved != (money.Cost{Amount: 3 * cost}) || f.Short != 1 ||
			f.Behind != 1 || f.Waiting() != 2 || f.Later != 0 || f.Counts[filing.Placing] != 2 ||
			f.Counts.Total() != 6 || f.Left() != 4 {
			s.Fatalf("%+v", f)
		}
		s.answer(l, rows[2], filing.Accepted)
		out := outcome(s.row(l, rows[3].ID), 1, filing.NotSent)
		out.Due = s.clock().Add(1e10)
		s.must(l.RecordOutcome(s.Context(), out))
		if f := s.figures(l, "b1"); f.Later != 1 || f.NextDue.UnixMilli() != out.Due.UnixMilli() || f.Short != 0 ||
			f.Behind != 1 || f.Counts[filing.Ready] != 3 {
			s.Fatalf("the void lets the short row go: %+v", f)
		}
	})
}

// Spent counts what was charged to rows that are uncertain or canceled, and money counts
// once: what is reserved for a row that is sent again is not needed for it, too. The cost
// of each row in the results adds up to the same.
func TestFiguresCountAllMoneyOnce(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l := s.open()
		partly := report("comp_2", "2026")
		partly.Request.Order.RegisteredAgent = &filing.RegisteredAgentItem{}
		rows := s.add(l, "b1", agentOrder("comp_1"), partly, report("comp_3", "2026"), report("comp_4", "2026"))
		for _, r := range rows[:2] {
			s.send(l, r)
		}
		s.answer(l, rows[0], filing.NoAnswer) // it is sent again
		answered := outcome(s.row(l, rows[1].ID), 1, filing.Accepted)
		answered.Items = answered.Items[:1]
		answered.Items[0].Cost.Amount = cost / 3
		s.must(l.RecordOutcome(s.Context(), answered))
		s.want(l, rows[0], filing.Ready, cost)
		s.want(l, rows[1], filing.Uncertain, cost-cost/3)
		f := s.figures(l, "b1")
		all, err := f.Cost()
		if err != nil || f.Spent.Amount != cost/3 || f.Reserved.Amount != 2*cost-cost/3 || f.Needed.Amount != 2*cost ||
			all.Amount != 4*cost || f.Orders != 3 {
			s.Errorf("%+v, %v in all, %v", f, all, err)
		}
		if queued, needed, err := l.Backlog().Total(s.Context()); err != nil || queued != 3 || needed != f.Needed {
			s.Errorf("%d rows for %v wait: %v", queued, needed, err)
		}
		var moved money.Cost
		for _, r := range s.rows(l, "b1") {
			moved, err = moved.Plus(r.Moved())
			s.must(err)
		}
		if sum, err := f.Spent.Plus(f.Reserved); err != nil || moved != sum {
			s.Errorf("the rows cost %v, want %v; %v", moved, sum, err)
		}
	})
}

// An order that was bought before is none, wherever orders are counted.
func TestFiguresCountNoOrderThatWasBoughtBefore(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l := s.open()
		rows := s.add(l, "b1", reports("b1", 3)...)
		s.must(l.Quotes().Save(s.Context(), []ledger.RowQuote{
			{Row: rows[0].ID, Cost: money.Cost{Amount: cost}},
			{Row: rows[1].ID, Cost: money.Cost{Certainty: money.Unknown}},
			{Row: rows[2].ID, Note: ledger.BoughtBefore},
		}))
		if f := s.figures(l, "b1"); f.Orders != 2 || f.Needed != (money.Cost{Amount: cost, Certainty: money.Unknown}) {
			s.Errorf("%+v", f)
		}
	})
}

// A sum is exact only where each of its parts is, and says so of itself alone.
func TestFiguresSayWhereASumIsTheLeast(t *testing.T) {
	exact, least := money.Cost{Amount: cost}, money.Cost{Amount: cost, Certainty: money.Unknown}
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		for i, c := range []struct {
			placed, sent, ready money.Cost // a row of each
			spent, held         money.Cost
		}{
			{exact, exact, exact, exact, exact},
			{least, exact, exact, least, exact},
			{exact, least, exact, exact, least},
			{exact, exact, least, exact, exact},
			{exact, money.Cost{Certainty: money.Unknown}, exact, exact, money.Cost{Certainty: money.Unknown}},
		} {
			id := fmt.Sprintf("b%d", i)
			rows := reports(id, 3)
			rows[0].Cost, rows[1].Cost, rows[2].Cost = c.placed, c.sent, c.ready
			rows = s.add(l, id, rows...)
			s.place(l, rows[0])
			s.send(l, rows[1])
			for _, class := range []filing.AnswerKind{"", filing.NoAnswer} {
				if class != "" {
					s.answer(l, rows[1], class)
				}
				if f := s.figures(l, id); f.Spent != c.spent || f.Reserved != c.held {
					s.Errorf("%s after %q: spent %v and held %v, want %v and %v", id, class, f.Spent, f.Reserved,
						c.spent, c.held)
				}
			}
			for _, u := range s.news(l).Pending {
				if u.Batch == id && u.Reserved != c.held {
					s.Errorf("%s: the news says %v, want %v", id, u.Reserved, c.held)
				}
			}
		}
	})
}
