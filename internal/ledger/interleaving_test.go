package ledger_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/money"

	"pgregory.net/rapid"
)

// TestInterleavings lets processes, crashes, answers, deposits and people happen
// in any order, and holds the ledger to its invariants after each step.
func TestInterleavings(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		checks, steps := "40", "60"
		if s.config.DatabaseURL != "" || racing { // nothing in here is concurrent
			checks = "4"
		}
		for name, value := range map[string]string{"rapid.checks": checks, "rapid.steps": steps} {
			if given := flag.Lookup(name); given.Value.String() == given.DefValue {
				s.must(flag.Set(name, value))
				defer flag.Set(name, given.DefValue)
			}
		}
		rapid.Check(s.T, func(t *rapid.T) {
			w := newWorld(s, t)
			defer w.close()
			t.Repeat(map[string]func(*rapid.T){
				"":         w.check,
				"begin":    w.begin,
				"begin 2":  w.begin, // the most frequent
				"begin 3":  w.begin,
				"answer":   w.answer,
				"answer 2": w.answer,
				"crash":    w.crash,
				"late":     w.late,
				"sweep":    w.sweep,
				"time":     w.time,
				"money":    w.money,
				"resolve":  w.resolve,
				"control":  w.control,
			})
		})
	})
}

// world is the ledger with two processes, and what is true outside of it.
type world struct {
	*store
	processes []*ledger.Ledger
	batches   []string
	before    map[int64]ledger.Row   // the rows as they were after the last step
	read      map[int64][]ledger.Row // as any task has read them, ready to be sent
	flying    []*sent
	deposits  money.Cents
	bought    map[filing.Key]int // by the service
	t         *rapid.T           // of the present step
}

// sent is an order on the wire, or one whose process died.
type sent struct {
	row      ledger.Row // as it was read
	try      int
	process  int
	made     bool // the service made it
	conflict bool // it had it already
	dead     bool
}

