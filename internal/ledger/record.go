package ledger

import (
	"time"

	"github.com/bulkfiling/bulkfiling/internal/balance"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Batch is one file, read with one set of options. Its ID is derived from both, so that the same
// command finds the same batch again.
type Batch struct {
	ID string
	// File is the file's name as it was given.
	File string
	// Sheet is the sheet that was read. Empty for CSV.
	Sheet   string
	Product filing.Product
	// Options are the options that identify the batch, as a user would type them.
	Options string
	// Corrects is the batch whose rows these correct. Empty if it corrects none.
	Corrects string
	// Root is the first batch of a chain of corrections. It is the batch's own ID if it corrects
	// none.
	Root string
	// Again is the reason that repeated purchases are wanted. Empty if they are not wanted.
	Again string
	// Columns are the input's headers as they were given.
	Columns []string
	// Fields are the service's fields that the columns were read as. Empty for an unused column.
	Fields []string
	// Rows is the number of rows of data.
	Rows int
	// Open reports whether all rows are recorded and may be placed.
	Open bool
	// Prepared reports whether all rows are recorded. They wait for approval unless the batch is
	// open.
	Prepared bool
	// Paused reports whether a person paused the batch.
	Paused   bool
	Canceled bool

	// CanceledBy is empty if the version that canceled the batch did not record it.
	CanceledBy string
	CanceledAt time.Time

	CreatedBy string
	CreatedAt time.Time
	Approval  Approval
}

// Row is one row of a batch with its order and its answer.
type Row struct {
	ID    int64
	Batch string
	// Number is the row's number, as a spreadsheet program shows it.
	Number int
	// Cells are the input's cells as they were given, in sheet's encoding, with secrets masked.
	Cells []byte
	// Corrects is the number of the row that this one corrects. Set for AddRows only. Zero if it
	// corrects none.
	Corrects int
	// Repeats is the number of the row that this one repeats. Set for AddRows only. Zero if it
	// repeats none.
	Repeats int
	// Faults are the problems with the row's cells.
	Faults []Fault
	// Request is nil if the row could not be read as an order.
	Request *filing.Request
	Result  filing.Result
	// Message describes to a person the result and the next step.
	Message string
	// Items are the items that the service made or already had.
	Items []Item
	// Cost is the spent amount of a placed row, or the sum of the spent and expected amounts
	// otherwise.
	Cost money.Cost
	// Spent is the cost of the row's purchases.
	Spent money.Cost
	// Approved is the approved total. It is negative if no cost was approved.
	Approved money.Cost
	// Attempts counts the orders that are known to have been sent.
	Attempts int
	// LastAttempt counts all attempts that ever began and is the number of the present one.
	LastAttempt int
	// Uncertain reports whether an earlier attempt has an unknown outcome.
	Uncertain bool
	// Reserved is the amount reserved for the row now.
	Reserved money.Cents
	// Dropped are the products that already existed at the service.
	Dropped []filing.Product
	// Company is the company's ID. Empty if unknown.
	Company string
	// Creating reports whether the attempt that is in flight or uncertain creates the company.
	Creating bool
	// Owner is the process that is placing the row.
	Owner string
	// BlockedOn is the reason that a ready row waits: funds, an approval, or another row's
	// purchase.
	BlockedOn string
	// CoveredBy is the subscription that covers the row's report, which is not ordered. Nil if none
	// does.
	CoveredBy *Subscription
	// Priority orders the rows, lower numbers first. Zero if unknown.
	Priority  int64
	UpdatedAt time.Time

	// Correction is the batch and number of this row itself if it is read as the result of the row
	// that it corrects. Nil otherwise.
	Correction *BatchRow
}

// Moved returns the amount charged or reserved for the row.
func (r *Row) Moved() money.Cost {
	c := r.Spent
	if r.Reserved > 0 || !r.Creating && (r.Result == filing.Placing || r.Result == filing.Uncertain) {
		c.Amount += r.Reserved
		c.Certainty = r.Cost.Certainty
	}
	return c
}

// CompanyRef returns the ID of the row's company, or else the reference in the sheet. It is empty
// if the sheet only describes the company.
func (r *Row) CompanyRef() string {
	if r.Company == "" && r.Request != nil {
		return r.Request.Company.Ref
	}
	return r.Company
}

// Fault is a problem at a cell.
type Fault struct {
	// Column is the index of the input column, or -1 if the fault has no column.
	Column int `json:"c"`
	// Header is our header if the sheet lacks the column.
	Header  string `json:"h,omitempty"`
	Rule    string `json:"r"`
	Message string `json:"m"`
	Warning bool   `json:"w,omitempty"`

	// Beside is a remark that is not in a cell of the row, with its column, such as "Comment=sold".
	Beside string `json:"b,omitempty"`
}

// Item is one order of a row.
type Item struct {
	Product filing.Product
	// OrderType is the service's term.
	OrderType string
	// OrderID is empty if the filing service has the item but never named its ID.
	OrderID            string
	FilingStatus       string
	FilingDate         string
	SubscriptionStatus string
	// Exception is the code of the reason that the filing needs a correction by a person. Zero if
	// none.
	Exception int
	// ExceptionNote is the service's description of the exception.
	ExceptionNote string
	Cost          money.Cost
	// Parts are the parts of the cost. Only the answer sets them.
	Parts filing.CostParts
}

// Counts are the numbers of rows of a batch by state.
type Counts map[filing.Result]int

// Total returns the number of rows.
func (c Counts) Total() int {
	n := 0
	for _, k := range c {
		n += k
	}
	return n
}

// EntryKind is the kind of an entry of the balance.
type EntryKind string

// The kinds of entries. Amounts are positive, except for an Adjustment, which may be negative.
const (
	// Deposit is recorded by an operator.
	Deposit EntryKind = "deposit"
	// Adjustment is recorded by an operator to agree with the filing service.
	Adjustment EntryKind = "adjustment"
	// Reserve is a reservation for an intent.
	Reserve EntryKind = "reserve"
	// Posted is a reservation that was spent.
	Posted EntryKind = "post"
	// Voided is a reservation that was released.
	Voided EntryKind = "void"
)

// Entry is one posting of the balance.
type Entry struct {
	ID     int64
	At     time.Time
	Kind   EntryKind
	Amount money.Cents
	// Row is zero if the entry is a deposit or an adjustment.
	Row   int64
	Batch string
	// Number is the row's number in its sheet.
	Number int
	Note   string
}

// Balance has the sums of the recorded balance.
type Balance = balance.Balance
