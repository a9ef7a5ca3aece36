package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
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
	rows      map[int64]*standing
	purchases map[filing.Key]*purchase
	covers    map[string][]*purchase

	changed []*standing
	starts  []attemptStart
	ends    []attemptEnd
	claims  []*purchase
	bought  []keyRef
	freed   []keyRef
	entries []entryRow
	items   []itemRow
	facts   map[string][]*fact
	funds   bool // money was set free
}

// standing is the part of a row that transitions read and change.
type standing struct {
	ID       int64         `json:"id"`
	Result   filing.Result `json:"result"`
	Message  string        `json:"message"`
	CostN    int64         `json:"cost"`
	AtLeast  int           `json:"at_least"`
	HeldN    int64         `json:"held"`
	Attempts int           `json:"attempts"`
	Tries    int           `json:"tries"`
	Doubt    int           `json:"doubt"`
	Dropped  string        `json:"dropped"`
	Owner    string        `json:"owner"`
	Due      int64         `json:"due"`
	Waits    string        `json:"waits"`
	At       int64         `json:"at"`

	batch            string
	paused, canceled bool
	claims           []*purchase
	touched          bool
}

var standingColumns = []string{"id bigint", "result text", "message text", "cost bigint", "at_least int", "held bigint", "attempts bigint", "tries bigint", "doubt int", "dropped text", "owner text", "due bigint", "waits text", "at bigint"}

type purchase struct {
	Key     filing.Key     `json:"key"`
	Row     int64          `json:"row"`
	Product filing.Product `json:"product"`
	Cover   string         `json:"cover"`
	Year    int            `json:"year"`
	Why     string         `json:"why"`
	At      int64          `json:"at"`

	batch  string
	bought bool
}

type attemptStart struct {
	Row   int64  `json:"row"`
	Try   int    `json:"try"`
	Owner string `json:"owner"`
	At    int64  `json:"at"`
}

type attemptEnd struct {
	Row     int64        `json:"row"`
	Try     int          `json:"try"`
	At      int64        `json:"at"`
	Class   filing.Class `json:"class"`
	Status  int          `json:"status"`
	Message string       `json:"message"`
}

type keyRef struct {
	Key filing.Key `json:"key"`
}

type entryRow struct {
	At     int64     `json:"at"`
	Kind   EntryKind `json:"kind"`
	Amount int64     `json:"amount"`
	Row    int64     `json:"row"`
	Note   string    `json:"note"`
}

type itemRow struct {
	Row          int64          `json:"row"`
	Product      filing.Product `json:"product"`
	OrderType    string         `json:"order_type"`
	OrderID      string         `json:"order_id"`
	Status       string         `json:"filing_status"`
	Date         string         `json:"filing_date"`
	Subscription string         `json:"subscription_status"`
	Cost         int64          `json:"cost"`
	AtLeast      int            `json:"at_least"`
	At           int64          `json:"at"`
}

// write applies the group. Outcomes come first: they set money and keys free
// for the intents beside them.
func (g *groupWriter) write(group []*transition) error {
	if err := g.readAll(group); err != nil {
		return err
	}
	for _, t := range group {
		if t.outcome != nil {
			t.err = g.settle(t.outcome)
		}
	}
	for _, t := range group {
		switch {
		case t.aside != nil:
			t.err = g.setAside(t.aside)
		case t.intent != nil:
			t.begun, t.err = g.begin(t.intent)
		case t.fact != nil:
			if g.facts == nil {
				g.facts = make(map[string][]*fact)
			}
			g.facts[t.fact.Table] = append(g.facts[t.fact.Table], t.fact)
		}
	}
	return g.writeAll()
}

