package report

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// rowHeader is the header of the column on Needs Attention with the number of each row in its
// batch.
const rowHeader = "Row"

const resultsSheet = "Results"

// origin returns the origin that the workbook records, so that its rows on Needs Attention are
// recognized when it is uploaded again.
func (c *corrections) origin(ctx context.Context, l Ledger) (ledger.Origin, error) {
	o := ledger.Origin{Batch: c.batch.ID, Sheet: c.sheetName(attentionSheet), Rows: c.rows, Bought: c.bought,
		Beside: c.beside, Options: c.batch.Options, Orders: c.orders, Results: c.results}
	var err error
	if l, ok := l.(interface{ Organizations() ledger.Organizations }); ok {
		o.Accounts, err = l.Organizations().Accounts(ctx)
	}
	return o, err
}

// writeOrigin adds the origin to the workbook.
func (c *corrections) writeOrigin(ctx context.Context, l Ledger) error {
	o, err := c.origin(ctx, l)
	if err != nil {
		return err
	}
	return c.book.Properties(o.Properties())
}

// noteOrder records the filing key for which an order of a row was bought.
func (c *corrections) noteOrder(row *ledger.Row) {
	if row.Request == nil || row.Request.Named == "" || len(row.Items) == 0 || row.Items[0].OrderID == "" {
		return
	}
	if c.orders == nil {
		c.orders = make(map[string]filing.Key)
	}
	c.orders[row.Items[0].OrderID] = row.Request.Named
}

// note records the bought rows on Needs Attention, and the remarks beside the rows.
func (c *corrections) note(row *ledger.Row) {
	for _, f := range row.Faults {
		if f.Beside != "" {
			c.beside = append(c.beside, ledger.RowRemark{Number: row.Number, Text: f.Beside})
		}
	}
	orders := orderIDs(row.Items)
	switch {
	case orders != "", row.Result == filing.Placed, row.Result == filing.Exists, row.Result == filing.Uncertain,
		row.Result == filing.Placing:
		c.bought = append(c.bought, ledger.BoughtRow{
			Number: row.Number,
			Result: row.Result,
			Orders: orders,
		})
	}
}

// OriginOf reads the origin of a workbook. It returns nil if the workbook was not written for a
// batch.
func OriginOf(path string) (*ledger.Origin, error) {
	file, origin, err := open(path)
	if err != nil {
		return nil, err
	}
	return origin, file.Close()
}

// IsRehearsal reports whether a file is the unedited workbook of a rehearsal.
func IsRehearsal(path string) (bool, error) {
	if same, err := sheet.IsUnedited(path); err != nil || !same {
		return false, err
	}
	file, err := sheet.Open(path, sheet.Limits{})
	if err != nil {
		return false, err
	}
	defer file.Close()
	properties, err := file.Properties()
	return ledger.IsRehearsal(properties), err
}

// open opens a workbook and reads its origin. The origin is nil if the workbook has none.
func open(path string) (*sheet.File, *ledger.Origin, error) {
	file, err := sheet.Open(path, sheet.Limits{})
	if err != nil {
		return nil, nil, err
	}
	properties, err := file.Properties()
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, ledger.OriginOf(properties), nil
}

// Fingerprint identifies the content of a results file, without the sheets that people correct. It
// stays the same if another program saves the workbook.
func Fingerprint(path string) (string, error) {
	if mediumOf(path) == inCSV {
		return sheet.HashFile(path)
	}
	file, origin, err := open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	attention := attentionSheet
	if origin != nil {
		attention = origin.Sheet
	}
	whole := sha256.New()
	for _, info := range file.Sheets() {
		if info.Name == attention {
			continue
		}
		fmt.Fprintf(whole, "sheet %q\n", info.Name)
		if err := hashRows(whole, file, info.Name); err != nil {
			return "", err
		}
	}
	return "workbook " + hex.EncodeToString(whole.Sum(nil)), nil
}

func hashRows(whole io.Writer, file *sheet.File, name string) error {
	var line []byte
	return file.EachRow(name, func(row *sheet.Row) error {
		line = strconv.AppendInt(line[:0], int64(row.Number), 10)
		for i, cell := range row.Cells {
			if cell.Text != "" {
				line = strconv.AppendInt(append(line, ' '), int64(i), 10)
				line = strconv.AppendInt(append(line, ' '), int64(len(cell.Text)), 10)
				line = append(append(line, ':'), cell.Text...)
			}
		}
		_, err := whole.Write(append(line, '\n'))
		return err
	})
}

// OrdersIn lists the orders that a results workbook names.
func OrdersIn(path string) (orders []string, err error) {
	file, origin, err := open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	name := resultsSheet
	if origin != nil && origin.Results != "" {
		name = origin.Results
	}
	at := -1
	err = file.EachRow(name, func(row *sheet.Row) error {
		if at < 0 {
			if at = lastCell(row.Cells, resultColumns[colOrderIDs]); at < 0 {
				return errNoOrders
			}
		} else if at < len(row.Cells) && row.Cells[at].Text != "" {
			orders = append(orders, strings.Split(row.Cells[at].Text, ",")...)
		}
		return nil
	})
	if errors.Is(err, errNoOrders) {
		return nil, nil
	}
	return orders, err
}

// errNoOrders means that the first row of a sheet is not the header of results.
var errNoOrders = errors.New("no results")

func lastCell(cells []sheet.Cell, text string) int {
	for i := len(cells) - 1; i >= 0; i-- {
		if cells[i].Text == text {
			return i
		}
	}
	return -1
}
