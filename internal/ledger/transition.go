package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// maxGroup is how many transitions may share one commit. A group is whatever
// waits when the last commit ends: no transition waits for others to join it.
const maxGroup = 512

// The values of rowState.blockedOn: a ready row waits for funds, for the approval of a
// higher cost, or, with the key behind the prefix, for another row's purchase.
const (
	blockedOnApproval = "approval"
	blockedOnFunds    = "funds"
	blockedOnKey      = "key:"
)

// Intent is the write-ahead record of an order: it is committed before the
// first byte of the order is sent.
type Intent struct {
	Row    int64
	Of     BatchRow // the row as it was read; not compared if it is zero
	Tries  int      // Row.Tries as it was read: an order made from an older reading is Lost
	Claims []Claim
	Cost   money.Cost

	Rest     []filing.Product // what the row orders after it
	RestCost money.Cost

	Company  string // the company's id, where it is known
	Creating bool   // the attempt creates the company; the order comes after

	// unconfirmed reports whether an earlier attempt may have bought what this one
	// orders. Begin sets it.
	unconfirmed bool
}

// whole is the cost of all that the row still orders.
func (in *Intent) whole() money.Cost {
	whole, _ := in.Cost.Plus(in.RestCost) // two quotes cannot overflow
	return whole
}

// BatchRow is where a row comes from. A ledger that went back in time gives the ids of
// the rows that it lost to other rows, and this tells them apart.
type BatchRow struct {
	Batch  string
	Number int
}

// InBatch returns where the row comes from, also if it is read as the result of another.
func (r *Row) InBatch() BatchRow {
	if r.Correction != nil {
		return *r.Correction
	}
	return BatchRow{r.Batch, r.Number}
}

// Begun is the result of Begin: the attempt that began, or why none did.
type Begun struct {
	Try    int    // the attempt that began; 0 where none did
	Halted Halted // the fleet may not send now
	Short  bool   // the available funds do not cover it: the row waits for funds
	Dearer bool   // it costs more than was approved: the row waits for a new approval
	Lost   bool   // the row may not be sent: sent by another process or since it was read, canceled, paused
	Taken  []Taken
}

// Taken is a purchase that another row has made, or is about to make.
type Taken struct {
	Claim  Claim
	Row    int64 // the row that has it
	Key    filing.Key
	Bought bool // false while that row's answer is out
	Covers bool // not the same purchase: its subscription covers this one
}

// Outcome is the result of an attempt.
type Outcome struct {
	Row    int64
	Of     BatchRow `json:"-"` // the row as it was sent; not compared if it is zero
	Try    int
	Owner  string // the process that began the attempt; "" for this one
	Answer filing.Answer

	Claims     []Claim    // those of the attempt: an answer may come after the row gave them back
	Creates    bool       // the attempt creates the company
	Repeatable bool       // the service guards against a repetition of the whole order
	Exhausted  bool       // the row has no more attempts of its own accord
	Cost       money.Cost // of the whole attempt

	Explain func(filing.RowState) string `json:"-"` // returns the row's message for its new state; nil for Message
	Message string
	Items   []Item       // what was made, at its price; of a 409 the item that is there, at the price of an order
	Company string       // the id of the company that the attempt made
	Known   []Claim      // claims of what a formation ordered, by the company's id, for what was bought
	Made    *MadeCompany // what to remember of a company that was created
	Due     time.Time    // the earliest next attempt of a row that goes back to ready
}

// bought returns the purchases that the answer shows: items with an order id,
// and the item of a 409.
func (o *Outcome) bought() []filing.Purchase {
	var all []filing.Purchase
	switch {
	case o.Answer.Kind == filing.Accepted && o.Creates:
		all = append(all, filing.Purchase{Product: filing.CompanyRecord, OrderID: o.Company})
	case o.Answer.Kind == filing.Accepted:
		for _, i := range o.Items {
			if i.Product != "" && i.OrderID != "" {
				all = append(all, filing.Purchase{Product: i.Product, OrderID: i.OrderID, Cost: i.Cost, Parts: i.Parts})
			}
		}
	case o.Answer.Kind == filing.HasItem:
		there := filing.Purchase{Product: o.Answer.Has}
		for _, i := range o.Items {
			if i.Product == o.Answer.Has {
				there.Cost, there.Parts = i.Cost, i.Parts
			}
		}
		all = append(all, there)
	}
	return all
}

// MadeCompany is a created company and the reference under which rows find it.
type MadeCompany struct {
	Ref    string
	Record filing.Company
}

