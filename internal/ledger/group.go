package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/money"
)

// groupWriter commits one group of transitions: it reads what they touch, lets
// each decide in turn on what the ones before it left, and writes the sum in a
// dozen statements whatever the size of the group. The control row is locked
// throughout, so that nothing read here can change before the commit.
type groupWriter struct {
	l   *Ledger
	ctx context.Context
	tx  *sql.Tx
	c   *control
	now int64

	leased    bool
	short     bool            // some row waits for funds
	behind    bool            // some row waits for a key
	sealed    bool            // some number is sealed
	unknown   bool            // some event is of an order that nobody knows yet
	told      map[string]bool // events that are there
	rows      map[int64]*standing
	purchases map[filing.Key]*purchase
	covers    map[string][]*purchase

	changed []*standing
	claims  []record
	bought  []filing.Key
	known   []record
	freed   []filing.Key
	ended   []record
	entries []record
	items   []record
	named   []record // order ids of items that may be there without one
	events  []record
	facts   map[string][]*fact
	funds   bool        // money was set free,
	spare   money.Cents // and so much of it for others: a row that goes again needs its own
}

// standing is the part of a row that transitions read and change.
type standing struct {
	id       int64
	result   filing.Result
	message  string
	cost     money.Cost
	held     money.Cents
	spent    money.Cost // for items that are decided already
	attempts int
	tries    int
	doubt    bool
	dropped  string
	company  string
	creating bool
	owner    string
	due      int64
	waits    string
	since    int64 // of the present state

	batch            string
	number           int
	paused, canceled bool
	claims           []*purchase
	touched          bool
}

type purchase struct {
	key     filing.Key
	row     int64
	product filing.Product
	cover   string
	year    int
	batch   string
	bought  bool
}

// write applies the group. Outcomes come first: they set money and keys free
// for the intents beside them.
func (g *groupWriter) write(group []*transition) error {
	if err := g.readAll(group); err != nil {
		return err
	}
	for _, t := range group {
		if t.outcome != nil {
			t.err = g.settle(t.outcome, t.unsent)
		}
	}
	for _, t := range group {
		switch {
		case t.aside != nil:
			t.err = g.setAside(t.aside)
		case t.intent != nil:
			t.begun, t.err = g.begin(t.intent)
		case t.fact != nil:
			g.remember(t.fact)
		case t.event != nil:
			t.fresh = g.keep(t.event)
		}
	}
	return g.writeAll()
}

func (g *groupWriter) settle(o *Outcome, unsent bool) error {
	s, ok := g.rows[o.Row]
	if !ok {
		return ErrNotFound
	}
	if late := s.result == filing.Ready && s.tries == o.Try && !unsent && o.Verdict.Next == filing.Placed; late {
		// A person said that it was never made, and its process had only been
		// slow: it must not be sent again.
		s.waits = ""
		g.move(s, filing.Uncertain)
		g.alsoKnown(s, o.Claims)
	}
	current := s.tries == o.Try && (s.result == filing.Placing || s.result == filing.Uncertain && !unsent)
	if current || !unsent && o.Answer.Class != filing.NoAnswer { // a sweeper's guess does not blot out what is known
		g.ended = append(g.ended, record{o.Row, int64(o.Try), s.owner, s.since, g.now, string(o.Answer.Class), int64(o.Answer.Status), o.Answer.Message, o.Answer.Detail})
	}
	if !current {
		// Somebody settled the attempt as lost and went on, or it was recorded
		// before. What the service made of it is kept as evidence; it moves nothing.
		for _, i := range o.Items {
			if i.OrderID != "" {
				g.named = append(g.named, record{s.id, string(i.Product), i.OrderID, i.OrderType})
				g.addItems(s, []Item{i})
			}
		}
		return nil
	}
	next := o.Verdict.Next
	if s.result == filing.Uncertain {
		// The true answer arrived after all, from a process given up for dead.
		if next == filing.Uncertain {
			return nil
		}
		if !s.result.CanBecome(next) {
			next = filing.Ready
		}
	}
	if !s.result.CanBecome(next) {
		return fmt.Errorf("%w: %s to %s", ErrTransition, s.result, next)
	}
	g.c.learn(o.Row, o.Answer, o.Verdict, g.now)
	if !o.Verdict.Attempt {
		s.attempts--
	}
	s.doubt = o.Verdict.Doubt
	s.due, s.message, s.owner = millis(o.Due), o.Message, ""
	if o.Company != "" {
		s.company = o.Company
	}
	if o.Made != nil {
		f, err := newFact("companies", o.Made.Ref, o.Made.Record, g.now)
		if err != nil {
			return err
		}
		g.remember(f)
	}
	for _, p := range o.Drop {
		g.buy(s, p)
		if p == filing.CompanyRecord {
			continue // no item of the order
		}
		s.dropped = strings.Trim(s.dropped+","+string(p), ",")
	}
	s.creating = s.creating && next == filing.Uncertain
	g.move(s, next)
	switch {
	case o.Verdict.Funds == filing.Post && o.Verdict.Drop:
		g.postShare(s, o.Cost)
	case o.Verdict.Funds == filing.Post:
		g.post(s, o.Cost)
	case o.Verdict.Funds == filing.Void:
		g.void(s)
	}
	if next == filing.Exists {
		s.cost = s.spent // as where the ledger itself has it
	}
	switch {
	case next == filing.Placed || next == filing.Exists:
		g.buy(s, "")
		g.alsoKnown(s, o.Known)
	case o.Verdict.Funds == filing.Void:
		g.free(s)
	}
	g.addItems(s, o.Items)
	g.takeBack(s)
	return nil
}

