package ledger_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// TestInterleavings lets processes, crashes, answers, deposits and people happen
// in any order, and holds the ledger to its invariants after each step.
//
// Orders are made when they are sent or only when they are answered. People look
// before an order is made, and are sometimes wrong. Answers come late: after a
// decision, after a cancellation, beside a rival, and in one group with its
// intent. Rows order one item or two, and some create their company first.
func TestInterleavings(t *testing.T) {
	checks, onServer := 60, 6
	if testing.Short() { // of which rapid makes a fifth
		checks, onServer = 150, 10
	}
	onBothDatabases(t, func(s *suite) {
		s.property(checks, onServer, 60, func(t *rapid.T) {
			w := newWorld(s, t)
			defer w.close()
			t.Repeat(map[string]func(*rapid.T){
				"":         w.check,
				"begin":    w.begin,
				"begin 2":  w.begin, // the most frequent
				"begin 3":  w.begin,
				"answer":   w.answer,
				"answer 2": w.answer,
				"together": w.together,
				"crash":    w.crash,
				"late":     w.late,
				"sweep":    w.sweep,
				"time":     w.time,
				"money":    w.money,
				"resolve":  w.resolve,
				"control":  w.control,
				"correct":  w.correct,
			})
			w.end(t)
		})
	})
}

// property checks a property so many times, with so many steps each, unless the flags of
// the run say otherwise. On a server, and under the race detector, each takes longer.
func (s *suite) property(checks, onServer, steps int, check func(*rapid.T)) {
	if s.config.DatabaseURL != "" || racing { // nothing in here is concurrent
		checks = onServer
	}
	for name, value := range map[string]string{
		"rapid.checks":     strconv.Itoa(checks),
		"rapid.steps":      strconv.Itoa(steps),
		"rapid.nofailfile": "true",
	} {
		if given := flag.Lookup(name); given.Value.String() == given.DefValue {
			s.must(flag.Set(name, value))
			defer flag.Set(name, given.DefValue)
		}
	}
	rapid.Check(s.T, check)
}

// world is the ledger with two processes, and what is true outside of it.
type world struct {
	*suite
	processes []*ledger.Ledger
	batches   []string
	before    map[int64]ledger.Row   // the rows as they were after the last step
	read      map[int64][]ledger.Row // as any task has read them, ready to be sent
	flying    []*sent
	deposits  money.Cents
	made      map[filing.Key][]string // order ids that the service made
	told      map[string]*sent        // orders that an answer named, by id
	corrected map[int64]bool
	misled    map[filing.Key]bool // a person said of it what was not, or not yet, true
	t         *rapid.T            // of the present step
}

// sent is a request on the wire, or one whose process died.
type sent struct {
	row      ledger.Row // as it was read
	attempt  int
	process  int
	owner    string
	claims   []ledger.Claim
	creates  bool
	orders   map[filing.Product]string // what the service made, by product; the company's id of a creation
	decided  bool                      // the service has made up its mind
	conflict bool                      // it had the first item already
	dead     bool
}

func newWorld(s *suite, t *rapid.T) *world {
	w := &world{
		suite:  s,
		t:      t,
		made:   make(map[filing.Key][]string),
		told:   make(map[string]*sent),
		misled: make(map[filing.Key]bool),

		corrected: make(map[int64]bool),
		read:      make(map[int64][]ledger.Row),
	}
	if s.config.DatabaseURL == "" {
		s.config.Dir = ledgertest.Dir(s)
	} else {
		s.must(s.open().Close()) // the tables are there
		s.exec(`TRUNCATE batches, rows, purchases, attempts, items, entries, control, processes`)
		s.exec(`INSERT INTO control (id) VALUES (1)`)
	}
	for range 2 {
		w.processes = append(w.processes, w.enlist())
	}
	// Few parties, so that rows meet over their purchases.
	for b := range 2 {
		id := fmt.Sprint("batch", b)
		var rows []ledger.Row
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			company := rapid.SampledFrom([]string{"comp_1", "comp_2", "comp_3"}).Draw(t, "company")
			r := report(company, "2026")
			switch rapid.SampledFrom([]string{"report", "ein", "both", "two", "create"}).Draw(t, "kind") {
			case "ein":
				r.Request.Order = filing.Order{FilingState: "DE", EIN: &filing.EINItem{}}
			case "both":
				r.Request.Order.RegisteredAgent = &filing.RegisteredAgentItem{}
			case "two": // requests
				r.Request.Order.EIN = &filing.EINItem{}
			case "create":
				r.Request.Company.Sheet.LegalName = "New " + company
			}
			r.Cost.Amount = money.Cents(rapid.IntRange(1, 3).Draw(t, "cost") * 100)
			rows = append(rows, r)
		}
		s.add(w.processes[0], id, rows...)
		w.batches = append(w.batches, id)
	}
	w.before = w.now()
	return w
}

