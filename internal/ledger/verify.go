package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// ErrInconsistent is returned by Audit for a ledger that contradicts itself.
var ErrInconsistent = errors.New("the ledger contradicts itself")

// AuditReport is the result of an audit.
type AuditReport struct {
	// Rows, Entries and Purchases are the numbers of audited records.
	Rows, Entries, Purchases int
	// Wrong has a sentence for a person about each contradiction.
	Wrong []string
	// Twice has a sentence about each second purchase. It is recorded as it is and needs a refund.
	Twice []string
}

// maxWrong limits the contradictions of one kind that a report names.
const maxWrong = 20

// Audit proves the ledger. It returns ErrInconsistent with all contradictions.
func (l *Ledger) Audit(ctx context.Context) error {
	report, err := l.Verify(ctx)
	if err == nil && len(report.Wrong) > 0 {
		err = fmt.Errorf("%w: %s", ErrInconsistent, strings.Join(report.Wrong, "; "))
	}
	return err
}

// Verify proves the ledger against itself in one consistent read. The sums must equal their
// entries, and the entries of every row must equal its reserved and spent amounts. Every placed
// item must own its purchase, and every bought key must belong to a placed or existing row. Second
// purchases of a key are reported, but they are no contradiction.
func (l *Ledger) Verify(ctx context.Context) (AuditReport, error) {
	var report AuditReport
	tx, err := l.Read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelSerializable})
	if err != nil {
		return report, fmt.Errorf("audit the ledger: %w", err)
	}
	defer tx.Rollback()
	a := &auditor{ctx: ctx, tx: tx, report: &report}
	for _, check := range []func() error{a.countRecords, a.compareSums, a.listContradictions, a.replayAttempts,
		a.listBoughtTwice} {
		if err := check(); err != nil {
			return report, fmt.Errorf("audit the ledger: %w", err)
		}
	}
	return report, nil
}

// auditor proves a ledger in one consistent read.
type auditor struct {
	ctx    context.Context
	tx     *sql.Tx
	report *AuditReport
}

func (a *auditor) countRecords() error {
	return a.tx.QueryRowContext(a.ctx,
		`SELECT (SELECT COUNT(*) FROM rows), (SELECT COUNT(*) FROM entries), (SELECT COUNT(*) FROM purchases)`).
		Scan(&a.report.Rows, &a.report.Entries, &a.report.Purchases)
}

// compareSums compares the sums of the control row with the entries and the rows.
func (a *auditor) compareSums() error {
	var c control
	if err := a.tx.QueryRowContext(a.ctx,
		`SELECT `+controlColumns+` FROM control WHERE id = 1`).Scan(c.fields().Targets()...); err != nil {
		return err
	}
	all, err := store.List[Entry](a.ctx, a.tx, "sum up the entries",
		`SELECT kind, CAST(SUM(amount) AS BIGINT) AS amount FROM entries GROUP BY kind`)
	if err != nil {
		return err
	}
	entries := make(map[EntryKind]money.Cents)
	for _, e := range all {
		entries[e.Kind] = e.Amount
	}
	var held, spent money.Cents
	err = a.tx.QueryRowContext(a.ctx,
		`SELECT CAST(COALESCE(SUM(reserved), 0) AS BIGINT), CAST(COALESCE(SUM(spent), 0) AS BIGINT) FROM rows`).
		Scan(&held, &spent)
	if err != nil {
		return err
	}
	for _, check := range []struct {
		what       string
		sum, proof money.Cents
	}{
		{"deposits against their entries", c.deposits, entries[Deposit]},
		{"adjustments against their entries", c.adjustments, entries[Adjustment]},
		{"posted against its entries", c.posted, entries[Posted]},
		{"reserved against its entries", c.reserved, entries[Reserve] - entries[Posted] - entries[Voided]},
		{"reserved against the rows", c.reserved, held},
		{"posted against the rows", c.posted, spent},
	} {
		if check.sum != check.proof {
			a.report.Wrong = append(a.report.Wrong, fmt.Sprintf("%s: %s is not %s", check.what, check.sum.Dollars(),
				check.proof.Dollars()))
		}
	}
	return nil
}