// takeBack cancels a row that comes back, unsent, to a batch that was canceled
// meanwhile: nothing would ever send it.
func (g *groupWriter) takeBack(s *standing) {
	if s.canceled && s.result == filing.Ready && !s.doubt {
		s.message = takenBack
		g.move(s, filing.Canceled)
	}
}

// post turns the row's reservation into money spent. A reservation that turns
// out too small is topped up first, so that the book's sums always agree.
func (g *groupWriter) post(s *standing, spent money.Cost) {
	held := s.held
	if spent.Amount > held {
		g.entry(Reserve, spent.Amount-held, s.id, "more than was set aside")
	}
	g.entry(Posted, spent.Amount, s.id, "")
	if held > spent.Amount {
		g.entry(Voided, held-spent.Amount, s.id, "less than was set aside")
	}
	g.c.posted += spent.Amount
	g.c.reserved -= held
	g.funds = g.funds || held > spent.Amount
	g.spare += max(held-spent.Amount, 0)
	s.held, s.cost = 0, money.Cost{Amount: s.spent.Amount + spent.Amount, Certainty: max(s.spent.Certainty, spent.Certainty)}
}

// postShare turns a part of the row's reservation into money spent: one item
// turned out to be bought, and the rest is still in doubt.
func (g *groupWriter) postShare(s *standing, spent money.Cost) {
	if spent.Amount > s.held {
		g.entry(Reserve, spent.Amount-s.held, s.id, "more than was set aside")
		g.c.reserved += spent.Amount - s.held
		s.held = spent.Amount
	}
	g.entry(Posted, spent.Amount, s.id, "")
	g.c.posted += spent.Amount
	g.c.reserved -= spent.Amount
	s.held -= spent.Amount
	s.spent = money.Cost{Amount: s.spent.Amount + spent.Amount, Certainty: max(s.spent.Certainty, spent.Certainty)}
}

func (g *groupWriter) void(s *standing) {
	g.entry(Voided, s.held, s.id, "")
	g.c.reserved -= s.held
	g.funds = g.funds || s.held > 0
	if s.result != filing.Ready || s.canceled && !s.doubt {
		g.spare += s.held
	}
	s.held = 0
}

func (g *groupWriter) entry(kind EntryKind, amount money.Cents, row int64, note string) {
	if amount != 0 {
		g.entries = append(g.entries, record{g.now, string(kind), int64(amount), row, note})
	}
}

// buy makes the row's claims purchases for ever: of one product, or all.
func (g *groupWriter) buy(s *standing, product filing.Product) {
	for _, p := range s.claims {
		if !p.bought && (product == "" || p.product == product) {
			p.bought = true
			g.bought = append(g.bought, p.key)
		}
	}
}

// alsoKnown records what the row bought under further names.
func (g *groupWriter) alsoKnown(s *standing, claims []Claim) {
	for _, c := range claims {
		g.known = append(g.known, record{string(c.Key), s.id, string(c.Product), c.Cover, int64(c.Year), c.Why, g.now})
	}
}