// enlist opens the ledger without leaving its end to the end of the test.
func (w *world) enlist() *ledger.Ledger {
	l, err := ledger.Open(w.Context(), w.config)
	w.must(err)
	return l
}

func (w *world) close() {
	for _, l := range w.processes {
		w.must(l.Close())
	}
}

func (w *world) must(err error) {
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) any(t *rapid.T) (int, *ledger.Ledger) {
	i := rapid.IntRange(0, len(w.processes)-1).Draw(t, "process")
	return i, w.processes[i]
}

func (w *world) now() map[int64]ledger.Row {
	rows := make(map[int64]ledger.Row)
	for _, b := range w.batches {
		for r, err := range w.processes[0].Rows(w.Context(), b) {
			w.must(err)
			if r.Request != nil {
				rows[r.ID] = r
			}
		}
	}
	return rows
}

func (w *world) draw(t *rapid.T, keep func(ledger.Row) bool) (ledger.Row, bool) {
	ids := slices.Sorted(maps.Keys(w.before))
	ids = slices.DeleteFunc(ids, func(id int64) bool { return keep != nil && !keep(w.before[id]) })
	if len(ids) == 0 {
		return ledger.Row{}, false
	}
	return w.before[rapid.SampledFrom(ids).Draw(t, "row")], true
}

// creates reports whether the row's next request creates its company.
func creates(r ledger.Row) bool {
	return r.Request.Company.Sheet.LegalName != "" && r.Company == ""
}

// request is what the row sends next.
func request(r ledger.Row) ledger.Intent {
	in := intent(r)
	if creates(r) {
		name := r.Request.Company.Sheet.LegalName
		return ledger.Intent{
			Row:         r.ID,
			LastAttempt: r.LastAttempt,
			Creating:    true,
			Claims:      []ledger.Claim{{Product: filing.CompanyRecord, Key: filing.Key("company|" + name)}},
		}
	}
	return in
}

// wholeClaims are those of all that a row orders, whatever it has bought by now.
func wholeClaims(r ledger.Row) []ledger.Claim {
	o := r.Request.Order
	o.CompanyID = r.Request.Company.Ref
	return ledger.ClaimsOf(&o, "")
}

// begin attempts to send a row.
func (w *world) begin(t *rapid.T) {
	row, in, p := w.reading(t)
	begun, err := w.processes[p].Begin(w.Context(), in)
	w.must(err)
	w.begun(t, row, in, p, begun)
}

// reading draws a row as some task has read it.
func (w *world) reading(t *rapid.T) (ledger.Row, ledger.Intent, int) {
	row, _ := w.draw(t, nil)
	p, _ := w.any(t)
	if earlier := w.read[row.ID]; len(earlier) > 0 && rapid.IntRange(0, 3).Draw(t, "stale") == 0 {
		row = rapid.SampledFrom(earlier).Draw(t, "reading") // a task that was delivered twice, or slow
	} else if row.Result == filing.Ready { // of others no task has a reading
		w.read[row.ID] = append(earlier, row)
	}
	return row, request(row), p
}

func (w *world) begun(t *rapid.T, row ledger.Row, in ledger.Intent, p int, begun ledger.Begun) {
	switch l := w.processes[p]; {
	case begun.Attempt > 0:
		now, err := l.Row(w.Context(), row.ID)
		w.must(err)
		s := &sent{
			row:     row,
			attempt: begun.Attempt,
			process: p,
			owner:   now.Owner,
			claims:  in.Claims,
			creates: in.Creating,
			orders:  make(map[filing.Product]string),
		}
		w.flying = append(w.flying, s)
		if rapid.Bool().Draw(t, "at once") {
			w.make(t, s)
		}
	case len(begun.Taken) > 0:
		taken := begun.Taken[0]
		aside := ledger.Deferral{Row: row.ID, Next: filing.Ready, Wait: taken.Claim.Key}
		if taken.Bought {
			aside = ledger.Deferral{Row: row.ID, Next: filing.Exists}
		}
		if err := l.Defer(w.Context(), aside); !errors.Is(err, ledger.ErrTransition) {
			w.must(err)
		}
	}
}

