package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// EventState is the state of an event.
type EventState string

// The states of an event. An event is new until Events.Apply has processed it. An unknown event
// becomes new again when a row turns out to own its order, so the event and the order's answer may
// arrive in either order.
const (
	// EventNew means that the event is stored and not processed yet.
	EventNew EventState = "new"
	// EventApplied means that the event moved a filing or brought a document.
	EventApplied EventState = "applied"
	// EventStale means that the event moved nothing, because its filing was already further.
	EventStale EventState = "stale"
	// EventUnknown means that the ledger does not know the event's order. The event is kept as
	// evidence.
	EventUnknown EventState = "unknown"
	// EventIgnored means that the event has no effect because of its type or because it names no
	// order.
	EventIgnored EventState = "ignored"
	// EventUnreadable means that the service signed a body that is not an event. The body is kept
	// as received.
	EventUnreadable EventState = "garbled"
)

// Event is an event as it was received.
type Event struct {
	filing.Event
	// Seq is the position in the order of arrival.
	Seq        int64
	Body       []byte
	ReceivedAt time.Time
	State      EventState
	// Row is the row that owns the event's order, zero if unknown.
	Row int64
	// Note is the reason of the state if the state alone does not explain it.
	Note string
}

// made returns the creation time in the event, or else the time of arrival.
func (e Event) made() int64 { return cmp.Or(store.ToMillis(e.CreatedAt), store.ToMillis(e.ReceivedAt)) }

// at returns when the state that the event reports began. If the event is dated further in the
// future than clocks differ, it returns the time of arrival, because the event would otherwise
// outrank every later event of its order.
func (e Event) at() int64 {
	if came := store.ToMillis(e.ReceivedAt); came != 0 && e.made() > came+clockSkew.Milliseconds() {
		return came
	}
	return e.made()
}

// Keep stores an event once. The event is durable when Keep returns. Fresh is false if the event
// was already stored.
func (l Events) Keep(ctx context.Context, e filing.Event, body []byte) (fresh bool, err error) {
	return l.saveEvent(ctx, Event{Event: e, Body: body, State: EventNew})
}

// KeepUnreadable stores a signed body that is not an event, under the hash of the body.
func (l Events) KeepUnreadable(ctx context.Context, body []byte, why string) (fresh bool, err error) {
	hash := sha256.Sum256(body)
	return l.saveEvent(ctx, Event{
		Event: filing.Event{ID: "sha256:" + hex.EncodeToString(hash[:])},
		Body:  body,
		State: EventUnreadable,
		Note:  why,
	})
}

func (db *database) saveEvent(ctx context.Context, e Event) (fresh bool, err error) {
	e.ID = store.Storable(e.ID) // as the database stores it, because the event may come again
	t := &transition{event: &e}
	if err := db.submit(ctx, t); err != nil {
		return false, fmt.Errorf("save the event %s: %w", e.ID, err)
	}
	return t.fresh, nil
}

const (
	readEventIDs = `SELECT e.id {{v,}} events e WHERE e.id = v.id`
	writeEvents  = `INSERT INTO events (id, type, created_at, received_at, order_id, order_type, product,
			filing_status, filing_date, filing_type, exception, exception_note, document_id, document_type,
			company_id, filing_state, filing_year, subscription_status, body, state, note)
		SELECT v.id, v.type, v.created, v.received, v.order_id, v.order_type, v.product, v.status, v.date,
			v.filing_type, v.exception, v.note_of_exception, v.document_id, v.document_type, v.company_id,
			v.filing_state, v.filing_year, v.subscription_status, v.body, v.state, v.note
		{{v}} WHERE TRUE ON CONFLICT (id) DO NOTHING`
	// reopenEvents makes the earlier events of a row's new orders new again.
	reopenEvents = `UPDATE events SET state = 'new' {{v}}
		WHERE events.state = 'unknown' AND events.order_id = v.order_id`
)