func (g *groupWriter) settle(o *Outcome) error {
	s, ok := g.rows[o.Row]
	if !ok {
		return ErrNotFound
	}
	g.ends = append(g.ends, attemptEnd{o.Row, o.Try, g.now, o.Answer.Class, o.Answer.Status, o.Answer.Message})
	current := s.Tries == o.Try && (s.Result == filing.Placing || s.Result == filing.Uncertain)
	if !current {
		// Somebody settled the attempt as lost and went on. What the service
		// made of it is kept as evidence; it moves nothing.
		g.addItems(s, o.Items)
		return nil
	}
	next := o.Verdict.Next
	if s.Result == filing.Uncertain {
		// The true answer arrived after all, from a process given up for dead.
		if next == filing.Uncertain {
			return nil
		}
		if !s.Result.CanBecome(next) {
			next = filing.Ready
		}
	}
	if !s.Result.CanBecome(next) {
		return fmt.Errorf("%w: %s to %s", ErrTransition, s.Result, next)
	}
	g.c.learn(o.Row, o.Answer, o.Verdict, g.now)
	if !o.Verdict.Attempt {
		s.Attempts--
	}
	s.Doubt = flag(o.Verdict.Doubt)
	s.Due, s.Message, s.Owner = millis(o.Due), o.Message, ""
	for _, p := range o.Drop {
		g.buy(s, p)
		s.Dropped = strings.Trim(s.Dropped+","+string(p), ",")
	}
	g.move(s, next)
	switch o.Verdict.Funds {
	case filing.Post:
		g.post(s, o.Cost)
	case filing.Void:
		g.void(s)
	}
	switch {
	case next == filing.Placed || next == filing.Exists:
		g.buy(s, "")
	case o.Verdict.Funds == filing.Void:
		g.free(s)
	}
	g.addItems(s, o.Items)
	return nil
}

// post turns the row's reservation into money spent. A reservation that turns
// out too small is topped up first, so that the book's sums always agree.
func (g *groupWriter) post(s *standing, spent money.Cost) {
	held := money.Cents(s.HeldN)
	if spent.Amount > held {
		g.entry(Reserve, spent.Amount-held, s.ID, "more than was set aside")
	}
	g.entry(Posted, spent.Amount, s.ID, "")
	if held > spent.Amount {
		g.entry(Voided, held-spent.Amount, s.ID, "less than was set aside")
	}
	g.c.posted += spent.Amount
	g.c.reserved -= held
	g.funds = g.funds || held > spent.Amount
	s.HeldN, s.CostN, s.AtLeast = 0, int64(spent.Amount), flag(spent.AtLeast)
}

func (g *groupWriter) void(s *standing) {
	held := money.Cents(s.HeldN)
	g.entry(Voided, held, s.ID, "")
	g.c.reserved -= held
	g.funds = g.funds || held > 0
	s.HeldN = 0
}

func (g *groupWriter) entry(kind EntryKind, amount money.Cents, row int64, note string) {
	if amount != 0 {
		g.entries = append(g.entries, entryRow{g.now, kind, int64(amount), row, note})
	}
}

// buy makes the row's claims purchases for ever: of one product, or all.
func (g *groupWriter) buy(s *standing, product filing.Product) {
	for _, p := range s.claims {
		if !p.bought && (product == "" || p.Product == product) {
			p.bought = true
			g.bought = append(g.bought, keyRef{p.Key})
		}
	}
}

// free gives the row's claims back, but for those that became purchases.
func (g *groupWriter) free(s *standing) {
	s.claims = slices.DeleteFunc(s.claims, func(p *purchase) bool {
		if !p.bought {
			g.freed = append(g.freed, keyRef{p.Key})
			delete(g.purchases, p.Key)
		}
		return !p.bought
	})
}

func (g *groupWriter) addItems(s *standing, items []Item) {
	for _, i := range items {
		g.items = append(g.items, itemRow{s.ID, i.Product, i.OrderType, i.OrderID, i.FilingStatus, i.FilingDate, i.SubscriptionStatus, int64(i.Cost.Amount), flag(i.Cost.AtLeast), g.now})
	}
}

func (g *groupWriter) move(s *standing, next filing.Result) {
	s.Result = next
	g.touch(s)
}

