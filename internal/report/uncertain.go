package report

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// UncertainSheet is the sheet on which a person resolves uncertain rows.
const UncertainSheet = "Uncertain"

// uncertainColumns precede the input's own columns: the uncertain order, the
// evidence, the decision, and the rest. If the input has a column of the same
// name, the first one is read back.
var uncertainColumns = []struct {
	header resolve.Field
	note   string
	width  float64 // in characters
	cell   func(*resolve.UncertainOrder, medium) sheet.OutCell
}{
	{resolve.RowField, "", 7, func(d *resolve.UncertainOrder, _ medium) sheet.OutCell {
		return sheet.Int(int64(d.Row.Number))
	}},
	{"Company", "", 30, func(d *resolve.UncertainOrder, _ medium) sheet.OutCell { return wrapped(d.CompanyText()) }},
	{"Ordered", "", 26, func(d *resolve.UncertainOrder, _ medium) sheet.OutCell { return wrapped(d.Ordered()) }},
	{"Dashboard", "This link signs anyone who opens it in as the company's user, for seven days. Do not share it.", 18,
		dashboardCell},
	{"Evidence", "Orders that the filing service reported and that belong to no row. One of them may be this row's.",
		44,
		func(d *resolve.UncertainOrder, _ medium) sheet.OutCell { return wrapped(candidatesText(d)) }},
	{resolve.DecisionField, "placed: the order exists; enter its ID.\nnot placed: the order does not exist; " +
		"the row is " +
		"sent again.\nleave, or empty: not known yet.", 14, func(*resolve.UncertainOrder, medium) sheet.OutCell {
		return toFill(true)
	}},
	{resolve.OrderIDsField, "order_…, as shown on the dashboard; separate several with commas.", 26,
		func(d *resolve.UncertainOrder, _ medium) sheet.OutCell { return toFill(d.TakesOrderIDs()) }},
	{resolve.CompanyIDField, "comp_…, only for a formation or for a company that was being created.", 20,
		func(d *resolve.UncertainOrder, _ medium) sheet.OutCell { return toFill(d.FormsCompany()) }},
	{"Sent", "", 23, sentCell},
	{"Answer", "", 40, func(d *resolve.UncertainOrder, _ medium) sheet.OutCell { return wrapped(answerText(d)) }},
	{"Reserved", "", 13, func(d *resolve.UncertainOrder, _ medium) sheet.OutCell {
		return sheet.Money(int64(d.Row.Reserved))
	}},
	{resolve.AttemptField, "", 10,
		func(d *resolve.UncertainOrder, _ medium) sheet.OutCell { return sheet.Int(int64(d.Row.Tries)) }},
	{resolve.BatchField, "", 14, func(d *resolve.UncertainOrder, _ medium) sheet.OutCell {
		return sheet.Str(d.Row.Batch)
	}},
}

// identifying lists the fields whose columns identify a row. Columns without a
// field are kept as well: a client number is among them.
var identifying = []string{
	"companyId", "company.legalName", "userId", "email", "filingState", "annualReport.filingYear",
	"client", "matter", "billTo", "reference",
}

func wrapped(text string) sheet.OutCell { return sheet.Str(text).WithStyle(sheet.StyleWrap) }

// toFill is an empty cell that waits for a person, or does not.
func toFill(wanted bool) sheet.OutCell {
	if wanted {
		return sheet.OutCell{}.WithStyle(sheet.StyleWarn)
	}
	return sheet.OutCell{}.WithStyle(sheet.StyleGrey)
}

func dashboardCell(d *resolve.UncertainOrder, to medium) sheet.OutCell {
	switch {
	case d.Dashboard == "":
		return wrapped("no link: " + d.NoDashboard)
	case to == inCSV:
		return sheet.Str(d.Dashboard)
	}
	c := sheet.Str("Open the dashboard").WithStyle(sheet.StyleLink)
	c.Link = d.Dashboard
	return c
}

func sentCell(d *resolve.UncertainOrder, to medium) sheet.OutCell {
	if a, known := d.LastSent(); known {
		return stamp(a.StartedAt, to)
	}
	return stamp(d.Row.UpdatedAt, to)
}

// answerText describes the answer to the attempt that is uncertain.
func answerText(d *resolve.UncertainOrder) string {
	if a, known := d.LastSent(); known {
		return AnswerText(a)
	}
	return filing.HideSSNs(d.Row.Message)
}

// candidatesText lists the orders that may belong to the row.
func candidatesText(d *resolve.UncertainOrder) string {
	lines := make([]string, len(d.Candidates))
	for i, e := range d.Candidates {
		lines[i] = e.String()
	}
	if d.MoreCandidates > 0 {
		lines = append(lines, fmt.Sprintf("and %s more", text.Count(d.MoreCandidates, "order")))
	}
	return strings.Join(lines, "\n")
}

