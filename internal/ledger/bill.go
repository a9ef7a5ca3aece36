package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/billing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// ErrIssued is returned for a change of a bill that is issued: it never changes.
var ErrIssued = errors.New("the bill is issued and cannot change; a later change becomes a credit or a further bill")

// errBillRace is returned for a bill whose purchases were billed by another process
// since they were read. Nothing is stored; what is left is billed again.
var errBillRace = errors.New("another process bills the same purchases")

// BillingSettings are how the firm bills.
type BillingSettings struct {
	Rule      billing.Rule
	Estimated bool // bill estimated costs, marked
	Terms     int  // days from the date of a bill to its due date
	Accounts  billing.Accounts
}

// BillOptions say what to bill.
type BillOptions struct {
	Month     billing.Month // "" for all months
	Client    string        // the folded name of one client; "" for all
	Estimated bool          // bill estimated costs too, marked
}

// Settings reads how the firm bills.
func (l Bills) Settings(ctx context.Context) (s BillingSettings, err error) {
	var accounts string
	err = l.read.QueryRowContext(ctx,
		`SELECT rule, rule_value, estimated, terms, accounts FROM billing_settings WHERE id = 1`).
		Scan(&s.Rule.Kind, &s.Rule.Value, &s.Estimated, &s.Terms, &accounts)
	s.Accounts = billing.DefaultAccounts
	if err == nil && accounts != "" {
		err = json.Unmarshal([]byte(accounts), &s.Accounts)
	}
	return s, wrap("read how the firm bills", err)
}

// SetSettings sets how the firm bills from now on. Bills that are made stay as they are.
func (l Bills) SetSettings(ctx context.Context, s BillingSettings) error {
	accounts, err := json.Marshal(s.Accounts)
	if err != nil {
		return fmt.Errorf("set how the firm bills: %w", err)
	}
	return wrap("set how the firm bills", l.change(ctx, func(tx *sql.Tx, _ *control) error {
		kind, value := s.Rule.Stored()
		_, err := tx.ExecContext(ctx, `UPDATE billing_settings SET rule = $1, rule_value = $2, estimated = $3,
			terms = $4, accounts = $5, changed_by = $6, changed_at = $7 WHERE id = 1`,
			kind, value, boolInt(s.Estimated), s.Terms, string(accounts), auditPerson(ctx), toMillis(l.now()))
		return err
	}))
}

// zone is the firm's time zone, in which months begin; UTC where none is chosen.
func (l Bills) zone(ctx context.Context) (*time.Location, error) {
	name, err := Calendars(l).Zone(ctx)
	if err != nil || name == "" {
		return time.UTC, err
	}
	zone, err := time.LoadLocation(name)
	return zone, wrap("read the firm's time zone", err)
}

// Month is the present month in the firm's time zone.
func (l Bills) Month(ctx context.Context) (billing.Month, error) {
	zone, err := l.zone(ctx)
	return billing.MonthOf(l.now(), zoneOrUTC(zone)), err
}

func zoneOrUTC(zone *time.Location) *time.Location {
	if zone == nil {
		return time.UTC
	}
	return zone
}

// Propose makes the bills of what is not billed, and stores nothing.
func (l Bills) Propose(ctx context.Context, o BillOptions) ([]billing.Bill, []billing.Waiting, error) {
	bills, waiting, _, err := l.propose(ctx, o)
	return bills, waiting, err
}

