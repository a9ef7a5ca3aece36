package ledger_test

import (
	"context"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// What was quoted when a batch was opened is approved, and is a limit: an order
// that would cost more waits for a new approval, and the others go.
func TestTheApprovedCostIsALimit(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		rows := s.quoted(l, "a", cost, cost, cost)
		dearer := intent(s.row(l, rows[0].ID))
		dearer.Cost.Amount = cost + 1
		if begun := s.begin(l, dearer); !begun.Dearer || begun.Attempt != 0 {
			s.Fatalf("one cent more than was approved was sent: %+v", begun)
		}
		if r := s.want(l, rows[0], filing.Ready, 0); r.BlockedOn != "approval" ||
			!strings.Contains(r.Message, "$75.01") ||
			!strings.Contains(r.Message, "$75.00 was approved") {
			s.Errorf("%+v", r)
		}
		s.place(l, rows[1]) // at the approved cost
		cheaper := intent(s.row(l, rows[2].ID))
		cheaper.Cost.Amount = cost - 1
		if begun := s.begin(l, cheaper); begun.Attempt != 1 {
			s.Errorf("%+v", begun)
		}
		s.must(l.Fleet().AllowProbe(ctx)) // money is not what it waits for
		increase, err := approval.New(l).CostIncrease(ctx, "a")
		if err != nil || increase.Plan == "" || increase != (approval.CostIncrease{
			Rows:     1,
			Approved: cost,
			Cost:     money.Cost{Amount: cost + 1},
			Plan:     increase.Plan,
		}) {
			s.Fatalf("%+v, %v", increase, err)
		}
		if f := s.figures(l, "a"); f.Increased != 1 || f.Behind != 0 || f.Counts[filing.Ready] != 1 {
			s.Errorf("%+v", f)
		}
		stale := increase
		stale.Cost.Amount--
		s.wantErr(approval.New(l).ApproveCosts(ctx, "a", stale), approval.ErrChanged)
		s.must(approval.New(l).ApproveCosts(ctx, "a", increase))
		dearer.Cost.Amount = cost + 2
		if begun := s.begin(l, dearer); !begun.Dearer {
			s.Errorf("the new limit is none: %+v", begun)
		}
		increase, err = approval.New(l).CostIncrease(ctx, "a")
		s.must(err)
		s.must(approval.New(l).ApproveCosts(ctx, "a", increase))
		if begun := s.begin(l, dearer); begun.Attempt != 1 {
			s.Errorf("%+v", begun)
		}
	})
}

// Where a second person has to approve, the person who asked does not approve a
// higher cost either.
func TestAHigherCostNeedsTheSecondPersonToo(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		ana := audit.With(s.Context(), audit.Event{By: "ana"})
		rows := s.quoted(l, "a", cost)
		s.approvers(l, "ana", "ben")
		s.must(approval.New(l).ChangePolicy(s.Context(), approval.Policy{Second: true}))
		s.exec(`INSERT INTO contributors (object, person, part) VALUES ('a', 'ana', 'upload')`)
		dearer := intent(s.row(l, rows[0].ID))
		dearer.Cost.Amount = cost + 1
		s.begin(l, dearer)
		increase, err := approval.New(l).CostIncrease(s.Context(), "a")
		s.must(err)
		s.wantErr(approval.New(l).ApproveCosts(ana, "a", increase), approval.ErrSecondPerson)
		s.must(approval.New(l).ApproveCosts(audit.With(s.Context(), audit.Event{By: "ben"}), "a", increase))
	})
}

// waitsAt has a row wait for the approval of a cost.
func (s *suite) waitsAt(l *ledger.Ledger, r ledger.Row, amount money.Cents) {
	s.Helper()
	in := intent(s.row(l, r.ID))
	in.Cost.Amount = amount
	if begun := s.begin(l, in); !begun.Dearer {
		s.Fatalf("row %d at %s: %+v", r.ID, amount, begun)
	}
}