// WriteUncertain writes the uncertain rows of a batch for a person to resolve: as
// CSV where the name ends in .csv, as a workbook otherwise. ReadDecisions reads it
// back. A file with dashboard links is readable by its owner alone.
func WriteUncertain(batch ledger.Batch, orders []*resolve.UncertainOrder, path string) error {
	err := writeUncertain(batch, orders, path)
	if err == nil {
		err = shield(path, orders)
	}
	if err != nil {
		return fmt.Errorf("write the uncertain rows of batch %s: %w", batch.ID, err)
	}
	return nil
}

// shield makes a sheet with links readable by its owner alone: a link signs in
// anyone who has it.
func shield(path string, orders []*resolve.UncertainOrder) error {
	if !slices.ContainsFunc(orders, func(d *resolve.UncertainOrder) bool { return d.Dashboard != "" }) {
		return nil
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(fmt.Errorf("keep %s from other readers: %w", path, err), os.Remove(path))
	}
	return nil
}

func writeUncertain(batch ledger.Batch, orders []*resolve.UncertainOrder, path string) error {
	layout, inputs := inputLayout(batch), make([][]sheet.Cell, len(orders))
	layout.columns = slices.DeleteFunc(layout.columns, func(c column) bool {
		return c.secret || c.field != "" && !slices.Contains(identifying, c.field)
	})
	for i := range orders {
		row := &orders[i].Row
		if len(row.Cells) > 0 {
			cells, err := sheet.DecodeCells(row.Cells)
			if err != nil {
				return fmt.Errorf("row %d: %w", row.Number, err)
			}
			inputs[i] = cells
		}
		layout.measure(row, inputs[i])
	}
	lines := func(to medium, row func(...sheet.OutCell) error) error {
		p := projection{batch: batch, layout: layout}
		return p.writeUncertainRows(orders, inputs, to, row)
	}
	if mediumOf(path) == inCSV {
		file, err := sheet.CreateCSV(path)
		if err != nil {
			return err
		}
		defer file.Abort()
		if err := lines(inCSV, file.Row); err != nil {
			return err
		}
		return file.Save()
	}
	book, err := sheet.Create(path)
	if err != nil {
		return err
	}
	defer book.Abort()
	writer, err := book.Sheet(UncertainSheet, uncertainOptions(layout, orders))
	if err != nil {
		return err
	}
	if err := lines(inWorkbook, writer.Row); err != nil {
		return err
	}
	return book.Save()
}

// writeUncertainRows writes the header and a line for each order, followed by the
// input's own cells.
func (p *projection) writeUncertainRows(orders []*resolve.UncertainOrder, inputs [][]sheet.Cell, to medium,
	row func(...sheet.OutCell) error) error {
	var header []sheet.OutCell
	for _, c := range uncertainColumns {
		header = append(header, sheet.Str(string(c.header)).WithStyle(sheet.StyleHeader).WithComment(c.note))
	}
	if err := row(append(header, p.header()...)...); err != nil {
		return err
	}
	for i := range orders {
		var cells []sheet.OutCell
		for _, c := range uncertainColumns {
			cells = append(cells, c.cell(orders[i], to))
		}
		if err := row(append(cells, p.echo(inputs[i])...)...); err != nil {
			return err
		}
	}
	return nil
}

func uncertainOptions(l *layout, orders []*resolve.UncertainOrder) sheet.SheetOptions {
	o := sheet.SheetOptions{HeaderRows: 1, HeaderColumns: 2, AutoFilter: true, TabColor: "BF8F00"}
	for i, c := range uncertainColumns {
		width := c.width
		switch c.header {
		case resolve.DecisionField:
			o.Choices = append(o.Choices, sheet.Choice{
				Column:   i,
				FirstRow: 2,
				LastRow:  1 + len(orders),
				Strict:   true,
				Values:   decisionWords(),
				Prompt:   c.note,
			})
		case resolve.OrderIDsField, resolve.CompanyIDField, resolve.BatchField:
			o.TextColumns = append(o.TextColumns, i)
		case "Company":
			for j := range orders {
				width = max(width, fit(utf8.RuneCountInString(orders[j].CompanyText()), maxWidth))
			}
		}
		o.Widths = append(o.Widths, width)
	}
	o.Widths = append(o.Widths, l.widths()...)
	for _, c := range l.textColumns() {
		o.TextColumns = append(o.TextColumns, c+len(uncertainColumns))
	}
	return o
}

func decisionWords() []string {
	words := make([]string, len(resolve.Verdicts))
	for i, v := range resolve.Verdicts {
		words[i] = string(v)
	}
	return words
}
