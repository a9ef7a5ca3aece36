package simulate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/backup"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// act is something that happens in a world. It returns what happened, or "" if it cannot happen.
type act struct {
	name   string
	weight int
	fault  bool
	do     func(*world) string
}

// acts are what stories consist of, by how often it happens.
var acts = []*act{
	{"submit", 12, false, (*world).submitNew},
	{"submit again", 4, false, (*world).submitAgain},
	{"submit and end", 2, true, (*world).submitAndEnd},
	{"correct", 6, false, (*world).correct},
	{"approve", 6, false, (*world).approveOne},
	{"approve costs", 4, false, (*world).approveMore},
	{"confirm names", 3, false, (*world).confirm},
	{"place", 24, false, (*world).placeNext},
	{"deliver", 8, false, (*world).deliverNext},
	{"answer", 16, false, (*world).answerNext},
	{"lose a request", 3, true, (*world).loseRequest},
	{"lose an answer", 4, true, (*world).loseAnswer},
	{"refuse a request", 2, true, (*world).refuseRequest},
	{"answer in part", 3, false, (*world).answerInPart},
	{"answer with another product", 2, false, (*world).answerWithAnother},
	{"answer for another company", 2, false, (*world).answerForAnother},
	{"answer without order ids", 2, false, (*world).answerWithoutIDs},
	{"fail look-ups", 1, true, (*world).failLookups},
	{"deliver late", 2, true, (*world).deliverLate},
	{"refuse the key", 1, true, (*world).refuseKey},
	{"accept the key", 3, false, (*world).acceptKey},
	{"crash", 3, true, (*world).crash},
	{"sweep", 4, false, (*world).sweep},
	{"wait", 4, false, (*world).wait},
	{"cancel", 2, false, (*world).cancel},
	{"pause", 1, false, (*world).pause},
	{"resume", 2, false, (*world).resume},
	{"retry", 3, false, (*world).retry},
	{"resolve", 6, false, (*world).resolveOne},
	{"rename", 2, true, (*world).rename},
	{"merge", 1, true, (*world).merge},
	{"change prices", 1, true, (*world).changePrices},
	{"hide a price", 1, true, (*world).hidePrice},
	{"list all prices", 1, false, (*world).listPrices},
	{"deposit", 2, false, (*world).deposit},
	{"advance a filing", 3, false, (*world).advance},
	{"cancel a filing", 1, true, (*world).cancelFiling},
	{"end a subscription", 1, true, (*world).endSubscription},
	{"renew a report", 1, false, (*world).renew},
	{"deliver events", 4, false, (*world).deliverEvents},
	{"back up", 2, false, (*world).backUp},
	{"restore a backup", 2, true, (*world).restore},
	{"go back in time", 1, true, (*world).goBack},
	{"repeat lost work", 4, false, (*world).repeatLost},
	{"mark restored rows", 4, false, (*world).markRestored},
	{"end the restore check", 4, false, (*world).endCheck},
}

// said describes an action of a person and its error.
func said(err error, format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	if err != nil {
		text += ": " + err.Error()
	}
	return text
}

func (w *world) submitNew() string {
	s, asks := w.newSheet(), w.dice.IntN(2) == 0
	got, err := w.submit(s, asks, 0)
	w.remember(s.name+" is submitted", func() error { _, err := w.submit(s, asks, 0); return err })
	return said(err, "ana submits %s (%s): %s", s.name, s.product, got)
}

func (w *world) submitAgain() string {
	s, ok := pick(w, w.sheets)
	if !ok {
		return ""
	}
	got, err := w.submit(s, false, 0)
	w.remember(s.name+" is submitted", func() error { _, err := w.submit(s, false, 0); return err })
	return said(err, "ana submits %s again: %s", s.name, got)
}

func (w *world) submitAndEnd() string {
	s := w.newSheet()
	stage := 1 + w.dice.IntN(3)
	_, err := w.submit(s, stage == 3, stage)
	w.remember(s.name+" is submitted", func() error { _, err := w.submit(s, false, 0); return err })
	if !errors.Is(err, errEnded) {
		return said(err, "ana submits %s", s.name)
	}
	w.end(w.office)
	w.office = w.start("the office")
	return fmt.Sprintf("the office ends after stage %d of 3 of submitting %s, and starts again", stage, s.name)
}

