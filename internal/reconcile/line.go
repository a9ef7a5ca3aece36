package reconcile

import (
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Kind is what a line of a statement is.
type Kind string

// The kinds of lines. A refund and a reversal belong to a charge.
const (
	Charge  Kind = "charge"
	Refund  Kind = "refund"
	Deposit Kind = "deposit"
)

// Line is one line of a statement, as it is read. Fields that the statement lacks
// are empty.
type Line struct {
	Number    int    // counts the lines, from 1
	Cell      string // the address of its amount
	Kind      Kind
	At        time.Time // midnight UTC where only the day is given
	OrderID   string
	CompanyID string
	Company   string
	State     filing.State
	Product   filing.Product
	Year      string
	Text      string      // its description in the statement's words
	Amount    money.Cents // what it adds to the balance: negative for a charge
	StateFee  money.Cents // the state's part of it, where HasFee
	HasFee    bool

	parts []string // of the description: one may name the company
}

// Charged is what the line charges: negative for a refund.
func (l *Line) Charged() money.Cents {
	if l.Kind == Deposit {
		return 0
	}
	return -l.Amount
}

// Day is the day of the line, empty where the statement has no dates.
func (l *Line) Day() string {
	if l.At.IsZero() {
		return ""
	}
	return l.At.Format(time.DateOnly)
}

// Balance is a balance that a statement states.
type Balance struct {
	Amount money.Cents
	Known  bool
}

// Statement is a statement as it is read.
type Statement struct {
	File, Sheet string
	Hash        string // SHA-256 of the file: it identifies the statement
	Lines       []Line
	Opening     Balance
	Closing     Balance
	From, To    time.Time // the days that it covers, both included
	Stated      bool      // the period is stated, in the file or by a person, and not that of the lines
	Complete    bool      // a person has declared that it has every charge of the period
	Notes       []string  // on how it was read
	Shape       string    // of its header; the column mapping is kept under it
	Headers     []string
}

// SumOf adds up the lines of a kind.
func (s *Statement) SumOf(kind Kind) (sum money.Cents) {
	for i := range s.Lines {
		if s.Lines[i].Kind == kind {
			sum += s.Lines[i].Amount
		}
	}
	return sum
}

// covers reports whether a day lies in the period of the statement.
func (s *Statement) covers(at time.Time) bool {
	day := at.UTC().Truncate(24 * time.Hour)
	return !s.From.IsZero() && !day.Before(s.From) && !day.After(s.To)
}

// zones is how far the days of a statement without times may lie behind those of UTC:
// the filing service's are those of a time zone of the United States.
const zones = 12 * time.Hour

// begun reports whether the statement has what was ordered at a moment of its first day:
// in another time zone it may still have been the day before.
func (s *Statement) begun(at time.Time) bool {
	timed := slices.ContainsFunc(s.Lines, func(l Line) bool { return !l.At.Equal(l.At.Truncate(24 * time.Hour)) })
	return timed || !at.Before(s.From.Add(zones))
}

// ended reports whether the statement was complete for a moment: where its period is
// that of its lines, what comes on the day of the last line may come behind it.
func (s *Statement) ended(at time.Time) bool {
	day := at.UTC().Truncate(24 * time.Hour)
	return s.covers(at) && (s.Stated || day.Before(s.To))
}
