package ledger

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// rowFields are the columns of a storedRow r except Own.
const rowFields = `r.id, r.batch, r.number, r.cells, r.faults, r.request, r.result, r.message,
		r.cost AS "cost.amount", r.certainty AS "cost.certainty", r.reserved, r.spent AS "spent.amount",
		r.spent_certainty AS "spent.certainty", r.approved AS "approved.amount",
		r.approved_certainty AS "approved.certainty", r.attempts, r.last_attempt, r.uncertain, r.dropped, r.company,
		r.creating, r.owner, r.blocked_on, r.priority, r.updated_at, `

// The beginnings of the queries for rows as they are, and for rows as the results of their batches
// show them.
const (
	selectRows    = `SELECT ` + rowFields + `r.batch AS "own.batch", r.number AS "own.number" FROM rows r WHERE `
	selectResults = `SELECT ` + rowFields + `r.own_batch AS "own.batch", r.own_number AS "own.number"
		FROM result_rows r WHERE `
)

// selectIn selects from the results of a batch, or from the rows of all batches if batch is empty.
func selectIn(batch string) string {
	if batch == "" {
		return selectRows
	}
	return selectResults
}

// storedRow is a row in the form of the database. Its cost is the cost of the rest of the order.
type storedRow struct {
	Row
	Own BatchRow
}

func (s *storedRow) row() Row {
	r := s.Row
	if s.Own != r.InBatch() {
		r.Correction = &s.Own
	}
	switch r.Result {
	case filing.Placed, filing.Exists, filing.Skipped:
		r.Cost = r.Spent
	default:
		r.Cost.Amount += r.Spent.Amount
		r.Cost.Certainty = max(r.Cost.Certainty, r.Spent.Certainty)
	}
	return r
}

// Left returns the rest of the row's order, for a user and a company by their IDs. The rest of an
// order with a placed formation is for the company that was formed.
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

// Sent returns the part of an order that a process without a record may have sent. It has the first
// request and the items that the service would make a second time. rest is the other part, which is
// ordered once this one is decided.
func Sent(order filing.Order) (sent filing.Order, rest []filing.Product) {
	_, later := order.First()
	for _, p := range later.Products() {
		if p.Repeatable(false) {
			order, rest = order.Drop(p), append(rest, p)
		}
	}
	return order, rest
}

// streamRows streams the rows that a query selects, without their items.
func streamRows(ctx context.Context, q store.Lister, query string, args ...any) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for stored, err := range store.Stream[storedRow](ctx, q, "read rows", query, args...) {
			if !yield(stored.row(), err) {
				return
			}
		}
	}
}

// pageSize limits the number of rows in memory while a batch is streamed.
const pageSize = 1000

// Rows streams the rows of a batch in the order of the input, with their items. Corrected rows have
// their original content. See Results.
func (l *Ledger) Rows(ctx context.Context, batch string) iter.Seq2[Row, error] {
	return l.streamInOrder(ctx, selectRows, batch)
}

// Results streams the rows of a batch like Rows, in the form that its results show. A corrected row
// has the result of the row that was sent in its place.
func (l *Ledger) Results(ctx context.Context, batch string) iter.Seq2[Row, error] {
	return l.streamInOrder(ctx, selectResults, batch)
}

// lastOfPage is the number of the last row of a page. PostgreSQL cannot read the view result_rows in
// the order of an index, and would sort the rest of the batch for each page if the page had a LIMIT.
const lastOfPage = `COALESCE((SELECT p.number FROM rows p WHERE p.batch = $1 AND p.number > $2
	ORDER BY p.number LIMIT 1 OFFSET $3), 9223372036854775807)`

func (db *database) streamInOrder(ctx context.Context, from, batch string) iter.Seq2[Row, error] {
	return db.streamPages(func(last Row) ([]Row, error) {
		return db.loadPage(ctx, from+`r.batch = $1 AND r.number > $2 AND r.number <= `+lastOfPage+`
			ORDER BY r.number, r.id`, batch, last.Number, pageSize-1)
	})
}

