package ledger

import (
	"context"
	"fmt"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/store"
)

// changes are the changes of a decision, in the order of the transitions that made them.
type changes struct {
	changed []*rowState
	claims  []claimed
	// settled are the purchases that were bought or turned out not to be.
	settled []*purchase
	freed   []*purchase
	// attempts are attempts that ended.
	attempts []store.Record
	// decided are decisions on recorded attempts.
	decided []store.Record
	entries []store.Record
	items   []store.Record
	// ordered are the order IDs of items.
	ordered []store.Record
	// named are order IDs for items that may be recorded without one.
	named []store.Record
	// removed are items to remove from rows.
	removed []store.Record
	// unreport are the rows whose state is reported again.
	unreport []store.Record
	events   []store.Record
	facts    map[string][]*fact
	// secrets are the places of Social Security numbers to erase.
	secrets []store.Record
	// awaitedKeys are the keys that were settled or freed and that rows may wait for.
	awaitedKeys []store.Record
}

// claimed is a purchase that the group adds.
type claimed struct {
	*purchase
	store.Record
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
		{{v}} WHERE TRUE ON CONFLICT DO NOTHING`
	nameItems = `UPDATE items
		SET order_id = v.order_id, order_type = v.type {{v}}
		WHERE items.row = v.row AND items.product = v.product AND items.order_id = ''
		AND NOT EXISTS (SELECT 1 FROM items i WHERE i.row = v.row AND i.order_id = v.order_id)`
	writeUnblocked = `UPDATE rows SET ` + clearBlock + `, message = ''
		{{v}} WHERE rows.awaited_key <> '' AND rows.awaited_key = v.key`
	// clearBlock ends what a row waits for.
	clearBlock = `blocked_on = '', awaited_key = ''`
)

// write writes what a decision changed, in a dozen statements regardless of the size of its
// group.
func (tx *Tx) write(ctx context.Context, d *decision) error {
	db := tx.db
	d.conclude()
	rows := make([]store.Record, len(d.changed))
	fields := make(store.Record, 0, len(rows)*len(rowStateColumns))
	for i, s := range d.changed {
		fields = s.appendFields(fields)
		rows[i] = fields[len(fields)-len(rowStateColumns):]
	}
	freed := purchaseRecords(d.freed)
	// Claims are released first because the same group may claim a released key again.
	if err := db.ExecStatements(ctx, tx.Tx,
		store.Over("release claims", writeFreed, freed),
		store.Over("remove items", writeRemoved, d.removed),
		store.Over("report rows again", writeUnreport, d.unreport),
		store.Over("record decisions", writeDecided, d.decided),
	); err != nil {
		return err
	}
	if err := db.ExecStatements(ctx, tx.Tx,
		store.Over("name items", nameItems, d.named),
		store.Over("guard keys that two rows had", writeGuarded, freed),
	); err != nil {
		return err
	}
	if err := db.ExecStatements(ctx, tx.Tx,
		store.Over("move rows", writeRows, rows),
		store.Over("record attempts", writeAttempts, d.attempts),
		store.Over("settle purchases", writeSettled, settledRecords(d.settled)),
		store.Over("claim purchases", writeClaims, claimedRecords(d.claims)),
		store.Over("enter money", writeEntries, d.entries),
		store.Over("keep events", writeEvents, d.events),
		store.Over("record items", writeItems, d.items),
	); err != nil {
		return err
	}
	for table, facts := range d.facts {
		if err := db.ExecRecords(ctx, tx.Tx,
			`INSERT INTO `+table+` (ref, record, at)
				SELECT v.ref, v.record, v.at {{v}}
				WHERE TRUE ON CONFLICT (ref) DO UPDATE SET record = excluded.record, at = excluded.at`,
			lastOfEach(facts)); err != nil {
			return fmt.Errorf("save %s: %w", table, err)
		}
	}
	if d.hasStrayEvents {
		if err := db.ExecRecords(ctx, tx.Tx, reopenEvents, d.ordered); err != nil {
			return fmt.Errorf("reopen the events of new orders: %w", err)
		}
	}
	if d.hasSecrets {
		if err := db.ExecRecords(ctx, tx.Tx, eraseSecrets, d.secrets); err != nil {
			return fmt.Errorf("erase sealed numbers: %w", err)
		}
	}
	// Rows may wait for a key that is decided now, or for funds that are available now.
	if d.fundsAwaited {
		if err := tx.unblockFunded(ctx); err != nil {
			return err
		}
	}
	if !d.keysAwaited {
		return nil
	}
	return store.Wrap("unblock rows", db.ExecRecords(ctx, tx.Tx, writeUnblocked, d.awaitedKeys))
}

// claimedRecords returns the new claims that the group has not released again.
func claimedRecords(claims []claimed) []store.Record {
	var all []store.Record
	for _, c := range claims {
		if !c.freed {
			all = append(all, c.Record)
		}
	}
	return all
}

func purchaseRecords(some []*purchase) []store.Record {
	all := make([]store.Record, len(some))
	for i, p := range some {
		all[i] = store.Record{store.Text("key", p.key), store.Number("row", p.row)}
	}
	return all
}

func settledRecords(settled []*purchase) []store.Record {
	var all []store.Record
	for _, p := range settled {
		if !p.freed {
			all = append(all, store.Record{store.Text("key", p.key), store.Number("row", p.row),
				store.Flag("bought", p.bought), store.Number("twin", p.twin)})
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
