package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// maxGroup is the maximum number of transitions in one commit. A group has the transitions that
// wait when the last commit ends. No transition waits for others to join it.
const maxGroup = 512

// The values of rowState.blockedOn. A ready row waits for funds, for the approval of a higher cost,
// or for another row's purchase of the key that it awaits.
const (
	blockedOnApproval = "approval"
	blockedOnFunds    = "funds"
	blockedOnKey      = "key"
	// blockedOnRelease marks rows that a person has just made ready again, until release decides in
	// the same change whether they are sent.
	blockedOnRelease = "release"
)

// Intent is the write-ahead record of an order. It is committed before the first byte of the order
// is sent.
type Intent struct {
	Row int64
	// Of identifies the row as it was read. It is not compared if it is zero.
	Of BatchRow
	// LastAttempt is Row.LastAttempt as it was read. An order made from an older reading is Lost.
	LastAttempt int
	Claims      []Claim
	Cost        money.Cost

	// Rest are the products that the row orders after this order.
	Rest     []filing.Product
	RestCost money.Cost

	// Company is the company's ID. Empty if unknown.
	Company string
	// Creating reports whether the attempt creates the company. The order follows later.
	Creating bool

	// unconfirmed reports whether an earlier attempt may have bought the items of this one. Begin
	// sets it.
	unconfirmed bool
}

// whole returns the cost of the row's whole remaining order.
func (in *Intent) whole() money.Cost {
	// The sum of two quotes cannot overflow.
	whole, _ := in.Cost.Plus(in.RestCost)
	return whole
}

// BatchRow identifies a row by its batch and number. A ledger that went back in time gives the IDs
// of lost rows to other rows, and BatchRow distinguishes them.
type BatchRow struct {
	Batch  string
	Number int
}

// InBatch returns the batch and number of the row itself, even if it is read as the result of
// another row.
func (r *Row) InBatch() BatchRow {
	if r.Correction != nil {
		return *r.Correction
	}
	return BatchRow{r.Batch, r.Number}
}

// Begun is the result of Begin. It has the attempt that began, or the reason that none began.
type Begun struct {
	// Attempt is the number of the attempt that began. Zero if none began.
	Attempt int
	// Halted is the halt if the fleet may not send now.
	Halted Halted
	// Short reports whether the row exceeds the available funds. It then waits for funds.
	Short bool
	// Dearer reports whether the row costs more than was approved. It then waits for a new
	// approval.
	Dearer bool
	// Lost reports whether the row may not be sent, because another process sent it, it was sent
	// since it was read, or it was canceled or paused.
	Lost  bool
	Taken []Taken
}

// Taken is a purchase that another row has made or is about to make.
type Taken struct {
	Claim Claim
	// Row is the row with the purchase.
	Row int64
	Key filing.Key
	// Bought is false while that row's request is in flight.
	Bought bool
	// Covers reports whether it is a different purchase with a subscription that covers this one.
	Covers bool
}

// Outcome is the result of an attempt.
type Outcome struct {
	Row int64
	// Of identifies the row as it was sent. It is not compared if it is zero.
	Of      BatchRow `json:"-"`
	Attempt int
	// Owner is the process that began the attempt. Empty for this process.
	Owner  string
	Answer filing.Answer

	// Claims are the claims of the attempt, because an answer may arrive after the row released
	// them.
	Claims []Claim
	// Creates reports whether the attempt creates the company.
	Creates bool
	// Repeatable reports whether the service guards against a repetition of the whole order.
	Repeatable bool
	// Exhausted reports whether no automatic retries remain.
	Exhausted bool
	// Cost is the cost of the whole attempt.
	Cost money.Cost

	// Explain returns the row's message for its new state. If it is nil, Message is used.
	Explain func(filing.RowState) string `json:"-"`
	Message string
	// Items are the items that were made, at their prices. For a 409 it is the existing item, at
	// the price of an order.
	Items []Item
	// Company is the ID of the company that the attempt made.
	Company string
	// Known are the claims of the bought items of a formation's order, by the company's ID.
	Known []Claim
	// Made is the created company to remember.
	Made *MadeCompany
	// Due is the earliest next attempt of a row that becomes ready again.
	Due time.Time
}

