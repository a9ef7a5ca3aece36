package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Group is what a line of a statement, or a purchase, comes to.
type Group string

// The groups. Missing is a purchase, and the others are lines.
const (
	Agree   Group = "agree"   // the statement and the ledger have the same amount
	Differ  Group = "differ"  // the amounts differ
	Foreign Group = "foreign" // charged and not ours
	Missing Group = "missing" // ours and not charged
	Settle  Group = "settle"  // settles an uncertain order
	Unclear Group = "unclear" // may be an uncertain order: a person decides
)

// Groups are all of them, as they are shown.
var Groups = []Group{Agree, Differ, Foreign, Missing, Settle, Unclear}

// ErrOtherAccount is returned for a statement none of whose lines names an order or a
// company of the ledger.
var ErrOtherAccount = errors.New("the statement is of another account")

// Settlement is an uncertain order that the statement shows.
type Settlement struct {
	Purchase *Purchase
	OrderIDs []string
	Products map[string]filing.Product // of the order ids
	Amount   money.Cents               // what the open items were charged
	Lines    []int                     // their indexes
	Late     bool                      // it was marked as not placed before
	Why      string
}

// Reason is what an adjustment corrects.
type Reason string

// The reasons of adjustments.
const (
	AmountDiffers Reason = "amount"
	NotOurs       Reason = "foreign"
	NotCharged    Reason = "missing"
	DepositMade   Reason = "deposit" // recorded as a deposit
	OpeningDiffer Reason = "opening"
)

// Adjustment is a difference that is to be recorded as an entry of the balance.
type Adjustment struct {
	Reason   Reason
	Line     int       // its index; -1 for none
	Purchase *Purchase // nil for none
	Amount   money.Cents
	Deposit  bool // it is recorded as a deposit
	Note     string
}

// Move gives a line that was foreign to the purchase that turned out to have its order.
type Move struct {
	Statement string
	Number    int
	Purchase  *Purchase
}

// Fee is a state fee that the statement shows: proposed for the fee table.
type Fee struct {
	Product    filing.Product
	State      filing.State
	EntityType filing.EntityType
	Amount     money.Cents
	Line       int
	Source     string // the statement and the cell
}

// Counts are the lines and orders of a plan.
type Counts struct {
	Lines     int `json:"lines"`
	Agree     int `json:"agree"`
	Differ    int `json:"differ"`
	Foreign   int `json:"foreign"`
	Missing   int `json:"missing"`
	Settled   int `json:"settled"`
	Uncertain int `json:"uncertain"`
}

// Plan is what a statement comes to.
type Plan struct {
	Statement *Statement
	Book      *Book

	Groups      []Group     // of the lines
	Purchases   []*Purchase // of the lines; nil for none
	New         []bool      // the lines that no earlier statement has
	Entries     []int64     // the recorded deposits of the lines; 0 for none
	Notes       []string    // on the lines; "" for nothing
	Settlements []Settlement
	Adjustments []Adjustment
	Moves       []Move
	Opened      []int64 // the entries of recorded deposits that the opening balance has
	Missing     []*Purchase
	NotPlaced   []*Purchase // uncertain, and the complete statement lacks them
	Uncertain   []*Purchase // left: with those of NotPlaced
	Fees        []Fee
	Counts      Counts
	Proof       Proof

	stored []bool // the lines that are stored as those of this statement
}

// NewPlan compares a statement with the ledger. Settled are the rows that this
// statement has settled just now: their lines count as settling.
func NewPlan(s *Statement, b *Book, settled map[int64]bool) (*Plan, error) {
	m := newMatcher(s, b)
	m.match()
	late := m.matchDismissed()
	if !m.ours && slices.ContainsFunc(s.Lines, func(l Line) bool { return l.Kind == Charge }) && b.Known == nil {
		return nil, fmt.Errorf("%w: none of the %d lines of %s names an order or a company of this ledger. %s. To use "+
			"another ledger, name it with --ledger", ErrOtherAccount, len(s.Lines), s.File, nothingChanged)
	}
	if n := m.lacksOurs(); n > 0 && b.Known == nil {
		return nil, fmt.Errorf("%w: %s names the orders of its charges, and none of them is in this ledger, which has "+
			"%d of its own in the days between. Companies may have the same names in both. %s. To use another ledger, "+
			"name it with --ledger", ErrOtherAccount, s.File, n, nothingChanged)
	}
	p := &planner{
		matcher: m,
		Plan: &Plan{
			Statement: s,
			Book:      b,
			Groups:    make([]Group, len(s.Lines)),
			Purchases: make([]*Purchase, len(s.Lines)),
			New:       make([]bool, len(s.Lines)),
			Entries:   make([]int64, len(s.Lines)),
			Notes:     make([]string, len(s.Lines)),
			stored:    make([]bool, len(s.Lines)),
		},
		late:    late,
		settled: settled,
		lines:   make(map[int][]int),
	}
	p.planLines()
	p.planDeposits()
	p.planPurchases()
	p.planMissing()
	p.prove()
	p.count()
	return p.Plan, nil
}

