package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/store"
	wording "github.com/bulkfiling/bulkfiling/internal/text"
)

// ListedCompany is a company of submitted rows.
type ListedCompany struct {
	// Key identifies the company in an address: its ID, or a hash of its name.
	Key string
	// ID is the company's ID. Empty if it has none yet.
	ID string
	// Name and Client are from the newest row. Client may be empty.
	Name   string
	Client string
	// Words are the words of the name in the form for search.
	Words string
}

// Fields of the columns that name a row's client and company.
const (
	clientField = "client"
	nameField   = "company.legalName"
	idField     = "companyId"
)

// companyColumns returns the columns of a row by which its company and client are found. fields are
// the fields of the batch's columns.
func (r *Row) companyColumns(fields []string) store.Record {
	var texts []string // decoded only if a cell is needed
	cell := func(field string) string {
		i := slices.Index(fields, field)
		if i >= 0 && texts == nil {
			texts = cellTexts(string(r.Cells))
		}
		if i < 0 || i >= len(texts) {
			return ""
		}
		return strings.TrimSpace(texts[i])
	}
	name, id, client := "", "", cell(clientField)
	if r.Request != nil {
		name, id = r.Request.LegalName(), r.Request.Company.Ref
	}
	if name == "" {
		name = cell(nameField)
	}
	if id == "" {
		id = cell(idField)
	}
	key := id
	if folded := filing.FoldLegalName(name); key == "" && folded != "" {
		key = nameKey(folded)
	}
	return store.Record{
		store.Text("company_key", key),
		store.Text("company_name", cmp.Or(name, id)),
		store.Text("company_words", cmp.Or(strings.Join(searchWords(name), " "), strings.ToLower(id))),
		store.Text("client", client),
		store.Text("client_folded", filing.FoldLegalName(client)),
	}
}

// searchWords returns the words of a name as people type them, folded and without accents.
func searchWords(name string) []string {
	return strings.Fields(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(filing.FoldLegalName(name))))
}

const namePrefix = "name-"

// nameKey identifies a company without an ID by its folded name.
func nameKey(folded string) string {
	sum := sha256.Sum256([]byte(folded))
	return namePrefix + hex.EncodeToString(sum[:8])
}

const (
	listedColumns = `r.company_key AS key, r.company_name AS name, r.client, r.company_words AS words`
	// fromSubmitted selects the rows r of submitted batches that name a company.
	fromSubmitted = ` FROM rows r WHERE r.company_key <> ''
		AND EXISTS (SELECT 1 FROM batches b WHERE b.id = r.batch AND b.open = 1)`
)

func (l Companies) listCompanies(ctx context.Context, what, query string, args ...any) ([]ListedCompany, error) {
	found, err := store.List[ListedCompany](ctx, l.Read, what, query, args...)
	for i := range found {
		if !strings.HasPrefix(found[i].Key, namePrefix) {
			found[i].ID = found[i].Key
		}
	}
	return found, err
}

// Search finds at most limit companies by the beginnings of the words of their names, or by the
// beginning of their IDs.
func (l Companies) Search(ctx context.Context, words string, limit int) ([]ListedCompany, error) {
	var where string
	var args []any
	if id := strings.TrimSpace(words); strings.ContainsAny(id, "_-") && !strings.Contains(id, " ") {
		where, args = ` AND r.company_key >= $1 AND r.company_key < $2`, []any{id, id + "\U0010FFFF"}
	} else {
		for _, word := range searchWords(words) {
			args = append(args, "% "+escapeLike(word)+"%")
			where += fmt.Sprintf(` AND ' ' || r.company_words LIKE $%d ESCAPE '!'`, len(args))
		}
	}
	if len(args) == 0 {
		return nil, nil
	}
	args = append(args, limit)
	return l.listCompanies(ctx, "search the companies",
		fmt.Sprintf(`SELECT `+listedColumns+` FROM rows r WHERE r.id IN (
			SELECT MAX(r.id)`+fromSubmitted+where+` GROUP BY r.company_key)
		ORDER BY r.company_words, r.company_key LIMIT $%d`, len(args)), args...)
}