func (l Bills) propose(ctx context.Context, o BillOptions) ([]billing.Bill, []billing.Waiting, map[int64]int, error) {
	settings, err := l.Settings(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	zone, err := l.zone(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	clients, err := Clients(l).byKey(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	all, seen, err := l.candidates(ctx, clients)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("find what is not billed: %w", err)
	}
	bills, waiting := billing.Make(all, billing.Options{
		Month:     o.Month,
		Client:    clients.follow(o.Client),
		Estimated: o.Estimated || settings.Estimated,
		Zone:      zone,
		Now:       l.now(),
		Rule: func(client string) billing.Rule {
			if c, ok := clients[client]; ok && c.Rule.Kind != "" {
				return c.Rule
			}
			return settings.Rule
		},
	})
	for i := range bills {
		bills[i].ClientID = clients[bills[i].ClientKey].Number
	}
	return bills, waiting, seen, nil
}

// linesInCommit is how many lines of bills are stored in one commit, so that placing
// never waits for long.
const linesInCommit = 1000

// Create makes the bills of what is not billed and stores them, as drafts or issued. It
// returns what it has stored, and what waits. Of two processes that bill at once each
// purchase is billed by one.
func (l Bills) Create(ctx context.Context, o BillOptions, issue bool) (made []billing.Bill,
	waiting []billing.Waiting, err error) {
	for races := 0; races < 100; races++ {
		bills, left, seen, err := l.propose(ctx, o)
		if err != nil {
			return made, left, err
		}
		raced := false
		for len(bills) > 0 {
			some, lines := 1, len(bills[0].Lines)
			for some < len(bills) && lines+len(bills[some].Lines) <= linesInCommit {
				lines += len(bills[some].Lines)
				some++
			}
			switch err := l.store(ctx, bills[:some], seen, issue); {
			case errors.Is(err, errBillRace):
				raced = true
			case err != nil:
				return made, left, fmt.Errorf("store bills: %w", err)
			default:
				made = append(made, bills[:some]...)
			}
			bills = bills[some:]
		}
		if !raced {
			return made, left, nil
		}
	}
	return made, nil, errBillRace
}

// store stores bills in one commit. The lines of their rows must be those that were
// seen when the bills were made.
func (l Bills) store(ctx context.Context, bills []billing.Bill, seen map[int64]int, issue bool) error {
	return l.change(ctx, func(tx *sql.Tx, _ *control) error {
		if err := l.checkSeen(ctx, tx, bills, seen); err != nil {
			return err
		}
		for i := range bills {
			b := &bills[i]
			b.ID, b.CreatedAt, b.CreatedBy = billID(b), l.now(), auditPerson(ctx)
			if err := l.insertBill(ctx, tx, b); err != nil {
				return err
			}
			if err := l.rememberClient(ctx, tx, b); err != nil {
				return err
			}
			if !issue {
				continue
			}
			if err := l.issue(ctx, tx, b); err != nil {
				return err
			}
		}
		return nil
	})
}

// billID names a bill by its first line, which no other bill has.
func billID(b *billing.Bill) string {
	l := &b.Lines[0]
	sum := sha256.Sum256(fmt.Appendf(nil, "%d|%s|%d|%s|%d", l.Purchase.Row, l.Purchase.Product, l.Purchase.Ordinal,
		l.Kind, l.Revision))
	return hex.EncodeToString(sum[:6])
}

// checkSeen returns errBillRace where a row of the bills has other lines by now.
func (l Bills) checkSeen(ctx context.Context, tx *sql.Tx, bills []billing.Bill, seen map[int64]int) error {
	now := make(map[int64]int)
	for _, b := range bills {
		for _, line := range b.Lines {
			now[line.Purchase.Row] = 0
		}
	}
	ids := make([]int64, 0, len(now))
	for id := range now {
		ids = append(ids, id)
	}
	in, args := among(l.dialect, ids)
	rows, err := tx.QueryContext(ctx, `SELECT row, COUNT(*) FROM bill_lines WHERE row `+in+` GROUP BY row`, args...)
	err = each(rows, err, func(scan func(...any) error) error {
		var id int64
		var n int
		err := scan(&id, &n)
		now[id] = n
		return err
	})
	if err != nil {
		return err
	}
	for id, n := range now {
		if seen[id] != n {
			return errBillRace
		}
	}
	return nil
}

func (l Bills) insertBill(ctx context.Context, tx *sql.Tx, b *billing.Bill) error {
	if _, err := tx.ExecContext(ctx, `INSERT INTO bills (id, credit, client, folded, client_id, bill_to, matter, month,
			total, lines, created_by, created_at)
		VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12)`,
		b.ID, boolInt(b.Credit), b.Client, b.ClientKey, b.ClientID, b.BillTo, b.Matter, string(b.Month),
		int64(b.Total), len(b.Lines), b.CreatedBy, toMillis(b.CreatedAt)); err != nil {
		return err
	}
	records := make([]record, len(b.Lines))
	for i, line := range b.Lines {
		records[i] = record{
			text("bill", b.ID),
			number("position", i+1),
			number("row", line.Purchase.Row),
			text("product", line.Purchase.Product),
			number("ordinal", line.Purchase.Ordinal),
			text("kind", line.Kind),
			number("revision", line.Revision),
			number("cost", line.Cost),
			number("amount", line.Amount),
			flag("estimated", line.Estimated),
			text("batch", line.Batch),
			number("number", line.Number),
			text("order_id", line.OrderID),
			text("company", line.Company),
			text("state", line.State),
			text("year", line.Year),
			text("reference", line.Reference),
			number("posted_at", toMillis(line.PostedAt)),
		}
	}
	// Without ON CONFLICT: a purchase that is billed already fails the whole bill.
	return l.exec(ctx, tx, `INSERT INTO bill_lines (bill, position, row, product, ordinal, kind, revision, cost, amount,
			estimated, batch, number, order_id, company, state, year, reference, posted_at)
		SELECT v.bill, v.position, v.row, v.product, v.ordinal, v.kind, v.revision, v.cost, v.amount, v.estimated,
			v.batch, v.number, v.order_id, v.company, v.state, v.year, v.reference, v.posted_at {{v}}`, records)
}

// rememberClient records whom the companies of a bill are billed to, for rows that name
// no client.
func (l Bills) rememberClient(ctx context.Context, tx *sql.Tx, b *billing.Bill) error {
	seen := make(map[string]bool)
	var records []record
	for _, line := range b.Lines {
		if named := line.Origin != billing.FromNowhere && line.Origin != billing.FromCompany; !named ||
			line.CompanyID == "" || seen[line.CompanyID] {
			continue
		}
		seen[line.CompanyID] = true
		records = append(records, record{
			text("company", line.CompanyID),
			text("client", b.Client),
			text("by", b.CreatedBy),
			number("at", toMillis(b.CreatedAt)),
		})
	}
	return l.exec(ctx, tx, `INSERT INTO company_clients (company, client, changed_by, changed_at)
		SELECT v.company, v.client, v.by, v.at {{v}} WHERE TRUE
		ON CONFLICT (company) DO UPDATE SET client = excluded.client, changed_by = excluded.changed_by,
			changed_at = excluded.changed_at`, records)
}

// issue gives a stored bill the next number, its dates and its issuer.
func (l Bills) issue(ctx context.Context, tx *sql.Tx, b *billing.Bill) error {
	// The control row is locked: no other process gets the same number.
	var last, terms int
	if err := tx.QueryRowContext(ctx, `SELECT (SELECT COALESCE(MAX(number), 0) FROM bills), terms
		FROM billing_settings WHERE id = 1`).Scan(&last, &terms); err != nil {
		return err
	}
	zone, err := l.zoneIn(ctx, tx)
	if err != nil {
		return err
	}
	now := l.now()
	b.Number, b.IssuedAt, b.IssuedBy = last+1, now, auditPerson(ctx)
	b.Dated = now.In(zone).Format(time.DateOnly)
	b.Due = now.In(zone).AddDate(0, 0, terms).Format(time.DateOnly)
	n, err := affected(tx.ExecContext(ctx, `UPDATE bills SET number = $2, dated = $3, due = $4, issued_by = $5,
		issued_at = $6 WHERE id = $1 AND number = 0`, b.ID, b.Number, b.Dated, b.Due, b.IssuedBy, toMillis(now)))
	if err == nil && n == 0 {
		err = ErrIssued
	}
	return err
}

// zoneIn is zone within a transaction.
func (l Bills) zoneIn(ctx context.Context, tx *sql.Tx) (*time.Location, error) {
	var name string
	err := tx.QueryRowContext(ctx, `SELECT zone FROM firm_zone WHERE id = 1`).Scan(&name)
	if err != nil || name == "" {
		return time.UTC, err
	}
	return time.LoadLocation(name)
}

// Issue issues a draft: it gets the next number and never changes again.
func (l Bills) Issue(ctx context.Context, id string) (b billing.Bill, err error) {
	err = l.change(ctx, func(tx *sql.Tx, _ *control) error {
		if b, err = findBill(ctx, tx, id); err != nil {
			return err
		}
		if b.Issued() {
			return ErrIssued
		}
		return l.issue(ctx, tx, &b)
	})
	return b, wrap("issue bill "+id, err)
}

// Discard deletes a draft. Its purchases are unbilled again.
func (l Bills) Discard(ctx context.Context, id string) error {
	return wrap("discard bill "+id, l.change(ctx, func(tx *sql.Tx, _ *control) error {
		b, err := findBill(ctx, tx, id)
		if err != nil {
			return err
		}
		if b.Issued() {
			return ErrIssued
		}
		for _, query := range []string{`DELETE FROM bill_lines WHERE bill = $1`, `DELETE FROM bills WHERE id = $1`} {
			if _, err := tx.ExecContext(ctx, query, id); err != nil {
				return err
			}
		}
		return nil
	}))
}

// BillQuery selects bills. The zero value selects all.
type BillQuery struct {
	Month  billing.Month
	Client string // the folded name
	Issued bool   // without drafts
	Drafts bool   // drafts alone
	Lines  bool   // with their lines
	Before int    // only lower numbers; drafts are not among them
	Limit  int    // 0 for all
	Newest bool   // the newest first; else in the order of their numbers
}

const billColumns = `id, number, credit, client, folded, client_id, bill_to, matter, month, dated, due, total, lines,
		created_by, created_at, issued_by, issued_at`

func scanBill(scan func(...any) error) (b billing.Bill, err error) {
	var created, issued int64
	err = scan(&b.ID, &b.Number, &b.Credit, &b.Client, &b.ClientKey, &b.ClientID, &b.BillTo, &b.Matter, &b.Month,
		&b.Dated, &b.Due, &b.Total, &b.LineCount, &b.CreatedBy, &created, &b.IssuedBy, &issued)
	b.CreatedAt, b.IssuedAt = fromMillis(created), fromMillis(issued)
	return b, err
}

func findBill(ctx context.Context, q querier, id string) (billing.Bill, error) {
	b, err := scanBill(q.QueryRowContext(ctx, `SELECT `+billColumns+` FROM bills WHERE id = $1`, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	return b, err
}

// Bill reads a bill with its lines. It returns ErrNotFound.
func (l Bills) Bill(ctx context.Context, id string) (billing.Bill, error) {
	b, err := findBill(ctx, l.read, id)
	if err != nil {
		return b, fmt.Errorf("read bill %s: %w", id, err)
	}
	all := []billing.Bill{b}
	err = l.addLines(ctx, all)
	return all[0], err
}

// List lists bills: drafts first, then the issued ones.
func (l Bills) List(ctx context.Context, q BillQuery) ([]billing.Bill, error) {
	where, args := []string{`TRUE`}, []any{}
	add := func(condition string, v any) {
		args = append(args, v)
		where = append(where, condition+"$"+strconv.Itoa(len(args)))
	}
	if q.Month != "" {
		add(`month = `, string(q.Month))
	}
	if q.Client != "" {
		clients, err := Clients(l).byKey(ctx)
		if err != nil {
			return nil, err
		}
		in, with := among(l.dialect, clients.keysOf(q.Client), args...)
		where, args = append(where, `folded `+in), with
	}
	if q.Issued {
		where = append(where, `number <> 0`)
	}
	if q.Drafts {
		where = append(where, `number = 0`)
	}
	if q.Before > 0 {
		add(`number <> 0 AND number < `, q.Before)
	}
	query := `SELECT ` + billColumns + ` FROM bills WHERE ` + strings.Join(where, ` AND `) +
		` ORDER BY CASE WHEN number = 0 THEN 0 ELSE 1 END, number`
	if q.Newest {
		query += ` DESC`
	}
	query += `, month, folded, id`
	if q.Limit > 0 {
		args = append(args, q.Limit)
		query += fmt.Sprintf(` LIMIT $%d`, len(args))
	}
	rows, err := l.read.QueryContext(ctx, query, args...)
	all, err := collect(rows, err, scanBill)
	if err != nil {
		return nil, fmt.Errorf("list bills: %w", err)
	}
	if q.Lines {
		err = l.addLines(ctx, all)
	}
	return all, err
}

// addLines reads the lines of bills.
func (l Bills) addLines(ctx context.Context, all []billing.Bill) error {
	at := make(map[string]*billing.Bill, len(all))
	ids := make([]string, len(all))
	for i := range all {
		ids[i], at[all[i].ID] = all[i].ID, &all[i]
	}
	for some := range slices.Chunk(ids, pageSize) {
		in, args := among(l.dialect, some)
		rows, err := l.read.QueryContext(ctx, `SELECT bill, `+lineColumns+` FROM bill_lines l WHERE bill `+in+
			` ORDER BY bill, position`, args...)
		err = each(rows, err, func(scan func(...any) error) error {
			var bill string
			line, err := scanLine(scan, &bill)
			if err == nil {
				at[bill].Lines = append(at[bill].Lines, line)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("read the lines of bills: %w", err)
		}
	}
	return nil
}

const lineColumns = `l.row, l.product, l.ordinal, l.kind, l.revision, l.cost, l.amount, l.estimated, l.batch, l.number,
		l.order_id, l.company, l.state, l.year, l.reference, l.posted_at`

func scanLine(scan func(...any) error, before ...any) (l billing.Line, err error) {
	var posted int64
	err = scan(append(before, &l.Purchase.Row, &l.Purchase.Product, &l.Purchase.Ordinal, &l.Kind, &l.Revision, &l.Cost,
		&l.Amount, &l.Estimated, &l.Batch, &l.Number, &l.OrderID, &l.Company, &l.State, &l.Year, &l.Reference,
		&posted)...)
	l.PostedAt = fromMillis(posted)
	return l, err
}

// BillsOfRow lists the bills that have a line of a row, without their lines.
func (l Bills) BillsOfRow(ctx context.Context, row int64) ([]billing.Bill, error) {
	rows, err := l.read.QueryContext(ctx, `SELECT `+billColumns+` FROM bills
		WHERE id IN (SELECT bill FROM bill_lines WHERE row = $1) ORDER BY number, id`, row)
	all, err := collect(rows, err, scanBill)
	return all, wrap("list the bills of a row", err)
}

// RecordCost records what a purchase cost in truth, and where that is known from. What
// is billed of it already is corrected by the next bills.
func (l Bills) RecordCost(ctx context.Context, key billing.Key, cost money.Cents, source string) error {
	return wrap("record the cost of "+key.String(), l.change(ctx, func(tx *sql.Tx, _ *control) error {
		return RecordCostIn(ctx, tx, key, cost, source, auditPerson(ctx), l.now())
	}))
}

// RecordCostIn is RecordCost within a change that records more.
func RecordCostIn(ctx context.Context, tx *sql.Tx, key billing.Key, cost money.Cents, source, by string,
	now time.Time) error {
	if cost < 0 {
		return fmt.Errorf("%w: a purchase costs nothing or more", money.ErrAmount)
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO purchase_costs (row, product, ordinal, cost, source, changed_by,
			changed_at)
		VALUES ($1,$2,$3,$4,$5,$6,$7) ON CONFLICT (row, product, ordinal) DO UPDATE SET cost = excluded.cost,
			source = excluded.source, changed_by = excluded.changed_by, changed_at = excluded.changed_at`,
		key.Row, string(key.Product), key.Ordinal, int64(cost), source, by, toMillis(now))
	return err
}

// Words describe the settings.
func (s BillingSettings) Words() string {
	estimates := "Estimated costs wait until they are known."
	if s.Estimated {
		estimates = "Estimated costs are billed, marked as estimates."
	}
	return fmt.Sprintf("Clients pay the %s. State fees are passed on as charged. Bills are due in %d days. %s",
		s.Rule.Words(), s.Terms, estimates)
}