func (g *groupWriter) touch(s *standing) {
	s.At = g.now
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
	if s.Result != filing.Ready || s.Doubt != 0 {
		return fmt.Errorf("%w: it is %s", ErrTransition, s.Result)
	}
	if a.Next != filing.Ready && !s.Result.CanBecome(a.Next) {
		return fmt.Errorf("%w: %s to %s", ErrTransition, s.Result, a.Next)
	}
	if a.Wait != "" {
		p, held := g.purchases[a.Wait]
		if !held || p.bought || p.Row == s.ID {
			return nil // it was decided meanwhile: the row may try again at once
		}
		s.Waits = waitsForKey + string(a.Wait)
	}
	s.Message, s.Due = a.Message, millis(a.Due)
	if a.Next != filing.Ready {
		s.CostN, s.AtLeast = 0, 0
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
	case s.Result != filing.Ready || s.Waits != "" || s.Due > g.now,
		s.Doubt == 0 && (s.paused || s.canceled):
		return Begun{Lost: true}, nil
	}
	if h, halted := g.c.halted(in.Row, g.now); halted {
		return Begun{Halted: h}, nil
	}
	if taken := g.taken(s, in.Claims); len(taken) > 0 {
		return Begun{Taken: taken}, nil
	}
	need := max(in.Cost.Amount-money.Cents(s.HeldN), 0)
	if g.c.declared && need > g.c.available() {
		s.Waits = waitsForFunds
		s.Message = fmt.Sprintf("waits for funds: it needs %s and %s is available", in.Cost, g.c.available().Dollars())
		s.CostN, s.AtLeast = int64(in.Cost.Amount), flag(in.Cost.AtLeast)
		g.touch(s)
		return Begun{Short: true}, nil
	}
	for _, claim := range in.Claims {
		if _, mine := g.purchases[claim.Key]; mine {
			continue // an attempt in doubt kept it
		}
		p := &purchase{Key: claim.Key, Row: s.ID, Product: claim.Product, Cover: claim.Cover, Year: claim.Year, Why: claim.Why, At: g.now, batch: s.batch}
		g.purchases[claim.Key] = p
		s.claims = append(s.claims, p)
		g.claims = append(g.claims, p)
	}
	s.Tries++
	s.Attempts++
	s.Owner, s.Message, s.Due = g.l.owner.ID, "", 0
	s.HeldN += int64(need)
	s.CostN, s.AtLeast = int64(in.Cost.Amount), flag(in.Cost.AtLeast)
	g.entry(Reserve, need, s.ID, "")
	g.c.reserved += need
	if g.c.paused == filing.ForFunds {
		g.c.probeRow = s.ID
	}
	g.starts = append(g.starts, attemptStart{s.ID, s.Tries, s.Owner, g.now})
	g.move(s, filing.Placing)
	return Begun{Try: s.Tries}, nil
}

// taken lists the claims that other rows hold, and the subscriptions bought in
// other batches that cover a later year. Within one file two years of one
// company are both meant.
func (g *groupWriter) taken(s *standing, claims []Claim) []Taken {
	var taken []Taken
	for _, claim := range claims {
		if p, ok := g.purchases[claim.Key]; ok && p.Row != s.ID {
			taken = append(taken, Taken{Claim: claim, Row: p.Row, Bought: p.bought})
			continue
		}
		if claim.Cover == "" || claim.Why != "" {
			continue
		}
		for _, p := range g.covers[claim.Cover] {
			if p.bought && p.batch != s.batch && p.Year < claim.Year {
				taken = append(taken, Taken{Claim: claim, Row: p.Row, Bought: true, Covers: true})
				break
			}
		}
	}
	return taken
}

