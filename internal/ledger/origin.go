package ledger

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strconv"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// Origin is what a workbook that was written for a batch says of itself, so that
// its rows are known again when it is fed back.
type Origin struct {
	Batch string
	Sheet string // the sheet on which the rows of the batch are to be corrected
	Rows  int    // of the batch; 0 where it was only checked
	// Results is the sheet with the result of each row; "" where it has its usual
	// name.
	Results string
	// Accounts are the filing accounts of the ledger; see Ledger.FilingAccounts.
	Accounts []string
	// Bought are the rows on that sheet of which there is an order, or may be one.
	Bought []BoughtRow
	// Options are those of the batch, and Orders say what the orders of its rows were bought
	// for: the key as the row named it, by the first order id.
	Options string
	Orders  map[string]filing.Key
	// Beside are the remarks on rows that no cell of that sheet holds.
	Beside []RowRemark
}

// RowRemark is a remark on a row, as Fault.Beside.
type RowRemark struct {
	Number int
	Text   string
}

// BoughtRow is a row of which there is an order, or may be one.
type BoughtRow struct {
	Number int
	Result filing.Result
	Orders string // their ids, separated by commas
}

// Properties are the origin as a workbook holds it.
func (o Origin) Properties() [][]string {
	rows := [][]string{{"batch", o.Batch}, {"sheet", o.Sheet}, {"rows", strconv.Itoa(o.Rows)}}
	if o.Results != "" {
		rows = append(rows, []string{"results", o.Results})
	}
	for _, account := range o.Accounts {
		rows = append(rows, []string{"account", account})
	}
	for _, b := range o.Bought {
		rows = append(rows, []string{"bought", strconv.Itoa(b.Number), string(b.Result), b.Orders})
	}
	if o.Options != "" {
		rows = append(rows, []string{"options", o.Options})
	}
	for _, id := range slices.Sorted(maps.Keys(o.Orders)) {
		rows = append(rows, []string{"order", id, string(o.Orders[id])})
	}
	for _, r := range o.Beside {
		rows = append(rows, []string{"remark", strconv.Itoa(r.Number), r.Text})
	}
	return rows
}

// OriginOf reads the origin from the properties of a workbook; nil where they
// hold none.
func OriginOf(properties [][]string) *Origin {
	o := Origin{Orders: make(map[string]filing.Key)}
	for _, row := range properties {
		row = append(slices.Clone(row), "", "", "", "")
		switch row[0] {
		case "batch":
			o.Batch = row[1]
		case "sheet":
			o.Sheet = row[1]
		case "results":
			o.Results = row[1]
		case "account":
			o.Accounts = append(o.Accounts, row[1])
		case "rows":
			o.Rows, _ = strconv.Atoi(row[1])
		case "options":
			o.Options = row[1]
		case "order":
			o.Orders[row[1]] = filing.Key(row[2])
		case "remark":
			if number, err := strconv.Atoi(row[1]); err == nil {
				o.Beside = append(o.Beside, RowRemark{number, row[2]})
			}
		case "bought":
			if number, err := strconv.Atoi(row[1]); err == nil {
				o.Bought = append(o.Bought, BoughtRow{number, filing.Result(row[2]), row[3]})
			}
		}
	}
	if o.Batch == "" {
		return nil
	}
	return &o
}

// KnownOrders reports which orders are those of rows of this ledger.
func (l *Ledger) KnownOrders(ctx context.Context, orders []string) (map[string]bool, error) {
	known := make(map[string]bool)
	for some := range slices.Chunk(orders, pageSize) {
		in, args := among(l.dialect, some)
		found, err := list[string](ctx, l.read, "find orders", `SELECT order_id FROM items WHERE order_id `+in, args...)
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			known[id] = true
		}
	}
	return known, nil
}

// RecordResults notes what was written to a file, by its hash.
func (l *Ledger) RecordResults(ctx context.Context, hash string) error {
	return l.change(withoutAudit(ctx), func(tx *sql.Tx, _ *control) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO written (hash, at) VALUES ($1, $2) ON CONFLICT DO NOTHING`, hash,
			toMillis(l.now()))
		return err
	})
}

// IsResults reports whether that was written to a file.
func (l *Ledger) IsResults(ctx context.Context, hash string) (bool, error) {
	return find[bool](ctx, l.read, nil, "look for what was written",
		`SELECT COUNT(*) > 0 FROM written WHERE hash = $1`, hash)
}