// free gives the row's claims back, but for those that became purchases.
func (g *groupWriter) free(s *standing) {
	s.claims = slices.DeleteFunc(s.claims, func(p *purchase) bool {
		if !p.bought {
			g.freed = append(g.freed, p.key)
			delete(g.purchases, p.key)
		}
		return !p.bought
	})
}

func (g *groupWriter) addItems(s *standing, items []Item) {
	for _, i := range items {
		g.items = append(g.items, record{s.id, string(i.Product), i.OrderType, i.OrderID, i.FilingStatus, i.FilingDate, i.SubscriptionStatus, int64(i.Exception), i.ExceptionNote, int64(i.Cost.Amount), int64(i.Cost.Certainty), g.now})
	}
}

func (g *groupWriter) remember(f *fact) {
	if g.facts == nil {
		g.facts = make(map[string][]*fact)
	}
	g.facts[f.table] = append(g.facts[f.table], f)
}

func (g *groupWriter) move(s *standing, next filing.Result) {
	s.result = next
	g.touch(s)
}

func (g *groupWriter) touch(s *standing) {
	if !s.touched {
		s.touched = true
		g.changed = append(g.changed, s)
	}
}

func (g *groupWriter) setAside(a *Aside) error {
	s, ok := g.rows[a.Row]
	if !ok {
		return ErrNotFound
	}
	if s.result != filing.Ready || s.doubt {
		return fmt.Errorf("%w: it is %s", ErrTransition, s.result)
	}
	if a.Next != filing.Ready && !s.result.CanBecome(a.Next) {
		return fmt.Errorf("%w: %s to %s", ErrTransition, s.result, a.Next)
	}
	if a.Wait != "" {
		p, held := g.purchases[a.Wait]
		if !held || p.bought || p.row == s.id {
			return nil // it was decided meanwhile: the row may try again at once
		}
		s.waits = waitsForKey + string(a.Wait)
	}
	s.message, s.due = a.Message, millis(a.Due)
	if a.Next != filing.Ready {
		g.spare += max(s.cost.Amount-s.held, 0) // what was meant for it
		s.cost = money.Cost{}
	}
	g.move(s, a.Next)
	g.addItems(s, a.Items)
	return nil
}

func (g *groupWriter) begin(in *Intent) (Begun, error) {
	s, ok := g.rows[in.Row]
	switch {
	case !ok:
		return Begun{}, ErrNotFound
	case !g.leased:
		return Begun{}, fmt.Errorf("this process was silent for longer than its lease")
	case s.result != filing.Ready || s.tries != in.Tries || s.waits != "" || s.due > g.now,
		!s.doubt && (s.paused || s.canceled):
		return Begun{Lost: true}, nil
	}
	if g.c.schema > g.l.schema {
		return Begun{Halted: g.l.outdated(g.c)}, nil
	}
	if h, halted := g.c.halted(in.Row, g.now); halted {
		return Begun{Halted: h}, nil
	}
	if taken := g.taken(s, in.Claims); len(taken) > 0 {
		return Begun{Taken: taken}, nil
	}
	need := max(in.Cost.Amount-s.held, 0)
	if g.c.declared && need > g.c.available() {
		s.waits = waitsForFunds
		s.message = fmt.Sprintf("waits for funds: it needs %s and %s is available", in.Cost, g.c.available().Dollars())
		s.cost = in.Cost
		g.touch(s)
		return Begun{Short: true}, nil
	}
	g.reserve(s, in)
	s.owner, s.message, s.due = g.l.owner.ID, "", 0
	if g.c.paused == filing.ForFunds {
		g.c.probeRow = s.id
	}
	g.move(s, filing.Placing)
	return Begun{Try: s.tries}, nil
}

// taken lists the claims that other rows hold, and the subscriptions bought in
// other batches that cover a later year. Within one file two years of one
// company are both meant.
func (g *groupWriter) taken(s *standing, claims []Claim) []Taken {
	var taken []Taken
	for _, claim := range claims {
		if p, ok := g.purchases[claim.Key]; ok && p.row != s.id {
			taken = append(taken, Taken{Claim: claim, Row: p.row, Bought: p.bought})
			continue
		}
		if claim.Cover == "" || claim.Why != "" {
			continue
		}
		for _, p := range g.covers[claim.Cover] {
			if p.bought && p.batch != s.batch && p.year < claim.Year {
				taken = append(taken, Taken{Claim: claim, Row: p.row, Bought: true, Covers: true})
				break
			}
		}
	}
	return taken
}