// readAll reads whatever the group touches.
func (g *groupWriter) readAll(group []*transition) error {
	type rowRef struct {
		ID int64 `json:"id"`
	}
	type claimRef struct {
		Key   filing.Key `json:"key"`
		Cover string     `json:"cover"`
	}
	var ids []rowRef
	var keys []claimRef
	for _, t := range group {
		switch {
		case t.outcome != nil:
			ids = append(ids, rowRef{t.outcome.Row})
		case t.aside != nil:
			ids = append(ids, rowRef{t.aside.Row})
			if t.aside.Wait != "" {
				keys = append(keys, claimRef{Key: t.aside.Wait})
			}
		case t.intent != nil:
			ids = append(ids, rowRef{t.intent.Row})
			for _, c := range t.intent.Claims {
				keys = append(keys, claimRef{c.Key, c.Cover})
			}
		}
	}
	g.rows = make(map[int64]*standing, len(ids))
	g.purchases = make(map[filing.Key]*purchase)
	g.covers = make(map[string][]*purchase)
	if len(ids) == 0 {
		return nil
	}
	var expires int64
	err := g.tx.QueryRowContext(g.ctx, `SELECT COALESCE(MAX(expires_at), 0) FROM owners WHERE id = $1`, g.l.owner.ID).Scan(&expires)
	if err != nil {
		return fmt.Errorf("read this process's lease: %w", err)
	}
	g.leased = expires > g.now
	err = g.query(`SELECT r.id, r.result, r.message, r.cost, r.at_least, r.held, r.attempts, r.tries, r.doubt, r.dropped, r.owner, r.due, r.waits, r.batch, b.paused, b.canceled
		{{v}} JOIN rows r ON r.id = v.id JOIN batches b ON b.id = r.batch`,
		[]string{"id bigint"}, ids, func(scan func(...any) error) error {
			s := &standing{}
			if err := scan(&s.ID, &s.Result, &s.Message, &s.CostN, &s.AtLeast, &s.HeldN, &s.Attempts, &s.Tries, &s.Doubt, &s.Dropped, &s.Owner, &s.Due, &s.Waits, &s.batch, &s.paused, &s.canceled); err != nil {
				return err
			}
			g.rows[s.ID] = s
			return nil
		})
	if err != nil {
		return fmt.Errorf("read the rows of a group: %w", err)
	}
	const purchaseOf = `SELECT p.key, p.row, p.product, p.cover, p.year, p.bought, o.batch {{v}} JOIN purchases p ON `
	known := func(scan func(...any) error) error {
		p := &purchase{}
		if err := scan(&p.Key, &p.Row, &p.Product, &p.Cover, &p.Year, &p.bought, &p.batch); err != nil {
			return err
		}
		if _, ok := g.purchases[p.Key]; ok {
			return nil
		}
		g.purchases[p.Key] = p
		if s, ok := g.rows[p.Row]; ok {
			s.claims = append(s.claims, p)
		}
		return nil
	}
	if err := g.query(purchaseOf+`p.row = v.id JOIN rows o ON o.id = p.row`, []string{"id bigint"}, ids, known); err != nil {
		return fmt.Errorf("read the claims of a group: %w", err)
	}
	if len(keys) == 0 {
		return nil
	}
	if err := g.query(purchaseOf+`p.key = v.key JOIN rows o ON o.id = p.row`, []string{"key text"}, keys, known); err != nil {
		return fmt.Errorf("read the purchases of a group: %w", err)
	}
	keys = slices.DeleteFunc(keys, func(k claimRef) bool { return k.Cover == "" })
	if len(keys) == 0 {
		return nil
	}
	err = g.query(purchaseOf+`p.cover = v.cover JOIN rows o ON o.id = p.row
		WHERE v.cover <> '' AND p.cover <> '' AND NOT EXISTS (SELECT 1 FROM items i WHERE i.row = p.row AND i.product = p.product AND i.subscription_status = 'canceled')`,
		[]string{"cover text"}, keys, func(scan func(...any) error) error {
			p := &purchase{}
			if err := scan(&p.Key, &p.Row, &p.Product, &p.Cover, &p.Year, &p.bought, &p.batch); err != nil {
				return err
			}
			g.covers[p.Cover] = append(g.covers[p.Cover], p)
			return nil
		})
	if err != nil {
		return fmt.Errorf("read the subscriptions of a group: %w", err)
	}
	return nil
}