func (w *world) correct() string {
	s, ok := pick(w, w.recorded())
	if !ok {
		return ""
	}
	c, err := w.correctionOf(s)
	if errors.Is(err, report.ErrNothingToCorrect) {
		return ""
	} else if err != nil {
		return said(err, "ana corrects %s", s.name)
	}
	got, err := w.submit(c, false, 0)
	w.remember(c.name+" is submitted", func() error { _, err := w.submit(c, false, 0); return err })
	return said(err, "ana corrects %s and submits it as %s: %s", s.name, c.name, got)
}

// recorded returns the sheets whose batch the ledger has. Of sheets with the same content it returns
// the first one.
func (w *world) recorded() []*sheet {
	var all []*sheet
	for _, s := range w.sheets {
		if s.batch == "" || slices.ContainsFunc(all, func(other *sheet) bool { return other.batch == s.batch }) {
			continue
		}
		if _, err := w.office.ledger.Batch(context.Background(), s.batch); err == nil {
			all = append(all, s)
		}
	}
	return all
}

// sheetsIn returns the sheets whose batch meets a condition.
func (w *world) sheetsIn(is func(ledger.Batch) bool) []*sheet {
	var all []*sheet
	for _, s := range w.recorded() {
		b, err := w.office.ledger.Batch(context.Background(), s.batch)
		must(err)
		if is(b) {
			all = append(all, s)
		}
	}
	return all
}

func isWaiting(b ledger.Batch) bool {
	return b.Open && !b.Canceled && b.Approval.State == ledger.ApprovalNeeded
}

func (w *world) approveOne() string {
	s, ok := pick(w, w.sheetsIn(isWaiting))
	if !ok {
		return ""
	}
	return said(w.approve(s), "bea approves %s", s.name)
}

func (w *world) approveMore() string {
	s, ok := pick(w, w.recorded())
	if !ok {
		return ""
	}
	rows, err := w.approveCosts(s)
	if rows == 0 && err == nil {
		return ""
	}
	return said(err, "bea approves the cost of %d rows of %s", rows, s.name)
}

func (w *world) confirm() string {
	s, ok := pick(w, w.sheetsIn(func(b ledger.Batch) bool { return !b.Canceled }))
	if !ok {
		return ""
	}
	got, err := w.confirmNames(s)
	w.remember("the names of "+s.name+" are confirmed", func() error { _, err := w.confirmNames(s); return err })
	if got == 0 && err == nil {
		return ""
	}
	return said(err, "ana confirms %d names of %s", got, s.name)
}

func (w *world) confirmNames(s *sheet) (accepted int, err error) {
	quoting := intake.Quoting{Ledger: w.office.ledger, Prices: w.quoter(w.office), Records: w.office.client,
		Concurrency: 1, Accept: true}
	q, err := quoting.Quote(context.Background(), s.batch)
	for _, r := range w.rows(s.batch) {
		if r.Request == nil {
			continue
		}
		if c := w.companyWith(r.Request.Company.Ref); c != nil && r.Request.Company.Confirmed != "" {
			c.confirmed[[2]string{r.Request.LegalName(), r.Request.Company.Confirmed}] = true
		}
	}
	return q.Review.Accepted, err
}

func (w *world) placeNext() string {
	p, _ := pick(w, w.workers)
	ids, err := p.ledger.Backlog().ListSendable(p.ctx, "", 100)
	must(err)
	id, ok := pick(w, ids)
	if !ok {
		return ""
	}
	row, err := p.ledger.Row(p.ctx, id)
	if err != nil { // the ledger went back in time after the worker had listed it
		return said(err, "%s takes a row", p.name)
	}
	before := len(w.network.of(p))
	err = w.place(p, id)
	text := said(err, "%s takes row %s", p.name, w.rowName(row))
	if now := w.network.of(p); len(now) > before {
		return text + ": " + now[len(now)-1].String() + " is sent"
	}
	return text + ": " + w.rowText(row)
}

// rowName names a row by its sheet.
func (w *world) rowName(row ledger.Row) string {
	for _, s := range w.sheets {
		if s.batch == row.Batch {
			return fmt.Sprintf("%d of %s", row.Number, s.name)
		}
	}
	return fmt.Sprintf("%d of batch %s", row.Number, row.Batch)
}

