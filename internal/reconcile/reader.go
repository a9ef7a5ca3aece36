package reconcile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// Options say how a statement is read.
type Options struct {
	Sheet    string            // "" for the one sheet that has a header of a statement
	Map      map[string]string // header, or letters of a column, to one of our columns; to "" to leave it out
	From, To time.Time         // the period that a person gives; zero for that of the file
	Complete bool              // the statement has every charge of the period

	// Recall returns the mapping that was kept for a header of this shape; nil for none.
	Recall func(shape string) map[string]string `json:"-"`
}

// headRows is how many rows of a sheet are searched for its header.
const headRows = 30

// MaxLines is how many lines a statement may have.
const MaxLines = 1_000_000

// ReadStatement reads a statement and proves its own sums. What it cannot read exactly
// it refuses with a *sheet.FormatError.
func ReadStatement(f *sheet.File, o Options) (*Statement, error) {
	whole := sha256.New()
	if _, err := io.Copy(whole, f.Content()); err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	r := &reader{options: o, texts: make(map[string]string)}
	r.File, r.Complete, r.Hash = f.Name(), o.Complete, hex.EncodeToString(whole.Sum(nil))
	if err := r.chooseSheet(f); err != nil {
		return nil, err
	}
	if err := r.readSheet(f); err != nil {
		return nil, err
	}
	if len(r.Lines) == 0 {
		return nil, r.fault("", "the statement has no lines", "Check the file and its header. "+nothingChanged)
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	r.Notes = append(r.Notes, f.Notes()...)
	statement := r.Statement
	return &statement, nil
}

// reader reads one statement.
type reader struct {
	Statement
	options Options
	heading *heading
	head    []sheet.Row // above the header

	raw    []rawLine // beside Lines
	totals []total
	marks  [3]mark // the opening and the closing balance as they stand, by special

	texts map[string]string // one copy of every text that repeats
}

// rawLine is what the amount of a line is made from.
type rawLine struct {
	amount  money.Cents // of the amount column, or of the fees
	debit   money.Cents
	credit  money.Cents
	signed  bool // amount is to be given its sign
	balance Balance
	row     int
	words   Kind // what its words say it is; "" for nothing
}

// total is a row of totals: its amounts by column, and how many lines stand before it.
type total struct {
	row    int
	before int
	sums   map[column]money.Cents
}

// mark is a stated balance.
type mark struct {
	Balance
	cell  string
	plain bool // of a column of balances: its sign is that of the account
}

// chooseSheet finds the sheet of the statement and its header.
func (r *reader) chooseSheet(f *sheet.File) error {
	var found []string
	for _, info := range f.Sheets() {
		if r.options.Sheet != "" && !strings.EqualFold(info.Name, r.options.Sheet) {
			continue
		}
		h, head, err := r.findHeading(f, info.Name)
		if err != nil {
			return err
		}
		if h == nil {
			continue
		}
		if h.isOurs() {
			return &sheet.FormatError{
				File:   r.File,
				Sheet:  info.Name,
				Reason: "this is a file of results or bills from this program, not a statement of the filing service",
				Remedy: "Download the statement from the filing service. " + nothingChanged,
			}
		}
		found = append(found, info.Name)
		if len(found) == 1 {
			r.Sheet, r.heading, r.head = info.Name, h, head
		}
	}
	switch {
	case len(found) > 1:
		return &sheet.FormatError{
			File:   r.File,
			Reason: "several sheets look like a statement: " + strings.Join(found, ", "),
			Remedy: "Name one with --sheet. " + nothingChanged,
		}
	case len(found) == 0 && r.options.Sheet != "":
		return &sheet.FormatError{
			File:   r.File,
			Sheet:  r.options.Sheet,
			Reason: "there is no such sheet with the header of a statement",
			Remedy: nothingChanged,
		}
	case len(found) == 0:
		return &sheet.FormatError{
			File: r.File,
			Reason: "no header of a statement was found in the first 30 rows: a column of amounts, and a column " +
				"of orders, " +
				"companies or descriptions",
			Remedy: "Name the columns with --map \"Their header=Our column\". Our columns are: " + columnNames(),
		}
	}
	r.Headers, r.Shape = r.heading.headers, shapeOf(r.heading.headers)
	return r.checkMapping()
}

// checkMapping refuses a mapping of a column that the header does not have: it was
// misspelled, and its amounts would be left out.
func (r *reader) checkMapping() error {
	for _, theirs := range slices.Sorted(maps.Keys(r.options.Map)) {
		one := map[string]string{theirs: ""}
		found := false
		for at, header := range r.Headers {
			_, mapped := mappedTo(one, header, at)
			found = found || mapped
		}
		if !found {
			return &sheet.FormatError{
				File:  r.File,
				Sheet: r.Sheet,
				Reason: fmt.Sprintf("--map names the column %q, which the header in row %d does not have", theirs,
					r.heading.row),
				Remedy: "Name a column by its header or its letters. " + nothingChanged,
			}
		}
	}
	return nil
}

// ourHeaders are columns that together stand only in files that this program writes:
// the results of a batch, and the bills. Their costs are those of the ledger. Taken for a
// statement, they would charge every order a second time.
var ourHeaders = [][]string{{"Result", "Order IDs", "Attempts"}, {"Bill", "Type", "Client", "Matter"}}

// isOurs reports whether this program wrote the sheet of the header.
func (h *heading) isOurs() bool {
	return slices.ContainsFunc(ourHeaders, func(ours []string) bool {
		for _, header := range ours {
			if !slices.Contains(h.headers, header) {
				return false
			}
		}
		return true
	})
}

// shapeOf names a header, whatever the width and the case of its texts.
func shapeOf(headers []string) string {
	shape := sha256.New()
	for _, text := range headers {
		fmt.Fprintf(shape, "%q,", foldHeader(text))
	}
	return "statement-" + hex.EncodeToString(shape.Sum(nil))[:16]
}

// mappingOf is the mapping for a row as the header: that of the options, or else the
// one that was kept.
func (r *reader) mappingOf(row *sheet.Row) map[string]string {
	if len(r.options.Map) > 0 || r.options.Recall == nil {
		return r.options.Map
	}
	var texts []string
	for _, cell := range row.Cells {
		texts = append(texts, cell.Text)
	}
	return r.options.Recall(shapeOf(texts))
}

// findHeading finds the header among the first rows of a sheet: the row with the most
// columns, the first of several. It returns the rows above it, too.
func (r *reader) findHeading(f *sheet.File, name string) (best *heading, above []sheet.Row, err error) {
	rows, err := f.Rows(name)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	var head []sheet.Row
	for len(head) < headRows {
		var block sheet.Block
		if err := rows.Read(&block); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, err
		}
		for i := range block.Rows {
			row := block.Rows[i]
			row.Cells = slices.Clone(row.Cells)
			head = append(head, row)
		}
	}
	at := 0
	for i := range head[:min(len(head), headRows)] {
		h, err := readHeading(&head[i], r.mappingOf(&head[i]))
		if err != nil {
			return nil, nil, err
		}
		if h.isHeading() && (best == nil || len(h.at) > len(best.at)) {
			best, at = h, i
		}
	}
	return best, head[:at], nil
}

