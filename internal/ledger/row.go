package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// rowFields are what scanRow reads of a row r, before the batch and number that it has itself.
const rowFields = `r.id, r.batch, r.number, r.cells, r.faults, r.request, r.result, r.message, r.cost, r.certainty,
		r.held, r.spent, r.spent_certainty, r.approved, r.approved_certainty, r.attempts, r.tries, r.doubt,
		r.dropped, r.company, r.creating, r.owner, r.waits, r.priority, r.updated_at, `

// What reads rows selects them as they are, or as the results of their batches show them.
const (
	selectRows    = `SELECT ` + rowFields + `r.batch, r.number FROM rows r WHERE `
	selectResults = `SELECT ` + rowFields + `r.own_batch, r.own_number FROM result_rows r WHERE `
)

// selectIn selects from the results of a batch, or from the rows of all batches for "".
func selectIn(batch string) string {
	if batch == "" {
		return selectRows
	}
	return selectResults
}

func scanRow(scan func(...any) error) (Row, error) {
	var r Row
	var cells, faults, request, dropped string
	var updated int64
	var left, held, spent money.Cost
	var own BatchRow
	if err := scan(&r.ID, &r.Batch, &r.Number, &cells, &faults, &request, &r.Result, &r.Message, &left.Amount,
		&left.Certainty, &held.Amount, &spent.Amount, &spent.Certainty, &r.Approved.Amount, &r.Approved.Certainty,
		&r.Attempts, &r.Tries, &r.Uncertain, &dropped, &r.Company, &r.Creating, &r.Owner, &r.BlockedOn, &r.Priority,
		&updated, &own.Batch, &own.Number); err != nil {
		return r, err
	}
	if own != r.InBatch() {
		r.Correction = &own
	}
	r.Cells, r.Reserved, r.Spent = []byte(cells), held.Amount, spent
	switch r.Result {
	case filing.Placed, filing.Exists, filing.Skipped:
		r.Cost = spent
	default:
		r.Cost = money.Cost{Amount: left.Amount + spent.Amount, Certainty: max(left.Certainty, spent.Certainty)}
	}
	r.Dropped, r.UpdatedAt = splitProducts(dropped), fromMillis(updated)
	if faults != "" {
		if err := json.Unmarshal([]byte(faults), &r.Faults); err != nil {
			return r, fmt.Errorf("read the faults of row %d: %w", r.ID, err)
		}
	}
	if request != "" {
		r.Request = new(filing.Request)
		if err := json.Unmarshal([]byte(request), r.Request); err != nil {
			return r, fmt.Errorf("read the request of row %d: %w", r.ID, err)
		}
	}
	return r, nil
}

// Left returns what the row still orders, for a user and a company by their ids. What is left
// after a formation is ordered for the company that it formed.
func (r *Row) Left(userID, companyID string) filing.Order {
	o := r.Request.Order
	o.UserID, o.CompanyID = userID, companyID
	for _, p := range r.Dropped {
		o = o.Drop(p)
	}
	if r.Request.Order.Formation != nil && o.Formation == nil {
		o.CompanyID = r.Company
	}
	return o
}

// Sent returns what of an order a process that is forgotten may have sent: its first request,
// and what the service would make a second time. The rest is ordered once this is decided.
func Sent(order filing.Order) (sent filing.Order, rest []filing.Product) {
	_, later := order.First()
	for _, p := range later.Products() {
		if p.Repeatable(false) {
			order, rest = order.Drop(p), append(rest, p)
		}
	}
	return order, rest
}

// rows streams the rows that a query selects, without their items.
func (db *database) rows(ctx context.Context, query string, args ...any) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		found, err := db.readPrepared(ctx, query, args...)
		if err != nil {
			yield(Row{}, fmt.Errorf("read rows: %w", err))
			return
		}
		defer found.Close()
		for found.Next() {
			r, err := scanRow(found.Scan)
			if err != nil {
				yield(r, fmt.Errorf("read a row: %w", err))
				return
			}
			if !yield(r, nil) {
				return
			}
		}
		if err := found.Err(); err != nil {
			yield(Row{}, fmt.Errorf("read rows: %w", err))
		}
	}
}

// pageSize bounds what is in memory while a batch streams by.
const pageSize = 1000

