package ledger_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Only an uncertain row is resolved, either way, and its money goes with it.
func TestResolve(t *testing.T) { onBothDatabases(t, testResolve) }

func testResolve(s *suite) {
	l, ctx := s.open(), s.Context()
	s.must(l.Entries().RecordDeposit(ctx, 3*cost, ""))
	rows := s.add(l, "a", reports("a", 3)...)
	for _, r := range rows[:2] {
		s.send(l, r)
		s.answer(l, r, filing.NoAnswer)
	}
	s.add(l, "b", reports("b", 1)...)
	var ids []int64
	uncertain, err := l.Resolutions().UncertainRows(ctx, "")
	for _, r := range uncertain {
		ids = append(ids, r.ID)
	}
	if err != nil || !slices.Equal(ids, []int64{rows[0].ID, rows[1].ID}) {
		s.Fatal(ids, err)
	}
	if none, err := l.Resolutions().UncertainRows(ctx, "b"); err != nil || len(none) > 0 {
		s.Fatal(none, err)
	}

	s.wantErr(l.Resolutions().MarkPlaced(ctx, rows[0].ID, 0, []string{"order_1", "order_2"}, "seen"),
		ledger.ErrTooManyOrders)
	s.want(l, rows[0], filing.Uncertain, cost)
	s.must(l.Resolutions().MarkPlaced(ctx, rows[0].ID, 0, []string{"order_1"}, "seen on the dashboard by Ana"))
	r := s.want(l, rows[0], filing.Placed, 0)
	if len(r.Items) != 1 || r.Items[0].OrderID != "order_1" || r.Items[0].Product != filing.AnnualReport ||
		r.Message != "seen on the dashboard by Ana" || r.Cost.Amount != cost {
		s.Errorf("%+v", r)
	}
	// An order that is another row's is a slip of the pen.
	s.wantErr(l.Resolutions().MarkPlaced(ctx, rows[1].ID, 0, []string{"order_1"}, ""), ledger.ErrOrderTaken)
	s.want(l, rows[1], filing.Uncertain, cost)
	s.must(l.Resolutions().MarkNotPlaced(ctx, rows[1].ID, 0, "not there"))
	if r := s.want(l, rows[1], filing.Ready, 0); r.Attempts != 0 || r.Message != "not there" {
		s.Errorf("%+v", r)
	}
	if b := s.book(l); b.Posted != cost || b.Reserved != 0 {
		s.Errorf("%+v", b)
	}
	s.place(l, rows[1])
	// The key of the first is bought for ever.
	rival := s.add(l, "c", report("comp_a0", "2026"))[0]
	if begun := s.begin(l, intent(rival)); len(begun.Taken) != 1 || !begun.Taken[0].Bought {
		s.Errorf("%+v", begun)
	}

	s.send(l, rows[2])
	for _, id := range []int64{rows[0].ID, rows[1].ID, rows[2].ID, rival.ID} {
		for _, err := range []error{l.Resolutions().MarkPlaced(ctx, id, 0, nil, ""),
			l.Resolutions().MarkNotPlaced(ctx, id, 0, "")} {
			if !errors.Is(err, ledger.ErrTransition) {
				s.Errorf("row %d: %v", id, err)
			}
		}
	}
	s.wantErr(l.Resolutions().MarkPlaced(ctx, 1<<40, 0, nil, ""), ledger.ErrNotFound)
	s.wantErr(second(l.Row(ctx, 1<<40)), ledger.ErrNotFound)
}

// A row that waited for an uncertain purchase goes on when it is resolved.
func TestResolveWakes(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.must(l.Entries().RecordDeposit(ctx, cost, ""))
		rows := s.add(l, "a", report("comp_1", "2026"), report("comp_1", "2026"), report("comp_2", "2026"))
		s.send(l, rows[0])
		s.answer(l, rows[0], filing.NoAnswer)
		s.must(l.Defer(ctx, ledger.Deferral{Row: rows[1].ID, Next: filing.Ready, Wait: intent(rows[0]).Claims[0].Key}))
		if begun := s.begin(l, intent(rows[2])); !begun.Short {
			s.Fatalf("%+v", begun)
		}
		s.must(l.Resolutions().MarkNotPlaced(ctx, rows[0].ID, 0, ""))
		for _, r := range rows {
			if got := s.want(l, r, filing.Ready, 0); got.BlockedOn != "" {
				s.Errorf("%+v", got)
			}
		}
		s.place(l, rows[1])
	})
}