// rowText is the present state of a row.
func (w *world) rowText(row ledger.Row) string {
	row, err := w.office.ledger.Row(context.Background(), row.ID)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(fmt.Sprintf("it is %s (%s)", row.Result, row.Message), " ()")
}

// pickRequest picks a request in the network.
func (w *world) pickRequest(delivered bool) (*request, bool) {
	return pick(w, slices.DeleteFunc(w.network.of(nil),
		func(r *request) bool { return (r.answer != nil) != delivered }))
}

func (w *world) deliverNext() string {
	r, ok := w.pickRequest(false)
	if !ok {
		return ""
	}
	w.network.deliver(r)
	return fmt.Sprintf("%s reaches the filing service (%d)", r, r.answer.Code)
}

func (w *world) answerNext() string {
	r, ok := w.pickRequest(true)
	if !ok {
		if r, ok = w.pickRequest(false); !ok {
			return ""
		}
		w.network.deliver(r)
	}
	w.network.answerAs(r, nil)
	return fmt.Sprintf("%s is answered (%d)", r, r.answer.Code)
}

func (w *world) loseRequest() string {
	r, ok := w.pickRequest(false)
	if !ok {
		return ""
	}
	if w.dice.IntN(3) == 0 {
		w.network.lose(r, errNoDial)
		return fmt.Sprintf("%s cannot be sent: no connection", r)
	}
	w.network.lose(r, errReset)
	return fmt.Sprintf("%s %s: the connection is reset", r, w.stray(r))
}

// stray decides whether a request without an answer arrives later.
func (w *world) stray(r *request) string {
	if w.dice.IntN(3) > 0 {
		return "never arrives"
	}
	w.network.late = append(w.network.late, r)
	return "may arrive later"
}

func (w *world) loseAnswer() string {
	r, ok := pick(w, w.network.of(nil))
	if !ok {
		return ""
	}
	if r.answer == nil {
		w.network.deliver(r)
	}
	w.network.lose(r, errReset)
	return fmt.Sprintf("the answer (%d) to %s is lost", r.answer.Code, r)
}

// refuseRequest answers a request in the place of the filing service, which may get it later.
func (w *world) refuseRequest() string {
	r, ok := w.pickRequest(false)
	if !ok {
		return ""
	}
	status := []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusBadGateway,
		http.StatusPaymentRequired}[w.dice.IntN(4)]
	r.answer = httptest.NewRecorder()
	if status == http.StatusTooManyRequests {
		r.answer.Header().Set("Retry-After", "20")
	}
	r.answer.WriteHeader(status)
	w.network.answerAs(r, nil)
	r.answer = nil
	if status < http.StatusBadGateway {
		return fmt.Sprintf("%s gets %d from a gateway, and never arrives", r, status)
	}
	w.network.lost[string(r.body)] = r.sentAt
	return fmt.Sprintf("%s gets %d from a gateway, and %s", r, status, w.stray(r))
}

// answerFalsely answers an accepted order of so many items, and changes the answer. It delivers an
// order that has not arrived yet.
func (w *world) answerFalsely(how string, least, most int, change func(map[string]any)) string {
	r, ok := pick(w, slices.DeleteFunc(w.network.of(nil), func(r *request) bool {
		n := r.items()
		return n < least || n > most || r.answer != nil && r.answer.Code/100 != 2
	}))
	if !ok {
		return ""
	}
	if r.answer == nil {
		w.network.deliver(r)
	}
	if r.answer.Code/100 != 2 {
		return fmt.Sprintf("%s reaches the filing service (%d)", r, r.answer.Code)
	}
	w.faults++
	w.network.answerAs(r, change)
	return fmt.Sprintf("%s is answered %s", r, how)
}

func (w *world) answerInPart() string {
	return w.answerFalsely("without its last item", 2, maxItems, func(body map[string]any) {
		items := body["items"].([]any)
		body["items"] = items[:len(items)-1]
	})
}