// readSheet reads the lines behind the header.
func (r *reader) readSheet(f *sheet.File) error {
	if err := r.readHead(); err != nil {
		return err
	}
	rows, err := f.Rows(r.Sheet)
	if err != nil {
		return err
	}
	defer rows.Close()
	var block sheet.Block
	for {
		if err := rows.Read(&block); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		for i := range block.Rows {
			if block.Rows[i].Number <= r.heading.row {
				continue
			}
			if err := r.readRow(&block.Rows[i]); err != nil {
				return err
			}
		}
	}
}

// readHead reads what the rows above the header say: the balances, the period, the
// currency.
func (r *reader) readHead() error {
	for i := range r.head {
		row := &r.head[i]
		var dates []time.Time
		for at, cell := range row.Cells {
			if cell.Kind == sheet.Blank {
				continue
			}
			if foreignCash.MatchString(cell.Text) && cell.Kind == sheet.Text {
				return r.fault(sheet.CellName(at, row.Number),
					fmt.Sprintf("%q: the statement is not in US dollars", cell.Text),
					"Ask the filing service for a statement in US dollars. "+nothingChanged)
			}
			if kind := specialOf(strings.TrimRight(cell.Text, ": ")); kind == openingRow || kind == closingRow {
				if err := r.readMark(row, kind, at+1); err != nil {
					return err
				}
			}
			dates = append(dates, datesIn(cell.Text)...)
		}
		if len(dates) == 2 && dates[0].Before(dates[1]) {
			r.From, r.To, r.Stated = dates[0], dates[1], true
		}
	}
	for _, c := range []column{amountColumn, debitColumn, creditColumn, balanceColumn} {
		if at, ok := r.heading.at[c]; ok && foreignCash.MatchString(r.heading.headers[at]) {
			return r.fault(sheet.CellName(at, r.heading.row),
				fmt.Sprintf("%q: the amounts are not in US dollars", r.heading.headers[at]),
				"Ask the filing service for a statement in US dollars. "+nothingChanged)
		}
	}
	return nil
}