// keep adds an event to the group, unless it is already stored. It hides texts of the service that
// look like a Social Security number.
func (d *decision) keep(e *Event) (fresh bool) {
	if d.knownEvents[e.ID] {
		return false
	}
	d.knownEvents[e.ID] = true
	product, _ := e.Product()
	d.events = append(d.events, store.Record{
		store.Text("id", e.ID),
		store.Text("type", e.Type),
		store.Number("created", store.ToMillis(e.CreatedAt)),
		store.Number("received", d.now),
		store.Text("order_id", e.OrderID),
		store.Text("order_type", e.OrderType),
		store.Text("product", product),
		store.Text("status", e.FilingStatus),
		store.Text("date", e.FilingDate),
		store.Text("filing_type", e.FilingType),
		store.Number("exception", e.Exception),
		store.Text("note_of_exception", filing.HideSSNs(e.ExceptionNote)),
		store.Text("document_id", e.DocumentID),
		store.Text("document_type", e.DocumentType),
		store.Text("company_id", e.CompanyID),
		store.Text("filing_state", e.FilingState),
		store.Text("filing_year", e.FilingYear),
		store.Text("subscription_status", e.SubscriptionStatus),
		store.Text("body", bodyText(filing.HideSSNsInBody(e.Body))),
		store.Text("state", e.State),
		store.Text("note", filing.HideSSNs(e.Note)),
	})
	return true
}

const base64Body = "base64:"

// bodyText returns a body as received, or in base64 if it is not text.
func bodyText(body []byte) string {
	if utf8.Valid(body) && !strings.Contains(string(body), "\x00") && !strings.HasPrefix(string(body), base64Body) {
		return string(body)
	}
	return base64Body + base64.StdEncoding.EncodeToString(body)
}

func bodyOf(text string) []byte {
	if encoded, found := strings.CutPrefix(text, base64Body); found {
		if body, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			return body
		}
	}
	return []byte(text)
}

const eventColumns = `seq, id, type, created_at, received_at, order_id, order_type, filing_status, filing_date,
		filing_type, exception, exception_note, document_id, document_type, company_id, filing_state, filing_year,
		subscription_status, state, row, note`

func (db *database) listEvents(ctx context.Context, q store.Lister, where string, args ...any) ([]Event, error) {
	events, err := store.List[Event](ctx, q, "read events",
		`SELECT `+eventColumns+`, body FROM events e WHERE `+where, args...)
	for i := range events {
		events[i].Body = bodyOf(string(events[i].Body))
	}
	return events, err
}

// listBodilessEvents reads events without their bodies, which may be a megabyte each.
func (db *database) listBodilessEvents(ctx context.Context, where string, args ...any) ([]Event, error) {
	return store.List[Event](ctx, db.Read, "read events", `SELECT `+eventColumns+` FROM events e WHERE `+where, args...)
}

// ListOf lists the events of a row's orders, in order of arrival.
func (l Events) ListOf(ctx context.Context, row int64) ([]Event, error) {
	return l.listEvents(
		ctx, l.Read, `e.order_id IN (SELECT order_id FROM items WHERE row = $1 AND order_id <> '')
			AND e.order_id <> ''
			ORDER BY e.seq`, row)
}

// List lists the newest events of a state. An empty state selects all events.
func (l Events) List(ctx context.Context, state EventState, limit int) ([]Event, error) {
	return l.listEvents(ctx, l.Read, `($1 = '' OR e.state = $1) ORDER BY e.seq DESC LIMIT $2`, string(state), limit)
}

// ListUnknown lists the orphan events of these orders without their bodies, for each order the
// newest first.
func (l Events) ListUnknown(ctx context.Context, orders []string) ([]Event, error) {
	var events []Event
	for some := range slices.Chunk(orders, pageSize) {
		in, args := store.Among(l.Dialect, some)
		found, err := l.listBodilessEvents(ctx,
			`e.order_id `+in+` AND e.state = 'unknown' ORDER BY e.seq DESC`, args...)
		if err != nil {
			return nil, err
		}
		events = append(events, found...)
	}
	return events, nil
}

// maxApplied limits the events that one transaction applies.
const maxApplied = 500

