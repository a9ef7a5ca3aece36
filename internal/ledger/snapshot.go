package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// snapshot has the records that a group of transitions touches, read under the lock on the control
// row. They cannot change in the database before the group's commit. The decision changes them here.
type snapshot struct {
	rows map[int64]*rowState
	// purchases are all purchases of each key.
	purchases map[filing.Key][]*purchase
	covers    map[string][]*purchase
	// orders maps order IDs to the rows that have them.
	orders map[string]rowRef
	// knownEvents are the IDs of the events that the ledger already has.
	knownEvents map[string]bool

	// leased reports whether the lease of this process lasts.
	leased bool
	// fundsAwaited reports whether a row waits for funds.
	fundsAwaited bool
	// keysAwaited reports whether a row waits for a key.
	keysAwaited bool
	// hasSecrets reports whether a Social Security number is sealed in the ledger.
	hasSecrets bool
	// hasStrayEvents reports whether an event names an order that no row has yet.
	hasStrayEvents bool
}

// rowState is the part of a row that transitions read and change.
type rowState struct {
	id      int64
	result  filing.Result
	message string
	// cost is the expected cost of the rest of the order.
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
	// awaitedKey is the key that the row waits for if it is blocked on a key.
	awaitedKey filing.Key
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

func (tx *Tx) newDecision(in *snapshot, now int64) *decision {
	return &decision{
		snapshot:  in,
		control:   tx.control,
		now:       now,
		process:   &tx.db.owner,
		tolerance: tx.db.tolerance,
		newer:     tx.db.RefuseNewer(tx.control.schema, tx.control.writtenBy),
		restored:  tx.db.restoreDetector.wasRestored(tx.control),
	}
}

// readSnapshot reads the rows, claims, purchases and events that the group touches.
func (tx *Tx) readSnapshot(ctx context.Context, group []*transition, now int64) (*snapshot, error) {
	db := tx.db
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
	in := &snapshot{
		rows:        make(map[int64]*rowState, len(rows)),
		purchases:   make(map[filing.Key][]*purchase),
		covers:      make(map[string][]*purchase),
		orders:      make(map[string]rowRef),
		knownEvents: make(map[string]bool),
	}
	err := db.QueryRecords(ctx, tx.Tx, readEventIDs, events, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		in.knownEvents[id] = true
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the events of a group: %w", err)
	}
	if len(rows) == 0 {
		return in, nil
	}
	var expires int64
	// The subqueries use the order of the index. Otherwise PostgreSQL would read all rows to look
	// for one that rarely exists.
	err = tx.QueryRowContext(ctx, `SELECT COALESCE((SELECT expires_at FROM processes WHERE id = $1), 0),
			EXISTS (
				SELECT 1 FROM (SELECT blocked_on FROM rows WHERE blocked_on <> '' AND blocked_on = 'funds'
					ORDER BY blocked_on LIMIT 1) AS w),
			EXISTS (
				SELECT 1 FROM (SELECT awaited_key FROM rows WHERE awaited_key <> '' ORDER BY awaited_key LIMIT 1) AS w),
			EXISTS (SELECT 1 FROM secrets),
			EXISTS (
				SELECT 1 FROM (SELECT received_at FROM events WHERE state = 'unknown'
					ORDER BY received_at LIMIT 1) AS u)`,
		db.owner.ID).Scan(&expires, &in.fundsAwaited, &in.keysAwaited, &in.hasSecrets, &in.hasStrayEvents)
	if err != nil {
		return nil, fmt.Errorf("read this process's lease: %w", err)
	}
	in.leased = expires > now
	var fields store.Record // a buffer for the row that is being read
	err = db.QueryRecords(ctx, tx.Tx, readRowStates, rows, func(scan func(...any) error) error {
		s := &rowState{}
		fields = s.appendFields(fields[:0])
		err := scan(fields.Targets(&s.approved.Amount, &s.approved.Certainty, &s.batch, &s.root, &s.number, &s.onHold,
			&s.canceled, &s.withdrawn)...)
		in.rows[s.id] = s
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the rows of a group: %w", err)
	}
	err = db.QueryStatements(ctx, tx.Tx, in.addPurchase,
		store.Over("read the claims of a group", readClaims, answered),
		store.Over("read the purchases of a group", readPurchases, keys),
		store.Over("read the subscriptions of a group", selectCovers+`(p.bought = 0 OR `+coversNow(now)+`)`, covers))
	if err != nil {
		return nil, err
	}
	return in, tx.readFacts(ctx, in, group)
}

// readFacts reads the further records that outcomes need: the row's earlier attempts, the keys that
// a late answer may have bought, and the rows that have its order IDs. A first answer in time needs
// only the rows, unless the ledger lost an attempt of the row.
func (tx *Tx) readFacts(ctx context.Context, in *snapshot, group []*transition) error {
	db := tx.db
	var earlier, keys, orders []store.Record
	for _, t := range group {
		// An unconfirmed intent is written back. See addLostAttempt.
		if i := t.intent; i != nil && i.unconfirmed {
			earlier = append(earlier, store.Record{store.Number("row", i.Row)})
		}
		o := t.outcome
		if o == nil || in.rows[o.Row] == nil {
			continue
		}
		s := in.rows[o.Row]
		if s.lastAttempt > 1 || s.counted > 1 || s.result != filing.Placing {
			earlier = append(earlier, store.Record{store.Number("row", s.id)})
		}
		keys = append(keys, in.unreadKeys(o)...)
		for _, p := range o.bought() {
			if p.OrderID != "" {
				orders = append(orders, store.Record{store.Number("row", s.id), store.Text("order_id", p.OrderID)})
			}
		}
	}
	if err := db.QueryRecords(ctx, tx.Tx, readPurchasesBy, keys, in.addPurchase); err != nil {
		return fmt.Errorf("read the purchases of an answer: %w", err)
	}
	if err := db.QueryRecords(ctx, tx.Tx, readAttempts, earlier, in.addAttempt); err != nil {
		return fmt.Errorf("read the earlier attempts of a group: %w", err)
	}
	err := db.QueryRecords(ctx, tx.Tx, readOrders, orders, func(scan func(...any) error) error {
		var order string
		var r rowRef
		err := scan(&order, &r.ID, &r.Batch, &r.Number)
		in.orders[order] = r
		return err
	})
	return store.Wrap("find the rows of a group's orders", err)
}

// unreadKeys returns the keys that an outcome may give to its row and that are not read yet.
func (in *snapshot) unreadKeys(o *Outcome) (keys []store.Record) {
	for _, c := range slices.Concat(o.Claims, o.Known) {
		if in.purchases[c.Key] == nil {
			keys = append(keys, store.Record{store.Text("key", c.Key)})
		}
	}
	return keys
}

// addAttempt adds an earlier attempt to its row.
func (in *snapshot) addAttempt(scan func(...any) error) error {
	row, owner, a, err := scanFolded(scan)
	if err != nil {
		return err
	}
	s := in.rows[row]
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
func (in *snapshot) addPurchase(scan func(...any) error) error {
	var covers bool
	p := &purchase{}
	if err := scan(&covers, &p.key, &p.row, &p.product, &p.cover, &p.year, &p.bought, &p.twin, &p.exists,
		&p.canceled, &p.batch, &p.number, &p.root); err != nil {
		return err
	}
	if covers {
		in.covers[p.cover] = append(in.covers[p.cover], p)
		return nil
	}
	if slices.ContainsFunc(in.purchases[p.key], func(q *purchase) bool { return q.row == p.row }) {
		return nil
	}
	in.purchases[p.key] = append(in.purchases[p.key], p)
	if s, ok := in.rows[p.row]; ok {
		s.claims = append(s.claims, p)
	}
	return nil
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
		store.TextAt("awaited_key", &s.awaitedKey),
		store.NumberAt("updated_at", &s.since),
		store.NumberAt("checked_at", &s.checkedAt),
	)
}
