package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/reconcile"
)

// Statements are the statements of the filing service that were reconciled with the
// ledger. It is a reconcile.Store.
type Statements struct{ *database }

// Statements returns the Statements of the ledger's database.
func (l *Ledger) Statements() Statements { return Statements{l.database} }

// LoadBook loads what a statement is compared with.
func (l Statements) LoadBook(ctx context.Context, s *reconcile.Statement) (*reconcile.Book, error) {
	b := &reconcile.Book{Companies: make(map[string]string)}
	whole := &Ledger{database: l.database}
	var err error
	if b.Version, err = statementVersion(ctx, l.read); err != nil {
		return nil, fmt.Errorf("count what statements led to: %w", err)
	}
	balance, err := whole.Balance(ctx)
	if err != nil {
		return nil, err
	}
	b.Balance = balance
	for _, load := range []func(context.Context, *reconcile.Statement, *reconcile.Book) error{
		l.loadPurchases, l.loadDismissed, l.loadCharged, l.loadDeposits, l.loadStored, l.loadKnown,
		l.loadOrderCompanies,
	} {
		if err := load(ctx, s, b); err != nil {
			return nil, fmt.Errorf("load what a statement is compared with: %w", err)
		}
	}
	return b, nil
}

// chargeable selects the rows that a statement may charge.
const chargeable = `(r.result IN ('placed', 'uncertain', 'placing') OR r.spent <> 0
	OR r.result = 'ready' AND r.doubt <> 0)`

func (l Statements) loadPurchases(ctx context.Context, _ *reconcile.Statement, b *reconcile.Book) error {
	whole := &Ledger{database: l.database}
	open, err := l.loadOpenItems(ctx)
	if err != nil {
		return err
	}
	sent, err := l.loadSent(ctx)
	if err != nil {
		return err
	}
	unnamed := make(map[int64]int)
	var rows []Row
	for r, err := range l.pages(func(last Row) ([]Row, error) {
		return l.page(ctx, chargeable+` AND r.id > $1 ORDER BY r.id LIMIT $2`, last.ID, pageSize)
	}) {
		if err != nil {
			return err
		}
		p := purchaseOf(&r, open[r.ID])
		p.At, p.Ended = sent[r.ID].first, sent[r.ID].last
		if p.Company == "" || p.EntityType == "" {
			unnamed[r.ID] = len(b.Purchases)
			rows = append(rows, Row{ID: r.ID, Company: r.Company, Request: r.Request})
		}
		b.Purchases = append(b.Purchases, p)
	}
	return whole.nameCompanies(ctx, rows, func(row int64, c filing.Company) {
		p := &b.Purchases[unnamed[row]]
		if p.Company == "" {
			p.Company = c.LegalName
		}
		if p.EntityType == "" {
			p.EntityType = c.EntityType
		}
		if p.CompanyID == "" {
			p.CompanyID = c.ID
		}
	})
}

// nameCompanies recalls the companies of rows as the filing service has them.
func (l *Ledger) nameCompanies(ctx context.Context, rows []Row, name func(row int64, c filing.Company)) error {
	refs := make(map[string]bool)
	for _, r := range rows {
		if ref := r.CompanyRef(); ref != "" {
			refs[ref] = true
		}
		if r.Request != nil && r.Request.Company.Ref != "" {
			refs[r.Request.Company.Ref] = true
		}
	}
	known, err := l.Companies().Find(ctx, slices.Sorted(maps.Keys(refs)))
	if err != nil {
		return err
	}
	for _, r := range rows {
		c, ok := known[r.CompanyRef()]
		if r.Request != nil && !ok {
			c = known[r.Request.Company.Ref]
		}
		name(r.ID, c)
	}
	return nil
}