// Rows streams the rows of a batch in the order of the input, with their items. Corrected
// rows are as they were; see Results.
func (l *Ledger) Rows(ctx context.Context, batch string) iter.Seq2[Row, error] {
	return l.inOrder(ctx, selectRows, batch)
}

// Results streams the rows of a batch as Rows does, as its results show them: a corrected row
// has the result of the row that was sent in its place.
func (l *Ledger) Results(ctx context.Context, batch string) iter.Seq2[Row, error] {
	return l.inOrder(ctx, selectResults, batch)
}

func (db *database) inOrder(ctx context.Context, from, batch string) iter.Seq2[Row, error] {
	return db.pages(func(last Row) ([]Row, error) {
		return db.page(ctx, from+`r.batch = $1 AND (r.number, r.id) > ($2, $3) ORDER BY r.number, r.id LIMIT $4`,
			batch, last.Number, last.ID, pageSize)
	})
}

// pages streams rows page by page, each read from where the last one ended.
func (db *database) pages(read func(last Row) ([]Row, error)) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		last := Row{Number: -1}
		for {
			page, err := read(last)
			if err != nil {
				yield(Row{}, err)
				return
			}
			for _, r := range page {
				if !yield(r, nil) {
					return
				}
				last = r
			}
			if len(page) < pageSize {
				return
			}
		}
	}
}

// namePlaced adds to the message of a row that is not done what was placed for it.
func (r *Row) namePlaced() {
	switch r.Result {
	case filing.Placed, filing.Exists, filing.Skipped:
		return
	}
	for _, i := range r.Items {
		if i.Product != "" && i.OrderID != "" {
			r.addNote("placed: the " + i.Product.Title())
		}
	}
}

func (r *Row) addNote(note string) {
	if r.Message != "" {
		r.Message += "; "
	}
	r.Message += note
}

// nameTwice adds to the messages of a page's rows what was bought twice. At is where the
// page has a row.
func (db *database) nameTwice(ctx context.Context, page []Row, at map[int64]int) error {
	found, err := db.readPrepared(ctx,
		`SELECT p.product, r.id, r.batch, r.number, o.id, o.batch, o.number
			FROM purchases p JOIN rows r ON r.id = p.row JOIN rows o ON o.id = p.twin
			WHERE p.twin <> 0 AND p.bought = 1
			ORDER BY p.row, p.key`)
	return each(found, err, func(scan func(...any) error) error {
		var product filing.Product
		var second, first rowRef
		if err := scan(&product, &second.id, &second.batch, &second.number, &first.id, &first.batch,
			&first.number); err != nil {
			return err
		}
		add := func(r, other rowRef) {
			i, here := at[r.id]
			if !here {
				return
			}
			note := fmt.Sprintf("bought twice: %s bought the same %s", other.seenFrom(r.batch), product.Title())
			if other == r {
				note = "bought twice by this row: the " + product.Title()
			}
			page[i].addNote(note + "; ask the filing service to refund one of the two")
		}
		if add(second, first); first != second {
			add(first, second)
		}
		return nil
	})
}

// page reads the rows that a query selects, with their items.
func (db *database) page(ctx context.Context, query string, args ...any) ([]Row, error) {
	var page []Row
	at := make(map[int64]int)
	for r, err := range db.rows(ctx, query, args...) {
		if err != nil {
			return nil, err
		}
		at[r.ID] = len(page)
		page = append(page, r)
	}
	if len(page) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(page))
	for i, r := range page {
		ids[i] = r.ID
	}
	in, refs := among(db.dialect, ids)
	items, err := db.readPrepared(ctx,
		`SELECT row, product, order_type, order_id, filing_status, filing_date, subscription_status, cost,
				certainty, exception, exception_note
			FROM items
			WHERE row `+in+` ORDER BY id`, refs...)
	if err != nil {
		return nil, fmt.Errorf("read items: %w", err)
	}
	defer items.Close()
	for items.Next() {
		var row, cost int64
		var i Item
		if err := items.Scan(&row, &i.Product, &i.OrderType, &i.OrderID, &i.FilingStatus, &i.FilingDate,
			&i.SubscriptionStatus, &cost, &i.Cost.Certainty, &i.Exception, &i.ExceptionNote); err != nil {
			return nil, fmt.Errorf("read an item: %w", err)
		}
		i.Cost.Amount = money.Cents(cost)
		page[at[row]].Items = append(page[at[row]].Items, i)
	}
	if err := items.Err(); err != nil {
		return nil, fmt.Errorf("read items: %w", err)
	}
	for i := range page {
		page[i].namePlaced()
	}
	if err := db.nameTwice(ctx, page, at); err != nil {
		return nil, err
	}
	return page, db.coverPage(ctx, page)
}

