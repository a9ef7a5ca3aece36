package reconcile

import (
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Proof compares the recorded balance with the closing balance of a statement, to the
// cent: Recorded and all of Parts add up to Closing, or Rest is left.
type Proof struct {
	Known    bool        // the statement states its balances
	Recorded money.Cents // once the plan is carried out: deposits and adjustments, less what is charged
	Parts    []Part      // what the ledger has and the statement not yet, and the other way round
	Closing  money.Cents
	Rest     money.Cents
	Why      string // what the rest may be
}

// Part is a difference between the two balances that is explained.
type Part struct {
	What   string
	Amount money.Cents // what it adds to the recorded balance to make the statement's
	Lines  []string    // the first of what it consists of
	Count  int
}

// Agrees reports whether nothing is left unexplained.
func (p *Proof) Agrees() bool { return p.Rest == 0 }

// maxPartLines is how many lines of a part are listed.
const maxPartLines = 20

func (p *Part) add(amount money.Cents, format string, args ...any) {
	p.Amount += amount
	p.Count++
	if len(p.Lines) < maxPartLines {
		p.Lines = append(p.Lines, fmt.Sprintf("%s: %s", amount.Dollars(), fmt.Sprintf(format, args...)))
	}
}

// prove compares the balances. What was before the first statement is its opening
// balance: a difference there becomes an adjustment of its own.
func (p *planner) prove() {
	b := &p.book.Balance
	proof := &p.Proof
	proof.Known, proof.Closing = p.Statement.Closing.Known, p.Statement.Closing.Amount
	proof.Recorded = b.Deposits + b.Adjustments - b.Posted
	corrected := make(map[*Purchase]bool)
	for _, s := range p.Settlements {
		proof.Recorded -= s.Amount
	}
	for _, a := range p.Adjustments {
		proof.Recorded += a.Amount
		if a.Reason == NotCharged {
			corrected[a.Purchase] = true
		}
	}
	since := p.book.Since
	first := since.IsZero()
	if p.Statement.From.Before(since) {
		first = true // it opens before the first one did
	}
	if first {
		since = p.Statement.From
	}
	parts := []Part{
		p.notCharged(corrected, since),
		p.notDecided(),
		p.later(),
	}
	rest := proof.Closing - proof.Recorded
	for _, part := range parts {
		rest -= part.Amount
	}
	var end time.Time // of its last day; zero where the statement has no dates
	if !p.Statement.To.IsZero() {
		end = p.Statement.To.Add(24 * time.Hour)
		if after, _ := p.inTransit(end, time.Time{}); after.Count > 0 {
			parts = append(parts, after)
			rest -= after.Amount
		}
	}
	switch within, _ := p.inTransit(since, end); {
	case within.Count > 0 && (!first || rest != 0 && within.Amount == rest):
		parts = append(parts, within)
		rest -= within.Amount
	case first && proof.Known:
		_, p.Opened = p.inTransit(time.Time{}, end)
	}
	for _, part := range parts {
		if part.Count > 0 {
			proof.Parts = append(proof.Parts, part)
		}
	}
	switch {
	case !proof.Known || rest == 0:
	case first:
		p.adjust(Adjustment{
			Reason:  OpeningDiffer,
			Line:    -1,
			Amount:  rest,
			Deposit: !b.HasDeposit && rest > 0,
			Note: fmt.Sprintf("Opening balance of the first statement: %s (%s)", p.Statement.Opening.Amount.Dollars(),
				p.Statement.File),
		})
		proof.Recorded += rest
	default:
		proof.Rest = rest
		proof.Why = "A statement between this one and the last may be missing, or an entry was recorded by hand."
	}
}

// notCharged are the purchases that no statement has charged.
func (p *planner) notCharged(corrected map[*Purchase]bool, since time.Time) Part {
	part := Part{What: "Placed, and on no statement yet"}
	for at := range p.book.Purchases {
		purchase := &p.book.Purchases[at]
		if purchase.IsPending() || len(p.lines[at]) > 0 || purchase.Lines > 0 || purchase.Recorded() == 0 ||
			corrected[purchase] || purchase.At.Before(since) {
			continue
		}
		part.add(purchase.Recorded(), "%s, %s, %s", purchase.What(), purchase.Name(), purchase.Ref())
	}
	return part
}

// notDecided are the lines that may be an order whose state is not known yet.
func (p *planner) notDecided() Part {
	part := Part{What: "On the statement, and not decided yet"}
	for i, g := range p.Groups {
		if g == Unclear {
			part.add(p.Statement.Lines[i].Amount, "%s (%s)", p.Statement.Lines[i].About(), p.source(i))
		}
	}
	return part
}

// later are the lines of later statements: the ledger has them, and this statement not.
func (p *planner) later() Part {
	return Part{What: "On later statements", Amount: -p.book.Later, Count: p.book.LaterLines}
}

// inTransit are the deposits that were recorded in a time, and that are on no statement.
func (p *planner) inTransit(from, end time.Time) (part Part, entries []int64) {
	part.What = "Deposits that are recorded, and on no statement yet"
	matched := make(map[int64]bool)
	for _, entry := range p.Entries {
		matched[entry] = true
	}
	for i := range p.book.Deposits {
		d := &p.book.Deposits[i]
		if matched[d.Entry] || d.At.Before(from) || !end.IsZero() && !d.At.Before(end) {
			continue
		}
		entries = append(entries, d.Entry)
		part.add(-d.Amount, "recorded on %s", d.At.Format(time.DateOnly))
	}
	return part, entries
}