// answerWithAnother names another product than the ordered one. The row must not count it.
func (w *world) answerWithAnother() string {
	var order string
	said := w.answerFalsely("with another product", 1, 1, func(body map[string]any) {
		item := body["items"].([]any)[0].(map[string]any)
		order, _ = item["orderId"].(string)
		item["orderType"] = map[bool]string{true: "annual_report", false: "ein"}[item["orderType"] == "ein"]
	})
	if order == "" {
		return said
	}
	synctest.Wait()
	rows, err := w.office.ledger.RowsWithOrder(context.Background(), order)
	must(err)
	for _, r := range rows {
		if r.Result == filing.Placed && len(r.Request.Order.Products()) == 1 {
			w.fail("row %s is placed by an answer about another product", w.rowName(r))
		}
	}
	return said
}

func (w *world) answerForAnother() string {
	return w.answerFalsely("for another company", 1, maxItems,
		func(body map[string]any) { body["companyId"] = fmt.Sprintf("comp_other%d", len(w.story)) })
}

func (w *world) answerWithoutIDs() string {
	return w.answerFalsely("without order ids", 1, maxItems, func(body map[string]any) {
		items, _ := body["items"].([]any)
		for _, i := range items {
			delete(i.(map[string]any), "orderId")
		}
	})
}

func (w *world) failLookups() string {
	w.network.failing = 1 + w.dice.IntN(4)
	return fmt.Sprintf("the next %d look-ups fail", w.network.failing)
}

// deliverLate delivers a request whose client has left.
func (w *world) deliverLate() string {
	r, ok := pick(w, w.network.late)
	if !ok {
		return ""
	}
	w.network.late = slices.DeleteFunc(w.network.late, func(other *request) bool { return other == r })
	w.network.deliver(r)
	w.deliveredLate[time.Now()] = true
	return fmt.Sprintf("%s reaches the filing service late (%d)", r, r.answer.Code)
}

func (w *world) refuseKey() string {
	w.service.SetKeys("sk_test_other")
	return "the filing service refuses the API key"
}

func (w *world) acceptKey() string {
	w.service.SetKeys(key)
	_, err := w.quoter(w.office)(context.Background())
	return said(err, "the filing service accepts the API key, and ana tries it")
}

func (w *world) crash() string {
	i := w.dice.IntN(len(w.workers))
	p := w.workers[i]
	lost := w.end(p)
	w.workers[i] = w.start(p.name)
	return strings.Join(append([]string{p.name + " crashes and starts again"}, lost...), "; ")
}

func (w *world) sweep() string {
	p, _ := pick(w, w.workers)
	return said(jobs.CatchUp(p.ctx, p.ledger), "%s sweeps", p.name)
}

func (w *world) wait() string {
	d := []time.Duration{10 * time.Second, time.Minute, time.Hour, 25 * time.Hour, 45 * 24 * time.Hour}[w.dice.IntN(5)]
	time.Sleep(d)
	return fmt.Sprintf("%s pass", d)
}

func (w *world) cancel() string {
	s, ok := pick(w, w.sheetsIn(func(b ledger.Batch) bool { return !b.Canceled }))
	if !ok {
		return ""
	}
	rows, err := w.office.ledger.CancelBatch(context.Background(), s.batch)
	if err == nil {
		w.remember(s.name+" is canceled", func() error {
			// Its rows may have been ordered before, also those that are held back now.
			if _, err := w.confirmNames(s); err != nil {
				return err
			}
			_, err := w.office.ledger.CancelBatch(context.Background(), s.batch)
			return err
		})
	}
	return said(err, "ana cancels %s, %d rows", s.name, rows)
}

func (w *world) pause() string {
	s, ok := pick(w, w.sheetsIn(func(b ledger.Batch) bool { return !b.Paused && b.Open }))
	if !ok {
		return ""
	}
	return said(w.office.ledger.PauseBatch(context.Background(), s.batch), "ana pauses %s", s.name)
}

func (w *world) resume() string {
	s, ok := pick(w, w.sheetsIn(func(b ledger.Batch) bool { return b.Paused }))
	if !ok {
		return ""
	}
	return said(w.office.ledger.ResumeBatch(context.Background(), s.batch), "ana resumes %s", s.name)
}

func (w *world) retry() string {
	s, ok := pick(w, w.recorded())
	if !ok {
		return ""
	}
	revive := w.dice.IntN(3) == 0
	again := func() (rows int, err error) {
		if revive {
			rows, _, err = w.office.ledger.ReviveBatch(context.Background(), s.batch)
			return rows, err
		}
		return w.office.ledger.RetryBatch(context.Background(), s.batch)
	}
	rows, err := again()
	if rows == 0 && err == nil {
		return ""
	}
	w.remember(s.name+" is retried", func() error { _, err := again(); return err })
	return said(err, "ana retries %s (canceled rows: %t): %d rows", s.name, revive, rows)
}

