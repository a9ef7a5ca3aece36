package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// ErrOrderTaken is returned for an order ID that belongs to another row.
var ErrOrderTaken = errors.New("one order cannot be that of two rows")

// ErrTooManyOrders is returned if there are more order IDs than items of the row that may have been
// ordered.
var ErrTooManyOrders = errors.New("there are more order IDs than items that may have been ordered")

// A resolution applies to one attempt. attempt is the number of the attempt that the person
// reviewed (Row.LastAttempt). Zero means the present one. If the row was resolved and sent again
// since, the methods return ErrStale, because the later attempt is uncertain for different reasons.

// For returns the Resolutions of a row as it was read. They return ErrTransition if the ledger went
// back in time since and gave the row's ID to another row.
func (l Resolutions) For(row Row) Resolutions {
	l.of = row.InBatch()
	return l
}

// MarkPlaced resolves an uncertain row as placed, after a person has verified that the orders
// exist. It posts the reservation.
func (l Resolutions) MarkPlaced(ctx context.Context, row int64, attempt int, orderIDs []string, why string) error {
	return l.MarkFormed(ctx, row, attempt, orderIDs, "", nil, why)
}

// MarkFormed resolves an uncertain formation as placed, with the ID of the new company and the
// claims of the other items of the order.
func (l Resolutions) MarkFormed(ctx context.Context, row int64, attempt int, orderIDs []string, company string,
	known []Claim, why string) error {
	return l.resolve(ctx, resolution{
		row:      row,
		attempt:  attempt,
		orderIDs: orderIDs,
		known:    known,
		decide: func(d *decision, s *rowState, of map[string]filing.Product) error {
			open := filing.Fold(s.attempts, filing.AttemptLimits{}).Open
			switch {
			case s.creating:
				return ErrCreating
			case len(orderIDs) > len(open):
				return fmt.Errorf("%w: %d for %d", ErrTooManyOrders, len(orderIDs), len(open))
			}
			s.company = cmp.Or(company, s.company)
			d.recordPlaced(s, orderIDs, of, open, nil, s.expectedCost(), why)
			d.giveKeys(s, filing.Fold(s.attempts, s.limits(true)), known)
			return nil
		},
	})
}

// expectedCost returns the cost of an order of the row if only its reservation is known.
func (s *rowState) expectedCost() money.Cost {
	return money.Cost{Amount: s.reserved, Certainty: s.cost.Certainty}
}

// recordPlaced decides that an uncertain row's order was made, at a cost. The product of an order ID
// is the one in its event, or else follows from the position of the ID. An item without an ID waits
// for the event that names it. left are the products that need an order, and besides are purchases
// that are known otherwise.
func (d *decision) recordPlaced(s *rowState, orderIDs []string, of map[string]filing.Product, left []filing.Product,
	besides []filing.Purchase, cost money.Cost, message string) {
	// The page lists the products in this order.
	left = slices.SortedFunc(slices.Values(left), filing.CompareProducts)
	if len(orderIDs) < len(left) {
		// The items without an ID may have cost nothing.
		cost.Certainty = max(cost.Certainty, money.Estimated)
	}
	take := func(p filing.Product) bool {
		at := slices.Index(left, p)
		if at >= 0 {
			left = slices.Delete(left, at, at+1)
		}
		return at >= 0
	}
	items := make([]Item, len(orderIDs))
	for i, id := range orderIDs {
		items[i] = Item{OrderID: id}
		if p := of[id]; p != "" && take(p) {
			items[i].Product = p
		}
	}
	for i := range items {
		if items[i].Product == "" && len(left) > 0 {
			items[i].Product = left[0]
			left = left[1:]
		}
	}
	for _, p := range left {
		items = append(items, Item{Product: p})
	}
	made := slices.Clone(besides)
	// The whole cost is recorded with the first item.
	for _, i := range items {
		if i.Product != "" {
			made = append(made, filing.Purchase{Product: i.Product, OrderID: i.OrderID, Cost: cost})
			cost.Amount = 0
		}
	}
	d.decideAttempts(s, filing.DecidedPlaced, made, message)
	d.addItems(s, items)
}

