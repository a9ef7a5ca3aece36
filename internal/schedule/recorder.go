package schedule

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/balance"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
)

// planRecorder adds the rows of a run to its plan, with the cost of each and whether it is already
// bought. It writes nothing.
type planRecorder struct {
	ledger *ledger.Ledger
	// quoter is nil if the prices of the filing service are unavailable.
	quoter pricing.Quoter
	plan   *Plan
	// names are the names of the rows by number.
	names map[int]string
	quote pricing.BatchQuote
	batch string

	// covered are the coverages of the rows since the last call of RecordCoverage.
	covered []ledger.Coverage
}

var _ importer.Recorder = (*planRecorder)(nil)

func newPlanRecorder(rc *runContext, plan *Plan, quoter pricing.Quoter) *planRecorder {
	names := make(map[int]string, len(rc.companyList.Rows))
	for _, row := range rc.companyList.Rows {
		names[row.Number] = company(row)
	}
	return &planRecorder{ledger: rc.ledger, quoter: quoter, plan: plan, names: names}
}

// CreateBatch begins the plan of a batch.
func (p *planRecorder) CreateBatch(_ context.Context, b ledger.Batch) (bool, error) {
	p.batch = b.ID
	return true, nil
}

// AddRows adds rows to the plan, and writes the findings into them.
func (p *planRecorder) AddRows(ctx context.Context, batch string, rows []ledger.Row) error {
	left, err := pricing.LoadRemaining(ctx, p.ledger, ledger.Batch{ID: batch}, rows)
	if err != nil {
		return err
	}
	for i := range rows {
		if err := p.addRow(&rows[i], left); err != nil {
			return err
		}
	}
	return nil
}

// addRow adds a row with its result as far as the ledger can predict it.
func (p *planRecorder) addRow(row *ledger.Row, left *pricing.Remaining) error {
	name := cmp.Or(p.names[row.Number], "row") + fmt.Sprintf(" (row %d)", row.Number)
	switch row.Result {
	case filing.Invalid:
		p.plan.Invalid.Add(name)
		p.plan.addWhys(name, row.Faults)
		return nil
	case filing.Skipped:
		p.plan.Skipped++
		return nil
	}
	if d, contradicts := left.Difference(*row); contradicts {
		// The record may have been corrected since. A run or a retry compares the row again.
		row.Result, row.Message = filing.Invalid, d.Message
		row.Faults = append(row.Faults,
			ledger.Fault{Column: -1, Header: d.Column.Header, Rule: d.Rule, Message: d.Message})
		p.plan.Invalid.Add(name)
		p.plan.addWhys(name, row.Faults)
		return nil
	}
	order, by := left.Order(*row)
	for _, s := range left.Lapsed(*row) {
		p.plan.Lapsed.Add(fmt.Sprintf("%s: order %s, %s", name, cmp.Or(s.Order, "without an id"), s.Lapsed))
	}
	switch {
	case by != nil:
		p.addCovered(row, name, by, left.Claims(*row))
		return nil
	case len(order.Products()) == 0:
		// The worker adds the order IDs when it processes the row.
		row.Message = "bought before; nothing will be ordered"
		p.plan.Bought.Add(name)
		return nil
	}
	return p.addOrder(row, &order, left.Facts(*row))
}

// addCovered skips a row that a subscription covers.
func (p *planRecorder) addCovered(row *ledger.Row, name string, by *ledger.PriorPurchase, claims []ledger.Claim) {
	where := fmt.Sprintf("row %d of batch %s", by.Number, by.Batch)
	if by.Order != "" {
		where = by.Order + " (" + where + ")"
	}
	row.Result = filing.Skipped
	row.Message = "covered by the annual subscription of order " + where +
		"; to order it all the same, run it with --again=\"why\""
	p.plan.Covered.Add(name + ": by order " + where)
	for _, c := range claims {
		if c.Cover == "" {
			continue
		}
		p.covered = append(p.covered, ledger.Coverage{
			Batch:  p.batch,
			Number: row.Number,
			Cover:  c.Cover,
			Year:   c.Year,
			Opened: by.Row,
		})
	}
}

// addOrder adds a row that will be ordered, with its cost if prices are known.
func (p *planRecorder) addOrder(row *ledger.Row, order *filing.Order, facts pricing.Facts) error {
	p.plan.Filings++
	if p.quoter != nil {
		quote := p.quoter.Quote(order, facts)
		row.Cost, row.Message = quote.Total, "not sent yet; it will cost "+quote.Total.Without(quote.Missing())
		if err := p.quote.Add(quote); err != nil {
			return fmt.Errorf("sum the plan of the schedule %s up: %w", p.plan.Schedule, err)
		}
	}
	p.plan.orders = append(p.plan.orders,
		balance.Order{Priority: row.Priority, Row: row.Number, Cost: row.Cost.Amount})
	return nil
}

// finish completes the plan with the total and the current funds.
func (p *planRecorder) finish(ctx context.Context) (*Plan, error) {
	plan, total := p.plan, p.quote.Total
	slices.SortStableFunc(plan.Why, func(a, b Why) int { return b.Rows - a.Rows })
	plan.Why = plan.Why[:min(len(plan.Why), maxWhys)]
	plan.Priced = p.quoter != nil
	plan.Cost, plan.Certainty = total.Amount, total.Certainty
	plan.Kinds = p.quote.Kinds
	funds, err := p.ledger.Balance(ctx)
	if err != nil {
		return nil, err
	}
	plan.Forecast, err = balance.NewForecast(funds, plan.orders)
	return plan, err
}

// batchRecorder records the rows of a run as a batch, after they are added to its plan.
type batchRecorder struct{ *planRecorder }

// CreateBatch creates the batch. It returns false if the batch already exists.
func (b *batchRecorder) CreateBatch(ctx context.Context, batch ledger.Batch) (bool, error) {
	b.batch = batch.ID
	return b.ledger.CreateBatch(ctx, batch)
}

// AddRows adds rows to the plan and then, as the plan has left them, to the batch.
func (b *batchRecorder) AddRows(ctx context.Context, batch string, rows []ledger.Row) error {
	if err := b.planRecorder.AddRows(ctx, batch, rows); err != nil {
		return err
	}
	covered := b.covered
	b.covered = nil
	if err := b.ledger.Subscriptions().RecordCoverage(ctx, covered...); err != nil {
		return err
	}
	return b.ledger.AddRows(ctx, batch, rows)
}

// saveQuote saves the expected cost of the batch.
func (b *batchRecorder) saveQuote(ctx context.Context) error {
	return b.quote.Save(ctx, b.ledger, b.batch)
}
