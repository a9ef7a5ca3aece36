package ledger

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// decision decides the transitions of a group. It begins with what was read, applies each transition
// to the state that the previous ones left, and ends with the changes to write. It does not use the
// database.
type decision struct {
	*snapshot
	changes
	// control is the control row. The decision changes it.
	control *control
	now     int64

	// process is the process that decides.
	process   *Process
	tolerance money.Cents
	// newer is the reason why this version may not send any more. Nil if it may.
	newer error
	// restored reports whether the ledger went back in time during the life of the process.
	restored bool
}

// apply decides a group. It decides outcomes first, because they release money and keys for the
// intents of the same group.
func (d *decision) apply(group []*transition) {
	for _, t := range group {
		if o := t.outcome; o != nil {
			if t.unsent && d.restored {
				o = o.withoutAnswer()
			}
			t.err = d.recordOutcome(o, t.unsent)
		}
	}
	for _, t := range group {
		switch {
		case t.deferral != nil:
			t.err = d.deferRow(t.deferral)
		case t.intent != nil:
			t.begun, t.err = d.begin(t.intent)
		case t.fact != nil:
			d.remember(t.fact)
		case t.event != nil:
			t.fresh = d.keep(t.event)
		}
	}
}

// findLostAttempt returns why the outcomes of a group show that the ledger went back in time: one
// answers an attempt that the ledger does not have. It is empty if none does.
func (in *snapshot) findLostAttempt(group []*transition) string {
	for _, t := range group {
		if o := t.outcome; o != nil {
			if s := in.rows[o.Row]; s != nil && s.isAt(o.Of) && o.Attempt > s.lastAttempt {
				return fmt.Sprintf("it lacks attempt %d of row %d, which was answered", o.Attempt, s.id)
			}
		}
	}
	return ""
}

// begin begins an attempt of a row, or returns why it may not be sent.
func (d *decision) begin(in *Intent) (Begun, error) {
	s, ok := d.rows[in.Row]
	switch {
	case !ok:
		return Begun{}, ErrNotFound
	case !s.isAt(in.Of):
		return Begun{Lost: true}, nil
	case !d.leased:
		return Begun{}, fmt.Errorf("the lease of this process has run out")
	case s.result != filing.Ready || s.lastAttempt != in.LastAttempt || s.blockedOn != "" || s.due > d.now,
		s.onHold || s.canceled:
		return Begun{Lost: true}, nil
	}
	for _, c := range in.Claims {
		if p := s.purchase(c.Key); p != nil && p.bought {
			return Begun{Lost: true}, nil // already bought by the row: the order is from an older read
		}
	}
	if d.newer != nil {
		return Begun{Halted: outdated(d.newer)}, nil
	}
	if h, halted := d.control.halted(in.Row, d.now); halted {
		return Begun{Halted: h}, nil
	}
	if taken := d.taken(s, in.Claims); len(taken) > 0 {
		return Begun{Taken: taken}, nil
	}
	whole := in.whole()
	if !in.Creating && s.exceedsApproval(whole, d.tolerance) {
		s.blockedOn = blockedOnApproval
		approved := "no cost"
		if s.approved.Amount >= 0 {
			approved = s.approved.String()
		}
		s.message = fmt.Sprintf(
			"waiting for approval: the order costs %s now, and %s was approved; importer approve %s",
			money.Cost{Amount: s.spent.Amount + whole.Amount, Certainty: whole.Certainty}, approved, s.batch)
		s.cost = whole
		d.touch(s)
		return Begun{Dearer: true}, nil
	}
	need := max(in.Cost.Amount-s.reserved, 0)
	if d.control.declared && need > 0 && need > d.control.available() {
		s.blockedOn = blockedOnFunds
		s.message = fmt.Sprintf("insufficient funds: the order needs %s and %s is available", in.Cost,
			d.control.available().Dollars())
		s.cost = whole
		d.touch(s)
		d.fundsAwaited = true
		return Begun{Short: true}, nil
	}
	in.unconfirmed = s.uncertain
	d.reserve(s, in)
	s.owner, s.message, s.due = d.process.ID, "", 0
	if d.control.halt == filing.HaltFunds {
		d.control.probeRow = s.id
	}
	d.move(s, filing.Placing)
	return Begun{Attempt: s.lastAttempt}, nil
}

// exceedsApproval reports whether an order exceeds, or may exceed, the approved cost of the row. It
// may if its cost is no longer known or no cost was approved. An approval of a partly unknown cost
// has no limit.
func (s *rowState) exceedsApproval(cost money.Cost, tolerance money.Cents) bool {
	switch {
	case s.approved.Amount < 0:
		return true
	case s.approved.IsUnknown():
		return false
	}
	return cost.IsUnknown() || s.spent.Amount+cost.Amount > s.approved.Amount+tolerance
}

