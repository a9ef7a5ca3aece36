package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// ListedCompany is a company of submitted rows.
type ListedCompany struct {
	Key    string // names it in an address
	ID     string // at the filing service; "" where none is known
	Name   string // as a row has it
	Client string // of the row that named one last; "" for none
	folded string
}

// indexedRow is what of a row is searched.
type indexedRow struct {
	row    int64
	number int
	named  bool // the company has an id, or a row that will never have one
	ListedCompany
}

// clientField is the field of the column that names a row's client.
const clientField = "client"

// nameField and idField are the fields of the columns that name a row's company.
const (
	nameField = "company.legalName"
	idField   = "companyId"
)

// indexChunk is how many rows are added to the search in one commit, so that
// placing never waits for long.
const indexChunk = 500

// IndexRows adds some rows of submitted batches to the search and reports whether
// there are more. A row that a batch of corrections moved is found again, because
// its batch is indexed again.
func (l Companies) IndexRows(ctx context.Context) (more bool, err error) {
	batches, err := l.batches(ctx,
		`WHERE open = 1 AND id NOT IN (SELECT batch FROM search_batches) ORDER BY created_at DESC, id LIMIT 1`)
	if err != nil {
		return false, err
	}
	if len(batches) == 0 {
		return false, l.indexCreated(ctx)
	}
	b := batches[0]
	for after := (indexedRow{number: -1}); ; {
		rows, err := l.readRows(ctx, b, after)
		if err != nil {
			return false, fmt.Errorf("read the rows of batch %s for the search: %w", b.ID, err)
		}
		done := len(rows) < indexChunk
		err = l.change(withoutAudit(ctx), func(tx *sql.Tx, _ *control) error {
			if err := l.indexRows(ctx, tx, rows); err != nil || !done {
				return err
			}
			_, err := tx.ExecContext(ctx,
				`INSERT INTO search_batches (batch, at) VALUES ($1, $2) ON CONFLICT (batch) DO NOTHING`,
				b.ID, toMillis(l.now()))
			return err
		})
		if err != nil {
			return false, fmt.Errorf("add the rows of batch %s to the search: %w", b.ID, err)
		}
		if done {
			return true, nil
		}
		after = rows[len(rows)-1]
	}
}

// readRows reads the rows of a batch behind another, as the search has them.
func (l Companies) readRows(ctx context.Context, b Batch, after indexedRow) (all []indexedRow, err error) {
	rows, err := l.read.QueryContext(ctx,
		`SELECT id, number, cells, request, company FROM rows WHERE batch = $1 AND (number, id) > ($2, $3)
			ORDER BY number, id LIMIT $4`, b.ID, after.number, after.row, indexChunk)
	client, name := slices.Index(b.Fields, clientField), slices.Index(b.Fields, nameField)
	id := slices.Index(b.Fields, idField)
	err = each(rows, err, func(scan func(...any) error) error {
		r := indexedRow{named: true}
		var cells, request, company string
		if err := scan(&r.row, &r.number, &cells, &request, &company); err != nil {
			return err
		}
		texts := cellTexts(cells)
		at := func(i int) string {
			if i < 0 || i >= len(texts) {
				return ""
			}
			return strings.TrimSpace(texts[i])
		}
		r.Client, r.Name, r.ID = at(client), at(name), cmp.Or(company, at(id))
		if request != "" {
			var q filing.Request
			if err := json.Unmarshal([]byte(request), &q); err != nil {
				return err
			}
			r.Name, r.ID = cmp.Or(q.LegalName(), r.Name), cmp.Or(company, q.Company.Ref, r.ID)
			r.named = r.ID != "" || !q.CreatesCompany()
		}
		all = append(all, r)
		return nil
	})
	return all, err
}

