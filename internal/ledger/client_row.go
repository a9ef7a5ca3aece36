package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/billing"
)

// ErrBilled is returned for a change of the client of a row that is billed: its bill
// says whom.
var ErrBilled = errors.New("the row is billed already; a bill or a draft has it")

// ClientsOf says whom rows are billed to, and where that is known from.
func (l Clients) ClientsOf(ctx context.Context, rows []Row) (map[int64]billing.Client, error) {
	clients, err := l.byKey(ctx)
	if err != nil {
		return nil, err
	}
	reader := purchaseReader{
		Bills:   Bills(l),
		ctx:     ctx,
		clients: clients,
		batches: make(map[string]Batch),
		seen:    make(map[int64]int),
	}
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	entered := make(map[int64]billing.Client)
	for some := range slices.Chunk(ids, pageSize) {
		in, args := among(l.dialect, some)
		found, err := l.read.QueryContext(ctx,
			`SELECT row, client, matter, bill_to, reference, origin FROM row_clients WHERE row `+in, args...)
		if err := each(found, err, scanRowClient(entered)); err != nil {
			return nil, fmt.Errorf("find the clients of rows: %w", err)
		}
	}
	names, err := (&Ledger{l.database}).CompanyNames(ctx, rows)
	if err != nil {
		return nil, err
	}
	return reader.clientsOf(rows, names, entered)
}

// scanRowClient adds what was entered beside a row.
func scanRowClient(all map[int64]billing.Client) func(scan func(...any) error) error {
	return func(scan func(...any) error) error {
		var row int64
		var c billing.Client
		err := scan(&row, &c.Name, &c.Matter, &c.BillTo, &c.Reference, &c.Origin)
		all[row] = c
		return err
	}
}

// checkBilling reads what a person entered. An empty client leaves what the row has.
func checkBilling(c billing.Client) (billing.Client, error) {
	var err error
	if c.Name = strings.TrimSpace(c.Name); c.Name != "" {
		if c.Name, err = CheckClient(c.Name); err != nil {
			return c, err
		}
	}
	for _, text := range []*string{&c.Matter, &c.BillTo, &c.Reference} {
		if *text = strings.Join(strings.Fields(*text), " "); len(*text) > 200 {
			return c, fmt.Errorf("%w; matters, references and who gets the bill have up to 200", ErrClient)
		}
	}
	return c, nil
}

// Assign says whom rows are billed to. Rows that are billed stay as they are. It returns
// how many were changed, and ErrBilled where a bill has each of them.
func (l Clients) Assign(ctx context.Context, rows []int64, c billing.Client) (changed int, err error) {
	if c, err = checkBilling(c); err != nil {
		return 0, err
	}
	err = l.change(ctx, func(tx *sql.Tx, _ *control) error {
		for some := range slices.Chunk(rows, pageSize) {
			in, args := among(l.dialect, some)
			found, err := tx.QueryContext(ctx, `SELECT r.id FROM rows r WHERE r.id `+in+`
				AND NOT EXISTS (SELECT 1 FROM bill_lines l WHERE l.row = r.id)`, args...)
			free, err := collect(found, err, scanOne[int64])
			if err != nil {
				return err
			}
			changed += len(free)
			if err := l.assign(ctx, tx, free, c, billing.FromPerson); err != nil {
				return err
			}
		}
		if changed == 0 && len(rows) > 0 {
			return ErrBilled
		}
		return nil
	})
	return changed, wrap("change the client of rows", err)
}

