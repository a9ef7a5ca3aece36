package sandbox

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"strings"
	"time"
)

// PostingKind is what a posting of the prepaid account is.
type PostingKind string

// The kinds of postings.
const (
	DepositPosting PostingKind = "deposit"
	ChargePosting  PostingKind = "charge"
	RefundPosting  PostingKind = "refund"
)

// Posting is one line of the prepaid account, as the service's statement shows it;
// amounts in cents. The opening balance and the postings sum to the balance.
type Posting struct {
	At        time.Time
	Kind      PostingKind
	OrderID   string
	CompanyID string
	Company   string // its legal name; empty where the service has none
	State     string
	Product   string
	Year      string
	Price     int64 // the service's part of a charge
	Fee       int64 // the state's part of a charge
	Cents     int64 // what it adds to the balance: negative for a charge
}

// addPosting adds a posting to the account. The caller holds s.mu.
func (s *Service) addPosting(p Posting) {
	if p.Cents == 0 {
		return
	}
	p.At = s.cfg.Now()
	s.balance += p.Cents
	switch p.Kind {
	case DepositPosting:
		s.deposits += p.Cents
	case ChargePosting, RefundPosting:
		s.charged -= p.Cents
	}
	s.postings = append(s.postings, p)
}

// postItem posts the charge or the refund of an item, in cents of its price and its
// state fee. The caller holds s.mu.
func (s *Service) postItem(kind PostingKind, item *Item, price, fee int64) {
	p := Posting{
		Kind:      kind,
		OrderID:   item.ID,
		CompanyID: item.CompanyID,
		State:     item.State,
		Product:   item.Product,
		Year:      item.Year,
		Price:     price,
		Fee:       fee,
		Cents:     -price - fee,
	}
	if rec := s.companies[item.CompanyID]; rec != nil {
		p.Company = rec.LegalName
	}
	if kind == RefundPosting {
		p.Price, p.Fee, p.Cents = 0, 0, price+fee
	}
	s.addPosting(p)
}

// Postings returns the postings of the account, oldest first.
func (s *Service) Postings() []Posting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Posting(nil), s.postings...)
}

// Charge charges the account for an order that no request made: a person ordered it
// on the dashboard. It returns the id of the order.
func (s *Service) Charge(companyID, name, state, product string, cents int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.id("order")
	s.addPosting(Posting{
		Kind:      ChargePosting,
		OrderID:   id,
		CompanyID: companyID,
		Company:   name,
		State:     state,
		Product:   product,
		Price:     cents,
		Cents:     -cents,
	})
	return id
}

// Correct charges an order a further amount; a negative one is refunded. It returns
// ErrNoOrder.
func (s *Service) Correct(orderID string, cents int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	item := s.items[orderID]
	switch {
	case item == nil:
		return ErrNoOrder
	case cents < 0:
		s.postItem(RefundPosting, item, -cents, 0)
	default:
		s.postItem(ChargePosting, item, cents, 0)
	}
	return nil
}

// Layout is a form of the statement.
type Layout string

// The layouts. No two name their columns alike.
const (
	PlainLayout    Layout = "plain"    // CSV: order ids and signed amounts
	WorkbookLayout Layout = "workbook" // XLSX: title rows, debit and credit, running balance, totals
	InvoiceLayout  Layout = "invoice"  // CSV: charges as positive amounts, without order ids
)

// Layouts are all of them.
var Layouts = []Layout{PlainLayout, WorkbookLayout, InvoiceLayout}

// ErrLayout is returned for a layout that does not exist.
var ErrLayout = errors.New("not a layout of a statement: plain, workbook or invoice")

// Statement writes the books as a statement of all postings, and of the balance
// before and behind them.
func (s *Service) Statement(layout Layout) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch layout {
	case PlainLayout:
		return s.plainStatement()
	case WorkbookLayout:
		return s.workbookStatement()
	case InvoiceLayout:
		return s.invoiceStatement()
	}
	return nil, fmt.Errorf("%w: %q", ErrLayout, layout)
}

func decimal(cents int64) string {
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	return fmt.Sprintf("%s%d.%02d", sign, cents/100, cents%100)
}

func (s *Service) plainStatement() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	lines := [][]string{{"Timestamp", "Type", "Order ID", "Company ID", "Product", "State", "Filing Year", "Amount"}}
	lines = append(lines, []string{"", "opening balance", "", "", "", "", "", decimal(s.cfg.OpeningBalance)})
	for _, p := range s.postings {
		lines = append(lines, []string{
			p.At.UTC().Format(time.RFC3339), string(p.Kind), p.OrderID, p.CompanyID,
			s.cfg.OrderTypes.write(p.Product), p.State, p.Year, decimal(p.Cents),
		})
	}
	lines = append(lines, []string{"", "closing balance", "", "", "", "", "", decimal(s.balance)})
	err := w.WriteAll(lines)
	return b.Bytes(), err
}

// title is the product as the statements for people write it.
func title(product string) string {
	return strings.ToUpper(product[:1]) + strings.ReplaceAll(product[1:], "_", " ")
}

// party is the company of a posting: its name, or else its id.
func (p Posting) party() string {
	if p.Company == "" {
		return p.CompanyID
	}
	return p.Company
}

