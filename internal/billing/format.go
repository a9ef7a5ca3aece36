package billing

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Format is what bills are written as.
type Format string

// The formats.
const (
	XLSX            Format = "xlsx"
	CSV             Format = "csv"
	QuickBooks      Format = "quickbooks"
	QuickBooksBills Format = "quickbooks-bills"
	Xero            Format = "xero"
	XeroBills       Format = "xero-bills"
	LEDES           Format = "ledes"
	Journal         Format = "journal"
)

// formats describe the formats, in the order of help texts.
var formats = []struct {
	format      Format
	ending      string
	about       string
	perFile     int // how many documents a file may have; 0 for any number
	write       func([]Bill, Accounts) ([]byte, error)
	payable     bool // what the firm owes the filing service
	withoutMore bool // credits are left out
}{
	{format: XLSX, ending: ".xlsx", about: "Excel workbook: bills and lines"},
	{format: CSV, ending: ".csv", about: "one line per bill line, with every detail", write: writeCSV},
	{format: QuickBooks, ending: ".csv", about: "QuickBooks Online, import of invoices", perFile: 100,
		write: writeQuickBooks, withoutMore: true},
	{
		format:  QuickBooksBills,
		ending:  ".csv",
		about:   "QuickBooks Online, import of bills: what you owe the filing service",
		write:   writeQuickBooksBills,
		payable: true,
	},
	{format: Xero, ending: ".csv", about: "Xero, import of sales invoices", perFile: 500, write: writeXero},
	{format: XeroBills, ending: ".csv", about: "Xero, import of bills: what you owe the filing service",
		write: writeXeroBills, payable: true},
	{format: LEDES, ending: ".txt", about: "LEDES 1998B, for law firms", write: writeLEDES},
	{format: Journal, ending: ".csv", about: "general ledger journal; debits equal credits", write: writeJournal},
}

// ErrFormat is returned for a format that there is not.
var ErrFormat = errors.New("there is no such format")

// Formats lists the formats.
func Formats() (all []Format) {
	for _, f := range formats {
		all = append(all, f.format)
	}
	return all
}

// ParseFormat reads the name of a format.
func ParseFormat(s string) (Format, error) {
	for _, f := range formats {
		if string(f.format) == strings.ToLower(strings.TrimSpace(s)) {
			return f.format, nil
		}
	}
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = string(f.format)
	}
	return "", fmt.Errorf("%w: %q. Choose one of %s", ErrFormat, s, strings.Join(names, ", "))
}

// Ending is the ending of the name of a file in the format.
func (f Format) Ending() string { return formats[f.index()].ending }

// About describes the format.
func (f Format) About() string { return formats[f.index()].about }

// LeavesOutCredits reports whether the receiver takes no credits in such a file.
func (f Format) LeavesOutCredits() bool { return formats[f.index()].withoutMore }

func (f Format) index() int {
	for i := range formats {
		if formats[i].format == f {
			return i
		}
	}
	return 1 // CSV has everything
}

// Files writes issued bills as the contents of files: one, or several where the
// receiver takes so many documents at once only. An XLSX is written by WriteXLSX.
func (f Format) Files(bills []Bill, accounts Accounts) (files [][]byte, err error) {
	one := formats[f.index()]
	if one.write == nil {
		return nil, fmt.Errorf("%w: %s is written to a file of its own", ErrFormat, f)
	}
	for _, some := range f.Chunks(bills) {
		file, err := one.write(some, accounts)
		if err != nil {
			return nil, fmt.Errorf("write bills as %s: %w", f, err)
		}
		files = append(files, file)
	}
	return files, nil
}

// Chunks divides bills into those that may be in one file; credits that the receiver
// does not take are left out.
func (f Format) Chunks(bills []Bill) (chunks [][]Bill) {
	one := formats[f.index()]
	var taken []Bill
	for _, b := range bills {
		if one.withoutMore && b.Total < 0 {
			continue
		}
		taken = append(taken, b)
	}
	for one.perFile > 0 && len(taken) > one.perFile {
		chunks = append(chunks, taken[:one.perFile:one.perFile])
		taken = taken[one.perFile:]
	}
	return append(chunks, taken)
}

// cell is a text as a spreadsheet program may open it: none is taken for a formula.
func cell(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return "'" + text
	}
	return text
}

// table writes records as CSV with the line ends that Windows programs expect.
func table(header []string, records [][]string) ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	if err := w.Write(header); err != nil {
		return nil, err
	}
	if err := w.WriteAll(records); err != nil {
		return nil, err
	}
	return out.Bytes(), w.Error()
}

// usDate is a day as American programs read it: 04/01/2026.
func usDate(day string) string { return redate(day, "01/02/2006") }

func redate(day, layout string) string {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return ""
	}
	return at.Format(layout)
}

var csvHeader = []string{"Bill", "Type", "Date", "Due", "Month", "Client", "Client Number", "Bill To", "Matter",
	"Reference", "Company", "Filing", "State", "Year", "Order ID", "Line", "Description", "Cost", "Amount", "Certainty",
	"Posted", "Batch", "Row"}

// detail are the cells of a line in the order of csvHeader.
func (b *Bill) detail(l *Line) []string {
	kind, certainty := "Invoice", money.Known.String()
	if b.Credit {
		kind = "Credit"
	}
	if l.Estimated {
		certainty = money.Estimated.String()
	}
	return []string{b.Name(), kind, b.Dated, b.Due, string(b.Month), cell(b.Client), cell(b.ClientID), cell(b.BillTo),
		cell(b.Matter), cell(l.Reference), cell(l.Company), l.Purchase.Product.Title(), cell(l.State), cell(l.Year),
		cell(l.OrderID), l.Kind.Title(), cell(l.Description()), l.Cost.String(), l.Amount.String(), certainty,
		l.PostedAt.UTC().Format(time.RFC3339), l.Batch, fmt.Sprint(l.Number)}
}