// make has the service decide on a request: all, some or none of it is made.
func (w *world) make(t *rapid.T, s *sent) {
	s.decided = true
	if s.claims[0].Product == filing.EIN && len(w.made[s.claims[0].Key]) > 0 {
		s.conflict = true
		return
	}
	if len(s.claims) == 1 && s.claims[0].Product == filing.RegisteredAgent && len(w.made[s.claims[0].Key]) > 0 {
		// The ledger repeats agent orders here, as with FILING_REPEAT_AGENT: of a
		// service that answers with the order it has and charges nothing.
		s.orders[filing.RegisteredAgent] = w.made[s.claims[0].Key][0]
		return
	}
	for _, c := range s.claims {
		if rapid.IntRange(0, 3).Draw(t, "made") > 0 {
			s.orders[c.Product] = fmt.Sprintf("order_%d_%d_%s", s.row.ID, s.attempt, c.Product)
			w.made[c.Key] = append(w.made[c.Key], s.orders[c.Product])
		}
	}
}

// answers are what the service, or the network, may say of a request.
func (s *sent) answers() []filing.AnswerKind {
	lost := []filing.AnswerKind{filing.NoAnswer, filing.Unreadable, filing.ServerError}
	switch {
	case len(s.orders) > 0:
		return append(lost, filing.Accepted, filing.Accepted, filing.Accepted)
	case s.conflict:
		return append(lost, filing.HasItem, filing.HasItem)
	}
	return append(lost, filing.NotSent, filing.Refused, filing.Busy, filing.NoFunds, filing.KeyRefused)
}

// outcome is what the answer to a request amounts to.
func (w *world) outcome(t *rapid.T, s *sent) ledger.Outcome {
	if !s.decided {
		w.make(t, s)
	}
	class := rapid.SampledFrom(s.answers()).Draw(t, "class")
	out := outcome(s.row, s.attempt, class)
	out.Owner, out.Claims, out.Items, out.Creates = s.owner, s.claims, nil, s.creates
	out.Repeatable = out.Repeatable && !s.creates
	out.Exhausted = s.row.Attempts+1 >= 3
	out.Answer.RetryAfter = time.Second
	share := s.row.Cost
	for _, c := range s.claims {
		switch order := s.orders[c.Product]; {
		case class == filing.HasItem && len(out.Items) == 0:
			out.Items = []ledger.Item{{Product: c.Product, Cost: share}}
			out.Answer.Has, out.Answer.Ordered = c.Product, true
		case class == filing.Accepted && s.creates && order != "":
			out.Company = fmt.Sprintf("comp_new_%d_%d", s.row.ID, s.attempt)
		case class == filing.Accepted && order != "":
			out.Items = append(out.Items, ledger.Item{Product: c.Product, OrderID: order, Cost: share})
		}
		share.Amount = 0
	}
	return out
}

func (w *world) noteOrders(s *sent, out ledger.Outcome) {
	if out.Answer.Kind == filing.Accepted {
		for _, i := range out.Items {
			w.told[i.OrderID] = s
		}
	}
}

func (w *world) recordAnswer(t *rapid.T, s *sent, l *ledger.Ledger) {
	out := w.outcome(t, s)
	w.must(l.RecordOutcome(w.Context(), out))
	w.noteOrders(s, out)
	if rapid.IntRange(0, 5).Draw(t, "twice") == 0 {
		w.must(l.RecordOutcome(w.Context(), out)) // the reply to the first commit was lost
	}
}

func (w *world) take(t *rapid.T, dead bool) *sent {
	var some []*sent
	for _, s := range w.flying {
		if s.dead == dead {
			some = append(some, s)
		}
	}
	if len(some) == 0 {
		t.Skip("nothing is on the wire")
	}
	s := rapid.SampledFrom(some).Draw(t, "order")
	w.flying = slices.DeleteFunc(w.flying, func(o *sent) bool { return o == s })
	return s
}

func (w *world) answer(t *rapid.T) {
	s := w.take(t, false)
	w.recordAnswer(t, s, w.processes[s.process])
}

// late is the answer to a process that was given up for dead.
func (w *world) late(t *rapid.T) {
	s := w.take(t, true)
	// A repetition may be under way; the order's fate is what it was.
	_, l := w.any(t)
	w.recordAnswer(t, s, l)
}

