package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Charge is an order that was charged, or an adjusted charge. An adjusted charge is the difference
// between the entries of a row in a month and its orders. It occurs if an order turned out not to
// be placed.
type Charge struct {
	// Month has the form "2026-03".
	Month string
	At    time.Time

	// Client, Matter, BillTo and Reference are the row's own columns. Clients whose names fold to
	// the same text have one spelling.
	Client, Matter, BillTo, Reference string

	Batch  string
	Number int
	// Company is the legal name of the company, or its ID if the name is unknown.
	Company string
	// Product is empty in an adjusted charge.
	Product filing.Product
	State   string
	Year    string
	OrderID string
	Cost    money.Cost
	Parts   filing.CostParts

	// ref identifies the company if Company is blank.
	ref string
	// folded is the folded name of the client.
	folded string
}

// Fees returns the two parts of the cost. It reports false if they are not known separately.
func (c *Charge) Fees() (service, state money.Cents, ok bool) {
	service, state = c.Parts.Service.Amount, c.Parts.State.Amount
	return service, state, c.Parts != filing.CostParts{} && service+state == c.Cost.Amount
}

// Charges lists the charges of a month of a time zone by month, client and matter. An empty month
// lists all months. The costs add up to the charges among the entries, including rows that are
// uncertain.
func (l Entries) Charges(ctx context.Context, month string, zone *time.Location) ([]Charge, error) {
	all, err := l.charges(ctx, month, zone)
	if err != nil {
		return nil, fmt.Errorf("list the charges: %w", err)
	}
	spellings := make(map[string]string) // the first one by the folded name
	for i := range all {
		c := &all[i]
		c.folded = cmp.Or(filing.FoldLegalName(c.Client), c.Client)
		if _, known := spellings[c.folded]; !known {
			spellings[c.folded] = c.Client
		}
		c.Client = spellings[c.folded]
	}
	slices.SortStableFunc(all, func(a, b Charge) int {
		return cmp.Or(cmp.Compare(a.Month, b.Month), cmp.Compare(a.folded, b.folded), cmp.Compare(a.Matter, b.Matter))
	})
	return all, nil
}

// charges lists the charges in the order of their rows.
func (l Entries) charges(ctx context.Context, month string, zone *time.Location) ([]Charge, error) {
	r := chargeReader{database: l.database, ctx: ctx, zone: zone, to: time.Date(9999, 1, 1, 0, 0, 0, 0, zone)}
	if month != "" {
		var err error
		if r.from, err = time.ParseInLocation("2006-01", month, zone); err != nil {
			return nil, err
		}
		r.to = r.from.AddDate(0, 1, 0)
	}
	if err := r.read(); err != nil {
		return nil, err
	}
	refs := make(map[string]bool)
	for i := range r.all {
		if c := &r.all[i]; c.Company == "" {
			refs[c.ref] = true
		}
	}
	names, err := Companies(l).Find(ctx, slices.Sorted(maps.Keys(refs)))
	for i := range r.all {
		if c := &r.all[i]; c.Company == "" {
			c.Company = cmp.Or(names[c.ref].LegalName, c.ref)
		}
	}
	return r.all, err
}

// chargeReader reads charges in one consistent read.
type chargeReader struct {
	*database
	ctx      context.Context
	tx       *sql.Tx
	zone     *time.Location
	from, to time.Time
	all      []Charge
}

// chargedRow is a row with charges.
type chargedRow struct {
	id int64
	// model has the common fields of the row's charges.
	model    Charge
	attempts []filing.Attempt
	items    []chargedItem
	// posts has one element per month.
	posts []post
}

type chargedItem struct {
	Row     int64
	Product filing.Product
	OrderID string
	At      time.Time
}

// post is the amount that the entries of a row charge in a month.
type post struct {
	Row   int64
	Month string
	// At is the time of the last entry.
	At     time.Time
	Amount money.Cents
}

func (r *chargeReader) read() (err error) {
	if r.tx, err = r.Read.BeginTx(r.ctx, &sql.TxOptions{
		ReadOnly:  true,
		Isolation: sql.LevelSerializable,
	}); err != nil {
		return err
	}
	defer r.tx.Rollback()
	for last := int64(0); ; {
		found, err := store.List[rawCharge](r.ctx, r.tx, "read the rows",
			`SELECT r.id, r.batch, r.number, r.cells, r.request,
				r.company, b.fields
			FROM rows r JOIN batches b ON b.id = r.batch WHERE r.id > $1 AND EXISTS (SELECT 1 FROM entries e
				WHERE e.row = r.id AND e.kind = 'post' AND e.at >= $2 AND e.at < $3)
			ORDER BY r.id LIMIT $4`, last, store.ToMillis(r.from), store.ToMillis(r.to), pageSize)
		if err != nil || len(found) == 0 {
			return err
		}
		rows := make([]*chargedRow, len(found))
		for i, raw := range found {
			if rows[i], err = raw.row(); err != nil {
				return err
			}
		}
		if err := r.addFacts(rows); err != nil {
			return err
		}
		for _, row := range rows {
			r.add(row)
		}
		last = rows[len(rows)-1].id
	}
}

// rawCharge is a row with charges as it is stored.
type rawCharge struct {
	ID                    int64
	Batch, Cells, Company string
	Number                int
	Request               []byte
	Fields                []string
}