// List lists companies by name, beginning after the company with the key.
func (l Companies) List(ctx context.Context, after string, limit int) ([]ListedCompany, error) {
	last := ListedCompany{}
	if after != "" {
		var err error
		if last, err = l.Company(ctx, after); err != nil {
			return nil, err
		}
	}
	return l.listCompanies(ctx, "list the companies", `SELECT `+listedColumns+fromSubmitted+`
		AND (r.company_words, r.company_key) > ($1, $2)
		AND NOT EXISTS (SELECT 1 FROM rows n JOIN batches b ON b.id = n.batch AND b.open = 1
			WHERE n.company_key = r.company_key AND n.id > r.id)
		ORDER BY r.company_words, r.company_key LIMIT $3`, last.Words, last.Key, limit)
}

// Company finds a company of submitted rows. It returns ErrNotFound if there is none.
func (l Companies) Company(ctx context.Context, key string) (ListedCompany, error) {
	found, err := l.listCompanies(ctx, "find company "+key, `SELECT `+listedColumns+fromSubmitted+`
		AND r.company_key = $1
		ORDER BY r.id DESC LIMIT 1`, key)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("find company %s: %w", key, ErrNotFound)
	}
	if err != nil {
		return ListedCompany{}, err
	}
	return found[0], nil
}

// Clients finds at most limit clients whose names contain the text.
func (l Companies) Clients(ctx context.Context, name string, limit int) ([]string, error) {
	return store.List[string](ctx, l.Read, "search the clients", `SELECT c.client FROM rows c WHERE c.id IN (
			SELECT MIN(r.id) FROM rows r
			WHERE r.client_folded <> '' AND r.client_folded LIKE $1 ESCAPE '!'
				AND EXISTS (SELECT 1 FROM batches b WHERE b.id = r.batch AND b.open = 1)
			GROUP BY r.client_folded)
		ORDER BY c.client_folded LIMIT $2`,
		"%"+escapeLike(filing.FoldLegalName(name))+"%", limit)
}

// BatchesOfClient returns the batches that have a row of a client.
func (l Companies) BatchesOfClient(ctx context.Context, client string) (map[string]bool, error) {
	all := make(map[string]bool)
	batches, err := store.List[string](ctx, l.Read, "find the batches of a client", `SELECT DISTINCT batch FROM rows
		WHERE client_folded = $1 AND client_folded <> ''`, filing.FoldLegalName(client))
	for _, batch := range batches {
		all[batch] = true
	}
	return all, err
}

// RowsOf lists the submitted rows of a company, the newest first.
func (l Companies) RowsOf(ctx context.Context, key string, limit int) ([]Row, error) {
	rows, err := l.loadPage(ctx, selectRows+`r.company_key = $1
		AND EXISTS (SELECT 1 FROM batches b WHERE b.id = r.batch AND b.open = 1)
		AND NOT (r.result = 'skipped' AND r.corrected_by <> 0) ORDER BY r.id DESC LIMIT $2`, key, limit)
	return rows, store.Wrap("list the rows of company "+key, err)
}

// RowsWithOrder finds the rows that have an order.
func (l *Ledger) RowsWithOrder(ctx context.Context, order string) ([]Row, error) {
	return l.loadPage(ctx, selectRows+`r.id IN (SELECT i.row FROM items i WHERE i.order_id = $1)
		ORDER BY r.id LIMIT 20`, order)
}

// KeyOf returns the key of a row's company, or an empty string if it has none.
func (l Companies) KeyOf(ctx context.Context, row int64) (key string, err error) {
	err = l.Read.QueryRowContext(ctx, `SELECT company_key FROM rows WHERE id = $1`, row).Scan(&key)
	return key, store.Wrap("find the company of a row", err)
}

// cellTexts reads the stored cells of a row as texts. A client's number may be stored as a number,
// and a matter may be a date. Placeholders are empty.
func cellTexts(cells string) []string {
	var values []json.RawMessage
	if json.Unmarshal([]byte(cells), &values) != nil {
		return nil
	}
	texts := make([]string, len(values))
	for i, v := range values {
		var wrapped map[string]string
		switch {
		// The text of null stays empty.
		case json.Unmarshal(v, &texts[i]) == nil:
		case json.Unmarshal(v, &wrapped) == nil:
			texts[i] = cmp.Or(wrapped["number"], wrapped["date"])
		default:
			texts[i] = string(v)
		}
		if wording.PlaceholderOf(texts[i]) == wording.Nothing {
			texts[i] = ""
		}
	}
	return texts
}