func (w *world) resolveOne() string {
	orders, err := resolve.ListUncertain(context.Background(), w.office.ledger, "")
	must(err)
	o, ok := pick(w, orders)
	if !ok {
		return ""
	}
	return w.resolve(o)
}

// resolve resolves an uncertain row as the books of the filing service have it.
func (w *world) resolve(o *resolve.UncertainOrder) string {
	ctx := context.Background()
	r := &resolve.Resolution{Order: o}
	orders, company := w.findOrders(o)
	if o.TakesOrderIDs() { // otherwise the row is asked only for the company, and for its order afterwards
		r.OrderIDs = orders
	}
	if o.FormsCompany() {
		r.CompanyID = company
	}
	if !r.IsPlaced() && (len(w.network.late) > 0 || w.network.isWorking()) {
		return "" // the filing service may still get it, or work on it
	}
	verdict := "not placed"
	if r.IsPlaced() {
		verdict = "placed as " + strings.Join(append(r.OrderIDs, r.CompanyID), " ")
		w.marked[w.rowName(o.Row)] = true
	}
	service := w.resolver()
	err := service.Check(ctx, r)
	if err == nil {
		_, err = service.Resolve(ctx, r)
	}
	return said(err, "ana marks row %s as %s", w.rowName(o.Row), strings.TrimSpace(verdict))
}

// findOrders finds the orders of an uncertain row, and their company. Of repeated orders it returns the
// last one, because the earlier ones were canceled.
func (w *world) findOrders(o *resolve.UncertainOrder) (orders []string, company string) {
	wanted := w.keysOf(o.Row)
	maps.DeleteFunc(wanted, func(p filing.Product, _ string) bool { return !slices.Contains(o.Products(), p) })
	keys := slices.Collect(maps.Values(wanted))
	found := make(map[string]string)
	for _, order := range w.service.Books().Orders {
		if whole := o.Row.Request.Order.Products(); o.FormsCompany() && len(order.Items) != len(whole) &&
			len(order.Items) != len(o.Products()) {
			continue // another row formed a company of this name
		}
		if w.differs(order, o.Row) || w.fitsAnother(order, o.Row) {
			continue
		}
		for _, item := range order.Items {
			if order.Renewal || !slices.Contains(keys, w.keyOf(order, item)) {
				continue
			}
			owners, err := w.office.ledger.RowsWithOrder(context.Background(), item.ID)
			must(err)
			if !slices.ContainsFunc(owners, func(other ledger.Row) bool { return other.ID != o.Row.ID }) {
				found[w.keyOf(order, item)], company = item.ID, order.CompanyID
			}
		}
	}
	return slices.Sorted(maps.Values(found)), company
}

// differs reports whether an order has an item that a row does not order.
func (w *world) differs(order sandbox.Order, row ledger.Row) bool {
	wanted := slices.Collect(maps.Values(w.keysOf(row)))
	return slices.ContainsFunc(order.Items, func(i sandbox.Item) bool {
		return !slices.Contains(wanted, w.keyOf(order, i))
	})
}

// fitsAnother reports whether an order has all that another open row orders, and less than a row
// does.
func (w *world) fitsAnother(order sandbox.Order, row ledger.Row) bool {
	var keys []string
	for _, i := range order.Items {
		keys = append(keys, w.keyOf(order, i))
	}
	slices.Sort(keys)
	orders := func(r ledger.Row) []string { return slices.Sorted(maps.Values(w.keysOf(r))) }
	if len(orders(row)) <= len(keys) {
		return false
	}
	for _, s := range w.recorded() {
		for _, r := range w.rows(s.batch) {
			// A ready row may have been sent before a restore.
			open := r.Result == filing.Uncertain || r.Result == filing.Ready && w.halted(filing.HaltRestored)
			if open && r.ID != row.ID && slices.Equal(orders(r), keys) {
				return true
			}
		}
	}
	return false
}

