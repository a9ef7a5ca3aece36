package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// ChargesOf returns the charges of a client. An empty client returns all charges.
func ChargesOf(client string, all []ledger.Charge) []ledger.Charge {
	if client == "" {
		return all
	}
	folded := filing.FoldLegalName(client)
	return slices.DeleteFunc(slices.Clone(all), func(c ledger.Charge) bool {
		return c.Client != client && (folded == "" || filing.FoldLegalName(c.Client) != folded)
	})
}

// ChargeGroup sums the charges of a client and matter in a month. The fees cover only orders whose
// service fee and state fee are both known.
type ChargeGroup struct {
	Month, Client, Matter string
	// Orders does not count adjusted charges.
	Orders         int
	Service, State money.Cents
	Cost           money.Cost
}

func (g *ChargeGroup) add(c *ledger.Charge) {
	if c.Product != "" {
		g.Orders++
	}
	if service, state, ok := c.Fees(); ok {
		g.Service, g.State = g.Service+service, g.State+state
	}
	g.Cost, _ = g.Cost.Plus(c.Cost)
}

// GroupCharges sums charges by month, client and matter, and returns the total of all.
func GroupCharges(all []ledger.Charge) (groups []ChargeGroup, total ChargeGroup) {
	for i := range all {
		c := &all[i]
		of := ChargeGroup{Month: c.Month, Client: c.Client, Matter: c.Matter}
		n := len(groups) - 1
		if n < 0 || groups[n].Month != of.Month || groups[n].Client != of.Client || groups[n].Matter != of.Matter {
			groups = append(groups, of)
			n++
		}
		groups[n].add(c)
		total.add(c)
	}
	return groups, total
}

// ChargeTitle names the charged product, such as "Annual report 2026", or "Adjusted charge".
func ChargeTitle(c *ledger.Charge) string {
	if c.Product == "" {
		return "Adjusted charge"
	}
	if c.Year == "" || c.Product != filing.AnnualReport {
		return productTitle(c.Product)
	}
	return productTitle(c.Product) + " " + c.Year
}

// WriteCharges writes one charge per line, as CSV if the file name ends in .csv and as a workbook
// otherwise.
func WriteCharges(path string, all []ledger.Charge, zone *time.Location) error {
	table, err := createTable(path, "Charges", []float64{10, 12, 28, 20, 24, 18, 32, 26, 8, 24, 18, 8, 14, 14, 14, 12},
		"Month", "Date", "Client", "Matter", "Bill To", "Reference", "Company", "Order", "State", "Order ID", "Batch",
		"Row", "Service Fee", "State Fee", "Total", "Certainty")
	if err != nil {
		return err
	}
	defer table.abort()
	for i := range all {
		c := &all[i]
		var fees [2]sheet.OutCell
		if service, state, ok := c.Fees(); ok {
			fees = [2]sheet.OutCell{sheet.Money(int64(service)), sheet.Money(int64(state))}
		}
		cells := []sheet.OutCell{sheet.Str(c.Month), sheet.Str(c.At.In(zone).Format(time.DateOnly))}
		for _, text := range []string{c.Client, c.Matter, c.BillTo, c.Reference, c.Company, ChargeTitle(c), c.State,
			c.OrderID, c.Batch} {
			cells = append(cells, sheet.Str(text))
		}
		if err := table.row(append(cells, sheet.Int(int64(c.Number)), fees[0], fees[1],
			sheet.Money(int64(c.Cost.Amount)), sheet.Str(c.Cost.Certainty.String()))...); err != nil {
			return err
		}
	}
	return table.save()
}

// outTable is a file with one table.
type outTable struct {
	row   func(...sheet.OutCell) error
	save  func() error
	abort func()
}

// createTable creates a file with one table, as CSV if its name ends in .csv and as a workbook
// otherwise. The widths apply to the columns of a workbook.
func createTable(path, name string, widths []float64, header ...string) (outTable, error) {
	cells := make([]sheet.OutCell, len(header))
	for i, text := range header {
		cells[i] = sheet.Str(text).WithStyle(sheet.StyleHeader)
	}
	if mediumOf(path) == inCSV {
		file, err := sheet.CreateCSV(path)
		if err != nil {
			return outTable{}, err
		}
		return outTable{file.Row, file.Save, file.Abort}, file.Row(cells...)
	}
	book, err := sheet.Create(path)
	if err != nil {
		return outTable{}, err
	}
	table, err := book.Sheet(name, sheet.SheetOptions{Widths: widths, HeaderRows: 1, AutoFilter: true})
	if err == nil {
		err = table.Row(cells...)
	}
	if err != nil {
		book.Abort()
		return outTable{}, fmt.Errorf("write %s: %w", path, err)
	}
	return outTable{table.Row, book.Save, book.Abort}, nil
}
