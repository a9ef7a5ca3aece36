package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// groupWriter commits one group of transitions. It reads the records that they touch, applies each
// transition to the state that the previous ones left, and writes the sum in a dozen statements
// regardless of the size of the group. It holds the lock on the control row throughout, so nothing
// that it read can change before the commit.
type groupWriter struct {
	db  *database
	ctx context.Context
	tx  *sql.Tx
	c   *control
	now int64

	leased bool
	// short reports whether a row waits for funds.
	short bool
	// behind reports whether a row waits for a key.
	behind bool
	// sealed reports whether a Social Security number is sealed in the ledger.
	sealed bool
	// unknown reports whether an event names an order that no row has yet.
	unknown bool
	// knownEvents are the IDs of the events that the ledger already has.
	knownEvents map[string]bool
	rows        map[int64]*rowState
	// purchases are all purchases of each key.
	purchases map[filing.Key][]*purchase
	covers    map[string][]*purchase

	// scratch is a buffer for the row that is being read.
	scratch store.Record
	changed []*rowState
	claims  []claimed
	// settled are the purchases that were bought or turned out not to be.
	settled []*purchase
	freed   []store.Record
	ended   []store.Record
	entries []store.Record
	items   []store.Record
	// ordered are the order IDs of items.
	ordered []store.Record
	// named are order IDs for items that may be recorded without one.
	named  []store.Record
	events []store.Record
	facts  map[string][]*fact
	// decided are decisions on recorded attempts.
	decided []store.Record
	// removed are items to remove from rows.
	removed []store.Record
	// unreport are the rows whose state is reported again.
	unreport []store.Record
	// orders maps the order IDs of this group to their rows.
	orders map[string]rowRef
}

func (db *database) newGroupWriter(ctx context.Context, tx *sql.Tx, c *control, now int64) *groupWriter {
	return &groupWriter{
		db:  db,
		ctx: ctx,
		tx:  tx,
		c:   c,
		now: now,
	}
}

// rowState is the part of a row that transitions read and change.
type rowState struct {
	id      int64
	result  filing.Result
	message string
	// cost is the known cost of the rest of the order.
	cost     money.Cost
	reserved money.Cents
	spent    money.Cost
	// approved is the approved total. It is negative if no cost was approved.
	approved money.Cost
	// counted counts the attempts that were sent.
	counted     int
	lastAttempt int
	uncertain   bool
	dropped     string
	// wanted are the products of the row's order, including the bought ones.
	wanted    string
	company   string
	creating  bool
	owner     string
	due       int64
	blockedOn string
	// since is when the row entered its present state.
	since int64

	// root is the first batch in the chain of corrections.
	batch, root string
	number      int
	// onHold reports whether the rows of the batch are not sent now: see sending.
	onHold   bool
	canceled bool
	// withdrawn reports whether the row was canceled because it was corrected after it was sent.
	withdrawn bool
	// checkedAt is when the row was last checked after the ledger went back in time.
	checkedAt int64
	claims    []*purchase
	// attempts are all known attempts, including the present one.
	attempts []filing.Attempt
	// senders maps the number of each ended attempt to its process.
	senders map[int]string
	touched bool
}

// isAt reports whether b identifies the row or is zero.
func (s *rowState) isAt(b BatchRow) bool { return b == BatchRow{} || b == BatchRow{s.batch, s.number} }

type purchase struct {
	key     filing.Key
	row     int64
	product filing.Product
	cover   string
	year    int
	// batch is the batch of the row, root is the root of that batch, and number is the row's
	// number.
	batch  string
	root   string
	number int
	bought bool
	// exists reports whether the row bought nothing because all its items existed.
	exists bool
	// canceled reports whether the filing was canceled after the purchase.
	canceled bool
	// twin is the ID of the row that had already bought the same.
	twin int64
	// freed reports whether this group has released the purchase again.
	freed bool
	// beside reports whether another row has the key of this new purchase.
	beside bool
}