func (w *world) rename() string {
	c, _ := pick(w, w.companies)
	before := c.name
	if strings.Contains(before, "Holdings") {
		c.setName(strings.ReplaceAll(before, " Holdings", ""))
	} else {
		c.setName(strings.Replace(before, " LLC", " Holdings LLC", 1))
	}
	w.service.SetKeys(key)
	w.request(http.MethodPatch, "/v1/companies/"+c.id, fmt.Sprintf(`{"legalName":%q}`, c.name))
	return fmt.Sprintf("the filing service renames %s: %s is now %s", c.id, before, c.name)
}

// request sends a request of someone else to the filing service.
func (w *world) request(method, path, body string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Api-Key", key)
	answer := httptest.NewRecorder()
	w.network.handler.ServeHTTP(answer, r)
	if answer.Code/100 != 2 {
		panic(answer.Body.String())
	}
}

func (w *world) merge() string {
	a, _ := pick(w, w.companies)
	b, _ := pick(w, w.companies)
	if a == b || len(w.network.merged) > 0 {
		return ""
	}
	w.network.merged[a.id] = b.id
	return fmt.Sprintf("the filing service merges %s into %s", a.id, b.id)
}

func (w *world) changePrices() string {
	if len(w.network.of(nil)) > 0 {
		return ""
	}
	f := &w.fees[w.dice.IntN(len(w.fees))]
	f.Cents += int64(w.dice.IntN(41)-20) * 100
	w.writeFees()
	w.repriced = true
	return fmt.Sprintf("the state fee of %s is now %s", f.Product, money.Cents(f.Cents).Dollars())
}

// hidePrice has the filing service leave a price out of its list, and raise the state fee.
func (w *world) hidePrice() string {
	if len(w.network.of(nil)) > 0 || w.network.hidden != "" {
		return ""
	}
	w.network.hidden = []string{"annual_report", "foreign_qualification"}[w.dice.IntN(2)]
	for i := range w.fees {
		if w.fees[i].Product == w.network.hidden {
			w.fees[i].Cents += 7_00
		}
	}
	w.writeFees()
	w.repriced = true
	return fmt.Sprintf("the filing service lists no price of %s, and its state fee is $7.00 higher", w.network.hidden)
}

func (w *world) listPrices() string {
	if w.network.hidden == "" {
		return ""
	}
	w.network.hidden = ""
	return "the filing service lists all prices again"
}

func (w *world) deposit() string {
	cents := int64(1+w.dice.IntN(5)) * 1000_00
	w.service.Deposit(cents)
	record := func() error {
		return w.office.ledger.Entries().RecordDeposit(context.Background(), money.Cents(cents), "wire")
	}
	err := record()
	w.remember("a deposit is recorded", record)
	return said(err, "ana deposits %s", money.Cents(cents).Dollars())
}

func (w *world) advance() string {
	i, ok := w.pickItem(func(i sandbox.Item) bool { return i.Status == "submitted" || i.Status == "pending" })
	if !ok {
		return ""
	}
	_, err := w.service.Advance(context.Background(), i.ID, "")
	return said(err, "the filing service advances %s", i.ID)
}

// pickItem picks a purchase that meets a condition.
func (w *world) pickItem(is func(sandbox.Item) bool) (sandbox.Item, bool) {
	return pick(w, slices.DeleteFunc(w.service.Books().Items(), func(i sandbox.Item) bool { return !is(i) }))
}

func (w *world) cancelFiling() string {
	i, ok := w.pickItem(func(i sandbox.Item) bool { return i.Status != "canceled" })
	if !ok {
		return ""
	}
	w.ended[i.ID] = time.Now()
	_, err := w.service.Advance(context.Background(), i.ID, "canceled")
	return said(err, "the filing service cancels %s, %s", i.ID, i.Key())
}

func (w *world) endSubscription() string {
	i, ok := w.pickItem(func(i sandbox.Item) bool { return i.Subscription == "active" })
	if !ok {
		return ""
	}
	w.ended[i.ID] = time.Now()
	return said(w.service.SetSubscription(i.ID, "canceled"), "the subscription of %s ends", i.ID)
}

func (w *world) renew() string {
	i, ok := w.pickItem(func(i sandbox.Item) bool { return i.Product == "annual_report" && i.Subscription == "active" })
	if !ok {
		return ""
	}
	item, _, err := w.service.Renew(context.Background(), i.ID)
	return said(err, "the filing service renews the report %s for %s", i.ID, item.Year)
}