// An approval of costs covers the rows that were looked at, each at its cost: other
// rows of the same number and sum need another.
func TestAnApprovalOfCostsNamesItsRows(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		rows := s.quoted(l, "a", cost, cost, cost)
		s.waitsAt(l, rows[0], cost+1)
		s.waitsAt(l, rows[1], cost+2)
		looked, err := approval.New(l).CostIncrease(ctx, "a")
		s.must(err)
		for name, changed := range map[string]string{
			"costs swapped": `UPDATE rows SET cost = CASE cost WHEN 7501 THEN 7502 ELSE 7501 END
				WHERE blocked_on = 'approval'`,
			"certainty":       `UPDATE rows SET certainty = 1 WHERE blocked_on = 'approval'`,
			"another attempt": `UPDATE rows SET last_attempt = last_attempt + 1 WHERE blocked_on = 'approval'`,
			"another row waits": `UPDATE rows SET blocked_on = CASE number WHEN 2 THEN '' ELSE 'approval' END,
				cost = CASE number WHEN 4 THEN 7501 ELSE cost END`,
		} {
			s.exec(`UPDATE rows SET cost = 7500 + CASE number WHEN 2 THEN 1 WHEN 3 THEN 2 ELSE 0 END, certainty = 0,
				last_attempt = 0,
				blocked_on = CASE number WHEN 4 THEN '' ELSE 'approval' END`)
			if same, err := approval.New(l).CostIncrease(ctx, "a"); err != nil || same != looked {
				s.Fatalf("%s: %+v, %v, want %+v", name, same, err, looked)
			}
			s.exec(changed)
			now, err := approval.New(l).CostIncrease(ctx, "a")
			s.must(err)
			if now.Rows != looked.Rows || now.Cost.Amount != looked.Cost.Amount || now.Plan == looked.Plan {
				s.Errorf("%s: %+v, was %+v", name, now, looked)
			}
			s.wantErr(now.Matches(looked.Plan), approval.ErrChanged)
			s.wantErr(approval.New(l).ApproveCosts(ctx, "a", looked), approval.ErrChanged)
			looked.Cost.Certainty = now.Cost.Certainty
			s.wantErr(approval.New(l).ApproveCosts(ctx, "a", looked), approval.ErrChanged)
			looked.Cost.Certainty = money.Known
		}
	})
}

// An approval of costs is refused where nothing waits for one, or the batch itself
// waits.
func TestCostsOfAWaitingBatchAreNotApproved(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.approvers(l, "ben", "cat")
		rows := s.quoted(l, "a", cost)
		s.wantErr(approval.New(l).ApproveCosts(s.by("cat"), "a", approval.CostIncrease{}), approval.ErrNoApprovalNeeded)
		s.wantErr(approval.New(l).ApproveCosts(s.by("cat"), "none", approval.CostIncrease{}), ledger.ErrNotFound)
		s.waitsAt(l, rows[0], cost+1)
		looked, err := approval.New(l).CostIncrease(ctx, "a")
		s.must(err)
		s.must(approval.New(l).ChangePolicy(ctx, approval.Policy{Second: true}))
		s.must(approval.New(l).Request(ctx, "a", "one"))
		for _, c := range []approval.CostIncrease{{}, looked} {
			s.wantErr(approval.New(l).ApproveCosts(s.by("cat"), "a", c), approval.ErrApproveBatchFirst)
		}
		s.must(approve(ctx, l, "a", "one", "cat"))
	})
}

// An approval of a cost of which a part was not known has no limit, nor has a row
// that nobody quoted; a tolerance is what the settings say.
func TestWhatHasNoLimit(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		s.config.Tolerance = 500
		l := s.open()
		unknown := reports("a", 1)
		unknown[0].Cost = money.Cost{Amount: 2500, Certainty: money.Unknown}
		s.begins(l, s.quotedRows(l, "a", unknown...)[0], 100000)
		s.begins(l, s.add(l, "b", reports("b", 1)...)[0], 100000)
		s.begins(l, s.quoted(l, "c", cost)[0], cost+500)
		over := intent(s.quoted(l, "d", cost)[0])
		over.Cost.Amount = cost + 501
		if begun := s.begin(l, over); !begun.Dearer {
			s.Errorf("%+v", begun)
		}
	})
}

// A row for which no cost was approved is not sent, however little it costs.
func TestWithoutAnApprovedCost(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		s.config.Tolerance = 2 * cost
		l := s.open()
		row := s.quoted(l, "a", cost)[0]
		s.exec(`UPDATE rows SET approved = -1`)
		if begun := s.begin(l, intent(row)); !begun.Dearer || begun.Attempt != 0 {
			s.Errorf("sent: %+v", begun)
		}
		if r := s.row(l, row.ID); !strings.Contains(r.Message, "no cost was approved") {
			s.Error(r.Message)
		}
	})
}