// claimed is a purchase that this group adds.
type claimed struct {
	*purchase
	store.Record
}

// write applies the group. It applies outcomes first, because they release money and keys for the
// intents of the same group.
func (g *groupWriter) write(group []*transition) error {
	if err := g.readAll(group); err != nil {
		return err
	}
	for _, t := range group {
		if t.outcome != nil {
			s := g.rows[t.outcome.Row]
			if s != nil && s.isAt(t.outcome.Of) && t.outcome.Attempt > s.lastAttempt && g.c.restoredAt == 0 {
				note := fmt.Sprintf("it lacks attempt %d of row %d, which was answered", t.outcome.Attempt, s.id)
				if err := g.c.haltRestored(g.ctx, g.tx, note, g.c.changedAt); err != nil {
					return err
				}
			}
			o := t.outcome
			if t.unsent && g.db.restoreDetector.wasRestored(g.c) {
				o = o.withoutAnswer()
			}
			t.err = g.recordOutcome(o, t.unsent)
		}
	}
	for _, t := range group {
		switch {
		case t.deferral != nil:
			t.err = g.deferRow(t.deferral)
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

func (g *groupWriter) addItems(s *rowState, items []Item) {
	for _, i := range items {
		if i.OrderID != "" {
			g.ordered = append(g.ordered, store.Record{store.Text("order_id", i.OrderID)})
		}
		g.items = append(g.items, store.Record{
			store.Number("row", s.id),
			store.Text("product", i.Product),
			store.Text("type", i.OrderType),
			store.Text("order_id", i.OrderID),
			store.Text("status", i.FilingStatus),
			store.Text("date", i.FilingDate),
			store.Text("subscription", i.SubscriptionStatus),
			store.Number("exception", i.Exception),
			store.Text("note", i.ExceptionNote),
			store.Number("cost", i.Cost.Amount),
			store.Number("certainty", i.Cost.Certainty),
			store.Number("at", g.now),
		})
	}
}

func (g *groupWriter) remember(f *fact) {
	if g.facts == nil {
		g.facts = make(map[string][]*fact)
	}
	g.facts[f.table] = append(g.facts[f.table], f)
}

func (g *groupWriter) move(s *rowState, next filing.Result) {
	s.result = next
	// Otherwise the end of the block would erase the message later. Only a person ends the wait for
	// an approval, even after an answer that leaves the row uncertain.
	if next != filing.Ready && (next != filing.Uncertain || s.blockedOn != blockedOnApproval) {
		s.blockedOn = ""
	}
	g.touch(s)
}

func (g *groupWriter) touch(s *rowState) {
	if !s.touched {
		s.touched = true
		g.changed = append(g.changed, s)
	}
}

// readAll reads the rows, claims, purchases and events that the group touches.
func (g *groupWriter) readAll(group []*transition) error {
	var rows, answered, keys, covers, events []store.Record
	for _, t := range group {
		switch {
		case t.outcome != nil:
			rows = append(rows, store.Record{store.Number("id", t.outcome.Row)})
			answered = append(answered, store.Record{store.Number("id", t.outcome.Row)})
		case t.event != nil:
			events = append(events, store.Record{store.Text("id", t.event.ID)})
		case t.deferral != nil:
			rows = append(rows, store.Record{store.Number("id", t.deferral.Row)})
			if t.deferral.Next == filing.Exists || t.deferral.Next == filing.Skipped {
				answered = append(answered, store.Record{store.Number("id", t.deferral.Row)})
			}
			if t.deferral.Wait != "" {
				keys = append(keys, store.Record{store.Text("key", t.deferral.Wait)})
			}
		case t.intent != nil:
			rows = append(rows, store.Record{store.Number("id", t.intent.Row)})
			for _, c := range t.intent.Claims {
				keys = append(keys, store.Record{store.Text("key", c.Key)})
				if c.Cover != "" {
					covers = append(covers, store.Record{store.Text("cover", c.Cover)})
				}
			}
		}
	}
	g.rows = make(map[int64]*rowState, len(rows))
	g.purchases = make(map[filing.Key][]*purchase)
	g.orders = make(map[string]rowRef)
	g.covers = make(map[string][]*purchase)
	g.knownEvents = make(map[string]bool)
	err := g.db.QueryRecords(g.ctx, g.tx, readEventIDs, events, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		g.knownEvents[id] = true
		return err
	})
	if err != nil {
		return fmt.Errorf("read the events of a group: %w", err)
	}
	if len(rows) == 0 {
		return nil
	}
	var expires int64
	// The subqueries use the order of the index. Otherwise PostgreSQL would read all rows to look
	// for one that rarely exists.
	err = g.db.QueryRowPrepared(g.ctx, g.tx, `SELECT COALESCE((SELECT expires_at FROM processes WHERE id = $1), 0),
			EXISTS (
				SELECT 1 FROM (SELECT blocked_on FROM rows WHERE blocked_on <> '' AND blocked_on = 'funds'
					ORDER BY blocked_on LIMIT 1) AS w),
			EXISTS (
				SELECT 1 FROM (SELECT blocked_on FROM rows WHERE blocked_on <> '' AND blocked_on > 'funds'
					ORDER BY blocked_on LIMIT 1) AS w),
			EXISTS (SELECT 1 FROM secrets),
			EXISTS (
				SELECT 1 FROM (SELECT received_at FROM events WHERE state = 'unknown'
					ORDER BY received_at LIMIT 1) AS u)`,
		g.db.owner.ID).Scan(&expires, &g.short, &g.behind, &g.sealed, &g.unknown)
	if err != nil {
		return fmt.Errorf("read this process's lease: %w", err)
	}
	g.leased = expires > g.now
	if err := g.db.QueryRecords(g.ctx, g.tx, readRowStates, rows, g.addRowState); err != nil {
		return fmt.Errorf("read the rows of a group: %w", err)
	}
	err = g.db.QueryStatements(g.ctx, g.tx, g.addPurchase,
		store.Over("read the claims of a group", readClaims, answered),
		store.Over("read the purchases of a group", readPurchases, keys),
		store.Over("read the subscriptions of a group", selectCovers+`(p.bought = 0 OR `+coversNow(g.now)+`)`,
			covers))
	if err != nil {
		return err
	}
	return g.readFacts(group)
}

// readFacts reads the further records that outcomes need: the row's earlier attempts, the keys that
// a late answer may have bought, and the rows that have its order IDs. A first answer in time needs
// only the rows, unless the ledger lost an attempt of the row.
func (g *groupWriter) readFacts(group []*transition) error {
	var earlier, keys, orders []store.Record
	for _, t := range group {
		// An unconfirmed intent is written back. See addLostAttempt.
		if in := t.intent; in != nil && in.unconfirmed {
			earlier = append(earlier, store.Record{store.Number("row", in.Row)})
		}
		o := t.outcome
		if o == nil || g.rows[o.Row] == nil {
			continue
		}
		s := g.rows[o.Row]
		if s.lastAttempt > 1 || s.counted > 1 || s.result != filing.Placing {
			earlier = append(earlier, store.Record{store.Number("row", s.id)})
		}
		keys = append(keys, g.unreadKeys(o)...)
		for _, p := range o.bought() {
			if p.OrderID != "" {
				orders = append(orders, store.Record{store.Number("row", s.id), store.Text("order_id", p.OrderID)})
			}
		}
	}
	if err := g.db.QueryRecords(g.ctx, g.tx, readPurchasesBy, keys, g.addPurchase); err != nil {
		return fmt.Errorf("read the purchases of an answer: %w", err)
	}
	if err := g.db.QueryRecords(g.ctx, g.tx, readAttempts, earlier, g.addAttempt); err != nil {
		return fmt.Errorf("read the earlier attempts of a group: %w", err)
	}
	err := g.db.QueryRecords(g.ctx, g.tx, readOrders, orders,
		func(scan func(...any) error) error {
			var order string
			var r rowRef
			err := scan(&order, &r.ID, &r.Batch, &r.Number)
			g.orders[order] = r
			return err
		})
	return store.Wrap("find the rows of a group's orders", err)
}

// unreadKeys returns the keys that an outcome may give to its row and that are not read yet.
func (g *groupWriter) unreadKeys(o *Outcome) (keys []store.Record) {
	for _, c := range slices.Concat(o.Claims, o.Known) {
		if g.purchases[c.Key] == nil {
			keys = append(keys, store.Record{store.Text("key", c.Key)})
		}
	}
	return keys
}

// isThere returns the condition that the row of a purchase bought nothing because its items
// existed.
func isThere(p string) string {
	return `(` + p + `.product <> 'company' AND NOT EXISTS (SELECT 1 FROM items i WHERE i.row = ` + p +
		`.row AND i.product = ` + p + `.product))`
}

// isCanceled returns the condition that the filing of a purchase was canceled.
func isCanceled(p string) string {
	return `EXISTS (SELECT 1 FROM items i WHERE i.row = ` + p + `.row AND i.product = ` + p + `.product
		AND lower(i.filing_status) IN ('canceled', 'cancelled'))`
}

var (
	purchaseFields = `p.key, p.row, p.product, p.cover, p.year, p.bought, p.twin,
			CASE WHEN ` + isThere("p") + ` THEN 1 ELSE 0 END,
			CASE WHEN p.bought = 1 AND ` + isCanceled("p") + ` THEN 1 ELSE 0 END, o.batch, o.number,
			(SELECT b.root FROM batches b WHERE b.id = o.batch)
		{{v,}} `
	readPurchase = purchaseFields + `purchases p JOIN rows o ON o.id = p.row WHERE `
	readClaims   = `SELECT 0, ` + purchaseFields + `purchases q JOIN purchases p ON p.key = q.key
		JOIN rows o ON o.id = p.row WHERE q.row = v.id`
	readPurchases   = `SELECT 0, ` + readPurchase + `p.key = v.key`
	readPurchasesBy = `SELECT DISTINCT 0, ` + readPurchase + `p.key = v.key`
	foldedColumns   = `a.row, a.number, a.owner, a.outcome, a.products, a.creates, a.repeatable, a.purchases, a.ordered,
			a.decision, a.decided_over`
	readAttempts = `SELECT DISTINCT ` + foldedColumns + ` {{v,}} attempts a WHERE a.row = v.row`
	readOrders   = `SELECT v.order_id, r.id, r.batch, r.number {{v,}} items i JOIN rows r ON r.id = i.row
		WHERE i.order_id = v.order_id AND i.row <> v.row AND r.result <> 'exists'`
	selectCovers = `SELECT 1, ` + readPurchase + `p.cover = v.cover AND p.cover <> '' AND `
)

var (
	rowStateColumns = (&rowState{}).appendFields(nil)
	readRowStates   = `SELECT ` + rowStateColumns.Names("r.") + `,
			r.approved, r.approved_certainty, r.batch, b.root, r.number,
			CASE WHEN ` + sending + ` THEN 0 ELSE 1 END,
			CASE WHEN b.canceled = 1 OR r.withdrawn = 1 THEN 1 ELSE 0 END, r.withdrawn
		{{v,}} rows r JOIN batches b ON b.id = r.batch WHERE r.id = v.id`
	writeRows = `UPDATE rows SET ` + rowStateColumns.Assignments() + `,
			company_key = CASE WHEN v.company = '' THEN company_key ELSE v.company END
		{{v}} WHERE rows.id = v.id`
)

// appendFields appends the columns of a row that transitions both read and write.
func (s *rowState) appendFields(r store.Record) store.Record {
	return append(r,
		store.NumberAt("id", &s.id),
		store.TextAt("result", &s.result),
		store.TextAt("message", &s.message),
		store.NumberAt("cost", &s.cost.Amount),
		store.NumberAt("certainty", &s.cost.Certainty),
		store.NumberAt("reserved", &s.reserved),
		store.NumberAt("spent", &s.spent.Amount),
		store.NumberAt("spent_certainty", &s.spent.Certainty),
		store.NumberAt("attempts", &s.counted),
		store.NumberAt("last_attempt", &s.lastAttempt),
		store.FlagAt("uncertain", &s.uncertain),
		store.TextAt("dropped", &s.dropped),
		store.TextAt("wanted", &s.wanted),
		store.TextAt("company", &s.company),
		store.FlagAt("creating", &s.creating),
		store.TextAt("owner", &s.owner),
		store.NumberAt("due", &s.due),
		store.TextAt("blocked_on", &s.blockedOn),
		store.NumberAt("updated_at", &s.since),
		store.NumberAt("checked_at", &s.checkedAt),
	)
}

func (g *groupWriter) addRowState(scan func(...any) error) error {
	s := &rowState{}
	g.scratch = s.appendFields(g.scratch[:0])
	if err := scan(g.scratch.Targets(&s.approved.Amount, &s.approved.Certainty, &s.batch, &s.root, &s.number,
		&s.onHold, &s.canceled, &s.withdrawn)...); err != nil {
		return err
	}
	g.rows[s.id] = s
	return nil
}

// addAttempt adds an earlier attempt to its row.
func (g *groupWriter) addAttempt(scan func(...any) error) error {
	row, owner, a, err := scanFolded(scan)
	if err != nil {
		return err
	}
	s := g.rows[row]
	if slices.ContainsFunc(s.attempts, func(b filing.Attempt) bool { return b.Number == a.Number }) {
		// The group has the row twice.
		return nil
	}
	s.addSender(a.Number, owner)
	if len(a.Products) == 0 {
		a.Products = s.claimed()
	}
	s.attempts = append(s.attempts, a)
	return nil
}

// scanFolded reads an attempt in the form that filing.Fold takes, and the process that sent it.
func scanFolded(scan func(...any) error) (row int64, owner string, a filing.Attempt, err error) {
	var products, made string
	if err := scan(&row, &a.Number, &owner, &a.Kind, &products, &a.Creates, &a.Repeatable, &made, &a.Ordered,
		&a.Decision, &a.DecidedOver); err != nil {
		return row, owner, a, err
	}
	a.Products = splitProducts(products)
	if made != "" {
		if err := json.Unmarshal([]byte(made), &a.Purchases); err != nil {
			return row, owner, a, fmt.Errorf("read what attempt %d of row %d bought: %w", a.Number, row, err)
		}
	}
	return row, owner, a, nil
}

// addPurchase adds a purchase that has a key of the group, or a purchase whose subscription may
// cover a claim.
func (g *groupWriter) addPurchase(scan func(...any) error) error {
	var covers bool
	p := &purchase{}
	if err := scan(&covers, &p.key, &p.row, &p.product, &p.cover, &p.year, &p.bought, &p.twin, &p.exists,
		&p.canceled, &p.batch, &p.number, &p.root); err != nil {
		return err
	}
	if covers {
		g.covers[p.cover] = append(g.covers[p.cover], p)
		return nil
	}
	if slices.ContainsFunc(g.purchases[p.key], func(q *purchase) bool { return q.row == p.row }) {
		return nil
	}
	g.purchases[p.key] = append(g.purchases[p.key], p)
	if s, ok := g.rows[p.row]; ok {
		s.claims = append(s.claims, p)
	}
	return nil
}

// The statements of a group. Claims are inserted without ON CONFLICT. If another writer inserted
// one of them, the unique index fails the whole group before any order is sent.
const (
	writeClaims = `INSERT INTO purchases (key, row, product, cover, year, why, at, bought, twin, beside)
		SELECT v.key, v.row, v.product, v.cover, v.year, v.why, v.at, v.bought, v.twin, v.beside {{v}}`
	writeAttempts = `INSERT INTO attempts (row, number, owner, started_at, ended_at, outcome, status, message, detail,
			products, creates, repeatable, purchases, ordered)
		SELECT v.row, v.number, v.owner, v.started, v.ended, v.outcome, v.status, v.message, v.detail, v.products,
			v.creates, v.repeatable, v.purchases, v.ordered
		{{v}} WHERE TRUE ON CONFLICT (row, number) DO UPDATE SET ended_at = excluded.ended_at,
			outcome = excluded.outcome, status = excluded.status, message = excluded.message, detail = excluded.detail,
			purchases = excluded.purchases,
			ordered = excluded.ordered`
	writeDecided = `UPDATE attempts
		SET decision = v.decision, decided_over = v.over, purchases = v.purchases, products = v.products,
			creates = v.creates
		{{v}} WHERE attempts.row = v.row AND attempts.number = v.number`
	writeSettled = `UPDATE purchases SET bought = v.bought, twin = v.twin {{v}}
		WHERE purchases.key = v.key AND purchases.row = v.row`
	writeFreed = `DELETE FROM purchases WHERE (key, row) IN (SELECT v.key, v.row {{v}})`
	// The unique index applies to a key again once all but one of its rows have released it.
	writeGuarded = `UPDATE purchases SET beside = 0 {{v}}
		WHERE purchases.key = v.key AND purchases.beside = 1
		AND NOT EXISTS (SELECT 1 FROM purchases q WHERE q.key = v.key AND q.row <> purchases.row)`
	writeRemoved  = `DELETE FROM items WHERE (row, product, order_id) IN (SELECT v.row, v.product, v.order_id {{v}})`
	writeUnreport = `DELETE FROM notified WHERE kind = 'uncertain' AND ref IN (SELECT v.row {{v}})`
	writeEntries  = `INSERT INTO entries (at, kind, amount, row, note)
		SELECT v.at, v.kind, v.amount, v.row, v.note {{v}}`
	// A status copied from the row that bought the filing keeps its time, so that an earlier event
	// does not overwrite it.
	writeItems = `INSERT INTO items (row, product, order_type, order_id, filing_status, filing_date,
			subscription_status, exception, exception_note, cost, certainty, created_at, reported_at, subscription_at)
		SELECT v.row, v.product, v.type, v.order_id, v.status, v.date, v.subscription, v.exception, v.note, v.cost,
			v.certainty, v.at,
			CASE WHEN v.order_id = '' OR v.status = '' THEN 0 ELSE COALESCE((SELECT MAX(i.reported_at) FROM items i
				WHERE i.order_id = v.order_id AND i.filing_status = v.status), 0) END,
			CASE WHEN v.order_id = '' OR v.subscription = '' THEN 0 ELSE COALESCE((SELECT MAX(i.subscription_at)
				FROM items i WHERE i.order_id = v.order_id AND i.subscription_status = v.subscription), 0) END
		{{v}} WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.row = v.row AND i.order_id = v.order_id
			AND (v.order_id <> '' OR i.product = v.product))`
	nameItems = `UPDATE items
		SET order_id = v.order_id, order_type = v.type {{v}}
		WHERE items.row = v.row AND items.product = v.product AND items.order_id = ''
		AND NOT EXISTS (SELECT 1 FROM items i WHERE i.row = v.row AND i.order_id = v.order_id)`
	writeUnblocked = `UPDATE rows SET blocked_on = '', message = ''
		{{v}} WHERE rows.blocked_on <> '' AND rows.blocked_on = v.key`
)

// writeAll writes the changes that the group decided.
func (g *groupWriter) writeAll() error {
	changed := make([]store.Record, len(g.changed))
	fields := make(store.Record, 0, len(g.changed)*len(rowStateColumns))
	for i, s := range g.changed {
		s.since = g.now
		fields = s.appendFields(fields)
		changed[i] = fields[len(fields)-len(rowStateColumns):]
	}
	for _, c := range g.claims {
		c.beside = !c.freed && g.purchases[c.key][0] != c.purchase
	}
	// Claims are released first because the same group may claim a released key again.
	if err := g.db.ExecStatements(g.ctx, g.tx,
		store.Over("release claims", writeFreed, g.freed),
		store.Over("remove items", writeRemoved, g.removed),
		store.Over("report rows again", writeUnreport, g.unreport),
		store.Over("record decisions", writeDecided, g.decided),
	); err != nil {
		return err
	}
	if err := g.db.ExecStatements(g.ctx, g.tx,
		store.Over("name items", nameItems, g.named),
		store.Over("guard keys that two rows had", writeGuarded, g.freed),
	); err != nil {
		return err
	}
	if err := g.db.ExecStatements(g.ctx, g.tx,
		store.Over("move rows", writeRows, changed),
		store.Over("record attempts", writeAttempts, g.ended),
		store.Over("settle purchases", writeSettled, g.settledRecords()),
		store.Over("claim purchases", writeClaims, records(g.claims)),
		store.Over("enter money", writeEntries, g.entries),
		store.Over("keep events", writeEvents, g.events),
		store.Over("record items", writeItems, g.items),
	); err != nil {
		return err
	}
	for table, facts := range g.facts {
		if err := g.db.ExecRecords(g.ctx, g.tx,
			`INSERT INTO `+table+` (ref, record, at)
				SELECT v.ref, v.record, v.at {{v}}
				WHERE TRUE ON CONFLICT (ref) DO UPDATE SET record = excluded.record, at = excluded.at`,
			lastOfEach(facts)); err != nil {
			return fmt.Errorf("save %s: %w", table, err)
		}
	}
	if g.unknown {
		if err := g.db.ExecRecords(g.ctx, g.tx, reopenEvents, g.ordered); err != nil {
			return fmt.Errorf("reopen the events of new orders: %w", err)
		}
	}
	if err := g.forget(); err != nil {
		return err
	}
	return g.unblock()
}

// records returns the new claims that this group has not released again.
func records(claims []claimed) []store.Record {
	var all []store.Record
	for _, c := range claims {
		if !c.freed {
			all = append(all, c.Record)
		}
	}
	return all
}

func (g *groupWriter) settledRecords() []store.Record {
	var all []store.Record
	for _, p := range g.settled {
		if !p.freed {
			all = append(
				all,
				store.Record{store.Text("key", p.key), store.Number("row", p.row), store.Flag("bought", p.bought),
					store.Number("twin", p.twin)},
			)
		}
	}
	return all
}

// lastOfEach returns the newest fact about each reference, because one statement must not change a
// record twice.
func lastOfEach(facts []*fact) []store.Record {
	seen := make(map[string]bool, len(facts))
	var last []store.Record
	for _, f := range slices.Backward(facts) {
		if !seen[f.ref] {
			seen[f.ref] = true
			last = append(last,
				store.Record{store.Text("ref", f.ref), store.Text("record", f.record), store.Number("at", f.at)})
		}
	}
	return last
}

// unblock unblocks the rows that waited for a key that is now decided, or for funds that are now
// available.
func (g *groupWriter) unblock() error {
	if g.short {
		if err := g.db.unblockFunded(g.ctx, g.tx, g.c); err != nil {
			return err
		}
	}
	// A search for such rows among many that wait for funds is slow.
	if !g.behind {
		return nil
	}
	var waits []store.Record
	// The key is the first field of both records.
	for _, k := range slices.Concat(g.settledRecords(), g.freed) {
		waits = append(waits, store.Record{store.Text("key", blockedOnKey+k[0].Value().(string))})
	}
	return store.Wrap("unblock rows", g.db.ExecRecords(g.ctx, g.tx, writeUnblocked, waits))
}