// together is an answer, late or not, in one group with the intent of a row.
func (w *world) together(t *rapid.T) {
	s := w.take(t, rapid.Bool().Draw(t, "late"))
	out := w.outcome(t, s)
	row, in, _ := w.reading(t)
	l := w.processes[s.process]
	release := w.holdWriters()
	var flying sync.WaitGroup
	var settling, beginning error
	var begun ledger.Begun
	flying.Go(func() { settling = l.RecordOutcome(w.Context(), out) })
	flying.Go(func() { begun, beginning = l.Begin(w.Context(), in) })
	release()
	flying.Wait()
	w.must(settling)
	w.must(beginning)
	w.noteOrders(s, out)
	w.begun(t, row, in, s.process, begun)
}

// crash ends a process with its orders on the wire; another takes its place.
func (w *world) crash(t *rapid.T) {
	i, l := w.any(t)
	w.must(l.Close())
	w.processes[i] = w.enlist()
	for _, s := range w.flying {
		if s.process == i {
			s.dead = true
		}
	}
}

func (w *world) sweep(t *rapid.T) {
	_, l := w.any(t)
	w.sweepBy(t, l)
}

func (w *world) sweepBy(t *rapid.T, l *ledger.Ledger) {
	orphans, err := l.Fleet().CollectOrphans(w.Context())
	w.must(err)
	for _, r := range orphans {
		for _, s := range w.flying {
			if s.row.ID == r.ID && s.attempt == r.LastAttempt && !s.dead {
				t.Fatalf("the order of row %d was taken from a living process", r.ID)
			}
		}
		a := filing.Answer{Kind: filing.NoAnswer, Message: "its process is gone"}
		w.must(l.RecordOutcome(w.Context(), ledger.Outcome{
			Row:        r.ID,
			Attempt:    r.LastAttempt,
			Owner:      r.Owner,
			Answer:     a,
			Creates:    r.Creating,
			Repeatable: l.Repeatable(r.Request.Order.Products()) && !r.Creating,
			Exhausted:  r.Attempts >= 3,
		}))
	}
}

func (w *world) time(t *rapid.T) {
	w.pass(time.Duration(rapid.IntRange(1, 60).Draw(t, "seconds")) * time.Second)
}

func (w *world) money(t *rapid.T) {
	_, l := w.any(t)
	amount := money.Cents(rapid.IntRange(-300, 900).Draw(t, "cents"))
	if amount > 0 {
		w.must(l.Entries().RecordDeposit(w.Context(), amount, ""))
	} else {
		w.must(l.Entries().Adjust(w.Context(), amount, "a fee"))
	}
	w.deposits += amount
}

// resolve is a person who looks. They see what is true at the moment, which may
// be too early, and now and then they look at the wrong company.
func (w *world) resolve(t *rapid.T) {
	row, found := w.draw(t, func(r ledger.Row) bool { return r.Result == filing.Uncertain })
	if !found {
		t.Skip("nothing is uncertain")
	}
	_, l := w.any(t)
	w.decide(row, l, rapid.IntRange(0, 5).Draw(t, "wrong") == 0)
}

func (w *world) decide(row ledger.Row, l *ledger.Ledger, wrong bool) {
	in := request(row)
	if row.Creating {
		in.Claims = []ledger.Claim{
			{Product: filing.CompanyRecord, Key: filing.Key("company|" + row.Request.Company.Sheet.LegalName)},
		}
	}
	placed := false
	for _, c := range in.Claims {
		placed = placed || len(w.made[c.Key]) > 0
	}
	if wrong {
		placed = !placed
	}
	for _, c := range in.Claims {
		undecided := slices.ContainsFunc(w.flying, func(s *sent) bool {
			return !s.decided && slices.ContainsFunc(s.claims, func(d ledger.Claim) bool { return d.Key == c.Key })
		})
		if n := len(w.made[c.Key]); placed != (n > 0) || undecided || n > 1 {
			w.misled[c.Key] = true
		}
	}
	ctx := w.Context()
	switch {
	case placed && row.Creating:
		w.must(l.Resolutions().MarkCreated(ctx, row.ID, 0, filing.Company{ID: fmt.Sprint("comp_seen_", row.ID)},
			"seen"))
	case placed:
		w.must(l.Resolutions().MarkPlaced(ctx, row.ID, 0, []string{fmt.Sprint("order_seen_", row.ID)}, "seen"))
	default:
		w.must(l.Resolutions().MarkNotPlaced(ctx, row.ID, 0, "not there"))
	}
}

