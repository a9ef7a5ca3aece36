package jobs

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// dropBought drops the items from the rest of an order that other rows have bought, as the quote
// did. The intent finds the items of the first request.
func (p *Placer) dropBought(ctx context.Context, row ledger.Row, order filing.Order, repetition string,
	notes []string) (filing.Order, []string, error) {
	_, rest := order.First()
	if len(rest.Products()) == 0 {
		return order, notes, nil
	}
	claims := ledger.ClaimsOf(&rest, repetition)
	held, err := p.ledger.FindPriorPurchases(ctx, claims)
	for _, c := range claims {
		if h := held[c.Key]; h.Bought && !h.Covers && !h.Canceled && h.Row != row.ID {
			order = order.Drop(c.Product)
			notes = append(notes, boughtBefore(c.Product, rowRef(row, ledger.Row{Batch: h.Batch, Number: h.Number})))
		}
	}
	return order, notes, err
}

// boughtBefore returns the note on an item that another row has bought.
func boughtBefore(product filing.Product, where string) string {
	return fmt.Sprintf("the %s was bought before (%s) and not ordered again", product.Title(), where)
}

// duplicateItemError is the error of an order with an item that another row has bought. The order
// is sent without the item.
type duplicateItemError struct {
	product filing.Product
	// company is the ID of the company that the other row formed.
	company string
	// note is added to the message of the row.
	note string
}

func (*duplicateItemError) Error() string { return "an item is bought already" }

// handleDuplicate records that another row has bought, or is ordering, an item of the request. It
// returns a *duplicateItemError if other items remain.
func (p *Placer) handleDuplicate(ctx context.Context, row ledger.Row, r *request, t ledger.Taken) error {
	holder, err := p.ledger.Row(ctx, t.Row)
	if err != nil {
		return err
	}
	where, last := rowRef(row, holder), len(r.left.Products()) == 1
	deferral := ledger.Deferral{Row: row.ID, Of: row.InBatch()}
	switch {
	case !t.Bought:
		what := "the same " + t.Claim.Product.Title()
		if t.Covers {
			what = "an earlier annual report, whose subscription may cover this one"
		}
		deferral.Next, deferral.Wait = filing.Ready, t.Key
		deferral.Message = fmt.Sprintf("%s orders %s, and its result is not known yet: this row waits for it", where,
			what)
	case t.Covers:
		if err := p.ledger.Subscriptions().RecordCoverage(ctx, ledger.Coverage{
			Batch:  row.Batch,
			Number: row.Number,
			Cover:  t.Claim.Cover,
			Year:   t.Claim.Year,
			Opened: t.Row,
		}); err != nil {
			return err
		}
		note := "the annual report is " + coveredBy(where, holder)
		if !last {
			return &duplicateItemError{product: t.Claim.Product, note: note}
		}
		deferral.Next, deferral.Message = filing.Skipped, strings.TrimPrefix(note, "the annual report is ")
	case canceledItem(holder, t.Claim.Product) != nil && (last || t.Claim.Product == filing.Formation):
		deferral.Next, deferral.Message = filing.Rejected, boughtAndCanceled(t.Claim.Product, where, holder)
	case last && len(row.Dropped) > 0:
		deferral.Next = filing.Exists
		deferral.Message = fmt.Sprintf("done: %s; %s", titles(row.Dropped),
			strings.Join(append(r.notes, boughtBefore(t.Claim.Product, where)), "; "))
	case last:
		deferral.Next = filing.Exists
		deferral.Message = strings.Join(append(r.notes, fmt.Sprintf("bought before in %s; nothing was ordered", where)),
			"; ")
		for _, item := range holder.Items {
			item.Cost = money.Cost{} // charged to the other row
			deferral.Items = append(deferral.Items, item)
		}
	case t.Claim.Product == filing.Formation && holder.Company == "":
		deferral.Next, deferral.Message = filing.Rejected, unnamedCompany(row, holder)
	default:
		duplicate := &duplicateItemError{
			product: t.Claim.Product,
			note:    boughtBefore(t.Claim.Product, where),
		}
		if canceledItem(holder, t.Claim.Product) != nil {
			duplicate.note = boughtAndCanceled(t.Claim.Product, where, holder)
		}
		if t.Claim.Product == filing.Formation {
			duplicate.company = holder.Company
		}
		return duplicate
	}
	return p.deferRow(ctx, deferral)
}

// coveredBy describes the subscription that covers a report.
func coveredBy(where string, holder ledger.Row) string {
	order := where
	for _, i := range holder.Items {
		if i.Product == filing.AnnualReport && i.OrderID != "" {
			order = i.OrderID + " (" + where + ")"
		}
	}
	return "covered by the annual subscription of order " + order +
		"; to order it all the same, run it with --again=\"why\""
}

// canceledItem returns the item of a row that was canceled after it was bought, or nil.
func canceledItem(holder ledger.Row, product filing.Product) *ledger.Item {
	for i := range holder.Items {
		if item := &holder.Items[i]; item.Product == product && filing.IsCanceled(item.FilingStatus) {
			return item
		}
	}
	return nil
}

// boughtAndCanceled returns the message of a row whose filing was bought before and canceled. It
// is not bought again unless a person asks for it, because one key is one purchase.
// Source: spec section 7 (a canceled qualification does not block another).
func boughtAndCanceled(product filing.Product, where string, holder ledger.Row) string {
	return fmt.Sprintf(
		"the %s was bought before (%s, %s) and is canceled now; nothing was ordered. To order it again, run it with "+
			"--again=\"why\"",
		product.Title(), where, cmp.Or(canceledItem(holder, product).OrderID, "no order id"))
}