// reserve takes the keys of an attempt and reserves its money.
func (d *decision) reserve(s *rowState, in *Intent) {
	for _, c := range in.Claims {
		d.claim(s, c)
	}
	s.lastAttempt++
	s.counted++
	s.creating, s.wanted = in.Creating, s.wants(in)
	s.company = cmp.Or(in.Company, s.company)
	need := max(in.Cost.Amount-s.reserved, 0)
	s.reserved += need
	if !in.Creating { // creating a company costs nothing: the expected cost of its order stays
		s.cost = in.whole()
	}
	d.addEntry(Reserve, need, s.id, "")
	d.control.reserved += need
}

// wants returns the products that the row orders with an intent, after it and before it.
func (s *rowState) wants(in *Intent) string {
	all := in.Rest
	if !in.Creating {
		all = append(productsOf(in.Claims), all...)
	}
	done := splitProducts(s.dropped)
	for _, p := range splitProducts(s.wanted) {
		if slices.Contains(done, p) && !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return filing.JoinProducts(all, ",")
}

// errOtherRow is an ErrTransition. It is returned if another row now has the ID of the row that was
// read.
var errOtherRow = fmt.Errorf("%w: the row is not the one that was read", ErrTransition)

// deferRow commits a Deferral.
func (d *decision) deferRow(a *Deferral) error {
	s, ok := d.rows[a.Row]
	switch {
	case !ok:
		return ErrNotFound
	case !s.isAt(a.Of):
		return errOtherRow
	}
	if s.result != filing.Ready {
		return fmt.Errorf("%w: it is %s", ErrTransition, s.result)
	}
	if a.Next == filing.Ready && s.blockedOn == blockedOnApproval {
		return nil // the row was made ready again and is not approved
	}
	if a.Next != filing.Ready && !s.result.CanBecome(a.Next) || a.Next == filing.Placed {
		return fmt.Errorf("%w: %s to %s", ErrTransition, s.result, a.Next)
	}
	if a.Wait != "" {
		if p := d.rival(a.Wait, s.id); p == nil || p.bought {
			return nil // the key is decided, so the row may try again at once
		}
		s.blockedOn, s.awaitedKey = blockedOnKey, a.Wait
	}
	s.message, s.due = a.Message, store.ToMillis(a.Due)
	switch {
	case a.Next != filing.Ready && s.uncertain:
		// It cannot be sent again, and it is not known whether it was bought.
		s.uncertain = false
		s.message = "sent without an answer, and it cannot be sent again: " + a.Message +
			". Check the dashboard, then resolve it"
		d.move(s, filing.Uncertain)
		return nil
	case a.Next != filing.Ready:
		s.cost = money.Cost{}
	}
	next := a.Next
	if (next == filing.Exists || next == filing.Skipped) && s.bought() > 0 {
		next, s.dropped = filing.Placed, ""
	}
	d.move(s, next)
	if next == a.Next {
		d.addItems(s, a.Items)
	}
	return nil
}

// conclude derives the remaining changes from the state in which the group leaves its rows.
func (d *decision) conclude() {
	for _, s := range d.changed {
		s.since = d.now
		if s.needsNoSecret() {
			d.secrets = append(d.secrets, store.Record{store.Text("batch", s.batch), store.Number("number", s.number)})
		}
	}
	for _, c := range d.claims {
		c.beside = !c.freed && d.purchases[c.key][0] != c.purchase
	}
	for _, p := range d.settled {
		if !p.freed {
			d.awaitedKeys = append(d.awaitedKeys, store.Record{store.Text("key", p.key)})
		}
	}
	for _, p := range d.freed {
		d.awaitedKeys = append(d.awaitedKeys, store.Record{store.Text("key", p.key)})
	}
}

func (d *decision) remember(f *fact) {
	if d.facts == nil {
		d.facts = make(map[string][]*fact)
	}
	d.facts[f.table] = append(d.facts[f.table], f)
}

func (d *decision) move(s *rowState, next filing.Result) {
	s.result = next
	// Otherwise the end of the block would erase the message later. Only a person ends the wait for
	// an approval, even after an answer that leaves the row uncertain.
	if next != filing.Ready && (next != filing.Uncertain || s.blockedOn != blockedOnApproval) {
		s.blockedOn, s.awaitedKey = "", ""
	}
	d.touch(s)
}

func (d *decision) touch(s *rowState) {
	if !s.touched {
		s.touched = true
		d.changed = append(d.changed, s)
	}
}

func (d *decision) addEntry(kind EntryKind, amount money.Cents, row int64, note string) {
	if amount != 0 {
		d.entries = append(d.entries, store.Record{
			store.Number("at", d.now),
			store.Text("kind", kind),
			store.Number("amount", amount),
			store.Number("row", row),
			store.Text("note", note),
		})
	}
}