// bought returns the purchases that the answer shows: the items with an order ID, and the item of a
// 409.
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

// MadeCompany is a created company and the reference by which rows find it.
type MadeCompany struct {
	Ref    string
	Record filing.Company
}

// Deferral is an outcome without an attempt, for a ready row that need not or cannot be sent.
type Deferral struct {
	Row int64
	// Of identifies the row as it was read. It is not compared if it is zero.
	Of BatchRow
	// Next is Exists, Skipped or Rejected, or Ready with Wait or Due.
	Next    filing.Result
	Message string
	// Wait is the key that the row waits for until it is bought or free.
	Wait  filing.Key
	Due   time.Time
	Items []Item
}

// fact is a user or company that was looked up and is to be saved.
type fact struct {
	table  string
	ref    string
	record string
	at     int64
}

// transition is one change whose caller waits for the commit.
type transition struct {
	intent   *Intent
	outcome  *Outcome
	deferral *Deferral
	fact     *fact
	event    *Event
	// unsent reports whether no caller in this process has sent, or will send, the order of the
	// outcome.
	unsent bool

	begun Begun
	// fresh reports whether the event is new.
	fresh bool
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
	// A queued transition will be committed or refused. Returning before that would leave the
	// result unknown.
	select {
	case <-t.done:
	case <-db.committed:
		select {
		case <-t.done:
		default:
			// It was queued after the last group.
			return ErrClosed
		}
	}
	return t.err
}

// Begin commits the intent to send a row's order, with its claims and its reservation, or returns
// the reason that the order may not be sent.
func (l *Ledger) Begin(ctx context.Context, in Intent) (Begun, error) {
	t := &transition{intent: &in}
	l.inFlight.addCaller(attemptID{in.Row, in.LastAttempt + 1})
	err := l.submit(ctx, t)
	if err != nil || t.begun.Attempt == 0 {
		l.inFlight.removeCaller(attemptID{in.Row, in.LastAttempt + 1})
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
		// A repetition would be refused, too.
		l.inFlight.removeAttempt(attemptID{out.Row, out.Attempt})
	}
	return store.Wrap(fmt.Sprintf("commit the outcome of row %d", out.Row), err)
}

// Defer commits a decision about a ready row that is not sent.
func (l *Ledger) Defer(ctx context.Context, a Deferral) error {
	return store.Wrap(fmt.Sprintf("defer row %d", a.Row), l.submit(ctx, &transition{deferral: &a}))
}

// commitGroups repeatedly commits all waiting transitions in one transaction. It is the only writer
// of transitions in this process. When the ledger closes, it commits the last ones and returns.
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

// commit commits a group. If the group fails, each transition is committed separately, so that one
// bad transition does not fail the others.
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
	err := db.commitChange(ctx, func(tx *Tx) error {
		c := tx.control
		// The time is read after the wait for the lock, because a lease may expire during the wait.
		in, err := tx.readSnapshot(ctx, group, c.now)
		if err != nil {
			return err
		}
		if note := in.findLostAttempt(group); note != "" && c.restoredAt == 0 {
			if err := c.haltRestored(ctx, tx.Tx, note, c.changedAt); err != nil {
				return err
			}
		}
		d := tx.newDecision(in, c.now)
		d.apply(group)
		if err := tx.write(ctx, d); err != nil {
			return err
		}
		// This precedes the commit, because the next change may find the ledger restored and writes
		// back the remembered attempts.
		db.restoreDetector.remember(group, db.Clock.Uptime())
		return nil
	})
	if err != nil {
		db.restoreDetector.forget(group)
	}
	return err
}