// Row reads one row with its items.
func (l *Ledger) Row(ctx context.Context, id int64) (Row, error) {
	page, err := l.page(ctx, selectRows+`r.id = $1`, id)
	if err != nil {
		return Row{}, err
	}
	if len(page) == 0 {
		return Row{}, fmt.Errorf("row %d: %w", id, ErrNotFound)
	}
	return page[0], nil
}

// RowsByID reads rows with their items, by id; those that are not there are
// left out.
func (l *Ledger) RowsByID(ctx context.Context, ids []int64) (map[int64]Row, error) {
	rows := make(map[int64]Row, len(ids))
	for some := range slices.Chunk(ids, pageSize) {
		in, args := among(l.dialect, some)
		page, err := l.page(ctx, selectRows+`r.id `+in, args...)
		if err != nil {
			return nil, err
		}
		for _, r := range page {
			rows[r.ID] = r
		}
	}
	return rows, nil
}

// sendable is what Begin will let through, but for what halts everybody.
const sendable = `r.result = 'ready' AND r.waits = '' AND r.due <= $1 AND b.open = 1 AND b.paused = 0
	AND b.canceled = 0 AND b.approval <> 'wanted'`

// ReadyRows reads those of the given rows that may be sent now.
func (l *Ledger) ReadyRows(ctx context.Context, ids []int64) ([]Row, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	in, args := among(l.dialect, ids, toMillis(l.now()))
	// The rows first: PostgreSQL would go through all that are ready instead.
	return l.page(ctx, selectRows+`r.id IN (
			WITH asked AS MATERIALIZED (SELECT id, batch, result, waits, due FROM rows WHERE id `+in+`)
			SELECT r.id FROM asked r JOIN batches b ON b.id = r.batch WHERE `+sendable+`)
		ORDER BY r.priority, r.id`, args...)
}

// Sendable lists the ids of rows that may be sent now: some of every batch in turn, so
// that a small one is not stuck behind a large one, and not more than limit.
// An only batch narrows it to one.
func (l *Ledger) Sendable(ctx context.Context, only string, limit int) ([]int64, error) {
	// Not EXISTS, for which PostgreSQL would read all ready rows.
	rows, err := l.readPrepared(ctx,
		`SELECT b.id FROM batches b
			WHERE b.open = 1 AND b.paused = 0 AND b.canceled = 0 AND b.approval <> 'wanted'
			AND ($1 = '' OR b.id = $1)
			AND (SELECT r.id FROM rows r WHERE r.batch = b.id AND r.result = 'ready' AND r.waits = ''
				LIMIT 1) IS NOT NULL
			ORDER BY b.created_at`, only)
	batches, err := collect(rows, err, scanOne[string])
	if err != nil {
		return nil, fmt.Errorf("list batches with work: %w", err)
	}
	inTurn := make(map[int][]int64) // by how many rows of their batch come before them
	for _, batch := range batches {
		// Of the rows alone: with the batch in it, PostgreSQL would read and sort
		// them all rather than take the first of their index.
		rows, err := l.readPrepared(ctx,
			`SELECT r.id FROM rows r
				WHERE r.batch = $2 AND r.result = 'ready' AND r.waits = '' AND r.due <= $1
				ORDER BY r.priority, r.id LIMIT $3`,
			toMillis(l.now()), batch, max(limit/len(batches), 1))
		found, err := collect(rows, err, scanOne[int64])
		if err != nil {
			return nil, fmt.Errorf("list rows to send of batch %s: %w", batch, err)
		}
		for n, id := range found {
			inTurn[n] = append(inTurn[n], id)
		}
	}
	var ids []int64
	for n := range len(inTurn) {
		ids = append(ids, inTurn[n]...)
	}
	return ids, nil
}
