package simulate

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// settle brings a story to its end: every request is answered, and people decide everything that
// waits for them. Then the books of the filing service must agree with the ledger.
func (w *world) settle() {
	w.say("     the end: everything that waits is decided")
	w.network.failing, w.network.hidden = 0, ""
	for round := range 30 {
		before := w.digest()
		w.settleOnce()
		if w.wrong != "" {
			return
		}
		w.audit()
		if round > 2 && w.digest() == before {
			break
		}
	}
	w.deliverEvents()
	w.audit()
	w.compare()
}

func (w *world) settleOnce() {
	ctx := context.Background()
	w.answerAll()
	w.network.late = nil // nothing arrives after a day
	w.acceptKey()
	time.Sleep(lease + time.Hour)
	synctest.Wait()
	w.answerAll()
	for repeated := true; repeated && w.halted(filing.HaltRestored) && w.lostFrom < len(w.deeds); {
		next := w.lostFrom
		w.say("     %s", w.repeatLost())
		repeated = w.lostFrom > next
	}
	w.deliverEvents()
	for _, p := range w.processes() {
		must(jobs.CatchUp(ctx, p.ledger))
	}
	w.say("     %s", w.markRestored())
	orders, err := resolve.ListUncertain(ctx, w.office.ledger, "")
	must(err)
	for _, o := range orders {
		w.say("     %s", w.resolve(o))
		w.audit()
	}
	if w.halted(filing.HaltRestored) {
		w.say("     %s", w.endCheck())
		held, err := w.office.ledger.Restores().HeldBack(ctx)
		if must(err); len(held) > 0 {
			w.clearHeldBack()
		}
	}
	if b, err := w.office.ledger.Balance(ctx); err == nil && b.HasDeposit {
		must(w.office.ledger.Entries().RecordDeposit(ctx, 5_000_00, "wire"))
	}
	w.service.Deposit(5_000_00)
	for _, s := range w.recorded() {
		b, err := w.office.ledger.Batch(ctx, s.batch)
		must(err)
		if b.Paused {
			must(w.office.ledger.ResumeBatch(ctx, s.batch))
		}
		if isWaiting(b) {
			must(w.approve(s))
		}
		_, err = w.approveCosts(s)
		must(err)
	}
	must(w.office.ledger.Fleet().AllowProbe(ctx))
	for range 50 {
		ids, err := w.office.ledger.Backlog().ListSendable(ctx, "", 1)
		must(err)
		if len(ids) == 0 {
			break
		}
		must(w.place(w.workers[0], ids[0]))
		w.answerAll()
		time.Sleep(time.Second)
		synctest.Wait()
	}
}

// clearHeldBack confirms the names of all sheets, and cancels the batches with rows that the filing
// service's records hold back for another reason.
func (w *world) clearHeldBack() {
	for _, s := range w.recorded() {
		_, err := w.confirmNames(s)
		must(err)
		if slices.ContainsFunc(w.rows(s.batch), func(r ledger.Row) bool {
			return r.Result == filing.Invalid && r.Request != nil
		}) {
			rows, err := w.office.ledger.CancelBatch(context.Background(), s.batch)
			w.say("     %s", said(err, "ana cancels %s, %d rows", s.name, rows))
		}
	}
}

// answerAll answers every request truthfully.
func (w *world) answerAll() {
	for {
		waiting := w.network.of(nil)
		if len(waiting) == 0 {
			return
		}
		if waiting[0].answer == nil {
			w.network.deliver(waiting[0])
		}
		w.network.answerAs(waiting[0], nil)
		synctest.Wait()
	}
}

// digest is the state of all rows.
func (w *world) digest() (text string) {
	for _, s := range w.recorded() {
		for _, r := range w.rows(s.batch) {
			text += fmt.Sprintf("%s %s %s %s\n", w.rowName(r), r.Result, r.BlockedOn, r.Message)
		}
	}
	return text
}