// datesIn finds the days in a text: "2026-03-01 to 2026-03-31".
func datesIn(text string) (all []time.Time) {
	for _, part := range periodWords.Split(text, -1) {
		if at, ok := parseDate(strings.Trim(part, " .,:")); ok {
			all = append(all, at.Truncate(24*time.Hour))
		}
	}
	return all
}

// readMark reads the balance that a row states: of the column of balances, or the last
// amount behind the words.
func (r *reader) readMark(row *sheet.Row, kind special, from int) error {
	if at, ok := r.heading.at[balanceColumn]; ok && row.Number > r.heading.row {
		amount, known, err := r.amountOf(row, at)
		if err != nil {
			return err
		}
		if known {
			r.marks[kind] = mark{Balance{amount, true}, sheet.CellName(at, row.Number), true}
			return nil
		}
	}
	for at := len(row.Cells) - 1; at >= from; at-- {
		if row.Cells[at].Kind == sheet.Blank {
			continue
		}
		if foreignCash.MatchString(row.Cells[at].Text) {
			_, _, err := r.amountOf(row, at)
			return err
		}
		if amount, err := parseAmount(row.Cells[at].Text); err == nil {
			plain := row.Number < r.heading.row
			r.marks[kind] = mark{Balance{amount, true}, sheet.CellName(at, row.Number), plain}
			return nil
		}
	}
	return nil
}

// text returns one copy of a text: the same names stand in thousands of lines.
func (r *reader) text(s string) string {
	if s == "" {
		return ""
	}
	kept, ok := r.texts[s]
	if !ok {
		kept = strings.Clone(s)
		r.texts[kept] = kept
	}
	return kept
}

func (r *reader) cell(row *sheet.Row, c column) string {
	at, ok := r.heading.at[c]
	if !ok {
		return ""
	}
	return cellOf(row, at).Text
}

// specialRow reads a row that is no line: a balance, a total, the header once more.
func (r *reader) specialRow(row *sheet.Row) (bool, error) {
	first, filled := -1, 0
	repeated := true
	for i, c := range row.Cells {
		if c.Kind == sheet.Blank {
			continue
		}
		if first < 0 {
			first = i
		}
		filled++
		repeated = repeated && i < len(r.heading.headers) && r.heading.headers[i] == c.Text
	}
	if filled == 0 || repeated {
		return true, nil
	}
	if r.cell(row, orderColumn) != "" && orderIDs.MatchString(r.cell(row, orderColumn)) {
		return false, nil
	}
	kind := noSpecial
	for _, text := range []string{row.Cells[first].Text, r.cell(row, typeColumn), r.cell(row, descriptionColumn)} {
		if kind == noSpecial {
			kind = specialOf(strings.TrimRight(text, ": "))
		}
	}
	switch {
	case kind == openingRow, kind == closingRow:
		return true, r.readMark(row, kind, first+1)
	case kind == totalRow && r.cell(row, dateColumn) == row.Cells[first].Text,
		kind == totalRow && r.cell(row, dateColumn) == "":
		return true, r.readTotal(row)
	}
	return false, nil
}

// readTotal reads a row of totals.
func (r *reader) readTotal(row *sheet.Row) error {
	t := total{row: row.Number, before: len(r.Lines), sums: make(map[column]money.Cents)}
	for _, c := range []column{amountColumn, debitColumn, creditColumn} {
		at, ok := r.heading.at[c]
		if !ok {
			continue
		}
		sum, known, err := r.amountOf(row, at)
		if err != nil {
			return err
		}
		if known {
			t.sums[c] = sum
		}
	}
	r.totals = append(r.totals, t)
	return nil
}

// readRow reads a row behind the header.
func (r *reader) readRow(row *sheet.Row) error {
	if special, err := r.specialRow(row); special || err != nil {
		return err
	}
	raw, cell, known, err := r.readAmount(row)
	if err != nil {
		return err
	}
	if !known {
		if r.cell(row, orderColumn) == "" && r.cell(row, dateColumn) == "" {
			return nil // a remark
		}
		return r.fault(cell, "the line has no amount", "Enter it, or remove the row. "+nothingChanged)
	}
	if len(r.Lines) == MaxLines {
		return r.fault(cell, fmt.Sprintf("the statement has more than %d lines", MaxLines),
			"Reconcile it in parts. "+nothingChanged)
	}
	if c := strings.ToUpper(r.cell(row, currencyColumn)); c != "" && c != "USD" && c != "US$" && c != "$" {
		return r.fault(sheet.CellName(r.heading.at[currencyColumn], row.Number),
			fmt.Sprintf("the line is in %s, not in US dollars", c),
			"Ask the filing service for a statement in US dollars. "+nothingChanged)
	}
	line := Line{Number: len(r.Lines) + 1, Cell: cell}
	if text := r.cell(row, dateColumn); text != "" {
		at, ok := parseDate(text)
		if !ok {
			return r.fault(sheet.CellName(r.heading.at[dateColumn], row.Number), fmt.Sprintf("%q is not a date", text),
				"Enter it as 2026-03-31. "+nothingChanged)
		}
		line.At = at
	}
	r.describe(row, &line, &raw)
	r.Lines, r.raw = append(r.Lines, line), append(r.raw, raw)
	return nil
}

