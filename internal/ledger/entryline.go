package ledger

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Effect returns the amount that an entry adds to the available balance. A charge adds nothing,
// because it was subtracted when it was reserved.
func (e Entry) Effect() money.Cents {
	switch e.Kind {
	case Deposit, Adjustment, Voided:
		return e.Amount
	case Reserve:
		return -e.Amount
	}
	return 0
}

// EntryLine is a deposit, an adjustment, or all entries of one order. An order is one line at the
// time of its last entry, regardless of how often it was tried. The amounts of the lines add up to
// the available balance.
type EntryLine struct {
	// Last is the ID of the newest entry.
	Last int64
	// At is the time of the newest entry, and Since is the time of the oldest.
	At    time.Time
	Since time.Time
	// Kind of an order is Reserve while money is reserved for it, and Posted or Voided afterwards.
	Kind EntryKind
	// Row is zero if the line is a deposit or an adjustment.
	Row   int64
	Batch string
	// File is the file name of the batch.
	File   string
	Number int
	Note   string
	// Count is the number of entries.
	Count    int
	Charged  money.Cents
	Reserved money.Cents
	// Amount is the amount that the line adds to the available balance.
	Amount money.Cents
	// Balance is the available balance after the line.
	Balance money.Cents
}

// LineQuery selects lines. The zero value selects all.
type LineQuery struct {
	// From and To bound the time. To is not included. A zero time is no bound.
	From, To time.Time
	// Kinds selects lines by their kind. Nil selects all kinds.
	Kinds []EntryKind
	// Search is a text in the cells of the row or in the note, or the exact ID of the row's company
	// or of one of its orders.
	Search string
	// Before selects the lines that are older than this one. Zero selects all.
	Before int64
	// Limit is the maximum number of lines. Zero means no limit.
	Limit int
	// Oldest puts the oldest line first.
	Oldest bool
}

// LineSums are the sums over all lines that a query selects, regardless of its Before and Limit.
type LineSums struct {
	Lines                     int
	Charged, Reserved, Amount money.Cents
}

// selectLines has one record for each line, with the balance after it. The balance is summed over
// all lines before any is left out. selectSums leaves the balance out, because it would require
// sorting all lines.
const (
	selectLines = beginLines + `CAST(SUM(amount) OVER (ORDER BY last) AS BIGINT) AS balance FROM lines)
	`
	selectSums = beginLines + `0 AS balance FROM lines)
	`
)

const beginLines = `WITH lines AS (
		SELECT MAX(id) AS last, MAX(at) AS at, MIN(at) AS since, MAX(row) AS row, COUNT(*) AS entries,
			CAST(SUM(CASE kind WHEN 'deposit' THEN amount WHEN 'adjustment' THEN amount
				WHEN 'reserve' THEN -amount WHEN 'void' THEN amount ELSE 0 END) AS BIGINT) AS amount,
			CAST(SUM(CASE kind WHEN 'post' THEN amount ELSE 0 END) AS BIGINT) AS charged,
			CAST(SUM(CASE kind WHEN 'reserve' THEN amount WHEN 'post' THEN -amount WHEN 'void' THEN -amount
				ELSE 0 END) AS BIGINT) AS reserved,
			MAX(CASE WHEN row = 0 THEN kind ELSE '' END) AS plain,
			MAX(CASE WHEN row = 0 THEN note ELSE '' END) AS note
		FROM entries
		GROUP BY row, CASE WHEN row = 0 THEN id ELSE 0 END),
	running AS (
		SELECT lines.*, CASE WHEN plain <> '' THEN plain WHEN reserved <> 0 THEN 'reserve'
				WHEN charged <> 0 THEN 'post' ELSE 'void' END AS kind, `