// assign writes whom rows are billed to. An empty text leaves what was entered before,
// and an empty client leaves where the client is known from.
func (l Clients) assign(ctx context.Context, tx *sql.Tx, rows []int64, c billing.Client, origin billing.Origin) error {
	if c.Name == "" {
		origin = billing.FromNowhere
	}
	records := make([]record, len(rows))
	for i, row := range rows {
		records[i] = record{
			number("row", row),
			text("client", c.Name),
			text("matter", c.Matter),
			text("bill_to", c.BillTo),
			text("reference", c.Reference),
			text("origin", origin),
			text("by", auditPerson(ctx)),
			number("at", toMillis(l.now())),
		}
	}
	if err := l.exec(ctx, tx, `INSERT INTO row_clients (row, client, matter, bill_to, reference, origin, changed_by,
			changed_at)
		SELECT v.row, v.client, v.matter, v.bill_to, v.reference, v.origin, v.by, v.at {{v}} WHERE TRUE
		ON CONFLICT (row) DO UPDATE SET
			client = CASE WHEN excluded.client = '' THEN row_clients.client ELSE excluded.client END,
			matter = CASE WHEN excluded.matter = '' THEN row_clients.matter ELSE excluded.matter END,
			bill_to = CASE WHEN excluded.bill_to = '' THEN row_clients.bill_to ELSE excluded.bill_to END,
			reference = CASE WHEN excluded.reference = '' THEN row_clients.reference ELSE excluded.reference END,
			origin = CASE WHEN excluded.client = '' THEN row_clients.origin ELSE excluded.origin END,
			changed_by = excluded.changed_by, changed_at = excluded.changed_at`,
		records); err != nil || c.Name == "" {
		return err
	}
	folded := billing.ClientKeyOf(c.Name)
	if _, err := tx.ExecContext(ctx, `INSERT INTO search_clients (folded, name) VALUES ($1, $2)
		ON CONFLICT (folded) DO NOTHING`, folded, c.Name); err != nil {
		return err
	}
	for i := range records {
		records[i] = record{number("row", rows[i]), text("client", folded), text("name", c.Name)}
	}
	if err := l.exec(ctx, tx, `UPDATE search_rows SET client = v.client {{v}} WHERE search_rows.row = v.row`,
		withoutName(records)); err != nil {
		return err
	}
	// The company's client in the search is that of its newest row.
	return l.exec(ctx, tx, `UPDATE search_companies SET client = v.name {{v}}
		WHERE search_companies.key = (SELECT s.company FROM search_rows s WHERE s.row = v.row)`, nameAndRow(records))
}

func withoutName(records []record) []record {
	all := make([]record, len(records))
	for i, r := range records {
		all[i] = r[:2]
	}
	return all
}

func nameAndRow(records []record) []record {
	all := make([]record, len(records))
	for i, r := range records {
		all[i] = record{r[2], r[0]}
	}
	return all
}

// SetDefault sets the client of the rows of a batch that name none in their own
// columns and for which no person has entered one. Rows that are billed stay.
func (l Clients) SetDefault(ctx context.Context, batch, client string) error {
	client, err := CheckClient(client)
	if err != nil {
		return err
	}
	return wrap("set the client of batch "+batch, l.change(ctx, func(tx *sql.Tx, _ *control) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO row_clients (row, client, origin, changed_by, changed_at)
			SELECT r.id, $2, 'default', $3, $4 FROM rows r WHERE r.batch = $1
				AND NOT EXISTS (SELECT 1 FROM bill_lines l WHERE l.row = r.id)
			ON CONFLICT (row) DO UPDATE SET client = excluded.client, origin = excluded.origin,
				changed_by = excluded.changed_by, changed_at = excluded.changed_at
			WHERE row_clients.origin = 'default' OR row_clients.client = ''`,
			batch, client, auditPerson(ctx), toMillis(l.now()))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM search_batches WHERE batch = $1`, batch) // the search reads it again
		return err
	}))
}

// Proposed counts the companies of an import that were billed to a client before, by
// that client: rows that name no client are billed there.
func (l Clients) Proposed(ctx context.Context, companies []string) (map[string]string, error) {
	known, err := l.ofCompanies(ctx, companies)
	if err != nil || len(known) == 0 {
		return known, err
	}
	clients, err := l.byKey(ctx)
	for company, name := range known {
		known[company] = clients.nameOf(name)
	}
	return known, err
}