// readAll reads whatever the group touches.
func (g *groupWriter) readAll(group []*transition) error {
	var rows, settled, keys, covers, events []record
	for _, t := range group {
		switch {
		case t.outcome != nil:
			rows = append(rows, record{t.outcome.Row})
			settled = append(settled, record{t.outcome.Row})
		case t.event != nil:
			events = append(events, record{t.event.ID})
		case t.aside != nil:
			rows = append(rows, record{t.aside.Row})
			if t.aside.Wait != "" {
				keys = append(keys, record{string(t.aside.Wait)})
			}
		case t.intent != nil:
			rows = append(rows, record{t.intent.Row})
			for _, c := range t.intent.Claims {
				keys = append(keys, record{string(c.Key)})
				if c.Cover != "" {
					covers = append(covers, record{c.Cover})
				}
			}
		}
	}
	g.rows = make(map[int64]*standing, len(rows))
	g.purchases = make(map[filing.Key]*purchase)
	g.covers = make(map[string][]*purchase)
	g.told = make(map[string]bool)
	err := g.l.query(g.ctx, g.tx, readEventIDs, columns{"id text"}, events, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		g.told[id] = true
		return err
	})
	if err != nil {
		return fmt.Errorf("read the events of a group: %w", err)
	}
	if len(rows) == 0 {
		return nil
	}
	var expires int64
	// In the order of its index, or PostgreSQL would look for the row that is
	// seldom there by reading them all.
	err = g.tx.QueryRowContext(g.ctx, `SELECT COALESCE((SELECT expires_at FROM owners WHERE id = $1), 0),
			EXISTS (SELECT 1 FROM (SELECT waits FROM rows WHERE waits <> '' AND waits = 'funds' ORDER BY waits LIMIT 1) AS w),
			EXISTS (SELECT 1 FROM (SELECT waits FROM rows WHERE waits <> '' AND waits > 'funds' ORDER BY waits LIMIT 1) AS w), EXISTS (SELECT 1 FROM secrets),
			EXISTS (SELECT 1 FROM (SELECT received_at FROM events WHERE state = 'unknown' ORDER BY received_at LIMIT 1) AS u)`,
		g.l.owner.ID).Scan(&expires, &g.short, &g.behind, &g.sealed, &g.unknown)
	if err != nil {
		return fmt.Errorf("read this process's lease: %w", err)
	}
	g.leased = expires > g.now
	if err := g.l.query(g.ctx, g.tx, readStandings, columns{"id bigint"}, rows, g.addStanding); err != nil {
		return fmt.Errorf("read the rows of a group: %w", err)
	}
	err = g.l.queryAll(g.ctx, g.tx, g.addPurchase,
		statement{"read the claims of a group", readClaims, columns{"id bigint"}, settled},
		statement{"read the purchases of a group", readPurchases, columns{"key text"}, keys},
		statement{"read the subscriptions of a group", selectCovers + coversNow(g.now), columns{"cover text"}, covers})
	return err
}

const (
	readStandings = `SELECT r.id, r.result, r.message, r.cost, r.certainty, r.held, r.spent, r.spent_certainty, r.attempts, r.tries, r.doubt, r.dropped, r.company, r.creating, r.owner, r.due, r.waits, r.updated_at, r.batch, r.number, CASE WHEN b.paused <> 0 OR b.approval = 'wanted' THEN 1 ELSE 0 END, b.canceled
		{{v}} JOIN rows r ON r.id = v.id JOIN batches b ON b.id = r.batch`
	readPurchase  = `p.key, p.row, p.product, p.cover, p.year, p.bought, o.batch {{v}} JOIN purchases p ON `
	readClaims    = `SELECT 0, ` + readPurchase + `p.row = v.id JOIN rows o ON o.id = p.row`
	readPurchases = `SELECT 0, ` + readPurchase + `p.key = v.key JOIN rows o ON o.id = p.row`
	selectCovers  = `SELECT 1, ` + readPurchase + `p.cover = v.cover JOIN rows o ON o.id = p.row
		WHERE p.cover <> '' AND `
)