func (raw *rawCharge) row() (*chargedRow, error) {
	row := &chargedRow{id: raw.ID, model: Charge{Batch: raw.Batch, Number: raw.Number}}
	m := &row.model
	if len(raw.Request) > 0 {
		var q filing.Request
		if err := json.Unmarshal(raw.Request, &q); err != nil {
			return nil, fmt.Errorf("read the request of row %d: %w", row.id, err)
		}
		m.Company, m.ref, m.State = q.LegalName(), q.Company.Ref, string(q.Order.FilingState)
		if q.Order.AnnualReport != nil {
			m.Year = q.Order.AnnualReport.FilingYear
		}
	}
	m.ref = cmp.Or(m.ref, raw.Company)
	texts := cellTexts(raw.Cells)
	for field, text := range map[string]*string{
		clientField: &m.Client,
		"matter":    &m.Matter,
		"billTo":    &m.BillTo,
		"reference": &m.Reference,
	} {
		if i := slices.Index(raw.Fields, field); i >= 0 && i < len(texts) {
			*text = strings.Join(strings.Fields(texts[i]), " ")
		}
	}
	return row, nil
}

// addFacts adds the entries, attempts and items of rows.
func (r *chargeReader) addFacts(rows []*chargedRow) error {
	byID := make(map[int64]*chargedRow, len(rows))
	ids := make([]int64, len(rows))
	for i, row := range rows {
		byID[row.id], ids[i] = row, row.id
	}
	in, args := store.Among(r.Dialect, ids)
	posts, err := store.List[post](r.ctx, r.tx, "read the entries",
		`SELECT row, at, amount FROM entries WHERE kind = 'post' AND row `+in+` ORDER BY id`, args...)
	if err != nil {
		return err
	}
	for _, p := range posts {
		p.Month = r.monthOf(p.At)
		byID[p.Row].addPost(p)
	}
	items, err := store.List[chargedItem](r.ctx, r.tx, "read the items",
		`SELECT row, product, order_id, created_at AS at FROM items WHERE row `+in+` ORDER BY id`, args...)
	if err != nil {
		return err
	}
	for _, i := range items {
		byID[i.Row].items = append(byID[i.Row].items, i)
	}
	found, err := r.tx.QueryContext(r.ctx,
		`SELECT `+foldedColumns+` FROM attempts a WHERE a.row `+in+` ORDER BY a.number`, args...)
	return store.Each(found, err, func(scan func(...any) error) error {
		row, _, a, err := scanFolded(scan)
		if err == nil {
			byID[row].attempts = append(byID[row].attempts, a)
		}
		return err
	})
}

func (r *chargeReader) monthOf(at time.Time) string { return at.In(r.zone).Format("2006-01") }

func (row *chargedRow) addPost(p post) {
	if n := len(row.posts); n > 0 && row.posts[n-1].Month == p.Month {
		row.posts[n-1].At = p.At
		row.posts[n-1].Amount += p.Amount
		return
	}
	row.posts = append(row.posts, p)
}

// add adds the charges of a row: its orders in the months in which they were placed, and the
// remaining amount of each month.
func (r *chargeReader) add(row *chargedRow) {
	state := filing.Fold(row.attempts, filing.AttemptLimits{})
	for _, bought := range state.Bought {
		if bought.Product == filing.CompanyRecord && bought.Cost.IsZero() {
			continue // the filing service charges nothing for it
		}
		c := row.model
		c.Product, c.OrderID, c.Cost, c.Parts = bought.Product, bought.OrderID, bought.Cost, bought.Parts
		c.At = row.posts[len(row.posts)-1].At
		for _, i := range row.items {
			if i.Product == c.Product && (i.OrderID == c.OrderID || c.OrderID == "") {
				c.At = i.At
				break
			}
		}
		c.Month = r.monthOf(c.At)
		at := slices.IndexFunc(row.posts, func(p post) bool { return p.Month == c.Month })
		if at < 0 { // charged in another month than it was recorded in
			at = len(row.posts) - 1
			c.Month, c.At = row.posts[at].Month, row.posts[at].At
		}
		row.posts[at].Amount -= c.Cost.Amount
		r.emit(c)
	}
	for _, p := range row.posts {
		if p.Amount != 0 {
			c := row.model
			c.Month, c.At, c.Cost = p.Month, p.At, money.Cost{Amount: p.Amount}
			r.emit(c)
		}
	}
}

// emit keeps a charge if it falls into the months that are read.
func (r *chargeReader) emit(c Charge) {
	if !c.At.Before(r.from) && c.At.Before(r.to) {
		r.all = append(r.all, c)
	}
}

// ChargeMonths lists the months of a time zone from the first charge to the last one,
// the newest first.
func (l Entries) ChargeMonths(ctx context.Context, zone *time.Location) (months []string, err error) {
	var first, last sql.NullInt64
	err = l.Read.QueryRowContext(ctx, `SELECT MIN(at), MAX(at) FROM entries WHERE kind = 'post'`).Scan(&first, &last)
	if err != nil || !first.Valid {
		return nil, store.Wrap("find the months of the charges", err)
	}
	from, to := store.FromMillis(first.Int64).In(zone), store.FromMillis(last.Int64).In(zone)
	for month := time.Date(to.Year(), to.Month(), 1, 0, 0, 0, 0, zone); ; month = month.AddDate(0, -1, 0) {
		months = append(months, month.Format("2006-01"))
		if !month.After(from) {
			return months, nil
		}
	}
}
