package reconcile

import (
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/balance"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Purchase is an order of ours: a row that was placed, or that may have been.
type Purchase struct {
	Row        int64
	Batch      string
	Number     int // the row's number in its sheet
	Try        int // the attempt that a settlement is for
	Result     filing.Result
	Creating   bool // the creation of its company is uncertain, and not its order
	CompanyID  string
	Company    string
	EntityType filing.EntityType
	State      filing.State
	Year       string
	Items      []Item
	Spent      money.Cost
	Reserved   money.Cents
	At         time.Time // when it was first sent
	Ended      time.Time // when its last attempt ended

	// What earlier statements say of it.
	Charged  money.Cents // by their lines
	Adjusted money.Cents // by adjustments: what they add to the balance
	Lines    int         // of them
}

// Item is one product of a purchase.
type Item struct {
	Product filing.Product
	OrderID string // empty where the filing service never named it
	Open    bool   // sent, and not confirmed
}

// Recorded is what the ledger records as the cost of the purchase: what was spent,
// corrected by the adjustments of earlier statements.
func (p *Purchase) Recorded() money.Cents { return p.Spent.Amount - p.Adjusted }

// IsPending reports whether the answer of the purchase is still out, or its order is
// sent again: nothing can be said of it yet.
func (p *Purchase) IsPending() bool { return p.Result == filing.Placing || p.Result == filing.Ready }

// IsUncertain reports whether a statement can settle the purchase.
func (p *Purchase) IsUncertain() bool { return p.Result == filing.Uncertain }

// Ref names the row for a person.
func (p *Purchase) Ref() string { return fmt.Sprintf("row %d of batch %s", p.Number, p.Batch) }

// What names what was ordered.
func (p *Purchase) What() string {
	text := ""
	for i, item := range p.Items {
		if i > 0 {
			text += " and "
		}
		text += item.Product.Title()
		if item.Product == filing.AnnualReport && p.Year != "" {
			text += " " + p.Year
		}
	}
	if p.State != "" {
		text += ", " + string(p.State)
	}
	return text
}

// Name is the company's name, or its id.
func (p *Purchase) Name() string {
	if p.Company == "" {
		return p.CompanyID
	}
	return p.Company
}

// RecordedDeposit is a deposit in the ledger that no statement has shown.
type RecordedDeposit struct {
	Entry  int64
	At     time.Time
	Amount money.Cents
}

// StoredLine is a line of a statement that was reconciled.
type StoredLine struct {
	Statement string // its hash
	Number    int
	At        time.Time
	Kind      Kind
	Amount    money.Cents
	OrderID   string
	CompanyID string
	Company   string
	State     filing.State
	Product   filing.Product
	Row       int64 // 0 for a foreign charge and a deposit
	Group     Group
}

// Book is what the ledger knows when a statement is compared with it.
type Book struct {
	Purchases  []Purchase
	Dismissed  []Purchase // attempts that a person marked as not placed
	Deposits   []RecordedDeposit
	Stored     []StoredLine // of the days of the statement
	Since      time.Time    // the first day of all reconciled statements; zero before the first
	Balance    balance.Balance
	Later      money.Cents // what the lines of later days add to the balance
	LaterLines int
	Known      *Known            // of the same file; nil where it was not reconciled
	Version    int               // counts what statements added, and the deposits
	Companies  map[string]string // company ids of orders that events report, by order id
}

// Known is what is recorded of a statement that was reconciled.
type Known struct {
	Hash     string
	File     string
	At       time.Time
	By       string
	Complete bool
}