// planner makes a plan from the matches.
type planner struct {
	*matcher
	*Plan
	late    map[int]*Purchase // of foreign charges: what was marked as not placed
	settled map[int64]bool    // nil where nothing was carried out yet
	lines   map[int][]int     // the lines of each purchase, by their indexes
}

// source names a line for a person who looks for it in the file.
func (p *Plan) source(i int) string {
	cell := p.Statement.Lines[i].Cell
	if p.Statement.Sheet != "" {
		cell = p.Statement.Sheet + "!" + cell
	}
	return p.Statement.File + ", " + cell
}

// planLines groups what does not depend on a purchase.
func (p *planner) planLines() {
	for i := range p.Statement.Lines {
		line := &p.Statement.Lines[i]
		p.New[i] = p.known[i] == none
		p.stored[i] = !p.New[i] && p.book.Stored[p.known[i]].Statement == p.Statement.Hash
		if at := p.of[i].purchase; at != none {
			p.Purchases[i] = &p.book.Purchases[at]
			p.lines[at] = append(p.lines[at], i)
			continue
		}
		switch fits := p.unclear[i]; {
		case !p.New[i]:
			p.Groups[i] = p.book.Stored[p.known[i]].Group
			if p.Groups[i] == Settle {
				p.Groups[i] = Agree
			}
		case len(fits) > 0:
			p.Groups[i] = Unclear
			p.Notes[i] = fmt.Sprintf("fits several orders, such as %s", p.book.Purchases[fits[0].purchase].Ref())
			if len(fits) == 1 {
				p.Notes[i] = fmt.Sprintf("may be %s, and names neither its product nor its cost",
					p.book.Purchases[fits[0].purchase].Ref())
			}
		case p.late[i] != nil:
			p.planLate(i, p.late[i])
		case line.Kind != Deposit:
			p.Groups[i] = Foreign
			p.adjustForeign(i)
		}
	}
}

// planLate has an order placed that was marked as not placed, and that is charged all
// the same: like an answer that comes late, the charge outweighs what was decided.
// Without an order id, and for what the line does not name alone, a person decides.
func (p *planner) planLate(i int, purchase *Purchase) {
	line := &p.Statement.Lines[i]
	p.Purchases[i], p.Groups[i] = purchase, Unclear
	p.Notes[i] = purchase.Ref() + " was marked as not placed, and is charged all the same"
	if line.OrderID == "" || purchase.CompanyID == "" || len(purchase.Items) != 1 || p.settled != nil ||
		line.Charged() == 0 {
		p.Notes[i] += ": cancel it before it is sent again, and check the dashboard"
		return
	}
	p.Groups[i] = Settle
	p.Settlements = append(p.Settlements, Settlement{
		Purchase: purchase,
		OrderIDs: []string{line.OrderID},
		Products: map[string]filing.Product{line.OrderID: purchase.Items[0].Product},
		Amount:   line.Charged(),
		Lines:    []int{i},
		Late:     true,
		Why: fmt.Sprintf("marked as not placed, and charged all the same according to the statement %s "+
			"(SHA-256 %.12s): %s", p.source(i), p.Statement.Hash, line.Charged().Dollars()),
	})
}

func (p *planner) adjustForeign(i int) {
	line := &p.Statement.Lines[i]
	what := "Charged and not ours"
	if line.Kind == Refund {
		what = "Refunded and not ours"
	}
	p.adjust(Adjustment{
		Reason: NotOurs,
		Line:   i,
		Amount: line.Amount,
		Note:   fmt.Sprintf("%s: %s (%s)", what, line.About(), p.source(i)),
	})
}

