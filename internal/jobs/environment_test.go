package jobs_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// charges are those that the service and we both know, for orders of every
// product. No two sums of them are alike by chance.
var charges = []sandbox.Fee{
	{Product: "annual_report", EntityType: "LLC", Cents: feeLLC},
	{Product: "annual_report", EntityType: "CORP", Cents: feeCorp},
	{Product: "formation", EntityType: "LLC", Cents: 110_10}, {Product: "formation", EntityType: "CORP", Cents: 109_01},
	{Product: "foreign_qualification", EntityType: "LLC", Cents: 200_25},
	{Product: "foreign_qualification", EntityType: "CORP", Cents: 245_07},
}

const expedited = 51_13 // the service charge that the spec does not show

// Wholesale prices. Source: sandbox.DefaultPrices.
const (
	priceTier1  = 75_00
	priceTier2  = 105_00
	priceEIN    = 40_00
	priceAgent  = 50_00
	priceReport = 25_00
	priceFQ     = 60_00
	feeFormLLC  = 110_10
	feeFormCorp = 109_01
	feeFQ       = 200_25
)

// newEnvironment is a firm that orders every product.
func newEnvironment(t *testing.T, on servers, c sandbox.Config) *firm {
	f := &firm{T: t, servers: on, dir: ledgertest.Dir(t)}
	c.Fees, c.ExpeditedService = charges, expedited
	if c.OpeningBalance == 0 {
		c.OpeningBalance = rich
	}
	f.service = sandbox.New(c)
	server := httptest.NewServer(f.record(f.service.Handler()))
	t.Cleanup(server.Close)
	f.url = server.URL + "/v1"
	quoter, err := environmentQuoter(t.TempDir())
	f.must(err)
	f.patch = func(c *jobs.Config) { c.Quoter = quoter }
	return f
}

func environmentQuoter(dir string) (*pricing.Rates, error) {
	var prices []filing.Price
	for _, p := range sandbox.DefaultPrices() {
		prices = append(prices, filing.Price{
			Type:            p.Type,
			WholesaleAmount: money.Cents(p.Wholesale).String(),
			Enabled:         true,
		})
	}
	book, err := pricing.NewPriceBook(prices, "")
	if err != nil {
		return nil, err
	}
	var lines bytes.Buffer
	fmt.Fprintf(&lines, "product,state,entityType,amount\nexpedited-service,,,%s\n", money.Cents(expedited))
	for _, fee := range charges {
		fmt.Fprintf(&lines, "%s,,%s,%s\n", strings.ReplaceAll(fee.Product, "_", "-"), fee.EntityType,
			money.Cents(fee.Cents))
	}
	path := filepath.Join(dir, "fees.csv")
	if err := os.WriteFile(path, lines.Bytes(), 0o600); err != nil {
		return nil, err
	}
	fees, err := pricing.LoadFees(path)
	if err != nil {
		return nil, err
	}
	return pricing.NewRates(book, fees), nil
}

// checkAgainstBooks holds the ledger against the service's books row by row: every placed
// row's orders are in the books under its own company, each order is of one row,
// and what each company was charged is what its rows cost, to the cent. Nothing
// may be uncertain any more.
func (f *firm) checkAgainstBooks(l *ledger.Ledger, batches ...string) {
	f.Helper()
	books := f.soundBooks(l)
	charged, spent := make(map[string]money.Cents), make(map[string]money.Cents)
	bought, known := make(map[string]string), make(map[string]bool)
	for _, o := range books.Orders {
		charged[o.CompanyID] += money.Cents(o.Total)
		for _, i := range o.Items {
			if known[i.ID] = true; !i.Existing {
				bought[i.ID] = o.CompanyID
			}
		}
	}
	for _, batch := range batches {
		for _, r := range f.rows(l, batch) {
			spent[r.Company] += f.checkRowAgainstBooks(r, bought, known)
		}
	}
	for company, cents := range charged {
		if spent[company] != cents {
			f.Errorf("%s was charged %s and the ledger spent %s", company, cents, spent[company])
		}
		delete(spent, company)
	}
	for company, cents := range spent {
		if cents != 0 {
			f.Errorf("the ledger spent %s on %s, which the books do not know", cents, company)
		}
	}
	book, err := l.Balance(f.Context())
	f.must(err)
	if book.Posted != money.Cents(books.Charged) || book.Reserved != 0 {
		f.Errorf("the ledger says %s spent and %s held, the books %s", book.Posted, book.Reserved,
			money.Cents(books.Charged))
	}
}

