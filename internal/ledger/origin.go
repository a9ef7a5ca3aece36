package ledger

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Origin identifies the batch of a workbook that the ledger wrote, so that its rows are recognized
// if the workbook is uploaded again.
type Origin struct {
	Batch string
	// Sheet is the sheet on which the rows of the batch are corrected.
	Sheet string
	// Rows is the number of rows of the batch. Zero if the batch was only checked.
	Rows int
	// Results is the sheet with the result of each row. Empty if the workbook has none.
	Results string
	// Accounts are the filing accounts of the ledger. See Organizations.Accounts.
	Accounts []string
	// Bought are the rows on that sheet that have an order or may have one.
	Bought []BoughtRow
	// Options are the options of the batch. Orders are the keys for which its rows placed orders,
	// as the rows named them, by the first order ID.
	Options string
	Orders  map[string]filing.Key
	// Beside are the remarks on rows that are not in a cell of that sheet.
	Beside []RowRemark
}

// RowRemark is a remark on a row. See Fault.Beside.
type RowRemark struct {
	Number int
	Text   string
}

// BoughtRow is a row that has an order or may have one.
type BoughtRow struct {
	Number int
	Result filing.Result
	// Orders are the order IDs, separated by commas.
	Orders string
}

// Properties returns the origin in the form that a workbook stores.
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

// OriginOf reads the origin from the properties of a workbook. It returns nil if they have none.
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

// rehearsalProperty is the property of the workbook of a rehearsal, which has no origin.
const rehearsalProperty = "rehearsal"

// RehearsalProperties returns the properties of the workbook of a rehearsal.
func RehearsalProperties() [][]string { return [][]string{{rehearsalProperty}} }

// IsRehearsal reports whether a workbook with the properties is that of a rehearsal. Its orders are
// not real, so it is never imported.
func IsRehearsal(properties [][]string) bool {
	return len(properties) > 0 && properties[0][0] == rehearsalProperty
}

// KnownOrders reports which of the orders belong to rows of this ledger.
func (l ResultFiles) KnownOrders(ctx context.Context, orders []string) (map[string]bool, error) {
	known := make(map[string]bool)
	for some := range slices.Chunk(orders, pageSize) {
		in, args := store.Among(l.Dialect, some)
		found, err := store.List[string](
			ctx,
			l.Read,
			"find orders",
			`SELECT order_id FROM items WHERE order_id `+in,
			args...)
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			known[id] = true
		}
	}
	return known, nil
}

// Record records the hash of results that were written to a file.
func (l ResultFiles) Record(ctx context.Context, hash string) error {
	return l.change(audit.Without(ctx), func(tx *Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO written (hash, at) VALUES ($1, $2) ON CONFLICT DO NOTHING`, hash,
			store.ToMillis(l.Now()))
		return err
	})
}

// IsRecorded reports whether results with the hash were written to a file.
func (l ResultFiles) IsRecorded(ctx context.Context, hash string) (bool, error) {
	return store.Find[bool](ctx, l.Read, nil, "look for what was written",
		`SELECT COUNT(*) > 0 FROM written WHERE hash = $1`, hash)
}
