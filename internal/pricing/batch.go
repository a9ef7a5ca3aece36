package pricing

import (
	"cmp"
	"context"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// BatchQuote is what the ready rows of a batch will cost, as far as is known.
type BatchQuote struct {
	Rows   int
	Before int   // ready rows beside these: bought before, or covered by a subscription
	Bought []int `json:"-"` // the numbers of the rows of Before; only of a new quote

	Covered  text.Examples // rows of Before that a subscription covers, with its order
	Canceled text.Examples // rows of Before whose filing was canceled since
	Lapsed   text.Examples // rows to be ordered although there is a subscription, and why it does not cover them

	Total money.Cost
	Kinds []KindQuote // by product and, where the state charges, by whose fee it is
}

// QuoteBatch quotes every ready row of a batch from the spreadsheet and the
// ledger, keeps each row's quote, and returns their sum. Purchases that were made
// before cost nothing and are not counted. It sends no request.
func QuoteBatch(ctx context.Context, l *ledger.Ledger, quoter Quoter, batch string) (BatchQuote, error) {
	var q BatchQuote
	b, err := l.Batch(ctx, batch)
	if err != nil {
		return q, err
	}
	for page, err := range l.ReadyPages(ctx, batch) {
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
		if err := l.KeepQuotes(ctx, quotes); err != nil {
			return q, err
		}
	}
	return q, q.Save(ctx, l, batch)
}

// addNotes adds what an approver should know of a row's subscriptions and earlier
// purchases.
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

// Note is a remark about some rows.
type Note struct {
	About string
	text.Examples
}

// Text returns the note in one line, with the examples.
func (n Note) Text() string {
	return fmt.Sprintf("%s %s: %s", text.Count(n.Count, "row"), n.About, n.Summary())
}

// Notes returns what an approver should know, with examples of the rows.
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