// Apply applies a group of new events and takes over renewals. Done is the number of both. Several
// processes may call it at once.
func (l Events) Apply(ctx context.Context) (done int, err error) {
	ctx = audit.Without(ctx)
	var idle bool
	err = l.Read.QueryRowContext(ctx,
		`SELECT NOT EXISTS (SELECT 1 FROM (SELECT seq FROM events WHERE state = 'new' ORDER BY seq LIMIT 1) AS n)
			AND NOT (EXISTS (
				SELECT 1 FROM (SELECT received_at FROM events WHERE state = 'unknown'
					ORDER BY received_at LIMIT 1) AS u)
				AND EXISTS (SELECT 1 FROM coverage))`).Scan(&idle)
	if err != nil {
		return 0, fmt.Errorf("find new events: %w", err)
	}
	if idle {
		return 0, nil
	}
	if done, err = l.applyGroup(ctx, 0); err != nil {
		done, err = l.applyApart(ctx)
	}
	if err == nil && done < maxApplied {
		var renewed int
		renewed, err = l.takeRenewals(ctx)
		done += renewed
	}
	return done, store.Wrap("apply events", err)
}

// applyGroup applies one group of new events, or only the event seq if seq is not zero.
func (db *database) applyGroup(ctx context.Context, seq int64) (done int, err error) {
	err = db.change(ctx, func(tx *Tx) (err error) {
		done, err = (&applier{db: db, ctx: ctx, tx: tx.Tx, now: store.ToMillis(db.Now())}).applyEvents(seq)
		return err
	})
	return done, err
}

// applyApart applies the events of a failed group one by one. An event that fails again is ignored
// from then on. It is kept as received, with the reason in its note.
func (db *database) applyApart(ctx context.Context) (done int, err error) {
	events, err := db.listEvents(ctx, db.Read, `e.state = 'new' ORDER BY e.seq LIMIT $1`, maxApplied)
	if err != nil {
		return 0, err
	}
	for _, e := range events {
		for attempt := 1; ; attempt++ {
			_, failed := db.applyGroup(ctx, e.Seq)
			if failed == nil {
				break
			}
			// An unreachable database is not the event's fault.
			if err := db.Read.PingContext(ctx); err != nil {
				return done, errors.Join(failed, err)
			}
			if attempt < 3 {
				continue
			}
			if _, err := db.Exec(ctx, `UPDATE events SET state = $2, note = $3 WHERE seq = $1`, e.Seq,
				string(EventIgnored), failed.Error()); err != nil {
				return done, errors.Join(failed, err)
			}
			break
		}
		done++
	}
	return done, nil
}

// applier applies one group of events while the control row is locked, so no row can get its orders
// between the query for them and the commit.
type applier struct {
	db  *database
	ctx context.Context
	tx  *sql.Tx
	now int64

	items     map[string][]*reportedItem
	documents []store.Record
	states    []store.Record
}

// reportedItem is an item with its last reported state. An order is an item of several rows if
// later ones found it bought.
type reportedItem struct {
	id, row      int64
	status, date string
	exception    int
	note         string
	at           int64
	subscription string
	// subscribed is the time of the last report about the subscription.
	subscribed int64
	changed    bool
	// touched reports whether a document arrived.
	touched bool
}

func (a *applier) applyEvents(seq int64) (int, error) {
	events, err := a.db.listEvents(a.ctx, a.tx,
		`e.state = 'new' AND (CAST($2 AS BIGINT) = 0 OR e.seq = CAST($2 AS BIGINT)) ORDER BY e.seq LIMIT $1`,
		maxApplied, seq)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	if err := a.nameItems(events); err != nil {
		return 0, err
	}
	if err := a.readItems(events); err != nil {
		return 0, err
	}
	for _, e := range events {
		state, note := a.applyEvent(e)
		var row int64
		if items := a.items[e.OrderID]; len(items) > 0 {
			row = items[0].row
		}
		a.states = append(a.states, store.Record{
			store.Number("seq", e.Seq),
			store.Text("state", state),
			store.Number("row", row),
			store.Text("note", note),
		})
	}
	return len(events), a.write()
}