// condition returns the WHERE condition of the query and its arguments, without Before and Limit.
func (q *LineQuery) condition(d store.Dialect) (string, []any) {
	where, args := []string{`TRUE`}, []any{}
	argument := func(v any) string {
		args = append(args, v)
		return "$" + strconv.Itoa(len(args))
	}
	if !q.From.IsZero() {
		where = append(where, `e.at >= `+argument(store.ToMillis(q.From)))
	}
	if !q.To.IsZero() {
		where = append(where, `e.at < `+argument(store.ToMillis(q.To)))
	}
	if q.Kinds != nil {
		var in []string
		for _, kind := range q.Kinds {
			in = append(in, argument(string(kind)))
		}
		where = append(where, `e.kind IN (`+strings.Join(append(in, `''`), ", ")+`)`)
	}
	if term := strings.TrimSpace(q.Search); term != "" {
		like := argument("%" + escapeLike(inJSON(term)) + "%")
		exact := argument(term)
		where = append(where, `(r.cells `+d.Like+` `+like+` ESCAPE '!' OR e.note `+d.Like+` `+like+
			` ESCAPE '!' OR r.company = `+exact+
			` OR EXISTS (SELECT 1 FROM items i WHERE i.row = e.row AND e.row <> 0 AND i.order_id = `+exact+`))`)
	}
	return strings.Join(where, ` AND `), args
}

const fromRunning = ` FROM running e LEFT JOIN rows r ON r.id = e.row LEFT JOIN batches b ON b.id = r.batch WHERE `

// Lines streams the selected lines, the newest first unless Oldest is set.
func (l Entries) Lines(ctx context.Context, q LineQuery) iter.Seq2[EntryLine, error] {
	return func(yield func(EntryLine, error) bool) {
		where, args := q.condition(l.Dialect)
		query := selectLines + `SELECT e.last, e.at, e.since, e.kind, e.row, COALESCE(r.batch, ''),
			COALESCE(b.file, ''), COALESCE(r.number, 0), e.note, e.entries, e.charged, e.reserved, e.amount,
			e.balance` + fromRunning + where
		if q.Before != 0 {
			args = append(args, q.Before)
			query += fmt.Sprintf(` AND e.last < $%d`, len(args))
		}
		if query += ` ORDER BY e.last`; !q.Oldest {
			query += ` DESC`
		}
		if q.Limit > 0 {
			args = append(args, q.Limit)
			query += fmt.Sprintf(` LIMIT $%d`, len(args))
		}
		fail := func(err error) { yield(EntryLine{}, fmt.Errorf("list the entries of the balance: %w", err)) }
		rows, err := l.Read.QueryContext(ctx, query, args...)
		if err != nil {
			fail(err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			var e EntryLine
			var at, since int64
			if err := rows.Scan(&e.Last, &at, &since, &e.Kind, &e.Row, &e.Batch, &e.File, &e.Number, &e.Note,
				&e.Count, &e.Charged, &e.Reserved, &e.Amount, &e.Balance); err != nil {
				fail(err)
				return
			}
			e.At, e.Since = store.FromMillis(at), store.FromMillis(since)
			if !yield(e, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			fail(err)
		}
	}
}

// SumLines sums the selected lines.
func (l Entries) SumLines(ctx context.Context, q LineQuery) (LineSums, error) {
	where, args := q.condition(l.Dialect)
	from := ` FROM running e WHERE `
	if strings.TrimSpace(q.Search) != "" {
		from = fromRunning
	}
	var s LineSums
	err := l.Read.QueryRowContext(ctx, selectSums+`SELECT COUNT(*), CAST(COALESCE(SUM(e.charged), 0) AS BIGINT),
		CAST(COALESCE(SUM(e.reserved), 0) AS BIGINT), CAST(COALESCE(SUM(e.amount), 0) AS BIGINT)`+from+where,
		args...).Scan(&s.Lines, &s.Charged, &s.Reserved, &s.Amount)
	return s, store.Wrap("sum the entries of the balance", err)
}

// ListOfRows lists the entries of rows, by row, the oldest first.
func (l Entries) ListOfRows(ctx context.Context, ids []int64) (map[int64][]Entry, error) {
	all := make(map[int64][]Entry, len(ids))
	for some := range slices.Chunk(ids, pageSize) {
		in, args := store.Among(l.Dialect, some)
		rows, err := l.Read.QueryContext(ctx,
			`SELECT id, at, kind, amount, row, note FROM entries WHERE row `+in+` ORDER BY id`, args...)
		err = store.Each(rows, err, func(scan func(...any) error) error {
			var e Entry
			var at int64
			if err := scan(&e.ID, &at, &e.Kind, &e.Amount, &e.Row, &e.Note); err != nil {
				return err
			}
			e.At = store.FromMillis(at)
			all[e.Row] = append(all[e.Row], e)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("list the entries of rows: %w", err)
		}
	}
	return all, nil
}