func newWorld(s *store, t *rapid.T) *world {
	w := &world{store: s, t: t, bought: make(map[filing.Key]int), read: make(map[int64][]ledger.Row)}
	if s.config.DatabaseURL == "" {
		s.config.Dir = s.TempDir()
	} else {
		s.must(s.open().Close()) // the tables are there
		s.exec(`TRUNCATE batches, rows, purchases, attempts, items, entries, control, owners`)
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
			if rapid.Bool().Draw(t, "ein") {
				r.Request.Order = filing.Order{FilingState: "DE", EIN: &filing.EINItem{}}
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
			rows[r.ID] = r
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

// begin tries to send a row, and where it is let through the service makes up
// its mind at once: whether the process ever hears of it is another matter.
func (w *world) begin(t *rapid.T) {
	row, _ := w.draw(t, nil)
	p, l := w.any(t)
	now := row.Result
	if earlier := w.read[row.ID]; len(earlier) > 0 && rapid.IntRange(0, 3).Draw(t, "stale") == 0 {
		row = rapid.SampledFrom(earlier).Draw(t, "reading") // a task that was delivered twice, or slow
	} else if row.Result == filing.Ready { // of others no task has a reading
		w.read[row.ID] = append(earlier, row)
	}
	in := intent(row)
	begun, err := l.Begin(w.Context(), in)
	w.must(err)
	switch {
	case begun.Try > 0:
		if now != filing.Ready {
			t.Fatalf("a row that is %s was let through", now)
		}
		s := &sent{row: row, try: begun.Try, process: p}
		key := in.Claims[0].Key
		if row.Request.Order.EIN != nil && w.bought[key] > 0 {
			s.conflict = true
		} else if rapid.Bool().Draw(t, "made") {
			s.made = true
			w.bought[key]++
		}
		w.flying = append(w.flying, s)
	case len(begun.Taken) > 0:
		taken := begun.Taken[0]
		aside := ledger.Aside{Row: row.ID, Next: filing.Ready, Wait: taken.Claim.Key}
		if taken.Bought {
			aside = ledger.Aside{Row: row.ID, Next: filing.Exists}
		}
		w.must(l.SetAside(w.Context(), aside))
	}
}

// answers are what the service, or the network, may say of an order.
func (s *sent) answers() []filing.Class {
	lost := []filing.Class{filing.NoAnswer, filing.Unreadable, filing.ServerError}
	switch {
	case s.made:
		return append(lost, filing.Accepted, filing.Accepted, filing.Accepted)
	case s.conflict:
		return append(lost, filing.HasItem, filing.HasItem)
	}
	return append(lost, filing.NotSent, filing.Refused, filing.Busy, filing.NoFunds, filing.KeyRefused)
}

func (w *world) settle(t *rapid.T, s *sent, l *ledger.Ledger) {
	class := rapid.SampledFrom(s.answers()).Draw(t, "class")
	out := outcome(s.row, s.try, class)
	out.Exhausted = s.row.Attempts+1 >= 3
	out.Answer.RetryAfter = time.Second
	w.must(l.Settle(w.Context(), out))
	if rapid.IntRange(0, 5).Draw(t, "twice") == 0 {
		w.must(l.Settle(w.Context(), out)) // the reply to the first commit was lost
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
	w.settle(t, s, w.processes[s.process])
}

// late is the answer to a process that was given up for dead.
func (w *world) late(t *rapid.T) {
	s := w.take(t, true)
	// A repetition may be under way; the order's fate is what it was.
	_, l := w.any(t)
	w.settle(t, s, l)
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
	orphans, err := l.Orphans(w.Context())
	w.must(err)
	for _, r := range orphans {
		for _, s := range w.flying {
			if s.row.ID == r.ID && s.try == r.Tries && !s.dead {
				t.Fatalf("the order of row %d was taken from a living process", r.ID)
			}
		}
		a := filing.Answer{Class: filing.NoAnswer, Message: "its process is gone"}
		o := r.Request.Order
		w.must(l.Settle(w.Context(), ledger.Outcome{Row: r.ID, Try: r.Tries, Owner: r.Owner, Answer: a, Repeatable: l.Repeatable(&o), Exhausted: r.Attempts >= 3}))
	}
}

func (w *world) time(t *rapid.T) {
	w.pass(time.Duration(rapid.IntRange(1, 60).Draw(t, "seconds")) * time.Second)
}

func (w *world) money(t *rapid.T) {
	_, l := w.any(t)
	amount := money.Cents(rapid.IntRange(-300, 900).Draw(t, "cents"))
	if amount > 0 {
		w.must(l.Deposit(w.Context(), amount, ""))
	} else {
		w.must(l.Adjust(w.Context(), amount, ""))
	}
	w.deposits += amount
}

// resolve is a person who looks, and sees what is true.
func (w *world) resolve(t *rapid.T) {
	row, found := w.draw(t, func(r ledger.Row) bool { return r.Result == filing.Uncertain })
	if !found {
		t.Skip("nothing is uncertain")
	}
	_, l := w.any(t)
	if w.bought[intent(row).Claims[0].Key] > 0 {
		w.must(l.ResolvePlaced(w.Context(), row.ID, 0, []string{fmt.Sprint("order_seen_", row.ID)}, "seen"))
		return
	}
	w.must(l.ResolveNotPlaced(w.Context(), row.ID, 0, "not there"))
}

func (w *world) control(t *rapid.T) {
	_, l := w.any(t)
	ctx, batch := w.Context(), rapid.SampledFrom(w.batches).Draw(t, "batch")
	var err error
	switch rapid.SampledFrom([]string{"pause", "resume", "resume", "retry", "revive", "cancel", "key", "ask"}).Draw(t, "what") {
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
		err = l.KeyAccepted(ctx)
	case "ask":
		err = l.AskAgain(ctx)
	}
	w.must(err)
}

// check holds the ledger to what must be true at every moment.
func (w *world) check(t *rapid.T) {
	w.t = t
	l := w.processes[0]
	if err := l.Audit(w.Context()); err != nil {
		t.Fatal(err)
	}
	book, err := l.Book(w.Context())
	w.must(err)
	if book.Deposits+book.Adjustments != w.deposits || w.deposits != book.Posted+book.Reserved+book.Available() {
		t.Fatalf("%s were declared: %+v", w.deposits, book)
	}
	now := w.now()
	if len(now) != len(w.before) {
		t.Fatalf("%d rows in, %d rows out", len(w.before), len(now))
	}
	var posted, held money.Cents
	owners := make(map[filing.Key][]string) // of purchases made or perhaps made
	for id, r := range now {
		was := w.before[id]
		if !moves(was.Result, r.Result) {
			t.Fatalf("row %d went from %s to %s", id, was.Result, r.Result)
		}
		held += r.Held
		key := intent(r).Claims[0].Key
		switch {
		case r.Result == filing.Placed:
			posted += r.Cost.Amount
			owners[key] = append(owners[key], fmt.Sprint("placed ", id))
		case r.Result == filing.Placing, r.Result == filing.Uncertain, r.Result == filing.Ready && r.Doubt:
			owners[key] = append(owners[key], fmt.Sprint("out ", id))
			if r.Held == 0 {
				t.Fatalf("row %d is %s and holds no money", id, r.Result)
			}
		case r.Held != 0:
			t.Fatalf("row %d is %s and holds %s", id, r.Result, r.Held)
		}
		if r.Result == filing.Placed && w.bought[key] == 0 {
			t.Fatalf("row %d is said to be placed, and the service has no such order", id)
		}
	}
	if book.Posted != posted || book.Reserved != held {
		t.Fatalf("the rows say %s and %s: %+v", posted, held, book)
	}
	for key, n := range w.bought {
		if n > 1 {
			t.Fatalf("%s was bought %d times", key, n)
		}
		if len(owners[key]) == 0 {
			t.Fatalf("%s was bought, and no row knows of it", key)
		}
	}
	for key, rows := range owners {
		if len(rows) > 1 {
			t.Fatalf("%s belongs to %s", key, strings.Join(rows, " and "))
		}
	}
	w.before = now
}

// moves reports whether one step of the test may take a row from one state to
// another. A row that comes back to a canceled batch passes through ready; one
// that was settled as never made, and is answered after all, through uncertain.
func moves(from, to filing.Result) bool {
	return from == to || from.CanBecome(to) || from.CanBecome(filing.Ready) && to == filing.Canceled || from == filing.Ready && to == filing.Placed
}

// TestConcurrentWorkers is the same with real concurrency: workers of three
// processes over the same rows, with rivals for every purchase.
func TestConcurrentWorkers(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		const companies, rivals = 25, 3
		var ledgers []*ledger.Ledger
		for range 3 {
			ledgers = append(ledgers, s.open())
		}
		s.must(ledgers[0].Deposit(s.Context(), companies*cost, ""))
		var rows []ledger.Row
		for b := range rivals {
			var some []ledger.Row
			for i := range companies {
				r := report(fmt.Sprint("comp_", i), "2026")
				if i%2 == 0 {
					r = agentOrder(fmt.Sprint("comp_", i))
				}
				some = append(some, r)
			}
			rows = append(rows, s.add(ledgers[0], fmt.Sprint("b", b), some...)...)
		}
		var mu sync.Mutex
		bought := make(map[filing.Key]int)
		var workers sync.WaitGroup
		for n := range 9 {
			workers.Go(func() {
				random := rand.New(rand.NewPCG(uint64(n), 7))
				l := ledgers[n%len(ledgers)]
				for {
					ids, err := l.Sendable(s.Context(), "", 100)
					if err != nil {
						s.Error(err)
						return
					}
					ready, err := l.ReadyRows(s.Context(), ids)
					if err != nil {
						s.Error(err)
						return
					}
					if len(ready) == 0 {
						u := 0
						for b := range rivals {
							left, err := l.Unfinished(s.Context(), fmt.Sprint("b", b))
							if err != nil {
								s.Error(err)
								return
							}
							u += left.Placing + left.Moving + left.Sendable
						}
						if u == 0 {
							return
						}
						continue
					}
					random.Shuffle(len(ready), func(i, j int) { ready[i], ready[j] = ready[j], ready[i] })
					for _, r := range ready[:min(len(ready), 5)] {
						in := intent(r)
						begun, err := l.Begin(s.Context(), in)
						switch {
						case err != nil:
							s.Error(err)
							return
						case len(begun.Taken) > 0:
							aside := ledger.Aside{Row: r.ID, Next: filing.Ready, Wait: begun.Taken[0].Claim.Key}
							if begun.Taken[0].Bought {
								aside = ledger.Aside{Row: r.ID, Next: filing.Exists}
							}
							if err := l.SetAside(s.Context(), aside); err != nil && !strings.Contains(err.Error(), ledger.ErrTransition.Error()) {
								s.Error(err)
							}
							continue
						case begun.Try == 0:
							continue
						}
						class := []filing.Class{filing.Accepted, filing.Accepted, filing.NotSent, filing.Refused}[random.IntN(4)]
						if r.Doubt {
							class = filing.Accepted
						} else if l.Repeatable(&r.Request.Order) && random.IntN(3) == 0 {
							class = filing.NoAnswer
						}
						if class == filing.Accepted {
							mu.Lock()
							bought[in.Claims[0].Key]++
							mu.Unlock()
						}
						if err := l.Settle(s.Context(), outcome(r, begun.Try, class)); err != nil {
							s.Error(err)
						}
					}
				}
			})
		}
		workers.Wait()
		placed := make(map[filing.Key]int)
		var spent money.Cents
		all := 0
		for b := range rivals {
			for _, r := range s.rows(ledgers[1], fmt.Sprint("b", b)) {
				all++
				switch r.Result {
				case filing.Placed:
					placed[intent(r).Claims[0].Key]++
					spent += r.Cost.Amount
				case filing.Exists, filing.Rejected:
				default:
					s.Errorf("row %d ended %s, waiting for %q", r.ID, r.Result, r.Waits)
				}
			}
		}
		if all != len(rows) || !maps.Equal(placed, bought) {
			s.Errorf("%d rows; placed %v, bought %v", all, placed, bought)
		}
		if most := slices.MaxFunc(slices.Collect(maps.Values(bought)), cmp.Compare); most > 1 {
			s.Errorf("bought %d times", most)
		}
		if book := s.book(ledgers[2]); book.Posted != spent || book.Reserved != 0 {
			s.Errorf("%+v, want %s", book, spent)
		}
	})
}
