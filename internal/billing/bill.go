package billing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Bill is a document for one client, one matter and one month: an invoice, or a credit
// for what was billed before. It is a draft until it is issued; an issued bill has a
// number and never changes.
type Bill struct {
	ID        string
	Number    int // 0 for a draft; numbers of issued bills have no gaps
	Credit    bool
	Client    string
	ClientKey string
	ClientID  string // the client's number in the firm's own books; "" for none
	BillTo    string
	Matter    string
	Month     Month
	Dated     string // the day of issue in the firm's time zone: "2026-04-01"; "" for a draft
	Due       string
	Total     money.Cents
	Lines     []Line
	LineCount int // of a bill that is listed without its lines

	CreatedAt, IssuedAt time.Time
	CreatedBy, IssuedBy string
}

// Issued reports whether the bill has its number.
func (b *Bill) Issued() bool { return b.Number > 0 }

// Name is the number that clients see: "INV-00012".
func (b *Bill) Name() string {
	if !b.Issued() {
		return "Draft"
	}
	return fmt.Sprintf("INV-%05d", b.Number)
}

// To is who gets the bill.
func (b *Bill) To() string { return cmp.Or(b.BillTo, b.Client) }

// Sum adds up the lines.
func (b *Bill) Sum() (total money.Cents) {
	for _, l := range b.Lines {
		total += l.Amount
	}
	return total
}

// Cost adds up what the lines pass on.
func (b *Bill) Cost() (total money.Cents) {
	for _, l := range b.Lines {
		total += l.Cost
	}
	return total
}

// Fees adds up the amounts of one kind of lines.
func (b *Bill) Fees(kind Kind) (total money.Cents) {
	for _, l := range b.Lines {
		if l.Kind == kind {
			total += l.Amount
		}
	}
	return total
}

// ClientKeyOf folds the name of a client, so that the same client in other letters has
// one bill.
func ClientKeyOf(name string) string { return filing.FoldLegalName(name) }

// Candidate is a purchase as billing finds it: what the row has now, and the lines that
// bill it already. The purchase is nil where the row has it no more.
type Candidate struct {
	Purchase *Purchase
	Key      Key
	Billed   []Line
	Client   Client // of the purchase, or of its lines
	Company  string
	Settled  bool // a draft or an issued bill has all of it
	Drafted  bool // some of its lines are on a draft
}

// Options say which bills to make.
type Options struct {
	Month     Month  // "" for all
	Client    string // the folded name of one; "" for all
	Estimated bool   // bill estimated costs, marked
	Zone      *time.Location
	Now       time.Time
	Rule      func(client string) Rule // by the folded name
}

// Why a purchase is not billed now.
const (
	WaitsForCost = "its cost is not known for certain"
	// WaitsForDraft is why a change is not billed: nothing that it corrects is issued, and
	// the draft can still be discarded.
	WaitsForDraft = "it has changed since its draft was made"
)

// Waiting is a purchase that is left for a later bill.
type Waiting struct {
	Client    Client
	Key       Key
	Number    int
	Batch     string
	Company   string
	Month     Month
	Cost      money.Cost
	Because   string // "" where nothing stands against billing it
	Corrects  bool   // lines of it are billed already
	ClientKey string
}

// MonthOf is the month of a moment.
func MonthOf(at time.Time, zone *time.Location) Month { return Month(at.In(zone).Format("2006-01")) }

// Make makes the bills of what is not billed, and lists what waits. The bills are in
// the order of their clients, months and matters; their lines in the order of rows.
func Make(all []Candidate, o Options) (bills []Bill, waiting []Waiting) {
	type group struct {
		client, billTo, matter string
		month                  Month
		credit                 bool
	}
	groups := map[group]*Bill{}
	for i := range all {
		c := &all[i]
		key := ClientKeyOf(c.Client.Name)
		lines := c.lines(o.Rule(key))
		if len(lines) == 0 {
			continue
		}
		wait := Waiting{
			Client:    c.Client,
			ClientKey: key,
			Key:       c.Key,
			Company:   c.Company,
			Batch:     lines[0].Batch,
			Number:    lines[0].Number,
			Month:     MonthOf(lines[0].PostedAt, o.Zone),
			Corrects:  len(c.Billed) > 0,
		}
		var amount money.Cents
		for _, l := range lines {
			wait.Cost.Amount += l.Cost
			amount += l.Amount
		}
		if wait.Corrects {
			wait.Month = MonthOf(o.Now, o.Zone)
		}
		if c.Purchase != nil {
			wait.Cost.Certainty = c.Purchase.Cost.Certainty
		}
		switch {
		case c.Drafted:
			wait.Because = WaitsForDraft
		case wait.Cost.IsUnknown() && amount >= 0, !wait.Cost.IsKnown() && !o.Estimated && amount >= 0:
			wait.Because = WaitsForCost
		}
		if wait.Because != "" || o.Month != "" && wait.Month != o.Month || o.Client != "" && key != o.Client {
			waiting = append(waiting, wait)
			continue
		}
		g := group{key, c.Client.BillTo, c.Client.Matter, wait.Month, wait.Corrects && amount < 0}
		b := groups[g]
		if b == nil {
			b = &Bill{
				Credit:    g.credit,
				Client:    c.Client.Name,
				ClientKey: key,
				BillTo:    g.billTo,
				Matter:    g.matter,
				Month:     g.month,
			}
			groups[g] = b
		}
		b.Lines = append(b.Lines, lines...)
	}
	for _, b := range groups {
		slices.SortStableFunc(b.Lines, compareLines)
		b.Total, b.LineCount = b.Sum(), len(b.Lines)
		bills = append(bills, *b)
	}
	slices.SortFunc(bills, func(a, b Bill) int {
		return cmp.Or(
			cmp.Compare(a.Month, b.Month),
			strings.Compare(a.ClientKey, b.ClientKey),
			strings.Compare(a.BillTo, b.BillTo),
			strings.Compare(a.Matter, b.Matter),
			boolCompare(a.Credit, b.Credit),
		)
	})
	slices.SortStableFunc(waiting, func(a, b Waiting) int {
		return cmp.Or(
			strings.Compare(a.ClientKey, b.ClientKey),
			cmp.Compare(a.Key.Row, b.Key.Row),
			strings.Compare(string(a.Key.Product), string(b.Key.Product)),
		)
	})
	return bills, waiting
}

func (c *Candidate) lines(rule Rule) []Line {
	if c.Settled {
		return nil
	}
	if len(c.Billed) > 0 {
		return CorrectLines(c.Purchase, c.Billed, rule)
	}
	if c.Purchase == nil {
		return nil
	}
	return c.Purchase.Charge(rule)
}

func compareLines(a, b Line) int {
	return cmp.Or(
		cmp.Compare(a.Purchase.Row, b.Purchase.Row),
		cmp.Compare(slices.Index(filing.Products, a.Purchase.Product),
			slices.Index(filing.Products, b.Purchase.Product)),
		cmp.Compare(a.Purchase.Ordinal, b.Purchase.Ordinal),
		cmp.Compare(slices.Index(Kinds, a.Kind), slices.Index(Kinds, b.Kind)),
		cmp.Compare(a.Revision, b.Revision),
	)
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
