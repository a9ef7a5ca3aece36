package reconcile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// column is what a column of a statement holds.
type column string

// The columns, by the names that a mapping gives them.
const (
	dateColumn        column = "Date"
	orderColumn       column = "Order ID"
	typeColumn        column = "Type"
	descriptionColumn column = "Description"
	companyIDColumn   column = "Company ID"
	companyColumn     column = "Company"
	stateColumn       column = "State"
	productColumn     column = "Product"
	yearColumn        column = "Filing Year"
	amountColumn      column = "Amount"
	debitColumn       column = "Debit"
	creditColumn      column = "Credit"
	balanceColumn     column = "Balance"
	serviceFeeColumn  column = "Service Fee"
	stateFeeColumn    column = "State Fee"
	currencyColumn    column = "Currency"
)

// wordings are the headers of each column, folded, the likeliest first: of two
// headers that mean one column, the earlier wording wins.
var wordings = []struct {
	column column
	words  []string
}{
	{dateColumn, []string{
		"date", "posteddate", "postingdate", "dateposted", "posted", "postedon", "postedat", "transactiondate",
		"chargedate", "chargedat", "chargedon", "timestamp", "datetime", "invoicedate", "orderdate", "created",
		"createdat",
		"createdon", "time", "effectivedate", "valuedate", "bookingdate", "day",
	}},
	{orderColumn, []string{
		"orderid", "orderids", "order", "orderno", "ordernumber", "orderref", "orderreference", "itemid", "filingid",
		"reference", "ref", "referenceid", "referenceno", "referencenumber", "transactionreference", "refno",
		"transactionid", "transaction",
	}},
	{typeColumn, []string{"type", "transactiontype", "kind", "entrytype", "linetype", "entry", "transtype"}},
	{descriptionColumn, []string{
		"description", "details", "detail", "memo", "narrative", "particulars", "lineitem", "item", "text", "notes",
		"note",
	}},
	{companyIDColumn, []string{"companyid", "companyno", "companynumber", "entityid", "compid", "company#"}},
	{companyColumn, []string{
		"company", "companyname", "legalname", "entity", "entityname", "businessname", "business", "client",
		"clientname",
		"customer", "customername", "name",
	}},
	{stateColumn, []string{"state", "filingstate", "jurisdiction", "st"}},
	{productColumn, []string{
		"product", "productname", "producttype", "ordertype", "service", "servicename", "servicetype", "filing",
		"filingtype",
		"products", "sku",
	}},
	{yearColumn, []string{"filingyear", "reportyear", "year", "period", "forperiod"}},
	{amountColumn, []string{
		"amount", "netamount", "net", "totalamount", "linetotal", "lineamount", "total", "charge", "charges",
		"value", "sum",
		"amountcharged", "totalcharge", "totalcharged", "price", "cost",
	}},
	{debitColumn, []string{
		"debit", "debits", "withdrawal", "withdrawals", "moneyout", "paidout", "debitamount", "out", "dr",
	}},
	{creditColumn, []string{
		"credit", "credits", "moneyin", "paidin", "creditamount", "payments", "payment", "deposits", "deposit",
		"in", "cr",
	}},
	{balanceColumn, []string{
		"balance", "runningbalance", "accountbalance", "balanceafter", "availablebalance", "prepaidbalance",
		"newbalance",
	}},
	{serviceFeeColumn, []string{
		"servicefee", "servicefees", "serviceprice", "servicecharge", "filingservicefee", "processingfee", "ourfee",
		"subtotal",
	}},
	{stateFeeColumn, []string{
		"statefee", "statefees", "governmentfee", "governmentfees", "govfee", "govtfee", "filingfee", "statutoryfee",
		"passthroughfee",
	}},
	{currencyColumn, []string{"currency", "ccy", "cur", "currencycode"}},
}

// rank is how likely a header means a column.
type rank struct {
	column column
	at     int
}

var ranks = func() map[string]rank {
	m := make(map[string]rank)
	for _, w := range wordings {
		for i, word := range w.words {
			m[word] = rank{w.column, i}
		}
	}
	return m
}()

// columnNames lists the names that a mapping may use.
func columnNames() string {
	names := make([]string, len(wordings))
	for i, w := range wordings {
		names[i] = string(w.column)
	}
	return strings.Join(names, ", ")
}

// aside matches what a header says beside its name: a unit, a currency.
var aside = regexp.MustCompile(`(?i)\([^)]*\)|\[[^\]]*\]|\bin usd\b|\bus\$|\busd\b|\$`)

func foldHeader(text string) string { return filing.FoldName(aside.ReplaceAllString(text, " ")) }

// heading is the header row of a statement: where each column stands.
type heading struct {
	row     int // its number
	at      map[column]int
	headers []string
	ranks   map[column]int
}

func (h *heading) has(c column) bool { _, ok := h.at[c]; return ok }

// isHeading reports whether the row can be the header of a statement: it has an amount,
// and something that an amount can be for.
func (h *heading) isHeading() bool {
	amount := h.has(amountColumn) || h.has(debitColumn) || h.has(creditColumn) || h.has(stateFeeColumn)
	subject := h.has(orderColumn) || h.has(companyColumn) || h.has(companyIDColumn) || h.has(descriptionColumn) ||
		h.has(productColumn)
	return amount && subject && len(h.at) >= 2
}