// contradictions are queries that must find nothing. A record that they find has the batch, the row
// number and a detail of the contradiction.
var contradictions = []struct{ what, query string }{
	{"a placed item does not own its purchase",
		`SELECT r.batch, r.number, i.product || ' ' || i.order_id AS detail
			FROM items i JOIN rows r ON r.id = i.row
			WHERE r.result = 'placed' AND i.product <> ''
			AND NOT EXISTS (SELECT 1 FROM purchases p WHERE p.row = r.id AND p.product = i.product AND p.bought = 1)`},
	{"a purchase belongs to a row that did not buy it",
		`SELECT r.batch, r.number, p.key AS detail
			FROM purchases p JOIN rows r ON r.id = p.row
			WHERE p.bought = 1 AND r.result NOT IN ('placed', 'exists', 'placing') AND p.product <> 'company'
			AND (',' || r.dropped || ',') NOT LIKE ('%,' || p.product || ',%')`},
	{"a key is claimed by a row that sends nothing",
		`SELECT r.batch, r.number, p.key AS detail FROM purchases p JOIN rows r ON r.id = p.row
			WHERE p.bought = 0 AND r.result NOT IN ('placing', 'uncertain')
			AND NOT (r.result = 'ready' AND r.uncertain <> 0)`},
	{"two rows bought the same, and none of them says so",
		`SELECT r.batch, r.number, p.key AS detail
			FROM purchases p JOIN rows r ON r.id = p.row
			WHERE p.bought = 1 AND p.twin = 0 AND NOT ` + isThere("p") + ` AND p.product <> 'company'
			AND EXISTS (SELECT 1 FROM purchases q JOIN rows o ON o.id = q.row
				WHERE q.key = p.key AND q.row <> p.row AND q.bought = 1 AND q.twin = 0 AND NOT ` + isThere("q") + `)`},
	{"an order of the same could be sent again",
		`SELECT r.batch, r.number, p.key AS detail FROM purchases p JOIN rows r ON r.id = p.row
			WHERE p.beside = 1 AND NOT EXISTS (SELECT 1 FROM purchases q WHERE q.key = p.key AND q.beside = 0)
			AND NOT EXISTS (SELECT 1 FROM purchases q WHERE q.key = p.key AND q.row <> p.row)`},
	{"money is reserved for a row that sends nothing",
		`SELECT r.batch, r.number, CAST(r.reserved AS TEXT) AS detail FROM rows r
			WHERE r.reserved <> 0 AND r.result NOT IN ('placing', 'uncertain')
			AND NOT (r.result = 'ready' AND r.uncertain <> 0)`},
	{"its entries do not add up to what it has reserved and spent, in cents",
		`SELECT r.batch, r.number, CAST(r.reserved AS TEXT) || ' and ' || CAST(r.spent AS TEXT) AS detail FROM rows r
			WHERE r.reserved <> COALESCE((SELECT SUM(CASE e.kind WHEN 'reserve' THEN e.amount WHEN 'post' THEN -e.amount
				WHEN 'void' THEN -e.amount ELSE 0 END) FROM entries e WHERE e.row = r.id), 0)
			OR r.spent <> COALESCE((SELECT SUM(e.amount) FROM entries e WHERE e.row = r.id AND e.kind = 'post'), 0)`},
	{"no attempt to place it is recorded",
		`SELECT r.batch, r.number, r.result AS detail FROM rows r
			WHERE r.result IN ('placed', 'uncertain') AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.row = r.id)`},
	{"two placed rows have one order",
		`SELECT r.batch, r.number, i.order_id AS detail
			FROM items i JOIN rows r ON r.id = i.row
			WHERE r.result = 'placed' AND i.order_id <> ''
			AND EXISTS (SELECT 1 FROM items j JOIN rows o ON o.id = j.row WHERE j.order_id = i.order_id
				AND j.row <> i.row AND o.result = 'placed')`},
}

func (a *auditor) listContradictions() error {
	for _, c := range contradictions {
		wrong, err := store.List[struct {
			BatchRow
			Detail string
		}](a.ctx, a.tx, c.what, c.query+fmt.Sprintf(` LIMIT %d`, maxWrong))
		if err != nil {
			return err
		}
		for _, w := range wrong {
			a.report.Wrong = append(a.report.Wrong, fmt.Sprintf("batch %s, row %d: %s (%s)", w.Batch, w.Number, c.what,
				w.Detail))
		}
	}
	return nil
}

// listBoughtTwice reports the second purchases of a key, at most the first maxWrong.
func (a *auditor) listBoughtTwice() error {
	all, err := listBoughtTwice(a.ctx, a.tx, maxWrong)
	for _, t := range all {
		by := t.First.seenFrom(t.Second.Batch)
		if t.First == t.Second {
			by = "this row"
		}
		a.report.Twice = append(a.report.Twice, fmt.Sprintf("batch %s, row %d: bought twice: %s bought the same %s",
			t.Second.Batch, t.Second.Number, by, t.Product.Title()))
	}
	return err
}