func (w *world) control(t *rapid.T) {
	_, l := w.any(t)
	ctx, batch := w.Context(), rapid.SampledFrom(w.batches).Draw(t, "batch")
	var err error
	switch rapid.SampledFrom([]string{"pause", "resume", "resume", "retry", "revive", "cancel", "key", "ask"}).Draw(t,
		"what") {
	case "pause":
		err = l.PauseBatch(ctx, batch)
	case "resume":
		err = l.ResumeBatch(ctx, batch)
	case "retry":
		_, err = l.RetryBatch(ctx, batch)
	case "revive":
		_, _, err = l.ReviveBatch(ctx, batch)
	case "cancel":
		if rapid.IntRange(0, 3).Draw(t, "really") == 0 {
			_, err = l.CancelBatch(ctx, batch)
		}
	case "key":
		err = l.Fleet().RecordKeyAccepted(ctx)
	case "ask":
		err = l.Fleet().AllowProbe(ctx)
	}
	w.must(err)
}

// correct corrects a row, or leaves it out, by a batch of its own.
func (w *world) correct(t *rapid.T) {
	row, found := w.draw(t, func(r ledger.Row) bool { return strings.HasPrefix(r.Batch, "batch") })
	if !found || len(w.batches) > 5 {
		t.Skip("there are enough corrections")
	}
	_, l := w.any(t)
	id := fmt.Sprint("fixes", len(w.batches))
	company := rapid.SampledFrom([]string{"comp_1", "comp_2", "comp_3"}).Draw(t, "company")
	w.suite.correct(l, id, row.Batch, fix(2, row.Number, company,
		rapid.SampledFrom([]filing.Result{filing.Ready, filing.Ready, filing.Skipped}).Draw(t, "as")))
	w.must(l.OpenBatch(w.Context(), id))
	w.batches = append(w.batches, id)
	for id, r := range w.now() {
		if _, known := w.before[id]; !known {
			w.before[id] = r
		}
	}
	w.corrected[row.ID] = true
}

// end lets every answer that is still out arrive, or be given up, and has a person
// resolve what is uncertain with all that is true: no row is left in between.
func (w *world) end(t *rapid.T) {
	w.t = t
	l := w.processes[0]
	for len(w.flying) > 0 {
		s := w.flying[0]
		w.flying = w.flying[1:]
		w.recordAnswer(t, s, w.processes[s.process])
		w.check(t)
	}
	w.sweepBy(t, l)
	w.check(t)
	for id, r := range w.before {
		if r.Result == filing.Uncertain {
			w.decide(r, l, false)
			w.check(t)
		}
		if now := w.before[id]; now.Result == filing.Placing || now.Result == filing.Uncertain {
			t.Fatalf("row %d ends %s", id, now.Result)
		}
	}
}

// check holds the ledger to what must be true at every moment.
func (w *world) check(t *rapid.T) {
	w.t = t
	l := w.processes[0]
	if err := l.Audit(w.Context()); err != nil {
		t.Fatal(err)
	}
	book, err := l.Balance(w.Context())
	w.must(err)
	if book.Deposits+book.Adjustments != w.deposits || w.deposits != book.Posted+book.Reserved+book.Available() {
		t.Fatalf("%s were declared: %+v", w.deposits, book)
	}
	now := w.now()
	if len(now) != len(w.before) {
		t.Fatalf("%d rows in, %d rows out", len(w.before), len(now))
	}
	w.checkPurchases(w.checkRows(now))
	w.checkAnswers(now)
	w.checkTwice(now)
	if book.HasDeposit {
		w.checkBlocked(now, book.Available())
	}
	w.before = now
}

// checkRows checks each row against the service, and returns the keys that some row has
// bought, or may have.
func (w *world) checkRows(now map[int64]ledger.Row) map[filing.Key]bool {
	t, knows := w.t, make(map[filing.Key]bool)
	for id, r := range now {
		was := w.before[id]
		if !moves(was.Result, r.Result) && (r.Result != filing.Placed || !w.accepted(id)) &&
			(r.Result != filing.Skipped || !w.corrected[id]) {
			t.Fatalf("row %d went from %s to %s", id, was.Result, r.Result)
		}
		keys := wholeClaims(r)
		open := r.Result == filing.Placing || r.Result == filing.Uncertain || r.Result == filing.Ready && r.Uncertain
		if r.Result == filing.Placed || open || len(r.Dropped) > 0 {
			for _, c := range keys {
				knows[c.Key] = true
			}
		}
		if r.Request.Company.Sheet.LegalName != "" && (r.Company != "" || open) {
			knows[filing.Key("company|"+r.Request.Company.Sheet.LegalName)] = true
		}
		for _, c := range keys {
			if r.Result == filing.Placed && len(w.made[c.Key]) == 0 && !w.misled[c.Key] {
				t.Fatalf("row %d is said to be placed, and the service has no such order", id)
			}
		}
	}
	return knows
}