// readHeading reads a row as the header. The mapping gives columns by their header
// or their letters; an empty name leaves a column out.
func readHeading(row *sheet.Row, mapping map[string]string) (*heading, error) {
	h := &heading{row: row.Number, at: make(map[column]int), ranks: make(map[column]int)}
	set := func(c column, at, rank int) {
		if best, known := h.ranks[c]; !known || rank < best {
			h.at[c], h.ranks[c] = at, rank
		}
	}
	for i, cell := range row.Cells {
		h.headers = append(h.headers, cell.Text)
		if cell.Kind != sheet.Text && cell.Kind != sheet.Blank {
			continue
		}
		name, mapped := mappedTo(mapping, cell.Text, i)
		if mapped {
			if name == "" || name == "-" {
				continue
			}
			r, ok := ranks[foldHeader(name)]
			if !ok {
				return nil, fmt.Errorf("a statement has no column %q. Its columns are: %s", name, columnNames())
			}
			set(r.column, i, -1)
			continue
		}
		if cell.Kind == sheet.Blank {
			continue
		}
		if r, ok := ranks[foldHeader(cell.Text)]; ok {
			set(r.column, i, r.at)
		}
	}
	// Beside a column of credits, the charges are the debits.
	if at, ok := h.at[amountColumn]; ok && h.has(creditColumn) && !h.has(debitColumn) {
		word := foldHeader(h.headers[at])
		if word == "charge" || word == "charges" {
			h.at[debitColumn] = at
			delete(h.at, amountColumn)
		}
	}
	return h, nil
}

// mappedTo is what a mapping says of a column: by its header, or by its letters, which
// are written "F" or "F:F".
func mappedTo(mapping map[string]string, header string, at int) (name string, mapped bool) {
	for theirs, ours := range mapping {
		letters, _, _ := strings.Cut(theirs, ":")
		if header != "" && strings.EqualFold(strings.TrimSpace(theirs), header) || letters == sheet.ColumnName(at) {
			return strings.TrimSpace(ours), true
		}
	}
	return "", false
}

// special is what a row is that is no line.
type special int

const (
	noSpecial special = iota
	openingRow
	closingRow
	totalRow
)

var specials = map[special][]string{
	openingRow: {
		"openingbalance", "previousbalance", "beginningbalance", "startingbalance", "balanceforward", "opening",
		"balancebroughtforward", "broughtforward", "balancecarriedforward", "startbalance",
	},
	closingRow: {
		"closingbalance", "newbalance", "endingbalance", "closing", "currentbalance", "finalbalance", "balance",
		"endbalance",
		"balancedue", "availablebalance",
	},
	totalRow: {
		"total", "totals", "grandtotal", "sum", "subtotal", "totalcharges", "totalcharged", "totaldue", "amountdue",
		"totalamount",
		"nettotal", "net",
	},
}

func specialOf(text string) special {
	folded := foldHeader(text)
	for kind, words := range specials {
		if slices.Contains(words, folded) {
			return kind
		}
	}
	return noSpecial
}

// productWords finds a product in the words of a statement: the first that fits. A
// change of agent stands before the agent that it also names.
var productWords = []struct {
	product filing.Product
	words   *regexp.Regexp
}{
	{filing.AnnualReport, regexp.MustCompile(`(?i)annual[\s_-]*report|\bannualreport\b`)},
	{filing.ForeignQualification, regexp.MustCompile(`(?i)foreign[\s_-]*qualification`)},
	{filing.AgentChange, regexp.MustCompile(`(?i)change[\s_-]*of[\s_-]*(registered[\s_-]*)?agent|agent[\s_-]*change`)},
	{filing.RegisteredAgent, regexp.MustCompile(`(?i)registered[\s_-]*agent|\bagent service\b`)},
	{filing.Formation, regexp.MustCompile(`(?i)formation|incorporation`)},
	{filing.EIN, regexp.MustCompile(`\bEIN\b|(?i:^ein$|employer identification)`)},
}

func productOf(text string) filing.Product {
	if text == "" {
		return ""
	}
	if p, ok := filing.ProductOfType(text); ok {
		return p
	}
	for _, w := range productWords {
		if w.words.MatchString(text) {
			return w.product
		}
	}
	return ""
}

var (
	refundWords  = regexp.MustCompile(`(?i)\b(refund(ed)?|reversal|reversed|credit note|credited|chargeback)\b`)
	depositWords = regexp.MustCompile(
		`(?i)\b(deposit(ed)?|top[\s-]?up|payment|funding|funds added|wire|ach|prepayment)\b`)
	chargeWords = regexp.MustCompile(`(?i)\b(charge[sd]?|debit|order|filing|purchase|sale)\b`)
	orderIDs    = regexp.MustCompile(`\border_[A-Za-z0-9_-]+`)
	companyIDs  = regexp.MustCompile(`\bcomp_[A-Za-z0-9_-]+`)
	years       = regexp.MustCompile(`\b20\d\d\b`)
	stateCodes  = regexp.MustCompile(`\b[A-Z]{2}\b`)
	separators  = regexp.MustCompile(`\s*(?:[,;|/:()]|\s[-–—]\s)\s*`)
	periodWords = regexp.MustCompile(
		`(?i)\s+(?:to|through|until|thru)\s+|\s[-–—]\s|\b(?:statement period|period|from|for|between|and)\b:?`)
	foreignCash = regexp.MustCompile(`€|£|¥|\b(?i:EUR|EUROS?|GBP|CAD|AUD|CHF|JPY|MXN)\b`)
)
