package pricing_test

import (
	"context"
	"errors"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
)

// report is a row of an annual report that costs $75.00.
func report(number int, company string, result filing.Result) ledger.Row {
	return ledger.Row{
		Number: number,
		Cells:  []byte(`["x"]`),
		Result: result,
		Cost:   money.Cost{Amount: 7500},
		Request: &filing.Request{
			Product: filing.AnnualReport,
			Company: filing.CompanyRef{Ref: company},
			Order:   filing.Order{FilingState: "DE", AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}},
		},
	}
}

// An approver reads a proposal while someone else works on the batch. The approval
// covers what the approver saw; rows that became ready meanwhile were not seen.
//
//nolint:gocognit // one approval, told in its order
func TestAnApprovalCoversWhatWasSeen(t *testing.T) {
	for name, change := range map[string]func(context.Context, *ledger.Ledger, []ledger.Row) error{
		"nothing": nil,
		"rows are retried": func(ctx context.Context, l *ledger.Ledger, _ []ledger.Row) error {
			_, err := l.RetryBatch(ctx, "a")
			return err
		},
		"names are accepted": func(ctx context.Context, l *ledger.Ledger, rows []ledger.Row) error {
			return l.RecordReview(ctx, "a", []ledger.Reviewed{{Row: rows[1].ID, Result: filing.Ready}})
		},
		"a row is held back": func(ctx context.Context, l *ledger.Ledger, rows []ledger.Row) error {
			return l.RecordReview(ctx, "a", []ledger.Reviewed{{Row: rows[0].ID, Result: filing.Invalid}})
		},
		"a request is completed": func(ctx context.Context, l *ledger.Ledger, rows []ledger.Row) error {
			return l.RecordReview(ctx, "a", []ledger.Reviewed{{Row: rows[0].ID, Result: filing.Ready,
				Request: report(2, "comp_9", filing.Ready).Request}})
		},
		"a row costs more": func(ctx context.Context, l *ledger.Ledger, rows []ledger.Row) error {
			return l.Quotes().Save(ctx, []ledger.RowQuote{{Row: rows[0].ID, Cost: money.Cost{Amount: 7600}}})
		},
		"another batch corrects it": func(ctx context.Context, l *ledger.Ledger, _ []ledger.Row) error {
			_, err := l.CreateBatch(ctx, ledger.Batch{
				ID:       "fix",
				File:     "fix.csv",
				Product:  filing.AnnualReport,
				Corrects: "a",
			})
			row := report(2, "comp_5", filing.Ready)
			row.Corrects, row.Cells = 2, []byte(`["comp_5"]`)
			return errors.Join(err, l.AddRows(ctx, "fix", []ledger.Row{row}), l.OpenBatch(ctx, "fix"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			ledgertest.OnBoth(t, func(t *testing.T, database string) {
				ctx := t.Context()
				l := ledgertest.Open(t, ledger.Config{DatabaseURL: database})
				_, err := l.CreateBatch(ctx, ledger.Batch{ID: "a", File: "a.csv", Product: filing.AnnualReport})
				if err = errors.Join(err, l.AddRows(ctx, "a", []ledger.Row{report(2, "comp_1", filing.Ready),
					report(3, "comp_2", filing.Invalid), report(4, "comp_3", filing.Invalid)})); err != nil {
					t.Fatal(err)
				}
				hash, _, err := pricing.ApprovalHash(ctx, l, "a")
				err = errors.Join(err, approval.New(l).Request(ctx, "a", hash), l.OpenBatch(ctx, "a"))
				if err != nil {
					t.Fatal(err)
				}
				var rows []ledger.Row
				for r, err := range l.Rows(ctx, "a") {
					if rows = append(rows, r); err != nil {
						t.Fatal(err)
					}
				}
				stored := func(context.Context) (pricing.Quoter, error) { return nil, nil }
				seen, err := pricing.Propose(ctx, l, stored, "a")
				must(t, err)
				if change == nil {
					must(t, seen.Approve(ctx, l, "cat"))
					return
				}
				if err := change(ctx, l, rows); err != nil {
					t.Fatal(err)
				}
				if err := seen.Approve(ctx, l, "cat"); !errors.Is(err, approval.ErrChanged) {
					t.Errorf("the approver saw %d order, and approved others: %v",
						seen.Figures.Counts[filing.Ready], err)
				}
				if all, err := l.Backlog().ListSendable(ctx, "a", 100); err != nil || len(all) != 0 {
					t.Errorf("%d rows are sent without an approval, %v", len(all), err)
				}
				now, err := pricing.Propose(ctx, l, stored, "a")
				if !errors.Is(err, approval.ErrChanged) {
					t.Errorf("the new proposal: %v", err)
				}
				if err := now.Approve(ctx, l, "cat"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// counted counts the quotes of a quoter whose prices are named by basis.
type counted struct {
	basis  string
	quotes int
}

func (c *counted) Basis() string { return c.basis }

func (c *counted) Quote(*filing.Order, pricing.Facts) pricing.Quote {
	c.quotes++
	return pricing.Quote{Total: money.Cost{Amount: 7500}}
}

// A proposal is quoted again only if something has changed that its quote depends on.
func TestPropose_QuotesAgainIfOutdated(t *testing.T) {
	for name, change := range map[string]func(context.Context, *ledger.Ledger, *counted) error{
		"nothing": nil,
		"prices":  func(_ context.Context, _ *ledger.Ledger, c *counted) error { c.basis = "other"; return nil },
		"purchases": func(ctx context.Context, l *ledger.Ledger, _ *counted) error {
			rows := ledgertest.Submit(t, l, ledger.Batch{ID: "b"}, report(2, "comp_1", filing.Ready))
			order := rows[0].Left("user_1", "comp_1")
			begun, err := l.Begin(ctx, ledger.Intent{Row: rows[0].ID, Claims: ledger.ClaimsOf(&order, "")})
			if begun.Attempt == 0 {
				t.Fatalf("%+v", begun)
			}
			return err
		},
		"companies": func(ctx context.Context, l *ledger.Ledger, _ *counted) error {
			return l.Companies().RememberNames(ctx, map[filing.Key]filing.Company{"name": {ID: "comp_1"}})
		},
		"users": func(ctx context.Context, l *ledger.Ledger, _ *counted) error {
			return l.Companies().RememberUser(ctx, "ana@example.com", filing.User{ID: "user_1"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			ledgertest.OnBoth(t, func(t *testing.T, database string) {
				ctx := t.Context()
				l := ledgertest.Open(t, ledger.Config{DatabaseURL: database})
				_, err := l.CreateBatch(ctx, ledger.Batch{ID: "a", File: "a.csv", Product: filing.AnnualReport})
				must(t, errors.Join(err, l.AddRows(ctx, "a", []ledger.Row{report(2, "comp_1", filing.Ready)})))
				c := &counted{basis: "prices"}
				q, err := pricing.QuoteBatch(ctx, l, c, "a")
				must(t, errors.Join(err, approval.New(l).Request(ctx, "a", q.Plan), l.OpenBatch(ctx, "a")))
				want := 1
				if change != nil {
					must(t, change(ctx, l, c))
					want = 2
				}
				_, err = pricing.Propose(ctx, l, func(context.Context) (pricing.Quoter, error) { return c, nil }, "a")
				if must(t, err); c.quotes != want {
					t.Errorf("quoted %d times, want %d", c.quotes, want)
				}
			})
		})
	}
}