// compare compares the books with the ledger and with what people wanted.
func (w *world) compare() {
	if w.halted(filing.HaltRestored) {
		w.fail("the check of the restored ledger does not end")
	}
	bought, charges := w.readBooks()
	existing := make(map[string]bool)
	for _, s := range w.recorded() {
		b, err := w.office.ledger.Batch(context.Background(), s.batch)
		must(err)
		for _, r := range w.rows(s.batch) {
			if strings.Contains(r.Message, "EIN already") {
				existing[w.keysOf(r)[filing.EIN]] = true
			}
			w.compareRow(b, r, bought, charges)
		}
		for r, err := range w.office.ledger.Results(context.Background(), s.batch) {
			if must(err); r.Message == "" && r.Result != filing.Ready {
				w.fail("row %s is %s without a reason", w.rowName(r), r.Result)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(charges)) {
		if existing[charges[id].key] {
			continue // the 409 does not say whether an unconfirmed order of ours made it
		}
		if charges[id].repeatable {
			continue // once one was canceled, nothing kept the filing service from accepting a repetition
		}
		if w.lostFrom < math.MaxInt && charges[id].key == "EIN "+named(charges[id].company) {
			continue // after a restore, ana cannot know which row ordered it, because two rows formed the company
		}
		w.fail("the ledger has no order %s: %s", id, charges[id].key)
	}
}

// readBooks returns how often each filing was bought, and the charges of orders by their IDs. Every
// order must be approved.
func (w *world) readBooks() (bought map[string]int, charges map[string]charge) {
	bought, charges = make(map[string]int), make(map[string]charge)
	canceled := make(map[string]bool)
	for _, o := range w.service.Books().Orders {
		for _, i := range o.Items {
			if i.Existing {
				continue
			}
			key := w.keyOf(o, i)
			bought[key]++
			if !o.Renewal {
				charges[i.ID] = charge{key, o.CompanyName, i.Amount(), false}
				canceled[key] = canceled[key] ||
					i.Status == "canceled" && (i.Product == "ein" || i.Product == "foreign_qualification")
				w.checkApproved(o, i, key)
				if i.Year != "" && w.lostFrom == math.MaxInt {
					w.checkCovered(o, i)
				}
			}
		}
	}
	for id, c := range charges {
		c.repeatable = canceled[c.key]
		charges[id] = c
	}
	return bought, charges
}

// checkApproved checks that a person had approved an item at the cost of its order, for the company
// that has it.
func (w *world) checkApproved(o sandbox.Order, i sandbox.Item, key string) {
	limit, approved, meant := int64(0), false, false
	c := w.companyWith(i.CompanyID)
	for _, a := range slices.Concat(w.allowed[key], w.allowedByName(c, o, i)) {
		if !a.at.After(i.At) {
			limit, approved = max(limit, a.cents), true
			meant = meant || c == nil || c.hadName(a.name, a.recorded, i.At)
		}
	}
	switch {
	case !approved:
		w.fail("no one approved %s, which is ordered as %s", key, i.ID)
	case !meant:
		w.fail("%s of %s is ordered as %s, and no sheet meant a company of that name", key, o.CompanyName, i.ID)
	case o.Total > limit && w.repriced && w.deliveredLate[i.At]:
		// The price changed between the sending and the arrival.
	case o.Total > limit:
		w.fail("%s costs %d cents, and %d were approved", i.ID, o.Total, limit)
	}
}

// allowedByName returns what was approved for rows without a Company ID that name a company.
func (w *world) allowedByName(c *company, o sandbox.Order, i sandbox.Item) (all []allowance) {
	if c == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(w.allowed)) {
		for _, a := range w.allowed[key] {
			i.CompanyID = named(a.name)
			if key == i.Key() && c.hadName(a.name, a.recorded, i.At) {
				all = append(all, a)
			}
		}
	}
	return all
}

// checkCovered checks that no report is ordered that the subscription of an earlier year's report
// covers. The ledger must have known that report.
func (w *world) checkCovered(o sandbox.Order, i sandbox.Item) {
	for _, earlier := range w.service.Books().Orders {
		for _, e := range earlier.Items {
			ended, canceled := w.ended[e.ID]
			if e.Product == i.Product && e.CompanyID == i.CompanyID && e.State == i.State && e.Year < i.Year &&
				e.At.Before(i.At) && (!canceled || !ended.Before(i.At)) && !earlier.Renewal &&
				w.rootWith(e.ID) != w.rootWith(i.ID) && !w.wasSent(i.ID, e.At) {
				w.fail("%s is ordered as %s, and %s covers it", i.Key(), i.ID, e.ID)
			}
		}
	}
}

// wasSent reports whether the row with an order was sent before a time.
func (w *world) wasSent(order string, before time.Time) bool {
	rows, err := w.office.ledger.RowsWithOrder(context.Background(), order)
	must(err)
	return slices.ContainsFunc(rows, func(r ledger.Row) bool {
		attempts, err := w.office.ledger.Attempts(context.Background(), r.ID)
		must(err)
		return slices.ContainsFunc(attempts, func(a ledger.Attempt) bool { return a.StartedAt.Before(before) })
	})
}

// rootWith returns the first batch that a row with an order corrects, or "" if no row has it.
func (w *world) rootWith(order string) string {
	rows, err := w.office.ledger.RowsWithOrder(context.Background(), order)
	must(err)
	for _, r := range rows {
		if r.Result != filing.Exists {
			b, err := w.office.ledger.Batch(context.Background(), r.Batch)
			must(err)
			return b.Root
		}
	}
	return ""
}

// charge is what the filing service charged for an item.
type charge struct {
	key     string
	company string
	cents   int64
	// repeatable reports whether the filing service would have refused a repetition, had no order of the
	// filing been canceled.
	repeatable bool
}

// compareRow compares a row with the books, and removes its orders from charges.
func (w *world) compareRow(b ledger.Batch, r ledger.Row, bought map[string]int, charges map[string]charge) {
	w.say("     row %s is %s: %s", w.rowName(r), r.Result, r.Message)
	if r.Result != filing.Exists { // whose orders are those of the row that bought them
		w.compareCost(r, charges)
	}
	w.checkRepeated(r)
	switch r.Result {
	case filing.Placed, filing.Exists:
		for product, key := range w.keysOf(r) {
			agent := product == filing.RegisteredAgent || product == filing.AgentChange // may be active already
			covered := product == filing.AnnualReport &&
				strings.Contains(r.Message, "covered by the annual subscription")
			c := w.companyWith(r.CompanyRef())
			hasEIN := product == filing.EIN && c != nil && c.ein != ""
			if bought[key] == 0 && !agent && !covered && !hasEIN {
				w.fail("row %s is %s, and no one bought %s", w.rowName(r), r.Result, key)
			}
		}
	case filing.Placing, filing.Uncertain:
		w.fail("row %s is stuck: %s", w.rowName(r), r.Message)
	case filing.Ready:
		if b.Open && !b.Canceled {
			w.fail("row %s stays ready: %s %s", w.rowName(r), r.BlockedOn, r.Message)
		}
	}
}

// checkRepeated checks that a row that is skipped as a duplicate is one.
func (w *world) checkRepeated(r ledger.Row) {
	var of int
	if _, err := fmt.Sscanf(r.Message, "duplicate of row %d", &of); err != nil {
		return
	}
	for _, other := range w.rows(r.Batch) {
		if other.Number == of && !bytes.Equal(other.Cells, r.Cells) {
			w.fail("row %s is called a duplicate, and differs", w.rowName(r))
		}
	}
}

// compareCost compares what the ledger spent on a row with what its orders cost.
func (w *world) compareCost(r ledger.Row, charges map[string]charge) {
	// canceled is the cost of orders that the row made again after the filing service had canceled them
	// and had called them another product.
	var cost, canceled int64
	var keys []string
	wantsAgent := false
	for _, i := range r.Items {
		id := i.OrderID
		if id == "" { // the filing service confirmed the item without an ID
			for _, other := range slices.Sorted(maps.Keys(charges)) {
				if charges[other].key == w.keysOf(r)[i.Product] {
					id = other
				}
			}
		}
		c := charges[id]
		if slices.Contains(keys, c.key) && c.repeatable {
			canceled += c.cents
		}
		keys = append(keys, c.key)
		cost += c.cents
		delete(charges, id)
	}
	if r.Request != nil {
		wantsAgent = r.Request.Order.RegisteredAgent != nil
	}
	spent := int64(r.Spent.Amount)
	switch {
	case spent == cost, spent == cost-canceled:
	case wantsAgent && spent == cost+agentPrice && r.Spent.Certainty != money.Known:
		// An agent whose service is active already costs nothing, which the ledger cannot know.
	case w.lostFrom < math.MaxInt && r.Request.Order.Formation != nil &&
		strings.HasPrefix(r.Message, "placed: an earlier attempt got no answer"):
		// The price of an EIN depends on whether it was ordered with the formation, which was lost.
	case r.Spent.IsUnknown():
	case w.repriced && (w.marked[w.rowName(r)] || w.hadConflict(r)):
		// A person does not enter the price, and a 409 does not name it, so the last quote counts.
	default:
		w.fail("the ledger spent %s on row %s, and its orders cost %d cents", r.Spent, w.rowName(r), cost)
	}
}

// hadConflict reports whether a 409 answered an attempt of a row.
func (w *world) hadConflict(r ledger.Row) bool {
	attempts, err := w.office.ledger.Attempts(context.Background(), r.ID)
	must(err)
	return slices.ContainsFunc(attempts, func(a ledger.Attempt) bool { return a.Outcome == filing.HasItem })
}

// agentPrice is the price of the filing service's own agent, in cents.
const agentPrice = 50_00
