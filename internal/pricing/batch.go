package pricing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// BatchQuote is the known cost of a batch's ready rows.
type BatchQuote struct {
	Rows int
	// Before counts the ready rows that are not in Rows because they were bought before or a
	// subscription covers them.
	Before int
	// Bought are the numbers of the rows in Before. Set only for a new quote.
	Bought []int `json:"-"`

	// Covered are the rows in Before that a subscription covers, with its order.
	Covered text.Examples
	// Canceled are the rows in Before whose filing was canceled later.
	Canceled text.Examples
	// Lapsed are the rows to order although a subscription exists, and why it does not cover them.
	Lapsed text.Examples

	Total money.Cost
	// Plan identifies the ready orders and their cost. See ApprovalHash.
	Plan string
	// Basis identifies the prices, fees, facts and rows that determined the quote. While it is the
	// same, the batch is not quoted again.
	Basis string
	// Kinds are grouped by product and, if the state charges a fee, by that fee.
	Kinds []KindQuote
}

func isReady(r *ledger.Row) bool { return r.Result == filing.Ready }

// QuoteBatch quotes every ready row of a batch from the spreadsheet and the ledger, stores each
// row's quote and returns their sum. Earlier purchases cost nothing and are not counted. QuoteBatch
// sends no request.
func QuoteBatch(ctx context.Context, l *ledger.Ledger, quoter Quoter, batch string) (BatchQuote, error) {
	var q BatchQuote
	b, err := l.Batch(ctx, batch)
	if err != nil {
		return q, err
	}
	if err := l.Quotes().RefreshStatistics(ctx); err != nil {
		return q, err
	}
	// They are read before the rows, so that a change in between makes the quote outdated.
	facts, err := l.Quotes().Facts(ctx)
	if err != nil {
		return q, err
	}
	for page, err := range ledger.Pages(l.Rows(ctx, batch), isReady) {
		if err != nil {
			return q, err
		}
		p, err := LoadRemaining(ctx, l, b, page)
		if err != nil {
			return q, err
		}
		quotes := make([]ledger.RowQuote, len(page))
		for i, row := range page {
			order, by := p.Order(row)
			if by == nil && len(order.Products()) == 0 {
				by = p.buyer(row)
			}
			q.addNotes(row, p)
			if quotes[i].Row = row.ID; by != nil {
				q.Before++
				q.Bought = append(q.Bought, row.Number)
				quotes[i].Note = boughtBefore(by)
				continue
			}
			quote := quoter.Quote(&order, p.Facts(row))
			quotes[i].Cost, quotes[i].Missing = quote.Total, quote.Missing()
			if err := q.Add(quote); err != nil {
				return q, fmt.Errorf("sum the quote of batch %s up: %w", batch, err)
			}
		}
		if err := l.Quotes().Save(ctx, quotes); err != nil {
			return q, err
		}
	}
	if q.Plan, _, err = ApprovalHash(ctx, l, batch); err != nil {
		return q, err
	}
	q.Basis = basisOf(quoter, facts, q.Plan)
	return q, q.Save(ctx, l, batch)
}

// basisOf returns a hash of the prices, the facts of the ledger and the plan of a quote.
func basisOf(quoter Quoter, facts, plan string) string {
	sum := sha256.Sum256([]byte(quoter.Basis() + "\n" + facts + "\n" + plan))
	return hex.EncodeToString(sum[:])
}

// addNotes adds notes for the approver about a row's subscriptions and earlier purchases.
func (q *BatchQuote) addNotes(row ledger.Row, p *Remaining) {
	name := fmt.Sprintf("row %d", row.Number)
	if legal := row.Request.LegalName(); legal != "" {
		name = legal + " (" + name + ")"
	}
	for _, c := range p.Claims(row) {
		switch h, taken := p.held[c.Key]; {
		case taken && h.Batch == p.batch, taken && h.Covers && h.Root == p.root:
		case taken && h.Covers && p.again == "":
			q.Covered.Add(fmt.Sprintf("%s: %s, order %s", name, c.Product.Title(),
				cmp.Or(h.Order, fmt.Sprintf("of row %d of batch %s", h.Number, h.Batch))))
		case taken && h.Canceled:
			q.Canceled.Add(fmt.Sprintf("%s: %s, bought by row %d of batch %s", name, c.Product.Title(), h.Number,
				h.Batch))
		}
		if s, lapsed := p.lapsed[c.Key]; lapsed && p.again == "" && s.Root != p.root {
			q.Lapsed.Add(fmt.Sprintf("%s: the subscription of order %s: %s", name,
				cmp.Or(s.Order, fmt.Sprintf("(row %d of batch %s)", s.Number, s.Batch)), s.Lapsed))
		}
	}
}

// Note is a note about some rows.
type Note struct {
	About string
	text.Examples
}

// Text returns the note in one line with its examples.
func (n Note) Text() string {
	return fmt.Sprintf("%s %s: %s", text.Count(n.Count, "row"), n.About, n.Summary())
}

// Notes returns the notes for the approver, with examples of the rows.
func (q BatchQuote) Notes() []Note {
	var all []Note
	for _, n := range []Note{
		{"not ordered: an annual subscription covers them", q.Covered},
		{"not ordered: bought before and canceled since", q.Canceled},
		{"ordered although an annual subscription was opened before", q.Lapsed},
	} {
		if n.Count > 0 {
			all = append(all, n)
		}
	}
	return all
}

// Add adds the quote of a row.
func (q *BatchQuote) Add(quote Quote) (err error) {
	q.Rows++
	if q.Total, err = q.Total.Plus(quote.Total); err != nil {
		return err
	}
	for _, line := range quote.Lines {
		if err := q.addKind(line); err != nil {
			return err
		}
	}
	return nil
}