func (g *groupWriter) query(query string, columns []string, params any, each func(scan func(...any) error) error) error {
	body, err := json.Marshal(params)
	if err != nil {
		return err
	}
	rows, err := g.tx.QueryContext(g.ctx, expand(query, g.l.dialect.from(columns...)), string(body))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// writeAll writes what the group decided. Claims go in plainly: should another
// writer ever have slipped one in, the primary key fails the whole group
// before any order leaves.
func (g *groupWriter) writeAll() error {
	if err := g.exec(`INSERT INTO purchases (key, row, product, cover, year, why, at) SELECT v.key, v.row, v.product, v.cover, v.year, v.why, v.at {{v}}`,
		[]string{"key text", "row bigint", "product text", "cover text", "year int", "why text", "at bigint"}, g.claims, len(g.claims)); err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	if err := g.exec(`UPDATE rows SET result = v.result, message = v.message, cost = v.cost, at_least = v.at_least, held = v.held, attempts = v.attempts,
			tries = v.tries, doubt = v.doubt, dropped = v.dropped, owner = v.owner, due = v.due, waits = v.waits, updated_at = v.at
		{{v}} WHERE rows.id = v.id`, standingColumns, g.changed, len(g.changed)); err != nil {
		return fmt.Errorf("move rows: %w", err)
	}
	if err := g.exec(`INSERT INTO attempts (row, try, owner, started_at) SELECT v.row, v.try, v.owner, v.at {{v}}`,
		[]string{"row bigint", "try bigint", "owner text", "at bigint"}, g.starts, len(g.starts)); err != nil {
		return fmt.Errorf("record attempts: %w", err)
	}
	if err := g.exec(`UPDATE attempts SET ended_at = v.at, class = v.class, status = v.status, message = v.message {{v}} WHERE attempts.row = v.row AND attempts.try = v.try`,
		[]string{"row bigint", "try bigint", "at bigint", "class text", "status int", "message text"}, g.ends, len(g.ends)); err != nil {
		return fmt.Errorf("record answers: %w", err)
	}
	if err := g.exec(`UPDATE purchases SET bought = 1 {{v}} WHERE purchases.key = v.key`, []string{"key text"}, g.bought, len(g.bought)); err != nil {
		return fmt.Errorf("record purchases: %w", err)
	}
	if err := g.exec(`DELETE FROM purchases WHERE bought = 0 AND key IN (SELECT v.key {{v}})`, []string{"key text"}, g.freed, len(g.freed)); err != nil {
		return fmt.Errorf("free claims: %w", err)
	}
	if err := g.exec(`INSERT INTO entries (at, kind, amount, row, note) SELECT v.at, v.kind, v.amount, v.row, v.note {{v}}`,
		[]string{"at bigint", "kind text", "amount bigint", "row bigint", "note text"}, g.entries, len(g.entries)); err != nil {
		return fmt.Errorf("enter money: %w", err)
	}
	if err := g.exec(`INSERT INTO items (row, product, order_type, order_id, filing_status, filing_date, subscription_status, cost, at_least, created_at)
			SELECT v.row, v.product, v.order_type, v.order_id, v.filing_status, v.filing_date, v.subscription_status, v.cost, v.at_least, v.at {{v}}`,
		[]string{"row bigint", "product text", "order_type text", "order_id text", "filing_status text", "filing_date text", "subscription_status text", "cost bigint", "at_least int", "at bigint"}, g.items, len(g.items)); err != nil {
		return fmt.Errorf("record items: %w", err)
	}
	for table, facts := range g.facts {
		if err := g.exec(`INSERT INTO `+table+` (ref, record, at) SELECT v.ref, v.record, v.at {{v}} WHERE TRUE ON CONFLICT (ref) DO UPDATE SET record = excluded.record, at = excluded.at`,
			[]string{"ref text", "record text", "at bigint"}, lastOfEach(facts), len(facts)); err != nil {
			return fmt.Errorf("remember %s: %w", table, err)
		}
	}
	return g.wake()
}

// lastOfEach keeps the newest fact about each reference: one statement may not
// touch a record twice.
func lastOfEach(facts []*fact) []*fact {
	seen := make(map[string]bool, len(facts))
	var last []*fact
	for _, f := range slices.Backward(facts) {
		if !seen[f.Ref] {
			seen[f.Ref] = true
			last = append(last, f)
		}
	}
	return last
}

// wake lets rows go on that waited for a key now decided, or for money now free.
func (g *groupWriter) wake() error {
	waits := make([]keyRef, 0, len(g.bought)+len(g.freed)+1)
	for _, k := range slices.Concat(g.bought, g.freed) {
		waits = append(waits, keyRef{waitsForKey + k.Key})
	}
	if g.funds && g.c.declared {
		waits = append(waits, keyRef{waitsForFunds})
	}
	if err := g.exec(`UPDATE rows SET waits = '', message = '' WHERE waits <> '' AND waits IN (SELECT v.key {{v}})`, []string{"key text"}, waits, len(waits)); err != nil {
		return fmt.Errorf("wake rows: %w", err)
	}
	return nil
}

func expand(query, from string) string { return strings.Replace(query, "{{v}}", from, 1) }