// indexRows adds rows to the search.
func (l Companies) indexRows(ctx context.Context, tx *sql.Tx, rows []indexedRow) error {
	companies, clients, words := make(map[string]record), make(map[string]record), make(map[[2]string]record)
	var at []record
	for _, r := range rows {
		r.folded = filing.FoldLegalName(r.Name)
		if r.ID == "" && r.folded == "" {
			continue
		}
		r.Key = cmp.Or(r.ID, nameKey(r.folded))
		folded := filing.FoldLegalName(r.Client)
		companies[r.Key] = record{
			text("key", r.Key),
			text("id", r.ID),
			text("name", cmp.Or(r.Name, r.ID)),
			text("folded", cmp.Or(r.folded, strings.ToLower(r.ID))),
			text("client", r.Client),
		}
		for _, word := range append(searchWords(r.Name), strings.ToLower(r.ID)) {
			if word != "" {
				words[[2]string{word, r.Key}] = record{text("word", word), text("company", r.Key)}
			}
		}
		if folded != "" {
			clients[folded] = record{text("folded", folded), text("name", r.Client)}
		}
		named := 1
		if !r.named {
			named = 0
		}
		at = append(at, record{
			number("row", r.row), text("company", r.Key), text("client", folded), number("named", named),
		})
	}
	for _, group := range []struct {
		query   string
		records []record
	}{
		{`INSERT INTO search_companies (key, id, name, folded, client)
			SELECT v.key, v.id, v.name, v.folded, v.client {{v}} WHERE TRUE
			ON CONFLICT (key) DO UPDATE SET name = excluded.name, folded = excluded.folded,
				client = CASE WHEN excluded.client = '' THEN search_companies.client ELSE excluded.client END`,
			sortedRecords(companies)},
		{`INSERT INTO search_words (word, company) SELECT v.word, v.company {{v}} WHERE TRUE
			ON CONFLICT (word, company) DO NOTHING`, sortedPairs(words)},
		{`INSERT INTO search_clients (folded, name) SELECT v.folded, v.name {{v}} WHERE TRUE
			ON CONFLICT (folded) DO NOTHING`, sortedRecords(clients)},
		{`INSERT INTO search_rows (row, company, client, named)
			SELECT v.row, v.company, v.client, v.named {{v}} WHERE TRUE
			ON CONFLICT (row) DO UPDATE SET company = excluded.company, client = excluded.client,
				named = excluded.named`, at},
	} {
		if err := l.exec(ctx, tx, group.query, group.records); err != nil {
			return err
		}
	}
	return nil
}

// searchWords are the words of a name as people type them: folded, and without
// accents.
func searchWords(name string) []string {
	return strings.Fields(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(filing.FoldLegalName(name))))
}

// nameKey names a company that has no id, by its folded name.
func nameKey(folded string) string {
	sum := sha256.Sum256([]byte(folded))
	return "name-" + hex.EncodeToString(sum[:8])
}