// purchaseOf returns the row as a purchase that a statement may name. Open are its
// products without an answer.
func purchaseOf(r *Row, open []filing.Product) reconcile.Purchase {
	p := reconcile.Purchase{
		Row:       r.ID,
		Batch:     r.Batch,
		Number:    r.Number,
		Try:       r.Tries,
		Result:    r.Result,
		Creating:  r.Creating && r.Result == filing.Uncertain,
		CompanyID: r.Company,
		Spent:     r.Spent,
		Reserved:  r.Reserved,
	}
	if q := r.Request; q != nil {
		p.Company, p.State, p.EntityType = q.LegalName(), q.Order.FilingState, q.Company.Sheet.EntityType
		if q.Order.Formation != nil {
			p.EntityType = q.Order.Formation.Company.EntityType
		}
		if q.Order.AnnualReport != nil {
			p.Year = q.Order.AnnualReport.FilingYear
		}
		if p.CompanyID == "" && filing.IsCompanyID(q.Company.Ref) {
			p.CompanyID = q.Company.Ref
		}
	}
	for _, i := range r.Items {
		p.Items = append(p.Items, reconcile.Item{Product: i.Product, OrderID: i.OrderID})
	}
	for _, product := range open {
		p.Items = append(p.Items, reconcile.Item{Product: product, Open: true})
	}
	return p
}

// loadOpenItems lists the products of uncertain rows, and of those that are sent again,
// whose orders may exist.
func (l Statements) loadOpenItems(ctx context.Context) (map[int64][]filing.Product, error) {
	open := make(map[int64][]filing.Product)
	rows, err := l.read.QueryContext(ctx, `SELECT p.row, p.product FROM purchases p JOIN rows r ON r.id = p.row
		WHERE p.bought = 0 AND p.product <> 'company' AND r.result IN ('uncertain', 'placing', 'ready')
		ORDER BY p.row, p.key`)
	return open, each(rows, err, func(scan func(...any) error) error {
		var row int64
		var product filing.Product
		err := scan(&row, &product)
		if !slices.Contains(open[row], product) {
			open[row] = append(open[row], product)
		}
		return err
	})
}

// loadDismissed loads the attempts without an answer that a person marked as not placed:
// of each row the last one.
func (l Statements) loadDismissed(ctx context.Context, _ *reconcile.Statement, b *reconcile.Book) error {
	type attempt struct {
		try            int
		started, ended int64
		products       []filing.Product
	}
	last := make(map[int64]attempt)
	found, err := l.read.QueryContext(ctx, `SELECT a.row, a.try, a.started_at, a.ended_at, a.products FROM attempts a
		WHERE a.decision = 'not-placed' AND a.creates = 0 AND a.class IN ('unreadable', 'no-answer', 'server-error')
		ORDER BY a.row, a.try`)
	err = each(found, err, func(scan func(...any) error) error {
		var row int64
		var a attempt
		var products string
		err := scan(&row, &a.try, &a.started, &a.ended, &products)
		a.products = splitProducts(products)
		last[row] = a
		return err
	})
	if err != nil {
		return err
	}
	var rows []Row
	for some := range slices.Chunk(slices.Sorted(maps.Keys(last)), pageSize) {
		in, args := among(l.dialect, some)
		page, err := l.page(ctx, `r.id `+in+` ORDER BY r.id`, args...)
		if err != nil {
			return err
		}
		for i := range page {
			r := &page[i]
			a := last[r.ID]
			p := purchaseOf(r, nil)
			p.Items, p.Try, p.Result = nil, a.try, filing.Uncertain
			p.Spent, p.Reserved = money.Cost{}, r.Cost.Amount
			p.At, p.Ended = fromMillis(a.started), fromMillis(max(a.started, a.ended))
			for _, product := range a.products {
				p.Items = append(p.Items, reconcile.Item{Product: product, Open: true})
			}
			b.Dismissed = append(b.Dismissed, p)
			rows = append(rows, Row{ID: r.ID, Company: r.Company, Request: r.Request})
		}
	}
	at := 0
	return (&Ledger{database: l.database}).nameCompanies(ctx, rows, func(_ int64, c filing.Company) {
		p := &b.Dismissed[at]
		p.Company, p.CompanyID = cmp.Or(p.Company, c.LegalName), cmp.Or(p.CompanyID, c.ID)
		at++
	})
}

