package ledger

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// BoughtBefore begins the message of a ready row that will order nothing because other rows have
// bought all its items.
const BoughtBefore = "bought before"

// RowQuery asks for some rows of a batch.
type RowQuery struct {
	Batch string
	// Results are the wanted results. All if nil.
	Results []filing.Result
	// Faulty selects only rows with a fault or a warning.
	Faulty bool
	// Warned selects only rows with a warning.
	Warned bool
	// Exceptions selects only rows with a filing that needs a correction before it can go on.
	Exceptions bool
	// Before selects only rows whose items were bought before the batch.
	Before bool
	// Search is a text in the cells or the message, the ID of an order or a company, or the row's
	// number.
	Search string
	// After selects only rows with a higher number.
	After int
	// Upto selects the last rows up to this number instead of the first rows. Zero means no such
	// limit.
	Upto  int
	Limit int
	// Uncounted skips the count of the rows, because the caller knows it.
	Uncounted bool
}

// atRest is the condition for rows that are not in progress. The text must be the same in the query
// and in the index, or SQLite would not use the index.
const atRest = `r.result <> 'ready' AND r.result <> 'placing' AND r.result <> 'placed'`

// condition returns the condition of the query, without After and Limit.
func (q *RowQuery) condition(d store.Dialect) (string, []any) {
	where, args := []string{`r.batch = $1`}, []any{q.Batch}
	argument := func(v any) string {
		args = append(args, v)
		return "$" + strconv.Itoa(len(args))
	}
	if q.Results != nil {
		// The results are in the text and not arguments, because the index is a partial index for
		// some results.
		var names []string
		for _, r := range q.Results {
			if slices.Contains(filing.Results, r) {
				names = append(names, "'"+string(r)+"'")
			}
		}
		if len(names) == 0 {
			names = []string{"''"}
		}
		where = append(where, `r.result IN (`+strings.Join(names, ", ")+`)`)
		if !slices.ContainsFunc(q.Results, func(r filing.Result) bool {
			return r == filing.Ready || r == filing.Placing || r == filing.Placed
		}) {
			where = append(where, atRest)
		}
	}
	if q.Faulty {
		where = append(where, `r.faults <> ''`)
	}
	if q.Warned {
		// The message of a fault has its quotes escaped.
		where = append(where, `r.faults <> '' AND r.faults LIKE '%"w":true%'`)
	}
	if q.Exceptions {
		// The concatenation keeps SQLite from reading the index of the whole batch.
		where[0] = `r.batch || '' = $1`
		where = append(where, `r.id IN (SELECT i.row FROM items i WHERE i.exception <> 0)`)
	}
	if q.Before {
		where = append(where, `r.result = 'ready' AND r.message LIKE '`+BoughtBefore+`%'`)
	}
	if term := strings.TrimSpace(q.Search); term != "" {
		like := argument("%" + escapeLike(inJSON(term)) + "%")
		exact := argument(term)
		matches := []string{
			`r.cells ` + d.Like + ` ` + like + ` ESCAPE '!'`, `r.message ` + d.Like + ` ` + like + ` ESCAPE '!'`,
			`r.company = ` + exact,
			`EXISTS (SELECT 1 FROM items i WHERE i.row = r.id AND i.order_id = ` + exact + `)`,
		}
		if n, err := strconv.Atoi(term); err == nil {
			matches = append(matches, `r.number = `+argument(n))
		}
		where = append(where, `(`+strings.Join(matches, ` OR `)+`)`)
	}
	return strings.Join(where, ` AND `), args
}

// inJSON returns a text as it appears in the JSON of the cells.
func inJSON(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)
}

// escapeLike escapes the wildcards of LIKE.
func escapeLike(text string) string {
	return strings.NewReplacer(`!`, `!!`, `%`, `!%`, `_`, `!_`).Replace(text)
}

// ListRows reads some rows of a batch with their items, in the order of the input. It counts all
// rows that match the query, unless the query is Uncounted.
func (l *Ledger) ListRows(ctx context.Context, q RowQuery) (rows []Row, total int, err error) {
	where, args := q.condition(l.Dialect)
	if !q.Uncounted {
		if err := l.Read.QueryRowContext(ctx, `SELECT COUNT(*) FROM result_rows r WHERE `+where,
			args...).Scan(&total); err != nil {
			return nil, 0, fmt.Errorf("count rows of batch %s: %w", q.Batch, err)
		}
	}
	if q.Upto > 0 {
		args = append(args, q.Upto, q.Limit)
		where += fmt.Sprintf(` AND r.number <= $%d ORDER BY r.number DESC, r.id DESC LIMIT $%d`, len(args)-1, len(args))
		rows, err = l.loadPage(ctx, selectResults+where, args...)
		slices.Reverse(rows)
		return rows, total, err
	}
	args = append(args, q.After, q.Limit)
	where += fmt.Sprintf(` AND r.number > $%d ORDER BY r.number, r.id LIMIT $%d`, len(args)-1, len(args))
	rows, err = l.loadPage(ctx, selectResults+where, args...)
	return rows, total, err
}

// RowNumbered finds a row by its number in its sheet, in the form that the results of its batch
// show. It returns ErrNotFound if no such row exists.
func (l *Ledger) RowNumbered(ctx context.Context, batch string, number int) (Row, error) {
	return l.findRow(ctx, selectResults, batch, number)
}

// UploadedRow finds a row by its number in its sheet, in the form before its correction. It returns
// ErrNotFound if no such row exists.
func (l *Ledger) UploadedRow(ctx context.Context, batch string, number int) (Row, error) {
	return l.findRow(ctx, selectRows, batch, number)
}

func (db *database) findRow(ctx context.Context, from, batch string, number int) (Row, error) {
	page, err := db.loadPage(ctx, from+`r.batch = $1 AND r.number = $2 ORDER BY r.id LIMIT 1`, batch, number)
	if err == nil && len(page) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Row{}, fmt.Errorf("find row %d of batch %s: %w", number, batch, err)
	}
	return page[0], nil
}

// OfRow lists at most limit entries of a row, the newest first.
func (l Entries) OfRow(ctx context.Context, row int64, limit int) ([]Entry, error) {
	return store.List[Entry](ctx, l.Read, "list the entries of a row",
		`SELECT e.id, e.at, e.kind, e.amount, e.row, r.batch, r.number, e.note
			FROM entries e JOIN rows r ON r.id = e.row WHERE e.row = $1 ORDER BY e.id DESC LIMIT $2`, row, limit)
}
