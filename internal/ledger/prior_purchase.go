package ledger

import (
	"context"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// PriorPurchase is a purchase that prevents a row from buying the same.
type PriorPurchase struct {
	Batch string
	// Root is the root of the batch. See Batch.Root.
	Root string
	// Number is the number of the row with the purchase, in its sheet.
	Number int
	// Bought is false while that row's request is in flight.
	Bought bool
	// Covers reports whether it is a different purchase with a subscription that covers this one.
	Covers bool

	Row int64
	// Canceled reports whether its filing was canceled.
	Canceled bool
	// Order is the order that opened the subscription.
	Order string
	// Status is the service's term for the subscription's status.
	Status string
}

// FindPriorPurchases returns the purchases that already have the claims of a new batch, as Begin
// will find them. It decides nothing.
func (l *Ledger) FindPriorPurchases(ctx context.Context, claims []Claim) (map[filing.Key]PriorPurchase, error) {
	var keys []filing.Key
	for _, c := range claims {
		keys = append(keys, c.Key)
	}
	held := make(map[filing.Key]PriorPurchase)
	if len(keys) > 0 {
		in, args := store.Among(l.Dialect, keys)
		found, err := store.List[struct {
			PriorPurchase
			Key filing.Key
		}](ctx, l.Read, "find purchases", `SELECT p.key, o.id AS "row", o.batch, b.root, o.number, p.bought,
				CASE WHEN `+isCanceled("p")+` THEN 1 ELSE 0 END AS canceled
			FROM purchases p JOIN rows o ON o.id = p.row JOIN batches b ON b.id = o.batch
			WHERE p.key `+in+` ORDER BY p.bought, canceled DESC, p.twin DESC`, args...)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			held[f.Key] = f.PriorPurchase
		}
	}
	subscribed, err := l.subscriptionsOf(ctx, claims)
	if err != nil {
		return nil, err
	}
	for _, c := range claims {
		if _, same := held[c.Key]; same {
			continue
		}
		for _, s := range subscribed[c.Cover] {
			if s.Year < c.Year && s.Lapsed == "" {
				held[c.Key] = PriorPurchase{
					Batch:  s.Batch,
					Root:   s.Root,
					Number: s.Number,
					Row:    s.Row,
					Bought: true,
					Covers: true,
					Order:  s.Order,
					Status: s.Status,
				}
				break
			}
		}
	}
	return held, nil
}