// readAmount reads the amounts of a line, and the address of the one that counts.
func (r *reader) readAmount(row *sheet.Row) (raw rawLine, cell string, known bool, err error) {
	raw.row = row.Number
	read := func(c column, to *money.Cents) bool {
		at, ok := r.heading.at[c]
		if !ok || err != nil {
			return false
		}
		if cell == "" {
			cell = sheet.CellName(at, row.Number)
		}
		amount, there, failed := r.amountOf(row, at)
		if err = failed; !there {
			return false
		}
		*to, known, cell = amount, true, sheet.CellName(at, row.Number)
		return true
	}
	raw.signed = read(amountColumn, &raw.amount)
	if !raw.signed {
		read(debitColumn, &raw.debit)
		read(creditColumn, &raw.credit)
	}
	if !known && err == nil {
		var service, state money.Cents
		a, b := read(serviceFeeColumn, &service), read(stateFeeColumn, &state)
		raw.signed, raw.amount = a || b, service+state
	}
	if at, ok := r.heading.at[balanceColumn]; ok && err == nil {
		raw.balance.Amount, raw.balance.Known, err = r.amountOf(row, at)
	}
	return raw, cell, known, err
}

// describe reads what a line is about.
func (r *reader) describe(row *sheet.Row, line *Line, raw *rawLine) {
	kind, about := r.cell(row, typeColumn), r.cell(row, descriptionColumn)
	product := r.cell(row, productColumn)
	whole := strings.Join([]string{about, product, kind}, " ")
	line.OrderID = orderIDs.FindString(r.cell(row, orderColumn))
	if line.OrderID == "" {
		line.OrderID = orderIDs.FindString(about)
	}
	line.OrderID = strings.Clone(line.OrderID)
	line.CompanyID = companyIDs.FindString(r.cell(row, companyIDColumn))
	line.Company = r.text(r.cell(row, companyColumn))
	if line.CompanyID == "" {
		line.CompanyID = companyIDs.FindString(line.Company + " " + about)
	}
	line.CompanyID = r.text(line.CompanyID)
	if line.CompanyID == line.Company {
		line.Company = ""
	}
	state, _ := filing.ParseState(r.cell(row, stateColumn))
	line.State = filing.State(r.text(string(state)))
	for _, text := range []string{product, about, kind} {
		if line.Product == "" {
			line.Product = productOf(text)
		}
	}
	if found := stateCodes.FindAllString(about, -1); line.State == "" && len(found) == 1 &&
		filing.State(found[0]).Known() {
		line.State = filing.State(strings.Clone(found[0]))
	}
	if line.Year = r.text(years.FindString(r.cell(row, yearColumn))); line.Year == "" &&
		line.Product == filing.AnnualReport {
		line.Year = r.text(years.FindString(about + " " + product))
	}
	if line.Company == "" && line.CompanyID == "" && about != "" {
		for _, part := range separators.Split(about, -1) {
			if part != "" {
				line.parts = append(line.parts, r.text(part))
			}
		}
	}
	if line.Text = r.text(strings.Join(strings.Fields(about+" "+product), " ")); line.Text == "" {
		line.Text = r.text(kind)
	}
	if at, ok := r.heading.at[stateFeeColumn]; ok {
		if fee, known, err := r.amountOf(row, at); err == nil && known {
			line.StateFee, line.HasFee = fee, true
		}
	}
	raw.words = kindOf(line, kind, whole)
}

// kindOf is what the words of a line say it is; "" for nothing. A payment for an order is
// a charge.
func kindOf(line *Line, kind, whole string) Kind {
	ordered := line.OrderID != "" || line.Product != ""
	switch {
	case refundWords.MatchString(whole):
		return Refund
	case line.OrderID == "" && depositWords.MatchString(kind), !ordered && depositWords.MatchString(whole):
		return Deposit
	case ordered, chargeWords.MatchString(whole):
		return Charge
	}
	return ""
}