// findOrderProducts returns the products of order IDs, if events name them. It returns ErrOrderTaken for
// an ID of another row. A row with the result exists does not count, because it names the order of
// the row that bought its item, which may be this row.
func (db *database) findOrderProducts(ctx context.Context, tx *sql.Tx, row int64, orderIDs []string) (
	map[string]filing.Product, error) {
	of := make(map[string]filing.Product)
	for _, id := range orderIDs {
		var number int
		var batch string
		err := tx.QueryRowContext(ctx,
			`SELECT r.number, r.batch FROM items i JOIN rows r ON r.id = i.row
				WHERE i.order_id = $1 AND i.row <> $2 AND r.result <> 'exists' LIMIT 1`, id, row).Scan(&number, &batch)
		if err == nil {
			return nil, fmt.Errorf("%w: %s is the order of row %d of batch %s", ErrOrderTaken, id, number, batch)
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return nil, fmt.Errorf("find the order %s: %w", id, err)
		}
		events, err := db.listEvents(ctx, tx, `e.order_id = $1 AND e.product <> '' ORDER BY e.product LIMIT 1`, id)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			of[id], _ = e.Product()
		}
	}
	return of, nil
}

// ErrCreating is returned for order IDs of a row if only the creation of its company is uncertain.
var ErrCreating = errors.New("the creation of the company is uncertain: enter the company's id")

// MarkCreated resolves a row with an uncertain creation of its company, after a person has verified
// that the company exists. It unblocks the rows that wait for the company. An order of the row that
// was written back after a restore stays uncertain.
func (l Resolutions) MarkCreated(ctx context.Context, row int64, attempt int, company filing.Company,
	why string) error {
	return l.resolve(ctx, resolution{
		row:     row,
		attempt: attempt,
		decide: func(d *decision, s *rowState, _ map[string]filing.Product) error {
			if !s.creating {
				return fmt.Errorf("%w: its order is uncertain, not its company", ErrTransition)
			}
			if err := d.rememberCreated(s, company); err != nil {
				return err
			}
			creates := func(a *filing.Attempt) bool {
				return a.Creates || slices.Contains(a.Products, filing.CompanyRecord)
			}
			d.decideMatching(s, creates, filing.DecidedPlaced,
				[]filing.Purchase{{Product: filing.CompanyRecord, OrderID: company.ID}}, why)
			// The order for the company may have been sent, too.
			s.counted, s.checkedAt = 0, 0
			return nil
		},
	})
}

// MarkNotPlaced resolves an uncertain row as not placed. It releases the reservation, and the row
// may be sent again.
func (l Resolutions) MarkNotPlaced(ctx context.Context, row int64, attempt int, why string) error {
	return l.resolve(ctx, resolution{
		row:     row,
		attempt: attempt,
		decide: func(d *decision, s *rowState, _ map[string]filing.Product) error {
			d.decideAttempts(s, filing.DecidedNotPlaced, nil, why)
			s.counted = 0
			return nil
		},
	})
}

// resolution is a person's decision on an uncertain row.
type resolution struct {
	row int64
	// attempt is the attempt that the person reviewed. Zero means the present one.
	attempt int
	// orderIDs are the orders that the person found, and known are claims that the row may have bought.
	orderIDs []string
	known    []Claim
	// decide decides, with the products of the order IDs that events name.
	decide func(*decision, *rowState, map[string]filing.Product) error
}

func (l Resolutions) resolve(ctx context.Context, r resolution) error {
	err := l.change(ctx, func(tx *Tx) error {
		d, s, err := l.readRow(ctx, tx, r.row, r.known)
		switch {
		case err != nil:
			return err
		case s.result != filing.Uncertain:
			return fmt.Errorf("%w: it is %s", ErrTransition, s.result)
		case r.attempt != 0 && s.lastAttempt != r.attempt:
			return fmt.Errorf("%w: it was sent again since, as attempt %d", ErrStale, s.lastAttempt)
		}
		of, err := l.findOrderProducts(ctx, tx.Tx, r.row, r.orderIDs)
		if err != nil {
			return err
		}
		s.checkedAt = tx.control.checkTime()
		if err := r.decide(d, s, of); err != nil {
			return err
		}
		if s.result == filing.Ready {
			waits, message, err := tx.blockResent(ctx, s.batch, Resolved, true)
			if err != nil {
				return err
			}
			if waits != "" {
				s.blockedOn, s.message = waits, s.message+"; "+message
			}
			// The batch will end again.
			if err := outbox.EndWithin(ctx, tx.Tx, outbox.KindBatch, s.batch); err != nil {
				return err
			}
		}
		if err := tx.write(ctx, d); err != nil {
			return err
		}
		return tx.AllocateFunds(ctx)
	})
	return store.Wrap("resolve the row", err)
}

// readRow reads a row that a person decides on. Known are claims that the row may have bought.
func (l Resolutions) readRow(ctx context.Context, tx *Tx, row int64, known []Claim) (
	*decision, *rowState, error) {
	now := store.ToMillis(l.Now())
	in, err := tx.readSnapshot(ctx, []*transition{{outcome: &Outcome{Row: row, Known: known}}}, now)
	if err != nil {
		return nil, nil, err
	}
	s, ok := in.rows[row]
	switch {
	case !ok:
		return nil, nil, ErrNotFound
	case !s.isAt(l.of):
		return nil, nil, errOtherRow
	}
	return tx.newDecision(in, now), s, nil
}

