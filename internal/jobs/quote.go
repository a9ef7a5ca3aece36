package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bulkfiling/internal/balance"
	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/money"

	"golang.org/x/sync/errgroup"
)

// LookUp resolves the users and companies of a batch's ready rows ahead of its
// quote, and remembers them. What cannot be found is left for the row's own
// answer; nothing is sent but look-ups and completions.
func LookUp(ctx context.Context, s Service, l *ledger.Ledger, pace Pace, concurrency int, batch string) error {
	if pace == nil {
		pace = unpaced{}
	}
	d := newDirectory(s, l, concurrency, pace, &gate{}, time.Now)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(concurrency)
	for page, err := range readyPages(ctx, l, batch) {
		if err == nil {
			err = d.recall(ctx, page)
		}
		if err != nil {
			return errors.Join(err, g.Wait())
		}
		for _, row := range page {
			g.Go(func() error {
				_, _, err := d.resolve(ctx, row.Request)
				if o := (*obstacle)(nil); errors.As(err, &o) || errors.Is(err, errHalted) {
					return nil
				}
				return err
			})
		}
	}
	return g.Wait()
}

// BatchQuote is what the ready rows of a batch will cost, as far as is known.
type BatchQuote struct {
	Rows  int
	Total money.Cost
	Lines []ProductQuote // by product, in the order of filing.Products
}

// ProductQuote sums one product up.
type ProductQuote struct {
	Product filing.Product
	Count   int
	Total   money.Cost
}

// QuoteBatch quotes every ready row of a batch from what the sheet and the
// ledger know, keeps each row's quote, and sums them up. It asks the service
// nothing.
func QuoteBatch(ctx context.Context, l *ledger.Ledger, quoter Quoter, batch string) (BatchQuote, error) {
	var q BatchQuote
	for page, err := range readyPages(ctx, l, batch) {
		if err != nil {
			return q, err
		}
		refs := make([]string, len(page))
		for i, row := range page {
			refs[i] = row.Request.Company.Ref
		}
		known, err := l.Companies(ctx, refs)
		if err != nil {
			return q, err
		}
		quotes := make([]ledger.RowQuote, len(page))
		for i, row := range page {
			facts := factsOf(known[row.Request.Company.Ref], row.Request.Company.Sheet)
			quote := quoter.Quote(&row.Request.Order, facts, nil)
			quotes[i] = ledger.RowQuote{Row: row.ID, Cost: quote.Total}
			if err := q.add(quote); err != nil {
				return q, fmt.Errorf("sum the quote of batch %s up: %w", batch, err)
			}
		}
		if err := l.KeepQuotes(ctx, quotes); err != nil {
			return q, err
		}
	}
	return q, nil
}

// add adds the quote of a row.
func (q *BatchQuote) add(quote balance.Quote) (err error) {
	q.Rows++
	if q.Total, err = q.Total.Plus(quote.Total); err != nil {
		return err
	}
	for _, line := range quote.Lines {
		i, found := slices.BinarySearchFunc(q.Lines, line.Product, func(l ProductQuote, p filing.Product) int {
			return slices.Index(filing.Products, l.Product) - slices.Index(filing.Products, p)
		})
		if !found {
			q.Lines = slices.Insert(q.Lines, i, ProductQuote{Product: line.Product})
		}
		q.Lines[i].Count++
		if q.Lines[i].Total, err = q.Lines[i].Total.Plus(line.Cost()); err != nil {
			return err
		}
	}
	return nil
}

// factsOf takes what the service knows of a company, and the sheet's word for
// what it does not.
func factsOf(service, sheet filing.Company) balance.Facts {
	f := balance.Facts{EntityType: service.EntityType, FormationState: service.FormationState}
	if f.EntityType == "" {
		f.EntityType = sheet.EntityType
	}
	if f.FormationState == "" {
		f.FormationState = sheet.FormationState
	}
	return f
}

// readyPages streams the ready rows of a batch in pages.
func readyPages(ctx context.Context, l *ledger.Ledger, batch string) func(yield func([]ledger.Row, error) bool) {
	return func(yield func([]ledger.Row, error) bool) {
		var page []ledger.Row
		for row, err := range l.Rows(ctx, batch) {
			if err != nil {
				yield(nil, err)
				return
			}
			if row.Result != filing.Ready {
				continue
			}
			if page = append(page, row); len(page) == 1000 {
				if !yield(slices.Clip(page), nil) {
					return
				}
				page = nil
			}
		}
		if len(page) > 0 {
			yield(page, nil)
		}
	}
}