// settleLate records the acceptance of an attempt that was marked as not placed, as if
// its answer came late: the row is placed, whatever became of it meanwhile.
func (l Statements) settleLate(ctx context.Context, s reconcile.Settlement) error {
	rows, err := l.page(ctx, `r.id = $1`, s.Purchase.Row)
	if err != nil {
		return err
	}
	if len(rows) == 0 || rows[0].Request == nil {
		return ErrNotFound
	}
	batches, err := l.batches(ctx, `WHERE id = $1`, rows[0].Batch)
	if err != nil {
		return err
	}
	order := rows[0].Request.Order
	order.CompanyID = s.Purchase.CompanyID
	product, cost := s.Purchase.Items[0].Product, money.Cost{Amount: s.Amount, Certainty: money.Known}
	out := Outcome{
		Row:     s.Purchase.Row,
		Try:     s.Purchase.Try,
		Answer:  filing.Answer{Kind: filing.Accepted},
		Cost:    cost,
		Message: "placed: " + s.Why,
		Items:   []Item{{Product: product, OrderID: s.OrderIDs[0], Cost: cost}},
	}
	for i := range batches {
		out.Claims = slices.DeleteFunc(ClaimsOf(&order, batches[i].Repetition()),
			func(c Claim) bool { return c.Product != product })
	}
	return (&Ledger{database: l.database}).RecordOutcome(ctx, out)
}

// sending is when a row was first sent, and when its last attempt ended.
type sending struct{ first, last time.Time }

func (l Statements) loadSent(ctx context.Context) (map[int64]sending, error) {
	sent := make(map[int64]sending)
	rows, err := l.read.QueryContext(ctx,
		`SELECT row, MIN(started_at), MAX(CASE WHEN ended_at > started_at THEN ended_at ELSE started_at END)
			FROM attempts WHERE class NOT IN ('not-sent', 'busy', 'no-funds', 'key-refused') GROUP BY row`)
	return sent, each(rows, err, func(scan func(...any) error) error {
		var row, first, last int64
		err := scan(&row, &first, &last)
		sent[row] = sending{fromMillis(first), fromMillis(last)}
		return err
	})
}

// loadCharged loads what earlier statements say of the purchases.
func (l Statements) loadCharged(ctx context.Context, _ *reconcile.Statement, b *reconcile.Book) error {
	at := make(map[int64]*reconcile.Purchase, len(b.Purchases))
	for i := range b.Purchases {
		at[b.Purchases[i].Row] = &b.Purchases[i]
	}
	rows, err := l.read.QueryContext(ctx,
		`SELECT row, COUNT(*), CAST(SUM(CASE counts WHEN 1 THEN amount ELSE 0 END) AS BIGINT)
		FROM statement_lines WHERE row <> 0 GROUP BY row`)
	err = each(rows, err, func(scan func(...any) error) error {
		var row, amount int64
		var n int
		err := scan(&row, &n, &amount)
		if p := at[row]; p != nil {
			p.Lines, p.Charged = n, -money.Cents(amount)
		}
		return err
	})
	if err != nil {
		return err
	}
	rows, err = l.read.QueryContext(ctx,
		`SELECT row, CAST(SUM(amount) AS BIGINT) FROM statement_adjustments WHERE row <> 0 GROUP BY row`)
	return each(rows, err, func(scan func(...any) error) error {
		var row, amount int64
		err := scan(&row, &amount)
		if p := at[row]; p != nil {
			p.Adjusted = money.Cents(amount)
		}
		return err
	})
}

// loadDeposits loads the recorded deposits that no statement has shown.
func (l Statements) loadDeposits(ctx context.Context, _ *reconcile.Statement, b *reconcile.Book) error {
	rows, err := l.read.QueryContext(ctx, `SELECT e.id, e.at, e.amount FROM entries e
		WHERE e.kind = 'deposit' AND NOT EXISTS (SELECT 1 FROM statement_lines s WHERE s.entry = e.id AND s.entry <> 0)
			AND NOT EXISTS (SELECT 1 FROM statement_adjustments a WHERE a.entry = e.id) ORDER BY e.id`)
	b.Deposits, err = collect(rows, err, func(scan func(...any) error) (reconcile.RecordedDeposit, error) {
		var d reconcile.RecordedDeposit
		var at int64
		err := scan(&d.Entry, &at, &d.Amount)
		d.At = fromMillis(at)
		return d, err
	})
	return err
}