func writeCSV(bills []Bill, _ Accounts) ([]byte, error) {
	var records [][]string
	for i := range bills {
		for j := range bills[i].Lines {
			records = append(records, bills[i].detail(&bills[i].Lines[j]))
		}
	}
	return table(csvHeader, records)
}

// account is where the income of a line is booked.
func (a Accounts) account(k Kind) string {
	if k == ServiceFee {
		return a.ServiceFees
	}
	return a.StateFees
}

// writeXero writes sales invoices. Rows of one invoice number are one invoice; one with
// a negative total becomes a credit note.
func writeXero(bills []Bill, a Accounts) ([]byte, error) {
	header := []string{"*ContactName", "*InvoiceNumber", "*InvoiceDate", "*DueDate", "*Description", "*Quantity",
		"*UnitAmount", "*AccountCode", "*TaxType"}
	var records [][]string
	for _, b := range bills {
		for _, l := range b.Lines {
			records = append(records, []string{cell(b.To()), b.Name(), usDate(b.Dated), usDate(b.Due),
				cell(l.Description()), "1", l.Amount.String(), a.account(l.Kind), a.Tax})
		}
	}
	return table(header, records)
}

// owed is what the firm owes the filing service for a month: one line for each bill.
type owed struct {
	month, date string
	lines       []owedLine
}

type owedLine struct {
	text, client string
	amount       money.Cents
}

// payables are the costs of bills by the month of their purchases. The filing service
// is paid ahead, so the document is due at once.
func payables(bills []Bill) (all []owed) {
	at := make(map[Month]int)
	for i := range bills {
		b := &bills[i]
		n, ok := at[b.Month]
		if !ok {
			n = len(all)
			at[b.Month] = n
			last, err := time.Parse("2006-01", string(b.Month))
			if err != nil {
				last = b.IssuedAt
			}
			all = append(all, owed{month: string(b.Month), date: last.AddDate(0, 1, -1).Format(time.DateOnly)})
		}
		if cost := b.Cost(); cost != 0 {
			all[n].lines = append(all[n].lines, owedLine{"Filings for " + b.Client + ", " + b.Name(), b.Client, cost})
		}
	}
	return all
}

func writeXeroBills(bills []Bill, a Accounts) ([]byte, error) {
	header := []string{"*ContactName", "*InvoiceNumber", "*InvoiceDate", "*DueDate", "Description", "*Quantity",
		"*UnitAmount", "*AccountCode", "*TaxType"}
	var records [][]string
	for _, o := range payables(bills) {
		for _, l := range o.lines {
			records = append(records, []string{cell(a.Vendor), "FILINGS-" + o.month, usDate(o.date), usDate(o.date),
				cell(l.text), "1", l.amount.String(), a.Costs, a.Tax})
		}
	}
	return table(header, records)
}

// writeQuickBooks writes invoices. QuickBooks Online imports 100 at once, and no credits.
func writeQuickBooks(bills []Bill, _ Accounts) ([]byte, error) {
	header := []string{"*InvoiceNo", "*Customer", "*InvoiceDate", "*DueDate", "Terms", "Memo", "Item(Product/Service)",
		"ItemDescription", "ItemQuantity", "ItemRate", "*ItemAmount", "Service Date"}
	var records [][]string
	for _, b := range bills {
		for _, l := range b.Lines {
			records = append(records, []string{b.Name(), cell(b.To()), usDate(b.Dated), usDate(b.Due), "",
				cell(b.Matter),
				l.Kind.Title(), cell(l.Description()), "1", l.Amount.String(), l.Amount.String(),
				l.PostedAt.UTC().Format("01/02/2006")})
		}
	}
	return table(header, records)
}

func writeQuickBooksBills(bills []Bill, a Accounts) ([]byte, error) {
	header := []string{"*BillNo", "*Supplier", "*BillDate", "*DueDate", "Terms", "Memo", "*Account", "LineDescription",
		"*LineAmount", "Billable", "Customer"}
	var records [][]string
	for _, o := range payables(bills) {
		for _, l := range o.lines {
			records = append(records, []string{"FILINGS-" + o.month, cell(a.Vendor), usDate(o.date), usDate(o.date),
				"", "",
				a.Costs, cell(l.text), l.amount.String(), "HasBeenBilled", cell(l.client)})
		}
	}
	return table(header, records)
}

// writeJournal writes the postings of each bill: what the client owes against income and
// state fees, and what the filing service charged against the balance there.
func writeJournal(bills []Bill, a Accounts) ([]byte, error) {
	header := []string{"Date", "Journal No", "Account", "Description", "Debit", "Credit", "Client"}
	var records [][]string
	for i := range bills {
		b := &bills[i]
		var balance money.Cents
		post := func(account, text string, debit money.Cents) {
			if debit == 0 {
				return
			}
			balance += debit
			record := []string{b.Dated, b.Name(), account, text, "", "", cell(b.Client)}
			if debit > 0 {
				record[4] = debit.String()
			} else {
				record[5] = (-debit).String()
			}
			records = append(records, record)
		}
		post(a.Receivable, "Receivable", b.Sum())
		post(a.ServiceFees, "Service fees", -b.Fees(ServiceFee))
		post(a.StateFees, "State fees passed on", -b.Fees(StateFee)-b.Fees(Filing))
		post(a.Costs, "Charged by the filing service", b.Cost())
		post(a.Prepaid, "Balance at the filing service", -b.Cost())
		if balance != 0 {
			return nil, fmt.Errorf("the journal of %s is off by %s", b.Name(), balance)
		}
	}
	return table(header, records)
}