func (s *suite) begins(l *ledger.Ledger, r ledger.Row, amount money.Cents) {
	s.Helper()
	in := intent(r)
	in.Cost.Amount = amount
	if begun := s.begin(l, in); begun.Attempt == 0 {
		s.Errorf("row %d of %s at %s: %+v", r.Number, r.Batch, amount, begun)
	}
}

// quoted adds a batch of reports that are quoted before it is opened.
func (s *suite) quoted(l *ledger.Ledger, id string, costs ...money.Cents) []ledger.Row {
	s.Helper()
	rows := reports(id, len(costs))
	for i, c := range costs {
		rows[i].Cost = money.Cost{Amount: c}
	}
	return s.quotedRows(l, id, rows...)
}

func (s *suite) quotedRows(l *ledger.Ledger, id string, rows ...ledger.Row) []ledger.Row {
	s.Helper()
	ctx := context.WithoutCancel(s.Context())
	created, err := l.CreateBatch(ctx,
		ledger.Batch{ID: id, File: id + ".csv", Product: filing.AnnualReport, Columns: []string{"Company ID"}})
	if err != nil || !created {
		s.Fatalf("CreateBatch: %v, %v", created, err)
	}
	for i := range rows {
		rows[i].Number = i + 2
	}
	s.must(l.AddRows(ctx, id, rows))
	var quotes []ledger.RowQuote
	for _, r := range s.rows(l, id) {
		quotes = append(quotes, ledger.RowQuote{Row: r.ID, Cost: r.Cost})
	}
	s.must(l.Quotes().Save(ctx, quotes))
	s.must(l.OpenBatch(ctx, id))
	return s.rows(l, id)
}

// What was approved stops a cost that is not known any more.
func TestLimitStopsAnUnknownCost(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		in := intent(s.quoted(l, "a", cost)[0])
		in.Cost = money.Cost{Amount: cost - 1, Certainty: money.Unknown}
		if begun := s.begin(l, in); !begun.Dearer {
			s.Errorf("%+v", begun)
		}
	})
}

// A row that was held back when its batch was opened waits for an approval when it is released,
// also after a quote.
func TestLimitOfAReleasedRow(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		_, err := l.CreateBatch(ctx, ledger.Batch{ID: "a", File: "a.csv", Product: filing.AnnualReport})
		s.must(err)
		rows := reports("a", 2)
		for i := range rows {
			rows[i].Number = i + 2
			rows[i].Cost = money.Cost{}
		}
		s.must(l.AddRows(ctx, "a", rows))
		rows = s.rows(l, "a")
		review := func(result filing.Result) {
			var all []ledger.Reviewed
			for _, r := range rows {
				all = append(all,
					ledger.Reviewed{Row: r.ID, Result: result, Message: "another name", Request: r.Request})
			}
			s.must(l.RecordReview(ctx, "a", all))
		}
		review(filing.Invalid)
		s.must(l.OpenBatch(ctx, "a"))
		review(filing.Ready)
		if looked, err := approval.New(l).CostIncrease(ctx, "a"); err != nil || !looked.Cost.IsUnknown() {
			s.Errorf("before the quote: %+v, %v", looked, err)
		}
		s.must(l.Quotes().Save(ctx, []ledger.RowQuote{{Row: rows[0].ID, Cost: money.Cost{Amount: cost}},
			{Row: rows[1].ID, Cost: money.Cost{Amount: cost}}}))
		s.sendable(l)
		if m := s.row(l, rows[0].ID).Message; !strings.Contains(m, "no cost of the order was approved") {
			s.Error(m)
		}
		looked, err := approval.New(l).CostIncrease(ctx, "a")
		s.must(err)
		if looked.Rows != 2 || looked.Cost.Amount != 2*cost || looked.Approved != 0 {
			s.Errorf("%+v", looked)
		}
		s.must(approval.New(l).ApproveCosts(ctx, "a", looked))
		s.begins(l, rows[0], cost)
		s.waitsAt(l, rows[1], cost+1)
	})
}