// loadStored loads the lines of the same days, and all lines of the same file. A line
// without a day is always among them.
func (l Statements) loadStored(ctx context.Context, s *reconcile.Statement, b *reconcile.Book) error {
	rows, err := l.read.QueryContext(ctx,
		`SELECT statement, number, at, kind, amount, order_id, company_id, company, state,
			product, row, part
		FROM statement_lines
		WHERE counts = 1 AND (at = 0 OR at >= $1 AND at < $2) OR statement = $3 ORDER BY statement, number`,
		statementDay(s.From), statementDay(s.To.Add(24*time.Hour)), s.Hash)
	b.Stored, err = collect(rows, err, func(scan func(...any) error) (reconcile.StoredLine, error) {
		var line reconcile.StoredLine
		var at int64
		err := scan(&line.Statement, &line.Number, &at, &line.Kind, &line.Amount, &line.OrderID, &line.CompanyID,
			&line.Company,
			&line.State, &line.Product, &line.Row, &line.Group)
		line.At = statementTime(at)
		return line, err
	})
	if err != nil || s.To.IsZero() {
		return err
	}
	var later int64
	err = l.read.QueryRowContext(ctx, `SELECT COUNT(*), CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM statement_lines
		WHERE counts = 1 AND at >= $1 AND statement <> $2`, statementDay(s.To.Add(24*time.Hour)), s.Hash).
		Scan(&b.LaterLines, &later)
	b.Later = money.Cents(later)
	return err
}

// statementDay is the time of a line as it is stored: 0 where the statement has none.
func statementDay(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return toMillis(at)
}

func statementTime(at int64) time.Time {
	if at == 0 {
		return time.Time{}
	}
	return fromMillis(at).UTC()
}

func (l Statements) loadKnown(ctx context.Context, s *reconcile.Statement, b *reconcile.Book) error {
	var n int
	var since int64
	err := l.read.QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(MIN(from_at), 0) FROM statements`).Scan(&n, &since)
	if err != nil {
		return err
	}
	if n > 0 {
		b.Since = statementTime(since)
		if since == 0 {
			b.Since = time.Unix(0, 1).UTC() // without dates: everything comes after it
		}
	}
	var k reconcile.Known
	var at int64
	err = l.read.QueryRowContext(ctx,
		`SELECT hash, file, reconciled_at, reconciled_by, complete FROM statements WHERE hash = $1`, s.Hash).
		Scan(&k.Hash, &k.File, &at, &k.By, &k.Complete)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	k.At = fromMillis(at)
	b.Known = &k
	return err
}

// loadOrderCompanies loads the companies that events name for orders of the statement
// which belong to no row.
func (l Statements) loadOrderCompanies(ctx context.Context, s *reconcile.Statement, b *reconcile.Book) error {
	var orders []string
	for i := range s.Lines {
		if line := &s.Lines[i]; line.OrderID != "" && line.CompanyID == "" && line.Company == "" {
			orders = append(orders, line.OrderID)
		}
	}
	whole := &Ledger{database: l.database}
	events, err := whole.UnknownEvents(ctx, orders)
	for _, e := range events {
		if e.CompanyID != "" {
			b.Companies[e.OrderID] = e.CompanyID
		}
	}
	return err
}

// Settle resolves an uncertain row as placed, at the amount that a statement shows, or
// one that was marked as not placed. It returns reconcile.ErrDecided where the row is
// decided meanwhile.
func (l Statements) Settle(ctx context.Context, s reconcile.Settlement) error {
	if s.Late {
		return l.settleLate(ctx, s)
	}
	of := BatchRow{s.Purchase.Batch, s.Purchase.Number}
	err := l.resolve(ctx, of, s.Purchase.Row, s.Purchase.Try, nil, func(g *groupWriter, row *rowState) error {
		if row.creating {
			return ErrCreating
		}
		of, err := g.productsOf(row, s.OrderIDs)
		if err != nil {
			return err
		}
		maps.Copy(of, s.Products)
		state := filing.Fold(row.attempts, filing.AttemptLimits{})
		g.recordPlacedAs(row, s.OrderIDs, of, state.Open, nil,
			money.Cost{Amount: s.Amount, Certainty: money.Known}, s.Why)
		return nil
	})
	for _, decided := range []error{ErrTransition, ErrStale, ErrCreating, ErrOrderTaken, ErrDone} {
		if errors.Is(err, decided) {
			return errors.Join(reconcile.ErrDecided, err)
		}
	}
	return err
}

// Record records a statement with its lines and its adjustments, in one commit. It
// returns ErrStale where the ledger has changed since the plan was made.
func (l Statements) Record(ctx context.Context, p *reconcile.Plan, by string) error {
	proof, err := json.Marshal(p.Proof)
	if err != nil {
		return fmt.Errorf("record the statement: %w", err)
	}
	err = l.untilKnown(ctx, func(tx *sql.Tx, c *control) error {
		if err := l.verifyPlan(ctx, tx, p); err != nil {
			return err
		}
		now := l.now()
		if err := insertStatement(ctx, tx, p, string(proof), by, now); err != nil {
			return err
		}
		seq := 0
		if err := tx.QueryRowContext(ctx,
			`SELECT COALESCE(MAX(seq), 0) FROM statement_adjustments WHERE statement = $1`,
			p.Statement.Hash).Scan(&seq); err != nil {
			return err
		}
		if err := l.insertLines(ctx, tx, p); err != nil {
			return err
		}
		if err := l.insertAdjustments(ctx, tx, c, p, seq, toMillis(now)); err != nil {
			return err
		}
		return l.probeNow(ctx, tx, c)
	})
	return wrap("record the statement", err)
}

// statementVersion changes with everything that a statement adds and with every deposit:
// two plans from one version are never both carried out, even of the same statement.
func statementVersion(ctx context.Context, q querier) (version int, err error) {
	err = q.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM statements) + (SELECT COUNT(*) FROM statement_lines)
		+ (SELECT COUNT(*) FROM statement_adjustments) + (SELECT COUNT(*) FROM entries WHERE kind = 'deposit')`).
		Scan(&version)
	return version, err
}