// deliverEvents delivers the new events of the filing service, the last one first.
func (w *world) deliverEvents() string {
	all := w.service.Events()
	fresh := all[w.events:]
	if len(fresh) == 0 {
		return ""
	}
	ctx := context.Background()
	for _, e := range slices.Backward(fresh) {
		event, err := filing.ParseEvent(e.Body)
		must(err)
		_, err = w.office.ledger.Events().Keep(ctx, event, e.Body)
		must(err)
	}
	w.events = len(all)
	for {
		if done, err := w.office.ledger.Events().Apply(ctx); err != nil || done == 0 {
			return said(err, "%d events arrive", len(fresh))
		}
	}
}

func (w *world) backUp() string {
	file := filepath.Join(w.dir, fmt.Sprintf("backup%d.db", len(w.backups)))
	_, err := backup.Write(context.Background(), w.office.ledger, file)
	if err == nil {
		w.backups = append(w.backups, backupFile{file, len(w.deeds)})
	}
	return said(err, "the office writes backup %d", len(w.backups))
}

// restore ends all processes and restores the last backup.
func (w *world) restore() string {
	if len(w.backups) == 0 {
		return ""
	}
	var lost []string
	for _, p := range w.processes() {
		lost = append(lost, w.end(p)...)
	}
	b := w.backups[len(w.backups)-1]
	_, err := backup.Restore(context.Background(), b.path, w.dir, func(ledger.Copy) error { return nil })
	must(err)
	w.office = w.start(w.office.name)
	for i, p := range w.workers {
		w.workers[i] = w.start(p.name)
	}
	w.lostFrom = min(w.lostFrom, b.deeds)
	w.events = 0
	return strings.Join(append([]string{fmt.Sprintf("all processes end, and backup %d is restored", len(w.backups))},
		lost...), "; ")
}

// goBack replaces the ledger with the last backup while all processes run.
func (w *world) goBack() string {
	if len(w.backups) == 0 {
		return ""
	}
	b := w.backups[len(w.backups)-1]
	content, err := os.ReadFile(b.path)
	must(err)
	ledger := filepath.Join(w.dir, "ledger.db")
	must(writeFile(ledger+".restored", content))
	for _, beside := range []string{"-wal", "-shm"} {
		// They are gone if no process has changed the ledger since it went back the last time.
		if err := os.Remove(ledger + beside); !errors.Is(err, os.ErrNotExist) {
			must(err)
		}
	}
	must(os.Rename(ledger+".restored", ledger))
	w.lostFrom = min(w.lostFrom, b.deeds)
	w.events = 0
	return fmt.Sprintf("the ledger goes back to backup %d while all processes run", len(w.backups))
}

// deed is work of a person that a restored ledger may lack.
type deed struct {
	what string
	do   func() error
}

// remember records work of a person, which begins to be lost by the next restore.
func (w *world) remember(what string, do func() error) { w.deeds = append(w.deeds, deed{what, do}) }

// repeatLost repeats the work that the restored ledger lacks. Some of it has to wait until rows are
// checked.
func (w *world) repeatLost() string {
	if !w.halted(filing.HaltRestored) || w.lostFrom >= len(w.deeds) {
		return ""
	}
	d := w.deeds[w.lostFrom]
	w.network.failing = 0
	err := d.do()
	if !errors.Is(err, ledger.ErrUnchecked) {
		w.lostFrom++
	}
	return said(err, "ana repeats what the backup lacks: %s", d.what)
}

func (w *world) markRestored() string {
	restores := w.office.ledger.Restores()
	check, err := restores.Check(context.Background())
	must(err)
	if check.Halted.Reason == filing.NoHalt {
		return ""
	}
	rows, err := restores.Unchecked(context.Background())
	must(err)
	did, err := w.resolver().MarkRestored(context.Background(), rows, check.Since)
	return said(err, "ana marks %d of %d unchecked rows as uncertain, %d as unsent, %d wait, %d fail", did.Uncertain,
		len(rows), did.Unsent, did.Waiting, len(did.Failed))
}

func (w *world) endCheck() string {
	if !w.halted(filing.HaltRestored) || w.lostFrom < len(w.deeds) {
		return ""
	}
	err := w.office.ledger.Restores().End(context.Background())
	return said(err, "ana ends the check of the restored ledger")
}
