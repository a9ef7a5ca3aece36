package ledger

import (
	"time"

	"github.com/bulkfiling/bulkfiling/internal/balance"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Batch is one file, read with one set of options. Its id is made from both, so
// that the same command again finds the same batch.
type Batch struct {
	ID       string
	File     string // the file's name as it was given
	Sheet    string // the sheet that was read; empty for CSV
	Product  filing.Product
	Options  string   // the options that make its identity, as a reader would type them
	Corrects string   // the batch whose rows these correct; empty for none
	Root     string   // the first batch of a chain of corrections; its own ID if it corrects none
	Again    string   // why repeated purchases are wanted; empty for never
	Columns  []string // the input's headers as they were given
	Fields   []string // the service's field that each column was read as; "" for none
	Officers []string // the headers of a sheet of officers beside it; nil where there is none
	Rows     int      // rows of data
	Open     bool     // all rows are recorded, and may be placed
	Prepared bool     // all rows are recorded, and wait for approval unless it is open
	Paused   bool     // by a person
	Canceled bool

	CanceledBy string // "" where a version that did not keep it canceled it
	CanceledAt time.Time

	CreatedBy string
	CreatedAt time.Time
	Approval  Approval
}

// Row is one row of a batch, its order and its answer.
type Row struct {
	ID        int64
	Batch     string
	Number    int             // the row's number in the spreadsheet, as a spreadsheet program shows it
	Cells     []byte          // the input's cells as they were given, in sheet's encoding; secrets masked
	Corrects  int             // set for AddRows alone: the number of the row that it corrects; 0 for none
	Repeats   int             // set for AddRows alone: the number of the row that it repeats; 0 for none
	Officers  []Officer       // of a sheet of their own; set for AddRows alone, see Ledger.Officers
	Faults    []Fault         // what is wrong with which cell
	Request   *filing.Request // nil for a row that could not be read as an order
	Result    filing.Result
	Message   string           // for a person: what happened and what to do
	Items     []Item           // what the service made of it, or already had
	Cost      money.Cost       // spent for placed; spent and still expected otherwise
	Spent     money.Cost       // for what the row has bought
	Approved  money.Cost       // what may be spent for it in all; negative where no cost was approved
	Attempts  int              // orders sent, as far as is known
	Tries     int              // attempts ever begun, counted or not; names the present one
	Uncertain bool             // an attempt without a known outcome is behind it
	Reserved  money.Cents      // reserved for it now
	Dropped   []filing.Product // items the service turned out to have already
	Company   string           // the company's id, once it is known
	Creating  bool             // the attempt in flight, or uncertain, creates the company
	Owner     string           // the process that is placing it
	BlockedOn string           // what a ready row waits for: funds, or another row's purchase
	CoveredBy *Subscription    // what covers the row's report, which is not ordered; nil where nothing does
	Priority  int64            // lower numbers go first; 0 where nothing is known of it
	UpdatedAt time.Time

	// Correction is where the row stands itself, if it is the result of a row that it
	// corrects; nil otherwise.
	Correction *BatchRow
}

// Moved is what was charged for the row and what is reserved for it.
func (r *Row) Moved() money.Cost {
	c := r.Spent
	if r.Reserved > 0 || !r.Creating && (r.Result == filing.Placing || r.Result == filing.Uncertain) {
		c.Amount += r.Reserved
		c.Certainty = r.Cost.Certainty
	}
	return c
}

// CompanyRef is what the row's company is known by: its id, or else the sheet's
// reference; empty for one that the sheet only describes.
func (r *Row) CompanyRef() string {
	if r.Company == "" && r.Request != nil {
		return r.Request.Company.Ref
	}
	return r.Company
}

// Fault is a problem at a cell.
type Fault struct {
	Column  int    `json:"c"`           // index of the input column; -1 where it has none
	Header  string `json:"h,omitempty"` // ours, where the sheet lacks the column
	Rule    string `json:"r"`
	Message string `json:"m"`
	Warning bool   `json:"w,omitempty"`

	Elsewhere *Place `json:"p,omitempty"` // where it is, if on another sheet than the row

	// Beside is a remark that no cell of the row holds, with its column, such as
	// "Comment=sold".
	Beside string `json:"b,omitempty"`
}

// Place is a cell of another sheet than the row's, such as the officers'.
type Place struct {
	Sheet  string `json:"s"`
	Row    int    `json:"r"`
	Column int    `json:"c"` // from 0; -1 where the sheet lacks the column that the fault's Header names
}

// Item is one order of a row.
type Item struct {
	Product            filing.Product
	OrderType          string // the service's word
	OrderID            string // empty where the filing service has it and never named the id
	FilingStatus       string
	FilingDate         string
	SubscriptionStatus string
	Exception          int    // why the filing stands still until a person corrects it; 0 for nothing
	ExceptionNote      string // the service's words about it
	Cost               money.Cost
	Parts              filing.CostParts // of the cost; set by the answer alone
}

// Counts is how many rows of a batch are in each state.
type Counts map[filing.Result]int

// Total is the number of rows.
func (c Counts) Total() int {
	n := 0
	for _, k := range c {
		n += k
	}
	return n
}

// EntryKind is the kind of an entry of the balance.
type EntryKind string

// The kinds of entries. Amounts are positive, except for an Adjustment, which
// may be negative.
const (
	Deposit    EntryKind = "deposit"    // recorded by an operator
	Adjustment EntryKind = "adjustment" // recorded by an operator, to agree with the filing service
	Reserve    EntryKind = "reserve"    // reserved with an intent
	Posted     EntryKind = "post"       // a reservation was spent
	Voided     EntryKind = "void"       // a reservation was released
)

// Entry is one posting of the balance.
type Entry struct {
	ID     int64
	At     time.Time
	Kind   EntryKind
	Amount money.Cents
	Row    int64 // 0 for deposits and adjustments
	Batch  string
	Number int // the row's number in its sheet
	Note   string
}

// Balance is the sums of the recorded balance.
type Balance = balance.Balance