// streamPages streams rows page by page. Each page begins after the last row of the previous one.
func (db *database) streamPages(read func(last Row) ([]Row, error)) iter.Seq2[Row, error] {
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

// Pages collects the wanted rows of a sequence in pages.
func Pages(rows iter.Seq2[Row, error], wanted func(*Row) bool) iter.Seq2[[]Row, error] {
	return func(yield func([]Row, error) bool) {
		var page []Row
		for row, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			if !wanted(&row) {
				continue
			}
			if page = append(page, row); len(page) == pageSize {
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

// notePlaced adds the placed items to the message of a row that is not done.
func (r *Row) notePlaced() {
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

// noteBoughtTwice adds the items that were bought twice to the messages of a page's rows. at maps
// the IDs of the rows to their positions.
func (db *database) noteBoughtTwice(ctx context.Context, page []Row, at map[int64]int) error {
	twice, err := listBoughtTwice(ctx, db.Read, math.MaxInt32)
	for _, t := range twice {
		add := func(r, other rowRef) {
			i, here := at[r.ID]
			if !here {
				return
			}
			note := fmt.Sprintf("bought twice: %s bought the same %s", other.seenFrom(r.Batch), t.Product.Title())
			if other == r {
				note = "bought twice by this row: the " + t.Product.Title()
			}
			page[i].addNote(note + "; ask the filing service to refund one of the two")
		}
		if add(t.Second, t.First); t.First != t.Second {
			add(t.First, t.Second)
		}
	}
	return err
}

// boughtTwice is a product that two attempts bought.
type boughtTwice struct {
	Product       filing.Product
	Second, First rowRef
}

func listBoughtTwice(ctx context.Context, q store.Lister, limit int) ([]boughtTwice, error) {
	return store.List[boughtTwice](ctx, q, "read what was bought twice",
		`SELECT p.product, r.id AS "second.id", r.batch AS "second.batch", r.number AS "second.number",
				o.id AS "first.id", o.batch AS "first.batch", o.number AS "first.number"
			FROM purchases p JOIN rows r ON r.id = p.row JOIN rows o ON o.id = p.twin
			WHERE p.twin <> 0 AND p.bought = 1
			ORDER BY p.row, p.key
			LIMIT $1`, limit)
}

// loadPage reads the rows that a query selects, with their items.
func (db *database) loadPage(ctx context.Context, query string, args ...any) ([]Row, error) {
	var page []Row
	at := make(map[int64]int)
	for r, err := range streamRows(ctx, db.Read, query, args...) {
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
	in, refs := store.Among(db.Dialect, ids)
	items, err := store.List[struct {
		Row int64
		Item
	}](ctx, db.Read, "read items",
		`SELECT row, product, order_type, order_id, filing_status, filing_date, subscription_status,
				cost AS "cost.amount", certainty AS "cost.certainty", exception, exception_note
			FROM items
			WHERE row `+in+` ORDER BY id`, refs...)
	if err != nil {
		return nil, err
	}
	for _, i := range items {
		page[at[i.Row]].Items = append(page[at[i.Row]].Items, i.Item)
	}
	for i := range page {
		page[i].notePlaced()
	}
	if err := db.noteBoughtTwice(ctx, page, at); err != nil {
		return nil, err
	}
	return page, db.addCoverage(ctx, page)
}

// Row reads one row with its items. It returns ErrNotFound if there is no such row.
func (l *Ledger) Row(ctx context.Context, id int64) (Row, error) {
	page, err := l.loadPage(ctx, selectRows+`r.id = $1`, id)
	if err != nil {
		return Row{}, err
	}
	if len(page) == 0 {
		return Row{}, fmt.Errorf("row %d: %w", id, ErrNotFound)
	}
	return page[0], nil
}

// RowsByID reads rows with their items by ID. It leaves out rows that do not exist.
func (l *Ledger) RowsByID(ctx context.Context, ids []int64) (map[int64]Row, error) {
	rows := make(map[int64]Row, len(ids))
	for some := range slices.Chunk(ids, pageSize) {
		in, args := store.Among(l.Dialect, some)
		page, err := l.loadPage(ctx, selectRows+`r.id `+in, args...)
		if err != nil {
			return nil, err
		}
		for _, r := range page {
			rows[r.ID] = r
		}
	}
	return rows, nil
}