// nameItems sets the order IDs of placed items without one, if the events name their purchases.
// Earlier events of these orders become new again.
func (a *applier) nameItems(events []Event) error {
	var named []store.Record
	for _, e := range events {
		if key := e.purchase(); key != "" && e.OrderID != "" && e.Type == filing.StatusChanged {
			named = append(
				named,
				store.Record{
					store.Text("key", key),
					store.Text("order_id", e.OrderID),
					store.Text("type", e.OrderType),
				},
			)
		}
	}
	return a.exec([]store.Statement{
		store.Over("name the orders of items", `UPDATE items
			SET order_id = v.order_id, order_type = v.type
			{{v,}} purchases p JOIN rows r ON r.id = p.row AND r.result = 'placed'
			WHERE p.key = v.key AND (p.twin = 0 OR p.twin = p.row) AND items.row = p.row
			AND items.product = p.product AND items.order_id = ''
			AND NOT EXISTS (SELECT 1 FROM items i WHERE i.order_id = v.order_id)`,
			named),
		store.Over("record the rows of events",
			reopenEvents+` AND EXISTS (SELECT 1 FROM items i WHERE i.order_id = v.order_id)`,
			named),
	})
}

// purchase returns the key of the purchase that the event's order made. It returns an empty key
// unless the purchase is made only once and the event names all of it.
func (e Event) purchase() filing.Key {
	o := filing.Order{CompanyID: e.CompanyID, FilingState: e.FilingState}
	product, _ := e.Product()
	switch {
	case e.CompanyID == "":
		return ""
	case product == filing.EIN:
		o.EIN = &filing.EINItem{}
	case product == filing.ForeignQualification && e.FilingState != "":
		o.ForeignQualification = &filing.QualificationItem{}
	case product == filing.AnnualReport && e.FilingState != "" && e.FilingYear != "":
		o.AnnualReport = &filing.AnnualReportItem{FilingYear: e.FilingYear}
	default:
		return ""
	}
	return o.Keys()[product]
}

func (a *applier) readItems(events []Event) error {
	a.items = make(map[string][]*reportedItem)
	orders := make([]store.Record, 0, len(events))
	seen := make(map[string]bool)
	for _, e := range events {
		if e.OrderID != "" && !seen[e.OrderID] {
			seen[e.OrderID] = true
			orders = append(orders, store.Record{store.Text("order_id", e.OrderID)})
		}
	}
	err := a.db.QueryRecords(
		a.ctx, a.tx, `SELECT i.order_id, i.id, i.row, i.filing_status, i.filing_date, i.exception, i.exception_note,
				i.reported_at, i.subscription_status, i.subscription_at
			{{v,}} items i WHERE i.order_id = v.order_id
			ORDER BY i.id`,
		orders, func(scan func(...any) error) error {
			var order string
			var t reportedItem
			if err := scan(&order, &t.id, &t.row, &t.status, &t.date, &t.exception, &t.note, &t.at, &t.subscription,
				&t.subscribed); err != nil {
				return err
			}
			a.items[order] = append(a.items[order], &t)
			return nil
		})
	return store.Wrap("read the orders of events", err)
}

// applyEvent applies an event to the items of its order and returns the event's new state and note.
func (a *applier) applyEvent(e Event) (EventState, string) {
	items := a.items[e.OrderID]
	switch {
	case e.Type != filing.StatusChanged && e.Type != filing.DocumentUploaded && e.SubscriptionStatus == "":
		return EventIgnored, "nothing here listens to this type"
	case e.OrderID == "":
		return EventIgnored, "it names no order"
	case len(items) == 0:
		return EventUnknown, ""
	case e.Type == filing.DocumentUploaded:
		key := e.DocumentID
		if key == "" {
			key = e.ID
		}
		a.documents = append(a.documents,
			store.Record{
				store.Text("key", key),
				store.Text("id", e.DocumentID),
				store.Text("type", e.DocumentType),
				store.Text("order_id", e.OrderID),
				store.Text("event", e.ID),
				store.Number("created", min(store.ToMillis(e.CreatedAt), e.at())),
				store.Number("received", a.now),
			})
		for _, t := range items {
			t.touched = true
		}
		return EventApplied, ""
	}
	moved := false
	for _, t := range items {
		moved = t.updateSubscription(e) || moved
		if e.Type == filing.StatusChanged {
			moved = t.updateStatus(e) || moved
		}
	}
	if !moved {
		return EventStale, ""
	}
	return EventApplied, ""
}