// A decision about one sending of a row settles no later one.
func TestResolveIsAboutAnAttempt(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		row := s.add(l, "a", report("comp_1", "2026"))[0]
		s.send(l, row)
		s.answer(l, row, filing.NoAnswer)
		first := s.want(l, row, filing.Uncertain, cost)
		s.must(l.Resolutions().MarkNotPlaced(ctx, row.ID, first.LastAttempt, "not there"))
		s.send(l, row)
		s.answer(l, row, filing.NoAnswer)
		for _, err := range []error{
			l.Resolutions().MarkNotPlaced(ctx, row.ID, first.LastAttempt, ""),
			l.Resolutions().MarkPlaced(ctx, row.ID, first.LastAttempt, []string{"order_1"}, ""),
			l.Resolutions().MarkFormed(ctx, row.ID, first.LastAttempt, []string{"order_1"}, "comp_9", nil, ""),
			l.Resolutions().MarkCreated(ctx, row.ID, first.LastAttempt, filing.Company{ID: "comp_9"}, ""),
			l.Resolutions().MarkAssumedPlaced(ctx, row.ID, first.LastAttempt, []string{"order_1"},
				filing.Company{ID: "comp_9"}, nil, ""),
		} {
			if !errors.Is(err, ledger.ErrStale) {
				s.Error(err)
			}
		}
		second := s.want(l, row, filing.Uncertain, cost)
		s.must(l.Resolutions().MarkPlaced(ctx, row.ID, second.LastAttempt, []string{"order_1"}, "there"))
		s.want(l, row, filing.Placed, 0)
	})
}

// A placed formation that lacks its company is completed, once.
func TestNameCompany(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		r := report("", "")
		order := &r.Request.Order
		order.AnnualReport, order.Formation, order.EIN = nil, &filing.FormationItem{}, &filing.EINItem{}
		rows := s.add(l, "a", r, report("comp_1", "2026"))
		s.wantErr(l.Resolutions().NameCompany(ctx, rows[0].ID, "comp_9", nil, ""), ledger.ErrTransition)
		s.place(l, rows[0])
		s.place(l, rows[1])
		unnamed, err := l.Resolutions().UnnamedFormations(ctx, "")
		if s.must(err); len(unnamed) != 1 || unnamed[0].ID != rows[0].ID {
			s.Errorf("%+v", unnamed)
		}
		for range 2 {
			s.must(
				l.Resolutions().
					NameCompany(ctx, rows[0].ID, "comp_9", ledger.FormedClaims(order, "comp_9"), "says Ana"),
			)
		}
		if got := s.want(l, rows[0], filing.Placed, 0); got.Company != "comp_9" || got.Message != "says Ana" {
			s.Errorf("%+v", got)
		}
		s.wantErr(l.Resolutions().NameCompany(ctx, rows[0].ID, "comp_8", nil, ""), ledger.ErrTransition)
		if unnamed, err := l.Resolutions().UnnamedFormations(ctx, "a"); err != nil || len(unnamed) > 0 {
			s.Error(unnamed, err)
		}
		again := report("comp_9", "2026")
		again.Request.Order.AnnualReport, again.Request.Order.EIN = nil, &filing.EINItem{}
		rival := s.add(l, "b", again)[0]
		if begun := s.begin(l, intent(rival)); len(begun.Taken) != 1 || !begun.Taken[0].Bought {
			s.Errorf("%+v", begun)
		}
	})
}

// Order IDs belong to the items in the order in which the page lists them, whatever the
// order of the claims.
func TestOrderIDsInTheOrderOfTheItems(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		s.must(l.Entries().RecordDeposit(s.Context(), 1_000_000, ""))
		both := reports("a", 1)
		both[0].Request.Order.RegisteredAgent = &filing.RegisteredAgentItem{}
		r := s.add(l, "a", both...)[0]
		attempt := s.send(l, r)
		lost := outcome(s.row(l, r.ID), attempt, filing.NoAnswer)
		lost.Repeatable = false
		slices.Reverse(lost.Claims)
		s.must(l.RecordOutcome(s.Context(), lost))
		s.must(l.Resolutions().MarkPlaced(s.Context(), r.ID, attempt, []string{"order_report", "order_agent"}, "there"))
		got := make(map[filing.Product]string)
		for _, i := range s.row(l, r.ID).Items {
			got[i.Product] = i.OrderID
		}
		if got[filing.AnnualReport] != "order_report" || got[filing.RegisteredAgent] != "order_agent" {
			s.Errorf("%v", got)
		}
	})
}

// A row is marked as placed with the order of one of its two items. The other one may have
// cost nothing, so the row's cost is an estimate.
func TestPlacedInPartIsAnEstimate(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		two := reports("a", 2)
		for i := range two {
			two[i].Request.Order.RegisteredAgent = &filing.RegisteredAgentItem{}
		}
		rows := s.add(l, "a", two...)
		for i, ids := range [][]string{{"order_1"}, {"order_2", "order_3"}} {
			s.send(l, rows[i])
			s.answer(l, rows[i], filing.NoAnswer)
			s.must(l.Resolutions().MarkPlaced(s.Context(), rows[i].ID, 0, ids, "seen"))
			want := money.Cost{Amount: rows[i].Cost.Amount}
			if len(ids) == 1 {
				want.Certainty = money.Estimated
			}
			if got := s.want(l, rows[i], filing.Placed, 0); len(got.Items) != 2 || got.Spent != want {
				t.Errorf("with %v: %+v, %+v", ids, got.Spent, got.Items)
			}
		}
		s.must(l.Audit(s.Context()))
	})
}