func (g *groupWriter) addStanding(scan func(...any) error) error {
	s := &standing{}
	if err := scan(&s.id, &s.result, &s.message, &s.cost.Amount, &s.cost.Certainty, &s.held, &s.spent.Amount, &s.spent.Certainty, &s.attempts, &s.tries, &s.doubt, &s.dropped, &s.company, &s.creating, &s.owner, &s.due, &s.waits, &s.since, &s.batch, &s.number, &s.paused, &s.canceled); err != nil {
		return err
	}
	g.rows[s.id] = s
	return nil
}

// addPurchase takes a purchase in: one that holds a key, or one whose
// subscription may cover what is asked for.
func (g *groupWriter) addPurchase(scan func(...any) error) error {
	var covers bool
	p := &purchase{}
	if err := scan(&covers, &p.key, &p.row, &p.product, &p.cover, &p.year, &p.bought, &p.batch); err != nil {
		return err
	}
	if covers {
		g.covers[p.cover] = append(g.covers[p.cover], p)
		return nil
	}
	if g.purchases[p.key] != nil {
		return nil
	}
	g.purchases[p.key] = p
	if s, ok := g.rows[p.row]; ok {
		s.claims = append(s.claims, p)
	}
	return nil
}

// The statements of a group. Claims go in
// plainly: should another writer ever have slipped one in, the primary key
// fails the whole group before any order leaves.
const (
	writeClaims = `INSERT INTO purchases (key, row, product, cover, year, why, at) SELECT v.key, v.row, v.product, v.cover, v.year, v.why, v.at {{v}}`
	writeRows   = `UPDATE rows SET result = v.result, message = v.message, cost = v.cost, certainty = v.certainty, held = v.held, spent = v.spent, spent_certainty = v.spent_certainty, attempts = v.attempts,
		tries = v.tries, doubt = v.doubt, dropped = v.dropped, company = v.company, creating = v.creating, owner = v.owner, due = v.due, waits = v.waits, updated_at = v.at {{v}} WHERE rows.id = v.id`
	writeAttempts = `INSERT INTO attempts (row, try, owner, started_at, ended_at, class, status, message, detail)
		SELECT v.row, v.try, v.owner, v.started, v.ended, v.class, v.status, v.message, v.detail {{v}} WHERE TRUE ON CONFLICT (row, try) DO UPDATE
		SET ended_at = excluded.ended_at, class = excluded.class, status = excluded.status, message = excluded.message, detail = excluded.detail`
	writeBought  = `UPDATE purchases SET bought = 1 {{v}} WHERE purchases.key = v.key`
	writeFreed   = `DELETE FROM purchases WHERE bought = 0 AND key IN (SELECT v.key {{v}})`
	writeKnown   = `INSERT INTO purchases (key, row, product, cover, year, why, at, bought) SELECT v.key, v.row, v.product, v.cover, v.year, v.why, v.at, 1 {{v}} WHERE TRUE ON CONFLICT (key) DO NOTHING`
	writeEntries = `INSERT INTO entries (at, kind, amount, row, note) SELECT v.at, v.kind, v.amount, v.row, v.note {{v}}`
	writeItems   = `INSERT INTO items (row, product, order_type, order_id, filing_status, filing_date, subscription_status, exception, exception_note, cost, certainty, created_at)
		SELECT v.row, v.product, v.type, v.order_id, v.status, v.date, v.subscription, v.exception, v.note, v.cost, v.certainty, v.at {{v}}
		WHERE v.order_id = '' OR NOT EXISTS (SELECT 1 FROM items i WHERE i.row = v.row AND i.order_id = v.order_id)`
	nameItems = `UPDATE items SET order_id = v.order_id, order_type = v.type {{v}} WHERE items.row = v.row AND items.product = v.product AND items.order_id = ''
		AND NOT EXISTS (SELECT 1 FROM items i WHERE i.row = v.row AND i.order_id = v.order_id)`
	writeWakes = `UPDATE rows SET waits = '', message = '' {{v}} WHERE rows.waits <> '' AND rows.waits = v.key`
)

var newClaim = columns{"key text", "row bigint", "product text", "cover text", "year bigint", "why text", "at bigint"}

