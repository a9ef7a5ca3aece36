package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// A ledger that was restored from a backup does not know about the requests that were sent after
// the backup, and has their rows as ready. The assumption that they were sent keeps the placers
// from sending them again. Each row is treated as if it had an attempt whose answer was lost.

// assumedOwner is the owner of an assumed attempt, in place of a process. Its value is stored in
// the database.
const assumedOwner = "supposed"

// AssumeSent assumes that ready rows were sent at some time since, and makes them uncertain. Each
// row takes its claims and reserves its cost, even beyond the available funds, because the money
// may be spent.
//
// It returns one result for each intent, in the same order. Attempt is set if the row is uncertain
// now. Lost means that the row is no longer ready or was sent since it was read. Taken means that
// another row has one of its claims, and nothing is changed.
func (l Resolutions) AssumeSent(ctx context.Context, intents []Intent, since time.Time, why string) ([]Begun, error) {
	all := make([]Begun, len(intents))
	for from := 0; from < len(intents); from += maxGroup {
		some := intents[from:min(from+maxGroup, len(intents))]
		err := l.change(ctx, func(tx *Tx) error {
			now := store.ToMillis(l.Now())
			group := make([]*transition, len(some))
			for i := range some {
				group[i] = &transition{intent: &some[i]}
			}
			in, err := tx.readSnapshot(ctx, group, now)
			if err != nil {
				return err
			}
			d := tx.newDecision(in, now)
			for i := range some {
				begun, err := d.assumeSent(&some[i], store.ToMillis(since), why)
				if err != nil {
					return fmt.Errorf("row %d: %w", some[i].Row, err)
				}
				all[from+i] = begun
			}
			if err := tx.write(ctx, d); err != nil {
				return err
			}
			return tx.AllocateFunds(ctx) // less is available for others
		})
		if err != nil {
			return nil, fmt.Errorf("assume that rows were sent: %w", err)
		}
	}
	return all, nil
}

func (d *decision) assumeSent(in *Intent, since int64, why string) (Begun, error) {
	s, ok := d.rows[in.Row]
	switch {
	case !ok:
		return Begun{}, ErrNotFound
	case !s.isAt(in.Of), s.result != filing.Ready || s.lastAttempt != in.LastAttempt:
		return Begun{Lost: true}, nil
	case !s.result.CanBecome(filing.Uncertain):
		return Begun{}, fmt.Errorf("%w: %s to %s", ErrTransition, s.result, filing.Uncertain)
	}
	taken := slices.DeleteFunc(d.taken(s, in.Claims), func(t Taken) bool { return t.Covers && !t.Bought })
	if len(taken) > 0 {
		return Begun{Taken: taken}, nil
	}
	d.reserve(s, in)
	s.message, s.due, s.uncertain = why, 0, false
	s.blockedOn, s.awaitedKey = "", ""
	d.attempts = append(d.attempts, store.Record{
		store.Number("row", s.id),
		store.Number("number", s.lastAttempt),
		store.Text("owner", assumedOwner),
		store.Number("started", since),
		store.Number("ended", d.now),
		store.Text("outcome", filing.NoAnswer),
		store.Number("status", 0),
		store.Text("message", why),
		store.Text("detail", ""),
		store.Text("products", filing.JoinProducts(productsOf(in.Claims), ",")),
		store.Flag("creates", in.Creating),
		store.Number("repeatable", 0),
		store.Text("purchases", ""),
		store.Number("ordered", 0),
	})
	d.move(s, filing.Uncertain)
	return Begun{Attempt: s.lastAttempt}, nil
}

// MarkAssumedPlaced resolves a row that was assumed sent, after a person has seen that its company
// and its order exist. Known are the claims of the order that identify the company by its ID.
func (l Resolutions) MarkAssumedPlaced(ctx context.Context, row int64, attempt int, orderIDs []string,
	company filing.Company, known []Claim, why string) error {
	return l.resolve(ctx, resolution{
		row:      row,
		attempt:  attempt,
		orderIDs: orderIDs,
		known:    known,
		decide: func(d *decision, s *rowState, of map[string]filing.Product) error {
			if s.senders[s.lastAttempt] != assumedOwner || !s.creating {
				return ErrCreating
			}
			if err := d.rememberCreated(s, company); err != nil {
				return err
			}
			// Only the creation was assumed. A person has seen the order, too.
			left := productsOf(known)
			for i := range s.attempts {
				if a := &s.attempts[i]; a.Number == s.lastAttempt {
					a.Creates, a.Products = false, append(a.Products, left...)
				}
			}
			d.recordPlaced(s, orderIDs, of, left,
				[]filing.Purchase{{Product: filing.CompanyRecord, OrderID: company.ID}}, s.expectedCost(), why)
			d.giveKeys(s, filing.Fold(s.attempts, s.limits(true)), known)
			return nil
		},
	})
}

// rememberCreated records the company of a row whose creation was uncertain.
func (d *decision) rememberCreated(s *rowState, company filing.Company) error {
	s.company = company.ID
	for _, claim := range s.claims {
		if claim.product != filing.CompanyRecord {
			continue
		}
		f, err := newFact("companies", string(claim.key), company, d.now)
		if err != nil {
			return err
		}
		d.remember(f)
	}
	return nil
}