func sortedRecords(all map[string]record) []record {
	keys := make([]string, 0, len(all))
	for k := range all {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	records := make([]record, len(keys))
	for i, k := range keys {
		records[i] = all[k]
	}
	return records
}

func sortedPairs(all map[[2]string]record) []record {
	keys := make([][2]string, 0, len(all))
	for k := range all {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	records := make([]record, len(keys))
	for i, k := range keys {
		records[i] = all[k]
	}
	return records
}

// indexCreated gives the rows whose companies were created since the ids that they
// have now.
func (l Companies) indexCreated(ctx context.Context) error {
	rows, err := l.read.QueryContext(ctx,
		`SELECT s.row, s.client, r.company, c.name
			FROM search_rows s JOIN rows r ON r.id = s.row JOIN search_companies c ON c.key = s.company
			WHERE s.named = 0 AND r.company <> '' LIMIT $1`, indexChunk)
	created, err := collect(rows, err, func(scan func(...any) error) (indexedRow, error) {
		r := indexedRow{named: true}
		err := scan(&r.row, &r.Client, &r.ID, &r.Name)
		return r, err
	})
	if err != nil || len(created) == 0 {
		return wrap("find the companies that were created", err)
	}
	return wrap("add created companies to the search", l.change(withoutAudit(ctx), func(tx *sql.Tx, _ *control) error {
		return l.indexRows(ctx, tx, created)
	}))
}

// Indexing counts the rows of submitted batches that are not in the search yet.
func (l Companies) Indexing(ctx context.Context) (rows int, err error) {
	err = l.read.QueryRowContext(ctx, `SELECT CAST(COALESCE(SUM(rows), 0) AS BIGINT) FROM batches
		WHERE open = 1 AND id NOT IN (SELECT batch FROM search_batches)`).Scan(&rows)
	return rows, wrap("count the rows to be added to the search", err)
}

const companyColumns = `c.key, c.id, c.name, c.client, c.folded`

func scanCompany(scan func(...any) error) (c ListedCompany, err error) {
	err = scan(&c.Key, &c.ID, &c.Name, &c.Client, &c.folded)
	return c, err
}

// Search finds companies whose names have words that begin with those of the text,
// or whose ids begin with it, at most limit of them.
func (l Companies) Search(ctx context.Context, words string, limit int) ([]ListedCompany, error) {
	terms := searchWords(words)
	if id := strings.ToLower(strings.TrimSpace(words)); strings.ContainsAny(id, "_-") && !strings.Contains(id, " ") {
		terms = []string{id}
	}
	if len(terms) == 0 {
		return nil, nil
	}
	driver, err := l.rarest(ctx, terms)
	if err != nil {
		return nil, err
	}
	args := []any{terms[driver], terms[driver] + "\U0010FFFF", limit}
	where := ""
	for i, term := range terms {
		if i == driver {
			continue
		}
		args = append(args, term, term+"\U0010FFFF")
		where += fmt.Sprintf(` AND EXISTS (SELECT 1 FROM search_words x
			WHERE x.company = w.company AND x.word >= $%d AND x.word < $%d)`, len(args)-1, len(args))
	}
	rows, err := l.read.QueryContext(ctx,
		`SELECT `+companyColumns+` FROM search_companies c WHERE c.key IN (
			SELECT w.company FROM search_words w WHERE w.word >= $1 AND w.word < $2`+where+` LIMIT $3)
			ORDER BY c.folded, c.key`, args...)
	found, err := collect(rows, err, scanCompany)
	return found, wrap("search the companies", err)
}

// rarest is the position of the term with the fewest companies: the others are
// looked up in those of it.
func (l Companies) rarest(ctx context.Context, terms []string) (at int, err error) {
	const enough = 2000
	least := enough + 1
	for i, term := range terms {
		var n int
		if err := l.read.QueryRowContext(ctx, `SELECT COUNT(*) FROM (SELECT 1 FROM search_words
			WHERE word >= $1 AND word < $2 LIMIT $3) AS w`, term, term+"\U0010FFFF", enough).Scan(&n); err != nil {
			return 0, fmt.Errorf("count the companies of a word: %w", err)
		}
		if n < least {
			at, least = i, n
		}
	}
	return at, nil
}

// List lists companies by name, those behind another or from the first.
func (l Companies) List(ctx context.Context, after string, limit int) ([]ListedCompany, error) {
	rows, err := l.read.QueryContext(ctx,
		`SELECT `+companyColumns+` FROM search_companies c
			WHERE (c.folded, c.key) > ((SELECT folded FROM search_companies WHERE key = $1), $1) OR $1 = ''
			ORDER BY c.folded, c.key LIMIT $2`, after, limit)
	found, err := collect(rows, err, scanCompany)
	return found, wrap("list the companies", err)
}

// Company finds a company of submitted rows. It returns ErrNotFound.
func (l Companies) Company(ctx context.Context, key string) (ListedCompany, error) {
	c, err := scanCompany(l.read.QueryRowContext(ctx,
		`SELECT `+companyColumns+` FROM search_companies c WHERE c.key = $1`, key).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	return c, wrap("find company "+key, err)
}

// Clients finds clients whose names have the text, at most limit of them.
func (l Companies) Clients(ctx context.Context, name string, limit int) ([]string, error) {
	rows, err := l.read.QueryContext(ctx, `SELECT name FROM search_clients WHERE folded LIKE $1 ESCAPE '!'
		ORDER BY folded LIMIT $2`, "%"+escapeLike(filing.FoldLegalName(name))+"%", limit)
	found, err := collect(rows, err, func(scan func(...any) error) (name string, err error) {
		err = scan(&name)
		return name, err
	})
	return found, wrap("search the clients", err)
}

// BatchesOfClient lists the batches that have a row of a client.
func (l Companies) BatchesOfClient(ctx context.Context, client string) (map[string]bool, error) {
	all := make(map[string]bool)
	rows, err := l.read.QueryContext(ctx, `SELECT DISTINCT r.batch FROM search_rows s JOIN rows r ON r.id = s.row
		WHERE s.client = $1 AND s.client <> ''`, filing.FoldLegalName(client))
	err = each(rows, err, func(scan func(...any) error) error {
		var batch string
		err := scan(&batch)
		all[batch] = true
		return err
	})
	return all, wrap("find the batches of a client", err)
}

// RowsOfCompany lists the submitted rows of a company, the newest first.
func (l *Ledger) RowsOfCompany(ctx context.Context, key string, limit int) ([]Row, error) {
	rows, err := l.page(
		ctx, `r.id IN (SELECT s.row FROM search_rows s WHERE s.company = $1 ORDER BY s.row DESC LIMIT $2)
		AND NOT (r.result = 'skipped' AND r.message LIKE 'corrected: %') ORDER BY r.id DESC`, key, limit)
	return rows, wrap("list the rows of company "+key, err)
}

// RowsWithOrder finds the rows that have an order.
func (l *Ledger) RowsWithOrder(ctx context.Context, order string) ([]Row, error) {
	return l.page(ctx, `r.id IN (SELECT i.row FROM items i WHERE i.order_id = $1) ORDER BY r.id LIMIT 20`, order)
}

// CompanyOfRow is the key of the company of a row; "" where the search has none.
func (l *Ledger) CompanyOfRow(ctx context.Context, row int64) (key string, err error) {
	err = l.read.QueryRowContext(ctx, `SELECT company FROM search_rows WHERE row = $1`, row).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return key, wrap("find the company of a row", err)
}

// cellTexts reads the cells of a row as they are kept, as texts: a client's number
// is a number, and a matter may be a date.
func cellTexts(cells string) []string {
	var values []json.RawMessage
	if json.Unmarshal([]byte(cells), &values) != nil {
		return nil
	}
	texts := make([]string, len(values))
	for i, v := range values {
		var wrapped map[string]string
		switch {
		case json.Unmarshal(v, &texts[i]) == nil: // null leaves it empty
		case json.Unmarshal(v, &wrapped) == nil:
			texts[i] = cmp.Or(wrapped["number"], wrapped["date"])
		default:
			texts[i] = string(v)
		}
	}
	return texts
}