// About names the line by what it says.
func (l *Line) About() string {
	var parts []string
	for _, text := range []string{l.Text, string(l.State), l.Company, l.CompanyID, l.OrderID} {
		if text != "" {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return "a line without a description"
	}
	return strings.Join(parts, ", ")
}

func (p *planner) adjust(a Adjustment) {
	if a.Amount != 0 {
		p.Adjustments = append(p.Adjustments, a)
	}
}

// depositDays is how far the day of a deposit on a statement may be from the day when
// it was recorded.
const depositDays = 10 * 24 * time.Hour

// planDeposits matches the deposits of the statement with those that are recorded.
func (p *planner) planDeposits() {
	byAmount := make(map[money.Cents][]*RecordedDeposit)
	for i := range p.book.Deposits {
		d := &p.book.Deposits[i]
		byAmount[d.Amount] = append(byAmount[d.Amount], d)
	}
	for i := range p.Statement.Lines {
		line := &p.Statement.Lines[i]
		if line.Kind != Deposit || !p.New[i] {
			continue
		}
		best := -1
		same := byAmount[line.Amount]
		for n, d := range same {
			far := d.At.Sub(line.At).Abs()
			if !line.At.IsZero() && far > depositDays {
				continue
			}
			if best < 0 || far < same[best].At.Sub(line.At).Abs() {
				best = n
			}
		}
		if best >= 0 {
			p.Groups[i], p.Entries[i] = Agree, same[best].Entry
			byAmount[line.Amount] = slices.Delete(same, best, best+1)
			continue
		}
		p.Groups[i], p.Notes[i] = Differ, "not recorded"
		p.adjust(Adjustment{
			Reason:  DepositMade,
			Line:    i,
			Amount:  line.Amount,
			Deposit: line.Amount > 0,
			Note:    fmt.Sprintf("Deposit on the statement: %s (%s)", line.About(), p.source(i)),
		})
	}
}

// planPurchases compares each purchase that the statement names with its lines.
func (p *planner) planPurchases() {
	for at := range p.book.Purchases {
		lines := p.lines[at]
		if len(lines) == 0 {
			continue
		}
		purchase := &p.book.Purchases[at]
		charged, adjusted := purchase.Charged, purchase.Adjusted
		for _, i := range lines {
			switch {
			case p.New[i]:
				charged += p.Statement.Lines[i].Charged()
			case p.book.Stored[p.known[i]].Row == 0:
				stored := &p.book.Stored[p.known[i]]
				p.Moves = append(p.Moves, Move{stored.Statement, stored.Number, purchase})
				charged -= stored.Amount
				adjusted += stored.Amount
			}
		}
		switch {
		case purchase.IsPending():
			p.group(lines, Unclear, "the answer to "+purchase.Ref()+" is still out")
		case purchase.IsUncertain():
			p.planSettlement(at, lines, charged, purchase.Spent.Amount-adjusted)
		default:
			p.comparePurchase(purchase, lines, charged, purchase.Spent.Amount-adjusted)
		}
	}
}

// group gives the new lines a group. A line of an earlier statement keeps its own.
func (p *planner) group(lines []int, g Group, note string) {
	for _, i := range lines {
		if !p.New[i] {
			if p.Groups[i] = p.book.Stored[p.known[i]].Group; p.Groups[i] == Settle {
				p.Groups[i] = Agree
			}
			continue
		}
		p.Groups[i], p.Notes[i] = g, note
	}
}

// comparePurchase compares what the statement charges a purchase with what is recorded.
func (p *planner) comparePurchase(purchase *Purchase, lines []int, charged, recorded money.Cents) {
	if p.settled[purchase.Row] {
		p.group(lines, Settle, "")
	} else {
		p.group(lines, Agree, "")
	}
	if charged == recorded {
		return
	}
	var first money.Cents // of the charges alone, each once
	for _, i := range lines {
		if p.New[i] && p.Statement.Lines[i].Kind == Charge && !p.isRepeated(i) {
			first += p.Statement.Lines[i].Charged()
		}
	}
	chargesAgree := purchase.Charged+first == recorded
	last := lines[len(lines)-1]
	var what []string
	for _, i := range lines {
		if !p.New[i] || chargesAgree && p.Statement.Lines[i].Kind == Charge && !p.isRepeated(i) {
			continue
		}
		last = i
		p.Groups[i] = Differ
		switch {
		case p.isRepeated(i):
			p.Notes[i] = "charged once more"
			if first := p.repeated[i]; p.Statement.Lines[first].Amount == p.Statement.Lines[i].Amount {
				p.Notes[i] = "charged twice, first in " + p.Statement.Lines[first].Cell +
					": ask the filing service for a refund"
			}
		case p.Statement.Lines[i].Kind == Refund:
			p.Notes[i] = "refunded"
		default:
			p.Notes[i] = "recorded as " + recorded.Dollars()
			if n := len(purchase.Items); n > 1 {
				p.Notes[i] += fmt.Sprintf(" for %d orders", n)
			}
			p.learnFee(purchase, i)
		}
		if !slices.Contains(what, p.Notes[i]) {
			what = append(what, p.Notes[i])
		}
	}
	if len(what) == 0 {
		what = []string{"changed since the statement was reconciled"}
		p.Groups[last] = Differ
	}
	p.adjust(Adjustment{
		Reason:   AmountDiffers,
		Line:     last,
		Purchase: purchase,
		Amount:   recorded - charged,
		Note: fmt.Sprintf("Charged %s, recorded %s: %s, %s, %s (%s; %s)", charged.Dollars(), recorded.Dollars(),
			purchase.What(), purchase.Name(), purchase.Ref(), strings.Join(what, "; "), p.source(last)),
	})
}

// isRepeated reports whether a line charges an order for the second time.
func (p *planner) isRepeated(i int) bool { _, again := p.repeated[i]; return again }

// learnFee proposes the state fee of a line, where the statement names it and the line
// is of one product alone.
func (p *planner) learnFee(purchase *Purchase, i int) {
	line := &p.Statement.Lines[i]
	if !line.HasFee || len(purchase.Items) != 1 || line.Kind != Charge || purchase.State == "" {
		return
	}
	fee := Fee{
		Product:    purchase.Items[0].Product,
		State:      purchase.State,
		EntityType: purchase.EntityType,
		Amount:     max(line.StateFee, -line.StateFee),
		Line:       i,
		Source:     p.source(i),
	}
	if !slices.ContainsFunc(p.Fees, func(f Fee) bool {
		return f.Product == fee.Product && f.State == fee.State && f.EntityType == fee.EntityType &&
			f.Amount == fee.Amount
	}) {
		p.Fees = append(p.Fees, fee)
	}
}

// planSettlement settles an uncertain order if the statement charges every item that is
// open. The registered agent of an order may cost nothing, and a statement need not
// have a line for it.
//
// Recorded is what the ledger has of the items that were placed before: where the
// statement shows these alone, they are compared like those of any purchase.
func (p *planner) planSettlement(at int, lines []int, charged, recorded money.Cents) {
	purchase := &p.book.Purchases[at]
	shown := make(map[int]bool) // open items with a charge
	s := Settlement{Purchase: purchase, Products: make(map[string]filing.Product)}
	for _, i := range lines {
		item := p.of[i].item
		if line := &p.Statement.Lines[i]; line.Kind == Charge && purchase.Items[item].Open {
			shown[item] = true
			s.Lines = append(s.Lines, i)
			if line.OrderID != "" && !slices.Contains(s.OrderIDs, line.OrderID) {
				s.OrderIDs = append(s.OrderIDs, line.OrderID)
				s.Products[line.OrderID] = purchase.Items[item].Product
			}
		}
	}
	var paid, refunded money.Cents
	for _, i := range lines {
		if charged := p.Statement.Lines[i].Charged(); charged < 0 {
			refunded -= charged
		} else {
			paid += charged
		}
	}
	var left []string
	for i, item := range purchase.Items {
		if agent := sameProduct(item.Product, filing.RegisteredAgent); item.Open && !shown[i] &&
			(!agent || len(shown) == 0) {
			left = append(left, item.Product.Title())
		}
	}
	switch {
	case len(shown) == 0 && slices.ContainsFunc(lines, func(i int) bool { return purchase.Items[p.of[i].item].Open }):
		p.group(lines, Unclear, "refunds "+purchase.Ref()+", and the statement has no charge for it")
		return
	case len(shown) == 0:
		p.comparePurchase(purchase, lines, charged, recorded)
		return
	case paid == 0 && purchase.Reserved > 0:
		p.group(lines, Unclear, "nothing is charged: check whether "+purchase.Ref()+" was placed")
		return
	case len(left) > 0:
		p.group(lines, Unclear, fmt.Sprintf("%s ordered %s, too, and the statement does not show it", purchase.Ref(),
			strings.Join(left, " and ")))
		return
	}
	if p.settled != nil { // it could not be carried out
		p.group(lines, Unclear, purchase.Ref()+" has changed in the meantime")
		return
	}
	p.group(lines, Settle, "")
	s.Amount = max(charged-purchase.Spent.Amount, 0)
	s.Why = fmt.Sprintf("placed according to the statement %s (SHA-256 %.12s): %s", p.source(s.Lines[0]),
		p.Statement.Hash,
		s.Amount.Dollars())
	note := fmt.Sprintf("reserved %s", purchase.Reserved.Dollars())
	if refunded > 0 {
		refund := refunded.Dollars() + " was refunded: check whether the filing goes on"
		s.Why, note = s.Why+"; "+refund, note+"; "+refund
	}
	if s.Amount != purchase.Reserved {
		for _, i := range s.Lines {
			p.Notes[i] = note
			p.learnFee(purchase, i)
		}
	}
	p.Settlements = append(p.Settlements, s)
}

// planMissing finds the purchases that the statement should have and lacks.
func (p *planner) planMissing() {
	settles := make(map[*Purchase]bool)
	for _, s := range p.Settlements {
		settles[s.Purchase] = true
	}
	for at := range p.book.Purchases {
		purchase := &p.book.Purchases[at]
		seen := len(p.lines[at]) > 0
		switch {
		case purchase.IsUncertain():
			if settles[purchase] {
				continue
			}
			p.Uncertain = append(p.Uncertain, purchase)
			if p.Statement.Complete && !seen && !purchase.Creating && !p.possible[at] &&
				p.Statement.begun(purchase.At) && p.Statement.ended(purchase.At) &&
				p.Statement.ended(purchase.Ended) {
				p.NotPlaced = append(p.NotPlaced, purchase)
			}
		case purchase.IsPending(), seen, purchase.Lines > 0, purchase.Recorded() == 0, !p.Statement.covers(purchase.At):
		default:
			p.Missing = append(p.Missing, purchase)
			if p.Statement.Complete {
				p.adjust(Adjustment{
					Reason:   NotCharged,
					Line:     -1,
					Purchase: purchase,
					Amount:   purchase.Recorded(),
					Note: fmt.Sprintf("Not charged: %s, %s, %s (recorded %s; %s is complete)", purchase.What(),
						purchase.Name(),
						purchase.Ref(), purchase.Recorded().Dollars(), p.Statement.File),
				})
			}
		}
	}
}

func (p *planner) count() {
	c := Counts{Lines: len(p.Statement.Lines), Missing: len(p.Missing), Uncertain: len(p.Uncertain)}
	settled := make(map[int64]bool)
	for i, g := range p.Groups {
		switch g {
		case Agree:
			c.Agree++
		case Differ:
			c.Differ++
		case Foreign:
			c.Foreign++
		case Settle:
			settled[p.Purchases[i].Row] = true
		}
	}
	c.Settled = len(settled)
	p.Counts = c
}

// IsStored reports whether the line is stored as one of this very statement.
func (p *Plan) IsStored(i int) bool { return p.stored[i] }

// Adjusted is what the adjustments add to the recorded balance.
func (p *Plan) Adjusted() (sum money.Cents) {
	for _, a := range p.Adjustments {
		sum += a.Amount
	}
	return sum
}

// Changes reports whether the plan would change the ledger.
func (p *Plan) Changes() bool {
	if len(p.Settlements) > 0 || len(p.Adjustments) > 0 || len(p.Moves) > 0 || p.Book.Known == nil {
		return true
	}
	for i, stored := range p.stored {
		if !stored && p.Groups[i] != Unclear {
			return true
		}
	}
	return p.Statement.Complete && !p.Book.Known.Complete
}

// NeedsPerson reports whether differences are left once the plan is carried out.
func (p *Plan) NeedsPerson() bool {
	return p.Proof.Rest != 0 || len(p.Missing) > 0 && !p.Statement.Complete
}