func (s *Service) invoiceStatement() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Comma = ';'
	lines := [][]string{
		{"Account summary for " + s.organization.Name},
		{"Company", "State", "Service", "Report year", "Invoice date", "Service fee", "State fee", "Charge (USD)"},
		{"Previous balance", "", "", "", "", "", "", decimal(-s.cfg.OpeningBalance)},
	}
	var total int64
	for _, p := range s.postings {
		cells := []string{p.party(), p.State, "", p.Year, p.At.UTC().Format("01/02/2006"), "", "", decimal(-p.Cents)}
		switch p.Kind {
		case DepositPosting:
			cells[0], cells[2] = "", "Payment received"
		case RefundPosting:
			cells[2] = title(p.Product) + " (refund)"
		case ChargePosting:
			cells[2], cells[5], cells[6] = title(p.Product), decimal(p.Price), decimal(p.Fee)
		}
		total -= p.Cents
		lines = append(lines, cells)
	}
	lines = append(lines, []string{"Total", "", "", "", "", "", "", decimal(total)},
		[]string{"New balance", "", "", "", "", "", "", decimal(-s.balance)})
	err := w.WriteAll(lines)
	return b.Bytes(), err
}

func (s *Service) workbookStatement() ([]byte, error) {
	var rows rowWriter
	rows.add(text("Prepaid account statement"))
	rows.add(text(s.organization.Name))
	rows.add()
	rows.add(text("Date"), text("Description"), text("Reference"), text("Company"), text("State"), text("Debit"),
		text("Credit"), text("Balance"))
	rows.add(text(""), text("Opening balance"), text(""), text(""), text(""), text(""), text(""),
		amount(s.cfg.OpeningBalance))
	balance := s.cfg.OpeningBalance
	var debit, credit int64
	for _, p := range s.postings {
		balance += p.Cents
		description := "Deposit, thank you"
		if p.Product != "" {
			description = strings.TrimSpace(title(p.Product) + " " + p.Year)
		}
		if p.Kind == RefundPosting {
			description = "Refund: " + description
		}
		line := []string{
			day(p.At), text(description), text(p.OrderID), text(p.party()), text(p.State), text(""), text(""),
			amount(balance),
		}
		if p.Cents < 0 {
			debit -= p.Cents
			line[5] = amount(-p.Cents)
		} else {
			credit += p.Cents
			line[6] = amount(p.Cents)
		}
		rows.add(line...)
	}
	rows.add()
	rows.add(text(""), text("Total"), text(""), text(""), text(""), amount(debit), amount(credit), text(""))
	rows.add(text(""), text("Closing balance"), text(""), text(""), text(""), text(""), text(""), amount(balance))
	return rows.workbook()
}

// rowWriter writes the rows of a sheet in the form of a workbook.
type rowWriter struct {
	xml    bytes.Buffer
	number int
}

// add adds a row of cells; %s in each stands for its address.
func (w *rowWriter) add(cells ...string) {
	w.number++
	fmt.Fprintf(&w.xml, `<row r="%d">`, w.number)
	for i, c := range cells {
		if c != "" {
			fmt.Fprintf(&w.xml, c, fmt.Sprintf("%c%d", 'A'+i, w.number))
		}
	}
	w.xml.WriteString(`</row>`)
}

var escapeText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "%", "%%")

func text(s string) string {
	if s == "" {
		return ""
	}
	return `<c r="%s" t="inlineStr"><is><t xml:space="preserve">` + escapeText.Replace(s) + `</t></is></c>`
}

func amount(cents int64) string { return `<c r="%s" s="1"><v>` + decimal(cents) + `</v></c>` }

// day is the cell of a date: a number of days, as spreadsheet programs count them.
func day(at time.Time) string {
	days := at.UTC().Sub(time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)) / (24 * time.Hour)
	return fmt.Sprintf(`<c r="%%s" s="2"><v>%d</v></c>`, days)
}

// workbook packs the rows into a workbook of one sheet.
func (w *rowWriter) workbook() ([]byte, error) {
	const (
		head = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
		main = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"`
		rels = `xmlns="http://schemas.openxmlformats.org/package/2006/relationships"`
		kind = `http://schemas.openxmlformats.org/officeDocument/2006/relationships`
		form = `application/vnd.openxmlformats-officedocument.spreadsheetml`
	)
	parts := []struct{ name, content string }{
		{
			"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
				`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
				`<Default Extension="xml" ContentType="application/xml"/>` +
				`<Override PartName="/xl/workbook.xml" ContentType="` + form + `.sheet.main+xml"/>` +
				`<Override PartName="/xl/worksheets/sheet1.xml" ContentType="` + form + `.worksheet+xml"/>` +
				`<Override PartName="/xl/styles.xml" ContentType="` + form + `.styles+xml"/></Types>`,
		},
		{
			"_rels/.rels", `<Relationships ` + rels + `><Relationship Id="rId1" Type="` + kind +
				`/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		},
		{
			"xl/workbook.xml", `<workbook ` + main + ` xmlns:r="` + kind +
				`"><sheets><sheet name="Statement" sheetId="1" r:id="rId1"/></sheets></workbook>`,
		},
		{
			"xl/_rels/workbook.xml.rels", `<Relationships ` + rels + `><Relationship Id="rId1" Type="` + kind +
				`/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="` + kind +
				`/styles" Target="styles.xml"/></Relationships>`,
		},
		{
			"xl/styles.xml", `<styleSheet ` + main +
				`><fonts count="1"><font/></fonts><fills count="1"><fill/></fills>` +
				`<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>` +
				`<cellXfs count="3"><xf/><xf numFmtId="4" applyNumberFormat="1"/>` +
				`<xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>`,
		},
		{"xl/worksheets/sheet1.xml", `<worksheet ` + main + `><sheetData>` + w.xml.String() +
			`</sheetData></worksheet>`},
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, p := range parts {
		f, err := z.Create(p.name)
		if err != nil {
			return nil, err
		}
		if _, err := f.Write([]byte(head + p.content)); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