// Deferral is an outcome without an attempt, of a ready row that need not, or
// cannot, be sent.
type Deferral struct {
	Row     int64
	Of      BatchRow      // the row as it was read; not compared if it is zero
	Next    filing.Result // Exists, Skipped, Rejected; Ready with Wait or Due
	Message string
	Wait    filing.Key // wait until this key is bought or free
	Due     time.Time
	Items   []Item
}

// fact is a looked-up user or company to save.
type fact struct {
	table  string
	ref    string
	record string
	at     int64
}

// transition is one change that a caller waits for until it is committed.
type transition struct {
	intent   *Intent
	outcome  *Outcome
	deferral *Deferral
	fact     *fact
	event    *Event
	unsent   bool // no caller in this process has sent, or will send, the order of the outcome

	begun Begun
	fresh bool // the event was not there yet
	err   error
	done  chan struct{}
}

// ErrClosed is returned once the ledger is closing.
var ErrClosed = errors.New("the ledger is closing")

func (db *database) submit(ctx context.Context, t *transition) error {
	t.done = make(chan struct{})
	select {
	case db.transitions <- t:
	case <-db.stop:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	// Once it is queued it is committed or refused; to return before would make
	// the answer a guess.
	select {
	case <-t.done:
	case <-db.committed:
		select {
		case <-t.done:
		default:
			return ErrClosed // it was queued after the last group
		}
	}
	return t.err
}

// Begin commits the intent to send a row's order, with its claims and its
// reservation, or returns why the order may not be sent.
func (l *Ledger) Begin(ctx context.Context, in Intent) (Begun, error) {
	t := &transition{intent: &in}
	l.out.begin(attempt{in.Row, in.Tries + 1})
	err := l.submit(ctx, t)
	if err != nil || t.begun.Try == 0 {
		l.out.removeCaller(attempt{in.Row, in.Tries + 1})
	}
	if err != nil {
		return Begun{}, fmt.Errorf("commit the intent of row %d: %w", in.Row, err)
	}
	return t.begun, nil
}

// RecordOutcome commits the outcome of an attempt.
func (l *Ledger) RecordOutcome(ctx context.Context, out Outcome) error {
	err := l.submit(ctx, &transition{outcome: &out})
	if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrTransition) {
		l.out.removeAttempt(attempt{out.Row, out.Try}) // a repetition would be refused, too
	}
	return wrap(fmt.Sprintf("commit the outcome of row %d", out.Row), err)
}

// Defer commits a decision about a ready row that is not sent.
func (l *Ledger) Defer(ctx context.Context, a Deferral) error {
	return wrap(fmt.Sprintf("defer row %d", a.Row), l.submit(ctx, &transition{deferral: &a}))
}

// commitGroups commits all waiting transitions in one transaction, again and
// again. It is the only writer of transitions in this process. When the ledger
// closes, it commits the last ones and ends.
func (db *database) commitGroups() {
	defer db.stopped.Done()
	defer close(db.committed)
	for {
		var group []*transition
		select {
		case t := <-db.transitions:
			group = append(group, t)
		case <-db.stop:
		}
	fill:
		for len(group) < maxGroup {
			select {
			case t := <-db.transitions:
				group = append(group, t)
			default:
				break fill
			}
		}
		if len(group) == 0 {
			return
		}
		db.commit(group)
		for _, t := range group {
			close(t.done)
		}
	}
}

// commit commits a group. When the group fails, each transition is committed
// separately, so that one bad transition does not fail the others.
func (db *database) commit(group []*transition) {
	err := db.commitTogether(group)
	if err == nil {
		return
	}
	if len(group) == 1 {
		group[0].err = err
		return
	}
	for _, t := range group {
		t.begun, t.fresh, t.err = Begun{}, false, nil
		if err := db.commitTogether([]*transition{t}); err != nil {
			t.err = err
		}
	}
}

func (db *database) commitTogether(group []*transition) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := db.commitChange(ctx, func(tx *sql.Tx, c *control) error {
		// The time is read after the wait for the lock: a lease may run out
		// meanwhile.
		g := db.newGroupWriter(ctx, tx, c, c.now)
		if err := g.write(group); err != nil {
			return err
		}
		// Before the commit: the next change may find the ledger restored, and it
		// writes back what is remembered.
		db.restoreDetector.remember(group, db.clock.uptime())
		return nil
	})
	if err != nil {
		db.restoreDetector.forget(group)
	}
	return err
}