// writeAll writes what the group decided.
func (g *groupWriter) writeAll() error {
	changed := make([]record, len(g.changed))
	for i, s := range g.changed {
		changed[i] = record{s.id, string(s.result), s.message, int64(s.cost.Amount), int64(s.cost.Certainty), int64(s.held), int64(s.spent.Amount), int64(s.spent.Certainty), int64(s.attempts),
			int64(s.tries), flag(s.doubt), s.dropped, s.company, flag(s.creating), s.owner, s.due, s.waits, g.now}
	}
	// What is set free may be claimed anew.
	if err := g.l.execAll(g.ctx, g.tx, statement{"free claims", writeFreed, columns{"key text"}, keyRecords(g.freed)}); err != nil {
		return err
	}
	if err := g.l.execAll(g.ctx, g.tx, statement{"name items", nameItems, columns{"row bigint", "product text", "order_id text", "type text"}, g.named}); err != nil {
		return err
	}
	if err := g.l.execAll(g.ctx, g.tx,
		statement{"move rows", writeRows, columns{"id bigint", "result text", "message text", "cost bigint", "certainty bigint", "held bigint", "spent bigint", "spent_certainty bigint", "attempts bigint", "tries bigint", "doubt bigint", "dropped text", "company text", "creating bigint", "owner text", "due bigint", "waits text", "at bigint"}, changed},
		statement{"record attempts", writeAttempts, columns{"row bigint", "try bigint", "owner text", "started bigint", "ended bigint", "class text", "status bigint", "message text", "detail text"}, g.ended},
		statement{"record purchases", writeBought, columns{"key text"}, keyRecords(g.bought)},
		statement{"claim purchases", writeClaims, newClaim, g.claims},
		statement{"enter money", writeEntries, columns{"at bigint", "kind text", "amount bigint", "row bigint", "note text"}, g.entries},
		statement{"keep events", writeEvents, newEvent, g.events},
		statement{"record items", writeItems, columns{"row bigint", "product text", "type text", "order_id text", "status text", "date text", "subscription text", "exception bigint", "note text", "cost bigint", "certainty bigint", "at bigint"}, g.items},
	); err != nil {
		return err
	}
	if err := g.l.execAll(g.ctx, g.tx, statement{"record purchases by their other names", writeKnown, newClaim, g.known}); err != nil {
		return err
	}
	for table, facts := range g.facts {
		if err := g.l.exec(g.ctx, g.tx, `INSERT INTO `+table+` (ref, record, at) SELECT v.ref, v.record, v.at {{v}} WHERE TRUE ON CONFLICT (ref) DO UPDATE SET record = excluded.record, at = excluded.at`,
			columns{"ref text", "record text", "at bigint"}, lastOfEach(facts)); err != nil {
			return fmt.Errorf("remember %s: %w", table, err)
		}
	}
	if g.unknown {
		if err := g.l.exec(g.ctx, g.tx, wakeEvents, columns{"order_id text"}, orderRecords(g.items)); err != nil {
			return fmt.Errorf("hand events to their orders: %w", err)
		}
	}
	if err := g.forget(); err != nil {
		return err
	}
	return g.wake()
}

// orderRecords are the order ids of items, where they have one.
func orderRecords(items []record) []record {
	var orders []record
	for _, i := range items {
		if id := i[3].(string); id != "" {
			orders = append(orders, record{id})
		}
	}
	return orders
}

func keyRecords(keys []filing.Key) []record {
	records := make([]record, len(keys))
	for i, k := range keys {
		records[i] = record{string(k)}
	}
	return records
}

// lastOfEach keeps the newest fact about each reference: one statement may not
// touch a record twice.
func lastOfEach(facts []*fact) []record {
	seen := make(map[string]bool, len(facts))
	var last []record
	for _, f := range slices.Backward(facts) {
		if !seen[f.ref] {
			seen[f.ref] = true
			last = append(last, record{f.ref, f.record, f.at})
		}
	}
	return last
}

// wake lets rows go on that waited for a key now decided, or for money now free.
func (g *groupWriter) wake() error {
	if (g.funds || g.spare > 0) && g.c.declared && g.short {
		if err := g.wakeFunded(); err != nil {
			return err
		}
	}
	if !g.behind { // to look for such rows among many that are short is slow
		return nil
	}
	var waits []record
	for _, k := range slices.Concat(g.bought, g.freed) {
		waits = append(waits, record{waitsForKey + string(k)})
	}
	if err := g.l.exec(g.ctx, g.tx, writeWakes, columns{"key text"}, waits); err != nil {
		return fmt.Errorf("wake rows: %w", err)
	}
	return nil
}