// verifyPlan verifies that the plan was made from the present state of the ledger.
func (l Statements) verifyPlan(ctx context.Context, tx *sql.Tx, p *reconcile.Plan) error {
	version, err := statementVersion(ctx, tx)
	if err != nil {
		return err
	}
	if version != p.Book.Version {
		return fmt.Errorf("%w: a statement was reconciled in the meantime, or a deposit was recorded", ErrStale)
	}
	spent := make(map[int64]money.Cents)
	for _, a := range p.Adjustments {
		if a.Purchase != nil {
			spent[a.Purchase.Row] = a.Purchase.Spent.Amount
		}
	}
	for some := range slices.Chunk(slices.Sorted(maps.Keys(spent)), pageSize) {
		in, args := among(l.dialect, some)
		rows, err := tx.QueryContext(ctx, `SELECT id, number, batch, spent FROM rows WHERE id `+in, args...)
		err = each(rows, err, func(scan func(...any) error) error {
			var row rowRef
			var now money.Cents
			err := scan(&row.id, &row.number, &row.batch, &now)
			if err == nil && now != spent[row.id] {
				err = fmt.Errorf("%w: %s cost %s, and costs %s now", ErrStale, row.seenFrom(""),
					spent[row.id].Dollars(),
					now.Dollars())
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func insertStatement(ctx context.Context, tx *sql.Tx, p *reconcile.Plan, proof, by string, now time.Time) error {
	s := p.Statement
	_, err := tx.ExecContext(ctx, `INSERT INTO statements (hash, file, sheet, from_at, to_at, complete, opening,
			opening_known, closing, closing_known, missing, rest, proof, reconciled_at, reconciled_by)
		VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15)
		ON CONFLICT (hash) DO UPDATE SET complete = excluded.complete, missing = excluded.missing, rest = excluded.rest,
			proof = excluded.proof`,
		s.Hash, s.File, s.Sheet, statementDay(s.From), statementDay(s.To), boolInt(s.Complete), int64(s.Opening.Amount),
		boolInt(s.Opening.Known), int64(s.Closing.Amount), boolInt(s.Closing.Known), len(p.Missing),
		int64(p.Proof.Rest), proof,
		toMillis(now), by)
	return err
}

// linesAtOnce is how many lines of a statement one statement of the database inserts.
const linesAtOnce = 5000

// insertLines inserts the lines that are decided and not stored yet, and gives lines
// that were foreign to their purchases.
func (l Statements) insertLines(ctx context.Context, tx *sql.Tx, p *reconcile.Plan) error {
	s := p.Statement
	var records []record
	flush := func() error {
		err := l.exec(
			ctx, tx, `INSERT INTO statement_lines (statement, number, cell, at, kind, amount, order_id, company_id,
				company, state, product, year, text, part, note, row, entry, counts)
			SELECT v.statement, v.number, v.cell, v.at, v.kind, v.amount, v.order_id, v.company_id, v.company, v.state,
				v.product, v.year, v.text, v.part, v.note, v.row, v.entry, v.counts {{v}}`, records)
		records = records[:0]
		return err
	}
	for i := range s.Lines {
		if p.Groups[i] == reconcile.Unclear || p.IsStored(i) {
			continue
		}
		line := &s.Lines[i]
		var row int64
		if p.Purchases[i] != nil {
			row = p.Purchases[i].Row
		}
		records = append(records, record{
			text("statement", s.Hash),
			number("number", line.Number),
			text("cell", line.Cell),
			number("at", statementDay(line.At)),
			text("kind", line.Kind),
			number("amount", line.Amount),
			text("order_id", line.OrderID),
			text("company_id", line.CompanyID),
			text("company", line.Company),
			text("state", line.State),
			text("product", line.Product),
			text("year", line.Year),
			text("text", line.Text),
			text("part", p.Groups[i]),
			text("note", p.Notes[i]),
			number("row", row),
			number("entry", p.Entries[i]),
			flag("counts", p.New[i]),
		})
		if len(records) == linesAtOnce {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	var moves []record
	for _, m := range p.Moves {
		moves = append(moves, record{text("statement", m.Statement), number("number", m.Number),
			number("row", m.Purchase.Row)})
	}
	return l.execAll(ctx, tx,
		statement{"move lines", `UPDATE statement_lines SET row = v.row {{v}}
			WHERE statement_lines.statement = v.statement AND statement_lines.number = v.number`, moves},
		statement{"move adjustments", `UPDATE statement_adjustments SET row = v.row {{v}}
			WHERE statement_adjustments.statement = v.statement AND statement_adjustments.number = v.number`, moves},
	)
}

// insertAdjustments enters the differences into the balance.
func (l Statements) insertAdjustments(ctx context.Context, tx *sql.Tx, c *control, p *reconcile.Plan, seq int,
	now int64) error {
	var entries, adjustments []record
	for _, a := range p.Adjustments {
		seq++
		var entry, row int64
		line := 0
		if a.Purchase != nil {
			row = a.Purchase.Row
		}
		if a.Line >= 0 {
			line = p.Statement.Lines[a.Line].Number
		}
		if a.Deposit {
			c.deposits, c.declared = c.deposits+a.Amount, true
			if err := tx.QueryRowContext(ctx,
				`INSERT INTO entries (at, kind, amount, note) VALUES ($1,$2,$3,$4) RETURNING id`,
				now, string(Deposit), int64(a.Amount), a.Note).Scan(&entry); err != nil {
				return err
			}
		} else {
			c.adjustments += a.Amount
			entries = append(entries, record{
				number("at", now),
				text("kind", Adjustment),
				number("amount", a.Amount),
				text("note", a.Note),
			})
		}
		adjustments = append(adjustments, record{
			text("statement", p.Statement.Hash),
			number("seq", seq),
			number("number", line),
			number("row", row),
			text("reason", a.Reason),
			number("amount", a.Amount),
			number("entry", entry),
			text("note", a.Note),
			number("at", now),
		})
	}
	for _, entry := range p.Opened {
		seq++
		adjustments = append(adjustments, record{
			text("statement", p.Statement.Hash),
			number("seq", seq),
			number("number", 0),
			number("row", 0),
			text("reason", reconcile.OpeningDiffer),
			number("amount", 0),
			number("entry", entry),
			text("note", "Part of the opening balance"),
			number("at", now),
		})
	}
	for len(adjustments) > 0 {
		some := min(len(entries), linesAtOnce)
		if err := l.exec(
			ctx, tx, `INSERT INTO entries (at, kind, amount, note) SELECT v.at, v.kind, v.amount, v.note {{v}}`,
			entries[:some]); err != nil {
			return err
		}
		entries = entries[some:]
		some = min(len(adjustments), linesAtOnce)
		if err := l.exec(
			ctx, tx, `INSERT INTO statement_adjustments (statement, seq, number, row, reason, amount, entry, note, at)
			SELECT v.statement, v.seq, v.number, v.row, v.reason, v.amount, v.entry, v.note, v.at {{v}}`,
			adjustments[:some]); err != nil {
			return err
		}
		adjustments = adjustments[some:]
	}
	return nil
}