// updateSubscription takes over the subscription status of an event, unless a newer one is known.
// It reports whether it did.
func (t *reportedItem) updateSubscription(e Event) bool {
	if e.SubscriptionStatus == "" || e.at() < t.subscribed {
		return false
	}
	t.subscription, t.subscribed, t.changed = e.SubscriptionStatus, e.at(), true
	return true
}

// updateStatus takes over the status of an event, unless a newer one is known. A filed filing stays
// filed. Of two events with the same time the more advanced status counts.
func (t *reportedItem) updateStatus(e Event) bool {
	at := e.at()
	filed, was := e.FilingStatus == filing.FiledStatus, t.status == filing.FiledStatus
	switch {
	case was && (!filed || e.FilingDate == "" || t.date != ""):
		return false
	case !filed && (at < t.at || at == t.at && progress(e.FilingStatus) < progress(t.status)):
		return false
	}
	if e.FilingStatus != "" {
		t.status = e.FilingStatus
	}
	if e.FilingDate != "" {
		t.date = e.FilingDate
	}
	t.exception, t.note = filing.ExceptionCode(e.Exception, t.status), e.ExceptionNote
	if filed {
		t.exception, t.note = 0, ""
	}
	t.at, t.changed = max(at, t.at), true
	return true
}

// progress ranks the known statuses. Other statuses are in between, because the set is open.
// Source: spec section 3. Assumption: transitions that its table does not list are not shown.
func progress(status string) int {
	switch status {
	case "":
		return 0
	case "submitted":
		return 1
	case "pending":
		return 2
	case filing.FiledStatus:
		return 4
	}
	return 3
}

func (a *applier) write() error {
	var items, rows []store.Record
	seen := make(map[int64]bool)
	for _, all := range a.items {
		for _, t := range all {
			if t.changed {
				items = append(items, store.Record{
					store.Number("id", t.id),
					store.Text("status", t.status),
					store.Text("date", t.date),
					store.Number("exception", t.exception),
					store.Text("note", t.note),
					store.Number("at", t.at),
					store.Text("subscription", t.subscription),
					store.Number("subscribed", t.subscribed),
				})
			}
			if (t.changed || t.touched) && !seen[t.row] {
				seen[t.row] = true
				rows = append(rows, store.Record{store.Number("id", t.row), store.Number("at", a.now)})
			}
		}
	}
	return a.exec([]store.Statement{
		store.Over("move filings", `UPDATE items
			SET filing_status = v.status, filing_date = v.date, exception = v.exception, exception_note = v.note,
				reported_at = v.at, subscription_status = v.subscription, subscription_at = v.subscribed
			{{v}} WHERE items.id = v.id`,
			items),
		store.Over("touch rows",
			`UPDATE rows SET updated_at = v.at {{v}} WHERE rows.id = v.id AND rows.result <> 'placing'`, rows),
		store.Over("add documents", `INSERT INTO documents (key, id, type, order_id, event, created_at, received_at)
			SELECT v.key, v.id, v.type, v.order_id, v.event, v.created, v.received {{v}}
			WHERE TRUE ON CONFLICT (key) DO NOTHING`,
			a.documents),
		store.Over("record the outcome of events",
			`UPDATE events SET state = v.state, row = v.row, note = v.note {{v}} WHERE events.seq = v.seq`,
			a.states),
	})
}

// exec runs statements one after another, because each may depend on the one before.
func (a *applier) exec(statements []store.Statement) error {
	for _, s := range statements {
		if err := a.db.ExecStatements(a.ctx, a.tx, s); err != nil {
			return err
		}
	}
	return nil
}