const uncertainIn = `r.result = 'uncertain' AND ($1 = '' OR r.batch = $1)`

// UncertainRows lists the uncertain rows of a batch, or of all batches if batch is empty.
func (l Resolutions) UncertainRows(ctx context.Context, batch string) ([]Row, error) {
	var all []Row
	for r, err := range l.streamPages(func(last Row) ([]Row, error) {
		return l.loadPage(ctx, selectIn(batch)+uncertainIn+` AND r.id > $2 ORDER BY r.id LIMIT $3`, batch, last.ID,
			pageSize)
	}) {
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// UncertainPage reads a page of the uncertain rows of a batch, or of all batches if batch is empty.
// The page begins after the row with the ID after. The first page begins after 0. It also returns
// the total number of uncertain rows.
func (l Resolutions) UncertainPage(ctx context.Context, batch string, after int64,
	limit int) (rows []Row, total int, err error) {
	err = l.Read.QueryRowContext(ctx,
		`SELECT COUNT(*) FROM (`+selectIn(batch)+uncertainIn+`) AS found`, batch).Scan(&total)
	if err != nil {
		return nil, 0, fmt.Errorf("count the uncertain rows: %w", err)
	}
	rows, err = l.loadPage(ctx, selectIn(batch)+uncertainIn+` AND r.id > $2 ORDER BY r.id LIMIT $3`,
		batch, after, limit)
	return rows, total, err
}

// UncertainBatch is a batch with uncertain rows.
type UncertainBatch struct {
	Batch, File string
	Rows        int
	// Reserved is the amount reserved for these rows.
	Reserved money.Cents
}

// UncertainBatches lists the batches with uncertain rows, the newest first.
func (l Resolutions) UncertainBatches(ctx context.Context) ([]UncertainBatch, error) {
	return store.List[UncertainBatch](ctx, l.Read, "list the batches with uncertain rows",
		`SELECT b.id AS batch, b.file, q.rows, q.reserved
			FROM (SELECT r.batch, COUNT(*) AS rows, CAST(SUM(r.reserved) AS BIGINT) AS reserved
				FROM rows r WHERE r.result = 'uncertain' AND `+atRest+`
				GROUP BY r.batch) AS q
			JOIN batches b ON b.id = q.batch
			ORDER BY b.created_at DESC, b.id`)
}

// NameCompany records the company that a bought formation of the row created, with the claims of
// the other items of the order. It changes nothing if the row already has this company. It returns
// ErrTransition if the row has no such formation, is in flight or uncertain, or has another
// company.
func (l Resolutions) NameCompany(ctx context.Context, row int64, company string, known []Claim, why string) error {
	err := l.change(ctx, func(tx *Tx) error {
		d, s, err := l.readRow(ctx, tx, row, known)
		switch {
		case err != nil:
			return err
		case s.result == filing.Placing, s.result == filing.Uncertain, !s.hasFormed(),
			s.company != "" && s.company != company:
			return fmt.Errorf("%w: it is %s, for the company %q", ErrTransition, s.result, s.company)
		case s.company == "":
			s.company = company
			if s.result == filing.Placed {
				s.message = why
			}
			d.touch(s)
		}
		d.giveKeys(s, filing.Fold(s.attempts, s.limits(true)), known)
		return tx.write(ctx, d)
	})
	return store.Wrap(fmt.Sprintf("name the company of row %d", row), err)
}

// hasFormed reports whether the row has bought a formation.
func (s *rowState) hasFormed() bool {
	return slices.ContainsFunc(s.claims, func(p *purchase) bool { return p.bought && p.product == filing.Formation })
}

// UnnamedFormations lists the rows of a batch, or of all batches if batch is empty, that bought a
// formation and whose company is unknown. It leaves out uncertain rows, which are resolved first.
func (l Resolutions) UnnamedFormations(ctx context.Context, batch string) ([]Row, error) {
	var all []Row
	for r, err := range l.streamPages(func(last Row) ([]Row, error) {
		return l.loadPage(ctx, selectIn(batch)+`r.result NOT IN ('uncertain', 'placing', 'exists') AND r.company = ''
				AND ($1 = '' OR r.batch = $1) AND r.id > $2
				AND r.id IN (SELECT p.row FROM purchases p WHERE p.product = 'formation' AND p.bought = 1)
			ORDER BY r.id
			LIMIT $3`, batch, last.ID, pageSize)
	}) {
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}