// checkRowAgainstBooks checks one row against the orders in the books, by their ids, and
// returns what it cost.
func (f *firm) checkRowAgainstBooks(r ledger.Row, bought map[string]string, known map[string]bool) money.Cents {
	f.Helper()
	if r.Reserved != 0 {
		f.Errorf("row %d of %s is %s and holds %s", r.Number, r.Batch, r.Result, r.Reserved)
	}
	if r.Message == "" && r.Result != filing.Ready {
		f.Errorf("row %d of %s is %s without a word", r.Number, r.Batch, r.Result)
	}
	if r.Result != filing.Placed {
		return 0
	}
	if !r.Cost.IsKnown() {
		f.Errorf("row %d of %s: what it cost is known only in part", r.Number, r.Batch)
	}
	var items money.Cents
	for _, i := range r.Items {
		items += i.Cost.Amount
		if i.OrderID == "" {
			continue
		}
		if !known[i.OrderID] || (bought[i.OrderID] != "" && bought[i.OrderID] != r.Company) {
			f.Errorf("row %d of %s is for %s and has the order %s, of %q", r.Number, r.Batch, r.Company,
				i.OrderID, bought[i.OrderID])
		}
		delete(bought, i.OrderID)
	}
	byPerson := len(r.Items) > 0 && r.Items[0].OrderType == "" // who knows the orders, not their prices
	if len(r.Items) > 0 && !byPerson && items != r.Cost.Amount {
		f.Errorf("row %d of %s cost %s and its items %s", r.Number, r.Batch, r.Cost, items)
	}
	return r.Cost.Amount
}

// office is an address in a state.
func office(state string) *filing.Address {
	return &filing.Address{
		Line1:      "12 Market Street",
		City:       "Springfield",
		State:      state,
		PostalCode: "19801",
		Country:    "US",
	}
}

func officers(kind filing.EntityType, n int) []filing.Officer {
	all := make([]filing.Officer, n)
	for i := range all {
		titles := filing.Titles[kind]
		all[i] = filing.Officer{
			Type:      filing.Person,
			FirstName: "Ana",
			LastName:  fmt.Sprintf("Silva %c", 'A'+i),
			Title:     titles[i%len(titles)],
			Address:   office("DE"),
			IsPrimary: i == 0,
		}
		if i == 2 {
			all[i] = filing.Officer{
				Type:        filing.CompanyParty,
				CompanyName: "Silva Holdings LLC",
				Title:       titles[i%len(titles)],
				Address:     office("DE"),
			}
		}
	}
	return all
}

// ana is a user that the sheet alone knows.
func ana(i int) filing.UserRef {
	return filing.UserRef{
		Email: fmt.Sprintf("ana%d@example.com", i),
		Name:  "Ana Silva",
		Phone: fmt.Sprintf("+1302555%04d", i),
	}
}

// described asks something for a company that the service does not know.
func described(i int) *filing.Request {
	return &filing.Request{
		User: ana(i % 3),
		Company: filing.CompanyRef{Sheet: filing.Company{
			LegalName:        fmt.Sprintf("Larkspur %d LLC", i),
			EntityType:       filing.LLC,
			FormationState:   "DE",
			FormationDate:    "2021-05-04",
			PrincipalAddress: office("DE"),
			MailingAddress:   office("NY"),
			Officers:         officers(filing.LLC, 2),
		}},
		Order: filing.Order{FilingState: "DE"},
	}
}

func einItem() *filing.EINItem {
	return &filing.EINItem{
		BusinessCategory:            "Retail",
		BusinessPurpose:             "Selling bread",
		ApplicationReason:           "Banking purposes",
		ResponsiblePartyFirstName:   "Grace",
		ResponsiblePartyLastName:    "Okafor",
		ResponsiblePartyTitle:       "CEO",
		ResponsiblePartySSN:         "078051120",
		ResponsiblePartyPhoneNumber: "+12125550101",
	}
}

func supplied(state filing.State) *filing.Agent {
	return &filing.Agent{
		Type:        filing.CompanyParty,
		CompanyName: "First State Agents Inc.",
		Street:      "1 Main St",
		City:        "Dover",
		State:       state,
		ZIP:         "19901",
	}
}

// formation asks for a new company.
func formation(i int) *filing.Request {
	return &filing.Request{Product: filing.Formation, User: ana(i % 3), Order: filing.Order{
		FilingState: "WY", RegisteredAgent: &filing.RegisteredAgentItem{},
		Formation: &filing.FormationItem{Company: filing.Company{
			LegalName:        fmt.Sprintf("Tern & Tide %d LLC", i),
			EntityType:       filing.LLC,
			StructureType:    "MEMBER",
			PrincipalAddress: office("WY"),
			MailingAddress:   office("WY"),
			Officers:         officers(filing.LLC, 1+i%4),
		}},
	}}
}

// corporation makes a formation that of a corporation.
func corporation(r *filing.Request, n int) {
	c := &r.Order.Formation.Company
	c.EntityType, c.StructureType, c.TaxElection, c.Officers = filing.Corp, "", "C Corporation", officers(filing.Corp,
		n)
	c.LegalName = strings.Replace(c.LegalName, "LLC", "Inc.", 1)
}

// posts counts the requests that reached an endpoint.
func (f *firm) posts(path string) int { return len(f.seen(http.MethodPost, path)) }