// accepted reports whether an answer named an order of the row. However late it comes,
// it places the row, whatever a person, a cancellation or another row did in between.
func (w *world) accepted(row int64) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(w.told)), func(s *sent) bool { return s.row.ID == row })
}

// checkAnswers checks that the rows have the orders that answers named.
func (w *world) checkAnswers(now map[int64]ledger.Row) {
	t := w.t
	for order, s := range w.told {
		r := now[s.row.ID]
		if !slices.ContainsFunc(r.Items, func(i ledger.Item) bool { return i.OrderID == order }) {
			t.Fatalf("the service answered row %d (%s) with the order %s, and it has %+v", r.ID, r.Result, order,
				r.Items)
		}
		if r.Result == filing.Ready && !r.Uncertain && len(r.Dropped) == 0 ||
			r.Result == filing.Canceled && len(r.Dropped) == 0 {
			t.Fatalf("row %d has the order %s and would be sent again, or passes for unsent: %s", r.ID, order, r.Result)
		}
	}
	told := make(map[filing.Key][]*sent)
	for order, s := range w.told {
		for key, orders := range w.made {
			if slices.Contains(orders, order) {
				told[key] = append(told[key], s)
			}
		}
	}
	for key, all := range told {
		for _, s := range all {
			if r := now[s.row.ID]; len(all) > 1 && !strings.Contains(r.Message, "bought twice") {
				t.Fatalf("%s was bought %d times, and row %d says %q", key, len(all), r.ID, r.Message)
			}
		}
	}
}

// checkTwice checks that rows which have bought one thing, by whatever evidence, say so.
func (w *world) checkTwice(now map[int64]ledger.Row) {
	having := make(map[filing.Key][]ledger.Row)
	for _, r := range now {
		for _, c := range wholeClaims(r) {
			if r.Result == filing.Placed && slices.ContainsFunc(r.Items,
				func(i ledger.Item) bool { return i.Product == c.Product && i.OrderID != "" }) {
				having[c.Key] = append(having[c.Key], r)
			}
		}
	}
	for key, rows := range having {
		for _, r := range rows {
			if len(rows) > 1 && !strings.Contains(r.Message, "bought twice") {
				w.t.Fatalf("%d rows have bought %s, and row %d says %q", len(rows), key, r.ID, r.Message)
			}
		}
	}
}

// checkPurchases checks that nothing was bought twice, or without a row that knows.
func (w *world) checkPurchases(knows map[filing.Key]bool) {
	t := w.t
	for key, orders := range w.made {
		if len(orders) > 1 && !w.misled[key] {
			t.Fatalf("%s was bought %d times", key, len(orders))
		}
		if !knows[key] && !w.misled[key] {
			t.Fatalf("%s was bought, and no row knows of it", key)
		}
	}
}

// checkBlocked checks that no row waits for funds that are available besides what the
// others need.
func (w *world) checkBlocked(now map[int64]ledger.Row, available money.Cents) {
	need := func(r ledger.Row) money.Cents { return max(r.Cost.Amount-r.Spent.Amount-r.Reserved, 0) }
	for _, r := range now {
		if r.Result == filing.Ready && r.BlockedOn == "" && w.goes(r) {
			available -= need(r)
		}
	}
	for id, r := range now {
		if r.Result == filing.Ready && r.BlockedOn == "funds" && w.goes(r) && need(r) <= available {
			w.t.Fatalf("row %d waits for %s and %s is available besides what others need", id, need(r), available)
		}
	}
}

// goes reports whether the row's batch is being sent.
func (w *world) goes(r ledger.Row) bool {
	b, err := w.processes[0].Batch(w.Context(), r.Batch)
	w.must(err)
	return !b.Paused && !b.Canceled
}

// moves reports whether one step of the test may take a row from one state to
// another: an edge, two of them where a row comes back to a canceled batch, or
// two transitions of one group.
func moves(from, to filing.Result) bool {
	if from == to || from.CanBecome(to) {
		return true
	}
	return slices.ContainsFunc(filing.Results,
		func(by filing.Result) bool { return from.CanBecome(by) && by.CanBecome(to) })
}
